/*
 * A1: what is measured must stay what was measured. Time sources are the C library's clocks and functions
 * with words of timing in their names; time variables are those that hold such values.
 */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"
#include "base/memory.h"

static bool is_time_call(const struct fact *f)
{
	static const char *const sources[] = {"clock_gettime", "gettimeofday", "omp_get_wtime", "clock",
		"time", "times", "timespec_get", "ftime", "getrusage", "rdtsc", "__rdtsc", "__rdtscp",
		"_rdtsc", "MPI_Wtime", "mach_absolute_time", "cudaEventRecord", "cudaEventElapsedTime",
		"hipEventRecord", "hipEventElapsedTime", "__builtin_ia32_rdtsc",
		"__builtin_readcyclecounter"};
	return f->kind == FACT_CALL &&
	       (name_is_one_of(f->name, sources, ARRAY_LEN(sources)) ||
		       (word_in(f->name, WORDS_TIME) && !word_in(f->name, WORDS_STEP)));
}

static bool is_quiet_call(const struct fact *f) /* whose place relative to a clock reading does not matter */
{
	return word_in(f->name, WORDS_LOG) || word_in(f->name, WORDS_ALLOCATE);
}

/* A variable of the old version that holds times: by name, or because a clock was read into it. */
static bool held_time(struct change *change, const struct fact *now)
{
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_ASSIGN || strcmp(f->name, now->name) != 0 || !same_function(f, now))
			continue;
		if (word_in(f->name, WORDS_TIME) && !word_in(f->name, WORDS_STEP))
			return true;
		struct token t;
		for (const char *at = f->value; next_token(&at, &t);) {
			struct fact call = {.kind = FACT_CALL};
			char name[64] = "";
			memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
			call.name = name;
			if (at[0] == ' ' && at[1] == '(' && is_time_call(&call))
				return true;
		}
	}
	return false;
}

static void check_variables(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !is_added(f))
			continue;
		bool named = word_in(f->name, WORDS_TIME) && !word_in(f->name, WORDS_STEP) &&
			     !node_is(f->node, "init_declarator") && existed(change, FACT_NAME, f->name);
		if (named || held_time(change, f))
			report(change, AUDIT_BLOCK, f, "a variable that holds a time is set differently");
		else if (f->op[0] == ':' && word_in(f->name, WORDS_TIME) && f->twin)
			report(change, AUDIT_BLOCK, f, "a time that is handed on is computed differently");
	}
}

/* Functions that tell the time: by name, with a clock in them. */
static void check_bodies(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool acts = f->kind == FACT_CALL || f->kind == FACT_ASSIGN || f->kind == FACT_EXIT;
		if (is_added(f) && acts && f->function[0] && word_in(f->function, WORDS_TIME) &&
			!word_in(f->function, WORDS_STEP) && existed(change, FACT_FUNCTION, f->function))
			report(change, AUDIT_BLOCK, f, "a function that tells the time works differently");
	}
}

/* ---- timers for the log ---- */

static bool is_new_variable(const struct change *change, const struct fact *f)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (change->old[i]->kind == FACT_NAME && same_function(change->old[i], f) &&
			strcmp(change->old[i]->name, f->name) == 0)
			return false;
	return true;
}

static bool feeds_log_only(const struct change *change, const struct fact *f, int depth);

/* Every use of the variable is in what is printed, or in another such variable. */
static bool is_printed_only(const struct change *change, const struct fact *variable, int depth)
{
	if (depth > 3 || !spend(change, change->n_old + change->n_new) || !is_new_variable(change, variable))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_NAME && same_function(f, variable) && f->source == variable->source &&
			strcmp(f->name, variable->name) == 0 && !feeds_log_only(change, f, depth + 1))
			return false;
	}
	return true;
}

/* The innermost statement that `f` is part of prints, declares, or sets a variable that is only printed. */
static bool feeds_log_only(const struct change *change, const struct fact *f, int depth)
{
	const struct fact *holder = NULL;
	if (!spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new && change->new[i] != f; i++) {
		const struct fact *h = change->new[i];
		if (h->source != f->source || ts_node_eq(h->node, f->node) ||
			!node_contains(h->node, f->node))
			continue;
		if (h->kind == FACT_CALL && word_in(h->name, WORDS_LOG))
			return true;
		if (h->kind == FACT_ASSIGN)
			holder = h;
	}
	if (!holder) /* double t; */
		return f->kind == FACT_NAME && node_is(node_parent(f->node), "declaration");
	if (f->kind == FACT_NAME && strcmp(holder->init, f->name) == 0)
		return true;
	return strcmp(holder->init, holder->name) == 0 && is_printed_only(change, holder, depth);
}

