#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

typedef bool parse_fn(const char *text, double *ret_value);

static const struct {
	parse_fn *parse;
	const char *text;
	double value;
} accepted[] = {
	{parse_duration_s, "90", 90},
	{parse_duration_s, "90s", 90},
	{parse_duration_s, "1.5m", 90},
	{parse_duration_s, "20min", 1200},
	{parse_duration_s, "6h", 21600},
	{parse_duration_s, "250ms", 0.25},
	{parse_duration_s, "2d", 172800},
	{parse_duration_s, "0", 0},
	{parse_duration_s, "3 h", 10800},
	{parse_bytes, "78GiB", 78.0 * 1024 * 1024 * 1024},
	{parse_bytes, "-18 MiB", -18.0 * 1048576},
	{parse_bytes, "+4GB", 4e9},
	{parse_bytes, "1024", 1024},
	{parse_bytes, "1e9B", 1e9},
	{parse_bytes, "1.5TiB", 1.5 * 1099511627776.0},
	{parse_bytes, "3kB", 3000},
	{parse_bytes, "3KB", 3000},
	{parse_fraction, "3%", 0.03},
	{parse_fraction, "0.03", 0.03},
	{parse_fraction, "-2.5 %", -0.025},
	{parse_number, "3e-4", 3e-4},
	{parse_number, "3E+4", 3e4},
	{parse_number, ".5", 0.5},
	{parse_number, "5.", 5},
	{parse_number, "-7", -7},
	{parse_number, "1e308", 1e308},
};

static const struct {
	parse_fn *parse;
	const char *text;
} refused[] = {
	{parse_duration_s, ""},
	{parse_duration_s, "-1s"},
	{parse_duration_s, "5 minutes"},
	{parse_duration_s, "s"},
	{parse_duration_s, "1h30m"},
	{parse_duration_s, "inf"},
	{parse_bytes, "78Gi"},
	{parse_bytes, "GiB"},
	{parse_bytes, "1e400"},
	{parse_bytes, "1e308TiB"},
	{parse_bytes, "78 gib"},
	{parse_fraction, "3%%"},
	{parse_fraction, "%"},
	{parse_number, "nan"},
	{parse_number, "-nan"},
	{parse_number, "inf"},
	{parse_number, "+inf"},
	{parse_number, "infinity"},
	{parse_number, "0x10"},
	{parse_number, "-0x10"},
	{parse_number, "1 "},
	{parse_number, " 1"},
	{parse_number, "1x"},
	{parse_number, "1e"},
	{parse_number, "e5"},
	{parse_number, "."},
	{parse_number, "--1"},
	{parse_number, "1,5"},
	{parse_number, "1e999"},
	{parse_number, "+"},
	{parse_number, "1.2.3"},
};

static void quantities(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		double value = NAN;
		if (!accepted[i].parse(accepted[i].text, &value))
			fail_msg("'%s' was refused", accepted[i].text);
		if (!(fabs(value - accepted[i].value) <= 1e-15 * fabs(accepted[i].value)))
			fail_msg("'%s' is %.17g", accepted[i].text, value);
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		double value = 77;
		if (refused[i].parse(refused[i].text, &value) || value != 77)
			fail_msg("'%s' was accepted as %g", refused[i].text, value);
	}
}

static void integers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {{"0", 0}, {"-5", -5}, {"+5", 5}, {"007", 7}, {"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN}};
	static const char *const bad[] = {
		"", "-", "+", "1.0", "1e3", " 1", "1 ", "9223372036854775808", "0x1", "--1", "a"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		int64_t value = 0;
		assert_true(parse_integer(good[i].text, &value));
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int64_t value = 77;
		assert_false(parse_integer(bad[i], &value));
		assert_true(value == 77);
	}
}

static void shown(void **state)
{
	(void)state;
	typedef const char *format_fn(double value, char buf[UNIT_TEXT_SIZE]);
	static const struct {
		format_fn *format;
		double value;
		const char *text;
	} cases[] = {
		{format_bytes, 0, "0 B"},
		{format_bytes, 1023, "1023 B"},
		{format_bytes, 1536, "1.5 KiB"},
		{format_bytes, 1048575, "1.0 MiB"}, /* not "1024 KiB" */
		{format_bytes, 141 * 1048576.0, "141 MiB"},
		{format_bytes, 78 * 1073741824.0, "78.0 GiB"},
		{format_bytes, -2048, "-2.0 KiB"},
		{format_bytes, 5e15, "4547 TiB"},
		{format_duration, 0, "0 ms"},
		{format_duration, 0.25, "250 ms"},
		{format_duration, 0.9994, "999 ms"},
		{format_duration, 0.9996, "1.0 s"}, /* not "1e+03 ms" */
		{format_duration, 90, "90.0 s"},
		{format_duration, 126, "2.1 min"},
		{format_duration, 21600, "6.0 h"},
		{format_duration, 259200, "3.0 days"},
		{format_speedup, 0, "1.00x"},
		{format_speedup, 0.35065687, "1.42x"},
		{format_speedup, -0.1, "0.90x"},
	};
	char buf[UNIT_TEXT_SIZE];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(cases[i].format(cases[i].value, buf), cases[i].text);
	static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) { /* whatever it shows, it ends */
		assert_true(strlen(format_bytes(odd[i], buf)) < UNIT_TEXT_SIZE);
		assert_true(strlen(format_duration(odd[i], buf)) < UNIT_TEXT_SIZE);
		assert_true(strlen(format_speedup(odd[i], buf)) < UNIT_TEXT_SIZE);
	}
}

static void did_you_mean(void **state)
{
	(void)state;
	static const char *const names[] = {"micro_batch", "grad_accum", "recompute", "lr",
		"a_name_far_longer_than_anyone_would_ever_want_to_type_by_hand_again"};
	size_t n = ARRAY_LEN(names);
	assert_string_equal(closest_name("micro_btach", names, n), "micro_batch");
	assert_string_equal(closest_name("recompute", names, n), "recompute");
	assert_string_equal(closest_name("rl", (const char *const[]){"r"}, 1), "r");
	assert_null(closest_name("rl", names, n));
	assert_null(closest_name("optimizer", names, n));
	assert_null(closest_name("x", names, 0));
	assert_string_equal(closest_name(names[4], names, n), names[4]);
	assert_null(closest_name("", names, n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities),
		cmocka_unit_test(integers),
		cmocka_unit_test(shown),
		cmocka_unit_test(did_you_mean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
