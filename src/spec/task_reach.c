/*
 * Is every setting part of a legal configuration? A backtracking search per setting, over the knobs that
 * share a constraint with it, reference settings first. It gives up (and says nothing) after a bounded number
 * of steps: a wrong "never" would be worse than a missed one.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/task_draft.h"

enum { STEPS_PER_SETTING = 20000, STEPS_IN_ALL = 2000000 };
enum reach { REACHED, NEVER, GAVE_UP };

struct index_list {
	size_t *items, count;
};

struct reach_search {
	const struct task *task;
	struct expression_set *set;
	struct index_list *constraints_of; /* by knob */
	int *setting;
	size_t *order, n_order; /* the knobs to assign; order[0] is fixed */
	size_t *rank;           /* by knob: its position in order; SIZE_MAX = not in it */
	bool *is_concerned;     /* by constraint: reads a knob of order */
	long steps, total_steps;
};

/* A constraint can be decided once the last of its knobs is assigned. */
static bool is_decided_at(const struct reach_search *s, size_t constraint, size_t position)
{
	size_t count, last = 0;
	const size_t *knobs = constraint_knobs(s->set, constraint, &count);
	for (size_t i = 0; i < count; i++)
		last = MAX_OF(last, s->rank[knobs[i]]);
	return last == position;
}

/* only: SIZE_MAX = every constraint. */
static bool holds_at(struct reach_search *s, size_t position, size_t only)
{
	const struct index_list *constraints = &s->constraints_of[s->order[position]];
	for (size_t i = 0; i < constraints->count; i++) {
		size_t c = constraints->items[i];
		if ((only == SIZE_MAX || only == c) && is_decided_at(s, c, position) &&
			!constraint_holds(s->set, c, s->setting))
			return false;
	}
	return true;
}

/* The i-th setting to try: the reference, then the others. */
static int nth_setting(const struct knob *knob, size_t i)
{
	if (i == 0)
		return (int)knob->reference;
	return (int)(i <= knob->reference ? i - 1 : i);
}

/* Depth is at most the number of knobs, which TASK_MAX_SETTINGS bounds. */
static enum reach assign_from(struct reach_search *s, size_t position, size_t only)
{
	if (position == s->n_order)
		return REACHED;
	size_t k = s->order[position];
	const struct knob *knob = &s->task->knobs[k];
	for (size_t i = 0; i < knob->n_settings; i++) {
		if (++s->steps > STEPS_PER_SETTING)
			return GAVE_UP;
		s->setting[k] = nth_setting(knob, i);
		if (!holds_at(s, position, only))
			continue;
		enum reach result = assign_from(s, position + 1, only);
		if (result != NEVER)
			return result;
	}
	return NEVER;
}

static enum reach search_from(struct reach_search *s, size_t knob, size_t setting, size_t only)
{
	if (s->total_steps > STEPS_IN_ALL)
		return GAVE_UP;
	s->steps = 0;
	s->setting[knob] = (int)setting;
	enum reach result = holds_at(s, 0, only) ? assign_from(s, 1, only) : NEVER;
	s->total_steps += s->steps + 1;
	return result;
}

/* Is the reference with this one change legal? So it is for most settings, and no search is needed. */
static bool is_legal_alone(struct reach_search *s, size_t knob, size_t setting)
{
	bool legal = true;
	s->setting[knob] = (int)setting;
	for (size_t i = 0; legal && i < s->constraints_of[knob].count; i++)
		legal = constraint_holds(s->set, s->constraints_of[knob].items[i], s->setting);
	s->setting[knob] = (int)s->task->knobs[knob].reference;
	return legal;
}

static void join(struct reach_search *s, size_t constraint)
{
	size_t count;
	const size_t *knobs = constraint_knobs(s->set, constraint, &count);
	s->is_concerned[constraint] = true;
	s->total_steps += (long)count;
	for (size_t i = 0; i < count; i++)
		if (s->rank[knobs[i]] == SIZE_MAX) {
			s->rank[knobs[i]] = s->n_order;
			s->order[s->n_order++] = knobs[i];
		}
}

