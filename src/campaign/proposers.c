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

/* Trials are finished in the order of their numbers, or nearly: those beyond the first `after`. */
static bool was_wrong(const struct state *s, int after)
{
	int failed = 0, finished = 0;
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		bool counts = t->status != TRIAL_REGISTERED && t->status != TRIAL_INTERRUPTED &&
			      t->status != TRIAL_TRANSIENT;
		finished += counts;
		if (!counts || finished <= after || !is_failure(t->status))
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

/* A patch that waits for a review and that it has not looked at; n_patches = none. */
static size_t patch_to_review(const struct campaign *c, const struct proposer *p)
{
	const struct state *s = &c->state;
	int source = source_of(s, p);
	size_t i = 0;
	for (; i < s->space.n_patches; i++)
		if (*s->patch_reviews[i] && !s->patch_accepted[i] && s->patch_sources[i] != source &&
			!was_reviewed_by(s, source, i))
			break;
	return i;
}

static enum err_code ask_for_review(struct campaign *c, const struct proposer *p, struct request_input *in,
	struct arena *arena, struct err *reterr)
{
	const struct state *s = &c->state;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	size_t patch = patch_to_review(c, p);
	if (patch == s->space.n_patches)
		return OK;
	TRY(state_check_diff(s, patch, c->dir, reterr));
	TRY(file_read(arena_printf(arena, "%s/%s", c->dir, s->patch_paths[patch]), FILE_CAP_DEFAULT, &diff,
		reterr));
	/* With its name and fence; nobody judges what he has not read. */
	bool is_model = p->kind == PROPOSE_OPENAI || p->kind == PROPOSE_ANTHROPIC;
	if (is_model && diff.len + REVIEW_FRAME_BYTES > PROMPT_REVIEW_BYTES)
		return OK;
	in->wanted.review_patch = s->space.patches[patch].name;
	in->review_diff = arena_strndup(arena, diff.buf, diff.len);
	return OK;
}

enum err_code proposers_request(struct campaign *c, const struct proposer *p, struct arena *arena,
	json_t **ret_request, struct err *reterr)
{
	struct source_file *files = NULL;
	struct request_input in = {
		.state = &c->state,
		.wanted = {.configurations = CONFIGURATIONS_WANTED, .priors = c->task.n_knobs > 0},
	};
	if (p->patches > 0)
		TRY(sources_read_editable(c, arena, &files, &in.n_files, reterr));
	in.files = files;
	in.wanted.patches = in.n_files ? p->patches : 0;
	TRY(ask_for_review(c, p, &in, arena, reterr));
	*ret_request = request_to_json(&in);
	return OK;
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
	const struct chat_cost *cost, const struct err *why, struct err *reterr)
{
	char failure[2200] = "";
	if (!answer)
		err_format(why, failure, sizeof(failure));
	const struct given_answer given = {
		.proposer = p->name, .answer = answer, .failure = failure, .cost = cost};
	return answers_record(c, &given, reterr);
}

/* Where the user lets it: a review that accepts is an acceptance, of the patch that it was asked about. */
static enum err_code accept_reviewed(struct campaign *c, const struct proposer *p, const char *shown,
	const struct answer *answer, struct err *reterr)
{
	for (size_t i = 0; i < answer->n_reviews && p->may_accept && *shown; i++) {
		const struct space *space = &c->state.space;
		const struct proposed_review *r = &answer->reviews[i];
		size_t k = space->n_patches;
		while (k-- > 0 && strcmp(space->patches[k].name, r->patch) != 0)
			continue;
		int source = source_of(&c->state, p);
		if (!r->accept || strcmp(r->patch, shown) != 0 || k >= space->n_patches ||
			c->state.patch_accepted[k] || !*c->state.patch_reviews[k] ||
			c->state.patch_sources[k] == source)
			continue;
		TRY(state_check_diff(&c->state, k, c->dir, reterr));
		json_t *body = json_object();
		json_object_set_new(body, "what", json_string("audit"));
		json_object_set_new(body, "patch", json_string(space->patches[k].digest));
		json_object_set_new(body, "by", json_string(p->name));
		TRY(campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr));
		TRY(campaign_refresh(c, reterr));
	}
	return OK;
}

/* *ret_shown: the patch that it is asked to review, "" = none. */
static enum err_code send(struct campaign *c, const struct proposer *p, struct arena *arena,
	const char **ret_shown, struct answer *ret_answer, struct chat_cost *ret_cost, struct err *reterr)
{
	const struct proposer_record *r = record_of(&c->state, p);
	CLEANUP(json_decref_ptr) json_t *request = NULL;
	CLEANUP(free_ptr) char *label = xasprintf("asking %s", p->name);
	double tokens = left_of(p->tokens, r ? r->tokens : 0);
	double own_usd = left_of(p->usd, r ? r->usd : 0);
	double usd = fmin(own_usd, left_of(c->task.budget.usd, c->state.cost.usd));
	TRY(proposers_request(c, p, arena, &request, reterr));
	const json_t *wanted = json_object_get(request, "wanted");
	*ret_shown = arena_strdup(arena, json_text_of(json_object_get(wanted, "review"), "patch"));
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_STAGE, .text = label});
	const struct proposer_question question = {.proposer = p,
		.request = request,
		.left = {tokens, usd},
		.number = r ? (size_t)r->questions : 0};
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
	TRY(record(c, p, failed ? NULL : &answer, &cost, &why, reterr));
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
	return accept_reviewed(c, p, shown, &answer, reterr);
}

/* ---- what came unasked ---- */

static void say_refused(struct campaign *c, const char *name, const char *reason)
{
	CLEANUP(free_ptr) char *text = xasprintf("inbox/%s is no suggestion: %s", name, reason);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
}

static enum err_code take_item(
	struct campaign *c, const struct inbox_item *item, struct arena *arena, struct err *reterr)
{
	struct answer answer = {0};
	struct err why = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	if (answer_parse(item->answer, strlen(item->answer), &c->state.space, arena, &answer, &why) != OK) {
		say_refused(c, item->name, why.message);
		return inbox_done(c->dir, item->name, reterr);
	}
	const struct given_answer given = {
		.proposer = item->proposer, .answer = &answer, .failure = "", .measure = item->measure};
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
