/* The probe's loops compute what they claim; the probe itself keeps to its contract. No figure is judged: the
 * machine may be busy. */
#include "base/base.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"
#include "machine/machine_int.h"

enum { DEPTH = 37 };

/* Small whole numbers: every sum is exact, fused or not. */
static void check_gemm(const struct probe_kernel *k)
{
	_Alignas(64) float a[PROBE_ROWS_MAX * DEPTH], b[PROBE_COLUMNS_MAX * DEPTH];
	_Alignas(64) float c[PROBE_ROWS_MAX * PROBE_COLUMNS_MAX];
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = (float)((i * 7) % 11) - 5;
	for (size_t i = 0; i < ARRAY_LEN(b); i++)
		b[i] = (float)((i * 5) % 13) - 6;
	memset(c, 0x7F, sizeof(c));
	k->gemm(a, b, c, DEPTH, 3);
	for (size_t i = 0; i < k->rows; i++)
		for (size_t j = 0; j < k->columns; j++) {
			float wanted = 0;
			for (size_t d = 0; d < DEPTH; d++)
				wanted += a[d * k->rows + i] * b[d * k->columns + j];
			if (c[i * k->columns + j] != wanted)
				fail_msg("%s: c[%zu][%zu] is %g, expected %g", k->name, i, j,
					(double)c[i * k->columns + j], (double)wanted);
		}
}

static void check_triad(const struct probe_kernel *k)
{
	enum { N = 40 };
	_Alignas(64) double x[N + 8], y[N + 8], z[N + 8];
	for (size_t i = 0; i < N + 8; i++) {
		x[i] = -1;
		y[i] = (double)i;
		z[i] = (double)(i * i);
	}
	k->triad(x, y, z, 2.0, N);
	for (size_t i = 0; i < N + 8; i++)
		assert_true(x[i] == (i < N ? (double)(i + 2 * i * i) : -1));
}

static void kernels_compute_the_product_and_the_triad(void **state)
{
	(void)state;
	size_t n;
	const struct probe_kernel *kernels = probe_kernels(&n);
	assert_true(n > 0);
	assert_true(kernels[n - 1].supported());
	for (size_t i = 0; i < n; i++) {
		assert_true(kernels[i].rows <= PROBE_ROWS_MAX && kernels[i].columns <= PROBE_COLUMNS_MAX);
		if (!kernels[i].supported())
			continue;
		check_gemm(&kernels[i]);
		check_triad(&kernels[i]);
	}
}

static void a_short_probe_gives_figures(void **state)
{
	(void)state;
	struct machine machine;
	struct machine_probe probe;
	struct err e = ERR_INIT;
	cpu_set_t before, after;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(machine_read(&machine, &e), OK);
	assert_int_equal(machine_probe_run(0.1, &probe, &e), OK);
	assert_true(isfinite(probe.peak_flops) && probe.peak_flops > 0);
	assert_true(isfinite(probe.bandwidth_bytes_per_s) && probe.bandwidth_bytes_per_s > 0);
	assert_true(probe.seconds > 0);
	assert_true(probe.triad_bytes > 0 && probe.triad_bytes <= machine.memory_bytes / 8);
	assert_int_equal(probe.workers, machine.cores);
	assert_true(probe.kernel && probe.kernel[0]);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void impossible_budgets_are_refused(void **state)
{
	(void)state;
	static const double budgets[] = {-1, 0.01, NAN};
	struct machine_probe probe = {.seconds = 77};
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		struct err e = ERR_INIT;
		assert_int_equal(machine_probe_run(budgets[i], &probe, &e), ERR_INPUT);
		assert_non_null(strstr(e.message, "0.05 s"));
		assert_true(probe.seconds == 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_compute_the_product_and_the_triad),
		cmocka_unit_test(a_short_probe_gives_figures),
		cmocka_unit_test(impossible_budgets_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
