/* Numbers as programs print them. Right values: what strtod() makes of the plain decimal, or the format's own
 * definition. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/reader_int.h"
#include "base/random.h"

static void numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t length;
		double value;
	} rows[] = {
		{"1.5", 3, 1.5},
		{"  -2", 4, -2.0},
		{"+7 ", 2, 7.0},
		{"1e-05,", 5, 1e-5},
		{"8.214377E+00 |", 12, 8.214377},
		{".5", 2, 0.5},
		{"5.", 2, 5.0},
		{"1,204 MiB", 5, 1204.0},
		{"12,345,678", 10, 12345678.0},
		{"1,2045", 1, 1.0},      /* no group of three */
		{"1204,555", 4, 1204.0}, /* nor behind four digits */
		{"3, 4", 1, 3.0},
		{"2.5e", 3, 2.5},
		{"2.5e+x", 3, 2.5},
		{"9007199254740993", 16, 9007199254740992.0}, /* ties to even */
		{"9007199254740995", 16, 9007199254740996.0},
		{"900719925474099.35e1", 20, 9007199254740994.0},
		{"0.1000000000000000055511151231257827", 36, 0.1},
		{"1.7976931348623157e308", 22, 1.7976931348623157e308},
		{"np.float64(0.4141)", 18, 0.4141},
		{"tensor(2.5, device='cuda:0')", 28, 2.5},
		{"0x10", 1, 0.0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double value = NAN;
		size_t length = read_number(rows[i].text, &value);
		if (length != rows[i].length || value != rows[i].value)
			fail_msg("'%s': %zu bytes, %.17g", rows[i].text, length, value);
	}
}

static void not_finite(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t length;
		int sign; /* of the infinity; 0 = NaN */
	} rows[] = {
		{"nan", 3, 0},
		{"NAN |", 3, 0},
		{"-nan", 4, 0},
		{"NaN,", 3, 0},
		{"nan.0]", 5, 0},
		{"inf", 3, 1},
		{"-inf}", 4, -1},
		{"Infinity", 8, 1},
		{"INF", 3, 1},
		{"1.#QNAN0", 8, 0},
		{"-1.#INF00", 9, -1},
		{"np.float64(nan)", 15, 0},
	};
	static const char *const none[] = {"", " ", "nanny", "info", "information", "nanz", "abc", "-", "+",
		".", "e5", "np.float64(", "--1", "infinite"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double value = 1.0;
		size_t length = read_number(rows[i].text, &value);
		bool right =
			rows[i].sign == 0 ? isnan(value) : isinf(value) && (value > 0) == (rows[i].sign > 0);
		if (length != rows[i].length || !right)
			fail_msg("'%s': %zu bytes, %g", rows[i].text, length, value);
	}
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		double value;
		if (read_number(none[i], &value) != 0)
			fail_msg("'%s' is a number", none[i]);
	}
}

/* Milliseconds divided by 1000 in binary are often not the double nearest to the decimal. */
static void powers_of_ten_round_once(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int power;
		double value;
	} rows[] = {
		{"4120.7", -3, 4.1207},
		{"41022.10", -3, 41.0221},
		{"491.52", -3, 0.49152},
		{"1031.9", -3, 1.0319},
		{"33.91", -2, 0.3391},
		{"1234567890123456789012", -3, 1234567890123456789.012},
		{"5e-320", -3, 5e-323},
		{"nan", -3, NAN},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double value = 0.0;
		assert_int_equal(
			read_number_scaled(rows[i].text, rows[i].power, &value), strlen(rows[i].text));
		if (!(value == rows[i].value || (isnan(value) && isnan(rows[i].value))))
			fail_msg("%s e%d: %.17g", rows[i].text, rows[i].power, value);
	}
}

static void every_decimal_is_read_as_strtod_reads_it(void **state)
{
	(void)state;
	struct random r;
	random_init(&r, 17, "log values", 0);
	for (int i = 0; i < 20000; i++) {
		char text[64];
		double value = ldexp(random_uniform(&r) - 0.5, (int)(random_uniform(&r) * 400) - 200),
		       got = 0.0;
		static const char *const forms[] = {"%.3f", "%.6E", "%g", "%.17g", "%.2e"};
		snprintf(text, sizeof(text), forms[i % 5], i % 5 == 0 ? fmod(value, 1e9) : value);
		assert_int_equal(read_number(text, &got), strlen(text));
		if (got != strtod(text, NULL))
			fail_msg("%s: %.17g", text, got);
	}
}

/* As Python prints them: 16 and 17 digits of no great size, where a product of two rounded factors would be
 * one off. */
