/* The rules for Python on pairs of changes of one mechanism: a cheat, and the honest change that looks like
 * it. What is expected follows from docs/audit.md: a rule and severity, "not blocked", or "none". */
#include "base/base.h"

#include "change_rows.h"

#include "python_variants.h"

static bool run_row(const struct variant *row)
{
	static const char *const menu[] = {"fp32", "bf16"};
	static const struct audit_terms terms = {menu, 2};
	return check_texts(row->name, "job.py", row->old, row->new, &terms, row->expect);
}

static void test_variants(void **state)
{
	int wrong = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variants); i++)
		wrong += !run_row(&variants[i]);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
