#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "ledger/ledger_int.h"

enum { LEDGER_SCHEMA = 2, APPLICATION_ID = 0x49525349 /* "IRSI" */, BUSY_TIMEOUT_MS = 10000 };

const char *const entry_kind_names[N_ENTRY_KINDS] = {
	"campaign",
	"registered",
	"started",
	"finished",
	"interrupted",
	"transient",
	"rejected",
	"proposal",
	"prior",
	"decision",
	"accept",
	"spend",
};

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *path;
	int lock_fd; /* -1 in LEDGER_READ */
	bool has_key;
	unsigned char key[LEDGER_KEY_BYTES];
	/* Of the last entry, as this process wrote or checked it, whatever the file says meanwhile. */
	char last_seal[SEAL_HEX_SIZE];
};

static enum err_code sqlite_failure(const struct ledger *l, const char *doing, struct err *reterr)
{
	int code = sqlite3_errcode(l->db) & 0xFF;
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return err_set_at(reterr, ERR_INPUT, l->path, 0, 0,
			"not a usable ledger (%s); expected an infrarsi ledger: move it away, or restore it",
			sqlite3_errmsg(l->db));
	int system_errno = code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? sqlite3_system_errno(l->db) : 0;
	return err_set_at(reterr, ERR_IO, l->path, 0, 0, "%s: %s%s%s%s", doing, sqlite3_errmsg(l->db),
		system_errno ? " (" : "", system_errno ? strerror(system_errno) : "",
		system_errno ? ")" : "");
}

static enum err_code execute(struct ledger *l, const char *sql, const char *doing, struct err *reterr)
{
	return sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK
								       : sqlite_failure(l, doing, reterr);
}

static void finalize_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

static enum err_code read_pragma(struct ledger *l, const char *sql, int64_t *ret_value, struct err *reterr)
{
	CLEANUP(finalize_statement) sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(l->db, sql, -1, &statement, NULL) != SQLITE_OK ||
		sqlite3_step(statement) != SQLITE_ROW)
		return sqlite_failure(l, "cannot read the ledger", reterr);
	*ret_value = sqlite3_column_int64(statement, 0);
	return OK;
}

/* The process that wrote itself into the lock file; 0 = unknown. */
static long read_holder(int lock_fd)
{
	char holder[32] = "";
	ssize_t n = pread(lock_fd, holder, sizeof(holder) - 1, 0);
	holder[n > 0 ? n : 0] = '\0';
	return strtol(holder, NULL, 10);
}

