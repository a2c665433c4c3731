#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/proposer_ask.h"
#include "propose/command.h"
#include "propose/prompt.h"
#include "propose/transcript.h"
#include "runner/find_program.h"
#include "runner/workspace.h"

static const double per_million = 1e-6;

static const char *from_root(const struct campaign *c, const char *path, struct arena *arena)
{
	return *path == '/' ? path : arena_printf(arena, "%s/%s", c->task.root, path);
}

/* ---- may it be asked ---- */

static enum err_code check_key(const struct proposer *p, struct err *reterr)
{
	const char *key = p->key_env ? getenv(p->key_env) : "";
	if (!p->key_env || (key && *key))
		return OK;
	return err_set(reterr, ERR_STATE,
		"proposer %s: the environment variable %s, which holds its key, is not set; set it, or take "
		"the proposer out of the task file",
		p->name, p->key_env);
}

static enum err_code check_transcript(const struct campaign *c, const struct proposer *p, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct transcript transcript;
	enum err_code code = transcript_load(from_root(c, p->file, &arena), &arena, &transcript, reterr);
	return code == OK ? OK : err_prefix(reterr, code, "proposer %s", p->name);
}

/* A word with a slash that names a file of the task's folder is that file. */
static const char *word_of(const struct campaign *c, const char *word, struct arena *arena)
{
	if (*word == '/' || !strchr(word, '/'))
		return word;
	const char *path = from_root(c, word, arena);
	return path_exists(path) ? path : word;
}

static enum err_code check_program(const struct campaign *c, const struct proposer *p, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	char path[4096];
	const char *word = word_of(c, p->command.items[0], &arena);
	if (strchr(word, '/') ? access(word, X_OK) == 0 : find_program(word, path, sizeof(path)))
		return OK;
	return err_set(reterr, ERR_STATE,
		"proposer %s: there is no program '%s' that can be run; mend its command, or take it out of "
		"the "
		"task file",
		p->name, word);
}

enum err_code proposer_check(const struct campaign *c, const struct proposer *p, struct err *reterr)
{
	switch (p->kind) {
	case PROPOSE_OPENAI:
	case PROPOSE_ANTHROPIC:
		return check_key(p, reterr);
	case PROPOSE_COMMAND:
		return check_program(c, p, reterr);
	case PROPOSE_REPLAY:
		return check_transcript(c, p, reterr);
	default:
		return OK;
	}
}

/* ---- models ---- */

static void add_cost(struct chat_cost *sum, const struct chat_cost *cost)
{
	sum->tokens_in += cost->tokens_in;
	sum->tokens_out += cost->tokens_out;
	sum->usd += cost->usd;
	sum->seconds += cost->seconds;
	sum->attempts += cost->attempts;
	sum->estimated |= cost->estimated;
}

struct chat_question proposer_question_to_model(
	const struct proposer *p, const struct prompt *prompt, struct chat_message *message)
{
	*message = (struct chat_message){.text = prompt->user.buf};
	return (struct chat_question){.model = p->model,
		.system = prompt->system.buf,
		.messages = message,
		.n_messages = 1,
		.max_output_tokens = p->max_output_tokens,
		.schema = prompt->schema.buf};
}

static enum err_code ask_model(struct campaign *c, const struct proposer_question *q,
	const struct chat_question *question, struct strbuf *ret_text, bool *ret_is_cut,
	struct chat_cost *cost, struct err *reterr)
{
	const struct proposer *p = q->proposer;
	const struct chat_endpoint endpoint = {
		.provider = provider_find(proposer_kind_names[p->kind]),
		.base_url = p->base_url,
		.key = p->key_env ? getenv(p->key_env) : NULL,
		.timeout_s = p->timeout_s,
		.usd_per_token_in = p->usd_per_million_in * per_million,
		.usd_per_token_out = p->usd_per_million_out * per_million,
		.stop_fd = c->options.stop_fd,
		.seed = c->state.seed + (uint64_t)q->number,
	};
	const struct chat_budget left = {
		q->left.tokens - cost->tokens_in - cost->tokens_out, q->left.usd - cost->usd};
	struct chat_reply reply = {0};
	struct chat_cost one = {0};
	enum err_code code = chat_ask(&endpoint, question, &left, &reply, &one, reterr);
	add_cost(cost, &one);
	if (code == OK) {
		strbuf_clear(ret_text);
		strbuf_add(ret_text, reply.text.buf, reply.text.len);
		*ret_is_cut = reply.cut;
	}
	chat_reply_release(&reply);
	return code;
}

