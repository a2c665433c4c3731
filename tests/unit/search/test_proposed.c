/*
 * What language models, programs and people suggest: configurations, which compete like any other, and
 * predictions, which are believed as far as those of the same source have come true.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search/seeds.h"
#include "search_fixture.h"

enum { EVERY_OPERATOR = (1 << N_OPERATORS) - 1 };

static void only(struct fixture *f, unsigned operators)
{
	f->in.switches.operators_off = (unsigned)EVERY_OPERATOR & ~operators;
}

static void propose(struct fixture *f, const int *const *list, size_t n)
{
	f->in.proposed = list;
	f->in.n_proposed = n;
}

static void assert_setting(const struct fixture *f, const struct decision *d, const int *expected)
{
	assert_true(d->found);
	for (int l = 0; l < f->in.model.n_levers; l++)
		if (d->setting[l] != expected[l])
			fail_msg("lever %d at %d, expected %d: %s", l, d->setting[l], expected[l], d->reason);
}

/* ------------------------------------------------------------- configurations */

static bool loader_stays_off(void *context, const int *setting)
{
	(void)context;
	return setting[5] == 0;
}

static void seeds_are_what_may_run_latest_first(void **state)
{
	(void)state;
	struct fixture f;
	struct err err = ERR_INIT;
	struct scores s;
	struct seed_list list = {.n = 0};
	fixture_init(&f);
	f.in.is_legal = loader_stays_off;
	static const int has_run[LEVERS] = {1, 0, 1}, reference[LEVERS] = {0, 0, 1},
			 illegal[LEVERS] = {0, 0, 1, 0, 0, 1}, latest[LEVERS] = {0, 1, 1},
			 earlier[LEVERS] = {2, 0, 0, 2};
	const int *const all[] = {illegal, latest, reference, has_run, latest, earlier};
	run_ok(&f, has_run, 0.1);
	propose(&f, all, ARRAY_LEN(all));
	assert_int_equal(scores_init(&s, &f.in, &err), OK);
	seed_operator(OPERATOR_PROPOSED)->generate(&s, &list);
	assert_int_equal(list.n, 2);
	assert_true(same_settings(list.seed[0].setting, latest, LEVERS));
	assert_true(same_settings(list.seed[1].setting, earlier, LEVERS));
	assert_true(list.seed[0].competes && !list.seed[0].stays);
	scores_release(&s);
}

/* Forty of them: the last eight are not looked at, and the search goes on from the four that score best. */
static void many_are_cheap(void **state)
{
	(void)state;
	enum { MANY = 40 };
	struct fixture f;
	struct err err = ERR_INIT;
	struct scores s;
	struct seed_list list = {.n = 0};
	int setting[MANY][LEVERS];
	const int *all[MANY];
	fixture_init(&f);
	for (int i = 0; i < MANY; i++) { /* the bits of i + 1 */
		reference_copy(&f, setting[i]);
		for (int k = 0; k < 6; k++)
			setting[i][k + (k >= 2)] = (i + 1) >> k & 1;
		all[i] = setting[i];
	}
	f.prior[0][1].predicted_gain_ln = 0.4;
	propose(&f, all, MANY);
	assert_int_equal(scores_init(&s, &f.in, &err), OK);
	seed_operator(OPERATOR_PROPOSED)->generate(&s, &list);
	assert_int_equal(list.n, 32);
	int climbed = 0;
	double worst_climbed = INFINITY, best_left = 0;
	for (int i = 0; i < list.n; i++) {
		double score = candidate_score(&s, scores_look_up(&s, list.seed[i].setting));
		climbed += !list.seed[i].stays;
		if (list.seed[i].stays)
			best_left = fmax(best_left, score);
		else
			worst_climbed = fmin(worst_climbed, score);
	}
	assert_int_equal(climbed, 4);
	assert_true(worst_climbed >= best_left);
	scores_release(&s);
}

/* Two changes that only go together, on top of two others: no operator but this one gets there. */
static bool both_or_none(void *context, const int *setting)
{
	(void)context;
	return setting[0] == setting[3] && setting[1] == setting[4] && setting[5] == setting[6];
}