/* A reading that the log alone sees measures nothing that is reported. */
static bool *find_log_timers(const struct change *change)
{
	bool *found = xcalloc(change->n_new + 1, sizeof(*found));
	for (size_t i = 0; i < change->n_new; i++)
		found[i] = is_time_call(change->new[i]) && feeds_log_only(change, change->new[i], 0);
	return found;
}

static size_t count_clocks(
	struct fact **facts, size_t n, const char *function, const char *name, const bool *ignored)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += is_time_call(facts[i]) && strcmp(facts[i]->function, function) == 0 &&
			 strcmp(facts[i]->name, name) == 0 && !(ignored && ignored[i]);
	return count;
}

/* For every fact the number of clock readings before it in its function (index) and in the whole function. */
struct clocks {
	size_t before, total;
};

static struct clocks *count_all(struct fact **facts, size_t n, const bool *ignored)
{
	struct clocks *clocks = xcalloc(n + 1, sizeof(*clocks));
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i && (facts[i]->source != facts[i - 1]->source || !same_function(facts[i], facts[i - 1])))
			count = 0;
		clocks[i].before = count;
		count += is_time_call(facts[i]) && !(ignored && ignored[i]);
		clocks[i].total = count;
	}
	for (size_t i = n; i-- > 1;)
		if (facts[i]->source == facts[i - 1]->source && same_function(facts[i], facts[i - 1]))
			clocks[i - 1].total = clocks[i].total;
	return clocks;
}

/* With the same clock readings before and after, every call must lie between the same two. */
static void check_regions(struct change *change, const bool *log_timers)
{
	CLEANUP(free_ptr) struct clocks *old = count_all(change->old, change->n_old, NULL);
	CLEANUP(free_ptr) struct clocks *new = count_all(change->new, change->n_new, log_timers);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !f->twin || is_time_call(f) || is_quiet_call(f) ||
			!f->function[0] || !same_function(f, f->twin))
			continue;
		size_t before = f->twin->index;
		if (new[i].total &&new[i].total == old[before].total &&new[i].before != old[before].before)
			report(change, AUDIT_BLOCK, f, "work moved across a clock reading");
	}
}

/* Without those of the log there are no more readings than before. */
static bool is_further(const struct change *change, const struct fact *f, const bool *log_timers)
{
	return count_clocks(change->new, change->n_new, f->function, f->name, log_timers) >
	       count_clocks(change->old, change->n_old, f->function, f->name, NULL);
}

static void check_clocks(struct change *change, const bool *log_timers)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_time_call(f))
			continue;
		if (!f->twin && count_clocks(change->new, change->n_new, f->function, f->name, log_timers) <
					count_clocks(change->old, change->n_old, f->function, f->name, NULL))
			report(change, AUDIT_BLOCK, f, "a clock reading is gone");
		else if (f->twin && !f->same && same_function(f, f->twin))
			report(change, AUDIT_BLOCK, f->twin, "a clock is read differently");
		else if (f->twin && added_guard(change, f, f->twin, WORDS_COUNT))
			report(change, AUDIT_BLOCK, f->twin, "a clock reading became conditional");
	}
	for (size_t i = 0; i < change->n_new; i++)
		if (is_time_call(change->new[i]) && !change->new[i]->twin &&
			is_further(change, change->new[i], log_timers))
			report(change, AUDIT_REVIEW, change->new[i], "a further clock reading");
}

static void check_replacements(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		struct fact call = {.kind = FACT_CALL, .name = f->name};
		if (f->kind == FACT_FUNCTION && !f->twin && is_time_call(&call) &&
			existed(change, FACT_CALL, f->name))
			report(change, AUDIT_BLOCK, f,
				"a clock function that the code already calls is defined anew");
	}
}

void rule_time(struct change *change)
{
	CLEANUP(free_ptr) bool *log_timers = find_log_timers(change);
	check_clocks(change, log_timers);
	check_variables(change);
	check_bodies(change);
	check_regions(change, log_timers);
	check_replacements(change);
}
