/* What the codemods write for C is compiled and run beside the original, on random numbers, also where
 * pointers overlap: the same to the last bit, or for sums within what another order of additions of that many
 * floats may change (n times half a unit in the last place of the sum of magnitudes; Higham 2002, 4.2). What
 * is shared out among threads also runs under the thread sanitizer, with a small runtime of OpenMP that it
 * sees into. Python runs where torch is installed. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "codemod/codemod.h"

#define HEAD                                                                                                 \
	"#include <math.h>\n#include <stdio.h>\n#include <string.h>\n#define N 1000\n"                       \
	"static float a[2 * N], b[2 * N];\n"                                                                 \
	"void other(int n)\n{\n\tint i;\n\n#pragma omp parallel for\n\tfor (i = 0; i < n; i++)\n"            \
	"\t\ta[i] = 0;\n}\n"
#define MAIN(body)                                                                                           \
	"void fill(void)\n{\n\tunsigned s = 1;\n\tother(1);\n\tfor (int i = 0; i < 2 * N; i++) {\n"          \
	"\t\ts = s * 1664525 + 1013904223;\n\t\ta[i] = (float)(s >> 8) / (1 << 23) - 1;\n"                   \
	"\t\ts = s * 1664525 + 1013904223;\n\t\tb[i] = (float)(s >> 8) / (1 << 23) - 1;\n\t}\n}\n"           \
	"void show(void)\n{\n\tfor (int i = 0; i < 2 * N; i++)\n\t\tprintf(\"%.9g %.9g\\n\", a[i], "         \
	"b[i]);\n}\n"                                                                                        \
	"int main(void)\n{\n\tfill();\n" body "\treturn 0;\n}\n"

#define ADD_SCALED                                                                                           \
	"static void add_scaled(float *y, float scale, const float *x, int n)\n{\n\tfor (int i = 0; i < n; " \
	"i++)\n\t\ty[i] += scale * x[i];\n}\n"

static const struct example {
	const char *codemod, *text;
	double tolerance; /* relative; 0 = the same text */
	bool has_threads;
} examples[] = {
	/* 1,000 products below 1: 1000 * 6e-8 of a sum of magnitudes below 1,000, shown relative to about 10
	 */
	{"simd-reduction",
		HEAD
		"float dot(const float *x, const float *y, int n)\n{\n\tfloat sum = 100;\n\tint i;\n\n"
		"\tfor (i = 0; i < n; i++)\n\t\tsum += x[i] * y[i];\n\treturn sum;\n}\nvoid all(int "
		"n)\n{\n#pragma omp parallel for\n\tfor (int i = 0; i < n; i++)\n\t\tb[i] = dot(a, a, "
		"n);\n}\n" MAIN(
			"\tprintf(\"%.9g %.9g %.9g\\n\", dot(a, b, N), dot(a, a + 1, 7), dot(a, b, 0));\n"),
		1e-4, false},
	{"simd-reduction",
		HEAD
		"double squares(const float *x, long n)\n{\n\tdouble sum = 0;\n\tfor (int k = 0; k < 2; k++) "
		"{\n\t\tfor (long i = 3; i <= n; i += 2)\n\t\t\tsum += (double)x[i] * x[i];\n\t}\n\treturn "
		"sum;\n}\n" MAIN("\tprintf(\"%.9g %.9g\\n\", squares(a, N), squares(b, 2));\n"),
		1e-9, false},
	{"simd-loops",
		HEAD
		"void add(float *y, const float *x, float scale, int n)\n{\n\tfor (int i = 0; i < n; i++)\n"
		"\t\ty[i] += scale * x[i];\n}\n" MAIN(
			"\tadd(a, b, 0.5f, N);\n\tadd(a, a, 0.5f, 77);\n\tadd(a + 1, a, 0.5f, N);\n\tadd(b, "
			"b "
			"+ 3, 0.25f, N);\n\tadd(b + 5, b, 0.25f, 999);\n\tadd(a, b, 1, 0);\n\tshow();\n"),
		0, false},
	{"simd-loops",
		HEAD
		"void two(float *y, float *z, const float *x, int n)\n{\n\tfor (int i = 2; i <= n; i++) {\n"
		"\t\tfloat t = x[i] * 3;\n\t\ty[i] = t - z[i];\n\t\tz[i] = t * y[i];\n\t}\n}\n" MAIN(
			"\ttwo(a, a + N, b, N - 1);\n\ttwo(a, a + 1, b, N);\n\ttwo(a, b, a + 2, "
			"N);\n\ttwo(b, "
			"b, b, N);\n\tshow();\n"),
		0, false},
	{"omp-parallel",
		HEAD
		"void rows(float *y, const float *x, const float *w, int n, int width)\n{\n\tint r, i;\n\n"
		"\tfor (r = 0; r < n; r++) {\n\t\tfloat sum = 0;\n\t\tconst float *row = x + (size_t)r * "
		"width;\n\n\t\tfor (i = 0; i < width; i++)\n\t\t\tsum += row[i] * w[i];\n\t\tfor (i = 0; i < "
		"width; i++)\n\t\t\ty[(size_t)r * width + i] = expf(sum) * row[i];\n\t}\n}\n" MAIN(
			"\tstatic float w[300], big[300 * 300], out[300 * 300];\n\tfor (int i = 0; i < 300 * "
			"300; "
			"i++)\n\t\tbig[i] = a[i % N];\n\tfor (int i = 0; i < 300; i++)\n\t\tw[i] = b[i] / "
			"100;\n\trows(out, big, w, 300, 300);\n\trows(big + 300, big, w, 200, "
			"300);\n\trows(big, "
			"big, w, 300, 300);\n\trows(a, b, w, 3, 30);\n\tfor (int i = 0; i < 300 * 300; i += "
			"7)\n\t\tprintf(\"%.9g %.9g\\n\", out[i], big[i]);\n\tshow();\n"),
		0, true},
	{"omp-parallel",
		HEAD
		"double norm(const float *x, long n)\n{\n\tdouble sum = 0;\n\tlong i;\n\n\tfor (i = 0; i < "
		"n; "
		"i++)\n\t\tsum += (double)x[i] * x[i];\n\treturn sqrt(sum);\n}\n" MAIN(
			"\tstatic float big[300000];\n\tfor (int i = 0; i < 300000; i++)\n\t\tbig[i] = a[i % "
			"N];\n\tprintf(\"%.9g %.9g\\n\", norm(big, 300000), norm(a, 3));\n"),
		1e-9, true},
	{"short-loops",
		HEAD
		"void gelu(float *y, const float *x, int rows, int width)\n{\n\tint r, i;\n\n#pragma omp "
		"parallel "
		"for private(i)\n\tfor (r = 0; r < rows; r++)\n\t\tfor (i = 0; i < width; i++)\n\t\t\ty[r * "
		"width + i] = x[r * width + i] * tanhf(x[r * width + i]);\n}\n" MAIN(
			"\tgelu(a, b, 10, 10);\n\tgelu(b, a, 40, 50);\n\tgelu(a, b, 0, 5);\n\tshow();\n"),
		0, true},
	{"omp-schedule",
		HEAD "void sums(float *y, const float *x, int n)\n{\n\tint i, j;\n\n#pragma omp parallel for "
		     "private(j)\n\tfor (i = 0; i < n; i++) {\n\t\ty[i] = 0;\n\t\tfor (j = 0; j <= i; "
		     "j++)\n\t\t\ty[i] "
		     "+= x[j];\n\t}\n}\n" MAIN("\tsums(a, b, N);\n\tshow();\n"),
		0, false},
	{"loop-order",
		HEAD "static void product(const float *x, const float *w, float *restrict y, int n, int "
		     "k_max)\n{\n"
		     "\tfor (int j = 0; j < n; j++) {\n\t\tfloat s = 0;\n\t\tfor (int k = 0; k < k_max; "
		     "k++)\n\t\t\ts "
		     "+= x[k] * w[k * n + j];\n\t\ty[j] = s;\n\t}\n}\n" MAIN(
			     "\tproduct(b, b + 40, a, 30, 31);\n\tproduct(b, b, a + 50, 1, 0);\n\tshow();\n"),
		0, false},
	/* Rows that are no multiple of four, one, none; steps that are none; a matrix that is the result. */
	{"blocking",
		HEAD ADD_SCALED
		"void product(float *y, const float *x, const float *w, int rows, int in, int out)\n{\n\tint "
		"row, "
		"i, o;\n\n#pragma omp parallel for private(i, o)\n\tfor (row = 0; row < rows; row++) "
		"{\n\t\tconst "
		"float *from = x + (size_t)row * in;\n\t\tfloat *to = y + (size_t)row * out;\n\n\t\tfor (o = "
		"0; o "
		"< out; o++)\n\t\t\tto[o] = 0;\n\t\tfor (i = 0; i < in; i++)\n\t\t\tadd_scaled(to, from[i], "
		"w + "
		"(size_t)i * out, out);\n\t}\n}\n" MAIN(
			"\tstatic float c[N];\n\tfor (int rows = 0; rows < 19; rows++) {\n\t\tproduct(c, a, "
			"b, rows, "
			"13, 29);\n\t\tfor (int i = 0; i < N; i += 3)\n\t\t\tprintf(\"%.9g\\n\", "
			"c[i]);\n\t}\n\tproduct(a, b, b + 9, 5, 0, 7);\n\tproduct(a + 90, b, b, 1, 3, "
			"7);\n\tproduct(a + 900, a, b, 7, 40, 50);\n\tshow();\n"),
		0, true},
	{"blocking",
		HEAD ADD_SCALED
		"static inline float dot(const float *x, const float *y, int n)\n{\n\tfloat sum = 0;\n\tfor "
		"(int "
		"i = 0; i < n; i++)\n\t\tsum += x[i] * y[i];\n\treturn sum;\n}\nvoid input(float *y, const "
		"float *x, "
		"const float *w, int rows, int in, int out)\n{\n\tint row, i;\n\n#pragma omp parallel for "
		"private(i)\n\tfor (row = 0; row < rows; row++)\n\t\tfor (i = 0; i < in; i++)\n\t\t\ty[row * "
		"in + i] "
		"= dot(x + row * out, w + i * out, out);\n}\nvoid weight(float *y, const float *x, const "
		"float *w, int "
		"rows, int in, int out)\n{\n\tint row, i;\n\n#pragma omp parallel for private(row)\n\tfor (i "
		"= 0; i "
		"< in; i++)\n\t\tfor (row = 0; row < rows; row++)\n\t\t\tadd_scaled(y + i * out, x[row * in "
		"+ i], w + "
		"row * out, out);\n}\n" MAIN(
			"\tstatic float c[N];\n\tfor (int n = 0; n < 14; n++) {\n\t\tinput(c, a, b, n, 11, "
			"17);\n\t\tweight(c, a, b, 12, n, 23);\n\t\tweight(c + 500, b, a, n, 14, "
			"2);\n\t\tfor (int i = 0; "
			"i < N; i += 3)\n\t\t\tprintf(\"%.9g\\n\", c[i]);\n\t}\n"),
		0, true},
	/* Conditions, variables of a step, places of places, another type, several loops before, a clause. */
	{"blocking",
		HEAD ADD_SCALED
		"void mixed(float *y, const float *x, const float *w, size_t rows, size_t in)\n{\n#pragma "
		"omp "
		"parallel for schedule(static) if ((long)rows * in > 64)\n\tfor (size_t row = 0; row < rows; "
		"++row) {\n\t\tsize_t first = row * in;\n\t\tfloat *to = y + first;\n\n\t\tmemcpy(to, x + "
		"first, in * sizeof(float));\n\t\tfor "
		"(size_t o = 1; o < in; o++)\n\t\t\tto[o] += 0.5f * to[o - 1];\n\n\t\tif (to[0] > "
		"0)\n\t\t\tto[0] = "
		"expf(to[0]);\n\t\tfor (size_t k = 1; k < in; k += 2) {\n\t\t\tconst float *line = w + k * "
		"in;\n\n\t\t\tif "
		"(to[k - 1] > 0) {\n\t\t\t\tfloat scale = to[k - 1];\n\n\t\t\t\tscale *= "
		"0.25f;\n\t\t\t\tadd_scaled(to, "
		"scale, line,\n\t\t\t\t\tin);\n\t\t\t} else\n\t\t\t\tfor (size_t o = 0; o < in; "
		"o++)\n\t\t\t\t\tto[o] -= "
		"line[o] * to[k];\n\t\t}\n\t}\n}\n" MAIN(
			"\tstatic float c[N];\n\tfor (int n = 0; n < 19; n++) {\n\t\tmixed(c, a, b, n, "
			"17);\n\t\tfor (int i = 0; i < N; i += 3)\n\t\t\tprintf(\"%.9g\\n\", c[i]);\n\t}\n"),
		0, true},
	{"hoist",
		HEAD
		"void scale(float *x, int n, float d)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] *= 1 / "
		"sqrtf(d);\n}\n" MAIN("\tscale(a, N, 3);\n\tscale(b, 0, -1);\n\tshow();\n"),
		0, false},
	{"restrict",
		HEAD "static void mix(float *y, const float *x, int n)\n{\n\tfor (int i = 0; i < n; "
		     "i++)\n\t\ty[i] += "
		     "x[n - 1 - i] * y[0];\n}\n" MAIN(
			     "\tfloat p[64], q[64];\n\tmemcpy(p, a, sizeof(p));\n\tmemcpy(q, b, "
			     "sizeof(q));\n\tmix(p, q, 64);\n\tmemcpy(a, p, sizeof(p));\n\tshow();\n"),
		0, false},
};

