#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "oracle_task.h"

struct oracle_run {
	int setting[ORACLE_LEVERS];
	double gain_ln, extra_sd_ln, peak_bytes;
};

struct oracle_prediction {
	int setting[ORACLE_LEVERS];
	double peak_bytes, mean, sd;
};

struct oracle_share {
	int source;
	bool of_patches;
	double mean, sd;
};

struct oracle_time_case {
	double sigma_pair;
	int reference_runs;
	const struct oracle_run *run;
	size_t n_runs;
	const struct oracle_prediction *prediction;
	size_t n_predictions;
	const struct oracle_share *share;
	size_t n_shares;
};

#include "oracle_time.h"

enum { MAX_RUNS = 32 };

static const struct lever_pair oracle_pairs[] = {{0, 2, 2, 1}, {1, 1, 4, 0}};

struct fixture {
	struct oracle_task task;
	struct observation observation[MAX_RUNS];
	struct model_input in;
};

static void input_init(struct fixture *f)
{
	f->in = (struct model_input){.levers = f->task.lever,
		.n_levers = ORACLE_LEVERS,
		.observations = f->observation,
		.sigma_pair = 0.01,
		.reference_runs = 4,
		.capacity_bytes = 80 * GIB,
		.memory_cap_bytes = INFINITY,
		.reference_peak_bytes = 40 * GIB,
		.reference_shortfall_bytes = NAN};
}

static void fixture_init(struct fixture *f)
{
	oracle_task_init(&f->task);
	input_init(f);
}

static void fixture_init_proposed(struct fixture *f)
{
	proposed_task_init(&f->task);
	input_init(f);
}

static void add_run(struct fixture *f, const int *setting, double gain_ln)
{
	f->observation[f->in.n_observations++] = (struct observation){.setting = setting,
		.status = OBSERVED_OK,
		.has_gain = true,
		.gain_ln = gain_ln,
		.incumbent_allowed = true,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN};
}

static struct time_model *fit(const struct fixture *f)
{
	struct time_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(time_model_fit(&f->in, &m, &err), OK);
	return m;
}

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g, expected %.17g", got, want);
}

static void check_shares(struct time_model *m, const struct oracle_time_case *c)
{
	for (size_t i = 0; i < c->n_shares; i++) {
		struct belief_change share;
		time_model_declared_share(m, c->share[i].source, c->share[i].of_patches, &share);
		assert_near(share.prior_mean, 0.3, 1e-15);
		assert_near(share.prior_sd, 0.4, 1e-15);
		assert_near(share.mean, c->share[i].mean, 1e-9);
		assert_near(share.sd, c->share[i].sd, 1e-9);
	}
}

static void check_case(struct fixture *f, const struct oracle_time_case *c)
{
	f->in.declared_pairs = oracle_pairs;
	f->in.n_declared_pairs = ARRAY_LEN(oracle_pairs);
	f->in.sigma_pair = c->sigma_pair;
	f->in.reference_runs = c->reference_runs;
	for (size_t i = 0; i < c->n_runs; i++) {
		add_run(f, c->run[i].setting, c->run[i].gain_ln);
		f->observation[i].extra_sd_ln = c->run[i].extra_sd_ln;
		f->observation[i].peak_bytes = c->run[i].peak_bytes;
	}
	struct time_model *m = fit(f);
	for (size_t i = 0; i < c->n_predictions; i++) {
		double mean, sd;
		time_model_predict(m, c->prediction[i].setting, c->prediction[i].peak_bytes, &mean, &sd);
		assert_near(mean, c->prediction[i].mean, 1e-9);
		assert_near(sd, c->prediction[i].sd, 1e-9);
	}
	check_shares(m, c);
	time_model_free(m);
}

/* Pairs, patches, experienced settings, thrash, repeated configurations, extra noise, a provisional
 * reference. */
static void posterior_matches_numpy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(oracle_time); i++) {
		struct fixture f;
		fixture_init(&f);
		check_case(&f, &oracle_time[i]);
	}
}

/* What proposer 1 says comes true, of what 4 says the opposite; declared uncertainties, an Amdahl cap that
 * holds against one, experience of a setting that has a prediction. */
static void every_proposer_has_slopes_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(proposed_time); i++) {
		struct fixture f;
		fixture_init_proposed(&f);
		check_case(&f, &proposed_time[i]);
	}
}

static const int reference[ORACLE_LEVERS] = {1, 0, 0, 0, 2, 0, 0};

