/* What is recorded is read back, in order; what is no record is named by its line. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "propose/transcript.h"

struct fixture {
	char dir[64], path[96];
	struct arena arena;
	struct transcript transcript;
	struct err err;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.dir = "/tmp/infrarsi-transcript-XXXXXX", .err = ERR_INIT};
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/t.jsonl", f->dir);
}

static void tear_down(struct fixture *f)
{
	assert_int_equal(remove_tree(f->dir, NULL), OK);
	arena_release(&f->arena);
}

static json_t *request_of(int n)
{
	return json_pack("{s:i, s:{s:f}, s:s}", "trials", n, "reference", "noise", 0.1, "text", "\u00fc\n");
}

static enum err_code append(struct fixture *f, int n, bool with_request)
{
	char digest[SHA256_HEX_SIZE], answer[64];
	json_t *request = request_of(n);
	transcript_digest(request, digest);
	CLEANUP(free_ptr) char *json = json_dump_take(request);
	snprintf(answer, sizeof(answer), "{\"n\":\n%d} \u00fc", n);
	const struct transcript_entry entry = {.proposer = "claude",
		.request_digest = digest,
		.request_json = with_request ? json : NULL,
		.answer = answer,
		.tokens_in = 100 + n,
		.tokens_out = 0.1,
		.usd = 0,
		.seconds = 1e-7};
	f->err = (struct err)ERR_INIT;
	return transcript_append(f->path, &entry, &f->err);
}

static enum err_code load(struct fixture *f)
{
	f->err = (struct err)ERR_INIT;
	return transcript_load(f->path, &f->arena, &f->transcript, &f->err);
}

static void write_file(struct fixture *f, const char *text)
{
	assert_int_equal(file_write_atomic(f->path, text, strlen(text), 0600, &f->err), OK);
}

static void reads_back_what_was_recorded(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	for (int i = 0; i < 5; i++)
		assert_int_equal(append(&f, i, i % 2), OK);
	assert_int_equal(load(&f), OK);
	assert_int_equal(f.transcript.n_entries, 5);
	for (int i = 0; i < 5; i++) {
		const struct transcript_entry *e = NULL;
		char answer[64];
		json_t *request = request_of(i);
		assert_int_equal(
			transcript_answer(&f.transcript, (size_t)i, request, TRANSCRIPT_STRICT, &e, &f.err),
			OK);
		snprintf(answer, sizeof(answer), "{\"n\":\n%d} \u00fc", i);
		assert_string_equal(e->proposer, "claude");
		assert_string_equal(e->answer, answer);
		assert_true(e->tokens_in == 100 + i && e->tokens_out == 0.1 && e->seconds == 1e-7);
		assert_int_equal(e->line, i + 1);
		assert_int_equal(e->request_json != NULL, i % 2);
		json_decref(request);
	}
	tear_down(&f);
}

static void strict_and_lenient(void **state)
{
	(void)state;
	struct fixture f;
	const struct transcript_entry *e = NULL;
	char text[2048];
	set_up(&f);
	assert_int_equal(append(&f, 0, false), OK);
	assert_int_equal(append(&f, 1, true), OK);
	assert_int_equal(load(&f), OK);
	json_t *other = request_of(7);
	assert_int_equal(
		transcript_answer(&f.transcript, 1, other, TRANSCRIPT_STRICT, &e, &f.err), ERR_INPUT);
	assert_null(e);
	assert_int_equal(f.err.line, 2);
	err_format(&f.err, text, sizeof(text));
	assert_non_null(strstr(text, "t.jsonl:2: this answer was given to another request ("));
	assert_non_null(strstr(text, "): 'trials' differs"));
	assert_int_equal(
		transcript_answer(&f.transcript, 0, other, TRANSCRIPT_STRICT, &e, &f.err), ERR_INPUT);
	assert_null(strstr(f.err.message, "differs")); /* its request was not recorded */
	assert_int_equal(transcript_answer(&f.transcript, 1, other, TRANSCRIPT_LENIENT, &e, &f.err), OK);
	assert_int_equal(e->line, 2);
	assert_int_equal(
		transcript_answer(&f.transcript, 2, other, TRANSCRIPT_LENIENT, &e, &f.err), ERR_NOT_FOUND);
	assert_string_equal(f.err.message, "the transcript has 2 answers, and number 3 is asked for");
	json_decref(other);
	tear_down(&f);
}

/* sha256 of "{}" (sha256sum). */
#define DIGEST "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
#define LINE(more)                                                                                           \
	"{\"schema\":\"infrarsi-transcript/1\",\"proposer\":\"p\",\"request_digest\":\"" DIGEST              \
	"\",\"answer\":\"{}\",\"tokens_in\":1,\"tokens_out\":2,\"usd\":0.5" more "}"

static void takes_lines_as_people_write_them(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	write_file(&f, "\n" LINE(",\"seconds\":3,\"request\":{}") "\r\n \t\n" LINE(",\"seconds\":0"));
	assert_int_equal(load(&f), OK);
	assert_int_equal(f.transcript.n_entries, 2);
	assert_int_equal(f.transcript.entries[0].line, 2);
	assert_string_equal(f.transcript.entries[0].request_json, "{}");
	assert_int_equal(f.transcript.entries[1].line, 4);
	write_file(&f, "");
	assert_int_equal(load(&f), OK);
	assert_int_equal(f.transcript.n_entries, 0);
	tear_down(&f);
}

