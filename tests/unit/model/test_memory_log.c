/* The ledger on ln memory over numeric knobs, alone and joined with declared bytes. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/laplace.h"
#include "model/memory_kernel.h"
#include "model/memory_shape.h"
#include "model/normal_tail.h"

#include "oracle_levers.h"

struct oracle_reading {
	int setting[LEVERS];
	bool is_bound;
	double gib;
};

struct oracle_peak {
	int setting[LEVERS];
	double gib, sd_gib, p_fits;
};

struct oracle_case {
	bool declares, is_uncertain, reference_fits;
	const struct oracle_reading *reading;
	size_t n_readings;
	const struct oracle_peak *peak;
	size_t n_peaks;
};

#include "oracle_memory_log.h"

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g, expected %.17g", got, want);
}

static struct memory_model *fit(const struct model_input *in)
{
	struct memory_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(memory_model_fit(in, &m, &err), OK);
	return m;
}

/* ------------------------------------------------------------- the published vector */

enum { VECTOR_ROWS = 3, VECTOR_POINTS = 5 };
static const double vector_points[VECTOR_POINTS][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {2, 1}};

static double vector_covariance(const struct memory_frame *f, int a, int b)
{
	static const struct memory_scales scales = {.b = 0.05, .l = 0.4, .p = 0.06, .r = 0.15};
	struct alike alike = memory_alike(f, vector_points[a], vector_points[b]);
	return memory_covariance(&scales, &alike);
}

/* CONTROLLER 10.1: exact 20 and 35 on rows 1 and 2, out of memory at 50 on row 3; l = .4, r = .15, b = .05.
 */
static void published_vector(void **state)
{
	(void)state;
	static const double mean[VECTOR_POINTS] = {3.0168, 3.5535, 4.0852, 3.0132, 4.0810},
			    sd[VECTOR_POINTS] = {0.1215, 0.1076, 0.2014, 0.4282, 0.4758},
			    p_fits[VECTOR_POINTS] = {1.000, 0.9740, 0.2452, 0.9762, 0.3674};
	enum memory_role role[2] = {MEMORY_NUMBER, MEMORY_NUMBER};
	struct lever lever[2] = {{.name = "a"}, {.name = "b"}};
	struct memory_frame frame = {.levers = lever, .n_levers = 2, .role = role};
	struct laplace p;
	laplace_init(&p, VECTOR_ROWS, 0.15);
	laplace_add(&p, READ_EXACT, log(20), 0);
	laplace_add(&p, READ_EXACT, log(35), 0);
	laplace_add(&p, READ_AT_LEAST, log(50), 0);
	for (int i = 0; i < VECTOR_ROWS; i++) {
		p.prior_mean[i] = log(20);
		for (int j = 0; j < VECTOR_ROWS; j++)
			p.kernel[i * VECTOR_ROWS + j] = vector_covariance(&frame, i, j) + (i == j ? 1e-8 : 0);
	}
	assert_true(laplace_find_mode(&p));
	assert_near(p.log_evidence, 0.5310, 0.00005);
	for (int a = 0; a < VECTOR_POINTS; a++) {
		double k[VECTOR_ROWS], m = log(20);
		for (int i = 0; i < VECTOR_ROWS; i++) {
			k[i] = vector_covariance(&frame, i, a);
			m += k[i] * p.slope[i];
		}
		double variance = vector_covariance(&frame, a, a) - laplace_whiten(&p, k);
		assert_near(m, mean[a], 0.00005);
		assert_near(sqrt(variance), sd[a], 0.00005);
		assert_near(normal_cdf((log(50) - m) / sqrt(variance + 0.15 * 0.15)), p_fits[a], 0.00005);
	}
	laplace_release(&p);
}

/* ------------------------------------------------------------- against SciPy */

