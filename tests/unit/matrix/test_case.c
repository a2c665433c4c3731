/* The text of a case: what each line makes of a receipt, and what is wrong with a line. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "matrix/matrix_int.h"

static struct arena arena;

/* A case of one reference run, one earlier trial and these lines, with everything expected that has to be. */
static enum err_code parse(const char *lines, struct matrix_case *ret_case, struct err *reterr)
{
	char text[4096];
	int used = snprintf(text, sizeof(text), "trials: 1\n%s\nexpect valid\n", lines);
	for (int i = 0; i < N_ITEMS; i++)
		used += snprintf(
			text + used, sizeof(text) - (size_t)used, "expect %s pass\n", item_infos[i].name);
	return matrix_case_parse("a.case", text, (size_t)used, NULL, &arena, ret_case, reterr);
}

static int drop_arena(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* The candidate's payload after these lines; release the docs. */
static json_t *payload_after(const char *lines, struct docs *docs)
{
	struct matrix_case c;
	struct err err = ERR_INIT;
	if (parse(lines, &c, &err) != OK || docs_build(&c, docs, &err) != OK)
		fail_msg("%s: %s", lines, err.message);
	matrix_case_release(&c);
	return docs_find(docs, WHO_CANDIDATE, 1)->payload;
}

/* The value at a place of a column, as JSON. */
static void expect_column(const char *lines, const char *column, size_t index, const char *wanted)
{
	struct docs docs;
	json_t *updates = json_object_get(payload_after(lines, &docs), "updates");
	char *found = json_dumps(json_array_get(json_object_get(updates, column), index),
		JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	if (!found || strcmp(found, wanted) != 0)
		fail_msg("%s: %s, expected %s", lines, found, wanted);
	free(found);
	docs_release(&docs);
}

static void lines_change_columns(void **state)
{
	(void)state;
	expect_column("line updates.*.loss 5 -0.5", "loss", 3, "3.0"); /* 5 - 0.5 * 4 */
	expect_column("line updates.*.loss 5 -0.5\nset updates.4.loss x0.5", "loss", 3, "1.5");
	expect_column("line updates.*.loss 5 -0.5\nset updates.4.loss +10%", "loss", 3, "3.3");
	expect_column("line updates.*.loss 5 -0.5\nset updates.4..5.loss -50%", "loss", 4, "1.25");
	expect_column("line updates.*.loss 5 -0.5\nset updates.4..5.loss -50%", "loss", 5, "2.0");
	expect_column("line updates.*.loss 5 -0.5\nadd updates.4.loss -1", "loss", 3, "2.0");
	expect_column("line updates.*.loss 5 -0.123\nround updates.4.loss 1", "loss", 3, "4.5"); /* 4.508 */
	expect_column("set updates.4.loss nan", "loss", 3, "\"nan\"");
	expect_column("set updates.4.tokens 4096\nset updates.4.tokens x0.5", "tokens", 3, "2048");
	expect_column("set updates.4.tokens 4096\ndrop updates.4.tokens", "tokens", 3, "null");
	expect_column("set updates.4.mem_bytes 2 KiB", "mem_bytes", 3, "2048.0");
	expect_column("set updates.4.seq_len 3%", "seq_len", 3, "0.03");
	expect_column("line updates.*.lr 0 1\nswap updates.4..5.lr", "lr", 3, "5.0");
	/* printf 'rows 4' | sha256sum, the first half */
	expect_column("hash updates.*.data rows", "data", 3, "\"3b0da52f808e65a2236a0eb6b9eed395\"");
}

static void lines_know_whose_receipt(void **state)
{
	(void)state;
	expect_column(
		"line references.1.updates.*.lr 0 1\ncopy updates.*.lr from references.1", "lr", 3, "4.0");
	expect_column("line references.*.updates.*.lr 0 1\ncopy updates.*.lr from references.1 later 1", "lr",
		3, "3.0");
	expect_column("line all.updates.*.lr 0 2\nset trials.1.updates.*.lr 9\n", "lr", 3, "8.0");
	expect_column(
		"line trials.1.updates.*.lr 0 1\ncopy updates.*.lr from trials.1 later -1", "lr", 3, "5.0");
	/* What stands for no update keeps what it had. */
	expect_column("set updates.*.lr 7\nline references.1.updates.*.lr 0 1\n"
		      "copy updates.*.lr from references.1 later 1",
		"lr", 0, "7");
}

/* Normal with the standard deviation that is asked for: the mean of 1000 squares of z is 1 +- 0.045. */
static void noise_is_of_its_size(void **state)
{
	(void)state;
	struct docs docs;
	json_t *updates = json_object_get(
		payload_after("ran 1000\nset updates.*.loss 1.0\nnoise updates.*.loss 2% 5", &docs),
		"updates");
	double squares = 0, z;
	for (size_t i = 0; i < 1000; i++) {
		z = (json_number_value(json_array_get(json_object_get(updates, "loss"), i)) - 1) / 0.02;
		squares += z * z;
	}
	assert_true(fabs(squares / 1000 - 1) < 4 * 0.045);
	docs_release(&docs);
}

static void runs_are_cut_and_lengthened(void **state)
{
	(void)state;
	struct docs docs;
	json_t *updates = json_object_get(payload_after("ran 2", &docs), "updates");
	assert_int_equal(json_array_size(json_object_get(updates, "update")), 2);
	docs_release(&docs);
	updates = json_object_get(payload_after("ran 33", &docs), "updates");
	assert_int_equal(json_array_size(json_object_get(updates, "loss")), 33);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(updates, "update"), 32)), 33);
	docs_release(&docs);
}