/* The parts of libgomp that loops of static schedule need: guided ones need more. */
static const char runtime_text[] =
	"#include <pthread.h>\n#define THREADS 4\nstatic __thread int id, team = 1;\nstruct job {\n\tvoid "
	"(*function)(void *);\n\tvoid *data;\n\tint id;\n};\nstatic void *work(void *argument)\n{\n\tstruct "
	"job *job "
	"= argument;\n\tid = job->id;\n\tteam = THREADS;\n\tjob->function(job->data);\n\treturn 0;\n}\nvoid "
	"GOMP_parallel(void (*function)(void *), void *data, unsigned n, unsigned flags)\n{\n\tpthread_t "
	"threads[THREADS];\n\tstruct job jobs[THREADS];\n\t(void)flags;\n\tif (n == 1) "
	"{\n\t\tfunction(data);\n\t\treturn;\n\t}\n\tfor (int i = 1; i < THREADS; i++) {\n\t\tjobs[i] = "
	"(struct "
	"job){function, data, i};\n\t\tpthread_create(&threads[i], 0, work, &jobs[i]);\n\t}\n\tid = "
	"0;\n\tteam = "
	"THREADS;\n\tfunction(data);\n\tteam = 1;\n\tfor (int i = 1; i < THREADS; "
	"i++)\n\t\tpthread_join(threads[i], 0);\n}\nint omp_get_num_threads(void)\n{\n\treturn team;\n}\nint "
	"omp_get_thread_num(void)\n{\n\treturn id;\n}\n";

