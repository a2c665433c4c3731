#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/answers.h"
#include "campaign/inbox.h"
#include "campaign/proposer_ask.h"
#include "campaign/proposers.h"
#include "campaign/sources.h"
#include "campaign/stages.h"
#include "propose/prompt.h"

enum { REVIEW_FRAME_BYTES = 600, CONFIGURATIONS_WANTED = 3, FAILURES_MAX = 3, FAILED_TRIALS = 2 };
/* A failed trial that was given this chance is news to whoever predicted it. */
static const double confident = 0.9;

enum err_code proposers_check(const struct campaign *c, struct err *reterr)
{
	for (size_t i = 0; i < c->task.n_proposers; i++)
		if (proposer_is_asked(&c->task.proposers[i]))
			TRY(proposer_check(c, &c->task.proposers[i], reterr));
	return OK;
}

/* ---- when ---- */

static bool is_failure(enum trial_status status)
{
	return status == TRIAL_OOM || status == TRIAL_CRASHED || status == TRIAL_HUNG ||
	       status == TRIAL_INVALID;
}

/* By the trials that finished behind the first `after`. */
static bool was_wrong(const struct state *s, int after)
{
	int failed = 0;
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->finished_as <= after || !is_failure(t->status))
			continue;
		failed++;
		if (t->p_fits * t->p_ok >= confident)
			return true;
	}
	return failed >= FAILED_TRIALS;
}

static const struct proposer_record *record_of(const struct state *s, const struct proposer *p)
{
	int index = state_find_proposer(s, p->name);
	return index < 0 ? NULL : &s->proposers[index];
}

/* -1 = it has said nothing yet; the task's own is 0. */
static int source_of(const struct state *s, const struct proposer *p)
{
	int index = state_find_proposer(s, p->name);
	return index < 0 ? -1 : index + 1;
}

static bool is_due(const struct campaign *c, const struct proposer *p, bool asked_in_this_call)
{
	const struct state *s = &c->state;
	const struct proposer_record *r = record_of(s, p);
	if (!r || !r->questions)
		return true;
	if (r->failed && !asked_in_this_call)
		return true;
	return s->n_counted - r->asked_after >= p->every ||
	       (s->n_counted > r->asked_after && !r->failed && was_wrong(s, r->asked_after));
}

/* ---- for what ---- */

static bool was_reviewed_by(const struct state *s, int source, size_t patch)
{
	for (size_t i = 0; i < s->n_opinions; i++)
		if (s->opinions[i].source == source && s->opinions[i].patch == patch)
			return true;
	return false;
}

static bool waits_for_review(const struct campaign *c, size_t patch)
{
	const struct state *s = &c->state;
	bool is_gone = patch < c->n_patch_gone && c->patch_gone[patch];
	return !is_gone && *s->patch_reviews[patch] && !s->patch_accepted[patch];
}

/* False: it cannot be shown whole, or not at all. */
static bool read_for_review(
	const struct campaign *c, const struct proposer *p, size_t patch, struct strbuf *diff)
{
	const struct state *s = &c->state;
	struct err ignored = ERR_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, s->patch_paths[patch]);
	bool is_model = p->kind == PROPOSE_OPENAI || p->kind == PROPOSE_ANTHROPIC;
	strbuf_clear(diff);
	if (state_check_diff(s, patch, c->dir, &ignored) != OK ||
		file_read(path, FILE_CAP_DEFAULT, diff, &ignored) != OK)
		return false;
	/* With its name and fence; nobody judges what he has not read. */
	return !is_model || diff->len + REVIEW_FRAME_BYTES <= PROMPT_REVIEW_BYTES;
}

/* The first patch that waits and that it has neither written nor looked at. */
static void ask_for_review(
	struct campaign *c, const struct proposer *p, struct request_input *in, struct arena *arena)
{
	const struct state *s = &c->state;
	int source = source_of(s, p);
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (!waits_for_review(c, i) || s->patch_sources[i] == source ||
			was_reviewed_by(s, source, i) || !read_for_review(c, p, i, &diff))
			continue;
		in->wanted.review_patch = s->space.patches[i].name;
		in->review_diff = arena_strndup(arena, diff.buf, diff.len);
		in->review_digest = arena_strdup(arena, s->space.patches[i].digest);
		return;
	}
}

static enum err_code make_request(struct campaign *c, const struct proposer *p, struct arena *arena,
	json_t **ret_request, const char **ret_shown, struct err *reterr)
{
	struct source_file *files = NULL;
	struct request_input in = {
		.state = &c->state,
		.wanted = {.configurations = CONFIGURATIONS_WANTED, .priors = c->task.n_knobs > 0},
		.patch_gone = c->patch_gone,
		.n_patch_gone = c->n_patch_gone,
	};
	if (p->patches > 0)
		TRY(sources_read_editable(c, arena, &files, &in.n_files, reterr));
	in.files = files;
	in.wanted.patches = in.n_files ? p->patches : 0;
	ask_for_review(c, p, &in, arena);
	*ret_request = request_to_json(&in);
	*ret_shown = in.review_digest ? in.review_digest : "";
	return OK;
}