/* Whoever asks whether the lock is held (ledger_is_held) has it for an instant: one refusal says nothing. */
static int lock_exclusively(int fd)
{
	static const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	enum { TRIES = 5 };
	for (int i = 1; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return flock(fd, LOCK_EX | LOCK_NB);
}

/* The lock is a file of its own: locks on the database itself belong to SQLite. flock() ends with the
 * process, however it ends, so that a killed run never leaves a stale lock. The descriptor is CLOEXEC, so no
 * job inherits it. */
static enum err_code take_lock(struct ledger *l, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s.lock", l->path);
	l->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (l->lock_fd < 0)
		return err_errno(reterr, "cannot open %s", path);
	if (lock_exclusively(l->lock_fd) != 0) {
		if (errno != EWOULDBLOCK)
			return err_errno(reterr, "cannot lock %s", path);
		long pid = read_holder(l->lock_fd);
		CLEANUP(free_ptr) char *known = xasprintf("%ld", pid);
		return err_set(reterr, ERR_STATE,
			"another infrarsi (process %s) is working on this campaign; wait for it or stop it",
			pid > 0 ? known : "unknown");
	}
	char holder[32];
	int length = snprintf(holder, sizeof(holder), "%ld\n", (long)getpid());
	if (ftruncate(l->lock_fd, 0) != 0 || pwrite(l->lock_fd, holder, (size_t)length, 0) != length)
		return err_errno(reterr, "cannot write %s", path);
	return OK;
}

/* Triggers make "append-only" a property of the file, not only of this code. */
static enum err_code create_schema(struct ledger *l, struct err *reterr)
{
	static const char sql[] = "PRAGMA application_id=0x49525349;"
				  "PRAGMA user_version=2;"
				  "CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT, utc TEXT NOT "
				  "NULL, kind TEXT NOT NULL,"
				  " trial INTEGER NOT NULL CHECK (trial >= 0), signature TEXT NOT NULL,"
				  " body TEXT NOT NULL, seal TEXT NOT NULL) STRICT;"
				  "CREATE TRIGGER entry_is_constant BEFORE UPDATE ON entry"
				  " BEGIN SELECT RAISE(ABORT, 'ledger entries are never changed'); END;"
				  "CREATE TRIGGER entry_is_kept BEFORE DELETE ON entry"
				  " BEGIN SELECT RAISE(ABORT, 'ledger entries are never removed'); END;";
	TRY(execute(l, "BEGIN IMMEDIATE", "cannot create the ledger", reterr));
	enum err_code code = execute(l, sql, "cannot create the ledger", reterr);
	if (code != OK) {
		sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
		return code;
	}
	return execute(l, "COMMIT", "cannot create the ledger", reterr);
}

static enum err_code check_schema(struct ledger *l, enum ledger_mode mode, struct err *reterr)
{
	int64_t application, version, tables;
	TRY(read_pragma(l, "PRAGMA application_id", &application, reterr));
	TRY(read_pragma(l, "PRAGMA user_version", &version, reterr));
	TRY(read_pragma(l, "SELECT count(*) FROM sqlite_master", &tables, reterr));
	if (tables == 0 && mode == LEDGER_WRITE)
		return create_schema(l, reterr);
	if (application != APPLICATION_ID)
		return err_set_at(
			reterr, ERR_INPUT, l->path, 0, 0, "an SQLite file, but not an infrarsi ledger");
	if (version != LEDGER_SCHEMA)
		return err_set_at(reterr, ERR_INPUT, l->path, 0, 0,
			"ledger schema %lld; this version reads schema %d; next: move it away, and begin "
			"anew with  infrarsi doctor",
			(long long)version, LEDGER_SCHEMA);
	return OK;
}

static enum err_code open_database(struct ledger *l, enum ledger_mode mode, struct err *reterr)
{
	if (mode == LEDGER_READ && !path_exists(l->path))
		return err_set_at(
			reterr, ERR_NOT_FOUND, l->path, 0, 0, "no campaign here yet; next: infrarsi doctor");
	int flags = mode == LEDGER_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
	if (sqlite3_open_v2(l->path, &l->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
		return sqlite_failure(l, "cannot open the ledger", reterr);
	sqlite3_busy_timeout(l->db, BUSY_TIMEOUT_MS);
	sqlite3_db_config(l->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(l->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (mode == LEDGER_WRITE)
		TRY(execute(l, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", "cannot open the ledger",
			reterr));
	TRY(check_schema(l, mode, reterr));
	if (mode == LEDGER_READ)
		return OK;
	if (sqlite3_prepare_v3(l->db,
		    "INSERT INTO entry (utc, kind, trial, signature, body, seal) VALUES (?,?,?,?,?,?)", -1,
		    SQLITE_PREPARE_PERSISTENT, &l->insert, NULL) != SQLITE_OK)
		return sqlite_failure(l, "cannot prepare the ledger", reterr);
	return OK;
}

enum err_code ledger_open(
	const char *path, enum ledger_mode mode, struct ledger **ret_ledger, struct err *reterr)
{
	CLEANUP(ledger_closep) struct ledger *l = xcalloc(1, sizeof(*l));
	l->path = xstrdup(path);
	l->lock_fd = -1;
	if (mode == LEDGER_WRITE)
		TRY(take_lock(l, reterr));
	TRY(open_database(l, mode, reterr));
	*ret_ledger = take_ptr(l);
	return OK;
}

bool ledger_is_held(const char *path, long *ret_holder)
{
	CLEANUP(free_ptr) char *lock_path = xasprintf("%s.lock", path);
	CLEANUP(close_fd) int fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return false;
	*ret_holder = read_holder(fd);
	return true;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	sqlite3_finalize(ledger->insert);
	sqlite3_close(ledger->db);
	sodium_memzero(ledger->key, sizeof(ledger->key));
	close_fd(&ledger->lock_fd);
	free(ledger->path);
	free(ledger);
}

void ledger_closep(struct ledger **ledger)
{
	ledger_close(*ledger);
	*ledger = NULL;
}

static bool is_json_object(const char *body)
{
	json_t *json = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	bool is_object = json_is_object(json);
	json_decref(json);
	return is_object;
}

enum err_code ledger_append(struct ledger *l, enum entry_kind kind, int trial, const char *signature,
	const char *body, int64_t *ret_id, struct err *reterr)
{
	char utc[CLOCK_UTC_SIZE], seal[SEAL_HEX_SIZE] = "";
	clock_utc(utc);
	if (!l->insert)
		return err_set(reterr, ERR_STATE, "the ledger is open for reading only");
	if (!is_json_object(body))
		return err_set(reterr, ERR_STATE, "a ledger entry's body must be a JSON object");
	struct ledger_entry entry = {.utc = utc,
		.kind = kind,
		.trial = trial,
		.signature = signature ? signature : "",
		.body = body};
	if (l->has_key)
		entry_seal(l->key, l->last_seal, &entry, seal);
	sqlite3_stmt *s = l->insert;
	sqlite3_bind_text(s, 1, utc, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s, 2, entry_kind_names[kind], -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 3, trial);
	sqlite3_bind_text(s, 4, entry.signature, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s, 5, body, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s, 6, seal, -1, SQLITE_TRANSIENT);
	int step = sqlite3_step(s);
	enum err_code code = step == SQLITE_DONE ? OK : sqlite_failure(l, "cannot write the ledger", reterr);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	if (code == OK)
		memcpy(l->last_seal, seal, sizeof(seal));
	if (code == OK && ret_id)
		*ret_id = sqlite3_last_insert_rowid(l->db);
	return code;
}

static enum err_code kind_from_name(
	const struct ledger *l, int64_t id, const char *name, enum entry_kind *ret_kind, struct err *reterr)
{
	for (int k = 0; k < N_ENTRY_KINDS; k++)
		if (strcmp(name, entry_kind_names[k]) == 0) {
			*ret_kind = (enum entry_kind)k;
			return OK;
		}
	return err_set_at(reterr, ERR_INPUT, l->path, 0, 0,
		"entry %lld has the kind '%s', which this version does not know", (long long)id, name);
}

/* A table made by another program may hold what ours cannot: NULL, or numbers that do not fit. */
static enum err_code read_row(const struct ledger *l, sqlite3_stmt *row, struct arena *arena,
	struct ledger_entry *ret_entry, struct err *reterr)
{
	enum { ID, UTC, KIND, TRIAL, SIGNATURE, BODY, SEAL, N_COLUMNS };
	struct ledger_entry e = {.id = sqlite3_column_int64(row, ID)};
	sqlite3_int64 trial = sqlite3_column_int64(row, TRIAL);
	for (int i = 0; i < N_COLUMNS; i++)
		if (sqlite3_column_type(row, i) == SQLITE_NULL || trial < 0 || trial > INT_MAX)
			return err_set_at(reterr, ERR_INPUT, l->path, 0, 0,
				"entry %lld is not an entry of a ledger", (long long)e.id);
	TRY(kind_from_name(l, e.id, (const char *)sqlite3_column_text(row, KIND), &e.kind, reterr));
	e.trial = (int)trial;
	e.utc = arena_strdup(arena, (const char *)sqlite3_column_text(row, UTC));
	e.signature = arena_strdup(arena, (const char *)sqlite3_column_text(row, SIGNATURE));
	e.body = arena_strdup(arena, (const char *)sqlite3_column_text(row, BODY));
	e.seal = arena_strdup(arena, (const char *)sqlite3_column_text(row, SEAL));
	*ret_entry = e;
	return OK;
}

static enum err_code read_rows(struct ledger *l, struct arena *arena, struct ledger_entry **ret_entries,
	size_t *ret_count, struct err *reterr)
{
	CLEANUP(finalize_statement) sqlite3_stmt *s = NULL;
	CLEANUP(free_ptr) struct ledger_entry *entries = NULL;
	size_t n = 0, capacity = 0;
	if (sqlite3_prepare_v2(l->db,
		    "SELECT id, utc, kind, trial, signature, body, seal FROM entry ORDER BY id", -1, &s,
		    NULL) != SQLITE_OK)
		return sqlite_failure(l, "cannot read the ledger", reterr);
	int step;
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		grow_array(&entries, &capacity, n + 1, sizeof(*entries));
		TRY(read_row(l, s, arena, &entries[n], reterr));
		n++;
	}
	if (step != SQLITE_DONE)
		return sqlite_failure(l, "cannot read the ledger", reterr);
	*ret_entries = arena_array(arena, n, sizeof(*entries));
	if (n)
		memcpy(*ret_entries, entries, n * sizeof(*entries));
	*ret_count = n;
	return OK;
}

static enum err_code check_seals(const struct ledger *l, const unsigned char key[LEDGER_KEY_BYTES],
	const struct ledger_entry *entries, size_t n, struct err *reterr)
{
	const char *before = "";
	char expected[SEAL_HEX_SIZE];
	for (size_t i = 0; i < n; i++) {
		entry_seal(key, before, &entries[i], expected);
		if (strcmp(entries[i].seal, expected) != 0)
			return err_set_at(reterr, ERR_CONTRACT, l->path, 0, 0,
				"entry %lld (%s) is not as infrarsi wrote it: it, an entry before it or the "
				"campaign's key was changed",
				(long long)entries[i].id, entry_kind_names[entries[i].kind]);
		before = entries[i].seal;
	}
	return OK;
}

enum err_code ledger_authenticate(
	struct ledger *l, const unsigned char key[LEDGER_KEY_BYTES], struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	enum err_code code = read_rows(l, &arena, &entries, &n, reterr);
	if (code == OK)
		code = check_seals(l, key, entries, n, reterr);
	if (code == OK) {
		snprintf(l->last_seal, sizeof(l->last_seal), "%s", n ? entries[n - 1].seal : "");
		memcpy(l->key, key, sizeof(l->key));
		l->has_key = true;
	}
	arena_release(&arena);
	return code;
}

enum err_code ledger_read_all(struct ledger *l, struct arena *arena, struct ledger_entry **ret_entries,
	size_t *ret_count, struct err *reterr)
{
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	TRY(read_rows(l, arena, &entries, &n, reterr));
	if (l->has_key)
		TRY(check_seals(l, l->key, entries, n, reterr));
	*ret_entries = entries;
	*ret_count = n;
	return OK;
}