static bool run(const char *dir, struct strbuf *ret_output, const char *command)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	struct process_run p = {.argv = argv, .dir = dir, .timeout_s = 100};
	struct err err = ERR_INIT;
	int status = -1;
	if (process_run(&p, ret_output, NULL, &status, &err) != OK)
		fail_msg("%s: %s", command, err.message);
	return status == 0;
}

static void must_run(const char *dir, struct strbuf *ret_output, const char *command)
{
	if (!run(dir, ret_output, command))
		fail_msg("%s\n%s", command, ret_output->buf);
}

static void write_text(const char *dir, const char *name, const char *text)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, &err), OK);
}

/* The file before and, in after/, with the change applied. */
static void write_sources(const char *dir, const struct example *e, const char *name)
{
	const struct codemod_file file = {name, e->text, strlen(e->text)};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	struct codemod_result result;
	struct err err = ERR_INIT;
	const char *diff = NULL;
	assert_int_equal(codemod_run(&file, 1, &arena, &result, &err), OK);
	for (size_t i = 0; i < result.n_proposals; i++)
		if (strcmp(result.proposals[i].info->name, e->codemod) == 0)
			diff = result.proposals[i].diff;
	if (!diff)
		fail_msg("%s proposes nothing for\n%s", e->codemod, e->text);
	must_run(dir, &output, "mkdir after");
	CLEANUP(free_ptr) char *copy = xasprintf("after/%s", name);
	write_text(dir, name, e->text);
	write_text(dir, copy, e->text);
	write_text(dir, "after/t.diff", diff);
	must_run(dir, &output, "cd after && GIT_CEILING_DIRECTORIES=/ git apply t.diff");
}

