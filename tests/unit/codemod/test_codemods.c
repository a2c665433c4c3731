/* Each codemod: where it applies and what it then writes, where it refuses, where it has nothing to say. The
 * expected lines were written by hand from what the change has to be. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "codemod/codemod.h"
#include "examples_blocking.h"
#include "examples_threads.h"
#include "examples_torch.h"

#define TORCH "import torch\nfrom torch import optim\n"
#define ATTENTION(scale, mask, between, tail)                                                                \
	"import math, torch\nimport torch.nn.functional as F\ndef attend(self, q, k, v, T):\n"               \
	"    bias = torch.tril(torch.ones(T, T))\n    att = (q @ k.transpose(-2, -1)) " scale "\n"           \
	"    att = att.masked_fill(" mask ", float('-inf'))\n" between                                       \
	"    att = F.softmax(att, dim=-1)\n    y = att @ v\n    return " tail "\n"
#define USUAL_SCALE "* (1.0 / math.sqrt(k.size(-1)))"
#define USUAL_MASK "bias[:, :, :T, :T] == 0"
#define PRODUCT(head, outer, body)                                                                           \
	"static void product(const float *a, const float *b, float *restrict c, int n)\n{\n" head            \
	"\tfor (int j = 0; j < n; " outer                                                                    \
	") {\n\t\tfloat s = 0;\n\t\tfor (int k = 0; k < n; k++)\n\t\t\t" body "\n\t\tc[j] = s;\n\t}\n}\n"
#define LOOPS(before, body)                                                                                  \
	before "for (int j = 0; j < n; j++) {\n\t\tfloat s = 0;\n\t\tfor (int k = 0; k < n; "                \
	       "k++)\n\t\t\t" body "\n\t\tc[j] = s;\n\t}\n"
#define HOISTED                                                                                              \
	"void f(float *x, int n, float d)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] = sqrtf(d);\n}\n"
#define TABLE(rows) "struct s table[] = {\n" rows "};\n"
#define NOT_OWN                                                                                              \
	"the result is kept in another type, or may be read in the loop (restrict would say that it is not)"

static const struct example examples[] = {
	{"fused-optimizer", "t.py", TORCH "o = optim.AdamW(model.parameters(), lr=1e-3)\n",
		{"+o = optim.AdamW(model.parameters(), lr=1e-3, fused=True)\n"}, NULL},
	{"fused-optimizer", "t.py", TORCH "o = torch.optim.SGD(\n    params,\n    lr=1,\n)\n",
		{"+    lr=1, fused=True,\n"}, NULL},
	{"fused-optimizer", "t.py", TORCH "o = optim.AdamW(p, foreach=True)\n", {NULL},
		"the optimizer's implementation is chosen already"},
	{"fused-optimizer", "t.py", TORCH "o = optim.AdamW(p, **options)\n", {NULL},
		"its arguments come from elsewhere and may choose an implementation"},
	{"fused-optimizer", "t.py", TORCH "s = torch.GradScaler()\no = optim.Adam(p)\n", {NULL},
		"a fused optimizer treats scaled gradients (GradScaler) by itself"},
	{"fused-optimizer", "t.py", "o = mine.AdamW(p)\n", {NULL}, NULL},
	{"set-to-none", "t.py", "o.zero_grad(set_to_none=False)\n", {"+o.zero_grad(set_to_none=True)\n"},
		NULL},
	{"set-to-none", "t.py", "o.zero_grad()\n", {NULL}, NULL},
	{"set-to-none", "t.py", "g = torch.cuda.CUDAGraph()\no.zero_grad(set_to_none=False)\n", {NULL},
		"a captured graph writes to the gradients where they were"},
	{"bucket-view", "t.py", "m = DistributedDataParallel(m)\n",
		{"+m = DistributedDataParallel(m, gradient_as_bucket_view=True)\n"}, NULL},
	{"bucket-view", "t.py", "m = DistributedDataParallel(m)\np.grad.detach_()\n", {NULL},
		"gradients that are views cannot be detached in place (detach_)"},
	{"bucket-view", "t.py", "m = DDP(m)\n", {NULL}, NULL}, /* whose DDP? */
	{"pin-memory", "t.py", "x.cuda()\nl = DataLoader(d, num_workers=4)\n",
		{"+l = DataLoader(d, num_workers=4, pin_memory=True)\n"}, NULL},
	{"pin-memory", "t.py", "x.cuda()\nl = DataLoader(d, **options)\n", {NULL},
		"its arguments come from elsewhere"},
	{"pin-memory", "t.py", "l = DataLoader(d)\n", {NULL}, NULL}, /* no GPU to copy to */
	{"fused-optimizer", "t.py", TORCH "o = optim.SGD(p for p in model.parameters())\n", {NULL},
		"its arguments come from elsewhere and may choose an implementation"},
	{"set-to-none", "t.py", "p.requires_grad_(False)\no.zero_grad(set_to_none=False)\n", {NULL},
		"some parameters may go without a gradient, or gradients are read"},
	{"set-to-none", "t.py", "for p in ps: n += p.grad.norm()\no.zero_grad(set_to_none=False)\n", {NULL},
		"some parameters may go without a gradient, or gradients are read"},
	{"set-to-none", "t.py", "g = getattr(p, 'grad')\no.zero_grad(set_to_none=False)\n", {NULL},
		"some parameters may go without a gradient, or gradients are read"},
	/* Words of an option, of a text and of a comment read nothing. */
	{"set-to-none", "t.py",
		"a('--grad-clip', help='clip the grad norm')\no.zero_grad(set_to_none=False) # keep p.grad\n",
		{"+o.zero_grad(set_to_none=True) # keep p.grad\n"}, NULL},
	/* Another mask, in a file that has a triangle, too. */
	{"sdpa", "t.py", ATTENTION(USUAL_SCALE, "pad_mask == 0", "", "y"), {NULL},
		"the mask is not a causal one that this file makes"},
	{"compile", "t.py", "import torch\ndef f(model): model.to(d)\n", {NULL},
		"the move stands on a line with something else"},
	{"no-item-sync", "t.py", "t = 0.0\nfor x in xs:\n    t += loss.item()\nprint(f'{t}')\n", {NULL},
		"the sum is used where a tensor may not do"},
	{"sdpa", "t.py", ATTENTION(USUAL_SCALE, USUAL_MASK, "", "y"),
		{"+    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)\n",
			"-    y = att @ v\n", " def attend(self, q, k, v, T):\n"},
		NULL},
	{"sdpa", "t.py", ATTENTION(USUAL_SCALE, USUAL_MASK, "    att = att + self.slopes\n", "y"), {NULL},
		"between product and output something else happens to the scores"},
	{"sdpa", "t.py", ATTENTION(USUAL_SCALE, "mask", "", "y"), {NULL},
		"the mask is not a causal one that this file makes"},
	{"sdpa", "t.py", ATTENTION(USUAL_SCALE, USUAL_MASK, "", "y, att"), {NULL},
		"the scores are used elsewhere too"},
	{"sdpa", "t.py", ATTENTION("* 0.125", USUAL_MASK, "", "y"),
		{"+    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, "
		 "scale=0.125)\n"},
		NULL},
	/* Nobody can tell who else uses what stands at the top of a file. */
	{"sdpa", "t.py",
		"import torch\natt = q @ k.mT\natt = att.masked_fill(mask == 0, -1e9)\natt = "
		"att.softmax(-1)\ny = att @ v\n",
		{NULL}, "the mask is not a causal one that this file makes"},
	{"sdpa", "t.py", "import torch\natt = q @ k.mT\natt = att.softmax(-1)\ny = att @ v\n", {NULL},
		"the scores are used elsewhere too"},
	{"compile", "t.py", "import torch\ndef main():\n    model = Net().to(device)\n    o = opt(model)\n",
		/* In place: the parameters keep their names. */
		{" \x20   model = Net().to(device)\n+    model.compile()\n     o = opt(model)\n"}, NULL},
	{"compile", "t.py", "import torch\nmodel.to(d)\nmodel2.to(d)\n", {NULL},
		"several models are moved to a device"},
	{"compile", "t.py", "import torch\nif x:\n    model.to(d)\n", {NULL},
		"the model is moved under a condition or in a loop"},
	{"compile", "t.py", "import torch\nmodel.to(d)\nmodel.compile()\n", {NULL},
		"the file compiles something already"},
	{"compile", "t.py", "import torch\nx = x.to(device)\n", {NULL}, NULL},
	{"no-item-sync", "t.py", "t = 0.0\nfor x in xs:\n    t += loss.item()\nprint(f'{t / 3:.2f}')\n",
		{"+    t += loss.detach().float()\n"}, NULL},
	{"no-item-sync", "t.py", "t = 0.0\nfor x in xs:\n    t += loss.item()\nlog.append(t)\n", {NULL},
		"the sum is used where a tensor may not do"},
	{"no-item-sync", "t.py", "t += loss.item()\n", {NULL}, NULL}, /* no loop */
	{"loop-order", "t.c", PRODUCT("", "j++", "s += a[k] * b[k * n + j];"),
		{"+\tfor (int j = 0; j < n; j++)\n+\t\tc[j] = 0;\n",
			"+\tfor (int k = 0; k < n; k++)\n+\t\tfor (int j = "
			"0; j < n; j++)\n+\t\t\tc[j] += a[k] * b[k * n + j];\n"},
		NULL},
	{"loop-order", "t.c", PRODUCT("", "j += 2", "s += a[k] * b[k * n + j];"), {NULL},
		"a loop does not count up from 0 by one"},
	{"loop-order", "t.c", PRODUCT("#pragma omp parallel for\n", "j++", "s += a[k] * b[k * n + j];"),
		{NULL}, "a directive belongs to the loop"},
	{"loop-order", "t.c", PRODUCT("", "j++", "s += c[k] * b[k * n + j];"), {NULL},
		"the result is kept in another type, or may be read in the loop (restrict would say that it "
		"is not)"},
	{"loop-order", "t.c", PRODUCT("", "j++", "s += a[k] * b[j * n + k];"), {NULL}, NULL}, /* along rows */
	/* Memory that a or b may share, a type that only looks like the sum's, and a call on the loop's line.
	 */
	{"loop-order", "t.c",
		"static void product(const float *a, const float *b, float *c, int n)\n{\n" LOOPS(
			"\t", "s += a[k] * b[k * n + j];") "}\n",
		{NULL}, NOT_OWN},
	{"loop-order", "t.c",
		"static void product(const float *a, const float *b, unsigned short *restrict c, float *cos, "
		"int n)\n{\n" LOOPS("\t", "s += a[k] * b[k * n + j];") "}\n",
		{NULL}, NOT_OWN},
	{"loop-order", "t.c",
		"static void product(const float *a, const float *b, float *restrict c, int n)\n{\n" LOOPS(
			"\tn++; ", "s += a[k] * b[k * n + j];") "}\n",
		{NULL}, "two loops do not fit where this one stands"},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for schedule(dynamic)\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tsum[omp_get_thread_num()] += a[i];\n}\n",
		{NULL}, "which thread does what may matter here"},
	{"hoist", "t.c",
		"void f(float *x, int n, int d)\n{\n\tn++; for (int i = 0; i < n; i++)\n\t\tx[i] = "
		"sqrtf(d);\n}\n",
		{NULL}, "there is no place for a variable before the loop"},
	{"hoist", "t.c",
		"void f(float *x, int n, float d)\n{\n\tfloat *p = &d;\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tx[i] = "
		"sqrtf(d), *p = x[i];\n}\n",
		{NULL}, "a variable may be changed through a pointer or a macro"},
	{"hoist", "t.c",
		"void f(float *x, int n, float d)\n{\n\tfor (int i = 0; i < n; i++) "
		"{\n\t\tNEXT(d);\n\t\tx[i] = "
		"sqrtf(d);\n\t}\n}\n",
		{NULL}, "a variable may be changed through a pointer or a macro"},
	{"hoist", "t.c",
		"void f(float *x, int n, float d)\n{\n\tfloat hoisted_sqrtf_1;\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tx[i] = sqrtf(d);\n}\n",
		{NULL}, NULL},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, float z[])\n{\n\ty[0] += x[0] + z[0];\n}\nvoid "
		"g(void)\n{\n\tfloat a[8], b[8];\n\tadd(a, b, a);\n}\n",
		{NULL}, NULL},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\n#define TWICE(p) "
		"add(p, p, "
		"8)\nvoid g(void)\n{\n\tfloat a[8], b[8];\n\tadd(a, b, 8);\n}\n",
		{NULL}, "the function is used by more than calls in this file"},
	{"restrict", "t.h",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nstatic void "
		"g(void)\n{\n\tfloat a[8], b[8];\n\tadd(a, b, 8);\n}\n",
		{NULL}, NULL},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for\n\tfor (int i = 0; i < n; i++)\n\t\tfor (int j = "
		"0; j <= i; j++)\n\t\t\tg(i, j);\n}\n",
		{"+#pragma omp parallel for schedule(guided)\n"}, NULL},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for schedule(dynamic, 1)\n\tfor (int i = 0; i < n; "
		"i++)\n\t\ta[i] = 0;\n}\n",
		{"+#pragma omp parallel for schedule(static)\n"}, NULL},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for schedule(dynamic)\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tif (a[i])\n\t\t\tg(i);\n}\n",
		{NULL}, "passes of the loop may differ in their work"},
	{"omp-schedule", "t.c",
		"void f(int n)\n{\n#pragma omp parallel for reduction(+ : s) schedule(dynamic)\n\tfor (int i "
		"= 0; i < n; i++)\n\t\ts += a[i];\n}\n",
		{NULL}, "a reduction's order would change with the schedule"},
	{"hoist", "t.c",
		"void f(float *x, int n, int d)\n{\n#pragma omp parallel for\n\tfor (int i = 0; i < n; "
		"i++)\n\t\tx[i] *= 1 / sqrtf((float)d);\n}\n",
		{"+\tconst float hoisted_sqrtf_1 = sqrtf((float)d);\n #pragma omp parallel for\n",
			"+\t\tx[i] *= 1 / hoisted_sqrtf_1;\n"},
		NULL},
	{"hoist", "t.c",
		"void f(float *x, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] = sqrtf((float)i);\n}\n",
		{NULL}, NULL},
	{"hoist", "t.c",
		"void f(float *x, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tx[i] = expf(rate);\n}\n",
		{NULL}, "a variable outside of the function may change in the loop"},
	{"hoist", "t.c",
		"void f(float *x, int n, float d)\n{\n\tif (n)\n\t\tfor (int i = 0; i < n; i++)\n\t\t\tx[i] "
		"= expf(d);\n}\n",
		{NULL}, "there is no place for a variable before the loop"},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\tfor (int i = 0; i < n; "
		"i++)\n\t\ty[i] += "
		"x[i];\n}\nvoid g(void)\n{\n\tfloat a[8], b[8];\n\tadd(a, b, 8);\n}\n",
		{"+static void add(float *restrict y, const float *restrict x, int n)\n"}, NULL},
	/* Different names of what may be one piece of memory. */
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nvoid g(float *p, "
		"float *q)\n{\n\tadd(p, q, 8);\n}\n",
		{NULL}, "a call may pass the same memory twice"},
	{"restrict", "t.c",
		"static void add(float *y, const float *x, int n)\n{\n\ty[n] += x[n];\n}\nvoid "
		"g(void)\n{\n\tfloat "
		"a[8], b[8];\n\tadd(a, b, 8);\n\tcall(add);\n}\n",
		{NULL}, "the function is used by more than calls in this file"},
	{"hoist", "t.c",
		"void f(float *x, int n, int d)\n{\n\tfor (int i = 0; i < n; i++\n\t\tx[i] = sqrtf(d);\n}\n",
		{NULL}, NULL}, /* does not parse */
	/* A table with rows under a condition is all that the grammar does not know; anything else is not. */
	{"hoist", "t.c", HOISTED TABLE("\t{1},\n#ifndef FEW\n\t{2},\n#else\n\t{3},\n#endif\n"),
		{"+\tconst float hoisted_sqrtf_1 = sqrtf(d);\n"}, NULL},
	{"hoist", "t.c", HOISTED TABLE("\t{1,\n#ifndef FEW\n\t2},\n#else\n\t3},\n#endif\n"), {NULL}, NULL},
	{"hoist", "t.c", HOISTED TABLE("\t{1},\n#pragma few\n\t{2},\n"), {NULL}, NULL},
	{"hoist", "t.c", HOISTED "void g(void)\n{\n\t" TABLE("\t{1},\n#ifndef FEW\n\t{2},\n#endif\n") "}\n",
		{NULL}, NULL},
};

