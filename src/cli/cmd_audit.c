#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/audit_print.h"
#include "cli/cli.h"
#include "cli/git_diff.h"

struct audit_values {
	const char *accept;
	const char *root;
	const char *zoo;
};

static enum err_code read_below(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	if (!path_is_contained(path))
		return err_set(reterr, ERR_INPUT, "the diff names '%s', which is outside the tree", path);
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", (const char *)context, path);
	return file_read(full, FILE_CAP_DEFAULT, ret_text, reterr);
}

static void print_text(const struct audit_report *r)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < r->n_findings; i++)
		audit_add_finding(&text, &r->findings[i]);
	strbuf_addf(&text, "%s\n",
		r->blocked  ? "blocked"
		: r->review ? "clean, but some changes want a review"
			    : "clean");
	cli_print(&text);
}

static void print_json(const struct audit_report *r)
{
	json_t *json = json_object();
	json_object_set_new(json, "findings", audit_findings_to_json(r));
	json_object_set_new(json, "blocked", json_boolean(r->blocked));
	json_object_set_new(json, "review", json_boolean(r->review));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

/* What is no text becomes a finding of the rule for files that no rule reads. */
static void add_notes(struct audit_report *r, const struct git_notes *notes)
{
	struct audit_rule_text unread;
	if (!notes->count || !audit_rule_at(0, &unread))
		return;
	r->findings = xrealloc(r->findings, r->n_findings + notes->count, sizeof(*r->findings));
	for (size_t i = 0; i < notes->count; i++)
		r->findings[r->n_findings++] = (struct audit_finding){.rule = unread.id,
			.title = unread.title,
			.severity = AUDIT_REVIEW,
			.file = arena_strdup(&r->arena, notes->items[i].path),
			.line = 1,
			.text = "",
			.reason = notes->items[i].what};
	r->review = true;
}

static enum err_code audit_text(const char *name, const struct strbuf *diff, const char *root,
	struct audit_report *ret_report, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
	CLEANUP(git_notes_clear) struct git_notes notes = {0};
	struct audit_report report = {.arena = ARENA_INIT};
	void *context = (void *)root;
	TRY(git_diff_plain(name, diff->buf, diff->len, read_below, context, &arena, &plain, &notes, reterr));
	enum err_code code = OK;
	if (plain.len || !notes.count)
		code = audit_diff(plain.buf, plain.len, read_below, context, &report, reterr);
	if (code != OK && diff_is_applied(plain.buf, plain.len, read_below, context))
		return err_set(reterr, ERR_INPUT,
			"%s: the tree %s already has this change; --root must be the tree before it, such as "
			" git worktree add ../before HEAD",
			name, root);
	TRY(code);
	add_notes(&report, &notes);
	*ret_report = report;
	return OK;
}

/* For its own result, or for that of a run that was to confirm it. */
static bool waits(const struct state *s, const struct trial *t)
{
	const struct duel *withdrawn = s->has_withdrawn ? &s->withdrawn : NULL;
	if (trial_is_held(t, &t->run.verdict) ||
		(withdrawn && withdrawn->trial == t->number &&
			trial_is_held(t, &withdrawn->confirmation.candidate.verdict)))
		return true;
	for (size_t i = 0; i < s->n_duels; i++)
		if (s->duels[i].trial == t->number &&
			trial_is_held(t, &s->duels[i].confirmation.candidate.verdict))
			return true;
	return false;
}

static enum err_code record_trial(struct campaign *c, int number, struct err *reterr)
{
	for (size_t i = 0; i < c->state.n_trials; i++) {
		const struct trial *t = &c->state.trials[i];
		if (t->number != number)
			continue;
		if (t->status != TRIAL_VALID || !waits(&c->state, t))
			return err_set(reterr, ERR_STATE, "trial %d does not wait for a review", number);
		json_t *body = json_object();
		json_object_set_new(body, "what", json_string("trial"));
		json_object_set_new(body, "trial", json_integer(number));
		return campaign_append(c, ENTRY_ACCEPT, number, NULL, json_dump_take(body), NULL, reterr);
	}
	return err_set(reterr, ERR_NOT_FOUND, "there is no trial %d; see  infrarsi report", number);
}

/* The latest version of the patch that waits: earlier ones of the same name are other changes. */
static enum err_code record_acceptance(struct campaign *c, const char *name, struct err *reterr)
{
	const struct space *space = &c->state.space;
	bool known = false;
	for (size_t i = space->n_patches; i-- > 0;) {
		if (strcmp(space->patches[i].name, name) != 0)
			continue;
		known = true;
		if (!*c->state.patch_reviews[i] || c->state.patch_accepted[i])
			continue;
		TRY(state_check_diff(&c->state, i, c->dir, reterr));
		json_t *body = json_object();
		json_object_set_new(body, "what", json_string("audit"));
		json_object_set_new(body, "patch", json_string(space->patches[i].digest));
		return campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr);
	}
	return known ? err_set(reterr, ERR_STATE, "patch '%s' does not wait for a review", name)
		     : err_set(reterr, ERR_NOT_FOUND, "this campaign has no patch '%s'; see  infrarsi report",
			       name);
}