static void every_repr_is_read_as_strtod_reads_it(void **state)
{
	(void)state;
	struct random r;
	random_init(&r, 18, "log values", 0);
	for (int i = 0; i < 20000; i++) {
		char text[64];
		double value = random_uniform(&r) * pow(10.0, i % 24 - 12), got = 0.0;
		snprintf(text, sizeof(text), i % 2 ? "%.17g" : "%.16e", value);
		assert_int_equal(read_number(text, &got), strlen(text));
		if (got != strtod(text, NULL))
			fail_msg("%s: %.17g", text, got);
	}
}

static void amounts_of_memory(void **state)
{
	(void)state;
	const double ki = 1024.0, mi = ki * ki, gi = mi * ki;
	const struct {
		const char *text;
		bool binary;
		double bytes; /* 0 = none */
	} rows[] = {
		{"41.37GB,", true, 41.37 * gi},
		{"41.37GB", false, 41.37e9},
		{"79.10GiB with", false, 79.10 * gi},
		{"23552.0 MiB", false, 23552.0 * mi},
		{"0 bytes", false, 0.0},
		{"512 B", false, 512.0},
		{"21.95G of", true, 21.95 * gi},
		{"64 kB", true, 64 * ki},
		{"2TiB", false, 2.0 * ki * gi},
		{"12", true, 0.0},
		{"12 Bananas", true, 0.0},
		{"5 Go", true, 0.0},
		{"7 Minutes", true, 0.0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double bytes = 0.0;
		size_t length = read_memory(rows[i].text, rows[i].binary, &bytes);
		if (bytes != rows[i].bytes ||
			(length > 0) != (rows[i].bytes > 0.0 || strstr(rows[i].text, "bytes")))
			fail_msg("%s: %.17g", rows[i].text, bytes);
	}
}

static void scaled(void **state)
{
	(void)state;
	double v;
	assert_int_equal(read_scaled("131K |", &v), 4);
	assert_true(v == 131000.0);
	assert_int_equal(read_scaled("6.39K", &v), 5);
	assert_true(v == 6390.0);
	assert_int_equal(read_scaled("12MiB", &v), 2);
	assert_true(v == 12.0);
	assert_int_equal(read_scaled("819", &v), 3);
	assert_true(v == 819.0);
}

static void keys(void **state)
{
	(void)state;
	static const char megatron[] =
		"loss scale: 1.0 | lm loss: 2.5 | grad norm: 14.9 | params norm: 612.1 | loss: 3";
	assert_true(number_of(megatron, "lm loss").value == 2.5);
	assert_true(number_of(megatron, "grad norm").value == 14.9);
	assert_true(number_of(megatron, "loss").value == 3.0);
	assert_false(number_of(megatron, "norm").has);
	assert_false(number_of("val_loss=2 train/loss=3 loss_cls=4 loss.x=5 loss-y=6", "loss").has);
	assert_true(number_of("phase=train loss=2", "loss").value == 2.0);
	assert_true(number_of("loss=n/a loss=2", "loss").value == 2.0);
	assert_false(number_of("", "loss").has);
	assert_null(value_of("no such", "loss"));
	assert_true(scaled_number_of("time: 950.25 ms", "time", -3).value == 0.95025);
	assert_true(dictionary_number("{'eval_loss': 1, 'loss': 2.5}", "loss").value == 2.5);
	assert_true(dictionary_number("{\"loss\": \"9.8\"}", "loss").value == 9.8);
	assert_true(isnan(dictionary_number("{'loss': nan}", "loss").value));
	assert_false(dictionary_number("{'loss': 'x'}", "loss").has);
}

static void bars(void **state)
{
	(void)state;
	struct progress_bar bar;
	assert_true(read_progress_bar(
		" 14%|#4        | 380/2724 [14:02:33<86:01:24, 132.12s/it][2023-06-07] x", &bar));
	assert_int_equal(bar.done, 380);
	assert_int_equal(bar.total, 2724);
	assert_true(bar.elapsed_s == 14 * 3600 + 2 * 60 + 33);
	assert_string_equal(bar.postfix, "");
	assert_true(read_progress_bar(
		"Epoch 0:  50%|##   | 1/2 [00:01<00:01,  0.50it/s, v_num=0, loss=5.0]", &bar));
	assert_string_equal(bar.postfix, "v_num=0, loss=5.0]");
	assert_true(read_progress_bar("  0%|          | 0/4 [00:00<?, ?it/s]", &bar));
	assert_false(read_progress_bar("Epoch: [0][415/1736] Loss 0.5", &bar));
	assert_false(read_progress_bar("1/2 [x]", &bar));
	assert_false(read_progress_bar("[", &bar));
	assert_false(read_progress_bar("", &bar));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(powers_of_ten_round_once),
		cmocka_unit_test(every_decimal_is_read_as_strtod_reads_it),
		cmocka_unit_test(every_repr_is_read_as_strtod_reads_it),
		cmocka_unit_test(amounts_of_memory),
		cmocka_unit_test(scaled),
		cmocka_unit_test(keys),
		cmocka_unit_test(bars),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
