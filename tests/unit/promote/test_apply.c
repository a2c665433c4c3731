/* apply and undo on real repositories. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "ledger_fixture.h"
#include "promote/apply.h"
#include "runner/workspace.h"

#define ODD "it's \\\"odd\\\" $HOME `id` \\\\ \xc3\xa9  two"
static const char odd[] = "it's \"odd\" $HOME `id` \\ \xc3\xa9  two";
static const char apply_task[] = "version: 1\n"
				 "name: \"job\\nrm -rf everything\"\n"
				 "stack: native\n"
				 "build: [sh, build.sh, '{threads}']\n"
				 "build_env: {FLAGS: '{note}'}\n"
				 "launch:\n"
				 "  command: [sh, train.sh, --threads, '{threads}', '{note}']\n"
				 "  env: {NOTE: '{note}'}\n"
				 "contract: {updates: 30, warmup: 10}\n"
				 "knobs:\n"
				 "  - {name: threads, values: [1, 4], reference: 1}\n"
				 "  - {name: note, values: [plain, \"" ODD "\"], reference: plain}\n";

static const char change_diff[] = "--- a/model.txt\n+++ b/model.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO \n";
static const char add_diff[] = "--- /dev/null\n+++ b/new/deep/extra.txt\n@@ -0,0 +1 @@\n+extra\n";
static const char remove_diff[] = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";

struct repo {
	struct world w;
	struct apply_result result;
	bool committed;
};

static void write_text(const struct repo *r, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", r->w.root, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, NULL), OK);
}

static void expect_text(const struct repo *r, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", r->w.root, name);
	CLEANUP(strbuf_release) struct strbuf found = STRBUF_INIT;
	if (!text) {
		if (path_exists(path))
			fail_msg("%s exists", name);
		return;
	}
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &found, NULL), OK);
	assert_string_equal(found.buf, text);
}

static void git(const struct repo *r, const char *words, struct strbuf *ret_output)
{
	CLEANUP(free_ptr) char *command = xasprintf("git -c user.name=t -c user.email=t@t %s", words);
	const char *argv[] = {"sh", "-c", command, NULL};
	struct process_run run = {.argv = argv, .dir = r->w.root};
	CLEANUP(strbuf_release) struct strbuf own = STRBUF_INIT;
	int status = -1;
	assert_int_equal(process_run(&run, ret_output ? ret_output : &own, NULL, &status, NULL), OK);
	if (status != 0)
		fail_msg("git %s: %s", words, ret_output ? ret_output->buf : own.buf);
}

static void propose(struct repo *r, char digest[SHA256_HEX_SIZE], const char *name, const char *diff)
{
	sha256_hex(diff, strlen(diff), digest);
	CLEANUP(free_ptr) char *path = xasprintf(".infrarsi/patches/%s.diff", digest);
	write_text(r, path, diff);
	world_propose(&r->w, digest, name, "[]");
}

enum commits { COMMIT_ALL, COMMIT_SOME, COMMIT_NONE };

/* A repository with a task in `sub`, a campaign on its snapshot, and trial 1 (threads 4, an odd note, all
 * three patches) delivered at exp(0.7). */
