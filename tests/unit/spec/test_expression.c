#include "spec_helpers.h"

#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/expression_names.h"
#include "spec/sandbox.h"

/* The value as text, or the message. */
static void evaluate(struct sandbox *s, const char *expression, char *buf, size_t size)
{
	struct err e = ERR_INIT;
	struct sandbox_value value;
	int handle;
	if (sandbox_compile(s, expression, &handle, &e) != OK ||
		sandbox_evaluate(s, handle, &value, &e) != OK)
		snprintf(buf, size, "error: %s", e.message);
	else if (value.kind == SANDBOX_BOOL)
		snprintf(buf, size, "%s", value.truth ? "true" : "false");
	else if (value.kind == SANDBOX_NUMBER)
		snprintf(buf, size, "%g%s", value.number, value.is_integer ? "" : " (float)");
	else
		snprintf(buf, size, "'%s'", value.text);
}

static const struct {
	const char *expression, *result;
} evaluations[] = {
	{"a * 8 == 24", "true"},
	{"7 // 2", "3"},
	{"7 / 2", "3.5 (float)"},
	{"a .. 'x'", "'3x'"},
	{"word == 'on' and a < 4", "true"},
	{"min(a, 2, 9)", "2"},
	{"max(a, 2.5)", "3"},
	{"floor(a / 2)", "1"},
	{"ceil(a / 2)", "2"},
	{"({on = 1, off = 2})[word]", "1"},
	{"a -- a comment", "3"},
	{"(function(x) return x * x end)(a)", "9"},
	/* what must not be there */
	{"string", "error: unknown name 'string'"},
	{"print", "error: unknown name 'print'"},
	{"getmetatable", "error: unknown name 'getmetatable'"},
	{"load", "error: unknown name 'load'"},
	{"('x'):rep(10)", "error: attempt to index a string value"},
	{"word:rep(10)", "error: attempt to index a string value (global 'word')"},
	{"word + 1", "error: attempt to perform arithmetic on a string value (global 'word')"},
	/* limits */
	{"(function() while true do end end)()", "error: takes more than 100000 instructions"},
	{"(function() local s = 'x' while true do s = s .. s end end)()",
		"error: needs more than the 1024 KiB of memory allowed"},
	{"(function() local t = {} local i = 0 while true do i = i + 1 t[i] = {} end end)()",
		"error: needs more than the 1024 KiB of memory allowed"},
	{"(function(f) return f(f) end)(function(f) return 1 + f(f) end)",
		"error: needs more than the 1024 KiB of memory allowed"},
	{"(function(f) return f(f) end)(function(f) return f(f) end)",
		"error: takes more than 100000 instructions"},
	{"\x1bLua", "error: unexpected symbol near '<\\27>'"},
	/* forms */
	{"", "error: the expression is empty"},
	{"-- nothing", "error: gives 0 values where one is expected"},
	{"1, 2", "error: gives 2 values where one is expected"},
	{"1 / 0", "error: gives a number that is not finite"},
	{"1 // 0", "error: attempt to divide by zero"},
	{"nil", "error: gives a nil"},
	{"{}", "error: gives a table"},
	{"(function() b = 1 return true end)()", "error: an expression cannot assign"},
	{"(function() a = 1 return true end)()", "error: an expression cannot assign"},
	/* nothing of the above has changed anything */
	{"a", "3"},
};

static void test_evaluations(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	struct sandbox *s = sandbox_new();
	assert_int_equal(
		sandbox_set(s, "a", &(struct sandbox_value){.kind = SANDBOX_NUMBER, .number = 3}, &e), OK);
	assert_int_equal(
		sandbox_set(s, "word", &(struct sandbox_value){.kind = SANDBOX_TEXT, .text = "on"}, &e), OK);
	for (size_t i = 0; i < ARRAY_LEN(evaluations); i++) {
		char result[1600];
		evaluate(s, evaluations[i].expression, result, sizeof(result));
		/* Versions of Lua differ in what they say behind "attempt to ...": only the beginning counts.
		 */
		bool is_error = strncmp(evaluations[i].result, "error: ", 7) == 0;
		size_t length = is_error ? strlen(evaluations[i].result) : sizeof(result);
		if (strncmp(result, evaluations[i].result, length) != 0)
			fail_msg("`%s` gives %s, expected %s", evaluations[i].expression, result,
				evaluations[i].result);
	}
	sandbox_free(s);
}

