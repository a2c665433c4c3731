#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "spec/names.h"
#include "spec/task_draft.h"

static struct place place_of(const struct tree_node *node)
{
	return (struct place){node->line, node->column};
}

enum err_code read_expression(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	struct expression *expression = target;
	TRY(read_text(r, where, value, &expression->text, reterr));
	expression->place = place_of(value);
	return OK;
}

enum err_code read_derived(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct derived *derived = target;
	derived->name = value->key->text;
	if (!name_is_word(derived->name))
		return node_error(r, value->key, reterr, "%s: '%s' is not a name (a-z, 0-9 and _)", where,
			printable(derived->name, r->arena));
	return read_expression(r, field, arena_printf(r->arena, "%s.%s", where, derived->name), value,
		&derived->value, reterr);
}

static enum err_code check_environment_name(
	const struct reader *r, const char *where, const struct tree_node *node, struct err *reterr)
{
	if (!name_is_environment(node->text))
		return node_error(r, node, reterr, "%s: '%s' is not the name of an environment variable",
			where, printable(node->text, r->arena));
	if (strncmp(node->text, "INFRARSI_", strlen("INFRARSI_")) == 0)
		return node_error(r, node, reterr,
			"%s: '%s': names that begin with INFRARSI_ are set by infrarsi itself", where,
			node->text);
	return OK;
}

enum err_code read_environment(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct env_template *variable = target;
	TRY(check_environment_name(r, where, value->key, reterr));
	variable->name = value->key->text;
	variable->place = place_of(value);
	return read_template_element(r, field, arena_printf(r->arena, "%s.%s", where, variable->name), value,
		&variable->value, reterr);
}

enum err_code read_environment_name(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	TRY(read_text(r, where, value, target, reterr));
	return check_environment_name(r, where, value, reterr);
}

enum err_code read_pattern(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	TRY(read_text(r, where, value, target, reterr));
	if (!path_is_contained(value->text))
		return node_error(r, value, reterr,
			"%s: '%s' must be relative to the task file's folder, without .. or . in it", where,
			printable(value->text, r->arena));
	return OK;
}

enum err_code read_listed_word(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	size_t count = 0;
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
	TRY(read_text(r, where, value, target, reterr));
	for (; field->words[count]; count++) {
		if (strcmp(field->words[count], value->text) == 0)
			return OK;
		strbuf_addf(&all, "%s%s", count ? ", " : "", field->words[count]);
	}
	return node_error(r, value, reterr, "%s: '%s' is none of %s%s", where,
		printable(value->text, r->arena), all.buf,
		did_you_mean(r->arena, value->text, field->words, count));
}

enum err_code refuse_config(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	(void)target;
	return node_error(r, value, reterr,
		"%s: edits of configuration files are not supported by this version", where);
}

enum err_code read_setting(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	struct setting *setting = target;
	TRY(read_text(r, where, value, &setting->text, reterr));
	setting->is_number = parse_number(setting->text, &setting->number);
	setting->place = place_of(value);
	return OK;
}

static const char *setting_names(const struct knob *knob, struct arena *arena)
{
	enum { SHOWN = 12 };
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < knob->n_settings && i < SHOWN; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", printable(knob->settings[i].text, arena));
	if (knob->n_settings > SHOWN)
		strbuf_addstr(&text, ", ...");
	return arena_strdup(arena, text.buf);
}

static bool find_setting(const struct knob *knob, const char *text, size_t *ret_index)
{
	for (size_t i = 0; i < knob->n_settings; i++)
		if (strcmp(knob->settings[i].text, text) == 0) {
			*ret_index = i;
			return true;
		}
	return false;
}