static void compare(const struct example *e, const char *before, const char *after)
{
	if (!e->tolerance) {
		assert_string_equal(before, after);
		return;
	}
	char *p, *q;
	for (;; before = p, after = q) {
		double x = strtod(before, &p), y = strtod(after, &q);
		if (p == before || q == after)
			break;
		if (!(fabs(x - y) <= e->tolerance * fabs(x)))
			fail_msg("%s: %.9g became %.9g", e->codemod, x, y);
	}
	assert_true(strspn(before, " \n") == strlen(before) && strspn(after, " \n") == strlen(after));
}

static bool has(const char *dir, const char *command)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	return run(dir, &output, command);
}

/* Without OpenMP the directives are comments: all passes are one thread's. */
static void check_alone(const char *dir, const struct example *e, const char *before)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	must_run(dir, &output,
		"cc -std=gnu11 -O2 -Wall -Wextra -Wno-unknown-pragmas -Werror -ffp-contract=off after/t.c -o "
		"v "
		"-lm && ./v");
	compare(e, before, output.buf);
}

static void check_threads(const char *dir)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	if (!has(dir, "gcc -fopenmp -fsanitize=thread probe.c -o probe && ./probe"))
		return; /* no such sanitizer here */
	write_text(dir, "runtime.c", runtime_text);
	must_run(dir, &output,
		"gcc -O1 -g -fopenmp -fsanitize=thread -c after/t.c -o t.o && gcc -O1 -g -fsanitize=thread "
		"-c "
		"runtime.c -o runtime.o && gcc -fsanitize=thread t.o runtime.o -o raced -pthread -lm && "
		"TSAN_OPTIONS=halt_on_error=1 ./raced");
}

