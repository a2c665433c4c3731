/* The parts below the controller: scores, moves, ties, sampled jumps. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search/climb.h"
#include "search/score.h"
#include "search/seeds.h"

#include "search_fixture.h"

static void start(struct scores *s, const struct fixture *f)
{
	struct err err = ERR_INIT;
	assert_int_equal(scores_init(s, &f->in, &err), OK);
}

static void scores_are_rounded_to_a_billionth(void **state)
{
	(void)state;
	static const double value[] = {1, 0.123456789123, -3.3e-7, 1e300, 5e-300, 0};
	for (size_t i = 0; i < ARRAY_LEN(value); i++) {
		double r = round_score(value[i]);
		assert_true(fabs(r - value[i]) <= 1e-9 * fabs(value[i]));
		assert_true(round_score(value[i] * (1 + 1e-13)) == r);
		assert_true(round_score(r) == r);
	}
	assert_true(round_score(1 + 2e-9) != 1);
}

/* s = max(mean + 2 sd - f*, 1e-6) P(fits) P(runs). */
static void score_of_a_candidate(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int good[LEVERS] = {0, 1, 1}, better[LEVERS] = {1, 1, 1};
	observe(&f, good, OBSERVED_OK, 0.3)->peak_bytes = 62 * GIB;
	struct scores s;
	start(&s, &f);
	struct candidate *c = scores_look_up(&s, better);
	double score = candidate_score(&s, c);
	double by_hand = (c->mean_ln + 2 * c->sd_ln - s.incumbent_ln) * c->p_fits * c->p_ok;
	assert_true(fabs(score - by_hand) <= 1e-9 * by_hand);
	/* What cannot beat the incumbent keeps a floor. */
	static const int poor[LEVERS] = {0, 0, 1, 1};
	c = scores_look_up(&s, poor);
	score = candidate_score(&s, c);
	assert_true(fabs(score - 1e-6 * c->p_fits * c->p_ok) <= 1e-15);
	scores_release(&s);
}

/* The incumbent is the largest posterior mean, not the largest reading: an odd reading with noise widened to
 * 0.5 says little. */
static void the_incumbent_is_not_the_luckiest(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int solid[LEVERS] = {0, 1, 1}, lucky[LEVERS] = {1, 0, 1}, invalid[LEVERS] = {2, 0, 1};
	observe(&f, solid, OBSERVED_OK, 0.1);
	observe(&f, lucky, OBSERVED_OK, 0.3)->extra_sd_ln = 0.5;
	struct observation *o = observe(&f, invalid, OBSERVED_INVALID, 0.9);
	o->has_gain = true;
	o->extra_sd_ln = 0.03;
	struct scores s;
	start(&s, &f);
	assert_int_equal(s.incumbent, 0);
	assert_true(fabs(s.incumbent_ln - 0.1) < 0.02);
	scores_release(&s);
}

static void visited_and_reference_may_not_run(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int run[LEVERS] = {0, 1, 1}, fresh[LEVERS] = {1, 0, 1};
	int reference[LEVERS];
	observe(&f, run, OBSERVED_CRASH, 0);
	struct scores s;
	start(&s, &f);
	assert_false(candidate_may_run(&s, scores_look_up(&s, run)));
	assert_false(candidate_may_run(&s, scores_look_up(&s, reference_copy(&f, reference))));
	assert_true(candidate_may_run(&s, scores_look_up(&s, fresh)));
	assert_ptr_equal(scores_look_up(&s, fresh), scores_look_up(&s, fresh));
	scores_release(&s);
}

/* All settings alike: the first move in lever-major order is the best, and stays it. */
static void ties_go_to_the_first_move(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct scores s;
	start(&s, &f);
	const struct origin origin = {s.reference, -1, "reference", 1};
	climb(&s, s.reference, &origin, 1);
	assert_int_equal(s.best->setting[0], 1);
	for (int l = 1; l < LEVERS; l++)
		assert_int_equal(s.best->setting[l], f.lever[l].reference);
	scores_release(&s);
}

static bool sums_to_three(void *context, const int *setting)
{
	(void)context;
	return setting[0] + setting[1] + setting[3] == 3;
}

/* From {2, 1, ., 0}: lever 0 to 1 needs lever 3 to 1; lever 0 to 0 needs lever 3 to 2. The reference is
 * illegal. */
