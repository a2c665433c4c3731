/* Rows taken four at a time: blocking. */
#ifndef TESTS_UNIT_CODEMOD_EXAMPLES_BLOCKING_H
#define TESTS_UNIT_CODEMOD_EXAMPLES_BLOCKING_H

#include "examples.h"

#define ADD_AND_DOT                                                                                          \
	"static void add(float *y, float a, const float *x, int n)\n{\n\tint i;\n\n\tfor (i = 0; i < n; "    \
	"i++)\n\t\ty[i] += a * x[i];\n}\nstatic inline float dot(const float *a, const float *b, int n)\n"   \
	"{\n\tfloat sum = 0;\n\tint i;\n\n#pragma omp simd reduction(+ : sum)\n\tfor (i = 0; i < n; "        \
	"i++)\n\t\tsum += a[i] * b[i];\n\treturn sum;\n}\n"
#define PRODUCT_OF(before, directive, body)                                                                  \
	ADD_AND_DOT                                                                                          \
	"void f(float *y, const float *x, const float *w, int rows, int in, int out)\n{\n\tint row, i, "     \
	"o;\n\n" before directive "\tfor (row = 0; row < rows; row++)" body "}\n"
/* What a pass does to another program's rows. */
#define ALL_ROWS(body) PRODUCT_OF("", "#pragma omp parallel for private(i, o)\n", body)
/* Declarations and statements, then the usual loop along the rows of w. */
#define ROWS_OF(before) ALL_ROWS(" {\n" before "\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t}\n")
/* The usual rows, and what is done for each of them at each step. */
#define STEPS_OF(body) ALL_ROWS(" {\n" USUAL_PLACES "\t\tfor (i = 0; i < in; i++)" body "\t}\n")
#define USUAL "add(y + row * out, x[row * in + i], w + i * out, out)"
#define USUAL_PLACES "\t\tconst float *from = x + row * in;\n\t\tfloat *to = y + row * out;\n\n"
#define DIRECTIVE(clauses)                                                                                   \
	PRODUCT_OF("", "#pragma omp parallel for private(i) " clauses "\n",                                  \
		"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n")
/* A variable of the function that each step may write. */
#define COUNTED(step)                                                                                        \
	PRODUCT_OF("\tint n = 0;\n", "#pragma omp parallel for private(i)\n",                                \
		" {\n" USUAL_PLACES "\t\tfor (i = 0; i < in; i++) {\n\t\t\t" step                            \
		"\n\t\t\tadd(to, n, w + i, out);\n\t\t}\n\t}\n")
#define COUNT_OF                                                                                             \
	ADD_AND_DOT                                                                                          \
	"void f(float *y, const float *w)\n{\n#pragma omp parallel for\n\tfor (int r = 0; r < COUNT; "       \
	"r++)\n\t\tfor (int k = 0; k < 9; k++)\n\t\t\tadd(y + r * 8, 2, w + k, 8);\n}\n"
/* The program around the usual loop. */
#define BESIDE(text, call)                                                                                   \
	text ALL_ROWS(" {\n\t\tfor (i = 0; i < in; i++) {\n\t\t\t" call ";\n\t\t\t" USUAL ";\n\t\t}\n\t}\n")
#define QUIET(body) BESIDE("static void g(float *y, int n)\n{\n" body "}\n", "g(y + row, out)")

