/*
 * A proposer that is a program of the user's: one request (request.h) as JSON on its standard input, then end
 * of file; one answer (answer.h) on its standard output, exit code 0. docs/proposers.md
 *
 *     const struct command_endpoint agent = {.argv = argv, .dir = scratch, .timeout_s = 300};
 *     TRY(command_ask(&agent, request, stop_fd, &text, &cost, reterr));
 *
 * It runs without a sandbox and ends with its whole process group. An answer may say what it cost:
 * "usage": {"tokens_in": .., "tokens_out": .., "usd": ..}.
 */
#ifndef INFRARSI_PROPOSE_COMMAND_H
#define INFRARSI_PROPOSE_COMMAND_H

#include <jansson.h>

#include "base/base.h"
#include "propose/cost.h"

struct strbuf;

struct command_endpoint {
	const char *const *argv;     /* NULL-terminated; found on PATH, its relative paths begin at dir */
	const char *dir;             /* its own folder, where it starts; exists */
	const char *const *pass_env; /* names of variables beside those of is_helper_variable(),
					NULL-terminated; NULL = none */
	double timeout_s;            /* wall; above 0 */
};

/*
 * *ret_cost is filled in any case. ERR_FAILED: it ended with another exit code than 0, was killed, ran out of
 * time or printed no text (the end of its standard error is in the message); ERR_LIMIT: more than
 * ANSWER_BYTES; ERR_NOT_FOUND: no such program or folder; ERR_INTERRUPTED: stop_fd became readable (-1 =
 * none). *ret_text, UTF-8, stays as it was on failure. Values of pass_env are masked in it and in messages.
 */
enum err_code command_ask(const struct command_endpoint *endpoint, const json_t *request, int stop_fd,
	struct strbuf *ret_text, struct chat_cost *ret_cost, struct err *reterr) MUST_CHECK;

#endif