static void the_smallest_joint_move_restores_an_invariant(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.is_legal = sums_to_three;
	struct scores s;
	start(&s, &f);
	int setting[LEVERS] = {2, 1, 1, 0};
	struct candidate *c = move(&s, setting, 0, 1);
	assert_non_null(c);
	assert_true(c->setting[0] == 1 && c->setting[1] == 1 && c->setting[3] == 1);
	c = move(&s, setting, 0, 0);
	assert_true(c->setting[0] == 0 && c->setting[1] == 1 && c->setting[3] == 2);
	assert_true(setting[0] == 2 && setting[3] == 0);
	c = move(&s, setting, 4, 1); /* not coupled */
	assert_true(c->setting[0] == 2 && c->setting[4] == 1);
	scores_release(&s);
}

static bool never(void *context, const int *setting)
{
	(void)setting;
	++*(size_t *)context;
	return false;
}

/* A hundred levers under an invariant that nothing restores: the scans are bounded. */
static void hopeless_invariants_cost_a_bounded_number_of_checks(void **state)
{
	(void)state;
	enum { MANY = 200 };
	static struct lever lever[MANY];
	static struct lever_prior prior[MANY][2];
	for (int l = 0; l < MANY; l++)
		lever[l] = (struct lever){.name = "lever", .n_settings = 2, .prior = prior[l]};
	size_t checks = 0;
	struct fixture f;
	fixture_init(&f);
	f.in.model.levers = lever;
	f.in.model.n_levers = MANY;
	f.in.is_legal = never;
	f.in.legal_context = &checks;
	struct scores s;
	start(&s, &f);
	const struct origin origin = {s.reference, -1, "reference", 1};
	climb(&s, s.reference, &origin, 2);
	assert_null(s.best);
	assert_true(checks < 10000);
	scores_release(&s);
}

/* Jumps: legal, at most four levers from the incumbent, reproducible, different from decision to decision. */
static void jumps_change_up_to_four_levers(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct scores s;
	struct seed_list first = {.n = 0}, again = {.n = 0}, later = {.n = 0};
	start(&s, &f);
	seed_jump(&s, &first);
	seed_jump(&s, &again);
	assert_int_equal(first.n, 4);
	for (int i = 0; i < first.n; i++) {
		int apart = settings_apart(first.seed[i].setting, s.reference, LEVERS);
		assert_true(apart >= 1 && apart <= 4);
		assert_true(first.seed[i].competes);
		assert_memory_equal(first.seed[i].setting, again.seed[i].setting, LEVERS * sizeof(int));
	}
	f.in.decision = 1;
	seed_jump(&s, &later);
	bool same = true;
	for (int i = 0; i < 4; i++)
		same &= same_settings(first.seed[i].setting, later.seed[i].setting, LEVERS);
	assert_false(same);
	scores_release(&s);
}

static void jumps_respect_invariants(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.is_legal = sums_to_three;
	static const int run[LEVERS] = {2, 1, 1, 0};
	observe(&f, run, OBSERVED_OK, 0.1);
	for (uint64_t k = 0; k < 20; k++) {
		struct scores s;
		struct seed_list list = {.n = 0};
		f.in.decision = k;
		start(&s, &f);
		seed_jump(&s, &list);
		for (int i = 0; i < list.n; i++)
			assert_true(sums_to_three(NULL, list.seed[i].setting));
		scores_release(&s);
	}
}

/* A capped setting is never drawn above its cap: with all caps at zero there is nothing to jump to. */
static void jumps_stay_below_the_caps(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int l = 0; l < LEVERS; l++)
		for (int k = 0; k < MAX_SETTINGS; k++)
			f.prior[l][k].amdahl_cap_ln = 0;
	struct scores s;
	struct seed_list list = {.n = 0};
	start(&s, &f);
	seed_jump(&s, &list);
	assert_int_equal(list.n, 0);
	scores_release(&s);
}

/* The two failures that promise most, whatever kind they are; the third is left out. */
static void bundles_start_from_the_two_best_failures(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[0][1].predicted_gain_ln = 0.4;
	f.prior[1][1].predicted_gain_ln = 0.8;
	f.prior[3][1].predicted_gain_ln = -0.5;
	static const int run[3][LEVERS] = {{1, 0, 1}, {0, 0, 1, 1}, {0, 1, 1}};
	observe(&f, run[0], OBSERVED_OOM, 0);
	observe(&f, run[1], OBSERVED_INVALID, 0);
	observe(&f, run[2], OBSERVED_CRASH, 0);
	struct scores s;
	struct seed_list list = {.n = 0};
	start(&s, &f);
	seed_failed(&s, &list);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.seed[0].observation, 2);
	assert_int_equal(list.seed[1].observation, 0);
	scores_release(&s);
}