enum err_code proposers_request(struct campaign *c, const struct proposer *p, struct arena *arena,
	json_t **ret_request, struct err *reterr)
{
	const char *shown;
	return make_request(c, p, arena, ret_request, &shown, reterr);
}

/* ---- asking ---- */

static double left_of(double limit, double spent)
{
	return limit > 0 ? fmax(limit - spent, 0) : INFINITY;
}

static void say(struct campaign *c, const struct proposer *p, const char *text)
{
	CLEANUP(free_ptr) char *line = xasprintf("%s: %s", p->name, text);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = line});
}

static void say_answer(struct campaign *c, const struct proposer *p, const struct answer *answer,
	const struct chat_cost *cost)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	answers_describe(answer, &text);
	double tokens = cost->tokens_in + cost->tokens_out;
	if (tokens > 0)
		strbuf_addf(&text, " (%s%.0f tokens", cost->estimated ? "about " : "", tokens);
	if (cost->usd > 0)
		strbuf_addf(&text, "%s$%.4g", tokens > 0 ? ", " : " (", cost->usd);
	if (tokens > 0 || cost->usd > 0)
		strbuf_addch(&text, ')');
	say(c, p, text.buf);
}

static enum err_code record(struct campaign *c, const struct proposer *p, const struct answer *answer,
	const char *shown, const struct chat_cost *cost, const struct err *why, struct err *reterr)
{
	char failure[2200] = "";
	if (!answer)
		err_format(why, failure, sizeof(failure));
	const struct given_answer given = {.proposer = p->name,
		.answer = answer,
		.failure = failure,
		.cost = cost,
		.shown_patch = shown};
	return answers_record(c, &given, reterr);
}

static bool may_accept(const struct campaign *c, const struct opinion *o)
{
	const char *name = state_source_name(&c->state, o->source);
	for (size_t i = 0; i < c->task.n_proposers; i++)
		if (strcmp(c->task.proposers[i].name, name) == 0)
			return c->task.proposers[i].may_accept;
	return false;
}

static enum err_code accept_patch(struct campaign *c, const struct opinion *o, struct err *reterr)
{
	const struct state *s = &c->state;
	struct err ignored = ERR_INIT;
	/* A copy that was removed or edited is no longer what was read, and cannot be built either. */
	if (state_check_diff(s, o->patch, c->dir, &ignored) != OK)
		return OK;
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("audit"));
	json_object_set_new(body, "patch", json_string(s->space.patches[o->patch].digest));
	json_object_set_new(body, "by", json_string(state_source_name(s, o->source)));
	TRY(campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr);
}

/* Where the user lets it, a review that accepts is an acceptance of the patch that it was shown. From what is
 * on record, so that a crash in between loses none. */
static enum err_code accept_reviewed(struct campaign *c, struct err *reterr)
{
	for (size_t i = 0; i < c->state.n_opinions; i++) {
		const struct opinion *o = &c->state.opinions[i];
		if (o->accept && o->was_shown && waits_for_review(c, o->patch) &&
			c->state.patch_sources[o->patch] != o->source && may_accept(c, o))
			TRY(accept_patch(c, o, reterr));
	}
	return OK;
}

static enum err_code check_left(const struct chat_budget *left, struct err *reterr)
{
	if (left->tokens > 0 && left->usd > 0)
		return OK;
	return err_set(reterr, ERR_LIMIT, "its budget of %s is used up; it is asked nothing more",
		left->tokens > 0 ? "money" : "tokens");
}

/* *ret_shown: digest of the patch that it is asked to review, "" = none. */
static enum err_code send(struct campaign *c, const struct proposer *p, struct arena *arena,
	const char **ret_shown, struct answer *ret_answer, struct chat_cost *ret_cost, struct err *reterr)
{
	const struct proposer_record *r = record_of(&c->state, p);
	CLEANUP(json_decref_ptr) json_t *request = NULL;
	CLEANUP(free_ptr) char *label = xasprintf("asking %s", p->name);
	double tokens = left_of(p->tokens, r ? r->tokens : 0);
	double own_usd = left_of(p->usd, r ? r->usd : 0);
	double usd = fmin(own_usd, left_of(c->task.budget.usd, c->state.cost.usd));
	const struct chat_budget left = {tokens, usd};
	TRY(check_left(&left, reterr));
	TRY(make_request(c, p, arena, &request, ret_shown, reterr));
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_STAGE, .text = label});
	const struct proposer_question question = {
		.proposer = p, .request = request, .left = left, .number = r ? (size_t)r->questions : 0};
	return proposer_ask(c, &question, arena, ret_answer, ret_cost, reterr);
}

