#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search/beliefs.h"
#include "search/score_terms.h"

enum { LEVERS = 2, SETTINGS = 3, MAX_RUNS = 8 };

/* Two knobs with two settings each: no axes, so the time model is its linear part. */
struct fixture {
	struct arena arena;
	struct lever_prior prior[LEVERS][SETTINGS];
	struct lever lever[LEVERS];
	int setting[MAX_RUNS][LEVERS];
	struct observation observation[MAX_RUNS];
	struct search_input in;
};

static void fixture_init(struct fixture *f)
{
	static const char *const names[LEVERS] = {"a", "b"};
	static const char *const settings[] = {"off", "on"};
	*f = (struct fixture){.arena = ARENA_INIT};
	for (int l = 0; l < LEVERS; l++) {
		for (int i = 0; i < SETTINGS; i++)
			f->prior[l][i].amdahl_cap_ln = INFINITY;
		f->lever[l] = (struct lever){
			.name = names[l], .n_settings = 2, .prior = f->prior[l], .setting_names = settings};
	}
	f->in = (struct search_input){.model = {.levers = f->lever,
					      .n_levers = LEVERS,
					      .observations = f->observation,
					      .sigma_pair = 0.02,
					      .reference_runs = 2,
					      .capacity_bytes = INFINITY,
					      .memory_cap_bytes = INFINITY,
					      .reference_peak_bytes = NAN,
					      .reference_shortfall_bytes = NAN},
		.gate_ln = 0.04};
}

static void add_run(struct fixture *f, int a, int b, enum observed_status status, double gain_ln)
{
	size_t i = f->in.model.n_observations++;
	f->setting[i][0] = a;
	f->setting[i][1] = b;
	f->observation[i] = (struct observation){.setting = f->setting[i],
		.status = status,
		.has_gain = status == OBSERVED_OK,
		.gain_ln = gain_ln,
		.incumbent_allowed = status == OBSERVED_OK,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN};
}

static struct beliefs form(struct fixture *f)
{
	struct beliefs b;
	struct err err = ERR_INIT;
	assert_int_equal(beliefs_form(&f->in, &f->arena, &b, &err), OK);
	return b;
}

/* The models add a jitter of 1e-10 to a covariance. */
static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-7))
		fail_msg("%.17g, expected %.17g", got, want);
}

static void before_any_run(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[1][1].predicted_gain_ln = 0.1;
	struct beliefs b = form(&f);
	assert_int_equal(b.incumbent, -1);
	assert_int_equal(b.n_levers, LEVERS);
	assert_int_equal(b.levers[0].n_settings, 1);
	const struct setting_belief *a = &b.levers[0].settings[0], *predicted = &b.levers[1].settings[0];
	assert_int_equal(a->setting, 1);
	/* its own 0.07^2 and one change's 0.02^2 */
	assert_near(a->gain.mean, 0);
	assert_near(a->gain.sd, sqrt(0.0053));
	assert_near(a->gain.prior_sd, a->gain.sd);
	assert_near(a->moved_sd, 0);
	assert_false(a->is_big);
	assert_true(isnan(a->memory_mean_bytes));
	/* 30% of what is declared; the slope adds (0.4 x 0.1)^2 */
	assert_near(predicted->gain.mean, 0.03);
	assert_near(predicted->gain.sd, sqrt(0.0069));
	assert_true(predicted->is_big && b.levers[1].is_big);
	assert_near(b.knob_share.mean, 0.3);
	assert_near(b.knob_share.sd, 0.4);
	assert_near(b.patch_share.sd, 0);
	assert_int_equal(b.n_suspicions + b.n_transients, 0);
	arena_release(&f.arena);
}

/* The mark is what the operator `big_knob` and the start `prior` go by: no patches, and of experience what
 * the runs have left of it. Three runs at no gain at all against a mean of 0.05 +- 0.05. */
static void big_is_what_the_search_takes_for_big(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[0][1] = (struct lever_prior){
		.amdahl_cap_ln = INFINITY, .experienced = true, .mean_ln = 0.05, .sd_ln = 0.05};
	f.prior[1][1].predicted_gain_ln = 0.1;
	f.lever[1].is_patch = true;
	struct beliefs b = form(&f);
	assert_true(b.levers[0].is_big && b.levers[0].settings[0].is_big);
	assert_false(b.levers[1].is_big || b.levers[1].settings[0].is_big);
	for (int i = 0; i < 3; i++)
		add_run(&f, 1, 0, OBSERVED_OK, 0);
	b = form(&f);
	assert_near(b.levers[0].settings[0].predicted_ln, 0.05);
	assert_false(b.levers[0].is_big || b.levers[0].settings[0].is_big);
	arena_release(&f.arena);
}

