/* Ledgers that are not as they should be: an error that names the entry, never a crash. */
#include "base/base.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ledger_fixture.h"

#define REG "{\"candidate\":{\"patches\":[],\"settings\":{}},\"decision_id\":5}"
#define FIN(tail)                                                                                            \
	"{\"role\":\"search\",\"seq\":9,\"failure\":\"none\",\"verdict\":@,\"receipt\":\"receipts/1.json\"," \
	"\"receipt_digest\":\"\"" tail "}"

/* Behind a campaign with one valid trial (entries 1 to 7: campaign, four references would make the list long,
 * so there are none; 2 decision, 3 registered, 4 finished). @ stands for a verdict in which all holds. */
static const struct {
	enum entry_kind kind;
	int trial;
	const char *body, *says;
} bodies[] = {
	{ENTRY_CAMPAIGN, 0, "{}", "entry 5 (campaign): id: expected text"},
	{ENTRY_CAMPAIGN, 0, "{\"id\":7}", "id: expected text"},
	{ENTRY_CAMPAIGN, 0, "{\"id\":\"a\",\"seed\":\"x\"}", "seed: expected an integer"},
	{ENTRY_CAMPAIGN, 0, "{\"id\":\"a\",\"seed\":1,\"task_digest\":\"\",\"contract_digest\":\"\"}",
		"snapshot: expected an object"},
	{ENTRY_CAMPAIGN, 0,
		"{\"id\":\"../x\",\"seed\":1,\"task_digest\":\"\",\"contract_digest\":\"\",\"snapshot\":{}}",
		"id: expected 1 to 64 letters"},
	{ENTRY_CAMPAIGN, 0,
		"{\"id\":\"x\",\"seed\":1,\"task_digest\":\"\",\"contract_digest\":\"\",\"snapshot\":{"
		"\"commit\":"
		"\"--upload-pack=x\",\"tree\":\"aa\"}}",
		"expected the ids of a commit"},
	{ENTRY_CAMPAIGN, 0,
		"{\"id\":\"x\",\"seed\":1,\"task_digest\":\"\",\"contract_digest\":\"\",\"snapshot\":{"
		"\"commit\":"
		"\"aa\",\"tree\":\"aa\",\"prefix\":\"../..\"}}",
		"snapshot.prefix"},
	{ENTRY_REGISTERED, 2, "{}", "entry 5 (registered): candidate: expected an object"},
	{ENTRY_REGISTERED, 2, "{\"candidate\":{}}", "decision_id: expected an integer"},
	{ENTRY_REGISTERED, 2, "{\"candidate\":{},\"decision_id\":2}", "candidate: expected"},
	{ENTRY_REGISTERED, 2, REG, "there is no decision 5"},
	{ENTRY_REGISTERED, 1, "{\"candidate\":{\"patches\":[],\"settings\":{}},\"decision_id\":2}",
		"expected trial 2"},
	{ENTRY_REGISTERED, 2147483647, "{\"candidate\":{\"patches\":[],\"settings\":{}},\"decision_id\":2}",
		"expected trial 2"},
	{ENTRY_REGISTERED, 2,
		"{\"candidate\":{\"patches\":[],\"settings\":{\"gone\":\"1\"}},\"decision_id\":2}",
		"no knob 'gone'"},
	{ENTRY_REGISTERED, 2, "{\"candidate\":{\"patches\":[\"zz\"],\"settings\":{}},\"decision_id\":2}",
		"no patch 'zz'"},
	{ENTRY_STARTED, 2, "{}", "entry 5 (started): role"},
	{ENTRY_STARTED, 2, "{\"role\":\"search\",\"seq\":1.5,\"nonce\":\"\"}", "seq: expected an integer"},
	{ENTRY_STARTED, 2, "{\"role\":\"search\",\"seq\":-1,\"nonce\":\"\"}",
		"seq: expected an integer in 0 .."},
	{ENTRY_FINISHED, 1, FIN(""), "ends without being registered, or ends twice"},
	{ENTRY_FINISHED, 7, FIN(""), "trial 7 ends without"},
	{ENTRY_FINISHED, -0, "{}", "entry 5 (finished): role"},
	{ENTRY_FINISHED, 0,
		"{\"role\":\"reference\",\"seq\":9223372036854775807,\"failure\":\"none\",\"verdict\":@,"
		"\"receipt\":\"r\",\"receipt_digest\":\"\"}",
		"seq: expected an integer in 0 .."},
	{ENTRY_FINISHED, 0,
		"{\"role\":\"king\",\"seq\":9,\"failure\":\"none\",\"verdict\":@,\"receipt\":\"r\","
		"\"receipt_digest\":\"\"}",
		"expected a role"},
	{ENTRY_FINISHED, 0,
		"{\"role\":\"reference\",\"seq\":9,\"failure\":\"none\",\"verdict\":{},\"receipt\":\"r\","
		"\"receipt_digest\":\"\"}",
		"verdict: items.completes"},
	{ENTRY_FINISHED, 0,
		"{\"role\":\"reference\",\"seq\":9,\"failure\":\"none\",\"verdict\":@,\"receipt\":\"../../"
		"etc/x\","
		"\"receipt_digest\":\"\"}",
		"expected paths inside"},
	{ENTRY_FINISHED, 2, FIN(",\"time_s\":0.1,\"median_s\":0.1"), "step_s: expected the steps"},
	{ENTRY_FINISHED, 2, FIN(",\"time_s\":0.1,\"step_s\":[0.1]"), "median_s: expected"},
	{ENTRY_FINISHED, 2, FIN(",\"time_s\":0.1,\"median_s\":0.1,\"step_s\":[0.1,0]"),
		"step_s[1]: expected"},
	{ENTRY_FINISHED, 2, FIN(",\"time_s\":0.1,\"median_s\":0.1,\"step_s\":[\"x\"]"),
		"step_s[0]: expected"},
	{ENTRY_FINISHED, 2, FIN(",\"updates\":99999999999"), "updates, finalist, pair"},
	{ENTRY_FINISHED, 2, FIN(",\"pair\":-3"), "updates, finalist, pair"},
	{ENTRY_INTERRUPTED, 0, "{}", "entry 5 (interrupted): role"},
	{ENTRY_INTERRUPTED, 0, "{\"role\":\"king\",\"seq\":0,\"device_s\":0,\"reason\":\"\"}",
		"role: expected"},
	{ENTRY_INTERRUPTED, 3, "{\"role\":\"search\",\"seq\":0,\"device_s\":0,\"reason\":\"\"}",
		"trial 3 ends without"},
	{ENTRY_TRANSIENT, 1, "{\"role\":\"search\",\"seq\":0,\"device_s\":0,\"reason\":\"\"}", "ends twice"},
	{ENTRY_TRANSIENT, 0, "{\"role\":\"search\",\"seq\":0,\"device_s\":\"x\",\"reason\":\"\"}",
		"device_s: expected a number"},
	{ENTRY_REJECTED, 0, "{\"name\":\"x\"}", "entry 5 (rejected): by: expected text"},
	{ENTRY_PROPOSAL, 0, "{}", "entry 5 (proposal): patch: expected an object"},
	{ENTRY_PROPOSAL, 0, "{\"patch\":{},\"diff_path\":\"patches/x.diff\"}",
		"entry 5 (proposal): expected a patch"},
	{ENTRY_PROPOSAL, 0, "{\"patch\":{\"digest\":\"aa\"},\"diff_path\":\"/etc/passwd\"}",
		"diff_path inside"},
	{ENTRY_DECISION, 0, "{\"candidate\":[]}", "entry 5 (decision): candidate: expected an object"},
	{ENTRY_DECISION, 0, "{\"candidate\":{\"patches\":[],\"settings\":{\"threads\":\"3\"}}}",
		"entry 5 (decision): candidate: knob 'threads' has no setting '3'"},
	{ENTRY_ACCEPT, 0, "{}", "entry 5 (accept): what: expected text"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"finalist\",\"finalist\":2,\"trial\":1,\"pairs\":4}",
		"expected finalist 1"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"finalist\",\"finalist\":1,\"trial\":9,\"pairs\":4}",
		"expected a valid trial"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"finalist\",\"finalist\":1,\"trial\":1,\"pairs\":1000000000000000}",
		"pairs: expected an integer in"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"finalist\",\"finalist\":1,\"trial\":1,\"pairs\":1000}",
		"pairs: expected 1 to 100"},
	{ENTRY_ACCEPT, 0,
		"{\"what\":\"duel\",\"finalist\":1,\"pairs\":4,\"valid\":true,\"delivered\":true,\"verdict\":"
		"@}",
		"without its finalist"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"duel\",\"finalist\":1,\"pairs\":4,\"valid\":true,\"delivered\":true}",
		"verdict: expected an object"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"duel\",\"finalist\":1,\"pairs\":4}", "valid: expected true or false"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"promotion_over\",\"delivered_finalist\":1}", "won no duel"},
	{ENTRY_ACCEPT, 0, "{\"what\":\"promotion_over\",\"delivered_finalist\":-1}",
		"expected an integer in 0"},
};

