#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/models.h"

/* Levers 0 to 3 are knobs with two settings, 4 is a patch, 5 a knob with three settings. All references are
 * 0. */
enum { LEVERS = 6, MAX_RUNS = 32 };

struct fixture {
	struct lever lever[LEVERS];
	struct lever_prior prior[LEVERS][3];
	struct observation observation[MAX_RUNS];
	struct model_input in;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){0};
	for (int l = 0; l < LEVERS; l++)
		f->lever[l] = (struct lever){.name = "lever",
			.is_patch = l == 4,
			.n_settings = l == 5 ? 3 : 2,
			.prior = f->prior[l]};
	f->in = (struct model_input){.levers = f->lever,
		.n_levers = LEVERS,
		.observations = f->observation,
		.reference_runs = 4,
		.capacity_bytes = 80e9,
		.memory_cap_bytes = INFINITY};
}

static struct observation *add(struct fixture *f, const int *setting, enum observed_status status)
{
	struct observation *o = &f->observation[f->in.n_observations++];
	*o = (struct observation){
		.setting = setting, .status = status, .peak_bytes = NAN, .shortfall_bytes = NAN};
	return o;
}

static struct blame_model *fit(const struct fixture *f)
{
	struct blame_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(blame_model_fit(&f->in, &m, &err), OK);
	return m;
}

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12))
		fail_msg("%.17g, expected %.17g", got, want);
}

static double p_ok(const struct fixture *f, const int *setting)
{
	struct blame_model *m = fit(f);
	double p = blame_model_p_ok(m, setting);
	blame_model_free(m);
	return p;
}

/* The suspicion of a set with these levers at the settings of `setting`; q = 0 where there is none. */
static struct suspicion find(const struct blame_model *m, int n, const int *levers, const int *setting)
{
	size_t count;
	const struct suspicion *list = blame_model_suspicions(m, &count);
	for (size_t i = 0; i < count; i++) {
		bool same = list[i].n == n;
		for (int k = 0; same && k < n; k++)
			same = list[i].lever[k] == levers[k] && list[i].setting[k] == setting[levers[k]];
		if (same)
			return list[i];
	}
	return (struct suspicion){.q = 0};
}

static struct suspicion find1(const struct blame_model *m, int a, const int *setting)
{
	const int levers[1] = {a};
	return find(m, 1, levers, setting);
}

static struct suspicion find2(const struct blame_model *m, int a, int b, const int *setting)
{
	const int levers[2] = {a, b};
	return find(m, 2, levers, setting);
}

static const int reference[LEVERS] = {0}, s0[LEVERS] = {1}, s1[LEVERS] = {0, 1}, s01[LEVERS] = {1, 1};
static const int s2[LEVERS] = {0, 0, 1}, s012[LEVERS] = {1, 1, 1}, s02[LEVERS] = {1, 0, 1};
static const int s12[LEVERS] = {0, 1, 1};
static const int patch[LEVERS] = {0, 0, 0, 0, 1}, s0patch[LEVERS] = {1, 0, 0, 0, 1};

/* p1 = 1 / (1/0.03) = 0.03; a patch 0.15; a pair that never passed together 0.003. */
static void nothing_known(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	assert_near(p_ok(&f, reference), 1);
	assert_near(p_ok(&f, s0), 0.97);
	assert_near(p_ok(&f, patch), 0.85);
	assert_near(p_ok(&f, s01), 0.97 * 0.97 * 0.997);
	assert_near(p_ok(&f, s0patch), 0.97 * 0.85 * 0.997);
}

/* One knob passed: E = 1, p1 = 1 / (1/0.03 + 1). The setting itself is exonerated. */
static void a_pass_exonerates(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s0, OBSERVED_OK);
	double p1 = 1 / (1 / 0.03 + 1);
	assert_near(p_ok(&f, s0), 1);
	assert_near(p_ok(&f, s1), 1 - p1);
	assert_near(p_ok(&f, s01), (1 - p1) * 0.997);
	add(&f, s01, OBSERVED_OK);
	assert_near(p_ok(&f, s01), 1);
}