static const struct codemod_proposal *proposal_of(const struct codemod_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_proposals; i++)
		if (strcmp(r->proposals[i].info->name, name) == 0)
			return &r->proposals[i];
	return NULL;
}

static const char *refusal_of(const struct codemod_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_refusals; i++)
		if (strcmp(r->refusals[i].info->name, name) == 0)
			return r->refusals[i].reason;
	return NULL;
}

static void check(size_t index, const struct example *e, const struct codemod_result *r)
{
	const struct codemod_proposal *p = proposal_of(r, e->codemod);
	const char *reason = refusal_of(r, e->codemod);
	if (!p != !e->wanted[0])
		fail_msg("%zu %s: %s", index, e->codemod, p ? p->diff : reason ? reason : "no proposal");
	for (size_t i = 0; i < ARRAY_LEN(e->wanted) && e->wanted[i]; i++)
		if (!strstr(p->diff, e->wanted[i]))
			fail_msg("%zu %s: no '%s' in\n%s", index, e->codemod, e->wanted[i], p->diff);
	if (!reason != !e->reason || (reason && strcmp(reason, e->reason) != 0))
		fail_msg("%zu %s: refused '%s', expected '%s'", index, e->codemod, reason ? reason : "",
			e->reason ? e->reason : "");
}

static const struct table {
	const struct example *examples;
	size_t n;
} tables[] = {
	{examples, ARRAY_LEN(examples)},
	{blocking_examples, ARRAY_LEN(blocking_examples)},
	{thread_examples, ARRAY_LEN(thread_examples)},
	{torch_examples, ARRAY_LEN(torch_examples)},
};