#define BLOCK_CLAUSE "the directive has a clause that says more than which loop is shared out"
#define BLOCK_CARRIES "a private variable may carry a value from one part of a pass to another"
#define BLOCK_CONDITION "the condition of the directive may be what keeps the passes apart"
#define BLOCK_PLACE "a variable of a pass is more than a name for a place"
#define BLOCK_SUM "a place, or how often a loop runs, is more than a sum of products"
#define BLOCK_CHANGES "a place, or how often a loop runs, may change within a pass"
#define BLOCK_GOES "a value goes from one part of a pass to another, or from pass to pass"
#define BLOCK_ENDS "a pass may end early"
#define BLOCK_CODE "the loop has something that is not known"
#define BLOCK_VARIABLE "a variable of the loop is not a plain one"
#define BLOCK_LINE "a directive, or another line of the preprocessor, stands in the way"
#define BLOCK_CALL "what a call does is not known"
#define BLOCK_WHICH "which function a call means is not known"
#define BLOCK_UNKNOWN "a name is a macro, or declared where it is not seen"
#define BLOCK_MACRO "a name is a macro of more than a number"
#define BLOCK_OUTSIDE "a variable outside of the function"
#define BLOCK_COUNTER "the loop's variable is no plain counter"
#define BLOCK_HEAD                                                                                           \
	"\tfor (row = 0; row < rows; row += 4) {\n+\t\tconst int row_end = rows - row > 4 ? row + 4 : "      \
	"rows;\n+\n"
#define BLOCK_ROWS "for (int row_now = row; row_now < row_end; row_now++)"

