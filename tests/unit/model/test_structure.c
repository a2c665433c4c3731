/* The structured kernel: of time, with its hyperparameters averaged, and of failures. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "model/axes.h"
#include "model/failure_field.h"

#include "oracle_levers.h"

struct oracle_run {
	int setting[LEVERS];
	double gain_ln;
};

struct oracle_gain {
	int setting[LEVERS];
	double mean, sd;
};

struct oracle_time_case {
	double sigma_pair;
	const struct oracle_run *run;
	size_t n_runs;
	const struct oracle_gain *gain;
	size_t n_gains;
};

struct oracle_end {
	int setting[LEVERS];
	bool passed;
};

struct oracle_chance {
	int setting[LEVERS];
	double p_ok;
};

struct oracle_field_case {
	const struct oracle_end *end;
	size_t n_ends;
	const struct oracle_chance *chance;
	size_t n_chances;
};

#include "oracle_field.h"
#include "oracle_structure.h"

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g, expected %.17g", got, want);
}

/* ------------------------------------------------------------- axes */

static void check_axis(const char *const *names, int n, bool ordered, enum axis_kind kind, const double *u)
{
	struct lever_prior prior[8] = {{0}};
	struct lever lever = {
		.name = "x", .n_settings = n, .ordered = ordered, .prior = prior, .setting_names = names};
	struct axes axes;
	axes_init(&axes, &lever, 1);
	assert_int_equal(axes.axis[0].kind, kind);
	for (int i = 0; i < n && u; i++)
		assert_near(axes.axis[0].u[i], u[i], 1e-12);
	axes_release(&axes);
}

/* CONTROLLER 10.1: doublings, doublings of v + 1, else the range is log2 of the number of settings. */
static void where_settings_lie(void **state)
{
	(void)state;
	static const char *const doublings[] = {"2", "4", "16"}, *const from_zero[] = {"0", "3", "7"},
				 *const narrow[] = {"0.5", "0.75", "1", "1.5"},
				 *const bytes[] = {"1MiB", "4MiB", "2MiB"},
				 *const words[] = {"none", "some", "all"}, *const two[] = {"1", "64"},
				 *const equal[] = {"1", "1.0", "1e0"}, *const negative[] = {"-1", "0", "9"};
	check_axis(doublings, 3, false, AXIS_NUMBER, (double[]){1, 2, 4});
	check_axis(from_zero, 3, false, AXIS_NUMBER, (double[]){0, 2, 3});
	check_axis(narrow, 4, true, AXIS_NUMBER, (double[]){0, 0.5, 1, 2});
	check_axis(bytes, 3, false, AXIS_NUMBER, (double[]){20, 22, 21});
	check_axis(negative, 3, false, AXIS_NUMBER, (double[]){0, 0.1 * log2(3), log2(3)});
	check_axis(words, 3, true, AXIS_RANK, NULL);
	check_axis(words, 3, false, AXIS_NONE, NULL);
	check_axis(two, 2, true, AXIS_NONE, NULL);
	check_axis(equal, 3, false, AXIS_NONE, NULL);
	check_axis(NULL, 3, true, AXIS_RANK, NULL);
}

/* ------------------------------------------------------------- time */

static struct time_model *fit(const struct model_input *in)
{
	struct time_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(time_model_fit(in, &m, &err), OK);
	return m;
}

static void add_run(struct levers *t, const int *setting, double gain_ln)
{
	struct observation *o = levers_add(t, setting, OBSERVED_OK, NAN);
	o->has_gain = o->incumbent_allowed = true;
	o->gain_ln = gain_ln;
}

static void check_time(const struct oracle_time_case *c)
{
	struct levers t;
	levers_init(&t);
	t.in.sigma_pair = c->sigma_pair;
	for (size_t i = 0; i < c->n_runs; i++)
		add_run(&t, c->run[i].setting, c->run[i].gain_ln);
	struct time_model *m = fit(&t.in);
	for (size_t i = 0; i < c->n_gains; i++) {
		double mean, sd;
		time_model_predict(m, c->gain[i].setting, NAN, &mean, &sd);
		assert_near(mean, c->gain[i].mean, 1e-8);
		assert_near(sd, c->gain[i].sd, 1e-7);
	}
	time_model_free(m);
}

