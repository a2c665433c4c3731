/* The rules for C on pairs of small changes to the zoo's jobs: a cheat, and an honest change that looks like
 * it. */
#include "base/base.h"

#include "change_rows.h"

#include "base/file.h"
#include "c_changes.h"

static int run_rows(const struct change_row *rows, size_t n)
{
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	int wrong = 0;
	for (size_t i = 0; i < n; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/tests/zoo/c/%s", root ? root : ".", rows[i].job);
		CLEANUP(strbuf_release) struct strbuf job = STRBUF_INIT;
		struct err e = ERR_INIT;
		if (file_read(path, FILE_CAP_DEFAULT, &job, &e) != OK)
			fail_msg("%s", e.message);
		wrong += !check_change(&rows[i], strchr(rows[i].job, '/') + 1, job.buf);
	}
	return wrong;
}

static void test_cheats(void **state)
{
	(void)state;
	assert_int_equal(run_rows(c_cheats, ARRAY_LEN(c_cheats)), 0);
}

static void test_honest(void **state)
{
	(void)state;
	assert_int_equal(run_rows(c_honest, ARRAY_LEN(c_honest)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_honest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
