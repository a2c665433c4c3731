/* A10 for Python: the hook's calls and what they are told, the variables that hold it, callbacks, and the
 * settings of frameworks that decide what is reported. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

static bool names_hook(const struct fact *f)
{
	return strcasestr(f->text, "infrarsi") != NULL;
}

/* Methods by which frameworks tell callbacks what happened, and where the hook is put in. */
static bool is_callback(const char *function)
{
	static const char *const names[] = {"on_log", "on_step_begin", "on_step_end", "on_optimizer_step",
		"on_pre_optimizer_step", "on_substep_end"};
	return IN(py_short(function), names);
}

/* Only how a value is read changed, or how a variable is called. */
static bool tells_the_same(const struct change *change, const struct fact *old, const struct fact *now)
{
	return py_same_but_for_reading(old->text, now->text) || py_same_but_for_names(change, old, now);
}

static bool is_about_hook(const struct fact *f)
{
	static const enum fact_kind others[] = {FACT_FUNCTION, FACT_STRING, FACT_HANDLER};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (f->kind == others[i])
			return false;
	return names_hook(f) || (is_callback(f->function) && f->kind == FACT_CALL && py_is_report(f));
}

static void check_facts(struct change *change, bool in_new)
{
	struct fact **facts = in_new ? change->new : change->old;
	size_t n = in_new ? change->n_new : change->n_old;
	for (size_t i = 0; i < n; i++) {
		const struct fact *f = facts[i];
		if (f->same || !is_about_hook(f))
			continue;
		if (f->kind == FACT_NAME)
			report(change, AUDIT_BLOCK, f, "the hook is used in another place or no longer");
		else if (!f->twin || !tells_the_same(change, in_new ? f->twin : f, in_new ? f : f->twin))
			report(change, AUDIT_BLOCK, f, "a call of the hook, or what it is told, changed");
	}
}

/* Conditions and loops around the hook's calls. */
static void check_place(struct change *change, const struct fact *f)
{
	enum py_weight weight;
	if (!f->twin || !py_is_report(f->twin))
		report(change, AUDIT_BLOCK, f, "a report is gone");
	else if (py_added_guard(change, f, f->twin, &weight))
		report(change, weight == PY_DECISIVE ? AUDIT_BLOCK : AUDIT_REVIEW, f->twin,
			"a report became conditional");
	else if (py_was_here(f) && f->loops != f->twin->loops)
		report(change, AUDIT_BLOCK, f->twin, "a report is made more or less often");
	else if (!f->same && !tells_the_same(change, f, f->twin))
		report(change, AUDIT_BLOCK, f->twin, "a report is given something else");
}

static void check_places(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (py_is_report(change->old[i]))
			check_place(change, change->old[i]);
	for (size_t i = 0; i < change->n_new; i++)
		if (py_is_report(change->new[i]) && !change->new[i]->twin)
			report(change, AUDIT_BLOCK, change->new[i], "a further report is made");
}

/* hook = ... given another value, hook.error set, hook.update replaced */
static void check_variables(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool holds =
			f->kind == FACT_ASSIGN && f->op[0] != ':' && is_added(f) &&
			(strcmp(f->init, "hook") == 0 || strncmp(f->init, "hook .", 6) == 0 ||
				strcmp(f->init, "self . hook") == 0 ||
				strncmp(f->init, "self . hook .", 13) == 0 || strcmp(f->init, "_hook") == 0);
		bool deletes = f->kind == FACT_DELETE && strstr(f->value, "hook");
		if ((holds && existed(change, FACT_NAME, f->name)) || (holds && strchr(f->init, '.')) ||
			deletes)
			report(change, AUDIT_BLOCK, f, "the variable that holds the hook is set differently");
	}
}

static bool defines_hook(const struct fact *f)
{
	if (f->twin || (f->kind != FACT_FUNCTION && f->kind != FACT_CLASS))
		return false;
	return strcasestr(f->text, "infrarsi") || strcmp(f->name, "Hook") == 0 || strstr(f->value, "Hook )");
}

static bool acts(const struct fact *f)
{
	return f->kind == FACT_CALL || f->kind == FACT_EXIT || f->kind == FACT_BRANCH ||
	       f->kind == FACT_ASSIGN;
}

static void check_definitions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (defines_hook(f))
			report(change, AUDIT_BLOCK, f, "something of the hook is defined anew");
		else if (!f->same && acts(f) && is_callback(f->function) &&
			 py_existed_function(change, f->function))
			report(change, AUDIT_BLOCK, f, "a callback works differently");
	}
}

/* logging_steps=1 became 50: fewer reports. */
static void check_settings(struct change *change)
{
	static const char *const names[] = {"logging_steps", "log_freq", "logging_nan_inf_filter",
		"include_num_input_tokens_seen", "callbacks", "logging_strategy", "logging_first_step",
		"log_interval", "steps_per_print", "log_every_n_steps"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && is_added(f) && IN(f->name, names) && f->op[0] == ':')
			report(change,
				strcmp(f->name, "log_interval") == 0 ||
						strcmp(f->name, "steps_per_print") == 0
					? AUDIT_REVIEW
					: AUDIT_BLOCK,
				f, "a setting that decides what is reported changed");
		if (f->kind == FACT_CALL && !f->twin &&
			(strcmp(f->name, "remove_callback") == 0 || strcmp(f->name, "pop_callback") == 0))
			report(change, AUDIT_BLOCK, f, "a callback is taken away");
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

void rule_py_hook(struct change *change)
{
	check_facts(change, false);
	check_facts(change, true);
	check_places(change);
	check_variables(change);
	check_definitions(change);
	check_settings(change);
	check_paths(change);
}