static void does_what_it_says(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(tables); k++)
		for (size_t i = 0; i < tables[k].n; i++) {
			const struct example *e = &tables[k].examples[i];
			const struct codemod_file file = {e->path, e->text, strlen(e->text)};
			struct arena arena = {0};
			struct codemod_result result;
			struct err err = ERR_INIT;
			assert_int_equal(codemod_run(&file, 1, &arena, &result, &err), OK);
			check(i, e, &result);
			arena_release(&arena);
		}
}

#define CALLER(include)                                                                                      \
	include "void f(float *y, const float *w, int n)\n{\n#pragma omp parallel for\n\tfor (int r = 0; r " \
		"< n; "                                                                                      \
		"r++)\n\t\tfor (int k = 0; k < 9; k++)\n\t\t\tg(y + r * 8, w + k);\n}\n"
#define CALLED(kind, body) kind "void g(float *y, const float *x)\n{\n\t" body "\n}\n"

/* Functions that blocking looks into stand in other files of the program. */
static const struct {
	const char *caller, *path, *called, *third;
	const char *reason; /* NULL: it is blocked */
} programs[] = {
	{CALLER("#include \"lib/g.h\"\n"), "lib/g.h",
		"#ifndef G_H\n#define G_H\n" CALLED("static inline ", "y[0] += x[0];") "#endif\n", "", NULL},
	{CALLER(""), "g.c", CALLED("", "y[0] += x[0];"), "", NULL},
	/* Its names are those of its own file. */
	{CALLER("int calls;\n"), "g.c", CALLED("", "y[calls] += x[0];"), "",
		"a name is a macro, or declared where it is not seen"},
	{CALLER("#define STEP 3\n"), "g.c", "static float last[3];\n" CALLED("", "last[STEP] = x[0];"), "",
		"a variable outside of the function"},
	/* A static one of a file that the caller does not include; two of a name; a macro somewhere else. */
	{CALLER("#include \"h.h\"\n"), "g.h", CALLED("static ", "y[0] += x[0];"), "",
		"which function a call means is not known"},
	{CALLER(""), "g.c", CALLED("", "y[0] += x[0];"), CALLED("", "y[0] = 0;"),
		"which function a call means is not known"},
	{CALLER(""), "g.c", CALLED("", "y[0] += x[0];"), "#define g(y, x) count(y, x)\n",
		"which function a call means is not known"},
	{CALLER(""), "g.c", "#ifdef SLOW\n" CALLED("", "y[0] += x[0];") "#endif\n", "",
		"which function a call means is not known"},
	{CALLER(""), "g.c", CALLED("__attribute__((weak)) ", "y[0] += x[0];"), "",
		"what a call does is not known"},
	{CALLER(""), "g.c", CALLED("", "y[0] += x[0];"), "struct s {\n\t_Atomic int n;\n};\n",
		"the program has atomic objects"},
	{CALLER(""), "g.c", CALLED("", "t.n++;"), "", "a name is a macro, or declared where it is not seen"},
	{CALLER(""), "g.c", CALLED("", "type n = 3;\n\ty[n] = 0;"), "typedef int type;\n", NULL},
	{CALLER(""), "g.c", CALLED("", "type n = 3;\n\ty[n] = 0;"), "typedef volatile int type;\n",
		"a name is a macro, or declared where it is not seen"},
};