/*
 * One failure of lever 0 alone: Fc = 1, E = 0, p1 = 2 / (1/0.03 + 1). Hypotheses: {0} and its pairs with the
 * five defaults. Pairs with lever 4 at its default hold no patch.
 */
static void one_failure_by_hand(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s0, OBSERVED_CRASH);
	double p1 = 2 / (1 / 0.03 + 1), pair = 0.0015;
	double any = 1 - (1 - p1) * pow(1 - pair, 5);
	struct blame_model *m = fit(&f);
	size_t count;
	const struct suspicion *list = blame_model_suspicions(m, &count);
	assert_int_equal(count, 6);
	assert_int_equal(list[0].n, 1);
	assert_near(list[0].q, p1 / any < 0.9 ? p1 / any : 0.9);
	assert_near(find2(m, 0, 3, s0).q, pair / any);
	assert_false(list[0].banned);
	/* Pairs end at 0.0229: above 0.004, so they count. */
	assert_near(blame_model_p_ok(m, s0), (1 - list[0].q) * pow(1 - pair / any, 5));
	assert_false(blame_model_is_transient(m, 0));
	blame_model_free(m);
}

/* The same failure after lever 0 has passed: what is left is its pair with lever 1 and lever 1 itself. */
static void explaining_away(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s01, OBSERVED_INVALID);
	add(&f, s0, OBSERVED_OK);
	struct blame_model *m = fit(&f);
	/* E = 1, Fc = 1. Survivors: {1}, {0,1}, and {1} with the defaults of 2, 3, 4 and 5. */
	double p1 = 2 / (1 / 0.03 + 2);
	double any = 1 - (1 - p1) * (1 - 0.003) * pow(1 - 0.0015, 4);
	assert_near(find1(m, 0, s01).q, 0);
	assert_near(find2(m, 0, 1, s01).q, 0.003 / any);
	assert_near(find1(m, 1, s01).q, p1 / any);
	blame_model_free(m);
	/* Lever 1 passes as well: the pair alone is left, and banned. */
	add(&f, s1, OBSERVED_OK);
	m = fit(&f);
	struct suspicion pair = find2(m, 0, 1, s01);
	assert_near(pair.q, 0.995);
	assert_true(pair.banned);
	assert_near(blame_model_p_ok(m, s01), 0.005 * 0.997);
	assert_near(blame_model_p_ok(m, s0), 1);
	blame_model_free(m);
}

/* Each of two failures renormalises the common hypothesis; the weight of the shared single grows. */
static void two_failures_update_in_order(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s01, OBSERVED_CRASH);
	add(&f, s02, OBSERVED_HANG);
	add(&f, s12, OBSERVED_OK);
	struct blame_model *m = fit(&f);
	/* E = 2, Fc = 2. Failure 1: {0}, {0,1}, {0} with the defaults of 2..5, {1} with the default of 2. */
	double p1 = 3 / (1 / 0.03 + 4), d = 0.0015;
	double any = 1 - (1 - p1) * (1 - 0.003) * pow(1 - d, 5);
	double single = p1 / any, with_default = d / any;
	/* Failure 2: {0}, {0,2}, {0} with the defaults of 1 (new) and 3, 4, 5 (known), {2} with that of 1. */
	double any2 = 1 - (1 - fmin(single, 0.9)) * (1 - 0.003) * pow(1 - d, 2) * pow(1 - with_default, 3);
	assert_near(find1(m, 0, s01).q, fmin(fmin(single, 0.9) / any2, 0.9));
	assert_near(find2(m, 0, 3, s01).q, with_default / any2);
	assert_near(find2(m, 0, 2, s02).q, 0.003 / any2);
	assert_near(find2(m, 0, 1, s01).q, 0.003 / any);
	blame_model_free(m);
}

