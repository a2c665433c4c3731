/* The comparison strategies: what all of them keep to, and each one's rule on cases worked out by hand. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "search_fixture.h"

static struct decision next_of(const struct fixture *f, const char *strategy)
{
	struct decision d;
	struct err err = ERR_INIT;
	assert_int_equal(strategy_find(strategy)->next(&f->in, &d, &err), OK);
	return d;
}

/* Proposes, compares with the wanted label and settings, and runs it against the fixture's truth. */
static struct observation *expect(
	struct fixture *f, const char *strategy, const char *label, const int *wanted)
{
	struct decision d = next_of(f, strategy);
	assert_true(d.found);
	assert_names(&d, label);
	for (int l = 0; l < f->in.model.n_levers; l++)
		if (d.setting[l] != wanted[l])
			fail_msg("%s, trial %zu: lever %d is %d, expected %d", strategy,
				f->in.model.n_observations + 1, l, d.setting[l], wanted[l]);
	struct observation *o = execute(f, d.setting);
	decision_release(&d);
	return o;
}

/* ---- what all keep to ---- */

/* An invariant that couples levers 0 and 3, and two settings that exclude each other. */
static bool coupled(void *context, const int *setting)
{
	(void)context;
	return (setting[0] == 0) == (setting[3] == 0) && !(setting[1] == 1 && setting[5] == 1);
}

static void make_hills(struct fixture *f)
{
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < f->lever[l].n_settings; s++) {
			if (s == f->lever[l].reference)
				continue;
			f->gain_ln[l][s] = 0.03 * (l % 3) - 0.02;
			f->gib[l][s] = l == 0 ? 15 : l == 4 ? -8 : 3;
			f->prior[l][s].predicted_gain_ln = 0.01 * (s + l % 4);
			f->prior[l][s].declared_bytes = f->gib[l][s] * GIB / 2;
		}
}

static void all_obey_legality_and_never_repeat(void **state)
{
	(void)state;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t k = 0; k < n; k++) {
		struct fixture f;
		fixture_init(&f);
		make_hills(&f);
		f.in.is_legal = coupled;
		for (int trial = 0; trial < 40; trial++) {
			struct decision d = next_of(&f, list[k].name), again = next_of(&f, list[k].name);
			assert_true(d.found);
			assert_memory_equal(d.setting, again.setting, LEVERS * sizeof(int));
			assert_string_equal(d.reason, again.reason);
			if (is_visited(&f, d.setting) || !coupled(NULL, d.setting))
				fail_msg("%s, trial %d", list[k].name, trial + 1);
			assert_true(d.base_observation < (int)f.in.model.n_observations);
			assert_true(strlen(d.reason) > 0 && strlen(d.operators) > 0);
			struct observation *o = execute(&f, d.setting);
			if (trial % 5 == 3) { /* some crash */
				o->status = OBSERVED_CRASH;
				o->has_gain = o->incumbent_allowed = false;
			}
			decision_release(&d);
			decision_release(&again);
		}
	}
}

/* Levers 0 and 1 of 3 and 2 settings: five configurations beside the reference, four of them legal. */
static bool not_max_with_on(void *context, const int *setting)
{
	(void)context;
	return !(setting[0] == 2 && setting[1] == 1);
}

static void all_end_when_everything_has_run(void **state)
{
	(void)state;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t k = 0; k < n; k++) {
		struct fixture f;
		fixture_init(&f);
		f.in.model.n_levers = 2;
		f.in.is_legal = not_max_with_on;
		int found = 0;
		for (;; found++) {
			struct decision d = next_of(&f, list[k].name);
			if (!d.found)
				break;
			int padded[LEVERS] = {d.setting[0], d.setting[1]};
			observe(&f, padded, OBSERVED_OK, 0);
			decision_release(&d);
			assert_true(found < 10);
		}
		if (found != 4)
			fail_msg("%s found %d of 4", list[k].name, found);
	}
}

static void user_starts_come_first(void **state)
{
	(void)state;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	const int start[LEVERS] = {2, 1, 1, 1, 0, 0, 0, 1};
	for (size_t k = 0; k < n; k++) {
		struct fixture f;
		fixture_init(&f);
		f.in.user_starts = (const int *const[]){start};
		f.in.n_user_starts = 1;
		expect(&f, list[k].name, "start", start);
	}
}

/* ---- greedy ---- */

static void predict(struct fixture *f, int lever, int setting, double gain_ln)
{
	f->prior[lever][setting].predicted_gain_ln = gain_ln;
}

/* compile is predicted best and gains, zero next and loses, threads then gains next to nothing and is kept.
 */