/* One source by another number is that source: columns are for who predicts, not for numbers. */
static void a_lone_proposer_is_learnt_like_the_task(void **state)
{
	(void)state;
	const struct oracle_time_case *c = &oracle_time[1];
	struct fixture task, proposer;
	fixture_init(&task);
	fixture_init(&proposer);
	for (int l = 0; l < ORACLE_LEVERS; l++)
		for (int s = 0; s < ORACLE_MAX_SETTINGS; s++)
			proposer.task.prior[l][s].source = 2147483647;
	for (size_t i = 0; i < c->n_runs; i++) {
		add_run(&task, c->run[i].setting, c->run[i].gain_ln);
		add_run(&proposer, c->run[i].setting, c->run[i].gain_ln);
	}
	struct time_model *a = fit(&task), *b = fit(&proposer);
	struct belief_change of_task, of_proposer, of_nobody;
	time_model_declared_share(a, 0, false, &of_task);
	time_model_declared_share(b, 2147483647, false, &of_proposer);
	assert_near(of_proposer.mean, of_task.mean, 1e-12);
	assert_near(of_proposer.sd, of_task.sd, 1e-12);
	time_model_declared_share(b, 0, false, &of_task);
	assert_true(of_task.mean == of_task.prior_mean && of_task.sd == of_task.prior_sd);
	time_model_declared_share(b, 1, false, &of_nobody);
	assert_true(of_nobody.prior_sd == 0 && of_nobody.sd == 0);
	time_model_free(a);
	time_model_free(b);
}

/* sd = max(usual, 0.5 declared), below the cap's 0.6: a knob's setting predicted 0.1 has usually 0.07. */
static void a_declared_uncertainty_only_widens(void **state)
{
	(void)state;
	static const struct {
		double declared_sd, cap, experienced_sd, sd;
	} rows[] = {
		{0, INFINITY, 0, 0.07},
		{0.1, INFINITY, 0, 0.07},
		{0.14, INFINITY, 0, 0.07},
		{0.3, INFINITY, 0, 0.15},
		{0.3, 0.2, 0, 0.12},
		{0.3, INFINITY, 0.02, 0.02},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		fixture_init(&f);
		f.task.prior[0][0] = (struct lever_prior){.predicted_gain_ln = 0.1,
			.predicted_sd_ln = rows[i].declared_sd,
			.source = 1,
			.amdahl_cap_ln = rows[i].cap,
			.experienced = rows[i].experienced_sd > 0,
			.mean_ln = 0.03,
			.sd_ln = rows[i].experienced_sd};
		struct time_model *m = fit(&f);
		double mean, sd;
		time_model_setting(m, 0, 0, &mean, &sd);
		assert_near(mean, 0.03, 1e-15);
		assert_near(sd, rows[i].sd, 1e-15);
		time_model_free(m);
	}
}

/* Without runs: mean 0.3 pred + cap, sd from the settings, the slopes, the count and the nugget. Lever 4
 * setting 1: pred -0.2927, no cap, sd max(0.05, 0.5 * 0.2927); knob slope 0.4 pred; count 0.02; nugget 0.02.
 */
static void prior_of_one_setting_by_hand(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct time_model *m = fit(&f);
	const int setting[ORACLE_LEVERS] = {1, 0, 0, 0, 1, 0, 0};
	double mean, sd, pred = f.task.prior[4][1].predicted_gain_ln;
	time_model_predict(m, setting, NAN, &mean, &sd);
	assert_near(mean, 0.3 * pred, 1e-15);
	assert_near(sd, sqrt(pred * pred * (0.25 + 0.16) + 0.0004 + 0.0004), 1e-15);
	time_model_setting(m, 4, 1, &mean, &sd);
	assert_near(mean, 0.3 * pred, 1e-15);
	assert_near(sd, 0.5 * fabs(pred), 1e-15);
	/* A cap of 0.003 (lever 2, a patch): sd 0.003, not 0.03. */
	time_model_setting(m, 2, 1, &mean, &sd);
	assert_near(sd, 0.003, 1e-15);
	time_model_free(m);
}