static void repo_open(struct repo *r, const char *sub, enum commits commits)
{
	struct snapshot snapshot;
	struct err e = ERR_INIT;
	*r = (struct repo){0};
	world_open_in(&r->w, sub, apply_task);
	CLEANUP(free_ptr) char *patches = xasprintf("%s/patches", r->w.state_dir);
	assert_int_equal(make_dirs(patches, 0755, &e), OK);
	write_text(r, ".infrarsi/.gitignore", "*\n");
	write_text(r, "model.txt", "one\nfirst\n");
	write_text(r, "old.txt", "old\n");
	write_text(r, "build.sh", "printf '%s|' \"$1\" \"$FLAGS\" > built.txt\n");
	write_text(r, "train.sh", "printf '%s|' \"$@\" \"$NOTE\" > ran.txt\n");
	write_text(r, ".gitignore", "built.txt\nran.txt\n");
	CLEANUP(free_ptr) char *init = xasprintf("init -q -b main '%s'", r->w.dir);
	git(r, init, NULL);
	if (commits != COMMIT_NONE)
		git(r, "add -A && git -c user.name=t -c user.email=t@t commit -q -m first", NULL);
	write_text(r, "model.txt", "one\ntwo\n");
	if (commits == COMMIT_ALL)
		git(r, "commit -q -a -m second", NULL);
	assert_int_equal(snapshot_take(r->w.root, "c1", &snapshot, &e), OK);
	world_begin_at(&r->w, 7, snapshot.commit, snapshot.tree, snapshot.prefix);
	world_references(&r->w);
	char change[SHA256_HEX_SIZE], add[SHA256_HEX_SIZE], removal[SHA256_HEX_SIZE];
	propose(r, change, "01-change", change_diff);
	propose(r, add, "02-add", add_diff);
	propose(r, removal, "03-remove", remove_diff);
	CLEANUP(free_ptr) char *all = xasprintf("[\"%s\",\"%s\",\"%s\"]", change, add, removal);
	CLEANUP(free_ptr) char *first = xasprintf("[\"%s\"]", change);
	int trial = world_register(&r->w, "{\"threads\":\"4\",\"note\":\"" ODD "\"}", all);
	world_finish(&r->w, ROLE_SEARCH, trial, &(struct ending){.time_s = 0.1});
	world_finish(&r->w, ROLE_SEARCH, world_register(&r->w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.11});
	world_finish(&r->w, ROLE_SEARCH, world_register(&r->w, "{}", first),
		&(struct ending){.time_s = 0.11, .failing_item = ITEM_LOSS});
	world_deliver(&r->w, trial, 0.7);
	world_load(&r->w);
}

static void repo_close(struct repo *r)
{
	apply_result_release(&r->result);
	world_close(&r->w);
}

static enum err_code apply(struct repo *r, const char *branch, int trial, bool force)
{
	struct apply_options options = {
		.dir = r->w.state_dir, .branch = branch, .trial = trial, .force = force};
	apply_result_release(&r->result);
	return apply_run(&r->w.state, &options, &r->result, &r->w.error);
}

static enum err_code undo(struct repo *r)
{
	apply_result_release(&r->result);
	return apply_undo(&r->w.state, r->w.state_dir, &r->result, &r->w.error);
}

static void expect(const struct repo *r, enum err_code code, enum err_code wanted, const char *says)
{
	if (code != wanted || (says && !strstr(r->w.error.message, says)))
		fail_msg("code %d '%s', expected %d '%s'", code, code ? r->w.error.message : "", wanted,
			says ? says : "");
}

static void expect_applied(const struct repo *r)
{
	expect_text(r, "model.txt", "one\nTWO \n");
	expect_text(r, "new/deep/extra.txt", "extra\n");
	expect_text(r, "old.txt", NULL);
}

static void expect_original(const struct repo *r)
{
	expect_text(r, "model.txt", "one\ntwo\n");
	expect_text(r, "new/deep/extra.txt", NULL);
	expect_text(r, "new", NULL);
	expect_text(r, "old.txt", "old\n");
	expect_text(r, "run-fast.sh", NULL);
}

static const char *const subfolders[] = {"", "sub", "sub/two words"};

static void the_working_tree_is_changed_and_restored(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(subfolders); i++) {
		struct repo r;
		repo_open(&r, subfolders[i], COMMIT_ALL);
		expect(&r, apply(&r, NULL, 0, false), OK, NULL);
		expect_applied(&r);
		assert_int_equal(r.result.n_patches, 3);
		assert_int_equal(r.result.n_files, 4);
		assert_string_equal(r.result.undo, "infrarsi apply --undo");
		expect(&r, apply(&r, NULL, 0, false), ERR_STATE, "applied already");
		expect(&r, undo(&r), OK, NULL);
		expect_original(&r);
		expect(&r, undo(&r), ERR_STATE, "nothing is applied");
		expect(&r, apply(&r, NULL, 0, false), OK, NULL);
		repo_close(&r);
	}
}

