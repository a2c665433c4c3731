/* The ledger's promises: order, durability of what was appended, one writer, no change and no removal. */
#include "base/base.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "ledger/ledger.h"

struct fixture {
	char dir[64], path[96];
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	strcpy(f->dir, "/tmp/infrarsi-ledger-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/ledger.db", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(remove_tree(f->dir, NULL), OK);
	free(f);
	return 0;
}

static void entries_come_back_in_order(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct ledger *ledger = NULL;
	int64_t id = 0;
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &ledger, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_CAMPAIGN, 0, NULL, "{\"seed\":7}", &id, &e), OK);
	assert_int_equal(id, 1);
	assert_int_equal(ledger_append(ledger, ENTRY_REGISTERED, 3, "abc", "{}", &id, &e), OK);
	ledger_close(ledger);

	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	assert_int_equal(ledger_open(f->path, LEDGER_READ, &ledger, &e), OK);
	assert_int_equal(ledger_read_all(ledger, &arena, &entries, &n, &e), OK);
	assert_int_equal(n, 2);
	assert_int_equal(entries[0].kind, ENTRY_CAMPAIGN);
	assert_string_equal(entries[0].body, "{\"seed\":7}");
	assert_int_equal(entries[1].trial, 3);
	assert_string_equal(entries[1].signature, "abc");
	ledger_close(ledger);
	arena_release(&arena);
}

static void a_second_writer_is_told_who_holds_it(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct ledger *first = NULL, *second = NULL;
	char expected[64];
	long holder = 0;
	assert_false(ledger_is_held(f->path, &holder));
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &first, &e), OK);
	assert_true(ledger_is_held(f->path, &holder));
	assert_int_equal(holder, getpid());
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &second, &e), ERR_STATE);
	snprintf(expected, sizeof(expected), "process %ld", (long)getpid());
	assert_non_null(strstr(e.message, expected));
	/* Readers are welcome while a writer is there. */
	assert_int_equal(ledger_open(f->path, LEDGER_READ, &second, &e), OK);
	ledger_close(second);
	ledger_close(first);
	assert_false(ledger_is_held(f->path, &holder));
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &first, &e), OK);
	ledger_close(first);
}

static void entries_cannot_be_changed_or_removed(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct ledger *ledger = NULL;
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &ledger, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_SPEND, 0, NULL, "{\"a\":1}", NULL, &e), OK);
	ledger_close(ledger);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, "UPDATE entry SET body='{}'", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, "DELETE FROM entry", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static const unsigned char key[LEDGER_KEY_BYTES] = "a key of 32 bytes, as made up";
static const unsigned char other_key[LEDGER_KEY_BYTES] = "b key of 32 bytes, as made up";

