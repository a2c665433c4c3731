/* Signing keys on disk: made once, also by two at a time, and never taken from where others could reach. */
#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "event/receipt.h"

static char *state_home;

static int fresh_home(void **state)
{
	(void)state;
	char name[] = "/tmp/infrarsi-keys-XXXXXX";
	if (!mkdtemp(name))
		return -1;
	state_home = xstrdup(name);
	return setenv("XDG_STATE_HOME", state_home, 1);
}

static int drop_home(void **state)
{
	(void)state;
	enum err_code code = remove_tree(state_home, NULL);
	free(state_home);
	return code != OK;
}

static char *key_path(const char *name)
{
	return xasprintf("%s/infrarsi/keys/%s", state_home, name);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void made_once_and_private(void **state)
{
	(void)state;
	struct receipt_keys a, b;
	struct err err = ERR_INIT;
	assert_int_equal(receipt_keys_load("c1", true, &a, &err), OK);
	assert_true(a.has_hmac && a.has_ed25519);
	assert_string_equal(a.campaign, "c1");
	assert_int_equal(receipt_keys_load("c1", true, &b, &err), OK);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(receipt_keys_load("c2", true, &b, &err), OK);
	assert_memory_not_equal(a.hmac, b.hmac, sizeof(a.hmac));
	assert_memory_equal(a.ed25519_public, b.ed25519_public, sizeof(a.ed25519_public));
	CLEANUP(free_ptr) char *hmac = key_path("c1.hmac");
	CLEANUP(free_ptr) char *ed25519 = key_path("ed25519.key");
	CLEANUP(free_ptr) char *dir = key_path("");
	assert_int_equal(mode_of(hmac), 0600);
	assert_int_equal(mode_of(ed25519), 0600);
	assert_int_equal(mode_of(dir), 0700);
	receipt_keys_wipe(&a);
	assert_false(a.has_hmac);
}

static void absent_without_create(void **state)
{
	(void)state;
	struct receipt_keys keys;
	struct err err = ERR_INIT;
	assert_int_equal(receipt_keys_load("c1", false, &keys, &err), OK);
	assert_false(keys.has_hmac || keys.has_ed25519);
	CLEANUP(free_ptr) char *dir = key_path("");
	assert_false(path_exists(dir));
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), OK);
	assert_int_equal(receipt_keys_load("other", false, &keys, &err), OK);
	assert_true(!keys.has_hmac && keys.has_ed25519);
}

static void what_others_can_reach_is_refused(void **state)
{
	(void)state;
	struct receipt_keys keys;
	struct err err = ERR_INIT;
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), OK);
	CLEANUP(free_ptr) char *hmac = key_path("c1.hmac");
	CLEANUP(free_ptr) char *dir = key_path("");
	assert_int_equal(chmod(hmac, 0640), 0);
	assert_int_equal(receipt_keys_load("c1", false, &keys, &err), ERR_CONTRACT);
	assert_non_null(strstr(err.message, "others can read"));
	assert_int_equal(chmod(hmac, 0600), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), ERR_CONTRACT);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), OK);
}

static void a_damaged_key_is_refused(void **state)
{
	(void)state;
	static const char *const contents[] = {"", "00ff", "zz\n"};
	struct receipt_keys keys;
	struct err err = ERR_INIT;
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), OK);
	CLEANUP(free_ptr) char *hmac = key_path("c1.hmac");
	CLEANUP(free_ptr) char *ed25519 = key_path("ed25519.key");
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		assert_int_equal(file_write_atomic(hmac, contents[i], strlen(contents[i]), 0600, &err), OK);
		assert_int_equal(receipt_keys_load("c1", true, &keys, &err), ERR_CONTRACT);
		assert_non_null(strstr(err.message, "c1.hmac"));
	}
	assert_int_equal(unlink(hmac), 0);
	/* Seed and public key that do not belong together. */
	char halves[128];
	memset(halves, '1', sizeof(halves));
	assert_int_equal(file_write_atomic(ed25519, halves, sizeof(halves), 0600, &err), OK);
	assert_int_equal(receipt_keys_load("c1", true, &keys, &err), ERR_CONTRACT);
	assert_int_equal(unlink(ed25519), 0);
	assert_int_equal(symlink("/dev/zero", ed25519), 0);
	assert_int_not_equal(receipt_keys_load("c1", true, &keys, &err), OK);
}

static void campaign_is_one_file_name(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "..", "a/b", ".hidden", "a b", "\xc3\xa9"};
	struct receipt_keys keys;
	struct err err = ERR_INIT;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(receipt_keys_load(bad[i], true, &keys, &err), ERR_INPUT);
}

/* Eight processes at once: all end with the same keys, and nothing half-made is left. */
static void created_by_many_at_once(void **state)
{
	(void)state;
	enum { PROCESSES = 8 };
	int result[2];
	assert_int_equal(pipe2(result, O_CLOEXEC), 0);
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct receipt_keys keys;
			memset(&keys, 0, sizeof(keys));
			bool ok = receipt_keys_load("c1", true, &keys, NULL) == OK;
			ok = ok && write(result[1], keys.hmac, 32) == 32;
			_exit(ok ? 0 : 1);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	unsigned char first[32], next[32];
	assert_int_equal(read(result[0], first, 32), 32);
	for (int i = 1; i < PROCESSES; i++) {
		assert_int_equal(read(result[0], next, 32), 32);
		assert_memory_equal(first, next, 32);
	}
	close(result[0]);
	close(result[1]);
	char **paths;
	size_t count;
	assert_int_equal(glob_files(state_home, "**", &paths, &count, NULL), OK);
	assert_int_equal(count, 2);
	free_strings(paths, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(made_once_and_private, fresh_home, drop_home),
		cmocka_unit_test_setup_teardown(absent_without_create, fresh_home, drop_home),
		cmocka_unit_test_setup_teardown(what_others_can_reach_is_refused, fresh_home, drop_home),
		cmocka_unit_test_setup_teardown(a_damaged_key_is_refused, fresh_home, drop_home),
		cmocka_unit_test_setup_teardown(campaign_is_one_file_name, fresh_home, drop_home),
		cmocka_unit_test_setup_teardown(created_by_many_at_once, fresh_home, drop_home),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
