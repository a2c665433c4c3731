#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "campaign/patch_check.h"
#include "campaign/sources.h"
#include "runner/hook_guard.h"

static bool is_refusal(enum err_code code)
{
	return code == ERR_INPUT || code == ERR_LIMIT || code == ERR_NOT_FOUND;
}

static void refuse(struct patch_check *check, const char *by, const char *reason)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, reason, strlen(reason));
	check->refused_by = by;
	check->reason = arena_strdup(&check->arena, safe.buf);
}

static enum err_code settle(enum err_code code, const char *by, const struct err *why,
	struct patch_check *check, struct err *reterr)
{
	if (is_refusal(code)) {
		char text[sizeof(why->message) + sizeof(why->file) + 32];
		err_format(why, text, sizeof(text));
		refuse(check, by, text);
		return OK;
	}
	if (code != OK && reterr)
		*reterr = *why;
	return code;
}

static void judge(struct patch_check *check)
{
	const struct audit_report *report = &check->report;
	for (size_t i = 0; i < report->n_findings && report->blocked; i++) {
		const struct audit_finding *f = &report->findings[i];
		if (f->severity != AUDIT_BLOCK)
			continue;
		refuse(check, "audit",
			arena_printf(&check->arena, "%s %s, %s:%d", f->rule, f->title, f->file, f->line));
		return;
	}
}

enum err_code patch_judge(struct campaign *c, struct patch_check *check, struct err *reterr)
{
	const struct string_list *menu = &c->task.contract.precision;
	const struct audit_terms terms = {.precision = menu->items, .n_precision = menu->count};
	const char *diff = check->patch.diff;
	struct err why = ERR_INIT;
	for (size_t i = 0; i < check->patch.n_files; i++)
		if (is_hook_path(check->patch.files[i])) {
			refuse(check, "hook",
				arena_printf(&check->arena, "%s would be taken for infrarsi's own hook",
					check->patch.files[i]));
			return OK;
		}
	enum err_code code =
		audit_diff_with(&terms, diff, strlen(diff), sources_read_one, c, &check->report, &why);
	if (code == OK)
		judge(check);
	return settle(code, "audit", &why, check, reterr);
}

static const char *known_name(const struct state *s, const char *digest)
{
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (strcmp(s->space.patches[i].digest, digest) == 0)
			return s->space.patches[i].name;
	return NULL;
}

enum err_code patch_check(
	struct campaign *c, const struct patch_text *text, struct patch_check *ret_check, struct err *reterr)
{
	struct patch_check check = {.refused_by = "", .reason = ""};
	struct err why = ERR_INIT;
	enum err_code code = patch_parse(&c->task, c->snapshot.commit, c->snapshot.prefix, text, NULL,
		&check.arena, &check.patch, &why);
	bool is_parsed = code == OK;
	code = settle(code, "patch", &why, &check, reterr);
	if (code == OK && is_parsed) {
		check.known_as = known_name(&c->state, check.patch.digest);
		code = patch_judge(c, &check, reterr);
	}
	if (code != OK) {
		patch_check_release(&check);
		return code;
	}
	*ret_check = check;
	return OK;
}

void patch_check_release(struct patch_check *check)
{
	audit_report_release(&check->report);
	arena_release(&check->arena);
}
