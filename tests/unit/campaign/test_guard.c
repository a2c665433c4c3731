/* What stops a campaign before it runs: contract, keys, a task that no longer goes with the ledger; and
 * patches. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/trial.h"
#include "campaign_fixture.h"

static const struct row rows[] = {{0.2}, {0.25}, {0.1}};

static void replace_in_task(const struct stage *s, const char *from, const char *to)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(s->task_path, FILE_CAP_DEFAULT, &text, NULL), OK);
	const char *at = strstr(text.buf, from);
	assert_non_null(at);
	CLEANUP(free_ptr)
	char *edited = xasprintf("%.*s%s%s", (int)(at - text.buf), text.buf, to, at + strlen(from));
	stage_write(s, "infrarsi.yaml", edited);
}

static void a_changed_frozen_file_is_named(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	int executions = s.executions;
	stage_write(&s, "eval.txt", "easier\n");
	stage_expect(&s, stage_go_on(&s), ERR_CONTRACT, "eval.txt");
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_CONTRACT, "infrarsi init --accept");
	assert_int_equal(s.executions, executions);
	stage_write(&s, "eval.txt", "frozen\n");
	stage_expect(&s, campaign_check_contract(&s.c, &s.error), OK, NULL);
	stage_close(&s);
}

static void a_changed_contract_is_refused(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	replace_in_task(&s, "warmup: 4", "warmup: 5");
	stage_open_campaign(&s);
	stage_expect(&s, stage_go_on(&s), ERR_CONTRACT, "not what infrarsi.lock says");
	/* Accepted into the lock: the campaign is still of the old one. Without trials doctor begins anew by
	 * itself. */
	stage_lock(&s);
	stage_open_campaign(&s);
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_CONTRACT, "infrarsi doctor --new");
	stage_close(&s);
}

static void trials_under_another_contract_do_not_compare(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	replace_in_task(&s, "warmup: 4", "warmup: 5");
	stage_lock(&s);
	stage_open_campaign(&s);
	stage_expect(&s, stage_doctor(&s), ERR_CONTRACT, "infrarsi doctor --new");
	stage_close(&s);
}

static void remove_keys(const struct stage *s)
{
	CLEANUP(free_ptr) char *keys = xasprintf("%s/home/infrarsi/keys", s->dir);
	assert_int_equal(remove_tree(keys, NULL), OK);
}

static enum entry_kind last_kind(const struct stage *s)
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries;
	size_t n = 0;
	struct err e = ERR_INIT;
	assert_int_equal(ledger_read_all(s->c.ledger, &arena, &entries, &n, &e), OK);
	enum entry_kind kind = entries[n - 1].kind;
	arena_release(&arena);
	return kind;
}

/* Found before anything runs, not when the first receipt cannot be signed; and no dead end. */
static void missing_keys_are_told(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	assert_int_equal(
		campaign_append(&s.c, ENTRY_STARTED, 0, NULL,
			xstrdup("{\"role\":\"reference\",\"seq\":5,\"nonce\":\"n\"}"), NULL, &s.error),
		OK);
	int executions = s.executions;
	remove_keys(&s);
	stage_open_campaign(&s);
	/* Nothing is decided about an open execution whose receipt could not be checked: it has no end. */
	assert_int_equal(last_kind(&s), ENTRY_STARTED);
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_STATE, "signing keys of campaign");
	stage_expect(&s, stage_doctor(&s), ERR_STATE, "infrarsi doctor --new");
	assert_int_equal(s.executions, executions);
	stage_expect(&s, campaign_begin(&s.c, 8, "{}", &s.error), OK, NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	stage_close(&s);
}

static void a_task_that_lost_a_knob_is_no_dead_end(void **unused)
{
	(void)unused;
	struct stage s;
	struct candidate reference = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	replace_in_task(&s, "values: [0, 1, 2]", "values: [0, 2]");
	stage_expect(&s, stage_try_open(&s, CAMPAIGN_READ), ERR_INPUT, "knob 'row' has no setting '1'");
	stage_expect(&s, ERR_INPUT, ERR_INPUT, "infrarsi doctor --new");
	stage_open_campaign(&s);
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_INPUT, "infrarsi doctor --new");
	struct doctor_options options = {.runs = 3};
	struct doctor_result result;
	stage_expect(&s, doctor_run(&s.c, &options, &result, &s.error), ERR_INPUT, "has no setting '1'");
	candidate_reference(&reference, &s.c.state.space);
	stage_expect(&s, trial_describe(&s.c, &reference, &text, &s.error), ERR_INPUT, "has no setting '1'");
	candidate_release(&reference);
	stage_expect(&s, campaign_begin(&s.c, 8, "{}", &s.error), OK, NULL);
	s.n_rows = 3;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 1);
	stage_close(&s);
}

static void a_missing_lock_names_the_next_step(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	CLEANUP(free_ptr) char *lock = xasprintf("%s/infrarsi.lock", s.root);
	assert_int_equal(unlink(lock), 0);
	stage_expect(&s, stage_try_open(&s, CAMPAIGN_WRITE), ERR_STATE, "infrarsi init");
	stage_expect(&s, stage_try_open(&s, CAMPAIGN_READ), OK, NULL);
	stage_close(&s);
}