static void sealed(struct fixture *f, const char *edit)
{
	struct err e = ERR_INIT;
	struct ledger *ledger = NULL;
	sqlite3 *db = NULL;
	unlink(f->path);
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &ledger, &e), OK);
	assert_int_equal(ledger_authenticate(ledger, key, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_CAMPAIGN, 0, NULL, "{\"seed\":7}", NULL, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_REGISTERED, 1, "abc", "{}", NULL, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_FINISHED, 1, NULL, "{\"time_s\":2}", NULL, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_SPEND, 0, NULL, "{}", NULL, &e), OK);
	ledger_close(ledger);
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP TRIGGER entry_is_constant; DROP TRIGGER entry_is_kept;", NULL,
				 NULL, NULL),
		SQLITE_OK);
	if (sqlite3_exec(db, edit, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", edit, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Everything that an entry says, and where it stands, is under its seal; the end may be cut off, as by a
 * crash. */
static void edits_are_named(void **state)
{
	static const struct {
		const char *edit;
		const char *named; /* NULL = not seen */
	} cases[] = {
		{"", NULL},
		{"DELETE FROM entry WHERE id = 4", NULL},
		{"UPDATE entry SET body = '{\"time_s\":1}' WHERE id = 3", "entry 3 (finished)"},
		{"UPDATE entry SET trial = 2 WHERE id = 3", "entry 3"},
		{"UPDATE entry SET kind = 'transient' WHERE id = 3", "entry 3 (transient)"},
		{"UPDATE entry SET signature = 'abd' WHERE id = 2", "entry 2"},
		{"UPDATE entry SET utc = '2026-01-01T00:00:00Z' WHERE id = 1", "entry 1"},
		{"UPDATE entry SET seal = '' WHERE id = 4", "entry 4"},
		{"DELETE FROM entry WHERE id = 2", "entry 3"},
		{"DELETE FROM entry WHERE id = 1", "entry 2"},
		{"UPDATE entry SET id = 9 WHERE id = 2", "entry 3"},
		{"INSERT INTO entry (utc, kind, trial, signature, body, seal) SELECT utc, kind, trial, "
		 "signature, body,"
		 " seal FROM entry WHERE id = 3",
			"entry 5"},
		{"INSERT INTO entry (utc, kind, trial, signature, body, seal) VALUES ('', 'accept', 1, '', "
		 "'{}', '')",
			"entry 5"},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = ERR_INIT;
		struct ledger *ledger = NULL;
		sealed(f, cases[i].edit);
		assert_int_equal(ledger_open(f->path, LEDGER_READ, &ledger, &e), OK);
		enum err_code code = ledger_authenticate(ledger, key, &e);
		if (code != (cases[i].named ? ERR_CONTRACT : OK) ||
			(cases[i].named && !strstr(e.message, cases[i].named)))
			fail_msg("%s: %d %s", cases[i].edit, code, e.message);
		assert_int_equal(ledger_authenticate(ledger, other_key, &e), ERR_CONTRACT);
		assert_non_null(strstr(e.message, "entry "));
		ledger_close(ledger);
	}
}

/* Also what is changed while the ledger is open, and by an entry that is added then. */
static void an_edit_during_the_work_is_seen(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct ledger *ledger = NULL;
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	sqlite3 *db = NULL;
	sealed(f, "");
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &ledger, &e), OK);
	assert_int_equal(ledger_authenticate(ledger, key, &e), OK);
	assert_int_equal(ledger_read_all(ledger, &arena, &entries, &n, &e), OK);
	assert_int_equal(n, 4);
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "UPDATE entry SET body = '{\"a\":1}' WHERE id = 4", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(ledger_read_all(ledger, &arena, &entries, &n, &e), ERR_CONTRACT);
	assert_non_null(strstr(e.message, "entry 4"));
	/* What is written now does not vouch for it. */
	assert_int_equal(ledger_append(ledger, ENTRY_SPEND, 0, NULL, "{}", NULL, &e), OK);
	assert_int_equal(ledger_read_all(ledger, &arena, &entries, &n, &e), ERR_CONTRACT);
	assert_non_null(strstr(e.message, "entry 4"));
	ledger_close(ledger);
	arena_release(&arena);
}

static void bad_input_is_refused(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct ledger *ledger = NULL;
	assert_int_equal(ledger_open(f->path, LEDGER_READ, &ledger, &e), ERR_NOT_FOUND);
	assert_non_null(strstr(e.message, "infrarsi doctor"));
	assert_int_equal(ledger_open(f->path, LEDGER_WRITE, &ledger, &e), OK);
	assert_int_equal(ledger_append(ledger, ENTRY_SPEND, 0, NULL, "[1]", NULL, &e), ERR_STATE);
	assert_int_equal(
		ledger_append(ledger, ENTRY_SPEND, 0, NULL, "{\"a\":1,\"a\":2}", NULL, &e), ERR_STATE);
	ledger_close(ledger);
	assert_int_equal(
		file_write_atomic(f->path, "not a database, but long enough to be read as one", 49, 0644, &e),
		OK);
	assert_int_equal(ledger_open(f->path, LEDGER_READ, &ledger, &e), ERR_INPUT);
	assert_string_equal(e.file, f->path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_come_back_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_writer_is_told_who_holds_it, setup, teardown),
		cmocka_unit_test_setup_teardown(entries_cannot_be_changed_or_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(edits_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(an_edit_during_the_work_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_input_is_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