static void greedy_keeps_what_is_strictly_better(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	predict(&f, 1, 1, 0.2);
	predict(&f, 4, 1, 0.1);
	predict(&f, 6, 1, 0.05);
	predict(&f, 7, 1, 0.04);
	f.gain_ln[1][1] = 0.1;
	f.gain_ln[4][1] = -0.1;
	f.gain_ln[6][1] = 1e-6;
	expect(&f, "greedy", "greedy", (int[LEVERS]){0, 1, 1});
	expect(&f, "greedy", "greedy", (int[LEVERS]){0, 1, 1, 0, 1});
	expect(&f, "greedy", "greedy", (int[LEVERS]){0, 1, 1, 0, 0, 0, 1});
	expect(&f, "greedy", "greedy", (int[LEVERS]){0, 1, 1, 0, 0, 0, 1, 1});
}

/* Without predictions every one-change neighbour of the reference comes up over the seeds. */
static void greedy_without_predictions_is_random(void **state)
{
	(void)state;
	struct fixture f;
	bool seen[LEVERS][MAX_SETTINGS] = {{false}};
	fixture_init(&f);
	for (f.in.seed = 1; f.in.seed < 400; f.in.seed++) {
		struct decision d = next_of(&f, "greedy");
		assert_int_equal(changes(&f, d.setting), 1);
		for (int l = 0; l < LEVERS; l++)
			if (d.setting[l] != f.lever[l].reference)
				seen[l][d.setting[l]] = true;
		decision_release(&d);
	}
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < f.lever[l].n_settings; s++)
			assert_true(seen[l][s] == (s != f.lever[l].reference));
}

/* ---- best of chains ---- */

/* Chain 1 finds a gain; chains 2 and 3 know nothing of it and change the reference, chain 1 builds on it. */
static void chains_know_nothing_of_each_other(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < MAX_SETTINGS; s++)
			f.gain_ln[l][s] = 0.1;
	static const char *const names[] = {"chain 1", "chain 2", "chain 3"};
	for (int trial = 0; trial < 6; trial++) {
		struct decision d = next_of(&f, "best-of-chains");
		assert_names(&d, names[trial % 3]);
		assert_int_equal(d.base_observation, trial < 3 ? -1 : trial - 3);
		const int *base = trial < 3 ? NULL : f.setting[trial - 3];
		int apart = 0;
		for (int l = 0; l < LEVERS; l++)
			apart += d.setting[l] != (base ? base[l] : f.lever[l].reference);
		assert_int_equal(apart, 1);
		execute(&f, d.setting);
		decision_release(&d);
	}
}

/* ---- optico ---- */

/* The promising patch is left alone; recompute runs out of memory and is repaired by zero, which is declared
 * to save most; compile's gain is below the gate of 2% and is not built on. */
static void optico_repairs_and_has_a_gate(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	predict(&f, 7, 1, 0.5);
	predict(&f, 0, 2, 0.4);
	predict(&f, 1, 1, 0.2);
	predict(&f, 6, 1, 0.1);
	f.gib[0][2] = 30;
	f.gib[4][1] = -20;
	f.gain_ln[1][1] = 0.01;
	f.gain_ln[0][2] = -0.01;
	f.prior[4][1].declared_bytes = -15 * GIB;
	f.prior[5][1].declared_bytes = -5 * GIB;
	f.prior[8][1].declared_bytes = -50 * GIB; /* a patch */
	expect(&f, "optico", "optico", (int[LEVERS]){2, 0, 1});
	expect(&f, "optico", "repair", (int[LEVERS]){2, 0, 1, 0, 1});
	expect(&f, "optico", "optico", (int[LEVERS]){0, 1, 1});
	expect(&f, "optico", "optico", (int[LEVERS]){0, 0, 1, 0, 0, 0, 1});
}

/* ---- aide ---- */

static void aide_drafts_five_times(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	make_hills(&f);
	for (int trial = 0; trial < 5; trial++) {
		struct decision d = next_of(&f, "aide");
		assert_names(&d, "draft");
		assert_in_range(changes(&f, d.setting), 1, 3);
		execute(&f, d.setting);
		decision_release(&d);
	}
}

/* Four drafts are sound, one ran out of memory. Half of the decisions debug it with the change that is
 * declared to save most; the others improve the best. Once a neighbour of it has run, it is no leaf any more.
 */
