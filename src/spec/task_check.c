#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/names.h"
#include "spec/task_draft.h"
#include "spec/template.h"

static enum err_code check_stack(const struct task_draft *draft, struct err *reterr)
{
	static const char *const stacks[] = {"native", "ddp", "hf", "deepspeed", "torchtitan", "megatron"};
	const struct tree_node *node = draft_node(draft, "stack");
	const char *stack = draft->task.stack;
	if (strncmp(stack, "log:", 4) == 0 && stack[4])
		return OK;
	for (size_t i = 0; i < ARRAY_LEN(stacks); i++)
		if (strcmp(stack, stacks[i]) == 0)
			return OK;
	struct arena *arena = draft->reader.arena;
	return node_error(&draft->reader, node, reterr,
		"stack: expected native, ddp, hf, deepspeed, torchtitan, megatron or log:<format>, got "
		"'%s'%s",
		printable(stack, arena), did_you_mean(arena, stack, stacks, ARRAY_LEN(stacks)));
}

static enum err_code check_launch(const struct task_draft *draft, struct err *reterr)
{
	const struct launch *launch = &draft->task.launch;
	if (launch->launcher != LAUNCH_LOCAL && launch->launcher != LAUNCH_COMMAND) {
		const struct tree_node *node = draft_node(draft, "launch.launcher");
		return node_error(&draft->reader, node, reterr,
			"launch.launcher: '%s' is not supported by this version, which has local and command",
			node->text);
	}
	if (launch->nodes != 1)
		return node_error(&draft->reader, draft_node(draft, "launch.nodes"), reterr,
			"launch.nodes: this version runs on 1 node, got %d", launch->nodes);
	return task_check_slots(draft, reterr);
}

static enum err_code check_window(const struct task_draft *draft, struct err *reterr)
{
	const struct contract *contract = &draft->task.contract;
	if (contract->warmup >= contract->updates)
		return node_error(&draft->reader, draft_node(draft, "contract.warmup"), reterr,
			"contract.warmup: must be less than contract.updates (%d), got %d", contract->updates,
			contract->warmup);
	if (contract->checkpoint_save_at >= contract->updates && contract->checkpoint_save_at)
		return node_error(&draft->reader, draft_node(draft, "contract.checkpoint.save_at"), reterr,
			"contract.checkpoint.save_at: must be less than contract.updates (%d), got %d",
			contract->updates, contract->checkpoint_save_at);
	return OK;
}

/* Text equality also catches patterns; a plain path is caught by any frozen pattern that covers it. */
static const char *frozen_by(const struct contract *contract, const char *editable)
{
	bool is_plain = !strpbrk(editable, "*?[");
	for (size_t i = 0; i < contract->frozen_files.count; i++) {
		const char *frozen = contract->frozen_files.items[i];
		if (strcmp(frozen, editable) == 0 || (is_plain && glob_match(frozen, editable)))
			return frozen;
	}
	return NULL;
}

static enum err_code check_files(const struct task_draft *draft, struct err *reterr)
{
	const struct task *task = &draft->task;
	const struct tree_node *list = draft_node(draft, "contract.editable_files");
	for (const struct tree_node *node = list ? list->first : NULL; node; node = node->next) {
		const char *frozen = frozen_by(&task->contract, node->text);
		if (frozen)
			return node_error(&draft->reader, node, reterr,
				"contract.editable_files: '%s' is frozen by '%s' in frozen_files",
				printable(node->text, draft->reader.arena),
				printable(frozen, draft->reader.arena));
	}
	return OK;
}

static bool has_flags(const struct knob *knob)
{
	for (size_t i = 0; i < knob->n_settings; i++)
		if (knob->settings[i].flag)
			return true;
	return false;
}

/* own: what the name must lead to, or else something before it has the same one. */
static enum err_code check_name(
	const struct task *task, const char *name, struct name own, struct place place, struct err *reterr)
{
	const char *section = own.kind == NAME_DERIVED ? "derived" : "knobs";
	const char *reserved = name_reserved(name);
	if (reserved)
		return place_error(
			task, place, reterr, "%s: the name '%s' is taken: it is %s", section, name, reserved);
	struct name first = task_lookup(task, name);
	if (first.kind != own.kind || first.index != own.index)
		return place_error(
			task, place, reterr, "%s: the name '%s' is taken by a knob", section, name);
	for (size_t k = 0; k < task->n_knobs; k++) {
		size_t length = strlen(task->knobs[k].name);
		if (strncmp(name, task->knobs[k].name, length) == 0 && strcmp(name + length, "_flag") == 0 &&
			has_flags(&task->knobs[k]))
			return place_error(task, place, reterr,
				"%s: the name '%s' is taken: it is the flag of knob %s", section, name,
				task->knobs[k].name);
	}
	return OK;
}