static const struct example blocking_examples[] = {
	/* A fraction may be contracted with what uses it, where that stands beside it. */
	{"blocking", "t.c", ROWS_OF("\t\tconst float s = 3 * row;\n\n"), {NULL}, BLOCK_PLACE},
	/* Its team has one thread there, and the caller's threads may have memory of their own. */
	{"blocking", "t.c",
		ALL_ROWS("\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL
			 ";\n") "void g(float *y, float *x, float *w)\n{\n#pragma omp parallel for\n\tfor "
				"(int t = 0; t < 9; "
				"t++)\n\t\tf(y + t * 64, x, w, 8, 8, 8);\n}\n",
		{NULL}, "the function is called from a parallel region"},
	/* ---- what is written ---- */
	{"blocking", "t.c",
		ALL_ROWS(" {\n\t\tconst float *from = x + (size_t)row * in;\n\t\tfloat *to = y + (size_t)row "
			 "* out;\n\n\t\tfor (o = 0; o < out; o++)\n\t\t\tto[o] = 0;\n\t\tfor (i = 0; i < in; "
			 "i++)\n\t\t\tadd(to, from[i], w + (size_t)i * out, out);\n\t}\n"),
		{"-\tfor (row = 0; row < rows; row++) {\n",
			"-\t\t\tadd(to, from[i], w + (size_t)i * out, out);\n+" BLOCK_HEAD "+\t\t" BLOCK_ROWS
			" {\n+\t\t\tfloat *to = y + (size_t)row_now * out;\n+\n+\t\t\tfor (o = 0; o < out; "
			"o++)\n+\t\t\t\tto[o] = 0;\n+\t\t}\n+\t\tfor (i = 0; i < in; i++)\n+\t\t\t" BLOCK_ROWS
			" {\n+\t\t\t\tconst float *from = x + (size_t)row_now * in;\n+\t\t\t\tfloat *to = y "
			"+ (size_t)row_now * out;\n+\n+\t\t\t\tadd(to, from[i], w + (size_t)i * out, "
			"out);\n+\t\t\t}\n \t}\n }\n"},
		NULL},
	/* A single statement needs no braces. */
	{"blocking", "t.c",
		ALL_ROWS("\n\t\tfor (i = 0; i < in; i++)\n\t\t\ty[row * in + i] = dot(x + row * out, w + i * "
			 "out, out);\n"),
		{"-\tfor (row = 0; row < rows; row++)\n",
			"+" BLOCK_HEAD "+\t\tfor (i = 0; i < in; i++)\n+\t\t\t" BLOCK_ROWS
			"\n+\t\t\t\ty[row_now * in + i] = dot(x + row_now * out, w + i * out, out);\n+\t}\n "
			"}\n"},
		NULL},
	{"blocking", "t.c",
		ADD_AND_DOT
		"void f(float *y, const float *w, size_t n)\n{\n  #pragma omp parallel for\n  for "
		"(size_t r = 0; r < n; ++r) {\n    float *to = y + r * n;\n    float *unused = "
		"to;\n    for (size_t k = 0; k < n; k++) {\n      /* line */\n      const float *from "
		"= w + k;\n\n      add(to, to[k],\n          from, 8);\n    }\n  }\n}\n",
		{"+  for (size_t r = 0; r < n; r += 4) {\n+    const size_t r_end = n - r > 4 ? r + 4 : "
		 "n;\n+\n"
		 "+    for (size_t k = 0; k < n; k++)\n+      for (size_t r_now = r; r_now < r_end; r_now++) "
		 "{\n+   "
		 "     float *to = y + r_now * n;\n+\n+        /* line */\n+        const float *from = w + "
		 "k;\n+\n+        add(to, to[k],\n+            from, 8);\n+      }\n   }\n"},
		NULL},
	/* A place that is worked out from another one brings it along; both parts have what they need. */
	{"blocking", "t.c",
		ROWS_OF("\t\tsize_t first = row * out;\n\t\tfloat *to = y + first;\n\n\t\tto[0] = "
			"0;\n\n\t\tif "
			"(to[1] > 0)\n\t\t\tto[1] = 0;\n"),
		{"+\t\t" BLOCK_ROWS " {\n+\t\t\tsize_t first = row_now * out;\n+\t\t\tfloat *to = y + "
		 "first;\n+\n+\t\t\tto[0] = 0;\n+\n+\t\t\tif (to[1] > 0)\n+\t\t\t\tto[1] = 0;\n+\t\t}\n+"
		 "\t\tfor "
		 "(i = 0; i < in; i++)\n",
			"+\t\t\t" BLOCK_ROWS
			"\n+\t\t\t\tadd(y + row_now * out, x[row_now * in + i], w + i * out, "
			"out);\n \t}\n"},
		NULL},
	/* Clauses that only say who counts, and where threads pay. */
	{"blocking", "t.c", DIRECTIVE("schedule(static), default(none) shared(x, y, w, rows, in, out)"),
		{"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c", DIRECTIVE("if ((long)rows * in > 4096 || rows * in * out > 100000)"),
		{"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c", QUIET("\twhile (n-- > 0 && y[n] < 3)\n\t\ty[n] = dot(y, y, n);\n"),
		{"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c",
		"enum { WIDTH = 8 };\n" ROWS_OF("\t\tmemset(y + row * WIDTH, 0, sizeof(float));\n"),
		{"+" BLOCK_HEAD}, NULL},

	{"blocking", "t.c", "typedef float real;\n" ROWS_OF("\t\tmemset(y + row, 0, sizeof(real));\n"),
		{"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c",
		"#define real float) + (calls++\n" ROWS_OF("\t\tmemset(y + row, 0, sizeof(real));\n"), {NULL},
		BLOCK_UNKNOWN},

	/* ---- none of its business ---- */
	{"blocking", "t.c", PRODUCT_OF("", "", "\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"), {NULL},
		NULL},
	{"blocking", "t.c", ALL_ROWS("\n\t\tfor (i = 0; i < in; i++)\n\t\t\ty[row * in + i] = w[i];\n"),
		{NULL}, NULL},
	/* Each row has a matrix of its own. */
	{"blocking", "t.c",
		ALL_ROWS("\n\t\tfor (i = 0; i < in; i++)\n\t\t\tadd(y + row * in, x[row], w + (row * in + i) "
			 "* "
			 "out, out);\n"),
		{NULL}, NULL},
	{"blocking", "t.c",
		ALL_ROWS(" {\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t\ty[row] = 0;\n\t}\n"),
		{NULL}, NULL},
	{"blocking", "t.c", "volatile int stop;\n" DIRECTIVE(""), {NULL}, NULL},

	/* ---- directives ---- */
	{"blocking", "t.c", DIRECTIVE("reduction(+ : out)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("lastprivate(o)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("firstprivate(w)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("default(firstprivate)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("linear(o)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("ordered"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("collapse(2)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("num_threads(1)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("copyin(w)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("allocate(o)"), {NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c",
		PRODUCT_OF("", "#pragma omp parallel for simd private(i)\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{NULL}, BLOCK_CLAUSE},
	{"blocking", "t.c", DIRECTIVE("schedule(static, 1)"), {NULL}, "the schedule counts passes"},
	{"blocking", "t.c", DIRECTIVE("schedule(monotonic : static)"), {NULL}, "the schedule counts passes"},
	{"blocking", "t.c", DIRECTIVE("\\\n\tshared(x)"), {NULL}, "the directive is not read to its end"},
	{"blocking", "t.c", DIRECTIVE("// rows"), {NULL}, "the directive is not read to its end"},
	/* Threads are used only where rows do not overlap; a flag; a distance. */
	{"blocking", "t.c", DIRECTIVE("if (y + rows * in < x)"), {NULL}, BLOCK_CONDITION},
	{"blocking", "t.c", DIRECTIVE("if (out)"), {NULL}, BLOCK_CONDITION},
	{"blocking", "t.c", DIRECTIVE("if (in > 64)"), {NULL}, BLOCK_CONDITION},
	{"blocking", "t.c", DIRECTIVE("if (rows > 64 && in > out)"), {NULL}, BLOCK_CONDITION},
	{"blocking", "t.c", DIRECTIVE("if (rows > in)"), {NULL}, BLOCK_CONDITION},
	{"blocking", "t.c", DIRECTIVE("private(w)"), {NULL}, BLOCK_CARRIES},
	{"blocking", "t.c",
		PRODUCT_OF("\tint k = 3;\n", "#pragma omp parallel for private(i, k)\n",
			" {\n\t\tk = x[row];\n\t\tfor (i = 0; i < in; i++)\n\t\t\tadd(y + row, k, w + i * "
			"out, "
			"out);\n\t}\n"),
		{NULL}, BLOCK_CARRIES},
	{"blocking", "t.c",
		PRODUCT_OF("", "#pragma omp parallel for private(i, o)\n",
			" {\n\t\tfor (o = 0; o < in; o++)\n\t\t\tif (x[o] > 0)\n\t\t\t\ty[row] = o;\n\t\tfor "
			"(i = "
			"0; i < in; i++)\n\t\t\tadd(y + row, o, w + i * out, out);\n\t}\n"),
		{NULL}, BLOCK_CARRIES},
	{"blocking", "t.c",
		PRODUCT_OF("\tfloat s[8];\n", "#pragma omp parallel for private(i, s)\n",
			" {\n\t\ts[0] = x[row];\n\t\tfor (i = 0; i < in; i++)\n\t\t\tadd(y + row, s[0], w + "
			"i * "
			"out, out);\n\t}\n"),
		{NULL}, BLOCK_CARRIES},

	/* ---- where the loop stands ---- */
	{"blocking", "t.c",
		PRODUCT_OF("#pragma omp barrier\n", "#pragma omp parallel for private(i)\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{NULL}, "another directive may belong to the loop"},
	/* Each thread of the outer region may have a y of its own. */
	{"blocking", "t.c",
		ADD_AND_DOT
		"void f(const float *w, int n)\n{\n#pragma omp parallel\n\t{\n\t\tfloat "
		"y[8];\n\t\tint k;\n\n#pragma omp parallel for private(k)\n\t\tfor (int r = 0; r < "
		"n; r++)\n\t\t\tfor (k = 0; k < n; k++)\n\t\t\t\tadd(y, r, w + k, 8);\n\t}\n}\n",
		{NULL}, "another directive may belong to the loop"},
	{"blocking", "t.c",
		PRODUCT_OF("\tif (in)\n\t\tout = 1;\n#define in (out++)\n",
			"#pragma omp parallel for private(i)\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{NULL}, "the function has lines for the preprocessor that are no directives"},
	{"blocking", "t.c",
		PRODUCT_OF("\tfor (o = 0; o < out; o++) y[o] = 0;\n", "#pragma omp parallel for private(i)\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{"+" BLOCK_HEAD}, NULL},

	/* ---- rows ---- */
	{"blocking", "t.c",
		ADD_AND_DOT
		"int f(float *y, const float *w, int n)\n{\n\tint r, k;\n\n#pragma omp parallel for "
		"private(k)\n\tfor (r = 0; r < n; r++)\n\t\tfor (k = 0; k < n; k++)\n\t\t\tadd(y + r "
		"* 8, 2, w + k, 8);\n\treturn r;\n}\n",
		{NULL}, "the loop's variable is used after the loop"},
	{"blocking", "t.c",
		ALL_ROWS(" {\n\t\trow += 0;\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t}\n"), {NULL},
		BLOCK_COUNTER},
	{"blocking", "t.c",
		PRODUCT_OF("\tint *p = &row;\n", "#pragma omp parallel for private(i)\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{NULL}, BLOCK_COUNTER},
	{"blocking", "t.c", ROWS_OF("\t\trows = 3;\n"), {NULL}, BLOCK_CHANGES},
	{"blocking", "t.c",
		PRODUCT_OF("\tint *p = &rows;\n", "#pragma omp parallel for private(i)\n",
			" {\n\t\t*p = 3;\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t}\n"),
		{NULL}, BLOCK_CHANGES},
	{"blocking", "t.c",
		ADD_AND_DOT
		"struct s { int n; };\nvoid f(float *y, const float *w, struct s *s)\n{\n#pragma omp "
		"parallel for\n\tfor (int r = 0; r < s->n; r++)\n\t\tfor (int k = 0; k < 9; "
		"k++)\n\t\t\tadd(y + r * 8, 2, w + k, 8);\n}\n",
		{NULL}, BLOCK_SUM},
	{"blocking", "t.c",
		ADD_AND_DOT
		"void f(float *y, const float *w, size_t n)\n{\n#pragma omp parallel for\n\tfor (int r "
		"= 0; r < n; r++)\n\t\tfor (int k = 0; k < 9; k++)\n\t\t\tadd(y + r * 8, 2, w + k, "
		"8);\n}\n",
		{NULL}, "the loop's variable and its bound are of different types"},
	{"blocking", "t.c",
		ADD_AND_DOT
		"void f(float *y, const float *w, int m, int n)\n{\n#pragma omp parallel for\n\tfor "
		"(int r = m; r < n; r++)\n\t\tfor (int k = 0; k < 9; k++)\n\t\t\tadd(y + r * 8, 2, w "
		"+ k, 8);\n}\n",
		{NULL}, "the loop does not count up from a number"},

	/* ---- places ---- */
	{"blocking", "t.c", ROWS_OF("\t\tfloat sum = 0;\n\n\t\tsum += x[row];\n"), {NULL}, BLOCK_PLACE},
	{"blocking", "t.c", ROWS_OF("\t\tfloat own[8];\n\n\t\town[0] = x[row];\n"), {NULL}, BLOCK_PLACE},
	{"blocking", "t.c", ROWS_OF("\t\tint n;\n\n\t\tfor (n = 0; n < 3; n++)\n\t\t\ty[row] = n;\n"), {NULL},
		BLOCK_PLACE},
	{"blocking", "t.c", ROWS_OF("\t\tfloat *to = y + row, *from = to;\n\n\t\tto[0] = from[1];\n"), {NULL},
		BLOCK_PLACE},
	{"blocking", "t.c", ROWS_OF("\t\tfloat *to = y + row;\n\n\t\t*to++ = 0;\n"), {NULL}, BLOCK_PLACE},
	{"blocking", "t.c", ROWS_OF("\t\tstatic int n = 0;\n"), {NULL}, BLOCK_VARIABLE},
	{"blocking", "t.c", ROWS_OF("\t\tfloat first = x[row];\n"), {NULL}, BLOCK_SUM},
	{"blocking", "t.c", ROWS_OF("\t\tfloat first = *(x + row);\n"), {NULL}, BLOCK_SUM},
	{"blocking", "t.c", ROWS_OF("\t\tfloat first = dot(x, w, row);\n"), {NULL}, BLOCK_SUM},
	{"blocking", "t.c", ROWS_OF("\t\tint size = sizeof x[row];\n"), {NULL}, BLOCK_SUM},
	{"blocking", "t.c", ROWS_OF("\t\tint last = in - 1;\n\n\t\tin = 3;\n"), {NULL}, BLOCK_CHANGES},
	{"blocking", "t.c", ROWS_OF("\t\tint next = i + 1;\n"), {NULL}, BLOCK_CARRIES},
	{"blocking", "t.c", "int shift;\n" ROWS_OF("\t\tfloat *to = y + shift;\n"), {NULL}, BLOCK_OUTSIDE},
	/* Another `to` from there on. */
	{"blocking", "t.c",
		ROWS_OF("\t\tfloat *to = y + row;\n\n\t\t{\n\t\t\tint to = 3;\n\t\t\ty[row] = to;\n\t\t}\n"),
		{NULL}, BLOCK_PLACE},

	/* ---- the inner loop ---- */
	{"blocking", "t.c",
		ALL_ROWS(" {\n\t\tint last = row + 1;\n\n\t\tfor (i = 0; i < last; i++)\n\t\t\t" USUAL
			 ";\n\t}\n"),
		{NULL}, "how often the inner loop runs depends on the row"},
	{"blocking", "t.c", ALL_ROWS("\n\t\tfor (i = row; i < in; i++)\n\t\t\t" USUAL ";\n"), {NULL},
		"how often the inner loop runs depends on the row"},
	{"blocking", "t.c",
		ALL_ROWS(" {\n\t\tin = row;\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t}\n"), {NULL},
		BLOCK_CHANGES},
	{"blocking", "t.c", ALL_ROWS("\n\t\tfor (i = 0; i < y[0]; i++)\n\t\t\t" USUAL ";\n"), {NULL},
		BLOCK_SUM},
	{"blocking", "t.c", STEPS_OF(" {\n\t\t\ti += 0;\n\t\t\tadd(to, 1, w + i, out);\n\t\t}\n"), {NULL},
		"the inner loop's variable is no plain counter"},
	/* Threads that share a counter: wrong, but not to be made wrong otherwise. */
	{"blocking", "t.c",
		PRODUCT_OF("", "#pragma omp parallel for\n",
			"\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n"),
		{NULL}, "the inner loop's variable is used outside of it"},

	/* ---- what a pass does ---- */
	{"blocking", "t.c", COUNTED("n = from[i];"), {NULL}, BLOCK_GOES},
	{"blocking", "t.c", COUNTED("n++;"), {NULL}, BLOCK_GOES},
	{"blocking", "t.c",
		PRODUCT_OF("\tstruct s t;\n", "#pragma omp parallel for private(i)\n",
			" {\n\t\tt.a = row;\n\t\tfor (i = 0; i < in; i++)\n\t\t\tadd(y + row, t.a, w + i, "
			"out);\n\t}\n"),
		{NULL}, BLOCK_GOES},
	{"blocking", "t.c",
		STEPS_OF(" {\n\t\t\tint n = out;\n\n\t\t\tn++;\n\t\t\tadd(to, n, w + i, 3);\n\t\t}\n"),
		{"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c",
		STEPS_OF(" {\n\t\t\tif (from[i] == 0)\n\t\t\t\tcontinue;\n\t\t\tadd(to, 1, w + i, "
			 "out);\n\t\t}\n"),
		{NULL}, BLOCK_ENDS},
	{"blocking", "t.c",
		STEPS_OF(" {\n\t\t\tif (from[i] == 0)\n\t\t\t\tbreak;\n\t\t\tadd(to, 1, w + i, "
			 "out);\n\t\t}\n"),
		{NULL}, BLOCK_ENDS},
	{"blocking", "t.c", ROWS_OF("\t\tif (x[row] > 0)\n\t\t\treturn;\n"), {NULL}, BLOCK_ENDS},
	{"blocking", "t.c", ROWS_OF("\t\tif (x[row] > 0)\n\t\t\tgoto again;\nagain:\n\t\ty[row] = 0;\n"),
		{NULL}, BLOCK_CODE},
	{"blocking", "t.c", ROWS_OF("\t\tswitch (row) {\n\t\tdefault:\n\t\t\ty[row] = 0;\n\t\t}\n"), {NULL},
		BLOCK_CODE},
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = ({ 3; });\n"), {NULL}, BLOCK_CODE},
	{"blocking", "t.c", ROWS_OF("\t\t__asm__(\"\" : : : \"memory\");\n"), {NULL}, BLOCK_CODE},
	{"blocking", "t.c", ROWS_OF("#pragma omp atomic\n\t\ty[0] += 1;\n"), {NULL}, BLOCK_LINE},
	{"blocking", "t.c", ROWS_OF("#pragma omp critical\n\t\ty[0] += 1;\n"), {NULL}, BLOCK_LINE},
	{"blocking", "t.c", ROWS_OF("#ifdef ZERO\n\t\ty[row] = 0;\n#endif\n"), {NULL},
		"the function has lines for the preprocessor that are no directives"},
	{"blocking", "t.c", ROWS_OF("\t\t{\n\t\t\tint *p = &out;\n\n\t\t\t*p = 3;\n\t\t}\n"), {NULL},
		"the address of a variable is taken"},
	{"blocking", "t.c", ROWS_OF("\t\t{\n\t\t\tstatic int n;\n\n\t\t\ty[row] = n++;\n\t\t}\n"), {NULL},
		BLOCK_VARIABLE},
	{"blocking", "t.c",
		"#define TLS static _Thread_local int\n" ROWS_OF(
			"\t\t{\n\t\t\tTLS n;\n\t\t\ty[row] = n++;\n\t\t}\n"),
		{NULL}, BLOCK_UNKNOWN},
	{"blocking", "t.c", ROWS_OF("\t\t{\n\t\t\tcount_t n = 3;\n\t\t\ty[row] = n;\n\t\t}\n"), {NULL},
		BLOCK_UNKNOWN},
	{"blocking", "t.c", "float last;\n" ROWS_OF("\t\tlast = x[row];\n"), {NULL}, BLOCK_OUTSIDE},
	{"blocking", "t.c",
		PRODUCT_OF("\tstatic float last;\n#pragma omp threadprivate(last)\n\n\tlast = 0;\n",
			"#pragma omp parallel for private(i)\n",
			" {\n\t\tlast = x[row];\n\t\tfor (i = 0; i < in; i++)\n\t\t\t" USUAL ";\n\t}\n"),
		{NULL}, BLOCK_OUTSIDE},
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = errno;\n"), {NULL}, BLOCK_UNKNOWN},
	{"blocking", "t.c", "#define NEXT (*y++)\n" ROWS_OF("\t\tNEXT = 0;\n"), {NULL}, BLOCK_UNKNOWN},

	/* A macro that stands for the counter; one whose parts would belong to what is put beside it. */
	{"blocking", "t.c", "#define AT i\n" ROWS_OF("\t\tint first = AT;\n\n\t\ty[first] = 0;\n"), {NULL},
		BLOCK_MACRO},
	{"blocking", "t.c", "#define SHIFT (2 * last)\n" ROWS_OF("\t\ty[row] = SHIFT;\n"), {NULL},
		BLOCK_MACRO},
	{"blocking", "t.c", "#define COUNT 1 << 10\n" COUNT_OF, {NULL}, BLOCK_MACRO},
	{"blocking", "t.c", "#define COUNT (1 << 10)\n" COUNT_OF,
		{"+\t\tconst int r_end = COUNT - r > 4 ? r + 4 : COUNT;\n"}, NULL},
	{"blocking", "t.c", "#define SMALL 1e-5f\n" ROWS_OF("\t\ty[row] = SMALL;\n"), {"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c", "enum { COUNT = 9 };\n" COUNT_OF,
		{"+\t\tconst int r_end = COUNT - r > 4 ? r + 4 : COUNT;\n"}, NULL},

	/* ---- calls ---- */
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = rand();\n"), {NULL}, BLOCK_CALL},
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = omp_get_thread_num();\n"), {NULL}, BLOCK_CALL},
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = expf(x[row]);\n"), {"+" BLOCK_HEAD}, NULL},
	{"blocking", "t.c", BESIDE("static void (*g)(float *, int);\n", "g(y + row, out)"), {NULL},
		BLOCK_CALL},
	{"blocking", "t.c",
		ADD_AND_DOT
		"void f(float *y, const float *w, int n, void (*add)(float *, int, const float *, "
		"int))\n{\n#pragma omp parallel for\n\tfor (int r = 0; r < n; r++)\n\t\tfor (int k = 0; "
		"k < 9; k++)\n\t\t\tadd(y + r * 8, 2, w + k, 8);\n}\n",
		{NULL}, BLOCK_CALL},
	{"blocking", "t.c", QUIET("\tstatic int calls;\n\n\ty[n] = calls++;\n"), {NULL}, BLOCK_VARIABLE},
	{"blocking", "t.c",
		BESIDE("int calls;\nstatic void g(float *y, int n)\n{\n\ty[n] = calls++;\n}\n",
			"g(y + row, out)"),
		{NULL}, BLOCK_OUTSIDE},
	{"blocking", "t.c", QUIET("\tprintf(\"%d\", n);\n"), {NULL}, BLOCK_CALL},
	{"blocking", "t.c", QUIET("\tif (n > 0)\n\t\tg(y, n - 1);\n"), {NULL},
		"calls go deeper than is looked into"},
	{"blocking", "t.c", QUIET("#pragma omp atomic\n\ty[n]++;\n"), {NULL}, BLOCK_LINE},
	{"blocking", "t.c", QUIET("\tint *p = &n;\n\n\t*p = 3;\n"), {NULL},
		"the address of a variable is taken"},
	{"blocking", "t.c",
		BESIDE("#ifdef FAST\nstatic void g(float *y, int n)\n{\n\ty[n] = 0;\n}\n#endif\n",
			"g(y + row, out)"),
		{NULL}, BLOCK_WHICH},
	{"blocking", "t.c",
		BESIDE("static void g(float *y, int n)\n{\n\ty[n] = 0;\n}\n#define g(y, n) ((y)[0] = "
		       "calls++)\n",
			"g(y + row, out)"),
		{NULL}, BLOCK_WHICH},
	/* Not the one of the mathematical library. */
	{"blocking", "t.c",
		BESIDE("static float fmaxf(float a, float b)\n{\n\tstatic float most;\n\n\treturn most = a > "
		       "b ? a : "
		       "b;\n}\n",
			"y[row] = fmaxf(x[row], 0)"),
		{NULL}, BLOCK_VARIABLE},
	{"blocking", "t.c", BESIDE("#define expf(x) (calls++)\n", "y[row] = expf(x[row])"), {NULL},
		BLOCK_WHICH},
	{"blocking", "t.c", BESIDE("struct s { _Atomic int n; };\n", "y[row] = 0"), {NULL}, NULL},

	/* ---- the text ---- */
	{"blocking", "t.c", ROWS_OF("\t\t/* no place for this */\n"), {NULL},
		"a comment has no place in the new loops"},
	{"blocking", "t.c", STEPS_OF(" /* nor for this */\n\t\t\tadd(to, from[i], w + i, out);\n"), {NULL},
		"a comment has no place in the new loops"},
	{"blocking", "t.c", ROWS_OF("\t\t{\n\t\t\tint row_end = 3;\n\n\t\t\ty[row] = row_end;\n\t\t}\n"),
		{NULL}, "a name that blocks would need is taken"},
	{"blocking", "t.c", ROWS_OF("\t\ty[row] = 0; y[row + 1] = 0;\n"),
		{"+\t\t" BLOCK_ROWS " {\n+\t\t\ty[row_now] = 0;\n+\t\t\ty[row_now + 1] = 0;\n+\t\t}\n"},
		NULL},
};

#endif
