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

static size_t count_clocks(struct fact **facts, size_t n, const char *function, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += is_time_call(facts[i]) && strcmp(facts[i]->function, function) == 0 &&
			 (!name || strcmp(facts[i]->name, name) == 0);
	return count;
}

/* For every fact the number of clock readings before it in its function (index) and in the whole function. */
struct clocks {
	size_t before, total;
};

static struct clocks *count_all(struct fact **facts, size_t n)
{
	struct clocks *clocks = xcalloc(n + 1, sizeof(*clocks));
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i && (facts[i]->source != facts[i - 1]->source || !same_function(facts[i], facts[i - 1])))
			count = 0;
		clocks[i].before = count;
		count += is_time_call(facts[i]);
		clocks[i].total = count;
	}
	for (size_t i = n; i-- > 1;)
		if (facts[i]->source == facts[i - 1]->source && same_function(facts[i], facts[i - 1]))
			clocks[i - 1].total = clocks[i].total;
	return clocks;
}

/* With the same clock readings before and after, every call must lie between the same two. */
static void check_regions(struct change *change)
{
	CLEANUP(free_ptr) struct clocks *old = count_all(change->old, change->n_old);
	CLEANUP(free_ptr) struct clocks *new = count_all(change->new, change->n_new);
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

static void check_clocks(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_time_call(f))
			continue;
		if (!f->twin && count_clocks(change->new, change->n_new, f->function, f->name) <
					count_clocks(change->old, change->n_old, f->function, f->name))
			report(change, AUDIT_BLOCK, f, "a clock reading is gone");
		else if (f->twin && !f->same && same_function(f, f->twin))
			report(change, AUDIT_BLOCK, f->twin, "a clock is read differently");
		else if (f->twin && added_guard(change, f, f->twin, WORDS_COUNT))
			report(change, AUDIT_BLOCK, f->twin, "a clock reading became conditional");
	}
	for (size_t i = 0; i < change->n_new; i++)
		if (is_time_call(change->new[i]) && !change->new[i]->twin)
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
	check_clocks(change);
	check_variables(change);
	check_bodies(change);
	check_regions(change);
	check_replacements(change);
}
