/*
 * Whole prompts against stored ones: tests/golden/prompt/<case>.request.json and <case>.prompt.txt, and the
 * question that goes back with a malformed answer. INFRARSI_BLESS=1 writes what is built, to be read before
 * it is committed.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "propose/prompt.h"

static void read_golden(const char *name, struct strbuf *text)
{
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", GOLDEN, name);
	if (file_read(path, FILE_CAP_DEFAULT, text, &e) != OK)
		fail_msg("%s", e.message);
}

static void compare(const char *name, const struct strbuf *built)
{
	CLEANUP(strbuf_release) struct strbuf stored = STRBUF_INIT;
	const char *bless = getenv("INFRARSI_BLESS");
	if (bless && *bless) {
		struct err e = ERR_INIT;
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", GOLDEN, name);
		if (file_write_atomic(path, built->buf, built->len, 0644, &e) != OK)
			fail_msg("%s", e.message);
	}
	read_golden(name, &stored);
	assert_string_equal(stored.buf, built->buf);
}

static void pin(const char *name)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf built = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *request = NULL;
	CLEANUP(free_ptr) char *request_name = xasprintf("%s.request.json", name);
	CLEANUP(free_ptr) char *prompt_name = xasprintf("%s.prompt.txt", name);
	struct prompt prompt = PROMPT_INIT;
	struct err e = ERR_INIT;
	read_golden(request_name, &text);
	if (json_object_parse(text.buf, request_name, &request, &e) != OK)
		fail_msg("%s", e.message);
	prompt_build(request, &prompt);
	assert_true(prompt.system.len + prompt.user.len <= PROMPT_BYTES);
	strbuf_addf(&built, "%s\n----\n%s", prompt.system.buf, prompt.user.buf);
	prompt_release(&prompt);
	compare(prompt_name, &built);
}

static void before_the_first_trial(void **state)
{
	(void)state;
	pin("start");
}

static void after_failures(void **state)
{
	(void)state;
	pin("revision");
}

static void a_review(void **state)
{
	(void)state;
	pin("review");
}

static void more_than_fits(void **state)
{
	(void)state;
	pin("too-long");
}

static void the_question_once_more(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	prompt_build_repair(
		"configurations[0] there is no knob or patch 'treads' (did you mean 'threads'?)", &text);
	compare("repair.prompt.txt", &text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_trial),
		cmocka_unit_test(after_failures),
		cmocka_unit_test(a_review),
		cmocka_unit_test(more_than_fits),
		cmocka_unit_test(the_question_once_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
