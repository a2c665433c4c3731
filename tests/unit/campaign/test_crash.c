/*
 * kill -9 at any instant: the ledger is cut behind each of its entries in turn, with all files as the whole
 * campaign left them (so receipts of executions that the ledger does not know yet are there too), and the
 * campaign goes on.
 */
#include "base/base.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/row_journal.h"
#include "campaign_fixture.h"

static const struct row rows[] = {{0.2}, {0.25}, {0.1}};

static void sql(const struct stage *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void sql(const struct stage *s, const char *fmt, ...)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/ledger.db", s->state_dir);
	char text[256], *message = NULL;
	sqlite3 *db = NULL;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
	sqlite3_close(db);
}

static void cut_behind(const struct stage *s, int64_t id)
{
	sql(s, "DROP TRIGGER entry_is_kept; DELETE FROM entry WHERE id > %lld;", (long long)id);
}

static struct ledger_entry *read_entries(struct stage *s, struct arena *arena, size_t *ret_count)
{
	struct ledger_entry *entries = NULL;
	assert_int_equal(ledger_read_all(s->c.ledger, arena, &entries, ret_count, &s->error), OK);
	return entries;
}

static void save(const struct stage *s)
{
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", s->state_dir);
	CLEANUP(free_ptr) char *saved = xasprintf("%s/saved", s->dir);
	assert_int_equal(remove_tree(work, NULL), OK);
	assert_int_equal(copy_tree(s->state_dir, saved, NULL), OK);
}

static void restore(const struct stage *s)
{
	CLEANUP(free_ptr) char *saved = xasprintf("%s/saved", s->dir);
	assert_int_equal(remove_tree(s->state_dir, NULL), OK);
	assert_int_equal(copy_tree(saved, s->state_dir, NULL), OK);
}

static void expect_whole(const struct stage *s, const char *what)
{
	const struct state *state = &s->c.state;
	int finished = 0;
	for (size_t i = 0; i < state->n_trials; i++)
		finished += state->trials[i].status == TRIAL_VALID;
	if (!state->finished || state->delivered_finalist != 1 || finished != 2 || state->n_counted != 2)
		fail_msg("cut behind %s: finished %d, delivered %d, valid %d", what, state->finished,
			state->delivered_finalist, finished);
	const struct duel *d = &state->duels[0];
	assert_int_equal(state->trials[d->trial - 1].candidate.setting[0], 2);
	assert_true(fabs(d->result.gain_ln - log(2)) < 0.002);
}

static void a_crash_behind_any_entry_is_resumed(void **unused)
{
	(void)unused;
	struct stage s;
	struct arena arena = ARENA_INIT;
	size_t n = 0;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	expect_whole(&s, "nothing");
	int whole = s.executions;
	struct ledger_entry *entries = read_entries(&s, &arena, &n);
	assert_true(n > 25);
	stage_close_campaign(&s);
	save(&s);
	for (size_t i = 0; i < n; i++) {
		restore(&s);
		cut_behind(&s, entries[i].id);
		int before = s.executions, ended = 0;
		for (size_t k = 0; k <= i; k++)
			ended += entries[k].kind == ENTRY_FINISHED;
		stage_expect(&s, stage_go_on(&s), OK, NULL);
		expect_whole(&s, entry_kind_names[entries[i].kind]);
		/* A receipt that was written counts: an execution that had started is not repeated. */
		int adopted = entries[i].kind == ENTRY_STARTED;
		assert_int_equal(s.executions - before, whole - ended - adopted);
		stage_close_campaign(&s);
	}
	arena_release(&arena);
	stage_close(&s);
}

/* What lies in the place of the receipt of an execution that was cut off. */
static const struct {
	const char *what;
	const char *receipt;   /* copied there; NULL = nothing */
	const char *from, *to; /* edited so */
} places[] = {
	{"no receipt", NULL, NULL, NULL},
	{"the receipt of another execution", "receipts/0001.json", NULL, NULL},
	{"an edited receipt", "receipts/0005.json", "\\\"trial\\\":1", "\\\"trial\\\":2"},
	{"half a receipt", "receipts/0005.json", "\"payload\"", NULL},
	{"no JSON", "eval.txt", NULL, NULL},
};

