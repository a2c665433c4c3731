#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/cpu_list.h"

/* The format of cpuset(7), "List format". */
static void lists_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int count, first, last;
	} cases[] = {{"0", 1, 0, 0}, {"0-3", 4, 0, 3}, {"8,0-3,10-11", 7, 0, 11}, {"5-5", 1, 5, 5},
		{"0,0,0-1", 2, 0, 1}, {"1023", 1, 1023, 1023}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cpu_set_t set;
		assert_true(cpu_list_parse(cases[i].text, &set));
		assert_int_equal(CPU_COUNT(&set), cases[i].count);
		assert_true(CPU_ISSET(cases[i].first, &set) && CPU_ISSET(cases[i].last, &set));
		assert_false(CPU_ISSET(12, &set));
	}
}

static void anything_else_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"", " 0", "0 ", "0,", ",0", "0-", "-1", "3-1", "0-1-2", "a",
		"0x1", "1024", "99999999999999999999", "0;1", "+1"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(7, &set);
		assert_false(cpu_list_parse(texts[i], &set));
		assert_int_equal(CPU_COUNT(&set), 1); /* untouched */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read),
		cmocka_unit_test(anything_else_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