static void the_reference_is_zero_by_definition(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	const int setting[ORACLE_LEVERS] = {2, 0, 0, 0, 2, 0, 0};
	add_run(&f, setting, 0.3);
	struct time_model *m = fit(&f);
	double mean, sd;
	time_model_predict(m, reference, NAN, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	time_model_setting(m, 0, 1, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	time_model_free(m);
}

/* Predictions that are all wrong in sign: after a few runs the slope turns the others round. */
static void slope_reverses_bad_predictions(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int l = 0; l < ORACLE_LEVERS; l++)
		for (int s = 0; s < f.task.lever[l].n_settings; s++)
			f.task.prior[l][s] =
				(struct lever_prior){.predicted_gain_ln = 0.2, .amdahl_cap_ln = INFINITY};
	static const int run[3][ORACLE_LEVERS] = {
		{0, 0, 0, 0, 2, 0, 0}, {1, 1, 0, 0, 2, 0, 0}, {1, 0, 0, 0, 0, 0, 0}};
	double before, after, sd;
	const int untried[ORACLE_LEVERS] = {1, 0, 0, 0, 2, 0, 1};
	struct time_model *m = fit(&f);
	time_model_predict(m, untried, NAN, &before, &sd);
	time_model_free(m);
	for (int i = 0; i < 3; i++)
		add_run(&f, run[i], -0.2);
	m = fit(&f);
	time_model_predict(m, untried, NAN, &after, &sd);
	time_model_free(m);
	assert_true(before > 0.05);
	assert_true(after < -0.02);
}

static void repeated_rows_and_no_noise_still_factorise(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.sigma_pair = 0;
	const int setting[ORACLE_LEVERS] = {2, 1, 0, 0, 2, 0, 0};
	for (int i = 0; i < 8; i++)
		add_run(&f, setting, 0.1);
	add_run(&f, reference, 0);
	add_run(&f, reference, 0);
	struct time_model *m = fit(&f);
	double mean, sd;
	time_model_predict(m, setting, NAN, &mean, &sd);
	assert_near(mean, 0.1, 1e-6);
	assert_true(sd < 1e-4);
	time_model_free(m);
}

static void noise_beyond_every_effect_leaves_the_prior(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.sigma_pair = 100;
	const int setting[ORACLE_LEVERS] = {3, 0, 0, 0, 2, 0, 0};
	add_run(&f, setting, 5);
	struct time_model *m = fit(&f);
	double mean, sd;
	time_model_predict(m, setting, NAN, &mean, &sd);
	assert_near(mean, 0.3 * f.task.prior[0][3].predicted_gain_ln, 1e-4);
	time_model_free(m);
}

/* An all-reference run with a peak near capacity is still y = 0: thrash counts from the reference's own. */
static void a_thrashing_reference_is_the_origin(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.reference_peak_bytes = 78 * GIB;
	struct time_model *m = fit(&f);
	double mean, sd;
	time_model_predict(m, reference, 78 * GIB, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	time_model_predict(m, reference, 60 * GIB, &mean, &sd);
	assert_near(mean, 0.05 * (78.0 / 80 - 0.9) / 0.1, 1e-12);
	time_model_free(m);
}

/* A prediction may lean on the one before it (neighbours are cheap); the order must not show. */
static void predictions_do_not_depend_on_their_order(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	const struct oracle_time_case *c = &oracle_time[2];
	for (size_t i = 0; i < c->n_runs; i++)
		add_run(&f, c->run[i].setting, c->run[i].gain_ln);
	struct time_model *forth = fit(&f), *back = fit(&f);
	double mean[MAX_RUNS], sd[MAX_RUNS];
	for (size_t i = 0; i < c->n_predictions; i++)
		time_model_predict(forth, c->prediction[i].setting, 76 * GIB, &mean[i], &sd[i]);
	for (size_t i = c->n_predictions; i-- > 0;) {
		double mean_back, sd_back;
		time_model_predict(back, c->prediction[i].setting, 76 * GIB, &mean_back, &sd_back);
		assert_near(mean_back, mean[i], 1e-13);
		assert_near(sd_back, sd[i], 1e-11);
	}
	time_model_free(forth);
	time_model_free(back);
}

/* Levers without a choice, and no lever at all. */
static void nothing_to_choose_has_no_columns(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.levers = &f.task.lever[5];
	f.in.n_levers = 1;
	struct time_model *m = fit(&f);
	double mean, sd;
	const int only[1] = {0};
	time_model_predict(m, only, NAN, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	time_model_free(m);
	f.in.n_levers = 0;
	m = fit(&f);
	time_model_predict(m, only, NAN, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	time_model_free(m);
}

/* Step times of a task whose reference does not fit, none of them from a valid run: nothing to compare with.
 */
static void no_time_scale_before_a_valid_run(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.reference_runs = 0;
	const int setting[ORACLE_LEVERS] = {3, 0, 0, 0, 2, 0, 0};
	add_run(&f, setting, -7);
	f.observation[0].incumbent_allowed = false;
	struct time_model *m = fit(&f);
	double mean, sd;
	time_model_predict(m, setting, NAN, &mean, &sd);
	assert_near(mean, 0.3 * f.task.prior[0][3].predicted_gain_ln, 1e-12);
	time_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posterior_matches_numpy),
		cmocka_unit_test(every_proposer_has_slopes_of_its_own),
		cmocka_unit_test(a_lone_proposer_is_learnt_like_the_task),
		cmocka_unit_test(a_declared_uncertainty_only_widens),
		cmocka_unit_test(prior_of_one_setting_by_hand),
		cmocka_unit_test(the_reference_is_zero_by_definition),
		cmocka_unit_test(slope_reverses_bad_predictions),
		cmocka_unit_test(repeated_rows_and_no_noise_still_factorise),
		cmocka_unit_test(noise_beyond_every_effect_leaves_the_prior),
		cmocka_unit_test(a_thrashing_reference_is_the_origin),
		cmocka_unit_test(predictions_do_not_depend_on_their_order),
		cmocka_unit_test(nothing_to_choose_has_no_columns),
		cmocka_unit_test(no_time_scale_before_a_valid_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
