/* Noise calibration: its formulas by hand, its estimates and false alarms by simulation. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "stats/noise.h"

enum { RUNS = 4, UPDATES = 20 };

struct fixture {
	double step_s[RUNS][UPDATES];
	struct run_times runs[RUNS];
};

static void fill(struct fixture *f, double step_s)
{
	for (size_t r = 0; r < RUNS; r++) {
		for (size_t i = 0; i < UPDATES; i++)
			f->step_s[r][i] = step_s;
		f->runs[r] = (struct run_times){f->step_s[r], UPDATES};
	}
}

/* Run effects of sd sigma_pair/sqrt(2) and white noise within runs. */
static void fill_random(struct fixture *f, struct random *random, double sigma_pair, double white)
{
	fill(f, 0.4);
	for (size_t r = 0; r < RUNS; r++) {
		double run = sigma_pair * M_SQRT1_2 * random_normal(random);
		for (size_t i = 0; i < UPDATES; i++)
			f->step_s[r][i] *= exp(run + white * random_normal(random));
	}
}

static void assert_close(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g, expected %.12g", got, wanted);
}

static struct noise estimate(const struct fixture *f)
{
	struct noise noise;
	struct err e = ERR_INIT;
	assert_int_equal(noise_estimate(f->runs, RUNS, &noise, &e), OK);
	return noise;
}

static void mean_median_and_robust_deviation(void **state)
{
	(void)state;
	const double x[] = {3, 1, 2, 100};
	assert_close(mean_of(x, 4), 26.5, 1e-15);
	assert_close(median_of(x, 4), 2.5, 1e-15);
	assert_close(median_of(x, 3), 2, 1e-15);
	assert_close(median_of(x, 1), 3, 1e-15);
	assert_true(x[0] == 3 && x[3] == 100);
	/* deviations from 2.5: 0.5 0.5 1.5 97.5, their median 1 */
	assert_close(robust_sd_of(x, 4), 1.482602218505602, 1e-14);
	assert_true(isnan(mean_of(x, 0)) && isnan(median_of(x, 0)) && isnan(robust_sd_of(x, 0)));
}

/* ln steps 0, a, 0: two squared differences a^2, halved and averaged over 2. */
static void white_noise_by_hand(void **state)
{
	(void)state;
	const double step_s[] = {1, exp(0.04), 1};
	assert_close(white_noise_ln(step_s, 3), 0.04 / M_SQRT2, 1e-15);
	assert_close(white_noise_ln(step_s, 2), 0, 0);
	double drifting[100];
	for (size_t i = 0; i < 100; i++)
		drifting[i] = exp(0.001 * (double)i); /* 10% over the window, no noise */
	assert_close(white_noise_ln(drifting, 100), 0.001 / M_SQRT2, 1e-12);
}

/* ln means 0, 1, 2, 3 (in 1%): sample variance 5/3 * 1e-4. */
static void spread_between_runs_by_hand(void **state)
{
	(void)state;
	struct fixture f;
	fill(&f, 0.5);
	for (size_t r = 0; r < RUNS; r++)
		for (size_t i = 0; i < UPDATES; i++)
			f.step_s[r][i] *= exp(0.01 * (double)r);
	struct noise noise = estimate(&f);
	assert_int_equal(noise.runs, RUNS);
	assert_close(noise.mean_s, 0.5 * exp(0.015), 1e-12);
	assert_close(noise.between_runs, sqrt(2 * 5.0 / 3 * 1e-4), 1e-12);
	assert_close(noise.sigma_pair, noise.between_runs, 0);
	assert_close(noise.half_floor, 0, 1e-12);
	assert_close(noise.white_floor, 0, 1e-12);
	assert_close(noise.pooled_paper, sqrt(2 * 5e-4 / 7), 1e-12);
	assert_close(noise.gate, 2 * noise.sigma_pair, 1e-15);
	assert_close(noise.drift_ln_per_run, 0.01, 1e-12);
	assert_true(noise.drifts);
	assert_false(noise.mean_and_median_disagree);
	assert_int_equal(noise.n_stalls, 0);
}

