/*
 * Whether the loops of the new version visit every index that a loop of the old version visited. Blocks,
 * tiles, peeled remainders and shares of threads are spelled in too many ways to be compared as text, so both
 * versions are counted out: names that nothing in the file explains are given numbers, a few times over, and
 * the turns of the loops are marked. A range that is covered for every choice is covered; one turn that is
 * missing is a cut.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/audit_int.h"
#include "audit/evaluate.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum {
	TRIALS = 6,
	NEST_CAP = 8,
	TURNS_CAP = 1 << 20, /* of all loops in one trial */
	INDEX_CAP = 1 << 18,
};

struct nest {
	const struct fact *loops[NEST_CAP]; /* outermost first; the last is the one that is looked at */
	size_t n;
	bool over_threads;
};

struct marks {
	unsigned char *seen; /* INDEX_CAP of them */
	size_t turns, entries, passed, visits;
	bool failed;
};

static bool is_around_old(const struct fact *old, const char *name)
{
	const struct source *s = old->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && f != old && strcmp(f->name, name) == 0 &&
			node_contains(f->node, old->node))
			return true;
	}
	return false;
}

/* The loops around `now`, outermost first, but for those that were around the old loop too: they stay where
 * they are. False: there are too many. */
static bool find_loops_around(const struct fact *now, const struct fact *old, struct nest *around)
{
	const struct source *s = now->source;
	for (size_t i = 0; i < s->n_facts && &s->facts[i] != now; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind != FACT_LOOP || !node_contains(f->node, now->node) || !same_function(f, now) ||
			is_around_old(old, f->name))
			continue;
		if (around->n == NEST_CAP - 1)
			return false;
		around->loops[around->n++] = f;
	}
	return true;
}

/* Which of the loops around `now` decide what it goes through. */
static bool find_nest(const struct fact *now, const struct fact *old, struct evaluation *e, struct nest *nest)
{
	struct nest around = {0};
	if (!find_loops_around(now, old, &around))
		return false;
	evaluation_watch(e, around.loops, around.n);
	evaluation_touch(e, now);
	for (const struct guard *g = now->guards; g; g = g->up)
		if (g->kind == GUARD_IF || g->kind == GUARD_AFTER_EXIT)
			evaluation_touch_guard(e, g, now);
	/* parts of a fixed length: the loops around say how many there are */
	if (!e->watched_used && text_is_literal(now->init))
		e->watched_used = (1u << around.n) - 1;
	for (size_t i = around.n; i-- > 0;)
		if (e->watched_used & (1u << i))
			evaluation_touch(e, around.loops[i]);
	for (size_t i = 0; i < around.n; i++)
		if (e->watched_used & (1u << i))
			nest->loops[nest->n++] = around.loops[i];
	nest->loops[nest->n++] = now;
	nest->over_threads = e->thread_used;
	evaluation_watch(e, NULL, 0);
	return true;
}

/* Conditions around `now` that were not around the old loop. One that cannot be told is for other rules. */
static bool passes_guards(struct evaluation *e, const struct fact *now, const struct fact *old)
{
	for (const struct guard *g = now->guards; g; g = g->up) {
		long value;
		if ((g->kind != GUARD_IF && g->kind != GUARD_AFTER_EXIT) || g->is_error_path ||
			guard_chain_has(old->guards, g->text))
			continue;
		if (evaluate_guard(e, g, now, &value) && !value)
			return false;
	}
	return true;
}

static void mark(struct marks *m, long index, long width)
{
	m->visits += (size_t)width;
	for (long i = index; i < index + width; i++)
		if (i < 0 || i >= INDEX_CAP)
			m->failed = true;
		else
			m->seen[i] = 1;
}

static void count_out(
	struct evaluation *e, const struct nest *nest, size_t level, const struct fact *old, struct marks *m)
{
	const struct fact *loop = nest->loops[level];
	bool last = level + 1 == nest->n;
	if (last && old) {
		m->entries++;
		if (!passes_guards(e, loop, old))
			return;
		m->passed++;
	}
	struct turns t;
	if (!turns_begin(e, loop, &t) || e->n_bound == EVALUATION_BOUND_CAP) {
		m->failed = true;
		return;
	}
	long width = last && t.stride > 1 && loop_steps_on(loop) ? t.stride : 1;
	struct bound_name *own = &e->bound[e->n_bound++];
	*own = (struct bound_name){loop->name, t.at};
	while (!m->failed && turns_go_on(e, loop, &t)) {
		m->failed |= ++m->turns > TURNS_CAP || t.failed;
		if (last)
			mark(m, t.at, width);
		else
			count_out(e, nest, level + 1, old, m);
		own->value = t.at += t.stride;
	}
	m->failed |= t.failed;
	e->n_bound--;
}

static void count_nest(struct evaluation *e, const struct nest *nest, const struct fact *old, struct marks *m)
{
	long threads = nest->over_threads && e->parallel ? e->threads : 1;
	for (e->thread = 0; e->thread < threads && !m->failed; e->thread++)
		count_out(e, nest, 0, old, m);
	e->thread = 0;
}

/* A loop that goes on where another left off: it does not begin with a number. */
static bool may_do_the_rest(const struct fact *f, const struct fact *now)
{
	return f->kind == FACT_LOOP && f != now && is_added(f) && same_function(f, now) && f->init[0] &&
	       !text_is_literal(f->init) && !node_contains(f->node, now->node) &&
	       !node_contains(now->node, f->node);
}