static void put_receipt(const struct stage *s, const char *receipt, const char *from, const char *to)
{
	CLEANUP(free_ptr) char *saved = xasprintf("%s/saved/%s", s->dir, receipt ? receipt : "");
	CLEANUP(free_ptr) char *path = xasprintf("%s/receipts/0005.json", s->state_dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf edited = STRBUF_INIT;
	assert_int_equal(remove_tree(path, NULL), OK);
	if (!receipt)
		return;
	if (file_read(saved, FILE_CAP_DEFAULT, &text, NULL) != OK)
		strbuf_addstr(&text, "frozen\n");
	const char *at = from ? strstr(text.buf, from) : text.buf + text.len;
	assert_non_null(at);
	strbuf_add(&edited, text.buf, (size_t)(at - text.buf));
	if (to) {
		strbuf_addstr(&edited, to);
		strbuf_addstr(&edited, at + strlen(from));
	}
	assert_int_equal(file_write_atomic(path, edited.buf, edited.len, 0644, NULL), OK);
}

/* Doctor's four executions are receipts 1 to 4; the first trial's is 5. */
static void only_its_own_receipt_is_adopted(void **unused)
{
	(void)unused;
	struct stage s;
	struct arena arena = ARENA_INIT;
	size_t n = 0, started = 0;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	struct ledger_entry *entries = read_entries(&s, &arena, &n);
	while (entries[started].kind != ENTRY_STARTED || entries[started].trial != 1)
		started++;
	stage_close_campaign(&s);
	save(&s);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		restore(&s);
		cut_behind(&s, entries[started].id);
		put_receipt(&s, places[i].receipt, places[i].from, places[i].to);
		stage_open_campaign(&s);
		if (s.c.state.trials[0].status != TRIAL_INTERRUPTED)
			fail_msg("%s: %s", places[i].what, trial_status_names[s.c.state.trials[0].status]);
		assert_int_equal(s.c.state.next_seq, 6);
		stage_expect(&s, stage_go_on(&s), OK, NULL);
		expect_whole(&s, places[i].what);
		stage_close_campaign(&s);
	}
	arena_release(&arena);
	stage_close(&s);
}

static void what_was_registered_is_released(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	int64_t decision = 0;
	char body[256];
	snprintf(body, sizeof(body), "{\"candidate\":{\"patches\":[],\"settings\":{\"row\":\"1\"}}}");
	assert_int_equal(
		campaign_append(&s.c, ENTRY_DECISION, 0, NULL, xstrdup(body), &decision, &s.error), OK);
	stage_open_campaign(&s);
	assert_true(s.c.state.has_pending_decision);
	assert_int_equal(s.c.state.pending_id, decision);
	snprintf(body, sizeof(body),
		"{\"candidate\":{\"patches\":[],\"settings\":{\"row\":\"1\"}},\"decision_id\":%lld}",
		(long long)decision);
	assert_int_equal(
		campaign_append(&s.c, ENTRY_REGISTERED, 1, "sig", xstrdup(body), NULL, &s.error), OK);
	stage_open_campaign(&s);
	assert_false(s.c.state.has_pending_decision);
	assert_int_equal(s.c.state.trials[0].status, TRIAL_INTERRUPTED);
	assert_string_equal(s.c.state.trials[0].reason_text, "infrarsi ended before the execution began");
	assert_true(s.c.state.trials[0].device_s == 0);
	/* Once: opening again adds nothing. */
	stage_open_campaign(&s);
	assert_int_equal(s.c.state.n_trials, 1);
	stage_close(&s);
}

/* From the specification to the last thing that the lost execution wrote, by file times. */
static void a_lost_execution_has_its_cost(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_campaign(&s);
	double before_s = s.c.state.cost.reference_s;
	assert_int_equal(
		campaign_append(&s.c, ENTRY_STARTED, 0, NULL,
			xstrdup("{\"role\":\"reference\",\"seq\":5,\"nonce\":\"n\"}"), NULL, &s.error),
		OK);
	stage_write(&s, ".infrarsi/control/0005/supervisor.log", "{}");
	stage_write(&s, ".infrarsi/control/0099/left", "");
	stage_write(&s, ".infrarsi/work/trials/0005/left", "");
	stage_write(&s, ".infrarsi/logs/0005.log", "");
	CLEANUP(free_ptr) char *spec = xasprintf("%s/control/0005/supervisor.log", s.state_dir);
	struct timespec times[2] = {{1000, 0}, {1000, 0}};
	assert_int_equal(utimensat(AT_FDCWD, spec, times, 0), 0);
	CLEANUP(free_ptr) char *log = xasprintf("%s/logs/0005.log", s.state_dir);
	times[0].tv_sec = times[1].tv_sec = 1090;
	assert_int_equal(utimensat(AT_FDCWD, log, times, 0), 0);
	stage_open_campaign(&s);
	assert_true(fabs(s.c.state.cost.reference_s - before_s - 90) < 1e-6);
	assert_int_equal(s.c.state.next_seq, 6);
	/* Nothing that an earlier process left is in the way. */
	CLEANUP(free_ptr) char *control = xasprintf("%s/control/0099", s.state_dir);
	CLEANUP(free_ptr) char *trial = xasprintf("%s/work/trials/0005", s.state_dir);
	assert_false(path_exists(control) || path_exists(trial));
	stage_close(&s);
}