static void undo_keeps_later_edits(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	expect(&r, apply(&r, NULL, 0, false), OK, NULL);
	write_text(&r, "model.txt", "one\nTWO \nthree\n");
	expect(&r, undo(&r), ERR_CONTRACT, "model.txt was edited");
	expect_text(&r, "model.txt", "one\nTWO \nthree\n");
	expect_text(&r, "new/deep/extra.txt", "extra\n");
	write_text(&r, "model.txt", "one\nTWO \n");
	expect(&r, undo(&r), OK, NULL);
	expect_original(&r);
	repo_close(&r);
}

/* A crash between record and writing: some files are new, some are old. */
static void undo_takes_back_a_half_written_application(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	expect(&r, apply(&r, NULL, 0, false), OK, NULL);
	write_text(&r, "model.txt", "one\ntwo\n");
	expect(&r, undo(&r), OK, NULL);
	expect_original(&r);
	repo_close(&r);
}

static void a_launch_script_of_the_user_comes_back(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	write_text(&r, "run-fast.sh", "echo mine\n");
	expect(&r, apply(&r, NULL, 0, false), OK, NULL);
	expect(&r, undo(&r), OK, NULL);
	expect_text(&r, "run-fast.sh", "echo mine\n");
	repo_close(&r);
}

static void records_from_elsewhere_are_refused(void **unused)
{
	(void)unused;
	static const struct {
		const char *record, *says;
	} records[] = {
		{"{}", "files: expected an array"},
		{"[]", "expected a JSON object"},
		{"{\"files\":[{\"path\":\"../../x\",\"kept\":\"applied/0\"}]}", "files[0]"},
		{"{\"files\":[{\"path\":\"model.txt\",\"before\":\"a\",\"after\":\"b\",\"kept\":\"/etc/"
		 "passwd\"}]}",
			"files[0]"},
		{"{\"files\":[{}]}", "files[0]"},
	};
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		write_text(&r, ".infrarsi/applied.json", records[i].record);
		expect(&r, undo(&r), ERR_INPUT, records[i].says);
	}
	expect_original(&r);
	repo_close(&r);
}

/* git log --format=%s of the branch, latest first, and what the tree of its tip says. */
static void expect_branch(const struct repo *r, const char *name, const char *subjects)
{
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *show_log = xasprintf("log --format=%%s '%s'", name);
	CLEANUP(free_ptr)
	char *show_file = xasprintf("show '%s:./model.txt' '%s:./new/deep/extra.txt'", name, name);
	git(r, show_log, &log);
	assert_string_equal(log.buf, subjects);
	git(r, show_file, &text);
	assert_string_equal(text.buf, "one\nTWO \nextra\n");
}

#define FOUR "Launch with the settings that infrarsi found\n03-remove\n02-add\n01-change\n"

static void a_branch_has_one_commit_a_change(void **unused)
{
	(void)unused;
	static const struct {
		enum commits commits;
		const char *subjects;
		int n_commits;
	} cases[] = {
		{COMMIT_ALL, FOUR "second\nfirst\n", 4},
		{COMMIT_SOME, FOUR "Working tree as measured (uncommitted changes)\nfirst\n", 5},
		{COMMIT_NONE, FOUR "Working tree as measured\n", 5},
	};
	for (size_t s = 0; s < ARRAY_LEN(subfolders); s++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct repo r;
			CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
			CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
			repo_open(&r, subfolders[s], cases[i].commits);
			git(&r, "status --porcelain", &before);
			expect(&r, apply(&r, "faster", 0, false), OK, NULL);
			assert_int_equal(r.result.n_commits, cases[i].n_commits);
			assert_string_equal(r.result.undo, "git branch -D faster");
			expect_branch(&r, "faster", cases[i].subjects);
			/* The working tree, its index and the branch are as they were. */
			expect_original(&r);
			git(&r, "status --porcelain", &after);
			assert_string_equal(before.buf, after.buf);
			expect(&r, apply(&r, "faster", 0, false), ERR_STATE, "exists already");
			repo_close(&r);
		}
}