static void add_rest(const struct change *change, struct evaluation *e, const struct fact *now,
	const struct fact *old, struct marks *m)
{
	for (size_t i = 0; i < now->source->n_facts; i++) {
		const struct fact *f = &now->source->facts[i];
		struct nest nest = {0};
		if (!may_do_the_rest(f, now) || !spend(change, now->source->n_facts))
			continue;
		struct marks own = {.seen = m->seen, .turns = m->turns};
		if (find_nest(f, old, e, &nest))
			count_nest(e, &nest, old, &own);
		m->visits += own.visits;
	}
}

static bool covers(const unsigned char *seen, const unsigned char *before)
{
	for (size_t i = 0; i < INDEX_CAP; i++)
		if (before[i] && !seen[i])
			return false;
	return true;
}

/* Counts out both versions into the two halves of `seen`: the new one first. Not ALL: they cannot be
 * compared. */
static enum coverage count_both(const struct change *change, const struct fact *now, const struct fact *old,
	struct evaluation *e, unsigned char *seen, struct nest *nest, struct marks *m, struct marks *was)
{
	struct nest alone = {.loops = {old}, .n = 1};
	*m = (struct marks){.seen = seen};
	*was = (struct marks){.seen = seen + INDEX_CAP};
	memset(seen, 0, 2 * (size_t)INDEX_CAP);
	if (!spend(change, INDEX_CAP / 32) || !find_nest(now, old, e, nest))
		return COVERAGE_UNKNOWN;
	count_nest(e, nest, old, m);
	if (m->failed)
		return COVERAGE_UNKNOWN;
	if (m->entries && !m->passed) /* this choice of numbers takes another way */
		return COVERAGE_NOT_TRIED;
	add_rest(change, e, now, old, m);
	e->source = old->source;
	count_nest(e, &alone, NULL, was);
	e->source = now->source;
	return was->failed ? COVERAGE_UNKNOWN : COVERAGE_ALL;
}

static enum coverage run_trial(const struct change *change, const struct fact *now, const struct fact *old,
	struct evaluation *e, unsigned char *seen)
{
	struct nest nest = {0};
	struct marks m, was;
	enum coverage counted = count_both(change, now, old, e, seen, &nest, &m, &was);
	if (counted != COVERAGE_ALL)
		return counted;
	bool in_parts = nest.n > 1 || nest.over_threads, all = true;
	/* `part[i]` with a pointer to the part: indices begin anew, only their number can be told */
	if (in_parts && text_is_literal(now->init))
		all = m.visits >= was.visits;
	else
		all = covers(seen, seen + INDEX_CAP);
	return all ? COVERAGE_ALL : in_parts ? COVERAGE_PART_OF_BLOCKS : COVERAGE_PART;
}

static enum coverage run_trials(const struct change *change, const struct fact *now, const struct fact *old,
	struct evaluation *e, unsigned char *seen)
{
	enum coverage all = COVERAGE_NOT_TRIED;
	for (e->trial = 0; e->trial < TRIALS; e->trial++) {
		e->threads = 3 + (long)e->trial;
		enum coverage one = run_trial(change, now, old, e, seen);
		if (one == COVERAGE_NOT_TRIED)
			continue;
		if (one != COVERAGE_ALL)
			return one;
		all = COVERAGE_ALL;
	}
	return all == COVERAGE_NOT_TRIED ? COVERAGE_UNKNOWN : all;
}

enum coverage loop_coverage(const struct change *change, const struct fact *now, const struct fact *old)
{
	if (!now->init[0] || !old->init[0] || !now->name[0] || !old->name[0])
		return COVERAGE_UNKNOWN;
	CLEANUP(free_ptr) unsigned char *seen = xcalloc(2, INDEX_CAP);
	struct evaluation e = {.change = change, .source = now->source, .wanted = old->value};
	evaluation_find_scale(&e, now);
	e.parallel = is_in_parallel_region(now);
	enum coverage coverage = run_trials(change, now, old, &e, seen);
	if (coverage != COVERAGE_PART_OF_BLOCKS || !is_constant_name(old->value))
		return coverage;
	/* WIDTH / TILE of two constants may be exact */
	e.even_constants = true;
	return run_trials(change, now, old, &e, seen) == COVERAGE_ALL ? COVERAGE_IF_EVEN : coverage;
}

bool loop_goes_further(const struct change *change, const struct fact *now, const struct fact *old)
{
	if (!now->init[0] || !old->init[0] || !now->name[0] || !old->name[0])
		return false;
	/* the bound is smaller than other sizes in some of them */
	enum { FURTHER_TRIALS = 16 };
	CLEANUP(free_ptr) unsigned char *seen = xcalloc(2, INDEX_CAP);
	struct evaluation e = {.change = change, .source = now->source, .wanted = ""};
	evaluation_find_scale(&e, now);
	for (e.trial = 0; e.trial < FURTHER_TRIALS; e.trial++) {
		struct nest nest = {0};
		struct marks m, was;
		if (count_both(change, now, old, &e, seen, &nest, &m, &was) == COVERAGE_ALL && nest.n == 1 &&
			!covers(seen + INDEX_CAP, seen))
			return true;
	}
	return false;
}