/* Of a model's answer that its limit cut, that is what was wrong with it: for the model and for the user.
 * Where enough of it came whole to be used, nobody pays for another one. */
static enum err_code read_answer(const struct campaign *c, const struct proposer *p,
	const struct strbuf *text, bool is_cut, struct arena *arena, struct answer *ret_answer,
	struct err *reterr)
{
	enum err_code code = answer_parse(text->buf, text->len, &c->state.space, arena, ret_answer, reterr);
	const char *why =
		arena_printf(arena, "it was cut at %d tokens, its max_output_tokens", p->max_output_tokens);
	struct dropped_item *first = code == OK && ret_answer->n_dropped ? ret_answer->dropped : NULL;
	if (is_cut && first && strcmp(first->where, ANSWER_END) == 0)
		first->reason = arena_printf(arena, "is missing (%s): what came whole is used", why);
	return code == ERR_INPUT && is_cut ? err_prefix(reterr, code, "%s", why) : code;
}

/* The question, and once more with what was wrong with the answer. */
static enum err_code converse(struct campaign *c, const struct proposer_question *q, struct arena *arena,
	struct strbuf *text, struct answer *ret_answer, struct chat_cost *cost, struct err *reterr)
{
	struct prompt prompt = PROMPT_INIT;
	CLEANUP(strbuf_release) struct strbuf repair = STRBUF_INIT;
	struct err problem = ERR_INIT;
	prompt_build(q->request, &prompt);
	struct chat_message messages[3];
	struct chat_question question = proposer_question_to_model(q->proposer, &prompt, messages);
	bool is_cut = false;
	enum err_code code = ask_model(c, q, &question, text, &is_cut, cost, reterr);
	if (code == OK) {
		code = read_answer(c, q->proposer, text, is_cut, arena, ret_answer, &problem);
		if (code == ERR_INPUT) {
			const char *first = arena_strndup(arena, text->buf, text->len);
			prompt_build_repair(problem.message, &repair);
			messages[1] = (struct chat_message){.from_model = true, .text = first};
			messages[2] = (struct chat_message){.text = repair.buf};
			question.n_messages = ARRAY_LEN(messages);
			code = ask_model(c, q, &question, text, &is_cut, cost, &problem);
			if (code == OK)
				code = read_answer(c, q->proposer, text, is_cut, arena, ret_answer, &problem);
		}
		if (code != OK && reterr)
			*reterr = problem;
	}
	prompt_release(&prompt);
	return code;
}

/* ---- programs ---- */

/* Its own copy of the reference, fresh for each question; by the workspace's own means. */
static enum err_code make_scratch(
	struct campaign *c, const char *name, char ret_dir[4096], struct err *reterr)
{
	static const char *const nothing[] = {NULL};
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", c->dir);
	const struct build_request request = {.root = c->task.root,
		.snapshot = &c->snapshot,
		.work_dir = work,
		.diff_paths = nothing,
		.diff_digests = nothing,
		.env = nothing,
		.build_key = "proposer",
		.sandbox = c->options.sandbox,
		.link_in = nothing,
		.hidden = nothing,
		.shown = nothing};
	struct build_result build;
	TRY(workspace_build(&c->runner, &request, NULL, NULL, &build, reterr));
	TRY(workspace_trial_remove(work, name, reterr));
	return workspace_trial(&build, work, name, ret_dir, reterr);
}

static const char *const *with_end(const struct string_list *list, struct arena *arena)
{
	const char **items = arena_array(arena, list->count + 1, sizeof(*items));
	for (size_t i = 0; i < list->count; i++)
		items[i] = list->items[i];
	return items;
}