/* Three levers away at least. */
static void warm_restart_is_far_from_the_incumbent(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int run[3][LEVERS] = {{1, 1, 0}, {1, 1, 0, 1}, {0, 0, 1, 0, 1}};
	observe(&f, run[0], OBSERVED_OK, 0.3);
	observe(&f, run[1], OBSERVED_OK, 0.2);
	observe(&f, run[2], OBSERVED_OK, 0.01);
	struct scores s;
	struct seed_list list = {.n = 0};
	start(&s, &f);
	seed_restart(&s, &list);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.seed[0].observation, 2);
	scores_release(&s);
}

/* After k out-of-memory ends in a row, P(fits) counts to the power of k + 1; a run that fits ends the row. */
static void failures_for_memory_in_a_row_make_cautious(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int run[4][LEVERS] = {{0, 1, 1}, {1, 0, 1}, {2, 0, 1}, {0, 0, 1, 1}},
			 next[LEVERS] = {0, 0, 1, 2};
	observe(&f, run[0], OBSERVED_OOM, 0);
	observe(&f, run[1], OBSERVED_OK, 0.01)->peak_bytes = 61 * GIB;
	observe(&f, run[2], OBSERVED_OOM, 0);
	observe(&f, run[3], OBSERVED_OOM, 0);
	struct scores s;
	start(&s, &f);
	assert_int_equal(s.caution, 3);
	struct candidate *c = scores_look_up(&s, next);
	double score = candidate_score(&s, c);
	double by_hand =
		(c->mean_ln + 2 * c->sd_ln - s.incumbent_ln) * c->p_fits * c->p_fits * c->p_fits * c->p_ok;
	assert_true(fabs(score - by_hand) <= 2e-9 * by_hand);
	scores_release(&s);
	f.in.model.n_observations = 2;
	start(&s, &f);
	assert_int_equal(s.caution, 1);
	scores_release(&s);
}

static void beating_a_score_is_having_a_larger_one(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct scores s;
	start(&s, &f);
	for (int l = 0; l < 9; l++) {
		int setting[LEVERS];
		reference_copy(&f, setting)[l] = !f.lever[l].reference;
		struct candidate *c = scores_look_up(&s, setting);
		assert_true(candidate_beats(&s, c, 0));
		double score = candidate_score(&s, c);
		assert_false(candidate_beats(&s, c, score));
		assert_true(candidate_beats(&s, c, score * (1 - 1e-8)));
	}
	scores_release(&s);
}

static bool only_the_far_corner(void *context, const int *setting)
{
	const struct fixture *f = context;
	int n = changes(f, setting);
	return n == 0 || n == f->in.model.n_levers;
}

/* Four levers, of which all or none must change: no move of one or two leads anywhere. */
static void a_survey_reaches_what_no_move_does(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.model.n_levers = 4;
	f.in.is_legal = only_the_far_corner;
	f.in.legal_context = &f;
	struct scores s;
	start(&s, &f);
	const struct origin origin = {s.reference, -1, "reference", 1};
	climb(&s, s.reference, &origin, 2);
	assert_null(s.best);
	survey(&s, &origin);
	assert_non_null(s.best);
	assert_int_equal(changes(&f, s.best->setting), 4);
	scores_release(&s);
}

/* 3^8 configurations are too many to go through. */
static void a_survey_leaves_large_spaces_alone(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int l = 0; l < 8; l++)
		f.lever[l].n_settings = 3;
	f.in.model.n_levers = 8;
	struct scores s;
	start(&s, &f);
	const struct origin origin = {s.reference, -1, "reference", 1};
	survey(&s, &origin);
	assert_null(s.best);
	scores_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_rounded_to_a_billionth),
		cmocka_unit_test(score_of_a_candidate),
		cmocka_unit_test(the_incumbent_is_not_the_luckiest),
		cmocka_unit_test(visited_and_reference_may_not_run),
		cmocka_unit_test(ties_go_to_the_first_move),
		cmocka_unit_test(the_smallest_joint_move_restores_an_invariant),
		cmocka_unit_test(hopeless_invariants_cost_a_bounded_number_of_checks),
		cmocka_unit_test(jumps_change_up_to_four_levers),
		cmocka_unit_test(jumps_respect_invariants),
		cmocka_unit_test(jumps_stay_below_the_caps),
		cmocka_unit_test(bundles_start_from_the_two_best_failures),
		cmocka_unit_test(warm_restart_is_far_from_the_incumbent),
		cmocka_unit_test(failures_for_memory_in_a_row_make_cautious),
		cmocka_unit_test(beating_a_score_is_having_a_larger_one),
		cmocka_unit_test(a_survey_reaches_what_no_move_does),
		cmocka_unit_test(a_survey_leaves_large_spaces_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