/* A patch's prior is five times a knob's, and its pairs count half: the patch is blamed first. */
static void the_patch_is_blamed_first(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s0patch, OBSERVED_CRASH);
	struct blame_model *m = fit(&f);
	size_t count;
	const struct suspicion *list = blame_model_suspicions(m, &count);
	assert_true(list[0].n == 1 && list[0].lever[0] == 4);
	/* An unverified patch was in it: Fc = 0, p1 = 0.03. {0} pairs with 1,2,3,5; {4} pairs with the same.
	 */
	double any = 1 - (1 - 0.15) * (1 - 0.03) * (1 - 0.0015) * pow(1 - 0.0015, 4) * pow(1 - 0.00075, 4);
	assert_near(list[0].q, 0.15 / any);
	assert_near(find1(m, 0, s0patch).q, 0.03 / any);
	assert_near(find2(m, 0, 4, s0patch).q, 0.0015 / any);
	assert_near(find2(m, 1, 4, s0patch).q, 0.00075 / any);
	blame_model_free(m);
}

static void a_hint_raises_the_named_pair(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const struct lever_pair hint[] = {
		{1, 1, 0, 1}, {2, 1, 3, 1}}; /* the second is not in the run */
	struct observation *o = add(&f, s01, OBSERVED_CRASH);
	o->hints = hint;
	o->n_hints = ARRAY_LEN(hint);
	struct blame_model *m = fit(&f);
	struct suspicion pair = find2(m, 0, 1, s01);
	assert_true(pair.hinted);
	assert_true(pair.q > 0.5);
	/* Two singles (Fc = 1), the hinted pair, and eight pairs with defaults. */
	double p1 = 2 / (1 / 0.03 + 1);
	assert_near(pair.q, 0.5 / (1 - (1 - 0.5) * (1 - p1) * (1 - p1) * pow(1 - 0.0015, 8)));
	size_t count;
	assert_true(blame_model_suspicions(m, &count)[0].n == 2);
	blame_model_free(m);
	/* A pair that has passed together is not suspected, whatever the text says. */
	add(&f, s012, OBSERVED_OK);
	m = fit(&f);
	assert_near(find2(m, 0, 1, s01).q, 0);
	blame_model_free(m);
}

static void a_hint_may_name_a_default(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const struct lever_pair hint = {0, 1, 3, 0};
	struct observation *o = add(&f, s0, OBSERVED_CRASH);
	o->hints = &hint;
	o->n_hints = 1;
	struct blame_model *m = fit(&f);
	assert_true(find2(m, 0, 3, s0).hinted && find2(m, 0, 3, s0).q > 0.5);
	blame_model_free(m);
}

/* All pairs of 0, 1, 2 have passed, also with every default: only the triple can explain the failure. */
static void a_triple_when_nothing_smaller_explains(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s01, OBSERVED_OK);
	add(&f, s02, OBSERVED_OK);
	add(&f, s12, OBSERVED_OK);
	add(&f, s012, OBSERVED_CRASH);
	struct blame_model *m = fit(&f);
	size_t count;
	const struct suspicion *list = blame_model_suspicions(m, &count);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].n, 3);
	assert_true(list[0].banned);
	assert_near(list[0].q, 0.995);
	assert_near(blame_model_p_ok(m, s012), 0.005);
	assert_near(blame_model_p_ok(m, s01), 1);
	blame_model_free(m);
}

static void what_passed_before_fails_transiently(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s01, OBSERVED_OK);
	add(&f, s01, OBSERVED_CRASH);
	add(&f, reference, OBSERVED_HANG);
	struct blame_model *m = fit(&f);
	size_t count;
	(void)blame_model_suspicions(m, &count);
	assert_int_equal(count, 0);
	assert_false(blame_model_is_transient(m, 0));
	assert_true(blame_model_is_transient(m, 1));
	assert_true(blame_model_is_transient(m, 2));
	assert_near(blame_model_p_ok(m, s01), 1);
	blame_model_free(m);
}