static void reading_needs_a_ledger(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_try_open(&s, CAMPAIGN_READ), ERR_NOT_FOUND, "infrarsi doctor");
	stage_open_campaign(&s);
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_STATE, "infrarsi doctor");
	stage_close(&s);
}

static bool archived(const struct stage *s, const char *id, const char *name)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/old/%s/%s", s->state_dir, id, name);
	return path_exists(path);
}

static void an_old_campaign_is_kept_as_one_folder(void **unused)
{
	(void)unused;
	struct stage s;
	char id[64];
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	snprintf(id, sizeof(id), "%s", s.c.state.campaign_id);
	/* The move was cut short once: the receipts are there already, and an empty folder is back in their
	 * place. */
	CLEANUP(free_ptr) char *target = xasprintf("%s/old/%s", s.state_dir, id);
	CLEANUP(free_ptr) char *from = xasprintf("%s/receipts", s.state_dir);
	CLEANUP(free_ptr) char *to = xasprintf("%s/receipts", target);
	assert_int_equal(make_dirs(target, 0755, NULL), OK);
	assert_int_equal(rename(from, to), 0);
	stage_open_campaign(&s);
	stage_expect(&s, campaign_begin(&s.c, 8, "{}", &s.error), OK, NULL);
	assert_true(archived(&s, id, "ledger.db") && archived(&s, id, "receipts/0001.json"));
	assert_string_not_equal(s.c.state.campaign_id, id);
	assert_int_equal(s.c.state.next_seq, 1);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	stage_close(&s);
}

/* A new campaign that cannot begin leaves the old one where it is. */
static void a_failed_beginning_archives_nothing(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	CLEANUP(free_ptr) char *git = xasprintf("%s/.git", s.root);
	assert_int_equal(remove_tree(git, NULL), OK);
	stage_expect(&s, campaign_begin(&s.c, 8, "{}", &s.error), ERR_INPUT, "git");
	CLEANUP(free_ptr) char *old = xasprintf("%s/old", s.state_dir);
	assert_false(path_exists(old));
	stage_open_campaign(&s);
	assert_int_equal(s.c.state.n_references, 3);
	stage_close(&s);
}

static const char one_diff[] =
	"--- a/model.txt\n+++ b/model.txt\n@@ -1,3 +1,3 @@\n-one\n+ONE\n two\n three\n";
static const char frozen_diff[] = "--- a/eval.txt\n+++ b/eval.txt\n@@ -1 +1 @@\n-frozen\n+easier\n";

static void patches_are_gathered_once(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_write(&s, "one/01-upper.diff", one_diff);
	stage_write(&s, "one/02-frozen.diff", frozen_diff);
	stage_write(&s, "one/03-\xff.diff", "no diff\n");
	stage_write(&s, "two/01-the-same.diff", one_diff);
	replace_in_task(
		&s, "budget:", "proposers: [{kind: patches, dir: one}, {kind: patches, dir: two}]\nbudget:");
	stage_campaign(&s);
	for (int i = 0; i < 2; i++) {
		stage_expect(&s, patches_gather(&s.c, &s.error), OK, NULL);
		assert_int_equal(s.c.state.space.n_patches, 1);
		assert_string_equal(s.c.state.space.patches[0].name, "01-upper");
		assert_int_equal(s.c.state.n_refusals, 2);
	}
	/* And a patch is a lever of the campaign. */
	s.run.trials = 6;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 5); /* three rows with and without it, less the reference */
	stage_close(&s);
}

static void a_second_process_is_kept_out(void **unused)
{
	(void)unused;
	struct stage s;
	struct campaign second;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	struct campaign_options options = s.c.options;
	assert_int_equal(campaign_open(s.task_path, CAMPAIGN_WRITE, &options, &second, &s.error), ERR_STATE);
	assert_non_null(strstr(s.error.message, "another infrarsi"));
	assert_int_equal(campaign_open(s.task_path, CAMPAIGN_READ, &options, &second, &s.error), OK);
	assert_int_equal(second.state.n_references, 3);
	assert_int_equal(
		campaign_append(&second, ENTRY_SPEND, 0, NULL, xstrdup("{}"), NULL, &s.error), ERR_STATE);
	campaign_close(&second);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_frozen_file_is_named),
		cmocka_unit_test(a_changed_contract_is_refused),
		cmocka_unit_test(trials_under_another_contract_do_not_compare),
		cmocka_unit_test(missing_keys_are_told),
		cmocka_unit_test(a_task_that_lost_a_knob_is_no_dead_end),
		cmocka_unit_test(a_missing_lock_names_the_next_step),
		cmocka_unit_test(reading_needs_a_ledger),
		cmocka_unit_test(an_old_campaign_is_kept_as_one_folder),
		cmocka_unit_test(a_failed_beginning_archives_nothing),
		cmocka_unit_test(patches_are_gathered_once),
		cmocka_unit_test(a_second_process_is_kept_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