static enum err_code ask_program(struct campaign *c, const struct proposer_question *q, struct arena *arena,
	struct strbuf *text, struct answer *ret_answer, struct chat_cost *cost, struct err *reterr)
{
	const struct proposer *p = q->proposer;
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", c->dir);
	CLEANUP(free_ptr) char *name = xasprintf("proposer-%s", p->name);
	char dir[4096];
	const char **argv = arena_array(arena, p->command.count + 1, sizeof(*argv));
	for (size_t i = 0; i < p->command.count; i++)
		argv[i] = word_of(c, p->command.items[i], arena);
	TRY(make_scratch(c, name, dir, reterr));
	const struct command_endpoint agent = {.argv = argv,
		.dir = dir,
		.pass_env = with_end(&p->pass_env, arena),
		.timeout_s = p->timeout_s};
	enum err_code code = command_ask(&agent, q->request, c->options.stop_fd, text, cost, reterr);
	if (code == OK)
		code = answer_parse(text->buf, text->len, &c->state.space, arena, ret_answer, reterr);
	/* What an agent leaves in its copy is of no use to anybody. */
	struct err ignored = ERR_INIT;
	enum err_code removed = workspace_trial_remove(work, name, &ignored);
	(void)removed;
	return code;
}

/* ---- records ---- */

static enum err_code ask_record(struct campaign *c, const struct proposer_question *q, struct arena *arena,
	struct strbuf *text, struct answer *ret_answer, struct chat_cost *cost, struct err *reterr)
{
	const struct proposer *p = q->proposer;
	struct transcript transcript;
	const struct transcript_entry *entry;
	*cost = (struct chat_cost){0}; /* it was paid when it was given */
	TRY(transcript_load(from_root(c, p->file, arena), arena, &transcript, reterr));
	TRY(transcript_answer(&transcript, q->number, q->request,
		p->is_lenient ? TRANSCRIPT_LENIENT : TRANSCRIPT_STRICT, &entry, reterr));
	strbuf_addstr(text, entry->answer);
	return answer_parse(text->buf, text->len, &c->state.space, arena, ret_answer, reterr);
}

/* ---- all ---- */

typedef enum err_code (*ask_fn)(struct campaign *c, const struct proposer_question *q, struct arena *arena,
	struct strbuf *text, struct answer *ret_answer, struct chat_cost *cost, struct err *reterr);
static const ask_fn asks[N_PROPOSER_KINDS] = {
	[PROPOSE_OPENAI] = converse,
	[PROPOSE_ANTHROPIC] = converse,
	[PROPOSE_COMMAND] = ask_program,
	[PROPOSE_REPLAY] = ask_record,
};

static enum err_code keep_transcript(struct campaign *c, const struct proposer_question *q,
	const struct strbuf *text, const struct chat_cost *cost, struct err *reterr)
{
	char digest[SHA256_HEX_SIZE];
	CLEANUP(free_ptr) char *folder = xasprintf("%s/transcripts", c->dir);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s.jsonl", folder, q->proposer->name);
	CLEANUP(free_ptr) char *request = json_dumps(q->request, JSON_COMPACT | JSON_SORT_KEYS);
	transcript_digest(q->request, digest);
	const struct transcript_entry entry = {.proposer = q->proposer->name,
		.request_digest = digest,
		.request_json = request,
		.answer = text->buf,
		.tokens_in = cost->tokens_in,
		.tokens_out = cost->tokens_out,
		.usd = cost->usd,
		.seconds = cost->seconds};
	TRY(make_dirs(folder, 0755, reterr));
	return transcript_append(path, &entry, reterr);
}

enum err_code proposer_ask(struct campaign *c, const struct proposer_question *question, struct arena *arena,
	struct answer *ret_answer, struct chat_cost *ret_cost, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	*ret_cost = (struct chat_cost){0};
	enum err_code code =
		asks[question->proposer->kind](c, question, arena, &text, ret_answer, ret_cost, reterr);
	/* Also what could not be read: it is what a person wants to see. */
	if (text.len && question->proposer->kind != PROPOSE_REPLAY) {
		/* It was paid for, and the ledger has what it says: no reason to lose it. */
		struct err why = ERR_INIT;
		if (keep_transcript(c, question, &text, ret_cost, &why) != OK) {
			CLEANUP(free_ptr)
			char *note = xasprintf("the transcript of %s lacks this answer: %s",
				question->proposer->name, why.message);
			campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = note});
		}
	}
	return code;
}