static void does_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *e = &examples[i];
		char dir[] = "/tmp/codemod-XXXXXX";
		CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
		assert_non_null(mkdtemp(dir));
		write_text(dir, "probe.c", "int main(void) { return 0; }\n");
		bool has_openmp = has(dir, "cc -fopenmp probe.c -o probe");
		if (has_openmp) {
			write_sources(dir, e, "t.c");
			must_run(dir, &before,
				"cc -std=gnu11 -O2 -Wall -Wextra -Werror -ffp-contract=off -fopenmp t.c -o t "
				"-lm && ./t");
			must_run(dir, &after,
				"cc -std=gnu11 -O2 -Wall -Wextra -Werror -ffp-contract=off -fopenmp "
				"after/t.c -o u -lm && "
				"OMP_NUM_THREADS=3 ./u");
			assert_true(before.len > 0);
			compare(e, before.buf, after.buf);
			if (e->has_threads) {
				check_alone(dir, e, before.buf);
				check_threads(dir);
			}
		}
		CLEANUP(free_ptr) char *remove = xasprintf("rm -rf %s", dir);
		must_run("/tmp", &output, remove);
		if (!has_openmp)
			skip();
	}
}

#define TORCH                                                                                                \
	"import math\nimport torch\nfrom torch import nn, optim\ntorch.manual_seed(0)\ndevice = \"cpu\"\n"   \
	"torch.set_printoptions(precision=9, threshold=10 ** 6, sci_mode=False)\n"
