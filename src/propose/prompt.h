/*
 * A request (request.h) as a prompt for a language model: instructions, then typed parts, each a heading and
 * items. Together never longer than PROMPT_BYTES: what does not fit is left out item by item, the least
 * telling first, and the prompt says how many. Text from the job stands in JSON strings or fences that it
 * cannot close.
 */
#ifndef INFRARSI_PROPOSE_PROMPT_H
#define INFRARSI_PROPOSE_PROMPT_H

#include <jansson.h>

#include "base/base.h"
#include "base/strbuf.h"

/* A diff to review is shown whole or not at all. */
enum { PROMPT_BYTES = 28000, PROMPT_REVIEW_BYTES = 14000 };

struct prompt {
	struct strbuf system, user, schema; /* the schema: of the answer, as JSON */
};
#define PROMPT_INIT                                                                                          \
	{                                                                                                    \
		STRBUF_INIT, STRBUF_INIT, STRBUF_INIT                                                        \
	}

void prompt_build(const json_t *request, struct prompt *prompt);
/* The question once more, with what was wrong with the answer. */
void prompt_build_repair(const char *problem, struct strbuf *text);
void prompt_release(struct prompt *prompt);

#endif
