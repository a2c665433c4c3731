/* Several executions at once, begun, worked and ended here in every order by one thread: what the ledger, the
 * receipts and a crash in between make of it. That they truly run beside each other is
 * tests/cli/parallel.bats. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/slots.h"
#include "campaign/trial.h"
#include "campaign_fixture.h"
#include "event/chain.h"

static const struct row rows[] = {{0.2}, {0.25}, {0.1}};

static void stage_with_slots(struct stage *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	stage_open(s, rows, ARRAY_LEN(rows), NULL);
	assert_int_equal(file_read(s->task_path, FILE_CAP_DEFAULT, &text, NULL), OK);
	const char *at = strstr(text.buf, "  timeout: 1m");
	assert_non_null(at);
	CLEANUP(free_ptr)
	char *with = xasprintf("%.*s  device_slots: [[a], [b], [c]]\n%s", (int)(at - text.buf), text.buf, at);
	stage_write(s, "infrarsi.yaml", with);
	stage_campaign(s);
}

struct several {
	struct stage s;
	struct candidate reference;
	struct execute_request request[3];
	struct trial_job *job[3];
};

static void begin(struct several *t, int which)
{
	t->request[which] = (struct execute_request){
		.role = ROLE_REFERENCE, .candidate = &t->reference, .label = "", .slot = which, .at_once = 3};
	stage_expect(&t->s, trial_begin(&t->s.c, &t->request[which], &t->job[which], &t->s.error), OK, NULL);
	stage_expect(&t->s, campaign_refresh(&t->s.c, &t->s.error), OK, NULL);
}

/* Doctor's four executions are receipts 1 to 4; these are executions 5 to 7. */
static void several_open(struct several *t)
{
	memset(t, 0, sizeof(*t));
	stage_with_slots(&t->s);
	candidate_reference(&t->reference, &t->s.c.state.space);
	for (int i = 0; i < 3; i++)
		begin(t, i);
	assert_int_equal(t->s.c.state.next_seq, 8);
	for (int i = 0; i < 3; i++)
		trial_work(t->job[i]);
}

static void several_close(struct several *t)
{
	candidate_release(&t->reference);
	stage_close(&t->s);
}

static void end(struct several *t, int which)
{
	enum execute_end ended;
	stage_expect(&t->s, trial_end_take(t->job[which], &ended, &t->s.error), OK, NULL);
	assert_int_equal(ended, EXECUTE_FINISHED);
}

/* Every receipt there is: opened with the campaign's keys, one unbroken chain, as many as wanted. */
static void expect_chain(struct several *t, size_t wanted)
{
	struct arena arena = ARENA_INIT;
	struct receipt receipts[16];
	struct chain_file files[16];
	struct chain_problem *problems;
	enum seal_state seal;
	const char *last = "";
	size_t n = 0;
	for (int number = 1; number < 16; number++) {
		const char *path = arena_printf(&arena, "%s/receipts/%04d.json", t->s.state_dir, number);
		if (!path_exists(path))
			continue;
		stage_expect(
			&t->s, receipt_read(path, &t->s.c.keys, &receipts[n], &seal, &t->s.error), OK, NULL);
		assert_int_equal(receipts[n].seq, number);
		assert_string_equal(receipts[n].prev, last); /* in the order of their numbers */
		last = receipts[n].payload_digest;
		files[n] = (struct chain_file){path, &receipts[n]};
		n++;
	}
	assert_int_equal(n, wanted);
	assert_int_equal(receipt_chain_check(files, n, &arena, &problems), 0);
	for (size_t i = 0; i < n; i++)
		receipt_release(&receipts[i]);
	stage_expect(&t->s, campaign_check_records(&t->s.c, &t->s.error), OK, NULL);
	arena_release(&arena);
}

