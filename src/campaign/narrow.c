#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/narrow.h"

static enum err_code unknown_value(
	const struct knob *knob, const char *value, const char *argument, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT;
	for (size_t i = 0; i < knob->n_settings; i++)
		strbuf_addf(&values, "%s%s", i ? ", " : "", knob->settings[i].text);
	return err_set(reterr, ERR_INPUT, "'%s': knob %s has no value '%s'; expected one of: %s", argument,
		knob->name, value, values.buf);
}

static enum err_code unknown_knob(const struct task *task, const char *name, const char *argument,
	struct arena *arena, struct err *reterr)
{
	const char **names = arena_array(arena, task->n_knobs, sizeof(char *));
	for (size_t i = 0; i < task->n_knobs; i++)
		names[i] = task->knobs[i].name;
	const char *close = closest_name(name, names, task->n_knobs);
	return err_set(reterr, ERR_INPUT, "'%s': the task has no knob '%s'%s%s%s", argument, name,
		close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
}

/* One "knob=value" of `length` bytes. */
static enum err_code parse_pair(const struct task *task, const char *text, size_t length, struct arena *arena,
	size_t *ret_knob, int *ret_setting, struct err *reterr)
{
	const char *pair = arena_strndup(arena, text, length);
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair)
		return err_set(reterr, ERR_INPUT, "'%s': expected knob=value", pair);
	const char *name = arena_strndup(arena, pair, (size_t)(equals - pair));
	const struct knob *knob = task_find_knob(task, name);
	if (!knob)
		return unknown_knob(task, name, pair, arena, reterr);
	for (size_t i = 0; i < knob->n_settings; i++)
		if (strcmp(knob->settings[i].text, equals + 1) == 0) {
			*ret_knob = (size_t)(knob - task->knobs);
			*ret_setting = (int)i;
			return OK;
		}
	return unknown_value(knob, equals + 1, pair, reterr);
}

static enum err_code parse_start(
	const struct task *task, const char *text, struct arena *arena, int *setting, struct err *reterr)
{
	for (size_t i = 0; i < task->n_knobs; i++)
		setting[i] = (int)task->knobs[i].reference;
	for (const char *p = text;; p++) {
		size_t length = strcspn(p, ","), knob;
		int value;
		TRY(parse_pair(task, p, length, arena, &knob, &value, reterr));
		setting[knob] = value;
		p += length;
		if (!*p)
			return OK;
	}
}

enum err_code narrowing_parse(const struct task *task, const char *const *fixed, size_t n_fixed,
	const char *const *starts, size_t n_starts, struct arena *arena, struct narrowing *ret_narrowing,
	struct err *reterr)
{
	struct narrowing n = {.task = task};
	n.fixed = arena_array(arena, task->n_knobs, sizeof(int));
	for (size_t i = 0; i < task->n_knobs; i++)
		n.fixed[i] = -1;
	for (size_t i = 0; i < n_fixed; i++) {
		size_t knob;
		int value;
		TRY(parse_pair(task, fixed[i], strlen(fixed[i]), arena, &knob, &value, reterr));
		n.fixed[knob] = value;
	}
	n.starts = arena_array(arena, n_starts, sizeof(int *));
	for (size_t i = 0; i < n_starts; i++) {
		n.starts[i] = arena_array(arena, task->n_knobs, sizeof(int));
		TRY(parse_start(task, starts[i], arena, n.starts[i], reterr));
	}
	n.n_starts = n_starts;
	*ret_narrowing = n;
	return OK;
}

static bool is_legal(void *context, const int *setting)
{
	const struct narrowing *n = context;
	for (size_t i = 0; i < n->task->n_knobs; i++)
		if (n->fixed[i] >= 0 && setting[i] != n->fixed[i])
			return false;
	for (size_t i = 0; i < n->n_patch_gone; i++)
		if (n->patch_gone[i] && setting[n->task->n_knobs + i])
			return false;
	return n->state->search.is_legal(n->state->search.legal_context, setting);
}

void narrowing_apply(struct narrowing *n, struct state *s, struct search_input *input)
{
	n->state = s;
	input->is_legal = is_legal;
	input->legal_context = n;
	if (n->n_starts == 0)
		return;
	/* The state's arena outlives this decision; patches are off in a start. */
	size_t total = n->n_starts + input->n_user_starts;
	n->padded = arena_array(&s->arena, total, sizeof(int *));
	for (size_t i = 0; i < n->n_starts; i++) {
		int *setting = arena_array(&s->arena, s->space.n_levers, sizeof(int));
		memcpy(setting, n->starts[i], n->task->n_knobs * sizeof(int));
		n->padded[i] = setting;
	}
	for (size_t i = 0; i < input->n_user_starts; i++)
		n->padded[n->n_starts + i] = input->user_starts[i];
	input->user_starts = n->padded;
	input->n_user_starts = total;
}