/* Conjugate normal update: prior N(0, V), V = 0.07^2 + 0.02^2 = 0.0053; the run adds N = 0.02^2 for its
 * configuration, 0.02^2 / 2 for itself and 0.02^2 / 4 for the mean of two reference runs: 0.0007. Mean
 * V y / (V + N), variance V N / (V + N). */
static void one_run_is_a_conjugate_update(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add_run(&f, 1, 0, OBSERVED_OK, 0.12);
	struct beliefs b = form(&f);
	const struct setting_belief *a = &b.levers[0].settings[0], *other = &b.levers[1].settings[0];
	assert_near(a->gain.mean, 0.0053 * 0.12 / 0.006);
	assert_near(a->gain.sd, sqrt(0.0053 * 0.0007 / 0.006));
	assert_near(a->gain.prior_mean, 0);
	assert_near(a->moved_sd, 0.106 / sqrt(0.0053));
	assert_true(a->is_big && a->in_incumbent);
	assert_int_equal(a->n_ok, 1);
	assert_int_equal(a->n_failed, 0);
	assert_int_equal(b.incumbent, 0);
	/* The configuration's own part is in what is predicted for it: V + 0.02^2 of V + N. */
	assert_near(b.incumbent_ln, 0.0057 * 0.12 / 0.006);
	/* They share what one change is worth, 0.02^2. */
	assert_near(other->gain.mean, 0.0004 * 0.12 / 0.006);
	assert_false(other->in_incumbent || other->is_big);
	assert_int_equal(other->n_ok, 0);
	arena_release(&f.arena);
}

/* The same with 10% declared: V = 0.0053 + 0.16 x 0.1^2 = 0.0069, of which the slope has 0.016 in common with
 * the run. */
static void a_run_says_what_declarations_are_worth(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[0][1].predicted_gain_ln = 0.1;
	add_run(&f, 1, 0, OBSERVED_OK, 0.12);
	struct beliefs b = form(&f);
	const struct setting_belief *a = &b.levers[0].settings[0];
	assert_near(a->gain.prior_mean, 0.03);
	assert_near(a->gain.mean, 0.03 + 0.0069 * 0.09 / 0.0076);
	assert_near(a->gain.sd, sqrt(0.0069 * 0.0007 / 0.0076));
	assert_near(b.knob_share.prior_mean, 0.3);
	assert_near(b.knob_share.mean, 0.3 + 0.016 * 0.09 / 0.0076);
	assert_near(b.knob_share.sd, sqrt(0.16 - 0.016 * 0.016 / 0.0076));
	f.in.model.keep_predictions = true;
	b = form(&f);
	assert_near(b.knob_share.sd, 0);
	arena_release(&f.arena);
}

/* The same said by proposer 3, whose slope is the only one with a prediction in the run; of 7 nothing has
 * run.
 */
static void each_proposer_is_told_apart(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.prior[0][1].predicted_gain_ln = 0.1;
	f.prior[0][1].source = 3;
	f.prior[1][1].predicted_gain_ln = 0.2;
	f.prior[1][1].source = 7;
	f.lever[1].is_patch = true;
	add_run(&f, 1, 0, OBSERVED_OK, 0.12);
	struct beliefs b = form(&f);
	assert_near(b.levers[0].settings[0].gain.mean, 0.03 + 0.0069 * 0.09 / 0.0076);
	assert_near(b.knob_share.sd, 0);
	assert_near(b.patch_share.sd, 0);
	assert_int_equal(b.n_proposers, 2);
	assert_int_equal(b.proposers[0].source, 3);
	assert_near(b.proposers[0].knob_share.mean, 0.3 + 0.016 * 0.09 / 0.0076);
	assert_near(b.proposers[0].knob_share.sd, sqrt(0.16 - 0.016 * 0.016 / 0.0076));
	assert_near(b.proposers[0].patch_share.sd, 0);
	assert_int_equal(b.proposers[1].source, 7);
	assert_near(b.proposers[1].knob_share.sd, 0);
	assert_near(b.proposers[1].patch_share.mean, 0.3);
	assert_near(b.proposers[1].patch_share.sd, 0.4);
	arena_release(&f.arena);
}

/* With an axis there is structure, which is pinned to 0 at the reference: a setting's gain is then what is
 * predicted for a configuration that differs in it alone, without the 0.02^2 that a new configuration adds.
 */