/* What goes wrong here is the proposer's trouble; the search goes on. */
static bool is_its_own_trouble(enum err_code code)
{
	return code == ERR_FAILED || code == ERR_INPUT || code == ERR_LIMIT || code == ERR_NOT_FOUND;
}

static enum err_code ask(struct campaign *c, const struct proposer *p, struct consulting *consulting,
	size_t index, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct answer answer = {0};
	struct chat_cost cost = {0};
	struct err why = ERR_INIT;
	const char *shown = "";
	enum err_code code = send(c, p, &arena, &shown, &answer, &cost, &why);
	consulting->of[index].asked = true;
	bool failed = code != OK;
	/* A budget that is used up is said once and is no question. */
	if (code == ERR_LIMIT && !cost.attempts) {
		consulting->of[index].closed = true;
		say(c, p, why.message);
		return OK;
	}
	if (failed && code != ERR_INTERRUPTED && !is_its_own_trouble(code)) {
		if (reterr)
			*reterr = why;
		return code;
	}
	TRY(record(c, p, failed ? NULL : &answer, shown, &cost, &why, reterr));
	if (code == ERR_INTERRUPTED)
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
	consulting->of[index].failures = failed ? consulting->of[index].failures + 1 : 0;
	consulting->of[index].closed = consulting->of[index].failures >= FAILURES_MAX;
	if (failed) {
		CLEANUP(free_ptr)
		char *text = xasprintf("no answer: %s%s", why.message,
			consulting->of[index].closed ? "; it is left alone for now" : "");
		say(c, p, text);
		return OK;
	}
	say_answer(c, p, &answer, &cost);
	return accept_reviewed(c, reterr);
}

/* ---- what came unasked ---- */

static void say_refused(struct campaign *c, const char *name, const char *reason)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, name, strlen(name));
	CLEANUP(free_ptr) char *text = xasprintf("inbox/%s is no suggestion: %s", safe.buf, reason);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
}

/* Nobody speaks in the name of the task's own proposers. */
static bool is_reserved(const struct task *task, const char *name)
{
	for (size_t i = 0; i < task->n_proposers; i++)
		if (strcmp(task->proposers[i].name, name) == 0)
			return true;
	for (size_t i = 0; proposer_kind_names[i]; i++)
		if (strcmp(proposer_kind_names[i], name) == 0)
			return true;
	return false;
}

static enum err_code take_item(
	struct campaign *c, const struct inbox_item *item, struct arena *arena, struct err *reterr)
{
	struct answer answer = {0};
	struct err why = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	enum err_code code =
		is_reserved(&c->task, item->proposer)
			? err_set(&why, ERR_INPUT, "'%s' is the name of one of the task's own proposers",
				  item->proposer)
			: answer_parse(
				  item->answer, strlen(item->answer), &c->state.space, arena, &answer, &why);
	if (code != OK) {
		say_refused(c, item->name, why.message);
		return inbox_refuse(c->dir, item->name, reterr);
	}
	const struct given_answer given = {.proposer = item->proposer,
		.answer = &answer,
		.failure = "",
		.is_outsider = true,
		.measure = item->measure};
	TRY(answers_record(c, &given, reterr));
	TRY(inbox_done(c->dir, item->name, reterr));
	answers_describe(&answer, &text);
	strbuf_addf(&line, "%s: %s", item->proposer, text.buf);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = line.buf});
	return OK;
}

static enum err_code take_inbox(struct campaign *c, bool *ret_news, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct inbox box = {0};
	TRY(inbox_list(c->dir, &arena, &box, reterr));
	for (size_t i = 0; i < box.n_refused; i++)
		say_refused(c, box.refused[i].name, box.refused[i].reason);
	for (size_t i = 0; i < box.n_items; i++) {
		TRY(take_item(c, &box.items[i], &arena, reterr));
		*ret_news = true;
	}
	return OK;
}

enum err_code proposers_consult(
	struct campaign *c, struct consulting *consulting, bool *ret_news, struct err *reterr)
{
	*ret_news = false;
	TRY(accept_reviewed(c, reterr));
	for (size_t i = 0; i < c->task.n_proposers && i < PROPOSERS_MAX; i++) {
		const struct proposer *p = &c->task.proposers[i];
		if (!proposer_is_asked(p) || consulting->of[i].closed ||
			!is_due(c, p, consulting->of[i].asked))
			continue;
		if (campaign_stop_wanted(c))
			return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
		TRY(ask(c, p, consulting, i, reterr));
		*ret_news = true;
	}
	return take_inbox(c, ret_news, reterr);
}
