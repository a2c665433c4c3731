/* The tools that suggest. Each is checked at once, so that a slip comes back while its author is there, and
 * then put into the inbox; the ledger is not touched. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/inbox.h"
#include "campaign/patch_check.h"
#include "cli/mcp_app.h"
#include "event/event.h"
#include "propose/answer.h"

static const char proposer_name[] = "mcp";

static void copy_member(json_t *to, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);
	if (value && !json_is_null(value))
		json_object_set(to, key, value);
}

/* {list: [item]}, by malloc. */
static char *answer_with(const char *list, json_t *item_take)
{
	json_t *answer = json_object(), *items = json_array();
	json_array_append_new(items, item_take);
	json_object_set_new(answer, list, items);
	return json_dump_take(answer);
}

/* As a proposer's answer with one item; the item's place in it says nothing to who gave only one. */
static enum err_code parse_one(const char *text, const char *list, const struct space *space,
	struct arena *arena, struct answer *ret_answer, struct err *reterr)
{
	struct err e = ERR_INIT;
	enum err_code code = answer_parse(text, strlen(text), space, arena, ret_answer, &e);
	if (code == OK)
		return OK;
	CLEANUP(free_ptr) char *place = xasprintf("%s[0] ", list);
	size_t skip = strncmp(e.message, place, strlen(place)) == 0 ? strlen(place) : 0;
	return err_set(reterr, code, "%s", e.message + skip);
}

static enum err_code put(struct mcp_app *app, const struct campaign *c, const char *answer, bool measure,
	struct mcp_result *result, struct err *reterr)
{
	char name[INBOX_NAME_SIZE];
	const struct inbox_item item = {.proposer = proposer_name, .measure = measure, .answer = answer};
	TRY(inbox_put(c->dir, &item, name, reterr));
	bool is_at_work = mcp_is_at_work(app, c->dir);
	json_object_set_new(result->data, "accepted", json_true());
	json_object_set_new(result->data, "inbox", json_string(name));
	json_object_set_new(result->data, "at_work", json_boolean(is_at_work));
	json_object_set_new(result->data, "next", json_string(is_at_work ? "wait" : "run"));
	strbuf_addf(&result->text, "In the inbox as %s; taken before the next decision.\nNext: %s\n", name,
		is_at_work ? "wait" : "run");
	return OK;
}

/* ---- settings ---- */

/* Candidates run once: what is registered is history, whatever became of it. Only where nobody is at work,
 * what still stands as running was broken off, as the next run will find. */
static const struct trial *find_twin(
	const struct state *s, const struct candidate *candidate, bool is_at_work)
{
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		bool is_broken_off = t->status == TRIAL_INTERRUPTED || t->status == TRIAL_TRANSIENT ||
				     (t->status == TRIAL_REGISTERED && !is_at_work);
		if (!is_broken_off && candidate_equal(&t->candidate, candidate))
			return t;
	}
	return NULL;
}

static enum err_code check_is_new(
	const struct state *s, const struct candidate *candidate, bool is_at_work, struct err *reterr)
{
	char speedup[UNIT_TEXT_SIZE] = "";
	if (candidate_is_reference(candidate, &s->space))
		return err_set(reterr, ERR_INPUT,
			"these settings are the reference's own, which is what all trials are compared with");
	const struct trial *twin = find_twin(s, candidate, is_at_work);
	if (!twin)
		return OK;
	if (twin->status == TRIAL_REGISTERED)
		return err_set(reterr, ERR_STATE, "trial %d is running these settings now; next: wait",
			twin->number);
	if (twin->run.has_time && isfinite(twin->run.gain_ln))
		format_speedup(twin->run.gain_ln, speedup);
	return err_set(reterr, ERR_STATE,
		"trial %d had these settings: %s%s%s; a candidate runs once, so propose another",
		twin->number, trial_status_names[twin->status], *speedup ? ", " : "", speedup);
}

static enum err_code propose_settings(struct mcp_app *app, const struct campaign *c, const json_t *arguments,
	struct mcp_result *result, struct err *reterr)
{
	static const char *const keys[] = {"settings", "speedup", "peak_gib", "reason"};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf changes = STRBUF_INIT;
	const struct state *s = &c->state;
	struct answer answer;
	json_t *item = json_object();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		copy_member(item, arguments, keys[i]);
	CLEANUP(free_ptr) char *text = answer_with("configurations", item);
	TRY(parse_one(text, "configurations", &s->space, &arena, &answer, reterr));
	struct candidate candidate = {s->space.n_levers, (int *)answer.configurations[0].setting};
	TRY(check_is_new(s, &candidate, mcp_was_at_work(app, c), reterr));
	bool measure = json_bool_of(arguments, "measure");
	mcp_add_changes(&changes, s, &candidate);
	result->data = json_object();
	json_object_set_new(result->data, "changes", json_from_text(changes.buf));
	json_object_set_new(result->data, "measure", json_boolean(measure));
	strbuf_addf(&result->text, "Against the reference: %s\n%s\n", changes.buf,
		measure ? "It will be the next trial, whatever its score."
			: "It competes with the search's own candidates by its score.");
	return put(app, c, text, measure, result, reterr);
}

MCP_TOOL_CALL(mcp_propose_settings)
{
	struct campaign c = {0};
	TRY(mcp_open(context, &c, reterr));
	enum err_code code = propose_settings(context, &c, call->arguments, result, reterr);
	campaign_close(&c);
	return code;
}

/* ---- patches ---- */