static void branch_names_are_checked(void **unused)
{
	(void)unused;
	static const char *const bad[] = {
		"-d", "", "a b", "a..b", "@{-1}", "HEAD", "x.lock", "/x", "x/", "a~1", "a\nb", "\x1b[31m"};
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		expect(&r, apply(&r, bad[i], 0, false), ERR_INPUT, "not a name that git takes");
	expect(&r, apply(&r, "main", 0, false), ERR_STATE, "exists already");
	expect(&r, apply(&r, "main/sub", 0, false), ERR_FAILED, NULL);
	expect(&r, apply(&r, "it's;fine", 0, false), OK, NULL);
	assert_string_equal(r.result.undo, "git branch -D 'it'\\''s;fine'");
	repo_close(&r);
}

/* Settings of the user that would change what a patch writes, or refuse it. */
static void git_settings_do_not_reach_the_patches(void **unused)
{
	(void)unused;
	static const char *const settings[] = {
		"config apply.whitespace error", "config apply.whitespace fix", "config core.autocrlf true"};
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		struct repo r;
		repo_open(&r, "", COMMIT_ALL);
		git(&r, settings[i], NULL);
		expect(&r, apply(&r, "faster", 0, false), OK, NULL);
		expect_branch(&r, "faster", FOUR "second\nfirst\n");
		expect(&r, apply(&r, NULL, 0, false), OK, NULL);
		expect_applied(&r);
		repo_close(&r);
	}
}

static void changed_files_are_refused(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "sub", COMMIT_ALL);
	write_text(&r, "infrarsi.yaml", "anything\n"); /* our own */
	write_text(&r, "run-fast.sh", "anything\n");
	expect(&r, apply(&r, "faster", 0, false), OK, NULL);
	write_text(&r, "model.txt", "one\ntwo\nthree\n");
	write_text(&r, "\x1b[31mred", "");
	expect(&r, apply(&r, "faster2", 0, false), ERR_CONTRACT, "2 files changed");
	expect(&r, apply(&r, NULL, 0, false), ERR_CONTRACT, "sub/model.txt");
	assert_null(strchr(r.w.error.message, '\x1b'));
	write_text(&r, "model.txt", "one\ntwo\n");
	/* A neighbour whose name only begins like ours. */
	git(&r, "clean -q -f -d -e infrarsi.yaml -e run-fast.sh .", NULL);
	write_text(&r, "../subinfrarsi.yaml", "x");
	expect(&r, apply(&r, "faster3", 0, false), ERR_CONTRACT, "subinfrarsi.yaml");
	repo_close(&r);
}

static void only_what_a_duel_confirmed_is_applied(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	expect(&r, apply(&r, NULL, 2, false), ERR_STATE, "was not confirmed by a duel");
	expect(&r, apply(&r, NULL, 3, true), ERR_STATE, "is not valid");
	expect(&r, apply(&r, NULL, 9, true), ERR_NOT_FOUND, "no trial 9");
	expect(&r, apply(&r, NULL, 2, true), OK, NULL);
	assert_int_equal(r.result.n_patches, 0);
	expect_text(&r, "model.txt", "one\ntwo\n");
	repo_close(&r);
}

static void nothing_delivered_is_nothing_to_apply(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	world_begin(&r.w, 8);
	world_load(&r.w);
	expect(&r, apply(&r, NULL, 0, false), ERR_STATE, "nothing is promoted yet");
	world_entry(&r.w, ENTRY_ACCEPT, 0, NULL, "{\"what\":\"promotion_over\",\"delivered_finalist\":0}");
	world_load(&r.w);
	expect(&r, apply(&r, NULL, 0, false), ERR_STATE, "nothing was delivered");
	repo_close(&r);
}

/* The script run from elsewhere, under a CDPATH that could lead astray: what build and job receive. */
static void the_script_hands_on_every_byte(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(subfolders); i++) {
		struct repo r;
		repo_open(&r, subfolders[i], COMMIT_ALL);
		expect(&r, apply(&r, NULL, 0, false), OK, NULL);
		CLEANUP(free_ptr)
		char *script = xasprintf("%s%srun-fast.sh", subfolders[i], *subfolders[i] ? "/" : "");
		CLEANUP(free_ptr) char *cdpath = xasprintf("CDPATH=%s", r.w.state_dir);
		const char *argv[] = {"env", cdpath, "sh", script, "--more", "a b", NULL};
		struct process_run run = {.argv = argv, .dir = r.w.dir};
		CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
		int status = -1;
		assert_int_equal(process_run(&run, &output, NULL, &status, NULL), OK);
		if (status != 0)
			fail_msg("%s", output.buf);
		CLEANUP(free_ptr) char *built = xasprintf("4|%s|", odd);
		CLEANUP(free_ptr) char *ran = xasprintf("--threads|4|%s|--more|a b|%s|", odd, odd);
		expect_text(&r, "built.txt", built);
		expect_text(&r, "ran.txt", ran);
		repo_close(&r);
	}
}