static void whoever_is_overtaken_takes_a_place_behind(void **unused)
{
	(void)unused;
	static const struct {
		int order[3];
		int64_t receipt[3]; /* of the executions 5, 6 and 7 */
	} cases[] = {
		{{0, 1, 2}, {5, 6, 7}},
		{{1, 0, 2}, {8, 6, 9}},
		{{2, 1, 0}, {9, 8, 7}},
		{{0, 2, 1}, {5, 8, 7}},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct several t;
		several_open(&t);
		for (int k = 0; k < 3; k++)
			end(&t, cases[i].order[k]);
		const struct state *s = &t.s.c.state;
		assert_int_equal(s->n_slot_runs, 3);
		for (int k = 0; k < 3; k++) {
			const struct execution *run = &s->slot_runs[k];
			char receipt[32], log[32], slot[16];
			int which = cases[i].order[k];
			snprintf(
				receipt, sizeof(receipt), "receipts/%04d.json", (int)cases[i].receipt[which]);
			snprintf(log, sizeof(log), "logs/%04d.log", 5 + which);
			snprintf(slot, sizeof(slot), "devices %c", 'a' + which);
			assert_string_equal(run->receipt_path, receipt);
			assert_string_equal(run->log_path, log);
			assert_string_equal(run->slot, slot);
			assert_int_equal(run->at_once, 3);
		}
		expect_chain(&t, 7);
		/* And the next one, alone, goes on from there. */
		int64_t next = s->next_seq;
		assert_true(next > s->last_receipt_seq);
		t.s.run.trials = 1;
		stage_expect(&t.s, stage_go_on(&t.s), OK, NULL);
		several_close(&t);
	}
}

static void a_crash_leaves_all_interrupted(void **unused)
{
	(void)unused;
	struct several t;
	several_open(&t);
	end(&t, 1);
	double before_s = t.s.c.state.cost.reference_s;
	trial_forget(t.job[0]);
	trial_forget(t.job[2]);
	stage_open_campaign(&t.s);
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries;
	size_t n = 0;
	assert_int_equal(ledger_read_all(t.s.c.ledger, &arena, &entries, &n, &t.s.error), OK);
	assert_int_equal(entries[n - 2].kind, ENTRY_INTERRUPTED);
	assert_non_null(strstr(entries[n - 2].body, "\"seq\":5"));
	assert_non_null(strstr(entries[n - 2].body, "devices a"));
	assert_int_equal(entries[n - 1].kind, ENTRY_INTERRUPTED);
	assert_non_null(strstr(entries[n - 1].body, "\"seq\":7"));
	arena_release(&arena);
	assert_true(t.s.c.state.cost.reference_s >= before_s);
	assert_int_equal(t.s.c.state.n_slot_runs, 1);
	assert_int_equal(t.s.c.state.next_seq, 8);
	/* Once. */
	stage_open_campaign(&t.s);
	assert_int_equal(t.s.c.state.next_seq, 8);
	expect_chain(&t, 5);
	several_close(&t);
}

static void sql(const struct stage *s, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/ledger.db", s->state_dir);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Its receipt lies under another number than its own: the journal knows which. */
static void a_crash_behind_an_overtaken_receipt_counts_it_once(void **unused)
{
	(void)unused;
	struct several t;
	enum execute_end ended;
	several_open(&t);
	end(&t, 1);
	sql(&t.s, "CREATE TRIGGER fails BEFORE INSERT ON entry WHEN NEW.kind = 'finished' BEGIN SELECT "
		  "RAISE(ABORT, 'disk'); END;");
	assert_int_equal(trial_end_take(t.job[0], &ended, &t.s.error), ERR_IO);
	trial_forget(t.job[2]);
	sql(&t.s, "DROP TRIGGER fails;");
	stage_open_campaign(&t.s);
	const struct state *s = &t.s.c.state;
	assert_int_equal(s->n_slot_runs, 2);
	assert_string_equal(s->slot_runs[1].receipt_path, "receipts/0008.json");
	assert_string_equal(s->slot_runs[1].log_path, "logs/0005.log");
	assert_string_equal(s->slot_runs[1].slot, "devices a");
	assert_int_equal(s->last_receipt_seq, 8);
	expect_chain(&t, 6);
	stage_open_campaign(&t.s);
	assert_int_equal(t.s.c.state.n_slot_runs, 2);
	several_close(&t);
}

static void a_runner_of_one_job_is_not_asked_for_two(void **unused)
{
	(void)unused;
	struct stage s;
	stage_with_slots(&s);
	s.run.parallel = 2;
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_STATE, "runs one job at a time");
	s.run.parallel = 4;
	stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_INPUT, "has 3; two trials never share");
	assert_int_equal(s.c.state.n_trials, 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_is_overtaken_takes_a_place_behind),
		cmocka_unit_test(a_crash_leaves_all_interrupted),
		cmocka_unit_test(a_crash_behind_an_overtaken_receipt_counts_it_once),
		cmocka_unit_test(a_runner_of_one_job_is_not_asked_for_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