static enum err_code check_names(const struct task_draft *draft, struct err *reterr)
{
	const struct task *task = &draft->task;
	size_t n_settings = 0;
	if (task->n_derived + task->contract.n_invariants + task->n_conflicts > TASK_MAX_EXPRESSIONS)
		return node_error(&draft->reader, draft->root, reterr,
			"more than %d derived values, invariants and conflicts in all", TASK_MAX_EXPRESSIONS);
	for (size_t k = 0; k < task->n_knobs; k++) {
		const struct knob *knob = &task->knobs[k];
		n_settings += knob->n_settings;
		if (n_settings > TASK_MAX_SETTINGS)
			return place_error(task, knob->place, reterr, "knobs: more than %d values in all",
				TASK_MAX_SETTINGS);
		TRY(check_name(task, knob->name, (struct name){NAME_KNOB, k}, knob->place, reterr));
	}
	for (size_t d = 0; d < task->n_derived; d++) {
		const struct derived *derived = &task->derived[d];
		TRY(check_name(
			task, derived->name, (struct name){NAME_DERIVED, d}, derived->value.place, reterr));
	}
	return OK;
}

static enum err_code check_levers(const struct task_draft *draft, struct err *reterr)
{
	const struct task *task = &draft->task;
	if (task->n_knobs || task_has_patches(task))
		return OK;
	const struct tree_node *knobs = draft_node(draft, "knobs");
	return node_error(&draft->reader, knobs ? knobs : draft->root, reterr,
		"there is nothing to search: give at least one knob or a proposer of patches%s",
		task->n_proposers && !task->contract.editable_files.count
			? ", and contract.editable_files, which they may change"
			: "");
}

struct usage { /* by knob */
	bool *is_used, *is_built;
};

static enum err_code check_flag(const struct task_draft *draft, const struct template_use *use,
	const struct knob *knob, struct err *reterr)
{
	for (size_t i = 0; i < knob->n_settings; i++)
		if (!knob->settings[i].flag)
			return err_set_at(reterr, ERR_INPUT, draft->task.path, use->line, use->column,
				"%s: {%s_flag}: knob %s has no flag for '%s' (flag: {%s: ...})", use->where,
				knob->name, knob->name,
				printable(knob->settings[i].text, draft->reader.arena),
				printable(knob->settings[i].text, draft->reader.arena));
	return OK;
}

static enum err_code check_template_name(const struct task_draft *draft, const struct template_use *use,
	const struct template_part *part, struct expression_set *set, struct usage *usage, struct err *reterr)
{
	const struct task *task = &draft->task;
	struct arena *arena = draft->reader.arena;
	struct template_name name = template_lookup(task, part->text, part->length);
	const char *word = arena_strndup(arena, part->text, part->length);
	size_t count = 0;
	const size_t *knobs = NULL;
	double unused;
	if (name.kind == TEMPLATE_UNKNOWN)
		return err_set_at(reterr, ERR_INPUT, task->path, use->line, use->column,
			"%s: unknown name {%s}%s", use->where, word, task_suggest(task, word, false, arena));
	if (name.kind == TEMPLATE_CONTRACT && !contract_value(task, name.index, &unused))
		return err_set_at(reterr, ERR_INPUT, task->path, use->line, use->column,
			"%s: {%s}: contract.%s is not given", use->where, word, word);
	if (name.kind == TEMPLATE_FLAG)
		TRY(check_flag(draft, use, &task->knobs[name.index], reterr));
	if (name.kind == TEMPLATE_KNOB || name.kind == TEMPLATE_FLAG) {
		knobs = &name.index;
		count = 1;
	} else if (name.kind == TEMPLATE_DERIVED) {
		knobs = constraint_knobs(set, name.index, &count);
	}
	for (size_t i = 0; i < count; i++) {
		usage->is_used[knobs[i]] = true;
		usage->is_built[knobs[i]] |= use->is_build;
	}
	return OK;
}

