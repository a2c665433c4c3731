/*
 * A1 for Python: clocks are the functions of the time module, device events and timers of the job. Reports to
 * the harness count as clock readings too: the harness stamps them when they arrive.
 */
#include "base/base.h"

#include <string.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

static bool is_boundary(const struct fact *f)
{
	return py_is_clock(f) || (py_is_report(f) && strcmp(f->name, "update") == 0);
}

static bool is_time_name(const char *name)
{
	return word_in(name, WORDS_TIME) && !word_in(name, WORDS_STEP);
}

/* ---- variables ---- */

/* The text reads a clock: "time . perf_counter ( )". */
static bool reads_clock(const struct change *change, const struct fact *at)
{
	const struct source *s = at->source;
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_CALL && node_contains(at->node, s->facts[i].node) &&
			py_is_clock(&s->facts[i]))
			return true;
	return false;
}

static bool held_time(const struct change *change, const struct fact *now)
{
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_ASSIGN && strcmp(f->name, now->name) == 0 && same_function(f, now) &&
			(is_time_name(f->name) || reads_clock(change, f)))
			return true;
	}
	return false;
}

/* t0 = time.time() became t0 = time.perf_counter(): one wall clock for another. */
static bool is_other_wall_clock(const char *a, const char *b)
{
	static const char *const clocks[] = {
		"time . time ( )", "time . perf_counter ( )", "time . monotonic ( )"};
	char x[200] = "", y[200] = "";
	const char *texts[] = {a, b};
	char *out[] = {x, y};
	for (size_t k = 0; k < 2; k++) {
		const char *at = texts[k];
		for (size_t n = 0; *at && n < sizeof(x) - 2;) {
			size_t i = 0;
			while (i < ARRAY_LEN(clocks) && strncmp(at, clocks[i], strlen(clocks[i])) != 0)
				i++;
			out[k][n++] = i < ARRAY_LEN(clocks) ? '@' : *at;
			at += i < ARRAY_LEN(clocks) ? strlen(clocks[i]) : 1;
		}
	}
	return strcmp(x, y) == 0;
}

static void check_variables(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !is_added(f) || f->op[0] == ':' ||
			!existed(change, FACT_NAME, f->name))
			continue;
		if (!held_time(change, f) && !(is_time_name(f->name) && reads_clock(change, f)))
			continue;
		bool wall = f->twin && is_other_wall_clock(f->value, f->twin->value);
		report(change, wall ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			wall ? "another clock is read" : "a variable that holds a time is set differently");
	}
}

/* Arithmetic in a text, and in the variables that it names. */
static size_t count_operations(
	const struct change *change, const struct fact *at, const char *text, int depth)
{
	static const char *const ops[] = {"+", "-", "*", "/", "//", "%", "**", "min", "max", "round", "int"};
	struct token t, last = {"", 0};
	size_t count = 0;
	for (; next_token(&text, &t); last = t) {
		char name[80] = "";
		bool resolved;
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		count += IN(name, ops);
		if (depth >= 3 || token_is(&last, ".") || !text_has_identifier(name))
			continue;
		const char *value = py_resolve(change, at, name, &resolved);
		if (resolved && value != name)
			count += count_operations(change, at, value, depth + 1);
	}
	return count;
}

/* An interval between two readings, directly or through a variable. */
static bool tells_interval(const struct change *change, const struct fact *exit)
{
	const struct source *s = exit->source;
	if (reads_clock(change, exit))
		return text_has_token(exit->value, "-");
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (py_sets(f) && same_function(f, exit) && text_has_token(exit->value, f->init) &&
			text_has_token(f->value, "-") && reads_clock(change, f))
			return true;
	}
	return false;
}

/* return now() - started became return (now() - started) * scale, or ... - stalls. */
static void check_intervals(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_exit(f, "return") || !f->function[0] || !spend(change, change->n_old) ||
			py_is_evaluation(f->function) || !tells_interval(change, f))
			continue;
		for (size_t k = 0; k < change->n_old; k++) {
			const struct fact *old = change->old[k];
			if (!py_is_exit(old, "return") || !same_function(old, f) ||
				!tells_interval(change, old))
				continue;
			if (count_operations(change, f, f->value, 0) >
				count_operations(change, old, old->value, 0))
				report(change, AUDIT_BLOCK, f, "an interval is scaled or made shorter");
			break;
		}
	}
}

/* Functions that tell the time: by name, with a clock in them. */
static void check_bodies(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool acts = f->kind == FACT_CALL || f->kind == FACT_ASSIGN || f->kind == FACT_EXIT;
		const char *name = py_short(f->function);
		if (is_added(f) && acts && f->function[0] && is_time_name(name) && !py_is_report(f) &&
			py_existed_function(change, f->function))
			report(change, AUDIT_BLOCK, f, "a function that tells the time works differently");
	}
}

/* ---- readings ---- */

static size_t count_clocks(const struct change *change, bool in_new, const char *function)
{
	struct fact **facts = in_new ? change->new : change->old;
	size_t n = in_new ? change->n_new : change->n_old, count = 0;
	for (size_t i = 0; i < n; i++)
		count += py_is_clock(facts[i]) && strcmp(facts[i]->function, function) == 0;
	return count;
}

/* time, perf_counter and monotonic go on while the device works; process_time does not. */
static bool is_wall_clock(const char *name)
{
	static const char *const wall[] = {"time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns",
		"monotonic_ns", "default_timer"};
	return IN(name, wall);
}