/* Every run: first half 1 s, second half 1.1 s. h = -ln 1.1; one difference of ln 1.1 among 19. */
static void floors_raise_the_estimate(void **state)
{
	(void)state;
	struct fixture f;
	fill(&f, 1);
	for (size_t r = 0; r < RUNS; r++)
		for (size_t i = UPDATES / 2; i < UPDATES; i++)
			f.step_s[r][i] = 1.1;
	struct noise noise = estimate(&f);
	double h = log(1.1);
	assert_close(noise.between_runs, 0, 1e-12);
	assert_close(noise.half_floor, h / M_SQRT2, 1e-12);
	assert_close(noise.white_floor, sqrt(2 * h * h / (2 * 19) / 20), 1e-12);
	assert_close(noise.sigma_pair, noise.half_floor, 0);
	assert_close(noise.pooled_paper, sqrt(4 * h * h / 2 / 7), 1e-12);
	assert_false(noise.drifts);
}

/* The square of sigma_pair is unbiased where the run effects dominate, and with no run effect at all both
 * floors have the same expectation: 2 s^2 / n. */
static void estimates_in_simulation(void **state)
{
	(void)state;
	enum { CAMPAIGNS = 8000 };
	struct random random;
	random_init(&random, 1, "noise", 0);
	struct fixture f;
	double between = 0, half = 0, white = 0;
	for (int k = 0; k < CAMPAIGNS; k++) {
		fill_random(&f, &random, 0.01, 0.0005);
		struct noise noise = estimate(&f);
		between += noise.between_runs * noise.between_runs / CAMPAIGNS;
		assert_true(noise.sigma_pair >= noise.between_runs);
		fill_random(&f, &random, 0, 0.01);
		noise = estimate(&f);
		half += noise.half_floor * noise.half_floor / CAMPAIGNS;
		white += noise.white_floor * noise.white_floor / CAMPAIGNS;
		assert_true(noise.sigma_pair >= noise.half_floor && noise.sigma_pair >= noise.white_floor);
	}
	/* Four standard errors: the sd of chi-square(3)/3 is 0.82, of chi-square(4)/4 0.71, of the white
	 * estimate (efficiency 2/3, 4 * 19 differences) 0.2. */
	assert_close(between / 1e-4, 1, 0.037);
	assert_close(half / (2 * 1e-4 / UPDATES), 1, 0.032);
	assert_close(white / (2 * 1e-4 / UPDATES), 1, 0.009);
}

static void drift_is_rarely_seen_where_there_is_none(void **state)
{
	(void)state;
	enum { CAMPAIGNS = 4000 };
	struct random random;
	random_init(&random, 2, "noise", 0);
	struct fixture f;
	int false_alarms = 0, disagreements = 0, stalls = 0;
	for (int k = 0; k < CAMPAIGNS; k++) {
		fill_random(&f, &random, 0.004, 0.003);
		struct noise noise = estimate(&f);
		false_alarms += noise.drifts;
		disagreements += noise.mean_and_median_disagree;
		stalls += noise.n_stalls;
	}
	assert_true(false_alarms < 0.016 * CAMPAIGNS);
	assert_int_equal(disagreements, 0);
	assert_int_equal(stalls, 0);
}

static void drift_over_runs_is_said(void **state)
{
	(void)state;
	struct random random;
	random_init(&random, 3, "noise", 0);
	struct fixture f;
	fill_random(&f, &random, 0.0005, 0.002);
	for (size_t r = 0; r < RUNS; r++)
		for (size_t i = 0; i < UPDATES; i++)
			f.step_s[r][i] *= exp(0.02 * (double)r);
	struct noise noise = estimate(&f);
	assert_true(noise.drifts);
	assert_close(noise.drift_ln_per_run, 0.02, 0.002);
	/* two runs cannot tell a drift from noise */
	assert_int_equal(noise_estimate(f.runs, 2, &noise, NULL), OK);
	assert_false(noise.drifts);
}

static void periodic_stalls_are_found_with_their_updates(void **state)
{
	(void)state;
	struct random random;
	random_init(&random, 4, "noise", 0);
	struct fixture f;
	fill_random(&f, &random, 0.002, 0.002);
	for (size_t r = 0; r < 3; r++) /* the fourth run has none: a majority is enough */
		for (size_t i = 4; i < UPDATES; i += 5)
			f.step_s[r][i] *= 1.4;
	struct noise noise = estimate(&f);
	const int expected[] = {4, 9, 14, 19};
	assert_int_equal(noise.n_stalls, 4);
	assert_memory_equal(noise.stall_updates, expected, sizeof(expected));
	assert_int_equal(noise.stall_period, 5);
	assert_true(noise.mean_and_median_disagree);
}