/* The knobs that constraints join to `knob`, nearest first. */
static void collect(struct reach_search *s, size_t knob)
{
	for (size_t k = 0; k < s->task->n_knobs; k++)
		s->rank[k] = SIZE_MAX;
	for (size_t c = 0; c < expression_set_count(s->set); c++)
		s->is_concerned[c] = false;
	s->total_steps += (long)(s->task->n_knobs + expression_set_count(s->set)) / 16;
	s->order[0] = knob;
	s->rank[knob] = 0;
	s->n_order = 1;
	for (size_t position = 0; position < s->n_order; position++) {
		const struct index_list *constraints = &s->constraints_of[s->order[position]];
		for (size_t i = 0; i < constraints->count; i++)
			if (!s->is_concerned[constraints->items[i]])
				join(s, constraints->items[i]);
	}
}

static enum err_code never_error(struct reach_search *s, size_t k, size_t setting, struct err *reterr)
{
	const struct knob *knob = &s->task->knobs[k];
	struct place place = knob->settings[setting].place;
	struct arena arena = ARENA_INIT;
	const char *text = printable(knob->settings[setting].text, &arena);
	enum err_code code = OK;
	for (size_t c = 0; code == OK && c < expression_set_count(s->set); c++) {
		if (!s->is_concerned[c] || search_from(s, k, setting, c) != NEVER)
			continue;
		const struct expression *e = constraint_expression(s->set, c);
		bool is_conflict = constraint_kind(s->set, c) == CONSTRAINT_CONFLICT;
		code = place_error(s->task, place, reterr, "knob %s: value %s %s `%s` (line %d)", knob->name,
			text, is_conflict ? "always meets the conflict" : "can never satisfy",
			printable(e->text, &arena), e->place.line);
	}
	if (code == OK)
		code = place_error(s->task, place, reterr,
			"knob %s: value %s: no settings of the other knobs satisfy all invariants and "
			"conflicts with it",
			knob->name, text);
	arena_release(&arena);
	return code;
}

static enum err_code check_knob(struct reach_search *s, size_t k, struct err *reterr)
{
	bool is_collected = false;
	for (size_t setting = 0; setting < s->task->knobs[k].n_settings; setting++) {
		if (is_legal_alone(s, k, setting) || s->total_steps > STEPS_IN_ALL)
			continue;
		if (!is_collected)
			collect(s, k);
		is_collected = true;
		if (search_from(s, k, setting, SIZE_MAX) == NEVER)
			return never_error(s, k, setting, reterr);
		for (size_t i = 0; i < s->n_order; i++)
			s->setting[s->order[i]] = (int)s->task->knobs[s->order[i]].reference;
	}
	return OK;
}

static void list_constraints(struct reach_search *s, struct arena *arena)
{
	size_t n_constraints = expression_set_count(s->set), count;
	size_t *capacity = arena_array(arena, s->task->n_knobs, sizeof(*capacity));
	for (size_t c = 0; c < n_constraints; c++) {
		const size_t *knobs = constraint_knobs(s->set, c, &count);
		for (size_t i = 0; i < count; i++)
			capacity[knobs[i]]++;
	}
	for (size_t k = 0; k < s->task->n_knobs; k++)
		s->constraints_of[k].items = arena_array(arena, capacity[k], sizeof(size_t));
	for (size_t c = 0; c < n_constraints; c++) {
		const size_t *knobs = constraint_knobs(s->set, c, &count);
		for (size_t i = 0; i < count; i++) {
			struct index_list *list = &s->constraints_of[knobs[i]];
			list->items[list->count++] = c;
		}
	}
}

enum err_code task_check_reach(const struct task *task, struct expression_set *set, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	size_t n = task->n_knobs;
	struct reach_search s = {.task = task,
		.set = set,
		.constraints_of = arena_array(&arena, n, sizeof(struct index_list)),
		.setting = arena_array(&arena, n, sizeof(int)),
		.order = arena_array(&arena, n, sizeof(size_t)),
		.rank = arena_array(&arena, n, sizeof(size_t)),
		.is_concerned = arena_array(&arena, expression_set_count(set), sizeof(bool))};
	list_constraints(&s, &arena);
	for (size_t k = 0; k < n; k++)
		s.setting[k] = (int)task->knobs[k].reference;
	enum err_code code = OK;
	for (size_t k = 0; code == OK && k < n; k++)
		code = check_knob(&s, k, reterr);
	arena_release(&arena);
	return code;
}