/* Line 2 of the text is the first of these. */
static void mistakes_have_their_line(void **state)
{
	(void)state;
	static const struct {
		const char *lines;
		int line;
		const char *says;
	} wrong[] = {
		{"set", 2, "set: expected a field"},
		{"set updates.*.loss", 2, "expected a value"},
		{"\nset updates.*.los 1", 3, "did you mean 'loss'?"},
		{"set update.3.loss 1", 2, "did you mean 'updates'?"},
		{"set updates.0.loss 1", 2, "expected updates.WHICH.FIELD"},
		{"set updates.5..4.loss 1", 2, "expected updates.WHICH.FIELD"},
		{"set updates.31.loss 1", 2, "no such update"},
		{"set updates.3.loss x2", 2, "has no number"},
		{"add updates.3.loss 1", 2, "no number to add to"},
		{"line updates.3.loss 1", 2, "two numbers A B"},
		{"noise updates.3.loss much 1", 2, "a standard deviation"},
		{"round updates.3.loss 99", 2, "0 to 15 decimals"},
		{"set files.0.after x", 2, "expected * or 0 to 0"},
		{"copy updates.*.loss from references.2", 2, "there is no references.2"},
		{"copy updates.*.loss from nowhere", 2, "from references.N"},
		{"copy updates.*.loss from references.1 later much", 2, "from references.N"},
		{"swap updates.1..3.loss", 2, "expected two places"},
		{"swap updates.1.loss", 2, "expected two places"},
		{"ran many", 2, "a number of updates"},
		{"ran 1001", 2, "a number of updates up to 1000"},
		{"insert schema 2", 2, "a field that a receipt does not have"},
		{"set references.2.seq 1", 2, "no such receipt"},
		{"omit references.2", 2, "no such receipt"},
		{"judge references.2", 2, "one receipt of this case"},
		{"judge all", 2, "one receipt of this case"},
		{"omit candidate", 0, "is left out"},
		{"unsign everything", 2, "expected hmac, ed25519 or public_key"},
		{"sign mine", 2, "expected stranger"},
		{"twice now", 2, "nothing expected behind it"},
		{"edit references.1.seq 4", 2, "the candidate's"},
		{"base: dense", 2, "before everything else"},
		{"references: 9", 2, "from 1 to 8"},
		{"trials: -1", 2, "from 0 to 8"},
		{"paper: maybe", 2, "accepted or rejected"},
		{"expect speed_reproduces", 2, "expected pass, fail"},
		{"expect invalid everything", 2, "the item that rejects"},
		{"expect refused kindly", 2, "a name such as edited"},
		{"expect review odd", 2, "a kind of review"},
		{"expect nothing", 2, "one of the 16 items"},
		{"frobnicate x\x1b[31m", 2, "a change such as set"},
	};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct matrix_case c;
		struct err err = ERR_INIT;
		enum err_code code = parse(wrong[i].lines, &c, &err);
		if (code == OK) {
			code = matrix_case_check(&c, &err);
			matrix_case_release(&c);
		}
		if (code != ERR_INPUT || err.line != wrong[i].line || !strstr(err.message, wrong[i].says) ||
			strchr(err.message, '\x1b'))
			fail_msg("'%s': code %d, line %d: %s", wrong[i].lines, code, err.line, err.message);
	}
}

static void a_case_has_to_be_complete(void **state)
{
	(void)state;
	struct matrix_case c;
	struct err err = ERR_INIT;
	static const char *const texts[] = {"", "# nothing\n", "expect valid\n",
		"expect refused edited\nbase: x\n", "base: ../x\n", "base: x\n"};
	static const char *const says[] = {"expected a line: expect valid", "expected a line: expect valid",
		"expected a line: expect completes", "before everything else", "no name of a file",
		"no name of a file"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(
			matrix_case_parse("a.case", texts[i], strlen(texts[i]), NULL, &arena, &c, &err),
			ERR_INPUT);
		if (!strstr(err.message, says[i]))
			fail_msg("'%s': %s", texts[i], err.message);
	}
	assert_int_equal(matrix_case_parse("a.case", "a\0b", 3, NULL, &arena, &c, &err), ERR_INPUT);
	assert_non_null(strstr(err.message, "NUL"));
}

static void comments_at_the_top_are_what_it_is_about(void **state)
{
	(void)state;
	struct matrix_case c;
	struct err err = ERR_INIT;
	static const char text[] = "# One\n#   two.\n\nreferences: 1\n# not this\nexpect refused edited\n";
	assert_int_equal(matrix_case_parse("a.case", text, strlen(text), NULL, &arena, &c, &err), OK);
	assert_string_equal(c.about, "One two.");
	matrix_case_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_change_columns),
		cmocka_unit_test(lines_know_whose_receipt),
		cmocka_unit_test(noise_is_of_its_size),
		cmocka_unit_test(runs_are_cut_and_lengthened),
		cmocka_unit_test(mistakes_have_their_line),
		cmocka_unit_test(a_case_has_to_be_complete),
		cmocka_unit_test(comments_at_the_top_are_what_it_is_about),
	};
	return cmocka_run_group_tests(tests, NULL, drop_arena);
}
