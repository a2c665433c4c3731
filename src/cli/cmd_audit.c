#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"

struct audit_values {
	const char *accept;
	const char *root;
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
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct audit_finding *f = &r->findings[i];
		strbuf_addf(&text, "%s:%d: %s: %s %s\n    ", f->file, f->line,
			f->severity == AUDIT_BLOCK ? "block" : "review", f->rule, f->title);
		strbuf_add_escaped(&text, f->text, strlen(f->text));
		strbuf_addf(&text, "\n    %s (docs/audit.md#%s)\n", f->reason, f->rule);
	}
	strbuf_addf(&text, "%s\n",
		r->blocked  ? "blocked"
		: r->review ? "clean, but some changes want a review"
			    : "clean");
	cli_print(&text);
}

static void print_json(const struct audit_report *r)
{
	json_t *findings = json_array(), *json = json_object();
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct audit_finding *f = &r->findings[i];
		json_t *finding = json_object();
		json_object_set_new(finding, "rule", json_from_text(f->rule));
		json_object_set_new(finding, "title", json_from_text(f->title));
		json_object_set_new(
			finding, "severity", json_string(f->severity == AUDIT_BLOCK ? "block" : "review"));
		json_object_set_new(finding, "file", json_from_text(f->file));
		json_object_set_new(finding, "line", json_integer(f->line));
		json_object_set_new(finding, "in_old", json_boolean(f->in_old));
		json_object_set_new(finding, "text", json_from_text(f->text));
		json_object_set_new(finding, "reason", json_from_text(f->reason));
		json_array_append_new(findings, finding);
	}
	json_object_set_new(json, "findings", findings);
	json_object_set_new(json, "blocked", json_boolean(r->blocked));
	json_object_set_new(json, "review", json_boolean(r->review));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

static enum err_code record_trial(struct campaign *c, int number, struct err *reterr)
{
	for (size_t i = 0; i < c->state.n_trials; i++) {
		const struct trial *t = &c->state.trials[i];
		if (t->number != number)
			continue;
		if (t->status != TRIAL_VALID || t->reviewed)
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
	if (parsed->n_positional != 1)
		code = err_set(&e, ERR_INPUT,
			"audit: expected one diff, such as  infrarsi audit change.diff --root .");
	if (code == OK)
		code = file_read(parsed->positional[0], FILE_CAP_DEFAULT, &diff, &e);
	if (code == OK)
		code = audit_diff(
			diff.buf, diff.len, read_below, (void *)(v->root ? v->root : "."), &report, &e);
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
};

const struct command command_audit = {
	.name = "audit",
	.summary = "read a diff for changes that only look faster",
	.usage = "DIFF",
	.detail = "Exit code 0: nothing blocks; 1: blocked. Needs no campaign.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct audit_values),
	.max_positional = 1,
	.run = run,
};