static void aide_debugs_failed_leaves(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[4][1].declared_bytes = -15 * GIB;
	f.prior[5][1].declared_bytes = -5 * GIB;
	const int drafts[5][LEVERS] = {{1, 1, 1}, {0, 0, 0, 1, 0, 1}, {2, 1, 0, 2}, {0, 1, 1, 0, 0, 0, 1},
		{1, 0, 0, 0, 0, 0, 0, 1, 1}};
	for (int i = 0; i < 5; i++)
		observe(&f, drafts[i], i == 2 ? OBSERVED_OOM : OBSERVED_OK, i == 3 ? 0.2 : -0.1);
	int debugged = 0, improved = 0;
	for (f.in.seed = 1; f.in.seed <= 200; f.in.seed++) {
		struct decision d = next_of(&f, "aide");
		bool debugs = strstr(d.operators, "debug") != NULL;
		assert_int_equal(d.base_observation, debugs ? 2 : 3);
		assert_true(!debugs || d.setting[4] == 1);
		debugged += debugs;
		improved += strstr(d.operators, "improve") != NULL;
		decision_release(&d);
	}
	assert_int_equal(debugged + improved, 200);
	assert_in_range(debugged, 70, 130); /* 100 +- 4 sd of 7 */
	observe(&f, (int[LEVERS]){2, 1, 0, 2, 1}, OBSERVED_OK, -0.1);
	for (f.in.seed = 1; f.in.seed <= 50; f.in.seed++) {
		struct decision d = next_of(&f, "aide");
		assert_names(&d, "improve");
		decision_release(&d);
	}
}

/* ---- the ladder ---- */

/* Stage 0: micro-batch 1 is the reference, 2 gains, 4 does not fit. Stage 1: 1, 2 and 4 gain more and more.
 * Then the grid: the last knob first, from its first value, around stage 1 and micro-batch 4. */
static void ladder_climbs_stage_by_stage(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.lever[0].name = "micro_batch";
	f.lever[4].name = "zero_stage";
	f.gib[0][1] = 10;
	f.gib[0][2] = 25;
	f.gib[4][1] = -20;
	f.gain_ln[0][1] = 0.1;
	f.gain_ln[0][2] = 0.2;
	f.gain_ln[4][1] = -0.05;
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){1, 0, 1});
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){2, 0, 1});
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){0, 0, 1, 0, 1});
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){1, 0, 1, 0, 1});
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){2, 0, 1, 0, 1});
	expect(&f, "microbatch-ladder", "grid", (int[LEVERS]){2, 0, 0, 0, 1});
	expect(&f, "microbatch-ladder", "grid", (int[LEVERS]){2, 0, 0, 0, 1, 0, 1});
	expect(&f, "microbatch-ladder", "grid", (int[LEVERS]){2, 0, 0, 0, 1, 1, 0});
}

/* A rung that is no faster ends the stage. */
static void ladder_stops_where_it_does_not_get_faster(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.lever[0].name = "mbs";
	f.lever[4].name = "offload";
	f.gain_ln[0][1] = -0.1;
	expect(&f, "microbatch-ladder", "ladder", (int[LEVERS]){1, 0, 1});
	expect(&f, "microbatch-ladder", "grid", (int[LEVERS]){0, 0, 0});
}

/* ---- one factor ---- */

/* Levers by their largest prediction: buckets (3 settings), then compile; buckets=max stays. */
static void one_factor_keeps_the_best_of_each_lever(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < MAX_SETTINGS; s++)
			predict(&f, l, s, -0.5);
	predict(&f, 3, 2, 0.3);
	predict(&f, 1, 1, 0.1);
	predict(&f, 0, 1, 0.05);
	f.gain_ln[3][1] = 0.02;
	f.gain_ln[3][2] = 0.05;
	f.gain_ln[1][1] = -0.01;
	expect(&f, "one-factor", "one-factor", (int[LEVERS]){0, 0, 1, 1});
	expect(&f, "one-factor", "one-factor", (int[LEVERS]){0, 0, 1, 2});
	expect(&f, "one-factor", "one-factor", (int[LEVERS]){0, 1, 1, 2});
	expect(&f, "one-factor", "one-factor", (int[LEVERS]){1, 0, 1, 2});
	expect(&f, "one-factor", "one-factor", (int[LEVERS]){2, 0, 1, 2});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_obey_legality_and_never_repeat),
		cmocka_unit_test(all_end_when_everything_has_run),
		cmocka_unit_test(user_starts_come_first),
		cmocka_unit_test(greedy_keeps_what_is_strictly_better),
		cmocka_unit_test(greedy_without_predictions_is_random),
		cmocka_unit_test(chains_know_nothing_of_each_other),
		cmocka_unit_test(optico_repairs_and_has_a_gate),
		cmocka_unit_test(aide_drafts_five_times),
		cmocka_unit_test(aide_debugs_failed_leaves),
		cmocka_unit_test(ladder_climbs_stage_by_stage),
		cmocka_unit_test(ladder_stops_where_it_does_not_get_faster),
		cmocka_unit_test(one_factor_keeps_the_best_of_each_lever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
