/*
 * The probe's inner loops. One micro-kernel per vector extension, as in GotoBLAS: a block of C stays in
 * registers while columns of A (broadcast) and rows of B (vectors) stream from the first-level cache. The
 * block is the largest that leaves registers for one row of B and a broadcast.
 *
 * Built with -O3 -ffp-contract=fast in every build type: the figure is the machine's, and no decision is
 * computed here. Vector extensions of the C compiler instead of intrinsics: one text for all architectures.
 */
#include "base/base.h"

#include "machine/machine_int.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define DEFINE_KERNEL(name, attributes, lanes, row_count, vector_count)                                      \
	typedef float name##_floats __attribute__((vector_size(4 * lanes), may_alias));                      \
	typedef double name##_doubles __attribute__((vector_size(4 * lanes), may_alias));                    \
                                                                                                             \
	attributes static void name##_gemm(                                                                  \
		const float *a, const float *b, float *c, size_t depth, size_t repeats)                      \
	{                                                                                                    \
		for (size_t r = 0; r < repeats; r++) {                                                       \
			name##_floats sum[row_count][vector_count] = {{{0}}};                                \
			const name##_floats *row = (const name##_floats *)b;                                 \
			const float *column = a;                                                             \
			for (size_t k = 0; k < depth; k++) {                                                 \
				UNROLL for (int i = 0; i < row_count; i++)                                   \
				{                                                                            \
					UNROLL for (int j = 0; j < vector_count; j++) sum[i][j] +=           \
						column[i] * row[j];                                          \
				}                                                                            \
				row += vector_count;                                                         \
				column += row_count;                                                         \
			}                                                                                    \
			name##_floats *out = (name##_floats *)c;                                             \
			UNROLL for (int i = 0; i < row_count; i++)                                           \
			{                                                                                    \
				UNROLL for (int j = 0; j < vector_count; j++) out[i * vector_count + j] =    \
					sum[i][j];                                                           \
			}                                                                                    \
			__asm__ volatile("" ::: "memory"); /* or one repetition would do for all */          \
		}                                                                                            \
	}                                                                                                    \
                                                                                                             \
	attributes static void name##_triad(double *x, const double *y, const double *z, double s, size_t n) \
	{                                                                                                    \
		name##_doubles *out = (name##_doubles *)x;                                                   \
		const name##_doubles *left = (const name##_doubles *)y, *right = (const name##_doubles *)z;  \
		for (size_t i = 0; i < n / (lanes / 2); i++)                                                 \
			out[i] = left[i] + s * right[i];                                                     \
	}

#if defined(__x86_64__)

DEFINE_KERNEL(avx512, __attribute__((target("avx512f"))), 16, 14, 2)
DEFINE_KERNEL(avx2, __attribute__((target("avx2,fma"))), 8, 6, 2)
DEFINE_KERNEL(sse2, , 4, 4, 2)

static bool avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f");
}

static bool avx2_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool sse2_supported(void)
{
	return true;
}

static const struct probe_kernel kernels[] = {
	{"avx512f", avx512_supported, avx512_gemm, 14, 32, avx512_triad},
	{"avx2+fma", avx2_supported, avx2_gemm, 6, 16, avx2_triad},
	{"sse2", sse2_supported, sse2_gemm, 4, 8, sse2_triad},
};

#else

/* 32 registers of 128 bits, multiplication by a lane: Advanced SIMD on aarch64. On other architectures the
 * compiler splits the vectors as it must. */
DEFINE_KERNEL(vector128, , 4, 7, 3)

static bool vector128_supported(void)
{
	return true;
}

static const struct probe_kernel kernels[] = {
#ifdef __aarch64__
	{"asimd", vector128_supported, vector128_gemm, 7, 12, vector128_triad},
#else
	{"128-bit vectors", vector128_supported, vector128_gemm, 7, 12, vector128_triad},
#endif
};

#endif

const struct probe_kernel *probe_kernels(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(kernels);
	return kernels;
}