/* `what` is the part of the knob that names the setting: reference, flag, prior or start. */
static enum err_code read_setting_name(const struct reader *r, const struct knob *knob, const char *what,
	const struct tree_node *node, size_t *ret_index, struct err *reterr)
{
	const char *where = arena_printf(r->arena, "knob %s: %s", knob->name, what);
	const char *text;
	TRY(read_text(r, where, node, &text, reterr));
	if (find_setting(knob, text, ret_index))
		return OK;
	return node_error(r, node, reterr, "%s: '%s' is not among its values (%s)", where,
		printable(text, r->arena), setting_names(knob, r->arena));
}

static enum err_code require_map(const struct reader *r, const char *name, const char *what,
	const struct tree_node *node, struct err *reterr)
{
	if (node->kind == TREE_MAP)
		return OK;
	return node_error(r, node, reterr, "knob %s: %s: expected a mapping (setting: ...), got %s", name,
		what, tree_describe(node, r->arena));
}

static enum err_code read_flags(
	const struct reader *r, struct knob *knob, const struct tree_node *flags, struct err *reterr)
{
	TRY(require_map(r, knob->name, "flag", flags, reterr));
	const char *where = arena_printf(r->arena, "knob %s: flag", knob->name);
	for (const struct tree_node *node = flags->first; node; node = node->next) {
		size_t index;
		TRY(read_setting_name(r, knob, "flag", node->key, &index, reterr));
		TRY(read_text(r, where, node, &knob->settings[index].flag, reterr));
	}
	return OK;
}

static enum err_code read_priors(
	struct reader *r, struct knob *knob, const struct tree_node *priors, struct err *reterr)
{
	TRY(require_map(r, knob->name, "prior", priors, reterr));
	for (const struct tree_node *node = priors->first; node; node = node->next) {
		size_t index;
		struct prior_draft prior = {NAN, NAN};
		TRY(read_setting_name(r, knob, "prior", node->key, &index, reterr));
		if (index == knob->reference)
			return node_error(r, node->key, reterr,
				"knob %s: prior: '%s' is the reference, which priors are relative to",
				knob->name, printable(node->key->text, r->arena));
		TRY(fields_read(r, &prior_table, arena_printf(r->arena, "knob %s: prior", knob->name), node,
			&prior, reterr));
		struct setting *setting = &knob->settings[index];
		setting->has_prior_gain = !isnan(prior.speedup);
		setting->prior_gain_ln = setting->has_prior_gain ? log1p(prior.speedup) : 0;
		setting->has_prior_memory = !isnan(prior.memory_bytes);
		setting->prior_memory_bytes = setting->has_prior_memory ? prior.memory_bytes : 0;
	}
	return OK;
}

enum err_code read_knob(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct knob_draft draft = {0};
	struct knob *knob = &draft.knob;
	TRY(fields_read(r, field->table, where, value, &draft, reterr));
	knob->place = place_of(value);
	if (knob->n_settings > TASK_MAX_SETTINGS)
		return node_error(r, value, reterr, "knob %s: has %zu values, at most %d are allowed",
			knob->name, knob->n_settings, TASK_MAX_SETTINGS);
	for (size_t i = 0, first; i < knob->n_settings; i++)
		if (find_setting(knob, knob->settings[i].text, &first) && first != i)
			return err_set_at(reterr, ERR_INPUT, r->path, knob->settings[i].place.line,
				knob->settings[i].place.column, "knob %s: value '%s' is given twice",
				knob->name, printable(knob->settings[i].text, r->arena));
	TRY(read_setting_name(r, knob, "reference", draft.reference, &knob->reference, reterr));
	if (draft.flags)
		TRY(read_flags(r, knob, draft.flags, reterr));
	if (draft.priors)
		TRY(read_priors(r, knob, draft.priors, reterr));
	*(struct knob *)target = *knob;
	return OK;
}

