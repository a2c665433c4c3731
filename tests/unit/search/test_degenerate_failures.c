/* Tasks where nothing runs, nothing fits, or nobody says what it used. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "degenerate_world.h"

/* ------------------------------------------------------------- nothing runs */

static enum observed_status all_crash(const struct world *w, const int *setting)
{
	(void)w;
	(void)setting;
	return OBSERVED_CRASH;
}

static enum observed_status all_hang(const struct world *w, const int *setting)
{
	(void)w;
	(void)setting;
	return OBSERVED_HANG;
}

static enum observed_status all_invalid(const struct world *w, const int *setting)
{
	(void)w;
	(void)setting;
	return OBSERVED_INVALID;
}

static enum observed_status all_out_of_memory(const struct world *w, const int *setting)
{
	(void)w;
	(void)setting;
	return OBSERVED_OOM;
}

/* Every setting fails, in every way: each configuration is tried once, then the search stops; the reference
 * stays and nobody is a finalist. */
static void every_trial_fails(void **state)
{
	(void)state;
	enum observed_status (*const ways[])(const struct world *, const int *) = {
		all_crash, all_hang, all_invalid, all_out_of_memory};
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		for (int numbers = 0; numbers < 2; numbers++) {
			struct world *w = world_new();
			int order[TRIALS_MAX];
			double mean = 5;
			add_levers(w, 2, numbers ? NUMBER : CATEGORY, 3);
			add_levers(w, 2, PATCH, 2);
			w->ends = ways[i];
			w->hides_shortfalls = numbers;
			assert_int_equal(play_all(w, 60), 35); /* 3 * 3 * 2 * 2 - 1 */
			assert_int_equal(incumbent(w, &mean), -1);
			assert_true(mean == 0);
			assert_int_equal(finalists(w, order), 0);
			free(w);
		}
}

static enum observed_status both_crash(const struct world *w, const int *setting)
{
	(void)w;
	return setting[0] && setting[1] ? OBSERVED_CRASH : OBSERVED_OK;
}

/* Both settings pass alone and crash together: the sole surviving pair is banned (its probability 0.995).
 * What else may gain goes first; with that done the corner is still proposed rather than what is sure to
 * lose. */
static void a_banned_pair_waits(void **state)
{
	(void)state;
	struct world *w = world_new();
	static const int first[LEVERS_MAX] = {1}, second[LEVERS_MAX] = {0, 1}, both[LEVERS_MAX] = {1, 1};
	add_levers(w, 3, CATEGORY, 2);
	w->ends = both_crash;
	w->gain_ln[0][1] = w->gain_ln[1][1] = 0.2;
	run(w, first);
	run(w, second);
	run(w, both);
	for (int k = 0; k < 4; k++) {
		struct decision d = decide(w, controller());
		assert_true(d.found);
		bool is_banned = d.setting[0] && d.setting[1];
		assert_true(is_banned ? k >= 2 : d.p_ok > 0.9);
		if (is_banned)
			assert_true(d.p_ok <= 0.005);
		run(w, d.setting);
		decision_release(&d);
	}
	free(w);
}

static bool nothing_is_legal(void *context, const int *setting)
{
	(void)context;
	(void)setting;
	return false;
}

static void every_candidate_is_illegal(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct world *w = world_new();
		static const int start[LEVERS_MAX] = {1, 1};
		static const int *const starts[] = {start};
		add_levers(w, 8, kinds[i], 4); /* more than can be looked through one by one */
		add_levers(w, 2, PATCH, 2);
		w->in.is_legal = nothing_is_legal;
		w->in.user_starts = starts;
		w->in.n_user_starts = 1;
		w->in.experienced_start = start;
		assert_int_equal(play_all(w, 3), 0);
		free(w);
	}
}

static bool one_is_legal(void *context, const int *setting)
{
	const struct world *w = context;
	for (int l = 0; l < w->in.model.n_levers; l++)
		if (setting[l] != w->lever[l].n_settings - 1)
			return false;
	return true;
}

/* One legal configuration, five levers from the (illegal) reference: found, then the search stops. */
static void one_candidate_is_legal(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 5, CATEGORY, 3);
	w->in.is_legal = one_is_legal;
	w->in.legal_context = w;
	assert_int_equal(play(w, controller(), 3), 1);
	free(w);
}

/* Starts that are illegal, the reference, or fail one after the other: the reference is the incumbent, and
 * the search begins. */