static const struct {
	const char *expression, *names; /* each followed by a blank */
	bool has_function;
} name_cases[] = {
	{"micro_batch * grad_accum == 64", "micro_batch grad_accum ", false},
	{"a .. b", "a b ", false},
	{"a.b.c:d(e)", "a e ", false},
	{"'a b' == \"c\\\"d\" and [[e]] ~= [==[f]]g]==]", "", false},
	{"{on = 1, off == x}", "off x ", false},
	{"a -- b\n + c --[[ d ]] + e", "a c e ", false},
	{"0xff + 1e+5 + 2 .. f3", "f3 ", false},
	{"not true and nil or a", "a ", false},
	{"(function(x) return x end)(a)", "x x a ", true},
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(name_cases); i++) {
		struct arena arena = ARENA_INIT;
		struct name_uses uses;
		CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
		expression_names(name_cases[i].expression, &arena, &uses);
		for (size_t k = 0; k < uses.count; k++)
			strbuf_addf(&names, "%s ", uses.items[k].name);
		assert_string_equal(names.buf, name_cases[i].names);
		assert_true(uses.has_function == name_cases[i].has_function);
		arena_release(&arena);
	}
}

static void test_set_of_a_task(void **state)
{
	(void)state;
	struct task task;
	struct err e = ERR_INIT;
	struct expression_set *set = NULL;
	parse_task(REALISTIC_TASK, &task);
	assert_int_equal(expression_set_create(&task, &set, &e), OK);
	assert_int_equal(expression_set_count(set), 3);
	size_t count;
	const size_t *knobs = constraint_knobs(set, 1, &count); /* through grad_accum */
	assert_int_equal(count, 1);
	assert_int_equal(knobs[0], 0);
	int setting[] = {0, 0, 0, 1, 1, 1};
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	for (int twice = 0; twice < 2; twice++) {
		assert_true(constraint_holds(set, 1, setting));
		assert_false(constraint_holds(set, 2, setting));
		setting[4] = 0;
		assert_true(constraint_holds(set, 2, setting));
		setting[4] = 1;
	}
	constraint_reason(set, 2, setting, &reason);
	assert_string_equal(
		reason.buf, "`compile == 'on' and liger == 'on'` (line 36) is a declared conflict");
	struct arena arena = ARENA_INIT;
	const char **texts;
	double *numbers;
	/* micro_batch 4: 64 / (4 * 8) = 2, printed as an integer */
	setting[0] = 2;
	assert_int_equal(expression_set_derive(set, setting, &arena, &texts, &numbers, &e), OK);
	assert_string_equal(texts[0], "2");
	assert_true(numbers[0] == 2);
	arena_release(&arena);
	expression_set_free(set);
	task_release(&task);
}

/* A value that an expression cannot work with makes the settings illegal, not the task wrong. */
static void test_failing_settings_are_illegal(void **state)
{
	(void)state;
	struct task task;
	struct err e = ERR_INIT;
	struct expression_set *set = NULL;
	parse_task("version: 1\nname: x\nlaunch: {command: [./t, '{a}', '{b}']}\ncontract: {updates: 5}\n"
		   "knobs:\n  - {name: a, values: [1, 0], reference: 1}\n  - {name: b, values: [2, 1], "
		   "reference: 2}\n"
		   "conflicts: [b == 1 and 4 // a > 4]\n",
		&task);
	assert_int_equal(expression_set_create(&task, &set, &e), OK);
	const int setting[] = {1, 1};
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	assert_false(constraint_holds(set, 0, setting));
	constraint_reason(set, 0, setting, &reason);
	assert_string_equal(reason.buf,
		"`b == 1 and 4 // a > 4` (line 8) cannot be evaluated: attempt to divide by zero");
	expression_set_free(set);
	task_release(&task);
}

static void test_derived_text(void **state)
{
	(void)state;
	struct task task;
	struct err e = ERR_INIT;
	struct expression_set *set = NULL;
	parse_task("version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\ncontract: {updates: 5}\n"
		   "knobs: [{name: a, values: [3], reference: 3}]\n"
		   "derived: {whole: 12 / a, tenth: a / 10, third: 1 / a, word: \"'n' .. a\", chain: whole + "
		   "1}\n",
		&task);
	static const char *const expected[] = {"4", "0.3", "0.3333333333333333", "n3", "5"};
	struct arena arena = ARENA_INIT;
	const char **texts;
	const int setting[] = {0};
	assert_int_equal(expression_set_create(&task, &set, &e), OK);
	assert_int_equal(expression_set_derive(set, setting, &arena, &texts, NULL, &e), OK);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_string_equal(texts[i], expected[i]);
	arena_release(&arena);
	expression_set_free(set);
	task_release(&task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evaluations),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_set_of_a_task),
		cmocka_unit_test(test_failing_settings_are_illegal),
		cmocka_unit_test(test_derived_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