static enum err_code read_start(
	struct task_draft *draft, const struct tree_node *node, struct start *ret_start, struct err *reterr)
{
	struct task *task = &draft->task;
	struct reader *r = &draft->reader;
	if (node->kind != TREE_MAP)
		return node_error(r, node, reterr, "starts: expected a mapping (knob: setting), got %s",
			tree_describe(node, r->arena));
	ret_start->settings = arena_array(r->arena, task->n_knobs, sizeof(size_t));
	ret_start->place = place_of(node);
	const char **names = arena_array(r->arena, task->n_knobs, sizeof(*names));
	for (size_t k = 0; k < task->n_knobs; k++) {
		ret_start->settings[k] = task->knobs[k].reference;
		names[k] = task->knobs[k].name;
	}
	for (const struct tree_node *child = node->first; child; child = child->next) {
		const struct knob *knob = task_find_knob(task, child->key->text);
		if (!knob)
			return node_error(r, child->key, reterr, "starts: unknown knob '%s'%s",
				printable(child->key->text, r->arena),
				did_you_mean(r->arena, child->key->text, names, task->n_knobs));
		TRY(read_setting_name(
			r, knob, "start", child, &ret_start->settings[knob - task->knobs], reterr));
	}
	return OK;
}

enum err_code read_starts(struct task_draft *draft, struct err *reterr)
{
	const struct tree_node *list = draft->starts;
	if (!list)
		return OK;
	if (list->kind != TREE_LIST)
		return node_error(&draft->reader, list, reterr, "starts: expected a list, got %s",
			tree_describe(list, draft->reader.arena));
	/* Each start has a setting for every knob: bounded, so that a short file cannot ask for much memory.
	 */
	if (list->n_children > 1000)
		return node_error(&draft->reader, list, reterr, "starts: at most 1000 are allowed");
	struct start *starts = arena_array(draft->reader.arena, list->n_children, sizeof(*starts));
	size_t n = 0;
	for (const struct tree_node *node = list->first; node; node = node->next)
		TRY(read_start(draft, node, &starts[n++], reterr));
	draft->task.starts = starts;
	draft->task.n_starts = n;
	return OK;
}

static unsigned bits_of(const char *const *names, const struct string_list *list)
{
	unsigned bits = 0;
	for (size_t i = 0; i < list->count; i++)
		bits |= 1u << switch_index(names, list->items[i]);
	return bits;
}

enum err_code read_switches(struct task_draft *draft, struct err *reterr)
{
	const struct search_draft *d = &draft->search;
	struct search_switches switches = {.operators_off = bits_of(operator_names, &d->operators_off),
		.operators_on = bits_of(operator_names, &d->operators_on),
		.starts_given = true,
		.starts = bits_of(start_names, &d->starts)};
	unsigned both = switches.operators_off & switches.operators_on;
	const struct tree_node *list = draft_node(draft, "search.operators_on");
	for (const struct tree_node *node = list ? list->first : NULL; node; node = node->next)
		if (both & 1u << switch_index(operator_names, node->text))
			return node_error(&draft->reader, node, reterr,
				"search.operators_on: '%s' is in operators_off, too", node->text);
	draft->task.search = switches;
	if (d->stop == STOP_NOT_WORTH && draft->task.contract.horizon_updates <= 0)
		return node_error(&draft->reader, draft_node(draft, "search.stop"), reterr,
			"search.stop: worth needs contract.horizon, the updates that the faster job will "
			"run");
	draft->task.early_stop = d->early_stop;
	draft->task.search_stop = d->stop;
	draft->task.confirm_updates = d->confirm_updates;
	draft->task.give_up_at = d->give_up_at;
	if (d->give_up_at && d->give_up_at < 2)
		return node_error(&draft->reader, draft_node(draft, "search.give_up_at"), reterr,
			"search.give_up_at: expected 0 or at least 2, got %g", d->give_up_at);
	if (d->confirm_updates && d->confirm_updates <= draft->task.contract.updates)
		return node_error(&draft->reader, draft_node(draft, "search.confirm"), reterr,
			"search.confirm: expected more updates than contract.updates (%d), got %d",
			draft->task.contract.updates, d->confirm_updates);
	return OK;
}
