#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "oracle_task.h"

enum oracle_kind { READ_EXACT, READ_LEAST, READ_BETWEEN };

struct oracle_reading {
	int setting[ORACLE_LEVERS];
	enum oracle_kind kind;
	double bytes;
};

struct oracle_peak {
	int setting[ORACLE_LEVERS];
	double mean, sd, p_fits;
};

struct oracle_memory_case {
	double reference_peak_bytes; /* NAN = the reference is short of 4 GiB */
	const struct oracle_reading *reading;
	size_t n_readings;
	const struct oracle_peak *peak;
	size_t n_peaks;
};

#include "oracle_memory.h"

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

static struct observation observation_of(
	const int *setting, enum oracle_kind kind, double bytes, double capacity)
{
	struct observation o = {.setting = setting, .peak_bytes = NAN, .shortfall_bytes = NAN};
	switch (kind) {
	case READ_EXACT:
		o.peak_bytes = bytes;
		break;
	case READ_LEAST:
		o.status = OBSERVED_OOM;
		o.shortfall_bytes = bytes - capacity;
		break;
	case READ_BETWEEN:
		o.thrash = true;
		break;
	}
	return o;
}

static void check_case(const struct oracle_task *task, const struct oracle_memory_case *c)
{
	struct observation observation[32];
	struct model_input in = {.levers = task->lever,
		.n_levers = ORACLE_LEVERS,
		.observations = observation,
		.n_observations = c->n_readings,
		.reference_runs = isnan(c->reference_peak_bytes) ? 0 : 4,
		.capacity_bytes = 80 * GIB,
		.memory_cap_bytes = INFINITY,
		.reference_peak_bytes = c->reference_peak_bytes,
		.reference_shortfall_bytes = isnan(c->reference_peak_bytes) ? 4 * GIB : NAN};
	for (size_t i = 0; i < c->n_readings; i++)
		observation[i] = observation_of(
			c->reading[i].setting, c->reading[i].kind, c->reading[i].bytes, 80 * GIB);
	struct memory_model *m = fit(&in);
	for (size_t i = 0; i < c->n_peaks; i++) {
		double mean, sd, p;
		memory_model_predict(m, c->peak[i].setting, &mean, &sd, &p);
		/* Newton stops at 1e-8 of psi: the mode is then good to about 1e-6 of its sd. */
		assert_near(mean / GIB, c->peak[i].mean / GIB, 2e-5);
		assert_near(sd / GIB, c->peak[i].sd / GIB, 2e-5);
		assert_near(p, c->peak[i].p_fits, 2e-5);
	}
	memory_model_free(m);
}

static void laplace_mode_and_spread_match_scipy(void **state)
{
	(void)state;
	struct oracle_task task;
	oracle_task_init(&task);
	for (size_t i = 0; i < ARRAY_LEN(oracle_memory); i++)
		check_case(&task, &oracle_memory[i]);
}

/* Bytes with a declared sd, from 1 to 14 GiB against usual 3.2 GiB or more. */
static void declared_uncertainty_matches_scipy(void **state)
{
	(void)state;
	struct oracle_task task;
	proposed_task_init(&task);
	for (size_t i = 0; i < ARRAY_LEN(proposed_memory); i++)
		check_case(&task, &proposed_memory[i]);
}

/* ------------------------------------------------------------- the test vector of the search rules */

struct vector {
	struct lever lever[2];
	struct lever_prior prior[2][2];
	struct observation observation[3];
	struct model_input in;
};

static const int none[2] = {0, 0}, first[2] = {1, 0}, second[2] = {0, 1}, both[2] = {1, 1};

/* gamma ~ N(10, 10^2), N(-5, 6^2), b ~ N(112, 0.705^2), C = 141. */
static void vector_init(struct vector *v)
{
	*v = (struct vector){0};
	static const double mean[2] = {10, -5}, sd[2] = {10, 6};
	for (int l = 0; l < 2; l++) {
		v->prior[l][1] = (struct lever_prior){
			.experienced = true, .declared_bytes = mean[l] * GIB, .memory_sd_bytes = sd[l] * GIB};
		v->lever[l] = (struct lever){.name = "lever", .n_settings = 2, .prior = v->prior[l]};
	}
	v->in = (struct model_input){.levers = v->lever,
		.n_levers = 2,
		.observations = v->observation,
		.reference_runs = 3,
		.capacity_bytes = 141 * GIB,
		.memory_cap_bytes = INFINITY,
		.reference_peak_bytes = 112 * GIB,
		.reference_shortfall_bytes = NAN};
}

static void observe(struct vector *v, const int *setting, enum oracle_kind kind, double gib)
{
	v->observation[v->in.n_observations++] = observation_of(setting, kind, gib * GIB, 141 * GIB);
}

static void check_vector(
	const struct vector *v, const int *setting, double mean_gib, double sd_gib, double p_fits)
{
	struct memory_model *m = fit(&v->in);
	double mean, sd, p;
	memory_model_predict(m, setting, &mean, &sd, &p);
	assert_near(mean / GIB, mean_gib, 0.0051);
	assert_near(sd / GIB, sd_gib, 0.0051);
	if (!isnan(p_fits))
		assert_near(p, p_fits, 0.00051);
	memory_model_free(m);
}

static void published_vector(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	observe(&v, first, READ_LEAST, 159);
	check_vector(&v, first, 158.09, 3.19, NAN);
	observe(&v, second, READ_EXACT, 98);
	check_vector(&v, second, 99.64, 2.56, NAN);
	observe(&v, both, READ_BETWEEN, NAN);
	check_vector(&v, first, 155.42, 2.46, NAN);
	check_vector(&v, second, 97.80, 2.25, NAN);
	check_vector(&v, both, 141.04, 2.63, 0.496);
}

