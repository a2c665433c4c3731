/* Vectors and threads: simd-reduction, simd-loops, omp-parallel, short-loops. */
#ifndef TESTS_UNIT_CODEMOD_EXAMPLES_THREADS_H
#define TESTS_UNIT_CODEMOD_EXAMPLES_THREADS_H

#include "examples.h"

/* A program with OpenMP, which calls f() from a parallel region. */
#define REGION                                                                                               \
	"void all(int n)\n{\n#pragma omp parallel for\n\tfor (int i = 0; i < n; i++)\n\t\tf(a, b, n);\n}\n"
#define LONE "void all(void)\n{\n#pragma omp barrier\n}\n"
#define F(head, body) "float f(float *x, const float *y, int n)\n{\n" head body "}\n"
#define SUM(statement)                                                                                       \
	F("\tfloat s = 0;\n\tint i;\n\n", "\tfor (i = 0; i < n; i++)\n\t\t" statement "\n\treturn s;\n")     \
	REGION
#define ELEMENTS(statement) F("", "\tfor (int i = 0; i < n; i++)\n\t\t" statement "\n\treturn 0;\n") REGION
#define ROWS(body)                                                                                           \
	"void f(float *x, const float *y, int n, int width)\n{\n\tint r, i;\n\n\tfor (r = 0; r < n; r++) "   \
	"{\n" body "\t}\n}\n" LONE
#define SHARED(statement)                                                                                    \
	F("\tint i;\n\n",                                                                                    \
		"#pragma omp parallel for\n\tfor (i = 0; i < n; i++)\n\t\t" statement "\n\treturn 0;\n")
#define GOES_ON "a variable goes on from one pass to the next, and is no plain sum"
#define MEETS "a pass may write what another one reads or writes"
#define JUMPS "the loop ends early, jumps, or has something that is not known"
#define MACRO "a name is a macro, or declared where it is not seen"
#define SIDE_BY_SIDE "pointers may lead to the same memory"

