/* One question to one proposer, of whatever kind: sent, answered, read. */
#ifndef INFRARSI_CAMPAIGN_PROPOSER_ASK_H
#define INFRARSI_CAMPAIGN_PROPOSER_ASK_H

#include <jansson.h>

#include "base/base.h"
#include "campaign/campaign.h"
#include "propose/answer.h"
#include "propose/chat.h"

struct transcript;

struct proposer_question {
	const struct proposer *proposer;
	const json_t *request;
	struct chat_budget left; /* of the proposer and the task together */
	size_t number;           /* of questions that this proposer was asked before */
};

/* ERR_STATE where it cannot be asked at all: no key in the environment, no such program, no transcript; with
 * what to do. */
enum err_code proposer_check(
	const struct campaign *c, const struct proposer *p, struct err *reterr) MUST_CHECK;

/*
 * The answer, checked against the space, in `arena`; a malformed one of a model is sent back once with what
 * is wrong. *ret_cost is filled in any case. What came is appended to .infrarsi/transcripts/<name>.jsonl.
 * ERR_LIMIT: the budget does not allow it; ERR_INTERRUPTED; everything else is an answer that did not come.
 */
enum err_code proposer_ask(struct campaign *c, const struct proposer_question *question, struct arena *arena,
	struct answer *ret_answer, struct chat_cost *ret_cost, struct err *reterr) MUST_CHECK;

/* The question to a model (openai, anthropic) as it is sent first; `message` becomes its only one. All
 * strings are the prompt's and the proposer's. */
struct prompt;
struct chat_question proposer_question_to_model(
	const struct proposer *p, const struct prompt *prompt, struct chat_message *message);

#endif
