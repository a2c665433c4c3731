#include "base/base.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void message_and_place(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	char text[256];
	assert_int_equal(err_set(&e, ERR_INPUT, "expected %d", 3), ERR_INPUT);
	err_format(&e, text, sizeof(text));
	assert_string_equal(text, "expected 3");
	assert_int_equal(err_set_at(&e, ERR_INPUT, "a.yaml", 3, 7, "unknown key '%s'", "x"), ERR_INPUT);
	err_format(&e, text, sizeof(text));
	assert_string_equal(text, "a.yaml:3:7: unknown key 'x'");
	(void)err_set_at(&e, ERR_INPUT, "a.yaml", 3, 0, "no");
	err_format(&e, text, sizeof(text));
	assert_string_equal(text, "a.yaml:3: no");
	(void)err_set_at(&e, ERR_INPUT, "a.yaml", 0, 0, "no");
	err_format(&e, text, sizeof(text));
	assert_string_equal(text, "a.yaml: no");
	/* a new error without a place forgets the old one's */
	(void)err_set(&e, ERR_STATE, "plain");
	assert_true(e.file[0] == '\0' && e.line == 0 && e.column == 0);
}

static void errno_is_named(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	errno = ENOSPC;
	assert_int_equal(err_errno(&e, "writing %s", "f"), ERR_IO);
	assert_non_null(strstr(e.message, "writing f: "));
	assert_non_null(strstr(e.message, strerror(ENOSPC)));
}

static void context_goes_in_front_and_keeps_the_place(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	(void)err_set_at(&e, ERR_INPUT, "f", 2, 1, "inner");
	assert_int_equal(err_prefix(&e, ERR_INPUT, "outer %d", 1), ERR_INPUT);
	assert_string_equal(e.message, "outer 1: inner");
	assert_int_equal(e.line, 2);
}

static void the_old_message_may_be_an_argument(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	(void)err_set(&e, ERR_INPUT, "inner");
	(void)err_set(&e, ERR_STATE, "outer: %s (%s)", e.message, e.message);
	assert_string_equal(e.message, "outer: inner (inner)");
}

static void long_messages_are_cut_between_characters(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	char text[4000];
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'a', sizeof(text));
		for (size_t i = shift; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xF0\x9F\x98\x80", 4); /* U+1F600 */
		text[sizeof(text) - 1] = '\0';
		(void)err_set(&e, ERR_INPUT, "%s", text);
		size_t n = strlen(e.message);
		assert_true(n < sizeof(e.message) && n + 4 >= sizeof(e.message) - 1);
		assert_int_equal((n - shift) % 4, 0);
		(void)err_prefix(&e, ERR_INPUT, "%s", text);
		assert_true(strlen(e.message) < sizeof(e.message));
	}
	errno = EIO;
	(void)err_errno(&e, "%s", text);
	assert_true(strlen(e.message) < sizeof(e.message));
}

static void nobody_needs_to_listen(void **state)
{
	(void)state;
	errno = EIO;
	assert_int_equal(err_set(NULL, ERR_LIMIT, "x"), ERR_LIMIT);
	assert_int_equal(err_set_at(NULL, ERR_INPUT, "f", 1, 1, "x"), ERR_INPUT);
	assert_int_equal(err_errno(NULL, "x"), ERR_IO);
	assert_int_equal(err_prefix(NULL, ERR_STATE, "x"), ERR_STATE);
}

/* The table of DESIGN section 5. */
static void exit_codes(void **state)
{
	(void)state;
	static const struct {
		enum err_code code;
		int exit_code;
	} cases[] = {{OK, 0}, {ERR_FAILED, 1}, {ERR_IO, 1}, {ERR_INPUT, 2}, {ERR_NOT_FOUND, 2},
		{ERR_LIMIT, 2}, {ERR_STATE, 2}, {ERR_INTERRUPTED, 4}, {ERR_CONTRACT, 5}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(err_exit_code(cases[i].code), cases[i].exit_code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_and_place),
		cmocka_unit_test(errno_is_named),
		cmocka_unit_test(context_goes_in_front_and_keeps_the_place),
		cmocka_unit_test(the_old_message_may_be_an_argument),
		cmocka_unit_test(long_messages_are_cut_between_characters),
		cmocka_unit_test(nobody_needs_to_listen),
		cmocka_unit_test(exit_codes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