static enum err_code check_phases(const struct proposed_patch *patch, struct err *reterr)
{
	for (size_t i = 0; i < patch->n_phases; i++) {
		bool known = false;
		for (size_t k = 0; k < N_PHASES; k++)
			known = known || strcmp(patch->phases[i], phase_names[k]) == 0;
		if (known)
			continue;
		CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
		for (size_t k = 0; k < N_PHASES; k++)
			strbuf_addf(&names, "%s%s", k ? ", " : "", phase_names[k]);
		const char *close = closest_name(patch->phases[i], phase_names, N_PHASES);
		return err_set(reterr, ERR_INPUT, "phases: there is no phase '%s'%s%s%s; expected some of %s",
			patch->phases[i], close ? " (did you mean '" : "", close ? close : "",
			close ? "'?)" : "", names.buf);
	}
	return OK;
}

/* A second one of a name would get another when it is taken in, and nobody would know it by that. */
static enum err_code check_name(const struct state *s, const char *name, struct err *reterr)
{
	bool is_taken = false;
	for (size_t i = 0; i < s->space.n_patches; i++)
		is_taken = is_taken || strcmp(s->space.patches[i].name, name) == 0;
	for (size_t i = 0; i < s->n_refusals; i++)
		is_taken = is_taken || strcmp(s->refusals[i].name, name) == 0;
	return is_taken ? err_set(reterr, ERR_INPUT,
				  "the campaign has a patch '%s' already; give this one another name", name)
			: OK;
}

static json_t *finding_to_json(const struct audit_finding *f)
{
	json_t *finding = json_object();
	json_object_set_new(finding, "rule", json_from_text(f->rule));
	json_object_set_new(finding, "title", json_from_text(f->title));
	json_object_set_new(
		finding, "severity", json_string(f->severity == AUDIT_BLOCK ? "block" : "review"));
	json_object_set_new(finding, "file", json_from_text(f->file));
	json_object_set_new(finding, "line", json_integer(f->line));
	json_object_set_new(finding, "text", json_from_text(f->text));
	json_object_set_new(finding, "reason", json_from_text(f->reason));
	return finding;
}

static void add_finding(struct strbuf *text, const struct audit_finding *f)
{
	strbuf_addf(text, "%s  %s %s, ", f->severity == AUDIT_BLOCK ? "block " : "review", f->rule, f->title);
	strbuf_add_escaped(text, f->file, strlen(f->file));
	strbuf_addf(text, ":%d: ", f->line);
	strbuf_add_escaped(text, f->text, strlen(f->text));
	strbuf_addch(text, '\n');
}

static void describe_check(const struct patch_check *check, struct mcp_result *result)
{
	json_t *findings = json_array();
	for (size_t i = 0; i < check->report.n_findings; i++) {
		json_array_append_new(findings, finding_to_json(&check->report.findings[i]));
		add_finding(&result->text, &check->report.findings[i]);
	}
	json_object_set_new(result->data, "findings", findings);
	if (*check->refused_by) {
		json_object_set_new(result->data, "accepted", json_false());
		json_object_set_new(result->data, "refused_by", json_string(check->refused_by));
		json_object_set_new(result->data, "reason", json_from_text(check->reason));
		strbuf_addf(&result->text, "Refused by %s: %s\nNothing was handed in.\n", check->refused_by,
			check->reason);
		result->is_error = true;
		return;
	}
	json_object_set_new(result->data, "needs_review", json_boolean(check->report.review));
	if (check->report.review)
		strbuf_addstr(&result->text,
			"It may run, and is not promoted before a person accepted it (infrarsi audit "
			"--accept).\n");
}

static enum err_code check_and_put(struct mcp_app *app, struct campaign *c,
	const struct proposed_patch *patch, const char *text, struct mcp_result *result, struct err *reterr)
{
	struct patch_check check = {0};
	const struct patch_text source = {.name = patch->name,
		.format = patch->is_edits ? PATCH_EDITS : PATCH_DIFF,
		.text = patch->text,
		.length = strlen(patch->text)};
	TRY(patch_check(c, &source, &check, reterr));
	enum err_code code = OK;
	if (check.known_as) {
		code = err_set(
			reterr, ERR_STATE, "the campaign has this very change as patch '%s'", check.known_as);
	} else {
		result->data = json_object();
		json_object_set_new(result->data, "name", json_string(patch->name));
		describe_check(&check, result);
		if (!*check.refused_by)
			code = put(app, c, text, false, result, reterr);
	}
	patch_check_release(&check);
	return code;
}

static enum err_code propose_patch(struct mcp_app *app, struct campaign *c, const json_t *arguments,
	struct mcp_result *result, struct err *reterr)
{
	static const char *const keys[] = {
		"name", "title", "mechanism", "phases", "speedup", "diff", "edits"};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct answer answer;
	json_t *item = json_object();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		copy_member(item, arguments, keys[i]);
	CLEANUP(free_ptr) char *text = answer_with("patches", item);
	TRY(parse_one(text, "patches", &c->state.space, &arena, &answer, reterr));
	TRY(check_phases(&answer.patches[0], reterr));
	TRY(check_name(&c->state, answer.patches[0].name, reterr));
	return check_and_put(app, c, &answer.patches[0], text, result, reterr);
}

MCP_TOOL_CALL(mcp_propose_patch)
{
	struct campaign c = {0};
	TRY(mcp_open(context, &c, reterr));
	enum err_code code = propose_patch(context, &c, call->arguments, result, reterr);
	campaign_close(&c);
	return code;
}
