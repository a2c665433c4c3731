/* Suggestions from outside: put, listed in order, taken; and everything that may lie there instead. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/inbox.h"

struct fixture {
	char dir[64];
	struct arena arena;
	struct inbox box;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.dir = "/tmp/test-inbox-XXXXXX"};
	assert_non_null(mkdtemp(f->dir));
}

static void tear_down(struct fixture *f)
{
	arena_release(&f->arena);
	assert_int_equal(remove_tree(f->dir, NULL), OK);
}

static void list(struct fixture *f)
{
	assert_int_equal(inbox_list(f->dir, &f->arena, &f->box, NULL), OK);
}

static char *path_of(const struct fixture *f, const char *name)
{
	return xasprintf("%s/inbox/%s", f->dir, name);
}

static void write_file(const struct fixture *f, const char *name, const char *text, size_t length)
{
	CLEANUP(free_ptr) char *folder = path_of(f, "");
	CLEANUP(free_ptr) char *path = path_of(f, name);
	assert_int_equal(make_dirs(folder, 0755, NULL), OK);
	assert_int_equal(file_write_atomic(path, text, length, 0644, NULL), OK);
}

static bool lies(const struct fixture *f, const char *name)
{
	CLEANUP(free_ptr) char *path = path_of(f, name);
	return path_exists(path);
}

static void put(struct fixture *f, const char *answer, bool measure, char name[INBOX_NAME_SIZE])
{
	const struct inbox_item item = {.proposer = "mcp", .measure = measure, .answer = answer};
	struct err e = ERR_INIT;
	if (inbox_put(f->dir, &item, name, &e) != OK)
		fail_msg("%s", e.message);
}

static void there_and_back(void **state)
{
	(void)state;
	struct fixture f;
	char names[3][INBOX_NAME_SIZE];
	set_up(&f);
	list(&f);
	assert_int_equal(f.box.n_items + f.box.n_refused, 0);
	assert_int_equal(inbox_count(f.dir), 0);
	put(&f, "{\"configurations\": [{\"settings\": {\"b\": \"h\\u00e9\", \"a\": 1}}]}", true, names[0]);
	put(&f, "{}", false, names[1]);
	put(&f, "{\"patches\": []}", false, names[2]);
	assert_int_equal(inbox_count(f.dir), 3);
	list(&f);
	assert_int_equal(f.box.n_refused, 0);
	assert_int_equal(f.box.n_items, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(f.box.items[i].name, names[i]);
	assert_true(f.box.items[0].measure);
	assert_false(f.box.items[1].measure);
	assert_string_equal(f.box.items[0].proposer, "mcp");
	assert_string_equal(
		f.box.items[0].answer, "{\"configurations\":[{\"settings\":{\"a\":1,\"b\":\"h\xc3\xa9\"}}]}");
	/* What was not moved is listed again. */
	list(&f);
	assert_int_equal(f.box.n_items, 3);
	assert_int_equal(inbox_done(f.dir, names[1], NULL), OK);
	assert_int_equal(inbox_done(f.dir, names[1], NULL), OK);
	list(&f);
	assert_int_equal(f.box.n_items, 2);
	assert_string_equal(f.box.items[1].name, names[2]);
	CLEANUP(free_ptr) char *taken = xasprintf("taken/%s", names[1]);
	assert_true(lies(&f, taken));
	tear_down(&f);
}

/* Names of a clock that runs ahead: those that come later stay later. */
static void order_outlives_the_clock(void **state)
{
	(void)state;
	static const char text[] =
		"{\"schema\": \"infrarsi-inbox/1\", \"proposer\": \"x\", \"measure\": false, "
		"\"answer\": {}}";
	static const char future[] = "09999999999999999999-00000000.json";
	struct fixture f;
	char names[2][INBOX_NAME_SIZE];
	set_up(&f);
	write_file(&f, future, text, strlen(text));
	put(&f, "{}", false, names[0]);
	put(&f, "{}", false, names[1]);
	list(&f);
	assert_int_equal(f.box.n_items, 3);
	assert_string_equal(f.box.items[0].name, future);
	assert_string_equal(f.box.items[1].name, names[0]);
	assert_string_equal(f.box.items[2].name, names[1]);
	tear_down(&f);
}

#define HEAD "{\"schema\": \"infrarsi-inbox/1\", \"proposer\": \"mcp\", \"measure\": true"

/* What a file holds instead, and what the refusal says. */
static const struct {
	const char *text, *reason;
} broken[] = {
	{"", "bad.json: line"},
	{"{", "bad.json: line"},
	{"[]", "expected a JSON object"},
	{"{\"schema\": \"infrarsi-inbox/2\", \"proposer\": \"mcp\", \"measure\": true, \"answer\": {}}",
		"expected \"schema\": \"infrarsi-inbox/1\""},
	{"{\"proposer\": \"mcp\", \"measure\": true, \"answer\": {}}", "expected \"schema\""},
	{"{\"schema\": \"infrarsi-inbox/1\", \"measure\": true, \"answer\": {}}", "expected \"proposer\""},
	{"{\"schema\": \"infrarsi-inbox/1\", \"proposer\": \"../x\", \"measure\": true, \"answer\": {}}",
		"expected \"proposer\""},
	{"{\"schema\": \"infrarsi-inbox/1\", \"proposer\": \"\", \"measure\": true, \"answer\": {}}",
		"expected \"proposer\""},
	{"{\"schema\": \"infrarsi-inbox/1\", \"proposer\": \"mcp\", \"measure\": 1, \"answer\": {}}",
		"expected \"measure\" as true or false"},
	{HEAD "}", "expected \"answer\" as an object"},
	{HEAD ", \"answer\": []}", "expected \"answer\" as an object"},
	{HEAD ", \"answers\": {}}", "unknown member 'answers' (did you mean 'answer'?)"},
	{HEAD ", \"answer\": {}, \"\\u001b[2J\": 1}", "unknown member '\\x1b[2J'; expected schema"},
	{HEAD ", \"answer\": {}, \"answer\": {}}", "duplicate"},
	{HEAD ", \"answer\": {}} trailing", "bad.json: line"},
	{HEAD ", \"answer\": {\"x\": \"\xff\"}}", "bad.json: line"},
};

