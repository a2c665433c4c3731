/*
 * One chat_ask() from the command line, its outcome as a line of JSON: tests/cli/proposers.bats.
 *
 *     CHAT_KEY=... chat_driver PROVIDER BASE_URL [NAME=NUMBER]...
 *
 * Without CHAT_KEY no key is sent. The names are in `options`; stop=1 is a stop that was asked for before.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "propose/answer.h"
#include "propose/chat.h"

enum option { TOKENS, USD, USD_IN, USD_OUT, ATTEMPTS, TIMEOUT, FIRST_WAIT, OUTPUT, SCHEMA, STOP, N_OPTIONS };
enum { TEXT_SHOWN = 1000 };
static const struct {
	const char *name;
	double unless_given;
} options[N_OPTIONS] = {
	[TOKENS] = {"tokens", INFINITY},
	[USD] = {"usd", INFINITY},
	[USD_IN] = {"usd_in", 0},
	[USD_OUT] = {"usd_out", 0},
	[ATTEMPTS] = {"attempts", 2},
	[TIMEOUT] = {"timeout", 100},
	[FIRST_WAIT] = {"first_wait", 0.001},
	[OUTPUT] = {"output", 100},
	[SCHEMA] = {"schema", 0},
	[STOP] = {"stop", 0},
};

static const char *const code_names[] = {[OK] = "ok",
	[ERR_FAILED] = "failed",
	[ERR_INPUT] = "input",
	[ERR_LIMIT] = "limit",
	[ERR_INTERRUPTED] = "interrupted"};

static bool read_option(const char *word, double *values)
{
	for (size_t i = 0; i < N_OPTIONS; i++) {
		size_t n = strlen(options[i].name);
		if (strncmp(word, options[i].name, n) == 0 && word[n] == '=') {
			values[i] = atof(word + n + 1);
			return true;
		}
	}
	return false;
}

static void print_outcome(
	enum err_code code, const struct err *e, const struct chat_reply *reply, const struct chat_cost *cost)
{
	json_t *outcome = json_object();
	json_object_set_new(outcome, "code", json_from_text(code_names[code]));
	json_object_set_new(outcome, "message", json_from_text(e->message));
	json_object_set_new(
		outcome, "text", json_stringn(reply->text.buf, MIN_OF(reply->text.len, (size_t)TEXT_SHOWN)));
	json_object_set_new(outcome, "cut", json_boolean(reply->cut));
	json_object_set_new(outcome, "tokens_in", json_from_number(cost->tokens_in));
	json_object_set_new(outcome, "tokens_out", json_from_number(cost->tokens_out));
	json_object_set_new(outcome, "usd", json_from_number(cost->usd));
	json_object_set_new(outcome, "seconds", json_from_number(cost->seconds));
	json_object_set_new(outcome, "attempts", json_integer(cost->attempts));
	json_object_set_new(outcome, "estimated", json_boolean(cost->estimated));
	CLEANUP(free_ptr) char *text = json_dump_take(outcome);
	printf("%s\n", text);
}

int main(int argc, char **argv)
{
	double v[N_OPTIONS];
	int stop[2] = {-1, -1};
	bool good = argc >= 3 && provider_find(argv[1]);
	for (size_t i = 0; i < N_OPTIONS; i++)
		v[i] = options[i].unless_given;
	for (int i = 3; i < argc && good; i++)
		good = read_option(argv[i], v);
	if (!good || (v[STOP] && (pipe(stop) != 0 || write(stop[1], "x", 1) != 1))) {
		fprintf(stderr, "usage: %s PROVIDER BASE_URL [NAME=NUMBER]...\n", argv[0]);
		return 2;
	}
	const struct chat_endpoint endpoint = {.provider = provider_find(argv[1]),
		.base_url = argv[2],
		.key = getenv("CHAT_KEY"),
		.timeout_s = v[TIMEOUT],
		.usd_per_token_in = v[USD_IN],
		.usd_per_token_out = v[USD_OUT],
		.attempts = (int)v[ATTEMPTS],
		.first_wait_s = v[FIRST_WAIT],
		.stop_fd = stop[0]};
	const struct chat_message message = {false, "Which threads?"};
	const struct chat_question question = {.model = "m",
		.system = "Answer.",
		.messages = &message,
		.n_messages = 1,
		.max_output_tokens = (int)v[OUTPUT],
		.schema = v[SCHEMA] ? answer_schema : NULL};
	const struct chat_budget budget = {v[TOKENS], v[USD]};
	struct chat_reply reply;
	struct chat_cost cost;
	struct err e = ERR_INIT;
	enum err_code code = chat_ask(&endpoint, &question, &budget, &reply, &cost, &e);
	print_outcome(code, &e, &reply, &cost);
	chat_reply_release(&reply);
	return 0;
}