/* The receipt is written and the row is not: what only the row has comes from the journal, all of it. */
static void a_row_that_was_lost_is_made_whole(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), "build: ['true']\n");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(s.task_path, FILE_CAP_DEFAULT, &text, NULL), OK);
	char *contract = strstr(text.buf, "  editable_files");
	assert_non_null(contract);
	CLEANUP(free_ptr)
	char *with = xasprintf("%.*s  eval: {command: [./evaluate], tolerance: 1%%}\n%s",
		(int)(contract - text.buf), text.buf, contract);
	stage_write(&s, "infrarsi.yaml", with);
	stage_lock(&s);
	stage_campaign(&s);
	sql(&s, "CREATE TRIGGER fails BEFORE INSERT ON entry WHEN NEW.kind = 'finished' BEGIN SELECT "
		"RAISE(ABORT, "
		"'disk'); END;");
	assert_int_equal(stage_go_on(&s), ERR_IO);
	CLEANUP(free_ptr) char *journal = xasprintf("%s/control/0005/row.json", s.state_dir);
	assert_true(path_exists(journal));
	CLEANUP(strbuf_release) struct strbuf row = STRBUF_INIT;
	assert_int_equal(file_read(journal, FILE_CAP_DEFAULT, &row, NULL), OK);
	CLEANUP(json_decref_ptr) json_t *written = json_loads(row.buf, 0, NULL);
	assert_true(json_number_of(written, "checks_s") == 3 && json_number_of(written, "eval") == 2.5);
	sql(&s, "DROP TRIGGER fails;");
	stage_open_campaign(&s);
	const struct execution *run = &s.c.state.trials[0].run;
	assert_int_equal(s.c.state.trials[0].status, TRIAL_VALID);
	assert_true(run->eval_value == 2.5);
	assert_true(run->build_s == json_number_of(written, "build_s"));
	/* 12 updates of the row's pace and half a second before them, and 3 s of the evaluation on top. */
	assert_true(run->device_s > 3.5 && run->device_s < 3.5 + 12 * 0.26);
	assert_false(path_exists(journal));
	stage_close(&s);
}

/* Without the journal, or with that of another execution, the receipt counts all the same. */
static void a_journal_of_another_execution_is_not_taken(void **unused)
{
	(void)unused;
	struct stage s;
	struct row_journal row = {.build_s = 7, .checks_s = 8, .eval_value = 9, .review = "look"}, back;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	assert_int_equal(row_journal_write(s.dir, 5, "nonce", &row, &s.error), OK);
	assert_true(row_journal_read(s.dir, 5, "nonce", &back));
	assert_true(back.build_s == 7 && back.checks_s == 8 && back.eval_value == 9);
	assert_string_equal(back.review, "look");
	assert_false(row_journal_read(s.dir, 6, "nonce", &back));
	assert_false(row_journal_read(s.dir, 5, "other", &back));
	assert_true(back.build_s == 0 && isnan(back.eval_value) && !*back.review);
	stage_write(&s, "../row.json", "{\"seq\":5,\"nonce\":\"nonce\",\"build_s\":-1,\"eval\":\"x\"}");
	assert_true(row_journal_read(s.dir, 5, "nonce", &back));
	assert_true(back.build_s == 0 && isnan(back.eval_value));
	stage_write(&s, "../row.json", "nonsense");
	assert_false(row_journal_read(s.dir, 5, "nonce", &back));
	row_journal_remove(s.dir);
	assert_false(row_journal_read(s.dir, 5, "nonce", &back));
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_behind_any_entry_is_resumed),
		cmocka_unit_test(only_its_own_receipt_is_adopted),
		cmocka_unit_test(what_was_registered_is_released),
		cmocka_unit_test(a_lost_execution_has_its_cost),
		cmocka_unit_test(a_row_that_was_lost_is_made_whole),
		cmocka_unit_test(a_journal_of_another_execution_is_not_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