/* A setting that fails again and again is never banned by itself: at least one in ten remains. */
static void a_single_is_never_banned(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int i = 0; i < 10; i++)
		add(&f, s2, OBSERVED_CRASH);
	struct blame_model *m = fit(&f);
	assert_near(find1(m, 2, s2).q, 0.9);
	assert_false(find1(m, 2, s2).banned);
	assert_true(blame_model_p_ok(m, s2) > 0.05);
	blame_model_free(m);
}

/* Out of memory is the memory ledger's, unless no capacity is known: then nothing else would remember it. */
static void out_of_memory_is_blamed_only_without_a_capacity(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	add(&f, s0, OBSERVED_OOM);
	assert_near(p_ok(&f, s0), 0.97);
	f.in.capacity_bytes = INFINITY;
	assert_true(p_ok(&f, s0) < 0.3);
}

/* Runs that pass later exonerate, and unrelated ones may come in any order. */
static void passing_runs_may_come_in_any_order(void **state)
{
	(void)state;
	struct fixture a, b;
	fixture_init(&a);
	fixture_init(&b);
	add(&a, s01, OBSERVED_CRASH);
	add(&a, s0, OBSERVED_OK);
	add(&a, s2, OBSERVED_OK);
	add(&b, s2, OBSERVED_OK);
	add(&b, s0, OBSERVED_OK);
	add(&b, s01, OBSERVED_CRASH);
	assert_true(p_ok(&a, s012) == p_ok(&b, s012));
	assert_true(p_ok(&a, s01) == p_ok(&b, s01));
}

/* Three settings changed at once among forty levers: more hypotheses than the 120 that are kept. */
static void only_the_largest_are_kept(void **state)
{
	(void)state;
	enum { MANY = 50 };
	struct lever lever[MANY];
	struct lever_prior prior[MANY][2] = {0};
	int setting[MANY] = {1, 1, 1};
	for (int l = 0; l < MANY; l++)
		lever[l] = (struct lever){.name = "lever", .n_settings = 2, .prior = prior[l]};
	const struct observation o = {.setting = setting, .status = OBSERVED_CRASH, .peak_bytes = NAN};
	struct model_input in = {.levers = lever,
		.n_levers = MANY,
		.observations = &o,
		.n_observations = 1,
		.reference_runs = 4,
		.capacity_bytes = 80e9,
		.memory_cap_bytes = INFINITY};
	struct blame_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(blame_model_fit(&in, &m, &err), OK);
	size_t count;
	const struct suspicion *list = blame_model_suspicions(m, &count);
	assert_int_equal(count, 120); /* of 3 + 3 + 3 * 47 */
	for (int i = 0; i < 3; i++)
		assert_int_equal(list[i].n, 1);
	for (int i = 3; i < 6; i++)
		assert_true(list[i].n == 2 && list[i].setting[0] == 1 && list[i].setting[1] == 1);
	/* The exact marginal over the 120 kept. */
	double p1 = 2 / (1 / 0.03 + 1);
	double any = 1 - pow(1 - p1, 3) * pow(1 - 0.003, 3) * pow(1 - 0.0015, 114);
	assert_near(list[0].q, p1 / any);
	blame_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(a_pass_exonerates),
		cmocka_unit_test(one_failure_by_hand),
		cmocka_unit_test(explaining_away),
		cmocka_unit_test(two_failures_update_in_order),
		cmocka_unit_test(the_patch_is_blamed_first),
		cmocka_unit_test(a_hint_raises_the_named_pair),
		cmocka_unit_test(a_hint_may_name_a_default),
		cmocka_unit_test(a_triple_when_nothing_smaller_explains),
		cmocka_unit_test(what_passed_before_fails_transiently),
		cmocka_unit_test(a_single_is_never_banned),
		cmocka_unit_test(out_of_memory_is_blamed_only_without_a_capacity),
		cmocka_unit_test(passing_runs_may_come_in_any_order),
		cmocka_unit_test(only_the_largest_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