static const struct bad {
	const char *line, *message;
} bad[] = {
	{"{", "not valid JSON: "},
	{"\x1b[31m", "not valid JSON: "},
	{"[1]", "a line is one JSON object"},
	{"{}", "'schema' must be \"infrarsi-transcript/1\""},
	{LINE(""), "'seconds' must be a number from 0"},
	{LINE(",\"seconds\":\"1\""), "'seconds' must be a number from 0"},
	{LINE(",\"seconds\":-1"), "'seconds' must be a number from 0"},
	{LINE(",\"seconds\":1,\"usd\":2"), "not valid JSON: duplicate object key"},
	{LINE(",\"seconds\":1,\"request\":7"), "'request' must be an object"},
	{LINE(",\"seconds\":1,\"request\":{\"a\":1}"), "request_digest is not the digest of 'request'"},
	{LINE(",\"seconds\":1,\"reqest\":{}"), "unknown key 'reqest' (did you mean 'request'?)"},
	{LINE(",\"seconds\":1,\"\\u001b[31m\":{}"), "unknown key '\\x1b[31m'"},
	{"{\"schema\":\"infrarsi-transcript/1\",\"proposer\":\"p\",\"request_digest\":\"44\"}",
		"'request_digest' must be 64 hexadecimal digits"},
	{"{\"schema\":\"infrarsi-transcript/1\",\"proposer\":7}", "'proposer' must be a name"},
};

static void names_the_line_that_is_bad(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%s\n%s\n", LINE(",\"seconds\":0"), bad[i].line);
		write_file(&f, text.buf);
		assert_int_equal(load(&f), ERR_INPUT);
		assert_string_equal(f.err.file, f.path);
		assert_int_equal(f.err.line, 2);
		if (strncmp(f.err.message, bad[i].message, strlen(bad[i].message)) != 0)
			fail_msg("%zu: %s", i, f.err.message);
		assert_null(strchr(f.err.message, '\x1b'));
	}
	tear_down(&f);
}

/* A crash in the middle of a line costs that line and no other. */
static void mends_what_a_crash_cut(void **state)
{
	(void)state;
	struct fixture f;
	CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT;
	set_up(&f);
	assert_int_equal(append(&f, 0, true), OK);
	assert_int_equal(append(&f, 1, true), OK);
	assert_int_equal(file_read(f.path, FILE_CAP_DEFAULT, &whole, &f.err), OK);
	size_t second = (size_t)(strchr(whole.buf, '\n') + 1 - whole.buf);
	for (size_t length = 0; length <= whole.len; length += 7) {
		assert_int_equal(file_write_atomic(f.path, whole.buf, length, 0600, &f.err), OK);
		assert_int_equal(append(&f, 2, false), OK);
		assert_int_equal(load(&f), OK);
		size_t expected = length < second - 1 ? 1 : length < whole.len - 1 ? 2 : 3;
		assert_int_equal(f.transcript.n_entries, expected);
		assert_true(f.transcript.entries[expected - 1].tokens_in == 102);
	}
	/* only the line's end is missing: the line stays */
	assert_int_equal(file_write_atomic(f.path, whole.buf, whole.len - 1, 0600, &f.err), OK);
	assert_int_equal(append(&f, 2, false), OK);
	assert_int_equal(load(&f), OK);
	assert_int_equal(f.transcript.n_entries, 3);
	tear_down(&f);
}

static void writes_nothing_that_it_could_not_read(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	struct transcript_entry entry = {.proposer = "p", .request_digest = DIGEST, .answer = "{}"};
	assert_int_equal(transcript_append(f.path, &entry, &f.err), OK);
	struct transcript_entry wrong[] = {entry, entry, entry, entry, entry};
	wrong[0].usd = -1;
	wrong[1].answer = "\xff";
	wrong[2].request_digest = "no";
	wrong[3].request_json = "{\"a\":1}";
	wrong[4].proposer = "";
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(transcript_append(f.path, &wrong[i], &f.err), ERR_INPUT);
	assert_int_equal(load(&f), OK);
	assert_int_equal(f.transcript.n_entries, 1);
	tear_down(&f);
}

static void files_that_are_none(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(load(&f), ERR_NOT_FOUND);
	assert_int_equal(mkfifo(f.path, 0600), 0);
	assert_int_equal(append(&f, 0, false), ERR_INPUT);
	assert_int_equal(load(&f), ERR_INPUT);
	unlink(f.path);
	assert_int_equal(symlink("/dev/null", f.path), 0);
	assert_int_equal(append(&f, 0, false), ERR_IO);
	tear_down(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_was_recorded),
		cmocka_unit_test(strict_and_lenient),
		cmocka_unit_test(takes_lines_as_people_write_them),
		cmocka_unit_test(names_the_line_that_is_bad),
		cmocka_unit_test(mends_what_a_crash_cut),
		cmocka_unit_test(writes_nothing_that_it_could_not_read),
		cmocka_unit_test(files_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