static void the_best_configuration_runs_whoever_had_the_idea(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	f.in.is_legal = both_or_none;
	static const int idea[LEVERS] = {1, 1, 1, 1, 1, 1, 1};
	static const int levers[] = {0, 1, 3, 4, 5, 6};
	for (size_t i = 0; i < ARRAY_LEN(levers); i++)
		open_setting(&f, levers[i], 1, 0.2);
	only(&f, 1u << OPERATOR_BACKTRACK | 1u << OPERATOR_PROPOSED);
	struct decision d = next_decision(&f);
	assert_true(changes(&f, d.setting) == 4); /* two joint moves */
	decision_release(&d);
	const int *const all[] = {idea};
	propose(&f, all, 1);
	d = next_decision(&f);
	assert_setting(&f, &d, idea);
	assert_string_equal(d.operators, "proposed");
	assert_non_null(strstr(d.reason, "reference + recompute=on, compile=on"));
	decision_release(&d);
	f.in.switches.operators_off |= 1u << OPERATOR_PROPOSED;
	d = next_decision(&f);
	assert_true(changes(&f, d.setting) == 4);
	decision_release(&d);
}

/* One that is no good changes nothing of what runs. */
static void there_is_no_bonus(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[0][1].predicted_gain_ln = 0.3;
	f.prior[4][1].predicted_gain_ln = -0.9;
	static const int slow[LEVERS] = {0, 0, 1, 0, 1};
	const int *const all[] = {slow};
	struct decision without = next_decision(&f);
	propose(&f, all, 1);
	struct decision with = next_decision(&f);
	assert_setting(&f, &with, without.setting);
	assert_true(with.score == without.score);
	decision_release(&without);
	decision_release(&with);
}

/* It does not fit by 10 GiB; with the saver it does. */
static void what_an_idea_lacks_is_added(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	open_setting(&f, 0, 2, 0.5);
	open_setting(&f, 1, 1, 0.3);
	open_setting(&f, 3, 2, 0.4);
	f.prior[0][2].declared_bytes = 30 * GIB;
	f.prior[4][1].declared_bytes = -25 * GIB;
	static const int idea[LEVERS] = {2, 1, 1, 2}, expected[LEVERS] = {2, 1, 1, 2, 1};
	const int *const all[] = {idea};
	propose(&f, all, 1);
	only(&f, 1u << OPERATOR_PROPOSED);
	struct decision d = next_decision(&f);
	assert_setting(&f, &d, expected);
	assert_string_equal(d.operators, "proposed");
	decision_release(&d);
}

static bool two_knobs_move(void *context, const int *setting)
{
	const struct fixture *f = context;
	for (int l = 0; l < LEVERS; l++)
		if (l != 1 && l != 5 && setting[l] != f->lever[l].reference)
			return false;
	return true;
}

/* Every draw of `escape` comes to the same: both are named. */
static void an_idea_that_another_operator_has_keeps_its_name(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	for (int l = 1; l <= 5; l += 4)
		f.prior[l][1] = (struct lever_prior){
			.amdahl_cap_ln = INFINITY, .experienced = true, .mean_ln = 0.3, .sd_ln = 0.001};
	static const int both[LEVERS] = {0, 1, 1, 0, 0, 1}, visited[LEVERS] = {0, 0, 1, 1};
	f.in.is_legal = two_knobs_move;
	f.in.legal_context = &f;
	run_ok(&f, visited, -0.01); /* so that the experienced start has had its turn */
	const int *const all[] = {both};
	propose(&f, all, 1);
	only(&f, 1u << OPERATOR_ESCAPE | 1u << OPERATOR_PROPOSED);
	struct decision d = next_decision(&f);
	assert_setting(&f, &d, both);
	assert_string_equal(d.operators, "escape+proposed");
	decision_release(&d);
}

/* Nothing fits as far as is known: what is proposed is looked at all the same. */
static void an_idea_counts_before_anything_fits(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	f.in.model.reference_runs = 0;
	f.in.model.reference_peak_bytes = NAN;
	f.in.model.reference_shortfall_bytes = 20 * GIB;
	static const int idea[LEVERS] = {1, 1, 1, 1, 1};
	for (int l = 0; l < 5; l++)
		f.prior[l][1].declared_bytes = -8 * GIB;
	const int *const all[] = {idea};
	propose(&f, all, 1);
	only(&f, 1u << OPERATOR_PROPOSED);
	struct decision d = next_decision(&f);
	assert_names(&d, "proposed");
	assert_true(d.setting[0] == 1 && d.setting[1] == 1 && d.setting[3] == 1 && d.setting[4] == 1);
	decision_release(&d);
}