static void looks_into_other_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const struct codemod_file files[] = {
			{"t.c", programs[i].caller, strlen(programs[i].caller)},
			{programs[i].path, programs[i].called, strlen(programs[i].called)},
			{"third.c", programs[i].third, strlen(programs[i].third)},
		};
		struct arena arena = {0};
		struct codemod_result result;
		struct err err = ERR_INIT;
		assert_int_equal(codemod_run(files, ARRAY_LEN(files), &arena, &result, &err), OK);
		const char *reason = refusal_of(&result, "blocking");
		if (!proposal_of(&result, "blocking") != !!programs[i].reason ||
			!reason != !programs[i].reason || (reason && strcmp(reason, programs[i].reason) != 0))
			fail_msg("%zu: refused '%s'", i, reason ? reason : "");
		arena_release(&arena);
	}
}

/* Every codemod has an example that it changes and one that it leaves alone. */
static void examples_cover_all(void **state)
{
	(void)state;
	for (size_t c = 0; codemod_list(c); c++) {
		int changed = 0, left = 0;
		for (size_t k = 0; k < ARRAY_LEN(tables); k++)
			for (size_t i = 0; i < tables[k].n; i++) {
				const struct example *e = &tables[k].examples[i];
				if (strcmp(e->codemod, codemod_list(c)->name) != 0)
					continue;
				changed += e->wanted[0] != NULL;
				left += e->wanted[0] == NULL;
			}
		if (!changed || !left)
			fail_msg("%s", codemod_list(c)->name);
	}
}