static void write_prologue(struct world *w)
{
	world_begin(w, 7);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1});
}

static void each_body_is_checked(void **unused)
{
	(void)unused;
	CLEANUP(free_ptr) char *verdict = verdict_text(0);
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct world w;
		const char *at = strchr(bodies[i].body, '@');
		world_open(&w, NULL);
		write_prologue(&w);
		/* A finished entry of trial 2 needs it registered first. */
		if (bodies[i].kind == ENTRY_FINISHED && bodies[i].trial == 2)
			world_register(&w, "{\"mode\":\"fast\"}", "[]");
		if (at)
			world_entry(&w, bodies[i].kind, bodies[i].trial, NULL, "%.*s%s%s",
				(int)(at - bodies[i].body), bodies[i].body, verdict, at + 1);
		else
			world_entry(&w, bodies[i].kind, bodies[i].trial, NULL, "%s", bodies[i].body);
		world_refused(&w, bodies[i].says);
		world_refused(&w, "ledger entry ");
		world_close(&w);
	}
}

static void a_duel_cannot_be_delivered_without_a_gain(void **unused)
{
	(void)unused;
	CLEANUP(free_ptr) char *verdict = verdict_text(0);
	struct world w;
	world_open(&w, NULL);
	write_prologue(&w);
	world_entry(
		&w, ENTRY_ACCEPT, 1, NULL, "{\"what\":\"finalist\",\"finalist\":1,\"trial\":1,\"pairs\":4}");
	world_entry(&w, ENTRY_ACCEPT, 1, NULL,
		"{\"what\":\"duel\",\"finalist\":1,\"pairs\":4,\"valid\":true,\"delivered\":true,\"gain_ln\":"
		"-1,"
		"\"verdict\":%s}",
		verdict);
	world_refused(&w, "ledger entry 6 (accept): delivered");
	world_close(&w);
}

