#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search_fixture.h"

static void the_table_is_found_by_name(void **state)
{
	(void)state;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	assert_true(n >= 2);
	assert_string_equal(list[0].name, "controller");
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(strategy_find(list[i].name), &list[i]);
		assert_true(list[i].summary[0] != '\0');
	}
	assert_null(strategy_find("no such strategy"));
	assert_null(strategy_find(""));
}

static bool odd_threads(void *context, const int *setting)
{
	(void)context;
	return setting[0] != 1;
}

static struct decision draw(const struct fixture *f)
{
	struct decision d;
	struct err err = ERR_INIT;
	assert_int_equal(strategy_find("random")->next(&f->in, &d, &err), OK);
	return d;
}

/* 3 * 2 settings, of which one value of lever 0 is illegal and one configuration is the reference: 3 remain.
 * Over 3000 decisions each is drawn about 1000 times (sd 26). */
static void random_is_uniform_over_what_may_run(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.model.n_levers = 2;
	f.in.is_legal = odd_threads;
	int count[3][2] = {0};
	for (f.in.decision = 0; f.in.decision < 3000; f.in.decision++) {
		struct decision d = draw(&f);
		assert_string_equal(d.operators, "random");
		count[d.setting[0]][d.setting[1]]++;
		decision_release(&d);
	}
	assert_int_equal(count[0][0] + count[1][0] + count[1][1], 0);
	assert_in_range(count[0][1], 850, 1150);
	assert_in_range(count[2][0], 850, 1150);
	assert_in_range(count[2][1], 850, 1150);
}

static void random_ends_when_all_has_run(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.model.n_levers = 2;
	f.in.is_legal = odd_threads;
	for (int k = 0; k < 3; k++) {
		struct decision d = draw(&f);
		assert_true(d.found);
		int padded[LEVERS] = {d.setting[0], d.setting[1]};
		observe(&f, padded, OBSERVED_OK, 0);
		decision_release(&d);
	}
	struct decision d = draw(&f);
	assert_false(d.found);
	decision_release(&d);
}

static void random_is_reproducible(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct decision a = draw(&f), b = draw(&f);
	assert_memory_equal(a.setting, b.setting, LEVERS * sizeof(int));
	assert_string_equal(a.reason, b.reason);
	decision_release(&a);
	decision_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_found_by_name),
		cmocka_unit_test(random_is_uniform_over_what_may_run),
		cmocka_unit_test(random_ends_when_all_has_run),
		cmocka_unit_test(random_is_reproducible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
