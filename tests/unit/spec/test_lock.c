#include "spec_helpers.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "spec/lock.h"

struct folder {
	char path[64];
};

static void write_file(const char *root, const char *name, const char *text)
{
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, name);
	CLEANUP(free_ptr) char *parent = xstrdup(path);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(make_dirs(parent, 0700, &e), OK);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, &e), OK);
}

static void make_folder(struct folder *f)
{
	snprintf(f->path, sizeof(f->path), "/tmp/infrarsi-lock-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	write_file(f->path, "data/a.bin", "abc");
	write_file(f->path, "data/deep/b.bin", "");
	write_file(f->path, "eval.c", "int x;\n");
	write_file(f->path, "train.c", "int y;\n");
}

static void remove_folder(const struct folder *f)
{
	struct err e = ERR_INIT;
	assert_int_equal(remove_tree(f->path, &e), OK);
}

static void parse_with(struct task *task, const char *frozen, const char *updates, const char *more)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		"version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\n"
		"contract: {updates: %s, frozen_files: [%s]}\n"
		"knobs: [{name: a, values: [1, 2%s], reference: 1}]\n",
		updates, frozen, more);
	parse_task(text.buf, task);
}

static void test_round_trip(void **state)
{
	(void)state;
	struct folder f;
	struct task task;
	struct lock lock, back;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	make_folder(&f);
	parse_with(&task, "'data/**', eval.c, 'data/*.bin'", "5", "");
	assert_int_equal(lock_compute(&task, f.path, &lock, &e), OK);
	assert_int_equal(lock.n_files, 3); /* data/a.bin is matched twice and listed once */
	assert_string_equal(lock.files[0].path, "data/a.bin");
	/* FIPS 180-2, appendix B.1: SHA-256 of "abc" */
	assert_string_equal(
		lock.files[0].digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", f.path);
	assert_int_equal(lock_write(&lock, path, &e), OK);
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &text, &e), OK);
	/* one file a line */
	assert_non_null(strstr(text.buf, "\n    \"eval.c\": \""));
	assert_int_equal(lock_read(path, &back, &e), OK);
	strbuf_clear(&text);
	lock_compare(&lock, &back, &text);
	assert_string_equal(text.buf, "");
	lock_release(&back);
	lock_release(&lock);
	task_release(&task);
	remove_folder(&f);
}

static void test_differences(void **state)
{
	(void)state;
	struct folder f;
	struct task task;
	struct lock before, after;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	make_folder(&f);
	parse_with(&task, "'data/**', '*.c'", "5", "");
	assert_int_equal(lock_compute(&task, f.path, &before, &e), OK);
	write_file(f.path, "data/a.bin", "abd");
	write_file(f.path, "data/new.bin", "");
	CLEANUP(free_ptr) char *gone = xasprintf("%s/train.c", f.path);
	assert_int_equal(remove_tree(gone, &e), OK);
	assert_int_equal(lock_compute(&task, f.path, &after, &e), OK);
	lock_compare(&before, &after, &text);
	assert_string_equal(
		text.buf, "data/a.bin: changed\ndata/new.bin: not in the lock\ntrain.c: missing\n");
	lock_release(&before);
	lock_release(&after);
	task_release(&task);
	remove_folder(&f);
}

static void digest_of(
	const char *frozen, const char *updates, const char *more, const char *root, char digest[65])
{
	struct task task;
	struct lock lock;
	struct err e = ERR_INIT;
	parse_with(&task, frozen, updates, more);
	assert_int_equal(lock_compute(&task, root, &lock, &e), OK);
	snprintf(digest, 65, "%s", lock.contract_digest);
	lock_release(&lock);
	task_release(&task);
}

static void test_contract_digest(void **state)
{
	(void)state;
	struct folder f;
	char first[65], second[65];
	make_folder(&f);
	digest_of("eval.c", "5", "", f.path, first);
	digest_of("eval.c", "6", "", f.path, second);
	assert_string_not_equal(first, second);
	digest_of("'*.c'", "5", "", f.path, second);
	assert_string_not_equal(first, second);
	/* Another setting to try steers the search; the contract stays. */
	digest_of("eval.c", "5", ", 3", f.path, second);
	assert_string_equal(first, second);
	/* So do the parts of the search. */
	digest_of("eval.c", "5", "], reference: 1}]\nsearch: {operators_off: [escape], starts: [prior]}\n#",
		f.path, second);
	assert_string_equal(first, second);
	remove_folder(&f);
}

static void test_unmatched_pattern(void **state)
{
	(void)state;
	struct folder f;
	struct task task;
	struct lock lock = {0};
	struct err e = ERR_INIT;
	make_folder(&f);
	parse_with(&task, "eval.c, 'loss*.c'", "5", "");
	assert_int_equal(lock_compute(&task, f.path, &lock, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "'loss*.c' matches no file"));
	task_release(&task);
	remove_folder(&f);
}

#define DIGEST "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void test_bad_lock_files(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "{", "[]",
		"{\"schema\":2,\"contract\":\"" DIGEST "\",\"frozen\":{}}",
		"{\"schema\":1,\"contract\":\"zz\",\"frozen\":{}}",
		"{\"schema\":1,\"contract\":\"" DIGEST "\",\"frozen\":[]}",
		"{\"schema\":1,\"contract\":\"" DIGEST "\",\"frozen\":{},\"x\":1}",
		"{\"schema\":1,\"contract\":\"" DIGEST "\",\"frozen\":{\"../x\":\"" DIGEST "\"}}",
		"{\"schema\":1,\"contract\":\"" DIGEST "\",\"frozen\":{\"x\":\"12\"}}",
		"{\"schema\":1,\"contract\":\"" DIGEST "\",\"frozen\":{\"x\":\"" DIGEST "\",\"x\":\"" DIGEST
		"\"}}"};
	struct folder f;
	make_folder(&f);
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", f.path);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct lock lock = {0};
		struct err e = ERR_INIT;
		write_file(f.path, "infrarsi.lock", texts[i]);
		assert_int_equal(lock_read(path, &lock, &e), ERR_INPUT);
		assert_string_equal(e.file, path);
		assert_true(e.line >= 1);
	}
	remove_folder(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_contract_digest),
		cmocka_unit_test(test_unmatched_pattern),
		cmocka_unit_test(test_bad_lock_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
