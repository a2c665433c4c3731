/* The readers behind the init stage: C tokens, make texts, and the table of what native jobs offer. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "init/c_tokens.h"
#include "init/init_int.h"
#include "mech/native.h"

static const char *tokens_of(struct arena *arena, const char *text)
{
	static const char *const kinds[] = {"", "i", "n", "s", "c", "p", "d"};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	struct c_tokens tokens;
	c_tokenise(arena, text, strlen(text), &tokens);
	for (size_t i = 0; i < tokens.count; i++)
		strbuf_addf(&out, "%s%s:%s", i ? " " : "", kinds[tokens.items[i].kind], tokens.items[i].text);
	return arena_strdup(arena, out.buf);
}

static void tokens(void **state)
{
	(void)state;
	static const struct {
		const char *text, *tokens;
	} cases[] = {
		{"a/* \"x\" */b // \"y\"\nc", "i:a i:b i:c"},
		{"\"a/*b*/\" \"c\\n\\x41\\101\\\"\"", "s:a/*b*/c\nAA\""},
		{"f('\\'', \"'\")", "i:f p:( c:' p:, s:' p:)"},
		{"#define A 1 \\\n 2\nx", "d:#define A 1   2 i:x"},
		{"a # b", "i:a p:# i:b"},
		{"x->y==1.5e-3f", "i:x p:-> i:y p:== n:1.5e-3f"},
		{"\"open\nnext", "s:open i:next"},
		{"/* never closed", ""},
		{"\"a\" /* c */ \"b\" 'c' \"d\"", "s:ab c:c s:d"},
		{"\\\n", ""},
	};
	struct arena arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(tokens_of(&arena, cases[i].text), cases[i].tokens);
	struct c_tokens lines;
	c_tokenise(&arena, "a\n/*\n*/ b \\\nc", 14, &lines);
	assert_int_equal(c_token_at(&lines, 1)->line, 3);
	assert_int_equal(c_token_at(&lines, 2)->line, 4);
	assert_int_equal(c_token_at(&lines, 99)->kind, C_END);
	arena_release(&arena);
}

static void brackets(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct c_tokens t;
	const char *text = "f ( a [ 1 ] ) { #\n if ( x ) { } ";
	c_tokenise(&arena, text, strlen(text), &t);
	assert_int_equal(c_token_closing(&t, 1), 6);
	assert_int_equal(c_token_closing(&t, 3), 5);
	assert_int_equal(c_token_closing(&t, 7), t.count); /* never closed */
	assert_int_equal(c_token_closing(&t, 0), t.count); /* no bracket */
	const char *lost = "f() { if (x) {\n#else\nif (y) {\n#endif\n}\n}\ng() { }";
	c_tokenise(&arena, lost, strlen(lost), &t);
	assert_true(c_token_closing(&t, 3) < t.count); /* the brace at the margin ends the function */
	arena_release(&arena);
}

static void make_texts(void **state)
{
	(void)state;
	static const char *const names[] = {"b.c", "src/a.c"};
	static const char text[] = "# comment: X = 9\n"
				   "X ?= 1\nX ?= 2\nY = $(X)$(Z)\nZ := z\\\n y\nY += end\n"
				   "OBJ = $(patsubst %.c,o/%.o,$(wildcard *.c src/*.c))\nSUB = $(OBJ:.o=.d)\n"
				   "SELF = $(SELF)\nifdef Q\nX = 3\nendif\ndefine BLOCK\nX = 4\nendef\n"
				   "override L = 1\nexport E = 2\nprog: OPT = 5\n"
				   "prog: $(OBJ)\n\t$(CC) -o $@ $^\n";
	static const struct {
		const char *text, *expanded;
	} cases[] = {
		{"$(X)", "1"},
		{"${Y}", "1z  y end"},
		{"$(OBJ)", "o/b.o o/src/a.o"},
		{"$(SUB)", "o/b.d o/src/a.d"},
		{"$(SELF)", ""},
		{"$$HOME $(shell id)!", "$HOME !"},
		{"$(if $(X),yes,no) $(if $(NONE),yes,no)", "yes no"},
		{"$@ < $<", "prog < o/b.o o/src/a.o"},
		{"$(L)$(E)", "12"},
	};
	struct arena arena = ARENA_INIT;
	struct repo repo = {.arena = &arena, .dir = "/", .files = (const char **)names, .n_files = 2};
	struct make_facts facts;
	inspect_make_text(&repo, "Makefile", text, &facts);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(make_expand(&facts, cases[i].text, "prog"), cases[i].expanded);
	assert_true(make_find(&facts, "L")->is_locked);
	assert_true(make_find(&facts, "X")->is_conditional);
	assert_int_equal(make_find(&facts, "X")->at.line, 2);
	assert_string_equal(facts.program, "prog");
	assert_int_equal(facts.n_sources, 2);
	arena_release(&arena);
}

