#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search_fixture.h"

static size_t finalists(const struct fixture *f, size_t room, int *order)
{
	struct err err = ERR_INIT;
	size_t n = 99;
	assert_int_equal(search_finalists(&f->in, room, order, &n, &err), OK);
	return n;
}

static const int a[LEVERS] = {1, 0, 1}, b[LEVERS] = {0, 1, 1}, c[LEVERS] = {0, 0, 1, 1},
		 d[LEVERS] = {0, 0, 1, 0, 1};

static void best_posterior_mean_first(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	int order[5];
	assert_int_equal(finalists(&f, 3, order), 0);
	observe(&f, a, OBSERVED_OK, 0.05);
	observe(&f, b, OBSERVED_OK, 0.2);
	observe(&f, c, OBSERVED_OK, -0.1); /* slower than the reference */
	observe(&f, d, OBSERVED_OK, 0.1);
	assert_int_equal(finalists(&f, 5, order), 3);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 3);
	assert_int_equal(order[2], 0);
	assert_int_equal(finalists(&f, 2, order), 2);
	assert_int_equal(finalists(&f, 0, order), 0);
}

static void only_distinct_valid_configurations(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	int order[5];
	observe(&f, a, OBSERVED_OK, 0.05);
	observe(&f, a, OBSERVED_OK, 0.06);
	struct observation *o = observe(&f, b, OBSERVED_OK, 0.2); /* beyond memory_cap */
	o->incumbent_allowed = false;
	o->extra_sd_ln = 0.03;
	observe(&f, c, OBSERVED_CRASH, 0);
	assert_int_equal(finalists(&f, 5, order), 1);
	assert_int_equal(order[0], 0);
}

static void without_a_reference_whatever_runs(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	int order[5];
	f.in.model.reference_runs = 0;
	observe(&f, a, OBSERVED_OOM, 0);
	observe(&f, b, OBSERVED_OK, 0);
	observe(&f, c, OBSERVED_OK, -0.1);
	assert_int_equal(finalists(&f, 5, order), 2);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_posterior_mean_first),
		cmocka_unit_test(only_distinct_valid_configurations),
		cmocka_unit_test(without_a_reference_whatever_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