static enum err_code check_template(const struct task_draft *draft, const struct template_use *use,
	struct expression_set *set, struct usage *usage, struct err *reterr)
{
	const char *cursor = use->text;
	for (;;) {
		struct template_part part;
		bool found;
		struct err inner = ERR_INIT;
		if (template_next(&cursor, &part, &found, &inner) != OK)
			return err_set_at(reterr, ERR_INPUT, draft->task.path, use->line, use->column,
				"%s: '%s': %s", use->where, printable(use->text, draft->reader.arena),
				inner.message);
		if (!found)
			return OK;
		if (part.is_name)
			TRY(check_template_name(draft, use, &part, set, usage, reterr));
	}
}

static enum err_code check_templates(struct task_draft *draft, struct expression_set *set, struct err *reterr)
{
	struct task *task = &draft->task;
	struct usage usage = {arena_array(draft->reader.arena, task->n_knobs, sizeof(bool)),
		arena_array(draft->reader.arena, task->n_knobs, sizeof(bool))};
	for (size_t i = 0; i < draft->reader.n_templates; i++)
		TRY(check_template(draft, &draft->reader.templates[i], set, &usage, reterr));
	for (size_t i = 0; i < expression_set_count(set); i++) {
		size_t count;
		const size_t *knobs = constraint_knobs(set, i, &count);
		for (size_t k = 0; constraint_kind(set, i) != CONSTRAINT_CONFLICT && k < count; k++)
			usage.is_used[knobs[k]] = true;
	}
	for (size_t k = 0; k < task->n_knobs; k++) {
		task->knobs[k].is_build = usage.is_built[k];
		if (!usage.is_used[k])
			return place_error(task, task->knobs[k].place, reterr,
				"knob '%s' changes nothing: no template names {%s}", task->knobs[k].name,
				task->knobs[k].name);
	}
	return OK;
}

/* The first constraint that the configuration breaks; the count of constraints when it is legal. */
static size_t first_broken(struct expression_set *set, const int *setting)
{
	size_t i = 0;
	while (i < expression_set_count(set) && constraint_holds(set, i, setting))
		i++;
	return i;
}

static enum err_code check_reference(const struct task *task, struct expression_set *set, struct err *reterr)
{
	CLEANUP(free_ptr) int *setting = xcalloc(task->n_knobs + 1, sizeof(*setting));
	for (size_t k = 0; k < task->n_knobs; k++)
		setting[k] = (int)task->knobs[k].reference;
	size_t broken = first_broken(set, setting);
	if (broken == expression_set_count(set))
		return OK;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	constraint_reason(set, broken, setting, &reason);
	return place_error(task, constraint_expression(set, broken)->place, reterr,
		"%s: at the reference settings %s", constraint_section(set, broken), reason.buf);
}

static enum err_code check_starts(const struct task *task, struct expression_set *set, struct err *reterr)
{
	CLEANUP(free_ptr) int *setting = xcalloc(task->n_knobs + 1, sizeof(*setting));
	for (size_t s = 0; s < task->n_starts; s++) {
		for (size_t k = 0; k < task->n_knobs; k++)
			setting[k] = (int)task->starts[s].settings[k];
		size_t broken = first_broken(set, setting);
		if (broken == expression_set_count(set))
			continue;
		CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
		constraint_reason(set, broken, setting, &reason);
		return place_error(
			task, task->starts[s].place, reterr, "starts: in this configuration %s", reason.buf);
	}
	return OK;
}

static enum err_code check_with_expressions(
	struct task_draft *draft, struct expression_set *set, struct err *reterr)
{
	TRY(check_templates(draft, set, reterr));
	TRY(check_reference(&draft->task, set, reterr));
	TRY(task_check_reach(&draft->task, set, reterr));
	return check_starts(&draft->task, set, reterr);
}

enum err_code task_check(struct task_draft *draft, struct err *reterr)
{
	TRY(check_stack(draft, reterr));
	TRY(check_launch(draft, reterr));
	TRY(check_window(draft, reterr));
	TRY(check_names(draft, reterr));
	TRY(task_check_proposers(draft, reterr));
	TRY(check_levers(draft, reterr));
	TRY(read_starts(draft, reterr));
	TRY(read_switches(draft, reterr));
	TRY(check_files(draft, reterr));
	struct expression_set *set = NULL;
	TRY(expression_set_create(&draft->task, &set, reterr));
	enum err_code code = check_with_expressions(draft, set, reterr);
	expression_set_free(set);
	return code;
}