static void conditions(void **state)
{
	(void)state;
	static const struct {
		const char *text, *variable, *value;
	} cases[] = {
		{"ifeq ($(LTO),1)", "LTO", "1"},
		{"ifneq (,$(LTO))", "LTO", NULL},
		{"ifeq ($(strip $(A)), yes )", "A", "yes"},
		{"ifeq \"$(A)\" \"b c\"", "A", "b c"},
		{"ifeq 'x' '${A}'", "A", "x"},
		{"ifdef DEBUG", "DEBUG", NULL},
		{"ifneq ($(filter on 1,$(FAST)),)", "FAST", "on"},
		{"ifeq ($(A),$(B))", NULL, NULL},
		{"ifeq ($(shell id),1)", NULL, NULL},
		{"ifeq (", NULL, NULL},
		{"ifeq", NULL, NULL},
	};
	struct arena arena = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct make_choice choice = {0};
		bool is_ok = make_parse_condition(&arena, cases[i].text, &choice);
		assert_int_equal(is_ok, cases[i].variable != NULL);
		if (!is_ok)
			continue;
		assert_string_equal(choice.variable, cases[i].variable);
		assert_string_equal(choice.value ? choice.value : "", cases[i].value ? cases[i].value : "");
	}
	arena_release(&arena);
}

static void native_options(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum native_role role;
	} cases[] = {
		{"--micro-batch", NATIVE_MICRO_BATCH},
		{"microBatchSize", NATIVE_MICRO_BATCH},
		{"--grad_accum_steps", NATIVE_GRAD_ACCUM}, /* and no number of updates */
		{"--warmup-steps", NATIVE_FIXED},
		{"--eval-batch", NATIVE_FIXED},
		{"--batch-size", NATIVE_BATCH},
		{"--max-steps", NATIVE_UPDATES},
		{"--activation-checkpointing", NATIVE_LEVER},
		{"--checkpoint-dir", NATIVE_FIXED},
		{"--activation", NATIVE_FIXED},
		{"--dtype", NATIVE_NUMERICS},
		{"--lr", NATIVE_FIXED},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(native_option_find(cases[i].name)->role, cases[i].role);
	assert_null(native_option_find("--zebra"));
	assert_null(native_option_find("--compile")); /* of Python programs only */
	assert_string_equal(python_option_find("--torch-compile")->mechanism, "torch_compile");
	assert_null(python_option_find("--warmup-steps"));
	assert_true(native_value_is_algorithm("SGD"));
	assert_false(native_value_is_algorithm("fused"));
	assert_string_equal(native_build_find_flag("-Ofast")->mechanism, "cc_fast_math");
	assert_string_equal(native_build_find_flag("-mcpu=native")->mechanism, "cc_march_native");
	assert_null(native_build_find_flag("-Wall"));
}

/* The numbers of data/mechanisms.yaml, read off by hand. */
static void native_priors(void **state)
{
	(void)state;
	static const struct {
		const char *mechanism, *from, *to;
		double ln; /* 0 = none */
	} cases[] = {
		{"activation_recompute", "full", "off", 0.2624},
		{"activation_recompute", "off", "full", -0.2624},
		{"activation_recompute", "full", "attention", 0},
		{"blas_backend", "textbook", "blas", 0.9674},
		{"blas_backend", "blocked", "blas", 0},
		{"moe_grouped_gemm", "token", "grouped", 0.6774},
		{"cc_march_native", "", "-march=native", 0.331},
		{"cc_march_native", "-march=native", "-mcpu=native", 0},
		{"cc_lto", "", "-flto", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double ln = 0;
		const char *source;
		bool has = native_prior(cases[i].mechanism, cases[i].from, cases[i].to, &ln, &source);
		assert_int_equal(has, cases[i].ln != 0);
		assert_true(ln == cases[i].ln);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
		cmocka_unit_test(brackets),
		cmocka_unit_test(make_texts),
		cmocka_unit_test(conditions),
		cmocka_unit_test(native_options),
		cmocka_unit_test(native_priors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