static void averaged_fits_match_scipy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(time_cases); i++)
		check_time(&time_cases[i]);
}

/* A hill over two knobs that one-hot settings cannot see: between its slopes lies a configuration that has
 * not run, and it is expected to be good. */
static void a_hill_is_seen_between_its_slopes(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	static int setting[MAX_RUNS][LEVERS];
	int n = 0;
	for (int a = 0; a < 5; a++)
		for (int b = 0; b < 4; b++) {
			const int row[LEVERS] = {a, b, 0, 1, 1, 0};
			bool is_summit = a == 2 && b == 1, is_reference = a == 0 && b == 3;
			if (is_summit || is_reference)
				continue;
			for (int l = 0; l < LEVERS; l++)
				setting[n][l] = row[l];
			add_run(&t, setting[n++], 1 - 0.3 * abs(a - 2) - 0.3 * abs(b - 1));
		}
	struct time_model *m = fit(&t.in);
	static const int summit[LEVERS] = {2, 1, 0, 1, 1, 0}, corner[LEVERS] = {4, 3, 0, 1, 1, 0};
	double at_summit, at_corner, sd;
	time_model_predict(m, summit, NAN, &at_summit, &sd);
	time_model_predict(m, corner, NAN, &at_corner, &sd);
	assert_true(at_summit > 0.6 && at_summit - at_corner > 0.6);
	time_model_free(m);
}

static void the_reference_is_zero_whatever_the_structure(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	static const int base[LEVERS] = {0, 3, 0, 1, 1, 0};
	for (size_t i = 0; i < time_cases[1].n_runs; i++)
		add_run(&t, time_cases[1].run[i].setting, time_cases[1].run[i].gain_ln);
	struct time_model *m = fit(&t.in);
	double mean, sd;
	time_model_predict(m, base, NAN, &mean, &sd);
	assert_near(mean, 0, 1e-12);
	assert_near(sd, 0, 1e-7);
	time_model_free(m);
}

/* One configuration twenty times: the structured part has rank one. */
static void repeated_runs(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	static const int one[LEVERS] = {2, 1, 0, 1, 1, 0};
	t.in.sigma_pair = 5e-4;
	for (int i = 0; i < 20; i++)
		add_run(&t, one, 0.8);
	struct time_model *m = fit(&t.in);
	double mean, sd;
	time_model_predict(m, one, NAN, &mean, &sd);
	assert_near(mean, 0.8, 1e-3);
	assert_true(sd < 1e-3);
	time_model_free(m);
}

/* ------------------------------------------------------------- failures */

static void chances_match_scipy(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(field_cases); k++) {
		struct levers t;
		levers_init(&t);
		for (size_t i = 0; i < field_cases[k].n_ends; i++)
			levers_add(&t, field_cases[k].end[i].setting,
				field_cases[k].end[i].passed ? OBSERVED_OK : OBSERVED_CRASH, NAN);
		struct failure_field *f = failure_field_fit(&t.in);
		assert_non_null(f);
		for (size_t i = 0; i < field_cases[k].n_chances; i++)
			assert_near(failure_field_p_ok(f, field_cases[k].chance[i].setting),
				field_cases[k].chance[i].p_ok, 2e-5);
		failure_field_free(f);
	}
}

/* Without memory readings, or with few numeric knobs, blame alone counts. */
static void only_numeric_tasks_with_memory_readings(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	t.in.capacity_bytes = INFINITY;
	assert_null(failure_field_fit(&t.in));
	levers_init(&t);
	for (int l = 0; l < 2; l++)
		t.lever[l].setting_names = NULL;
	assert_null(failure_field_fit(&t.in));
	t.in.n_levers = 0;
	assert_null(failure_field_fit(&t.in));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_settings_lie),
		cmocka_unit_test(averaged_fits_match_scipy),
		cmocka_unit_test(a_hill_is_seen_between_its_slopes),
		cmocka_unit_test(the_reference_is_zero_whatever_the_structure),
		cmocka_unit_test(repeated_runs),
		cmocka_unit_test(chances_match_scipy),
		cmocka_unit_test(only_numeric_tasks_with_memory_readings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
