#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "propose/answer.h"
#include "propose/answer_text.h"
#include "propose/command.h"
#include "propose/secret.h"

extern char **environ;

enum { ERRORS_KEPT_BYTES = 4096, ERRORS_SHOWN = 600 };

static bool is_passed(const struct command_endpoint *e, const char *variable)
{
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; e->pass_env && e->pass_env[i]; i++)
		if (strlen(e->pass_env[i]) == length && strncmp(variable, e->pass_env[i], length) == 0)
			return true;
	return false;
}

/* By malloc; the strings are the environment's own. */
static const char **environment_for(const struct command_endpoint *e)
{
	size_t n = 0, room = 0;
	const char **env = NULL;
	grow_array(&env, &room, 1, sizeof(*env));
	for (char **variable = environ; *variable; variable++) {
		if (!is_helper_variable(*variable) && !is_passed(e, *variable))
			continue;
		grow_array(&env, &room, n + 2, sizeof(*env));
		env[n++] = *variable;
	}
	env[n] = NULL;
	return env;
}

static void hide_passed(const struct command_endpoint *e, struct strbuf *text, bool was_cut)
{
	for (size_t i = 0; e->pass_env && e->pass_env[i]; i++)
		secret_hide(text->buf, text->len, getenv(e->pass_env[i]), was_cut);
}

/* So much of the last words that no value that was passed on is cut where they are shown. */
static size_t errors_kept_bytes(const struct command_endpoint *e)
{
	enum { ESCAPE_BYTES = 6 };
	size_t longest = 0;
	for (size_t i = 0; e->pass_env && e->pass_env[i]; i++) {
		const char *value = getenv(e->pass_env[i]);
		longest = MAX_OF(longest, value ? strlen(value) : 0);
	}
	return ERRORS_KEPT_BYTES + ESCAPE_BYTES * longest;
}

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isspace((unsigned char)text[i]))
			return false;
	return true;
}

/* ": its last lines", escaped; "" where it said nothing. */
static void add_errors(struct strbuf *text, const struct strbuf *errors)
{
	size_t length = errors->len;
	while (length && isspace((unsigned char)errors->buf[length - 1]))
		length--;
	const char *p = errors->buf + (length > ERRORS_SHOWN ? length - ERRORS_SHOWN : 0);
	const char *end = errors->buf + length;
	const char *between = p > errors->buf ? ": ..." : ": ";
	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((line_end ? line_end : end) - p);
		if (!is_blank(p, n)) {
			strbuf_addstr(text, between);
			strbuf_add_escaped(text, p, n);
			between = "; ";
		}
		p += n + (line_end != NULL);
	}
}

static enum err_code check_end(const char *name, int status, const struct strbuf *errors, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	if (status == 0)
		return OK;
	add_errors(&said, errors);
	if (status > 128 && status <= 128 + SIGRTMAX)
		return err_set(
			reterr, ERR_FAILED, "'%s' was killed by signal %d%s", name, status - 128, said.buf);
	return err_set(reterr, ERR_FAILED, "'%s' ended with exit code %d%s", name, status, said.buf);
}

static enum err_code check_text(
	const char *name, const struct strbuf *text, const struct strbuf *errors, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	if (is_blank(text->buf, text->len)) {
		add_errors(&said, errors);
		return err_set(reterr, ERR_FAILED, "'%s' printed no answer%s", name, said.buf);
	}
	CLEANUP(json_decref_ptr) json_t *as_text = json_stringn(text->buf, text->len);
	if (!as_text || memchr(text->buf, '\0', text->len))
		return err_set(reterr, ERR_FAILED, "'%s' printed something that is no UTF-8 text", name);
	return OK;
}

static void read_usage(const struct strbuf *text, struct chat_cost *cost)
{
	static const char *const keys[] = {"usage", NULL};
	CLEANUP(json_decref_ptr) json_t *answer = NULL;
	if (answer_find_object(text->buf, text->len, keys, &answer, NULL, NULL) != OK)
		return;
	const json_t *usage = json_object_get(answer, "usage");
	const struct figure {
		const char *key;
		double *value;
		bool (*is_meant)(double);
	} figures[] = {
		{"tokens_in", &cost->tokens_in, cost_tokens_are_meant},
		{"tokens_out", &cost->tokens_out, cost_tokens_are_meant},
		{"usd", &cost->usd, cost_usd_is_meant},
	};
	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		double value = json_number_of(usage, figures[i].key);
		if (figures[i].is_meant(value))
			*figures[i].value = value;
		else if (!isnan(value))
			cost->estimated = true;
	}
}

static enum err_code run_program(const struct command_endpoint *e, const char *input, int stop_fd,
	struct strbuf *text, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf errors = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	CLEANUP(free_ptr) const char **env = environment_for(e);
	const struct process_run run = {.argv = e->argv,
		.env = env,
		.dir = e->dir,
		.input = input,
		.input_length = strlen(input),
		.output_cap_bytes = ANSWER_BYTES,
		.errors_kept_bytes = errors_kept_bytes(e),
		.timeout_s = e->timeout_s,
		.stop_fd = &stop_fd};
	int status = 0;
	struct err fault = ERR_INIT;
	enum err_code code = process_run(&run, text, &errors, &status, &fault);
	hide_passed(e, text, false);
	hide_passed(e, &errors, false);
	if (code != OK) {
		if (code == ERR_FAILED)
			add_errors(&said, &errors);
		return err_set(reterr, code, "%s%s", fault.message, said.buf);
	}
	TRY(check_end(e->argv[0], status, &errors, reterr));
	return check_text(e->argv[0], text, &errors, reterr);
}

enum err_code command_ask(const struct command_endpoint *endpoint, const json_t *request, int stop_fd,
	struct strbuf *ret_text, struct chat_cost *ret_cost, struct err *reterr)
{
	double begun_s = clock_now_s();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *body = json_dump_take(json_incref((json_t *)request));
	CLEANUP(free_ptr) char *input = xasprintf("%s\n", body);
	*ret_cost = (struct chat_cost){.attempts = 1};
	enum err_code code = run_program(endpoint, input, stop_fd, &text, reterr);
	ret_cost->seconds = clock_now_s() - begun_s;
	TRY(code);
	read_usage(&text, ret_cost);
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}
