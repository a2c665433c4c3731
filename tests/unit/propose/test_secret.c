/* A secret is found however JSON spells it. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "propose/secret.h"

static const struct example {
	const char *secret, *text, *hidden;
	bool was_cut;
} examples[] = {
	{"sk-abcdef", "key sk-abcdef, key sk-abcdef", "key *********, key *********", false},
	{"sk-abcdef", "no sk-abcde here", "no sk-abcde here", false},
	{"sk-abcdef", "cut sk-abc", "cut ******", true},
	{"sk-abcdef", "cut sk-abc", "cut sk-abc", false},
	{"short", "short", "short", false},
	{"sk-abcdef", "{\"reason\":\"\\u0073k-abcde\\u0066\"}", "{\"reason\":\"*******************\"}",
		false},
	{"ab/cd/ef", "ab\\/cd\\/ef", "**********", false},
	{"line one\nline \"2\"", "x line one\\nline \\\"2\\\" y", "x ******************** y", false},
	{"caf\xC3\xA9-caf\xC3\xA9", "caf\\u00e9-caf\\u00E9", "*******************", false},
	{"sk-abcdef", "\\u00", "\\u00", true},
	{"sk-abcdef", "sk-abcde\\", "sk-abcde\\", false},
};

static void hides_each_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s", examples[i].text);
		secret_hide(text, strlen(text), examples[i].secret, examples[i].was_cut);
		if (strcmp(text, examples[i].hidden) != 0)
			fail_msg("%zu: '%s', expected '%s'", i, text, examples[i].hidden);
	}
	secret_hide(NULL, 0, NULL, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(hides_each_spelling)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