static void all_starts_fail(void **state)
{
	(void)state;
	struct world *w = world_new();
	static const int reference[LEVERS_MAX] = {0}, first[LEVERS_MAX] = {1, 1},
			 second[LEVERS_MAX] = {0, 0, 2}, third[LEVERS_MAX] = {2, 0, 0, 1};
	static const int *const starts[] = {reference, first, first, second, third};
	add_levers(w, 4, CATEGORY, 3);
	w->ends = all_crash;
	w->in.user_starts = starts;
	w->in.n_user_starts = ARRAY_LEN(starts);
	w->in.experienced_start = third;
	for (int k = 0; k < 3; k++) {
		struct decision d = decide(w, controller());
		assert_memory_equal(d.setting, starts[k == 0 ? 1 : k + 2], 4 * sizeof(int));
		assert_non_null(strstr(d.operators, "start"));
		run(w, d.setting);
		decision_release(&d);
	}
	double mean;
	assert_int_equal(incumbent(w, &mean), -1);
	struct decision d = decide(w, controller());
	assert_true(d.found);
	assert_null(strstr(d.operators, "start"));
	decision_release(&d);
	free(w);
}

/* Interrupted and transient trials leave no observation and release what they had registered: the decisions
 * go on, each with its own random numbers, and forget nothing that they knew. */
static void all_trials_are_interrupted(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 4, CATEGORY, 3);
	add_levers(w, 1, PATCH, 2);
	for (int k = 0; k < 12; k++) {
		w->in.decision = (uint64_t)k;
		struct decision d = decide(w, controller()), again = decide(w, controller());
		assert_true(d.found && d.base_observation == -1);
		assert_memory_equal(d.setting, again.setting, 5 * sizeof(int));
		decision_release(&d);
		decision_release(&again);
	}
	double mean;
	assert_int_equal(incumbent(w, &mean), -1);
	free(w);
}

/* ------------------------------------------------------------- memory */

/* Nothing says how much memory there is: P(fits) is 1 until something runs out of it, and then what the
 * failed runs have in common is suspected like the cause of a crash. */
static void capacity_is_not_known(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct world *w = world_new();
		add_levers(w, 4, kinds[i], 3);
		w->in.model.capacity_bytes = INFINITY;
		w->in.model.reference_peak_bytes = NAN;
		w->hides_peaks = w->hides_shortfalls = true;
		w->gain_ln[1][1] = 0.1;
		assert_int_equal(play_all(w, 17), 17);
		for (size_t k = 0; k < w->in.model.n_observations; k++)
			assert_int_equal(w->observation[k].status, OBSERVED_OK);
		double mean;
		int best = incumbent(w, &mean);
		assert_true(best >= 0 && w->setting[best][1] == 1);
		free(w);
	}
}

static enum observed_status the_greedy_run_out(const struct world *w, const int *setting)
{
	(void)w;
	return setting[0] == 2 ? OBSERVED_OOM : OBSERVED_OK;
}

static void out_of_memory_without_a_capacity_is_blamed(void **state)
{
	(void)state;
	struct world *w = world_new();
	static const int ran_out[3][LEVERS_MAX] = {{2}, {2, 1}, {2, 0, 1}},
			 fitted[2][LEVERS_MAX] = {{0, 1}, {0, 0, 1}};
	add_levers(w, 4, CATEGORY, 3);
	w->in.model.capacity_bytes = INFINITY;
	w->in.model.reference_peak_bytes = NAN;
	w->hides_peaks = w->hides_shortfalls = true;
	w->ends = the_greedy_run_out;
	w->prior[0][2].predicted_gain_ln = 0.2;
	for (int i = 0; i < 3; i++)
		run(w, ran_out[i]);
	for (int i = 0; i < 2; i++)
		run(w, fitted[i]);
	for (int k = 0; k < 10; k++) {
		struct decision d = decide(w, controller());
		assert_int_not_equal(d.setting[0], 2);
		run(w, d.setting);
		decision_release(&d);
	}
	free(w);
}

/* The capacity is known and no run ever says what it used: out-of-memory ends alone bound what fits. */
static void no_peak_is_ever_read(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct world *w = world_new();
		add_levers(w, 4, kinds[i], 3);
		w->hides_peaks = w->hides_shortfalls = true;
		w->in.model.reference_peak_bytes = NAN;
		w->gib[0][2] = 40;
		w->gib[1][1] = 5;
		w->gain_ln[0][2] = 0.3; /* tempting */
		w->gain_ln[1][1] = 0.1;
		assert_int_equal(play_all(w, 17), 17);
		int out_of_memory = 0;
		double mean;
		for (size_t k = 0; k < w->in.model.n_observations; k++)
			out_of_memory += w->observation[k].status == OBSERVED_OOM;
		assert_true(out_of_memory <= 8);
		int best = incumbent(w, &mean);
		assert_true(best >= 0 && w->setting[best][1] == 1);
		free(w);
	}
}

