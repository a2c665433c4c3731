/* Device names as drivers give them; the classes are those of data/mechanisms.yaml. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/accelerator.h"

static void knows_the_classes(void **state)
{
	(void)state;
	static const struct {
		const char *device, *class;
	} cases[] = {
		{"Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 5", "h100"},
		{"NVIDIA H800", "h100"},
		{"NVIDIA H200", "h200"},
		{"NVIDIA H20", "h20"},
		{"NVIDIA GH200 480GB", "gh200"},
		{"NVIDIA GB200", "gb200"},
		{"NVIDIA B200", "b200"},
		{"NVIDIA A100-SXM4-80GB", "a100"},
		{"AMD Instinct MI300X", "mi300x"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_non_null(accelerator_class_of(cases[i].device));
		assert_string_equal(accelerator_class_of(cases[i].device), cases[i].class);
	}
}

static void a_name_that_only_begins_so_is_another(void **state)
{
	(void)state;
	static const char *const others[] = {
		"NVIDIA RTX A1000 Laptop GPU", "NVIDIA RTX 4090", "Tesla T4", "NVIDIA A10", "", "XH100"};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_null(accelerator_class_of(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_classes),
		cmocka_unit_test(a_name_that_only_begins_so_is_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