static void check_case(const struct oracle_case *c)
{
	struct levers t;
	levers_init(&t);
	for (size_t i = 0; c->declares && i < ARRAY_LEN(declared); i++)
		t.prior[declared[i].lever][declared[i].setting].declared_bytes = declared[i].gib * GIB;
	for (size_t i = 0; c->is_uncertain && i < ARRAY_LEN(uncertain); i++)
		t.prior[uncertain[i].lever][uncertain[i].setting].memory_sd_bytes = uncertain[i].gib * GIB;
	if (!c->reference_fits) {
		t.in.reference_runs = 0;
		t.in.reference_peak_bytes = NAN;
		t.in.reference_shortfall_bytes = 3 * GIB;
	}
	for (size_t i = 0; i < c->n_readings; i++) {
		const struct oracle_reading *r = &c->reading[i];
		if (r->is_bound)
			levers_add(&t, r->setting, OBSERVED_OOM, NAN)->shortfall_bytes = (r->gib - 80) * GIB;
		else
			levers_add(&t, r->setting, OBSERVED_OK, r->gib * GIB);
	}
	struct memory_model *m = fit(&t.in);
	for (size_t i = 0; i < c->n_peaks; i++) {
		double peak, sd, p;
		memory_model_predict(m, c->peak[i].setting, &peak, &sd, &p);
		/* Newton stops at 1e-8 of psi, the other side's curvature is a finite difference. */
		assert_near(peak / GIB / c->peak[i].gib, 1, 2e-5);
		assert_near(sd / GIB / c->peak[i].sd_gib, 1, 2e-4);
		assert_near(p, c->peak[i].p_fits, 2e-5);
	}
	memory_model_free(m);
}

static void scales_mode_and_spread_match_scipy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(memory_cases); i++)
		check_case(&memory_cases[i]);
}

/* ------------------------------------------------------------- behaviour */

static double p_fits(const struct levers *t, const int *setting)
{
	struct memory_model *m = fit(&t->in);
	double peak, sd, p;
	memory_model_predict(m, setting, &peak, &sd, &p);
	memory_model_free(m);
	return p;
}

static const int reference[LEVERS] = {0, 3, 0, 1, 1, 0}, doubled[LEVERS] = {1, 3, 0, 1, 1, 0},
		 fourfold[LEVERS] = {2, 3, 0, 1, 1, 0}, eightfold[LEVERS] = {3, 3, 0, 1, 1, 0};

/* One failure implies the family of configurations beyond it. */
static void a_failure_speaks_for_what_lies_beyond_it(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	double before = p_fits(&t, eightfold);
	levers_add(&t, doubled, OBSERVED_OK, 55 * GIB);
	levers_add(&t, fourfold, OBSERVED_OOM, NAN);
	assert_true(p_fits(&t, eightfold) < 0.25 && p_fits(&t, eightfold) < before);
	assert_true(p_fits(&t, doubled) > 0.9 && p_fits(&t, reference) > 0.99);
}

static void the_cap_counts_where_it_is_lower(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	double at_capacity = p_fits(&t, reference);
	t.in.memory_cap_bytes = 40 * GIB;
	assert_near(p_fits(&t, reference), 0.5, 0.01);
	t.in.memory_cap_bytes = 200 * GIB;
	assert_true(p_fits(&t, reference) == at_capacity);
	t.in.capacity_bytes = INFINITY;
	assert_true(p_fits(&t, reference) > at_capacity);
}

static void a_shortfall_and_fragmentation(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	double before = p_fits(&t, doubled);
	struct observation *o = levers_add(&t, doubled, OBSERVED_OOM, NAN);
	double bound = p_fits(&t, doubled);
	o->shortfall_bytes = 40 * GIB;
	double far = p_fits(&t, doubled);
	assert_true(far < bound && bound < before);
	o->shortfall_bytes = -1;
	assert_true(p_fits(&t, doubled) == before);
}

