#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"

static void fields_have_a_value_when_absent(void **state)
{
	(void)state;
	CLEANUP(json_decref_ptr) json_t *object = NULL;
	assert_int_equal(json_object_parse("{\"t\":\"x\",\"n\":1.5,\"i\":-7,\"b\":true,\"z\":null}", "test",
				 &object, NULL),
		OK);
	assert_string_equal(json_text_of(object, "t"), "x");
	assert_string_equal(json_text_of(object, "n"), "");
	assert_string_equal(json_text_of(object, "absent"), "");
	assert_true(json_number_of(object, "n") == 1.5);
	assert_true(json_number_of(object, "i") == -7);
	assert_true(isnan(json_number_of(object, "z")) && isnan(json_number_of(object, "t")));
	assert_int_equal(json_integer_of(object, "i"), -7);
	assert_int_equal(json_integer_of(object, "n"), 0);
	assert_true(json_bool_of(object, "b"));
	assert_false(json_bool_of(object, "z"));
	assert_string_equal(json_text_of(NULL, "t"), "");
}

static void any_number_and_any_bytes_can_be_recorded(void **state)
{
	(void)state;
	json_t *object = json_object();
	json_object_set_new(object, "nan", json_from_number(NAN));
	json_object_set_new(object, "inf", json_from_number(INFINITY));
	json_object_set_new(object, "tenth", json_from_number(0.1));
	json_object_set_new(object, "bytes", json_from_text("a\xff"));
	json_object_set_new(object, "none", json_from_text(NULL));
	CLEANUP(free_ptr) char *text = json_dump_take(object);
	assert_string_equal(text, "{\"bytes\":\"a\\\\xff\",\"inf\":null,\"nan\":null,\"none\":\"\","
				  "\"tenth\":0.10000000000000001}");
	CLEANUP(json_decref_ptr) json_t *back = NULL;
	assert_int_equal(json_object_parse(text, "test", &back, NULL), OK);
	assert_true(json_number_of(back, "tenth") == 0.1);
}

static void what_is_no_object_is_refused_with_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "line 1 column 0"},
		{"{\n\"a\":}", "line 2 column 5"},
		{"[]", "expected a JSON object"},
		{"{\"a\":1,\"a\":2}", "duplicate"},
		{"{} x", "line 1"},
		{"{\"a\":\"\xff\"}", "0xff"},
		{"{\"a\":nan}", "line 1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *object = NULL;
		struct err e = ERR_INIT;
		assert_int_equal(json_object_parse(cases[i].text, "the record", &object, &e), ERR_INPUT);
		assert_null(object);
		assert_non_null(strstr(e.message, "the record: "));
		if (!strstr(e.message, cases[i].message))
			fail_msg("'%s' does not say '%s'", e.message, cases[i].message);
	}
	struct err e = ERR_INIT;
	json_t *object = NULL;
	assert_int_equal(json_object_parse("{\"a\":\x1b[31m}", "x", &object, &e), ERR_INPUT);
	assert_null(strchr(e.message, '\x1b')); /* the message quotes the text, harmlessly */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_a_value_when_absent),
		cmocka_unit_test(any_number_and_any_bytes_can_be_recorded),
		cmocka_unit_test(what_is_no_object_is_refused_with_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