/* ------------------------------------------------------------- a reference that does not fit */

/* Nothing fits: all of it is tried, or the budget ends; there is no incumbent and no finalist. */
static void neither_the_reference_nor_anything_fits(void **state)
{
	(void)state;
	for (int numbers = 0; numbers < 2; numbers++)
		for (int says = 0; says < 2; says++) {
			struct world *w = world_new();
			int order[TRIALS_MAX];
			double mean = 5;
			add_levers(w, 3, numbers ? NUMBER : CATEGORY, 3);
			does_not_fit(w, 200, says);
			w->hides_shortfalls = !says;
			assert_int_equal(play_all(w, 60), 26);
			assert_int_equal(incumbent(w, &mean), -1);
			assert_int_equal(finalists(w, order), 0);
			free(w);
		}
}

/* Made-up jobs as CONTROLLER section 4 has them: eight knobs of three settings, the reference at 1.03 to 1.25
 * of the capacity, settings that save or cost memory and say so roughly. */
static struct world *job_too_large(uint64_t seed)
{
	struct world *w = world_new();
	struct random random;
	random_init(&random, seed, "too large", 0);
	add_levers(w, 8, CATEGORY, 3);
	does_not_fit(w, 80 * (1.03 + 0.22 * random_uniform(&random)), true);
	w->in.seed = seed;
	for (int l = 0; l < 8; l++)
		for (int s = 1; s < 3; s++) {
			w->gain_ln[l][s] = 0.05 * random_normal(&random);
			w->gib[l][s] = 8 * random_normal(&random);
			w->prior[l][s].predicted_gain_ln = 0.03 * random_normal(&random);
			w->prior[l][s].declared_bytes = (w->gib[l][s] + 4 * random_normal(&random)) * GIB;
		}
	return w;
}

/* "97% found a fitting configuration within 17 trials, median trial 2, p90 trial 3" of 60. */
static void what_fits_is_found_soon(void **state)
{
	(void)state;
	enum { JOBS = 60 };
	int by_three = 0, found = 0;
	for (uint64_t seed = 1; seed <= JOBS; seed++) {
		struct world *w = job_too_large(seed);
		for (int trial = 1; trial <= 17; trial++) {
			struct decision d = decide(w, controller());
			assert_true(d.found);
			bool fits = run(w, d.setting)->status == OBSERVED_OK;
			decision_release(&d);
			if (!fits)
				continue;
			found++;
			by_three += trial <= 3;
			break;
		}
		/* The first valid run is what times are compared with from now on. */
		double mean = 5;
		if (w->observation[w->in.model.n_observations - 1].status == OBSERVED_OK) {
			assert_int_equal(incumbent(w, &mean), (int)w->in.model.n_observations - 1);
			assert_true(mean == 0);
		}
		free(w);
	}
	print_message("found within 3 trials: %d, within 17: %d of %d\n", by_three, found, JOBS);
	assert_true(by_three >= JOBS * 9 / 10);
	assert_true(found >= JOBS * 97 / 100);
}

/* It is found by every kind of knob and without any figure: no shortfall, no peak. */
static void what_fits_is_found_without_figures(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, RANK, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct world *w = world_new();
		add_levers(w, 5, kinds[i], 3);
		does_not_fit(w, 90, false);
		w->hides_peaks = w->hides_shortfalls = true;
		w->gib[2][2] = -15;
		w->gib[3][1] = -12;
		w->gain_ln[0][1] = 0.1;
		assert_int_equal(play_all(w, 17), 17);
		double mean;
		assert_true(incumbent(w, &mean) >= 0);
		assert_true(mean > 0.05); /* over the first that fitted */
		free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_trial_fails),
		cmocka_unit_test(a_banned_pair_waits),
		cmocka_unit_test(every_candidate_is_illegal),
		cmocka_unit_test(one_candidate_is_legal),
		cmocka_unit_test(all_starts_fail),
		cmocka_unit_test(all_trials_are_interrupted),
		cmocka_unit_test(capacity_is_not_known),
		cmocka_unit_test(out_of_memory_without_a_capacity_is_blamed),
		cmocka_unit_test(no_peak_is_ever_read),
		cmocka_unit_test(neither_the_reference_nor_anything_fits),
		cmocka_unit_test(what_fits_is_found_soon),
		cmocka_unit_test(what_fits_is_found_without_figures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
