/* The rules for Python on small changes: what each kind of cheat is called, and that honest changes pass. */
#include "base/base.h"

#include "change_rows.h"

#include "python_jobs.h"
#include "python_changes.h"
#include "python_further.h"
#include "python_plain.h"

static int run_rows(const struct change_row *rows, size_t n)
{
	int wrong = 0;
	for (size_t i = 0; i < n; i++)
		wrong += !check_change(&rows[i], "train.py", rows[i].job);
	return wrong;
}

static void test_cheats(void **state)
{
	(void)state;
	int wrong = run_rows(cheats, ARRAY_LEN(cheats));
	wrong += run_rows(further_cheats, ARRAY_LEN(further_cheats));
	wrong += run_rows(plain_cheats, ARRAY_LEN(plain_cheats));
	assert_int_equal(wrong, 0);
}

static void test_honest(void **state)
{
	(void)state;
	int wrong = run_rows(honest, ARRAY_LEN(honest));
	wrong += run_rows(further_honest, ARRAY_LEN(further_honest));
	wrong += run_rows(plain_honest, ARRAY_LEN(plain_honest));
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_honest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
