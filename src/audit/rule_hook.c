/* A10: the calls that tell the harness what happens, and everything that is handed to them. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

static bool names_hook(const struct fact *f)
{
	return strstr(f->text, "infrarsi") || strstr(f->text, "INFRARSI");
}

/* A variable whose declared type is one of the hook's. */
static bool is_hook_variable(const struct change *change, const char *name)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_DECLARE && strcmp(f->name, name) == 0 && strstr(f->value, "infrarsi"))
			return true;
	}
	return false;
}

/* The first variable of "info . loss" or "hook -> fd". */
static bool writes_hook_variable(const struct change *change, const struct fact *f)
{
	struct token t;
	const char *at = f->init;
	char name[80] = "";
	if (f->kind != FACT_ASSIGN || !next_token(&at, &t) || t.length >= sizeof(name))
		return false;
	memcpy(name, t.text, t.length);
	return is_hook_variable(change, name);
}

static void check_facts(struct change *change, struct fact **facts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct fact *f = facts[i];
		if (f->same || f->kind == FACT_FUNCTION)
			continue;
		if (names_hook(f) && f->kind != FACT_NAME)
			report(change, AUDIT_BLOCK, f, "a call of the hook, or what it is told, changed");
		else if (names_hook(f))
			report(change, AUDIT_BLOCK, f, "the hook is used in another place or no longer");
		else if (writes_hook_variable(change, f))
			report(change, AUDIT_BLOCK, f, "what the hook is told changed");
	}
}

/* Conditions and loops around the hook's calls, and around functions that report through it. */
static void check_places(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_CALL || !word_in(f->name, WORDS_REPORT) || word_in(f->name, WORDS_LOG))
			continue;
		const struct guard *guard;
		if (!f->twin)
			report(change, AUDIT_BLOCK, f, "a report is gone");
		else if ((guard = added_guard(change, f, f->twin, WORDS_REPORT)))
			report(change, is_emptiness(change, f->twin, guard) ? AUDIT_REVIEW : AUDIT_BLOCK,
				f->twin, "a report became conditional");
		else if (same_function(f, f->twin) && f->loops != f->twin->loops)
			report(change, AUDIT_BLOCK, f->twin, "a report is made more or less often");
		else if (!f->same)
			report(change, AUDIT_BLOCK, f->twin, "a report is given something else");
	}
}

static void check_definitions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_FUNCTION && !f->twin && names_hook(f))
			report(change, AUDIT_BLOCK, f, "a function of the hook is defined anew");
	}
}

static void check_paths(struct change *change)
{
	for (size_t i = 0; i < change->n_files; i++) {
		const char *path = change->files[i].path;
		if (strstr(path, "infrarsi_hook"))
			report_line(
				change, AUDIT_BLOCK, path, 1, false, "", 0, "the hook's own file is changed");
	}
}

void rule_hook(struct change *change)
{
	check_facts(change, change->old, change->n_old);
	check_facts(change, change->new, change->n_new);
	check_places(change);
	check_definitions(change);
	check_paths(change);
}