/* ------------------------------------------------------------- predictions */

/* Only one of the two that nobody has tried. */
static bool not_both_untried(void *context, const int *setting)
{
	(void)context;
	return !(setting[3] && setting[6]);
}

/* Each predicts +15% of three knobs. Of the two of each that run, those of `right` gain it and the others
 * lose it. */
static void play_two_sources(struct fixture *f, const int (*lever)[3], int right)
{
	quiet_init(f);
	f->in.is_legal = not_both_untried;
	for (int source = 0; source < 2; source++)
		for (int k = 0; k < 3; k++) {
			open_setting(f, lever[source][k], 1, 0.15);
			f->prior[lever[source][k]][1].source = source + 1;
		}
	for (int source = 0; source < 2; source++)
		for (int k = 0; k < 2; k++) {
			int setting[LEVERS];
			reference_copy(f, setting)[lever[source][k]] = 1;
			run_ok(f, setting, source == right ? 0.15 : -0.15);
		}
}

static void the_search_follows_whoever_was_right(void **state)
{
	(void)state;
	static const int lever[2][3] = {{0, 1, 3}, {4, 5, 6}};
	for (int right = 0; right < 2; right++) {
		struct fixture f;
		play_two_sources(&f, lever, right);
		int untried = lever[right][2], other = lever[1 - right][2];
		struct decision d = next_decision(&f);
		assert_true(d.found && d.setting[untried] == 1 && d.setting[other] == 0);
		decision_release(&d);
		struct time_model *m = NULL;
		struct err err = ERR_INIT;
		struct belief_change trusted, distrusted;
		assert_int_equal(time_model_fit(&f.in.model, &m, &err), OK);
		time_model_effect(m, untried, 1, &trusted);
		time_model_effect(m, other, 1, &distrusted);
		assert_true(trusted.mean > trusted.prior_mean && trusted.prior_mean == distrusted.prior_mean);
		assert_true(distrusted.mean < 0);
		time_model_free(m);
	}
}

/* The same runs with all of it said by one: right as often as wrong, so both untried ones are as good. */
static void one_voice_is_believed_as_a_whole(void **state)
{
	(void)state;
	static const int lever[2][3] = {{0, 1, 3}, {4, 5, 6}};
	struct fixture f;
	play_two_sources(&f, lever, 1);
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < MAX_SETTINGS; s++)
			f.prior[l][s].source = 1;
	struct time_model *m = NULL;
	struct err err = ERR_INIT;
	struct belief_change a, b;
	assert_int_equal(time_model_fit(&f.in.model, &m, &err), OK);
	time_model_effect(m, 3, 1, &a);
	time_model_effect(m, 6, 1, &b);
	assert_true(fabs(a.mean - b.mean) < 1e-12);
	time_model_free(m);
}

/* An unsure prediction of the same gain is tried before a sure one: there is more to find out. */
static void a_declared_uncertainty_is_worth_a_look(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	open_setting(&f, 1, 1, 0.05);
	open_setting(&f, 5, 1, 0.05);
	f.prior[5][1].predicted_sd_ln = 0.4;
	struct scores s;
	struct err err = ERR_INIT;
	static const int sure[LEVERS] = {0, 1, 1}, unsure[LEVERS] = {0, 0, 1, 0, 0, 1};
	assert_int_equal(scores_init(&s, &f.in, &err), OK);
	assert_true(candidate_score(&s, scores_look_up(&s, unsure)) >
		    candidate_score(&s, scores_look_up(&s, sure)));
	scores_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_are_what_may_run_latest_first),
		cmocka_unit_test(many_are_cheap),
		cmocka_unit_test(the_best_configuration_runs_whoever_had_the_idea),
		cmocka_unit_test(there_is_no_bonus),
		cmocka_unit_test(what_an_idea_lacks_is_added),
		cmocka_unit_test(an_idea_that_another_operator_has_keeps_its_name),
		cmocka_unit_test(an_idea_counts_before_anything_fits),
		cmocka_unit_test(the_search_follows_whoever_was_right),
		cmocka_unit_test(one_voice_is_believed_as_a_whole),
		cmocka_unit_test(a_declared_uncertainty_is_worth_a_look),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