static void the_first_entry_begins_a_campaign(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	world_decide(&w, "{}", "[]");
	world_refused(&w, "ledger entry 1 (decision): expected the entry that begins a campaign");
	world_close(&w);
}

static void the_same_patch_twice_is_refused(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	world_begin(&w, 7);
	world_propose(&w, "aa", "one", "[]");
	world_propose(&w, "aa", "two", "[]");
	world_refused(&w, "are the same patch");
	world_close(&w);
}

/* A file made by another program that passes for a ledger, but for its rows. */
static void foreign_tables_are_refused(void **unused)
{
	(void)unused;
	static const char *const rows[] = {
		"INSERT INTO entry VALUES (1, 'now', NULL, 0, '', '{}', '')",
		"INSERT INTO entry VALUES (1, NULL, 'spend', 0, '', '{}', '')",
		"INSERT INTO entry VALUES (1, 'now', 'spend', 4294967297, '', '{}', '')",
		"INSERT INTO entry VALUES (1, 'now', 'spend', 0, '', NULL, '')",
		"INSERT INTO entry VALUES (1, 'now', 'loan', 0, '', '{}', '')",
		"INSERT INTO entry VALUES (1, 'now', 'spend', 0, '', '{\"a\":1', '')",
		"INSERT INTO entry VALUES (1, 'now', 'spend', 0, '', '[]', '')",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		char path[128];
		sqlite3 *db = NULL;
		world_open(&w, NULL);
		ledger_close(take_ptr(w.ledger));
		snprintf(path, sizeof(path), "%s/other.db", w.dir);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db,
					 "PRAGMA application_id=0x49525349; PRAGMA user_version=2;"
					 "CREATE TABLE entry (id, utc, kind, trial, signature, body, "
					 "seal);",
					 NULL, NULL, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, rows[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(ledger_open(path, LEDGER_WRITE, &w.ledger, &w.error), OK);
		world_refused(&w, "entry 1");
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_body_is_checked),
		cmocka_unit_test(a_duel_cannot_be_delivered_without_a_gain),
		cmocka_unit_test(the_first_entry_begins_a_campaign),
		cmocka_unit_test(the_same_patch_twice_is_refused),
		cmocka_unit_test(foreign_tables_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