static void what_cannot_be_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct fixture f;
		char name[INBOX_NAME_SIZE];
		set_up(&f);
		write_file(&f, "bad.json", broken[i].text, strlen(broken[i].text));
		put(&f, "{}", false, name);
		list(&f);
		assert_int_equal(f.box.n_items, 1); /* the others are read as ever */
		assert_int_equal(f.box.n_refused, 1);
		assert_string_equal(f.box.refused[0].name, "bad.json");
		if (!strstr(f.box.refused[0].reason, broken[i].reason))
			fail_msg("%s: %s", broken[i].text, f.box.refused[0].reason);
		assert_false(lies(&f, "bad.json"));
		assert_true(lies(&f, "refused/bad.json"));
		tear_down(&f);
	}
}

static void what_is_no_file(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	static const char zero[] = HEAD ", \"answer\": {}}\0";
	write_file(&f, "zero.json", zero, sizeof(zero));
	write_file(&f, "notes.txt", "x", 1);
	write_file(&f, ".hidden.json", "x", 1);
	CLEANUP(free_ptr) char *folder = path_of(&f, "folder.json");
	CLEANUP(free_ptr) char *pipe = path_of(&f, "pipe.json");
	CLEANUP(free_ptr) char *dangling = path_of(&f, "dangling.json");
	CLEANUP(free_ptr) char *large = path_of(&f, "large.json");
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(mkfifo(pipe, 0644), 0);
	assert_int_equal(symlink("nowhere", dangling), 0);
	FILE *file = fopen(large, "w");
	assert_non_null(file);
	fprintf(file, HEAD ", \"answer\": {}}%*s", INBOX_FILE_BYTES, "");
	assert_int_equal(fclose(file), 0);
	/* One of that name was refused before: neither is lost. */
	CLEANUP(free_ptr) char *refused = path_of(&f, "refused");
	assert_int_equal(mkdir(refused, 0755), 0);
	write_file(&f, "refused/zero.json", "earlier", 7);
	list(&f);
	assert_int_equal(f.box.n_items, 0);
	assert_int_equal(f.box.n_refused, 5);
	static const char *const moved[] = {
		"zero.json.2", "folder.json", "pipe.json", "dangling.json", "large.json"};
	for (size_t i = 0; i < ARRAY_LEN(moved); i++) {
		CLEANUP(free_ptr) char *name = xasprintf("refused/%s", moved[i]);
		assert_true(lies(&f, name));
	}
	assert_true(lies(&f, "notes.txt"));
	assert_true(lies(&f, ".hidden.json"));
	assert_int_equal(inbox_count(f.dir), 0);
	tear_down(&f);
}

static void what_is_not_put(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = ERR_INIT;
	char name[INBOX_NAME_SIZE] = "untouched";
	set_up(&f);
	CLEANUP(free_ptr) char *large = xasprintf("{\"x\": \"%*s\"}", INBOX_FILE_BYTES, "");
	const struct {
		struct inbox_item item;
		enum err_code code;
	} cases[] = {
		{{.proposer = "mcp", .answer = "{"}, ERR_INPUT},
		{{.proposer = "mcp", .answer = "[]"}, ERR_INPUT},
		{{.proposer = "a/b", .answer = "{}"}, ERR_INPUT},
		{{.proposer = "mcp", .answer = large}, ERR_LIMIT},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(inbox_put(f.dir, &cases[i].item, name, &e), cases[i].code);
		assert_string_equal(name, "untouched");
		assert_int_equal(inbox_count(f.dir), 0);
	}
	assert_int_equal(inbox_done(f.dir, "../ledger.db", &e), ERR_INPUT);
	assert_int_equal(inbox_done(f.dir, "..", &e), ERR_INPUT);
	tear_down(&f);
}

static void so_many_and_no_more(void **state)
{
	(void)state;
	static const char text[] = HEAD ", \"answer\": {}}";
	struct fixture f;
	struct err e = ERR_INIT;
	char name[INBOX_NAME_SIZE];
	set_up(&f);
	CLEANUP(free_ptr) char *folder = path_of(&f, "");
	assert_int_equal(make_dirs(folder, 0755, NULL), OK);
	for (int i = 0; i <= INBOX_FILES; i++) {
		/* Without a sync each: this is about the number. */
		CLEANUP(free_ptr) char *path = xasprintf("%s%020d-x.json", folder, i);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	const struct inbox_item item = {.proposer = "mcp", .answer = "{}"};
	assert_int_equal(inbox_put(f.dir, &item, name, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, "infrarsi run"));
	list(&f);
	assert_int_equal(f.box.n_items, INBOX_FILES);
	assert_string_equal(f.box.items[0].name, "00000000000000000000-x.json");
	for (size_t i = 0; i < f.box.n_items; i++)
		assert_int_equal(inbox_done(f.dir, f.box.items[i].name, NULL), OK);
	list(&f);
	assert_int_equal(f.box.n_items, 1);
	assert_string_equal(f.box.items[0].name, "00000000000000001000-x.json");
	assert_int_equal(inbox_put(f.dir, &item, name, &e), OK);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(order_outlives_the_clock),
		cmocka_unit_test(what_cannot_be_read),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(what_is_not_put),
		cmocka_unit_test(so_many_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