static const struct example thread_examples[] = {
	/* ---- sums in vectors ---- */
	{"simd-reduction", "t.c", SUM("s += x[i] * y[n - 1 - i];"),
		{"@@ -3,6 +3,7 @@\n \tfloat s = 0;\n \tint i;\n \n+#pragma omp simd reduction(+ : s)\n \tfor "
		 "(i = 0; i "
		 "< n; i++)\n \t\ts += x[i] * y[n - 1 - i];\n \treturn s;\n"},
		NULL},
	/* What the loop writes beside the sum must not be what other passes read. */
	{"simd-reduction", "t.c", SUM("s += x[i] = y[i];"),
		{"+\tif (x == y || x + n <= y || y + n <= x) {\n+#pragma omp simd reduction(+ : s)\n"}, NULL},
	{"simd-reduction", "t.c", SUM("s = s * 0.5f + x[i];"), {NULL}, NULL},
	{"simd-reduction", "t.c", SUM("s += x[i] > s ? 1 : 0;"), {NULL}, NULL},
	{"simd-reduction", "t.c", SUM("{ s += x[i]; if (s > 1) break; }"), {NULL}, NULL},
	{"simd-reduction", "t.c", SUM("{ s += x[i]; y++; }"), {NULL}, GOES_ON},
	{"simd-reduction", "t.c", SUM("s += next(x[i]);"), {NULL}, "what a call does is not known"},
	{"simd-reduction", "t.c", SUM("s += x[i] * NEXT;"), {NULL}, MACRO},
	{"simd-reduction", "t.c", "#define NEXT (*y++)\n" SUM("s += x[i] * NEXT;"), {NULL}, MACRO},
	{"simd-reduction", "t.c", "#define HALF (1 / 2.0f)\n" SUM("s += x[i] * HALF;"),
		{"+#pragma omp simd reduction(+ : s)\n"}, NULL},
	{"simd-reduction", "t.c", SUM("s += expf(x[i]);"), {NULL}, NULL}, /* no vector */
	{"simd-reduction", "t.c",
		F("\tfloat s = 0, *p = &s;\n",
			"\tfor (int i = 0; i < n; i++)\n\t\ts += x[i];\n\treturn *p;\n") REGION,
		{NULL}, NULL},
	{"simd-reduction", "t.c",
		F("\tfloat s = 0;\n",
			"#pragma omp simd\n\tfor (int i = 0; i < n; i++)\n\t\ts += x[i];\n\treturn "
			"s;\n") REGION,
		{NULL}, NULL},
	/* No OpenMP in the program: the flag may not be there, and -Wall would complain. */
	{"simd-reduction", "t.c",
		F("\tfloat s = 0;\n", "\tfor (int i = 0; i < n; i++)\n\t\ts += x[i];\n\treturn s;\n"), {NULL},
		NULL},
	{"simd-reduction", "t.c", "volatile int stop;\n" SUM("s += x[i];"), {NULL}, NULL},
	/* A nest that a directive takes as one loop. */
	{"simd-reduction", "t.c",
		"double s;\nvoid f(const float *x, int n)\n{\n\tdouble t = 0;\n#pragma omp parallel for "
		"collapse(2) "
		"reduction(+ : t)\n\tfor (int r = 0; r < n; r++) {\n\t\tfor (int i = 0; i < n; i++)\n\t\t\tt "
		"+= "
		"x[i];\n\t}\n}\n",
		{NULL}, "the loop is one of a nest that a directive takes together"},

	/* ---- elements in vectors ---- */
	{"simd-loops", "t.c", ELEMENTS("x[i] += 2 * y[i];"),
		{"-\tfor (int i = 0; i < n; i++)\n-\t\tx[i] += 2 * y[i];\n+\tif (x == y || x + n <= y || y + "
		 "n <= x) "
		 "{\n+#pragma omp simd\n+\t\tfor (int i = 0; i < n; i++)\n+\t\t\tx[i] += 2 * y[i];\n+\t} "
		 "else "
		 "{\n+\t\tfor (int i = 0; i < n; i++)\n+\t\t\tx[i] += 2 * y[i];\n+\t}\n"},
		NULL},
	{"simd-loops", "t.c", ELEMENTS("x[i] *= 2;"), {"+#pragma omp simd\n \tfor (int i = 0; i < n; i++)\n"},
		NULL},
	{"simd-loops", "t.c",
		"void f(float *restrict x, const float *y, int n)\n{\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tx[i] = y[n - "
		"i];\n}\n" REGION,
		{"+#pragma omp simd\n \tfor (int i = 0; i < n; i++)\n"}, NULL},
	/* Elements of another type are other memory; those of the same type somewhere are not. */
	{"simd-loops", "t.c",
		"void f(float *x, const int *y, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] = y[n - "
		"i];\n}\n" REGION,
		{"+#pragma omp simd\n \tfor (int i = 0; i < n; i++)\n"}, NULL},
	{"simd-loops", "t.c", ELEMENTS("x[i] = y[n - i];"), {NULL}, SIDE_BY_SIDE},
	{"simd-loops", "t.c", ELEMENTS("x[i] = x[i + 1];"), {NULL}, MEETS},
	{"simd-loops", "t.c", ELEMENTS("x[2 * i] = y[i];"), {NULL}, MEETS},
	{"simd-loops", "t.c", ELEMENTS("x[i++] = y[i];"), {NULL}, "the loop's variable is no plain counter"},
	{"simd-loops", "t.c", ELEMENTS("{ if (y[i] > 0) x[i] = y[i]; }"), {NULL},
		"passes differ by a condition"},
	{"simd-loops", "t.c", ELEMENTS("*x = y[i];"), {NULL},
		"something is written through a pointer or into a structure"},
	{"simd-loops", "t.c", ELEMENTS("{ x[i] = y[i]; continue; }"), {NULL}, JUMPS},
	/* The bound, or a factor, may be what is written. */
	{"simd-loops", "t.c",
		"struct s { float scale; };\nvoid f(float *x, const struct s *s, int n)\n{\n\tfor (int i = "
		"0; i < n; "
		"i++)\n\t\tx[i] *= s->scale;\n}\n" REGION,
		{NULL}, "a value behind a pointer may be the memory that is written"},
	{"simd-loops", "t.c",
		"struct s { int n; };\nvoid f(float *x, const struct s *s)\n{\n\tfor (int i = 0; i < s->n; "
		"i++)\n\t\tx[i] "
		"*= 2;\n}\n" REGION,
		{"+#pragma omp simd\n"}, NULL},
	{"simd-loops", "t.c",
		"static float *x;\nvoid f(unsigned char *p, int n)\n{\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tp[i] "
		"= x[i];\n}\n" REGION,
		{NULL}, "what is read or written is no plain array of numbers"},
	{"simd-loops", "t.c",
		F("", "\tif (n)\n\t\tfor (int i = 0; i < n; i++)\n\t\t\tx[i] = 0;\n\treturn 0;\n") REGION,
		{NULL}, "a directive does not fit where the loop stands"},

	/* ---- threads ---- */
	/* An assignment, two sums and products, two elements and a cast's product: 6 operations; 2^18 / 6 is
	   above 2^15. */
	{"omp-parallel", "t.c",
		"double f(const float *x, long n)\n{\n\tdouble s = 0;\n\tlong i;\n\n\tfor (i = 0; i < n; "
		"i++)\n\t\ts += "
		"(double)x[i] * x[i];\n\treturn s;\n}\n" LONE,
		{"+#pragma omp parallel for simd reduction(+ : s) if (parallel : n > 32768)\n \tfor (i = 0; "
		 "i < n; i++)\n"},
		NULL},
	{"omp-parallel", "t.c",
		ROWS("\t\tfor (i = 0; i < width; i++)\n\t\t\tx[r * width + i] = expf(y[r * width + i]);\n"),
		{"+#pragma omp parallel for private(i) if ((long)n * width > ",
			" && (x == y || x + (long)n * width <= y || "
			"y + (long)n * width <= x))\n"},
		NULL},
	/* A longer row, another row, the same place from all rows, a bound beyond the row. */
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 0; i <= width; i++)\n\t\t\tx[r * width + i] = 0;\n"),
		{NULL}, MEETS},
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 0; i < width; i++)\n\t\t\tx[r + i] = 0;\n"), {NULL},
		MEETS},
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 0; i < width; i++)\n\t\t\tx[i] += y[r * width + i];\n"),
		{NULL}, MEETS},
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 0; i < width; i++)\n\t\t\tx[r * n + i] = 0;\n"), {NULL},
		MEETS},
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 1; i < width; i++)\n\t\t\tx[r * width + i] = y[i];\n"),
		{NULL}, SIDE_BY_SIDE},
	{"omp-parallel", "t.c", ROWS("\t\tfor (i = 0; i < width; i++)\n\t\t\tx[r * width + i] = g(y[i]);\n"),
		{NULL}, "what a call costs is not known"},
	{"omp-parallel", "t.c",
		"int f(float *x, int n, int width)\n{\n\tint r, i;\n\n\tfor (r = 0; r < n; r++)\n\t\tfor (i "
		"= 0; i < width; "
		"i++)\n\t\t\tx[r * width + i] = 0;\n\treturn i;\n}\n" LONE,
		{NULL}, "an inner loop's variable is used outside of it"},
	{"omp-parallel", "t.c",
		"int f(float *x, int n)\n{\n\tint r;\n\n\tfor (r = 0; r < n; r++)\n\t\tx[r] *= 2;\n\treturn "
		"r;\n}\n" LONE,
		{NULL}, "the loop's variable is used after the loop"},
	{"omp-parallel", "t.c",
		"void f(float *x, const float *y, int n)\n{\n\tfor (int r = 0; r < n; r++)\n\t\tx[r] *= "
		"2;\n}\n" REGION,
		{NULL}, "the function may be called from a parallel region"},
	{"omp-parallel", "t.c",
		"void f(float *x, int n)\n{\n\tfor (int r = 0; r < n; r++)\n\t\tx[r] *= 2;\n}\nvoid "
		"(*g)(float *, int) = "
		"f;\n" LONE,
		{NULL}, "the function may be called from a parallel region"},
	{"omp-parallel", "t.c",
		"void f(float *x, int n)\n{\n\tstatic float last;\n\tfor (int r = 0; r < n; r++) {\n\t\tx[r] "
		"-= last;\n\t\tlast = "
		"x[r];\n\t}\n}\n" LONE,
		{NULL}, GOES_ON},
	{"omp-parallel", "t.c",
		"void f(float *x, int n)\n{\n\tfor (int r = 0; r < n; r++)\n\t\tx[r] *= 2;\n}\n", {NULL},
		NULL},

	{"omp-parallel", "t.c",
		"void f(float *x, int n)\n{\n#ifdef _OPENMP\n#pragma omp parallel for\n#endif\n\tfor (int r "
		"= 0; r < n; r++)\n\t\tx[r] *= 2;\n}\n" LONE,
		{NULL}, NULL},
	{"omp-parallel", "t.c",
		"void f(float *x, int n)\n{\n\tint r;\n\tfor (r = 0; r < n; r++)\n\t\tx[r] *= 2;\n\tfor (r = "
		"r + 1; r < 9; r++)\n\t\tg();\n}\n" LONE,
		{NULL}, "the loop's variable is used after the loop"},

	/* ---- short loops ---- */
	/* A bound, an assignment, a product, two elements: 5 operations; 2^18 / 5 is above 2^15. */
	{"short-loops", "t.c", SHARED("x[i] = 2 * y[i];"),
		{"-#pragma omp parallel for\n+#pragma omp parallel for if (n > 32768)\n"}, NULL},
	/* tanhf for 16 more: 2^18 / 20 is above 2^13. */
	{"short-loops", "t.c", SHARED("x[i] = tanhf(y[i]);"), {"+#pragma omp parallel for if (n > 8192)\n"},
		NULL},
	{"short-loops", "t.c",
		"void f(float *x, int n, int width)\n{\n\tint r, i;\n\n#pragma omp parallel for private(i) "
		"// rows\n\tfor (r = 0; "
		"r < n; r++)\n\t\tfor (i = 0; i < width; i++)\n\t\t\tx[r * width + i] = 0;\n}\n",
		{NULL}, NULL}, /* a clause behind the comment would be none */
	{"short-loops", "t.c",
		"void f(float *x, int n)\n{\n#pragma omp parallel for\n\tfor (int r = 0; r < n; "
		"r++)\n\t\tfor (int i = 0; i < r; "
		"i++)\n\t\t\tx[r] += i;\n}\n",
		{NULL}, "how often an inner loop runs is not known before"},
	/* With no rows the pointer need not lead anywhere. */
	{"short-loops", "t.c",
		"struct s { int n; };\nvoid f(float *x, const struct s *s, int n)\n{\n#pragma omp parallel "
		"for\n\tfor (int r = 0; r "
		"< n; r++)\n\t\tfor (int i = 0; i < s->n; i++)\n\t\t\tx[r] += i;\n}\n",
		{NULL}, "how often an inner loop runs is not known before"},
	{"short-loops", "t.c", SHARED("work(x, y, i);"), {NULL}, "what a call costs is not known"},
	{"short-loops", "t.c", SHARED("x[omp_get_thread_num()] += y[i];"), {NULL},
		"which thread does what may matter here"},
	{"short-loops", "t.c",
		F("\tfloat s = 0;\n",
			"#pragma omp parallel for reduction(+ : s)\n\tfor (int i = 0; i < n; i++)\n\t\ts += "
			"y[i];\n\treturn s;\n"),
		{NULL}, NULL},
	{"short-loops", "t.c",
		F("", "#pragma omp parallel for if (n > 10)\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] = "
		      "0;\n\treturn 0;\n"),
		{NULL}, NULL},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for /* rows */\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tfor (int j = 0; j <= "
		"i; j++)\n\t\t\tg(i, j);\n}\n",
		{NULL}, NULL},

	/* ---- restrict ---- */
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nvoid "
		"g(void)\n{\n\tfloat *p = malloc(99), "
		"*q = (float *)calloc(9, 9);\n\tadd(p + 1, q, 8);\n}\n",
		{"+static void add(float *restrict y, const float *restrict x, int n)\n"}, NULL},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nvoid "
		"g(void)\n{\n\tfloat *p = malloc(99), "
		"*q = malloc(99);\n\tq = p;\n\tadd(p, q, 8);\n}\n",
		{NULL}, "a call may pass the same memory twice"},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nvoid "
		"g(void)\n{\n\tfloat *p = "
		"arena_floats(99), *q = arena_floats(99);\n\tadd(p, q, 8);\n}\n",
		{NULL}, "a call may pass the same memory twice"},
};

#endif