static void setting_marginal_adds_up(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	struct memory_model *m = fit(&v.in);
	double mean, sd;
	memory_model_setting(m, 0, 1, &mean, &sd);
	assert_near(mean / GIB, 10, 1e-12);
	assert_near(sd / GIB, 10, 1e-12);
	memory_model_setting(m, 0, 0, &mean, &sd);
	assert_true(mean == 0 && sd == 0);
	memory_model_free(m);
	observe(&v, first, READ_EXACT, 130);
	m = fit(&v.in);
	double with, without, ignored;
	memory_model_setting(m, 0, 1, &mean, &sd);
	memory_model_predict(m, first, &with, &ignored, &ignored);
	memory_model_predict(m, none, &without, &ignored, &ignored);
	assert_near(mean, with - without, 1e-6 * GIB);
	assert_true(sd < 4 * GIB);
	memory_model_free(m);
}

static double p_fits(const struct vector *v, const int *setting)
{
	struct memory_model *m = fit(&v->in);
	double mean, sd, p;
	memory_model_predict(m, setting, &mean, &sd, &p);
	memory_model_free(m);
	return p;
}

static void shortfall_of_an_oom(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	double before = p_fits(&v, first);
	observe(&v, first, READ_LEAST, 141);
	double at_least_capacity = p_fits(&v, first);
	v.observation[0].shortfall_bytes = NAN; /* unknown: the same bound */
	assert_true(p_fits(&v, first) == at_least_capacity);
	v.observation[0].shortfall_bytes =
		-1; /* more free than asked for: fragmentation says nothing of the sum */
	assert_true(p_fits(&v, first) == before);
	v.observation[0].shortfall_bytes = 20 * GIB;
	assert_true(p_fits(&v, first) < at_least_capacity && at_least_capacity < before);
}

static void the_cap_counts_where_it_is_lower(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	double at_capacity = p_fits(&v, first);
	v.in.memory_cap_bytes = 200 * GIB;
	assert_true(p_fits(&v, first) == at_capacity);
	v.in.memory_cap_bytes = 112 * GIB;
	/* At the reference: half (its own spread aside). */
	assert_near(p_fits(&v, none), 0.5, 1e-12);
	v.in.capacity_bytes = INFINITY; /* only the cap is known */
	assert_near(p_fits(&v, none), 0.5, 1e-12);
}

static void unknown_capacity_always_fits(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	v.in.capacity_bytes = INFINITY;
	observe(&v, both, READ_EXACT, 1e6);
	observe(&v, first, READ_LEAST, 10);
	struct memory_model *m = fit(&v.in);
	double mean, sd, p;
	memory_model_predict(m, both, &mean, &sd, &p);
	assert_true(p == 1 && isnan(mean) && isnan(sd));
	memory_model_setting(m, 0, 1, &mean, &sd);
	assert_true(isnan(mean) && isnan(sd));
	memory_model_free(m);
}

/* No reading of the reference: all that is known is that it fits. A saver is then likely to fit as well. */
static void unknown_reference_peak(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	v.in.reference_peak_bytes = NAN;
	assert_true(p_fits(&v, none) > 0.9);
	assert_true(p_fits(&v, second) > p_fits(&v, first));
	observe(&v, first, READ_LEAST, 160);
	assert_true(p_fits(&v, first) < 0.2);
}

/* b ~ N(1.1 C, (0.15 C)^2) and a lower bound C + shortfall. */
static void reference_that_does_not_fit(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	v.in.reference_runs = 0;
	v.in.reference_peak_bytes = NAN;
	v.in.reference_shortfall_bytes = 10 * GIB;
	assert_true(p_fits(&v, none) < 0.1);
	double saver = p_fits(&v, second);
	assert_true(saver > p_fits(&v, none));
	observe(&v, second, READ_EXACT, 120); /* the first run that fits is the baseline from then on */
	assert_true(p_fits(&v, second) > 0.95);
}

static void readings_that_are_no_numbers_are_an_error(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	observe(&v, first, READ_EXACT, INFINITY);
	struct memory_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(memory_model_fit(&v.in, &m, &err), ERR_FAILED);
	assert_null(m);
}

/* Twenty equal readings: the kernel has rank one. */
static void repeated_readings(void **state)
{
	(void)state;
	struct vector v;
	vector_init(&v);
	struct observation many[20];
	for (int i = 0; i < 20; i++)
		many[i] = observation_of(first, i % 2 ? READ_EXACT : READ_LEAST, 142 * GIB, 141 * GIB);
	v.in.observations = many;
	v.in.n_observations = 20;
	struct memory_model *m = fit(&v.in);
	double mean, sd, p;
	memory_model_predict(m, first, &mean, &sd, &p);
	assert_near(mean / GIB, 142, 2);
	assert_true(sd < 1 * GIB);
	memory_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laplace_mode_and_spread_match_scipy),
		cmocka_unit_test(declared_uncertainty_matches_scipy),
		cmocka_unit_test(published_vector),
		cmocka_unit_test(setting_marginal_adds_up),
		cmocka_unit_test(shortfall_of_an_oom),
		cmocka_unit_test(the_cap_counts_where_it_is_lower),
		cmocka_unit_test(unknown_capacity_always_fits),
		cmocka_unit_test(unknown_reference_peak),
		cmocka_unit_test(reference_that_does_not_fit),
		cmocka_unit_test(readings_that_are_no_numbers_are_an_error),
		cmocka_unit_test(repeated_readings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