/* Two places far apart, one at the end of a file without a last newline. */
static void writes_hunks(void **state)
{
	(void)state;
	static const char text[] =
		"o.zero_grad(set_to_none=False)\na = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\ng = 1\n"
		"o.zero_grad(set_to_none=False)";
	const struct codemod_file file = {"t.py", text, strlen(text)};
	struct arena arena = {0};
	struct codemod_result result;
	struct err err = ERR_INIT;
	assert_int_equal(codemod_run(&file, 1, &arena, &result, &err), OK);
	assert_string_equal(proposal_of(&result, "set-to-none")->diff,
		"--- a/t.py\n+++ b/t.py\n@@ -1,4 +1,4 @@\n-o.zero_grad(set_to_none=False)\n"
		"+o.zero_grad(set_to_none=True)\n a = 1\n b = 1\n c = 1\n@@ -6,4 +6,4 @@\n e = 1\n f = 1\n g "
		"= 1\n"
		"-o.zero_grad(set_to_none=False)\n\\ No newline at end of file\n"
		"+o.zero_grad(set_to_none=True)\n\\ No newline at end of file\n");
	assert_int_equal(proposal_of(&result, "set-to-none")->n_places, 2);
	arena_release(&arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(does_what_it_says),
		cmocka_unit_test(looks_into_other_files),
		cmocka_unit_test(examples_cover_all),
		cmocka_unit_test(writes_hunks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