#define STEPS                                                                                                \
	"for i in range(4):\n    o.zero_grad()\n    net(torch.randn(8, 30)).pow(2).sum().backward()\n    "   \
	"o.step()\n"                                                                                         \
	"for p in net.parameters():\n    print(*p.detach().flatten().tolist())\n"
#define NET "net = nn.Sequential(nn.Linear(30, 20), nn.Tanh(), nn.Linear(20, 3))\n"

/* Tolerances: some roundings of fp32, relative to values and gradients of about 1. */
static const struct example torch_examples[] = {
	{"gelu",
		TORCH
		"def act(x):\n    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + "
		"0.044715 * "
		"torch.pow(x, 3.0))))\nx = torch.randn(500, dtype=torch.float64, requires_grad=True)\ny = "
		"act(x)\ny.sum().backward()\nprint(*y.tolist(), *x.grad.tolist())\n",
		1e-10, false},
	{"grad-norm",
		TORCH NET
		"net[2].weight.requires_grad_(False)\nnet(torch.randn(8, 30)).pow(2).sum().backward()\n"
		"total_norm = 0.0\nfor p in net.parameters():\n    if p.grad is not None:\n        "
		"param_norm = "
		"p.grad.data.norm(2)\n        total_norm += param_norm.item() ** 2\ntotal_norm = total_norm "
		"** "
		"0.5\nprint(total_norm)\n",
		0, false},
	{"foreach-optimizer", TORCH NET "o = optim.RMSprop(net.parameters(), lr=1e-3)\n" STEPS, 1e-5, false},
	{"fused-optimizer", TORCH NET "o = optim.AdamW(net.parameters(), lr=1e-3)\n" STEPS, 1e-5, false},
	{"clip-foreach",
		TORCH NET
		"net(torch.randn(8, 30)).pow(2).sum().backward()\nprint(torch.nn.utils.clip_grad_norm_("
		"net.parameters(), 0.1, foreach=False).item())\nfor p in net.parameters():\n    "
		"print(*p.grad.flatten().tolist())\n",
		1e-5, false},
	{"channels-last",
		TORCH
		"model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), "
		"nn.Flatten(), nn.Linear(288, 10))\nmodel = model.to(device)\npictures = torch.randn(4, 3, "
		"14, "
		"14)\nimages = pictures.to(device)\nprint(*model(images).flatten().tolist())\n",
		1e-4, false},
};

static void does_the_same_with_torch(void **state)
{
	(void)state;
	if (!has("/tmp", "python3 -c 'import torch; assert torch.__version__ >= \"2.\"'"))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(torch_examples); i++) {
		char dir[] = "/tmp/codemod-XXXXXX";
		CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
		assert_non_null(mkdtemp(dir));
		write_sources(dir, &torch_examples[i], "t.py");
		must_run(dir, &before, "python3 t.py 2>/dev/null");
		must_run(dir, &after, "python3 after/t.py 2>/dev/null");
		assert_true(before.len > 0);
		compare(&torch_examples[i], before.buf, after.buf);
		CLEANUP(free_ptr) char *remove = xasprintf("rm -rf %s", dir);
		must_run("/tmp", &output, remove);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(does_the_same),
		cmocka_unit_test(does_the_same_with_torch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
