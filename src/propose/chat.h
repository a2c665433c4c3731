/*
 * One question to a model: sent, streamed, retried where waiting helps, counted. What an attempt may cost
 * (its question at four bytes a token, all the output it may give) is checked before it is made; what it did
 * cost is what the server says, where that can be meant. An attempt that timed out or broke off counts, too:
 * its question was read.
 */
#ifndef INFRARSI_PROPOSE_CHAT_H
#define INFRARSI_PROPOSE_CHAT_H

#include "base/base.h"
#include "propose/cost.h"
#include "propose/provider.h"

struct chat_endpoint {
	const struct provider *provider;
	const char *base_url, *key;                 /* key NULL = none is sent */
	double timeout_s;                           /* of one attempt; above 0 */
	double usd_per_token_in, usd_per_token_out; /* 0 = free or unknown */
	int attempts;                               /* at most; 0 = 4 */
	double first_wait_s; /* before the second attempt, doubled for each further one; 0 = 1 s */
	int stop_fd;
	uint64_t seed; /* of the jitter of waits */
};

struct chat_budget { /* what is left; INFINITY = no limit */
	double tokens, usd;
};

/*
 * *ret_cost is filled in any case: failed attempts cost too. ERR_LIMIT: the budget does not allow the call,
 * or the reply is too large; ERR_FAILED: the server could not be used, or its reply broke off (message: what,
 * how often tried);
 * ERR_INPUT: it refuses the question, which is not worth another attempt; ERR_INTERRUPTED. reply.text is
 * UTF-8; release it in any case. The key is masked in it and in messages.
 */
enum err_code chat_ask(const struct chat_endpoint *endpoint, const struct chat_question *question,
	const struct chat_budget *budget, struct chat_reply *ret_reply, struct chat_cost *ret_cost,
	struct err *reterr) MUST_CHECK;
void chat_reply_release(struct chat_reply *reply);

#endif
