/* Every log below tests/logs says what its expectation says (tests/logs/README.md), however its bytes arrive.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/log_case.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

static char *corpus_folder(void)
{
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	assert_non_null(root);
	return xasprintf("%s/tests/logs", root);
}

static char **log_names(const char *folder, size_t *ret_count)
{
	char **names = NULL;
	struct err e = ERR_INIT;
	if (glob_files(folder, "**.log", &names, ret_count, &e) != OK)
		fail_msg("%s", e.message);
	return names;
}

static void every_case_agrees(void **state)
{
	(void)state;
	CLEANUP(free_ptr) char *folder = corpus_folder();
	struct log_literals *literals = log_literals_new();
	size_t n = 0, n_disagreeing = 0;
	char **names = log_names(folder, &n);
	assert_true(n >= 117);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, names[i]);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		struct err e = ERR_INIT;
		size_t count = 0;
		if (log_case_compare(path, literals, &text, &count, &e) != OK)
			fail_msg("%s: %s", names[i], e.message);
		if (count)
			print_message("%s\n%s", names[i], text.buf);
		n_disagreeing += count > 0;
	}
	free_strings(names, n);
	log_literals_free(literals);
	assert_int_equal(n_disagreeing, 0);
}

static void read_in_pieces(
	const struct strbuf *log, size_t piece, const struct log_literals *literals, struct strbuf *json)
{
	struct log_options options = {.literals = literals};
	struct log_scan *scan = log_scan_new(&options, NULL, NULL);
	struct log_summary summary;
	for (size_t i = 0; i < log->len; i += piece)
		log_scan_feed(scan, log->buf + i, MIN_OF(piece, log->len - i));
	log_scan_finish(scan, &summary);
	log_summary_to_json(&summary, json);
	log_summary_release(&summary);
}

static void pieces_do_not_matter(void **state)
{
	(void)state;
	static const size_t pieces[] = {1, 2, 7, 64};
	CLEANUP(free_ptr) char *folder = corpus_folder();
	struct log_literals *literals = log_literals_new();
	size_t n = 0;
	char **names = log_names(folder, &n);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, names[i]);
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT;
		assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &log, NULL), OK);
		read_in_pieces(&log, log.len + 1, literals, &whole);
		for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
			CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
			read_in_pieces(&log, pieces[k], literals, &json);
			if (strcmp(json.buf, whole.buf) != 0)
				fail_msg("%s in pieces of %zu bytes: %s", names[i], pieces[k], json.buf);
		}
	}
	free_strings(names, n);
	log_literals_free(literals);
}

/* A case that must not agree, so that the comparison is known to see differences. */
static void a_wrong_expectation_is_seen(void **state)
{
	(void)state;
	char folder[] = "/tmp/infrarsi-log-case-XXXXXX";
	assert_non_null(mkdtemp(folder));
	CLEANUP(free_ptr) char *log = xasprintf("%s/a.log", folder);
	CLEANUP(free_ptr) char *expected = xasprintf("%s/a.expected.json", folder);
	static const char lines[] = "step=1 loss=2.500000 dt=0.5 lr=0.1\ndone\n";
	static const char wrong[] = "{\"framework\":\"ddp\",\"steps\":[{\"step\":1,\"loss\":2.6,\"grad_"
				    "norm\":null,\"step_time_s\":0.5,"
				    "\"tokens_per_s\":null,\"mem_gib\":null,\"lr\":0.1}],\"failure\":null,"
				    "\"flags\":[\"resumed\"],"
				    "\"completed\":null}";
	assert_int_equal(file_write_atomic(log, lines, strlen(lines), 0644, NULL), OK);
	assert_int_equal(file_write_atomic(expected, wrong, strlen(wrong), 0644, NULL), OK);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	size_t count = 0;
	assert_int_equal(log_case_compare(log, NULL, &text, &count, NULL), OK);
	assert_string_equal(text.buf, "  steps[0].loss: got 2.5, expected 2.6\n"
				      "  flags: got nothing, expected [\"resumed\"]\n"
				      "  completed: got true, expected null\n");
	assert_int_equal(count, 3);
	assert_int_equal(remove_tree(folder, NULL), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_agrees),
		cmocka_unit_test(pieces_do_not_matter),
		cmocka_unit_test(a_wrong_expectation_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