/* A receipt of trial 1, as sealed when it ran with this command. */
static void seal_receipt(struct repo *r, const char *program)
{
	struct receipt receipt;
	struct receipt_keys keys;
	static const char *argv[] = {NULL, "train.sh", "--threads", "4", odd};
	static const char *env[1];
	env[0] = xasprintf("NOTE=%s", odd);
	argv[0] = program;
	CLEANUP(free_ptr)
	char *path = xasprintf("%s/%s", r->w.state_dir, r->w.state.trials[0].run.receipt_path);
	CLEANUP(free_ptr) char *folder = xasprintf("%s/receipts", r->w.state_dir);
	CLEANUP(free_ptr) char *home = xasprintf("%s/xdg", r->w.state_dir);
	setenv("XDG_STATE_HOME", home, 1);
	receipt_init(&receipt);
	receipt.schema = RECEIPT_SCHEMA;
	receipt.seq = 1;
	receipt.terms.updates = 30;
	receipt.argv = argv;
	receipt.n_argv = ARRAY_LEN(argv);
	receipt.env = env;
	receipt.n_env = 1;
	assert_int_equal(make_dirs(folder, 0755, NULL), OK);
	assert_int_equal(receipt_keys_load("c1", true, &keys, &r->w.error), OK);
	if (receipt_seal(&receipt, &keys, path, &r->w.error) != OK)
		fail_msg("%s", r->w.error.message);
	receipt_release(&receipt);
	free((char *)env[0]);
	unsetenv("XDG_STATE_HOME");
}

static void a_task_file_that_changed_must_launch_what_was_measured(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	r.w.task.digest[0] ^= 1;
	expect(&r, apply(&r, "faster", 0, false), ERR_NOT_FOUND, NULL); /* no receipt */
	seal_receipt(&r, "bash");
	expect(&r, apply(&r, "faster", 0, false), ERR_CONTRACT, "infrarsi.yaml changed since the search");
	seal_receipt(&r, "sh");
	expect(&r, apply(&r, "faster", 0, false), OK, NULL);
	repo_close(&r);
}

/* What was audited and measured is what is applied: a diff that was edited in its folder since is neither. */
static void an_edited_diff_is_refused(void **unused)
{
	(void)unused;
	struct repo r;
	repo_open(&r, "", COMMIT_ALL);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", r.w.state_dir, r.w.state.patch_paths[0]);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &text, NULL), OK);
	strbuf_addch(&text, '\n');
	assert_int_equal(file_write_atomic(path, text.buf, text.len, 0644, NULL), OK);
	expect(&r, apply(&r, "faster", 0, false), ERR_CONTRACT, "is not the patch that was audited");
	repo_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_working_tree_is_changed_and_restored),
		cmocka_unit_test(undo_keeps_later_edits),
		cmocka_unit_test(undo_takes_back_a_half_written_application),
		cmocka_unit_test(a_launch_script_of_the_user_comes_back),
		cmocka_unit_test(records_from_elsewhere_are_refused),
		cmocka_unit_test(a_branch_has_one_commit_a_change),
		cmocka_unit_test(branch_names_are_checked),
		cmocka_unit_test(git_settings_do_not_reach_the_patches),
		cmocka_unit_test(changed_files_are_refused),
		cmocka_unit_test(only_what_a_duel_confirmed_is_applied),
		cmocka_unit_test(nothing_delivered_is_nothing_to_apply),
		cmocka_unit_test(the_script_hands_on_every_byte),
		cmocka_unit_test(a_task_file_that_changed_must_launch_what_was_measured),
		cmocka_unit_test(an_edited_diff_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