static int accept(const struct parsed *parsed, const char *name)
{
	struct campaign c = {0};
	struct err e = ERR_INIT;
	if (cli_open(&parsed->common, CAMPAIGN_WRITE, NULL, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	int64_t number;
	enum err_code code = parse_integer(name, &number) && number > 0 && number < INT32_MAX
				     ? record_trial(&c, (int)number, &e)
				     : record_acceptance(&c, name, &e);
	campaign_close(&c);
	if (code != OK)
		return cli_fail(&parsed->common, &e);
	if (!parsed->common.json)
		printf("Accepted. Next: infrarsi run\n");
	else
		printf("{\"accepted\": true}\n");
	return 0;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct audit_values *v = values;
	struct err e = ERR_INIT;
	struct audit_report report = {0};
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	enum err_code code = OK;
	if (v->accept)
		return accept(parsed, v->accept);
	if (v->zoo && parsed->n_positional == 0)
		return audit_zoo_run(parsed, v->zoo);
	if (v->zoo)
		code = err_set(&e, ERR_INPUT, "audit: --zoo takes no diff, got '%s'", parsed->positional[0]);
	else if (parsed->n_positional != 1)
		code = err_set(&e, ERR_INPUT,
			"audit: expected one diff, such as  infrarsi audit change.diff --root .");
	if (code == OK)
		code = file_read(parsed->positional[0], FILE_CAP_DEFAULT, &diff, &e);
	if (code == OK)
		code = audit_text(parsed->positional[0], &diff, v->root ? v->root : ".", &report, &e);
	if (code != OK)
		return cli_fail(&parsed->common, &e);
	if (parsed->common.json)
		print_json(&report);
	else
		print_text(&report);
	int exit_code = report.blocked ? 1 : 0;
	audit_report_release(&report);
	return exit_code;
}

static const struct option_spec options[] = {
	{"accept", "PATCH", OPTION_TEXT,
		"of this campaign: a person has reviewed the patch, it may be promoted",
		offsetof(struct audit_values, accept)},
	{"root", "DIR", OPTION_TEXT, "the tree that the diff applies to (default: .)",
		offsetof(struct audit_values, root)},
	{"zoo", "DIR", OPTION_TEXT, "audit a collection of cheats and honest changes instead (tests/zoo)",
		offsetof(struct audit_values, zoo)},
};

const struct command command_audit = {
	.name = "audit",
	.summary = "read a diff for changes that only look faster",
	.usage = "DIFF",
	.detail = "Takes what git diff writes. Exit code 0: nothing blocks; 1: blocked. Needs no campaign.\n"
		  "With --zoo: 0 when every case is as its expect file says.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct audit_values),
	.max_positional = 1,
	.run = run,
};
