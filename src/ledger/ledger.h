/*
 * The ledger: a campaign's append-only record in SQLite, the only state there is. Entries are never changed
 * or removed; everything else is a pure function of (task, ledger, seed).
 *
 *     struct ledger *ledger;
 *     TRY(ledger_open(".infrarsi/ledger.db", LEDGER_WRITE, &ledger, reterr));
 *     TRY(ledger_append(ledger, ENTRY_REGISTERED, 7, signature, body_json, &id, reterr));
 *
 * One writer at a time: LEDGER_WRITE takes an advisory lock that ends with the process (ERR_STATE names the
 * holder). Bodies are JSON objects (docs/formats.md); the ledger checks that they are, and no more.
 *
 * Entries are sealed: ledger_authenticate() with the campaign's key, and from then on each entry carries an
 * HMAC over itself and the seal before it, and reading checks them all. An entry that was edited, removed
 * from the middle, moved or put in by anybody without the key is then named. Cutting entries off the end is
 * not seen: a crash before they were written looks the same.
 */
#ifndef INFRARSI_LEDGER_LEDGER_H
#define INFRARSI_LEDGER_LEDGER_H

#include "base/base.h"
#include "base/memory.h"

enum entry_kind {
	ENTRY_CAMPAIGN,   /* first entry: id, seed, task digest, contract digest, snapshot, versions */
	ENTRY_REGISTERED, /* a trial number and its signature, before execution */
	ENTRY_STARTED,
	ENTRY_FINISHED,    /* receipt path and digest, verdict, what the models see */
	ENTRY_INTERRUPTED, /* the harness died or was told to stop: cost kept, signature released */
	ENTRY_TRANSIENT,   /* host fault: retried at most twice */
	ENTRY_REJECTED,    /* refused before it ran (audit, patch): no trial number, no budget */
	ENTRY_PROPOSAL,    /* a patch or a list of configurations from a proposer, by value */
	ENTRY_PRIOR,       /* priors from the task, the bank or a proposer, by value */
	ENTRY_DECISION,    /* what the controller chose and why */
	ENTRY_ACCEPT,      /* audit --accept, promotion results */
	ENTRY_SPEND, /* device-seconds, tokens, money outside trials: doctor, profile, builds, promotion */
	N_ENTRY_KINDS
};
extern const char *const entry_kind_names[N_ENTRY_KINDS];

enum { LEDGER_KEY_BYTES = 32 };
enum ledger_mode { LEDGER_READ, LEDGER_WRITE };

struct ledger_entry {
	int64_t id;
	const char *utc;
	enum entry_kind kind;
	int trial;             /* 0 = none */
	const char *signature; /* "" = none */
	const char *body;      /* JSON */
	const char *seal;      /* hex; "" = written without a key */
};

struct ledger;
enum err_code ledger_open(
	const char *path, enum ledger_mode mode, struct ledger **ret_ledger, struct err *reterr) MUST_CHECK;
/* True: a process has it open in LEDGER_WRITE; *ret_holder is its id, 0 = unknown. */
bool ledger_is_held(const char *path, long *ret_holder);
void ledger_close(struct ledger *ledger);
void ledger_closep(struct ledger **ledger); /* for CLEANUP() */
/* Checks the seals of all entries (ERR_CONTRACT names the first that does not hold; the ledger then stays as
 * it was) and keeps the key until it is closed. */
enum err_code ledger_authenticate(
	struct ledger *ledger, const unsigned char key[LEDGER_KEY_BYTES], struct err *reterr) MUST_CHECK;
/* Durable when it returns. */
enum err_code ledger_append(struct ledger *ledger, enum entry_kind kind, int trial, const char *signature,
	const char *body, int64_t *ret_id, struct err *reterr) MUST_CHECK;
/* All entries in order, copied into the arena. */
enum err_code ledger_read_all(struct ledger *ledger, struct arena *arena, struct ledger_entry **ret_entries,
	size_t *ret_count, struct err *reterr) MUST_CHECK;

#endif
