#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "campaign/proposer_ask.h"
#include "campaign/proposers.h"
#include "campaign/stages.h"
#include "cli/cli.h"
#include "propose/prompt.h"
#include "propose/provider.h"

struct prompt_values {
	const char *proposer;
};

/* Shown where the task has nobody to ask: what a model would be told. */
static const struct proposer anybody = {.kind = PROPOSE_OPENAI,
	.name = "anybody",
	.base_url = "http://127.0.0.1:8080/v1",
	.model = "a-model",
	.max_output_tokens = 4096,
	.patches = 2};

static enum err_code choose(
	const struct task *task, const char *name, const struct proposer **ret_proposer, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
	const struct proposer *first = NULL;
	for (size_t i = 0; i < task->n_proposers; i++) {
		const struct proposer *p = &task->proposers[i];
		if (!proposer_is_asked(p))
			continue;
		first = first ? first : p;
		if (name && strcmp(p->name, name) == 0) {
			*ret_proposer = p;
			return OK;
		}
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", p->name);
	}
	if (name)
		return err_set(reterr, ERR_INPUT, "--proposer: '%s' is not one that is asked questions (%s)",
			name, names.len ? names.buf : "the task file has none");
	*ret_proposer = first ? first : &anybody;
	return OK;
}

static bool is_model(const struct proposer *p)
{
	return p->kind == PROPOSE_OPENAI || p->kind == PROPOSE_ANTHROPIC;
}

/* Header lines as they are sent; of the key only that it is. */
static json_t *headers_json(const struct proposer *p, const struct provider *provider)
{
	json_t *headers = json_array();
	CLEANUP(free_ptr) char *key = xasprintf("%s$%s", provider->key_header, p->key_env ? p->key_env : "");
	json_array_append_new(headers, json_string("Content-Type: application/json"));
	for (size_t i = 0; provider->headers && provider->headers[i]; i++)
		json_array_append_new(headers, json_string(provider->headers[i]));
	if (p->key_env)
		json_array_append_new(headers, json_string(key));
	return headers;
}

static json_t *sent_json(const struct proposer *p, const json_t *request)
{
	json_t *json = json_object();
	json_object_set_new(json, "proposer", json_string(p->name));
	json_object_set_new(json, "kind", json_string(proposer_kind_names[p->kind]));
	if (!is_model(p)) {
		json_object_set(json, "request", (json_t *)request);
		return json;
	}
	const struct provider *provider = provider_find(proposer_kind_names[p->kind]);
	struct prompt prompt = PROMPT_INIT;
	struct chat_message message;
	prompt_build(request, &prompt);
	const struct chat_question question = proposer_question_to_model(p, &prompt, &message);
	CLEANUP(free_ptr) char *url = xasprintf("%s%s", p->base_url, provider->path);
	json_object_set_new(json, "url", json_from_text(url));
	json_object_set_new(json, "headers", headers_json(p, provider));
	json_object_set_new(json, "body", provider->request(&question));
	prompt_release(&prompt);
	return json;
}

static void add_text(const struct proposer *p, const json_t *request, struct strbuf *text)
{
	if (!is_model(p)) {
		CLEANUP(free_ptr) char *dump = json_dump_pretty_take(json_incref((json_t *)request));
		strbuf_addf(text, "%s\n", dump);
		return;
	}
	struct prompt prompt = PROMPT_INIT;
	prompt_build(request, &prompt);
	if (p == &anybody)
		strbuf_addstr(text,
			"(no proposer of the task file is asked questions: this is what one would "
			"be asked)\n\n");
	strbuf_addf(text, "--- system, %zu characters\n%s\n--- user, %zu characters\n%s", prompt.system.len,
		prompt.system.buf, prompt.user.len, prompt.user.buf);
	prompt_release(&prompt);
}

static enum err_code show(
	struct campaign *c, const struct parsed *parsed, const char *name, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *request = NULL;
	const struct proposer *p = NULL;
	TRY(doctor_check_measured(c, reterr));
	TRY(choose(&c->task, name, &p, reterr));
	TRY(patches_find_gone(c, reterr));
	TRY(proposers_request(c, p, &arena, &request, reterr));
	if (parsed->common.json) {
		CLEANUP(free_ptr) char *dump = json_dump_pretty_take(sent_json(p, request));
		strbuf_addf(&text, "%s\n", dump);
	} else {
		add_text(p, request, &text);
	}
	cli_print(&text);
	return OK;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct prompt_values *v = values;
	struct campaign c = {0};
	struct err e = ERR_INIT;
	if (cli_open_recorded(&parsed->common, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	enum err_code code = show(&c, parsed, v->proposer, &e);
	campaign_close(&c);
	return code == OK ? 0 : cli_fail(&parsed->common, &e);
}

static const struct option_spec options[] = {
	{"proposer", "NAME", OPTION_TEXT, "of the task file; default: the first that is asked questions",
		offsetof(struct prompt_values, proposer)},
};

const struct command command_prompt = {
	.name = "prompt",
	.summary = "show exactly what a proposer would be sent now",
	.usage = "",
	.detail = "Sends nothing. Models get a prompt, programs the request as JSON. With --json: the whole\n"
		  "message, with the name of the key's variable in place of the key.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct prompt_values),
	.run = run,
};