/* Hundreds of readings, many the same: the latest count, and nothing breaks. */
static void many_equal_readings(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	static struct observation many[300];
	for (int i = 0; i < 300; i++)
		many[i] = (struct observation){.setting = i % 3 ? doubled : fourfold,
			.status = i % 3 ? OBSERVED_OK : OBSERVED_OOM,
			.peak_bytes = i % 3 ? 60 * GIB : NAN,
			.shortfall_bytes = NAN};
	t.in.observations = many;
	t.in.n_observations = 300;
	struct memory_model *m = fit(&t.in);
	double peak, sd, p;
	memory_model_predict(m, doubled, &peak, &sd, &p);
	assert_near(peak / GIB, 60, 3);
	assert_true(p > 0.95);
	memory_model_predict(m, fourfold, &peak, &sd, &p);
	assert_true(peak > 80 * GIB && p < 0.2);
	memory_model_free(m);
}

static void readings_that_are_no_numbers_are_an_error(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	levers_add(&t, doubled, OBSERVED_OK, INFINITY);
	struct memory_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(memory_model_fit(&t.in, &m, &err), ERR_FAILED);
	assert_null(m);
}

static void a_setting_is_its_change_from_the_reference(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	levers_add(&t, doubled, OBSERVED_OK, 55 * GIB);
	struct memory_model *m = fit(&t.in);
	double mean, sd, with, without, ignored;
	memory_model_setting(m, 0, 1, &mean, &sd);
	memory_model_predict(m, doubled, &with, &ignored, &ignored);
	memory_model_predict(m, reference, &without, &ignored, &ignored);
	assert_near(mean, with - without, 1);
	memory_model_setting(m, 0, 0, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	memory_model_free(m);
}

/* ------------------------------------------------------------- what siblings teach */

enum { SIBLING_RUNS = 16 };

/* Siblings in which memory doubles with the micro-batch, at levels of their own: the target's first failure
 * is foreseen, although nothing but its reference has run. */
static void siblings_give_the_shape_and_not_the_level(void **state)
{
	(void)state;
	struct levers t;
	levers_init(&t);
	static double value[SIBLING_RUNS][LEVERS];
	struct sibling_run run[SIBLING_RUNS];
	for (int i = 0; i < SIBLING_RUNS; i++) {
		const double row[LEVERS] = {1 << i % 4, 8 >> (i / 4) % 2, 0, 0.75, 1, 0};
		memcpy(value[i], row, sizeof(row));
		double level = i < SIBLING_RUNS / 2 ? 3 : 15;
		run[i] = (struct sibling_run){.sibling = i < SIBLING_RUNS / 2 ? 0 : 1,
			.value = value[i],
			.gain_ln = NAN,
			.peak_bytes = level * (1 << i % 4) * GIB,
			.capacity_bytes = 80 * GIB};
		run[i].out_of_memory = run[i].peak_bytes > 80 * GIB;
	}
	double alone = p_fits(&t, fourfold);
	t.in.sibling_runs = run;
	t.in.n_sibling_runs = SIBLING_RUNS;
	struct memory_model *m = fit(&t.in);
	double peak, sd, p;
	memory_model_predict(m, doubled, &peak, &sd, &p);
	assert_near(peak / GIB, 80, 8);
	memory_model_predict(m, fourfold, &peak, &sd, &p);
	assert_near(peak / GIB, 160, 30);
	assert_true(p < 0.05 && p < alone);
	memory_model_predict(m, reference, &peak, &sd, &p);
	assert_near(peak / GIB, 40, 2);
	memory_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vector),
		cmocka_unit_test(scales_mode_and_spread_match_scipy),
		cmocka_unit_test(a_failure_speaks_for_what_lies_beyond_it),
		cmocka_unit_test(the_cap_counts_where_it_is_lower),
		cmocka_unit_test(a_shortfall_and_fragmentation),
		cmocka_unit_test(many_equal_readings),
		cmocka_unit_test(readings_that_are_no_numbers_are_an_error),
		cmocka_unit_test(a_setting_is_its_change_from_the_reference),
		cmocka_unit_test(siblings_give_the_shape_and_not_the_level),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