static void irregular_stalls_have_no_period(void **state)
{
	(void)state;
	struct fixture f;
	fill(&f, 1);
	const size_t where[] = {2, 3, 11};
	for (size_t r = 0; r < RUNS; r++)
		for (size_t k = 0; k < ARRAY_LEN(where); k++)
			f.step_s[r][where[k]] = 1.3;
	struct noise noise = estimate(&f);
	assert_int_equal(noise.n_stalls, 3);
	assert_int_equal(noise.stall_updates[2], 11);
	assert_int_equal(noise.stall_period, 0);
}

static void one_hiccup_in_one_run_is_no_stall(void **state)
{
	(void)state;
	struct random random;
	random_init(&random, 5, "noise", 0);
	struct fixture f;
	fill_random(&f, &random, 0.002, 0.002);
	assert_false(estimate(&f).mean_and_median_disagree);
	f.step_s[1][7] *= 1.5; /* 2.5% of the window's mean */
	struct noise noise = estimate(&f);
	assert_int_equal(noise.n_stalls, 0);
	assert_true(noise.mean_and_median_disagree);
	bool disagree;
	assert_close(mean_median_gap_ln(f.step_s[1], UPDATES, &disagree), log(1.025), 0.003);
	assert_true(disagree);
}

/* More stalled updates than the list holds: a window of 200 with one in four. */
static void the_stall_list_is_capped_and_the_period_is_not(void **state)
{
	(void)state;
	double step_s[200];
	for (size_t i = 0; i < ARRAY_LEN(step_s); i++)
		step_s[i] = i % 4 == 1 ? 1.5 : 1;
	const struct run_times runs[] = {{step_s, 200}, {step_s, 199}, {step_s, 200}};
	struct noise noise;
	assert_int_equal(noise_estimate(runs, 3, &noise, NULL), OK);
	assert_int_equal(noise.n_stalls, NOISE_STALLS_MAX);
	assert_int_equal(noise.stall_updates[NOISE_STALLS_MAX - 1], 125);
	assert_int_equal(noise.stall_period, 4);
}

static void bad_input_is_refused_by_run_and_update(void **state)
{
	(void)state;
	static const double bad[] = {0, -1, NAN, INFINITY};
	struct fixture f;
	struct err e = ERR_INIT;
	struct noise noise = {.runs = 77};
	fill(&f, 1);
	assert_int_equal(noise_estimate(f.runs, 1, &noise, &e), ERR_INPUT);
	assert_int_equal(noise_estimate(f.runs, 0, &noise, &e), ERR_INPUT);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		f.step_s[2][6] = bad[i];
		assert_int_equal(noise_estimate(f.runs, RUNS, &noise, &e), ERR_INPUT);
		assert_non_null(strstr(e.message, "reference run 3, window update 7"));
	}
	f.runs[1].n = 0;
	assert_int_equal(noise_estimate(f.runs, RUNS, &noise, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "run 2"));
	assert_int_equal(noise.runs, 77);
}

/* One update a run is too little for the floors, and no reason to fail. */
static void short_windows(void **state)
{
	(void)state;
	const double a[] = {1.0, 1.02}, b[] = {1.01, 1.0};
	const struct run_times runs[] = {{a, 1}, {b, 1}};
	struct noise noise;
	assert_int_equal(noise_estimate(runs, 2, &noise, NULL), OK);
	assert_close(noise.sigma_pair, log(1.01), 1e-12); /* of two values, 2 * variance is their difference
							     squared */
	assert_true(noise.half_floor == 0 && noise.white_floor == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_median_and_robust_deviation),
		cmocka_unit_test(white_noise_by_hand),
		cmocka_unit_test(spread_between_runs_by_hand),
		cmocka_unit_test(floors_raise_the_estimate),
		cmocka_unit_test(estimates_in_simulation),
		cmocka_unit_test(drift_is_rarely_seen_where_there_is_none),
		cmocka_unit_test(drift_over_runs_is_said),
		cmocka_unit_test(periodic_stalls_are_found_with_their_updates),
		cmocka_unit_test(irregular_stalls_have_no_period),
		cmocka_unit_test(one_hiccup_in_one_run_is_no_stall),
		cmocka_unit_test(the_stall_list_is_capped_and_the_period_is_not),
		cmocka_unit_test(bad_input_is_refused_by_run_and_update),
		cmocka_unit_test(short_windows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
