/* Runs that are given up: which update ends them, worked out by hand from the rule in the header. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "stats/far_slower.h"

struct course {
	const char *what;
	double reference_s, factor;
	double interval_s[6]; /* between updates 1 and 2, 2 and 3, ...; the last one goes on */
	int n_intervals;
	int stops_at; /* update; 0 = never */
};

/* 30 updates of 2 s: a whole run of the reference takes 60 s, which is the patience as well. */
static const struct course courses[] = {
	{"as fast as the reference", 2, 3, {2}, 1, 0},
	{"a little under three times as slow", 2, 3, {5.99}, 1, 0},
	{"exactly three times", 2, 3, {6}, 1, 0},
	{"four times: 60 s are over after 8 intervals of 8 s and the one left out", 2, 3, {8}, 1, 10},
	{"a hundred times: two intervals are enough", 2, 3, {200}, 1, 3},
	{"the second update compiles", 2, 3, {600, 2}, 2, 0},
	{"it compiles for 61 s, and is a little slow once more", 0.1, 3, {61, 0.5, 0.01}, 3, 0},
	{"every other one is slow", 2, 3, {100, 2, 100, 2, 100, 2}, 6, 0},
	{"slow for 50 s, then as fast as it should be", 2, 3, {25, 25, 1}, 3, 0},
	{"it slows down late: 8 s, one of 50 s and one left out", 2, 3, {2, 2, 2, 2, 50}, 5, 8},
	{"fast jobs get a minute: 599 intervals of 0.1 s are never waited for", 0.01, 3, {0.1}, 1, 0},
	{"slow jobs get a whole run: 3000 s of 700 s each, and the one left out", 100, 3, {700}, 1, 7},
	{"switched off", 2, 0, {200}, 1, 0},
	{"another factor", 2, 10, {19}, 1, 0},
	{"another factor, beyond it: 3 of 21 s and the one left out", 2, 10, {21}, 1, 5},
	{"nobody knows the reference", NAN, 3, {200}, 1, 0},
};

static int stop_of(const struct course *c)
{
	struct far_slower w = {.reference_s = c->reference_s, .factor = c->factor, .updates = 30};
	double at_s = 1000;
	for (int u = 1; u <= 30; u++) {
		if (u > 1)
			at_s += c->interval_s[MIN_OF(u - 2, c->n_intervals - 1)];
		if (far_slower_update(&w, u, at_s))
			return u;
	}
	return 0;
}

static void hopeless_runs_are_given_up(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(courses); i++)
		if (stop_of(&courses[i]) != courses[i].stops_at)
			fail_msg("%s: stopped at %d, expected %d", courses[i].what, stop_of(&courses[i]),
				courses[i].stops_at);
}

static void the_last_update_is_never_waited_for(void **unused)
{
	(void)unused;
	struct far_slower w = {.reference_s = 1, .factor = 3, .updates = 3};
	assert_false(far_slower_update(&w, 1, 0));
	assert_false(far_slower_update(&w, 2, 100));
	assert_false(far_slower_update(&w, 3, 200));
	assert_true(w.slow_s == 100);
}

/* A number that is left out says nothing of how long one update took. */
static void gaps_begin_anew(void **unused)
{
	(void)unused;
	struct far_slower w = {.reference_s = 1, .factor = 3, .updates = 30};
	static const int updates[] = {1, 2, 4, 5, 5, 6};
	for (size_t i = 0; i < ARRAY_LEN(updates); i++)
		assert_false(far_slower_update(&w, updates[i], 100.0 * (double)i));
	assert_true(far_slower_update(&w, 7, 600));
	assert_true(w.slow_s == 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hopeless_runs_are_given_up),
		cmocka_unit_test(the_last_update_is_never_waited_for),
		cmocka_unit_test(gaps_begin_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
