/*
 * How a family of servers spells a chat: the request it takes, the reply it streams. A provider is a row in
 * provider_find()'s table and a file.
 */
#ifndef INFRARSI_PROPOSE_PROVIDER_H
#define INFRARSI_PROPOSE_PROVIDER_H

#include <jansson.h>

#include "base/base.h"
#include "base/strbuf.h"

struct chat_message {
	bool from_model;
	const char *text;
};

struct chat_question {
	const char *model, *system;
	const struct chat_message *messages;
	size_t n_messages;
	int max_output_tokens;
	bool limits_completion; /* the limit is called max_completion_tokens */
	const char *schema;     /* of the answer; NULL = the server is not asked to hold the model to one */
};

struct chat_reply {
	struct strbuf text;
	double tokens_in, tokens_out; /* NAN = the server did not say */
	bool finished;                /* the server said that there is no more */
	bool cut;                     /* the output limit was reached */
	char fault[256];              /* what the server reported within the reply; "" = nothing */
};
/* Keeps the first report; may cut it. */
void chat_reply_set_fault(struct chat_reply *reply, const char *message);

struct provider {
	const char *name;
	const char *path; /* behind the base address */
	/* The header that carries the key, before the key. */
	const char *key_header;
	const char *const *headers; /* further ones, NULL-terminated */
	json_t *(*request)(const struct chat_question *q);
	/* One event of the stream, or the whole reply where the server does not stream. */
	void (*event)(const json_t *event, struct chat_reply *reply);
};

const struct provider *provider_find(const char *name); /* NULL when unknown */
extern const struct provider provider_openai, provider_anthropic;

#endif