static bool has_new_wall_clock(const struct change *change, const struct fact *old)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_clock(f) && !f->twin && same_function(f, old) && is_wall_clock(f->name))
			return true;
	}
	return false;
}

/* dt was printed, and the line went: a timer of the log. */
static bool served_logging(const struct change *change, const struct fact *clock)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_ASSIGN && same_function(f, clock) && node_contains(f->node, clock->node))
			return py_count_uses(change, true, f->name, NULL) == 0 &&
			       !py_find(change, true, FACT_CALL, "Hook", NULL);
	}
	return false;
}

/* Readings of the old version into variables that nothing but the log read, and that are gone: data_time. */
static size_t count_log_timers(const struct change *change, const char *function)
{
	size_t count = 0;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_ASSIGN || f->op[0] != '=' || strcmp(f->function, function) != 0 ||
			!reads_clock(change, f) || py_count_uses(change, true, f->name, function))
			continue;
		bool reported = false;
		for (size_t k = 0; k < change->n_old && !reported; k++)
			reported = py_is_report(change->old[k]) &&
				   text_has_token(change->old[k]->value, f->name);
		count += !reported;
	}
	return count;
}

static void check_lost_clock(struct change *change, const struct fact *f)
{
	size_t before = count_clocks(change, false, f->function);
	size_t now = count_clocks(change, true, f->function);
	bool wall = is_wall_clock(f->name);
	if (wall && has_new_wall_clock(change, f))
		report(change, AUDIT_REVIEW, f, "another clock is read");
	else if (wall && before >= now && before - now <= count_log_timers(change, f->function))
		return;
	else if (now < before || py_function_remains(change, f->function))
		report(change, served_logging(change, f) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"a clock reading is gone");
}

static void check_old_clocks(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		enum py_weight weight;
		if (!py_is_clock(f) || !spend(change, change->n_old + change->n_new))
			continue;
		if (!f->twin)
			check_lost_clock(change, f);
		else if (!f->same && py_was_here(f) && strcmp(f->init, f->twin->init) != 0)
			report(change, AUDIT_BLOCK, f->twin, "a clock is read differently");
		else if (py_added_guard(change, f, f->twin, &weight))
			report(change, weight == PY_DECISIVE ? AUDIT_BLOCK : AUDIT_REVIEW, f->twin,
				"a clock reading became conditional");
	}
}

/* A reading into a new variable that only the log and other times use is a timer of the log. */
static bool is_timer_for_log(const struct change *change, const struct fact *clock)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && same_function(f, clock) && node_contains(f->node, clock->node))
			return !existed(change, FACT_NAME, f->name);
		if (f->kind == FACT_CALL && f != clock && node_contains(f->node, clock->node) &&
			py_is_quiet(f) && !py_is_report(f))
			return true;
	}
	return false;
}

static void check_new_clocks(struct change *change)
{
	static const char *const slow[] = {
		"process_time", "process_time_ns", "thread_time", "thread_time_ns", "clock", "getrusage"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_clock(f) || f->twin || !spend(change, change->n_new))
			continue;
		bool replaces = IN(f->name, slow) && count_clocks(change, false, f->function) > 0;
		if (replaces)
			report(change, AUDIT_BLOCK, f, "a clock that stands still while the device works");
		else if (!is_timer_for_log(change, f))
			report(change, AUDIT_REVIEW, f, "a further clock reading");
	}
}

/* ---- regions ---- */

struct regions {
	size_t before, total; /* boundaries before the fact, and in its function */
};

static struct regions *count_regions(struct fact **facts, size_t n)
{
	struct regions *regions = xcalloc(n + 1, sizeof(*regions));
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i && (facts[i]->source != facts[i - 1]->source || !same_function(facts[i], facts[i - 1])))
			count = 0;
		regions[i].before = count;
		count += is_boundary(facts[i]);
		regions[i].total = count;
	}
	for (size_t i = n; i-- > 1;)
		if (facts[i]->source == facts[i - 1]->source && same_function(facts[i], facts[i - 1]))
			regions[i - 1].total = regions[i].total;
	return regions;
}

static bool is_moving_work(const struct change *change, const struct fact *f)
{
	if (!f->twin || !same_function(f, f->twin) || !f->function[0] || is_boundary(f) ||
		f->loops != f->twin->loops)
		return false;
	(void)change;
	return py_is_work(f) || py_is_update(f) || py_is_load(f);
}

static bool has_same_call_elsewhere(const struct change *change, const struct fact *now)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i] != now &&
			change->new[i]->kind == FACT_CALL &&strcmp(change->new[i]->name, now->name) == 0 &&
			same_function(change->new[i], now) && !change->new[i]->twin)
			return true;
	return false;
}

/* With the same clock readings before and after, every piece of work must lie between the same two. */
static void check_regions(struct change *change)
{
	CLEANUP(free_ptr) struct regions *old = count_regions(change->old, change->n_old);
	CLEANUP(free_ptr) struct regions *new = count_regions(change->new, change->n_new);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_moving_work(change, f))
			continue;
		struct regions now = new[i], was = old[f->twin->index];
		if (!now.total || now.total != was.total || now.before == was.before ||
			!spend(change, change->n_new))
			continue;
		bool ahead = py_is_load(f) && has_same_call_elsewhere(change, f);
		report(change, ahead ? AUDIT_REVIEW : AUDIT_BLOCK, f, "work moved across a clock reading");
	}
}

void rule_py_time(struct change *change)
{
	check_old_clocks(change);
	check_new_clocks(change);
	check_variables(change);
	check_bodies(change);
	check_intervals(change);
	check_regions(change);
}