static void structure_is_in_the_gain(void **state)
{
	(void)state;
	static const char *const numbers[] = {"1", "2", "4"};
	struct fixture f;
	struct time_model *model = NULL;
	fixture_init(&f);
	f.lever[0].n_settings = SETTINGS;
	f.lever[0].setting_names = numbers;
	f.lever[0].ordered = true;
	add_run(&f, 1, 1, OBSERVED_OK, 0.5);
	add_run(&f, 2, 1, OBSERVED_OK, 0.9);
	add_run(&f, 0, 1, OBSERVED_OK, 0.1);
	struct beliefs b = form(&f);
	assert_int_equal(time_model_fit(&f.in.model, &model, NULL), OK);
	assert_int_equal(b.levers[0].n_settings, 2);
	for (int i = 0; i < 2; i++) {
		const struct setting_belief *s = &b.levers[0].settings[i];
		int alone[LEVERS] = {s->setting, 0};
		double mean, sd;
		time_model_predict(model, alone, NAN, &mean, &sd);
		assert_near(s->gain.mean, mean);
		assert_near(s->gain.sd, sqrt(sd * sd - 0.0004));
		assert_true(s->gain.mean > 0.2 && s->n_ok == 1);
	}
	time_model_free(model);
	arena_release(&f.arena);
}

/* Each passes alone, together they fail: no other set is left, so the pair is banned. */
static void a_conflict_names_its_trials(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add_run(&f, 1, 1, OBSERVED_CRASH, NAN);
	struct beliefs b = form(&f);
	assert_true(b.n_suspicions >= 3); /* either alone, or both */
	add_run(&f, 1, 0, OBSERVED_OK, 0.1);
	add_run(&f, 0, 1, OBSERVED_OK, 0.1);
	add_run(&f, 1, 1, OBSERVED_HANG, NAN);
	b = form(&f);
	assert_int_equal(b.n_suspicions, 1);
	const struct suspicion_belief *pair = &b.suspicions[0];
	assert_int_equal(pair->suspicion.n, 2);
	assert_true(pair->suspicion.banned);
	assert_near(pair->suspicion.q, 0.995);
	assert_int_equal(pair->n_observations, 2);
	assert_int_equal(pair->observations[0], 0);
	assert_int_equal(pair->observations[1], 3);
	assert_int_equal(b.levers[0].settings[0].n_ok, 1);
	assert_int_equal(b.levers[0].settings[0].n_failed, 2);
	arena_release(&f.arena);
}

static void what_passed_before_is_not_blamed(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add_run(&f, 1, 0, OBSERVED_OK, 0.1);
	add_run(&f, 1, 0, OBSERVED_CRASH, NAN);
	struct beliefs b = form(&f);
	assert_int_equal(b.n_suspicions, 0);
	assert_int_equal(b.n_transients, 1);
	assert_int_equal(b.transients[0], 1);
	assert_int_equal(b.levers[0].settings[0].n_failed, 0);
	arena_release(&f.arena);
}

/* docs/search.md: max(mean + 2 sd - incumbent, 1e-6) P(fits)^(1 + k) P(runs). */
static void score_is_the_product_of_its_terms(void **state)
{
	(void)state;
	struct score_terms t = {.mean_ln = 0.1,
		.sd_ln = 0.05,
		.incumbent_ln = 0.12,
		.p_fits = 0.5,
		.p_ok = 0.8,
		.caution = 1};
	assert_near(score_formula(&t), 0.08 * 0.5 * 0.8);
	t.caution = 3;
	assert_near(score_formula(&t), 0.08 * 0.125 * 0.8);
	t.incumbent_ln = 1;
	assert_near(1e6 * score_formula(&t), 0.125 * 0.8);
	struct fixture f;
	fixture_init(&f);
	assert_int_equal(score_caution(&f.in.model), 1);
	add_run(&f, 1, 0, OBSERVED_OOM, NAN);
	add_run(&f, 0, 1, OBSERVED_OOM, NAN);
	assert_int_equal(score_caution(&f.in.model), 3);
	add_run(&f, 0, 1, OBSERVED_CRASH, NAN);
	assert_int_equal(score_caution(&f.in.model), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_any_run),
		cmocka_unit_test(big_is_what_the_search_takes_for_big),
		cmocka_unit_test(one_run_is_a_conjugate_update),
		cmocka_unit_test(a_run_says_what_declarations_are_worth),
		cmocka_unit_test(each_proposer_is_told_apart),
		cmocka_unit_test(structure_is_in_the_gain),
		cmocka_unit_test(a_conflict_names_its_trials),
		cmocka_unit_test(what_passed_before_is_not_blamed),
		cmocka_unit_test(score_is_the_product_of_its_terms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
