/*
 * Receipts: the signed, self-contained record of one execution. docs/formats.md has the JSON; the struct
 * mirrors it.
 *
 * Stored form: one JSON document {"payload": "<the receipt's JSON as a string>", "hmac": hex, "ed25519": hex,
 * "public_key": hex}. Signatures are over the payload's bytes, which are never re-serialised.
 */
#ifndef INFRARSI_EVENT_RECEIPT_H
#define INFRARSI_EVENT_RECEIPT_H

#include "base/base.h"
#include "base/memory.h"
#include "event/event.h"

enum {
	RECEIPT_SCHEMA = 1,
	RECEIPT_MAX_UPDATES = 100000,
	RECEIPT_FILE_CAP = 128 * 1024 * 1024, /* bytes of a stored receipt */
};

enum receipt_role {
	ROLE_REFERENCE,
	ROLE_PROFILE,
	ROLE_SEARCH,
	ROLE_PROMOTION,
	ROLE_LONGER_REFERENCE, /* over more updates than the contract's, for a confirmation */
	ROLE_CONFIRMATION,     /* a winner over as many */
	N_RECEIPT_ROLES
};

/* What ended the execution, as the harness saw it. */
enum failure_class {
	FAILURE_NONE,
	FAILURE_OOM,
	FAILURE_NAN,
	FAILURE_COLLECTIVE,
	FAILURE_COMPILE, /* the build step failed */
	FAILURE_CRASH,
	FAILURE_KILLED,  /* by a signal from outside, or host memory */
	FAILURE_TIMEOUT, /* wall limit */
	FAILURE_STALL, /* no update for longer than the stall limit, or none at all within the start-up limit
			*/
	FAILURE_DATA,
	FAILURE_STOPPED_SLOW, /* by the harness, as too slow: only of search trials */
	N_FAILURE_CLASSES
};
extern const char *const failure_class_names[N_FAILURE_CLASSES];
extern const char *const receipt_role_names[N_RECEIPT_ROLES];
/* A run of the untouched job that others are held against. */
bool role_is_reference(enum receipt_role role);

struct receipt_terms { /* the contract as resolved for this execution */
	int updates, warmup;
	double global_batch, seq_len;
	double loss_tolerance;
	bool loss_per_update;
	double grad_norm_tolerance;
	double memory_cap_bytes; /* 0 = none */
	double capacity_bytes;   /* of the device; 0 = unknown */
	const char **precision_menu;
	size_t n_precision_menu;
	const char **invariants; /* text of each static invariant */
	bool *invariant_holds;   /* evaluated for this candidate */
	size_t n_invariants;
	bool eval_configured, checkpoint_configured, tests_configured;
	double eval_tolerance;
};

struct receipt_update {
	int update;
	struct opt_number loss, grad_norm, lr, opt_step, tokens, seq_len, step_s, mem_bytes;
	char data[EVENT_DIGEST_HEX + 1];
	double harness_s; /* since the previous update event on the harness's clock; for the first since
			     `start`; NAN if unknown */
};

struct receipt_file {
	const char *path;
	char before[65], after[65]; /* "" = absent */
};

struct receipt {
	struct arena arena;
	int schema;
	enum receipt_role role;
	const char *campaign; /* id */
	int64_t seq;          /* 1, 2, ... within the campaign: the hash chain's position */
	int trial;            /* trial number; 0 for reference and profile runs */
	const char *nonce;
	char prev[65]; /* SHA-256 of the previous receipt's payload; "" for the first */
	const char *created_utc;
	struct receipt_terms terms;
	/* Reference receipts it is compared with, by payload digest, and the noise in force. */
	const char **reference_digests;
	size_t n_reference_digests;
	struct opt_number sigma_pair;
	struct opt_number reference_phase_s[N_PHASES]; /* of the profile run in force, seconds per update */
	/* Phases that the changes of this candidate declare to touch; none = some change does not say. */
	const char **declared_phases;
	size_t n_declared_phases;
	struct opt_number device_peak_flops; /* all devices together, at the precision computed in */
	const char *candidate_json;          /* canonical candidate */
	char signature[65];
	const char **argv;
	size_t n_argv;
	const char **env; /* names and values from the task file; passed-through names without their values */
	size_t n_env;
	const char *environment_json; /* machine fingerprint */
	/* What the job reported at start (rank 0). */
	bool start_seen;
	const char *versions_json; /* object of strings; NULL = none */
	const char *stack, *model_digest, *storage_precision, *compute_precision;
	struct opt_number params, active_params, layers, d_attn, reported_seq_len, reported_global_batch;
	bool nonce_echoed; /* by every start event */
	struct receipt_update *updates;
	size_t n_updates;
	bool end_seen;
	int end_updates;
	/* Mean seconds per update over the reported updates of the window; over all where none lies in it. */
	struct opt_number phase_s[N_PHASES];
	/* How it ended. */
	int exit_status; /* -1 = did not exit by itself */
	int exit_signal; /* 0 = none */
	bool timed_out;
	enum failure_class failure;
	const char *failure_evidence; /* the line, escaped */
	const char *failure_source;   /* "log:883", "event", "exit" */
	struct opt_number oom_requested_bytes, oom_free_bytes, oom_capacity_bytes;
	struct opt_number peak_reported_bytes, peak_observed_bytes;
	/* The observed peak is of the memory that the cap is about; false = host RSS beside a device's
	 * memory, which must not be held against a device's cap. */
	bool observed_is_device;
	int bad_event_lines;
	struct receipt_file *files; /* frozen files */
	size_t n_files;
	double wall_s;    /* spawn to exit */
	double startup_s; /* spawn to first update; NAN = there was none */
	double device_count;
	/* Conditional checks that the harness ran; has = it was run. value: 1 passed, 0 failed (tests);
	 * relative difference (eval, resume). */
	struct opt_number eval_difference, resume_difference, tests_passed;
	char payload_digest[65]; /* SHA-256 of the stored payload; set by reading and sealing, not part of the
				    JSON */
};

void receipt_init(struct receipt *r);
void receipt_release(struct receipt *r);

/* Builds the reported half of a receipt from event lines, each with its arrival on the harness's clock
 * (CLOCK_MONOTONIC). Fill r->terms first: the window decides which phase events count. Rank 0 gives loss,
 * learning rate and so on; the other ranks add their tokens, their partial data digests (modulo 2^128) and
 * the largest memory. Counted as bad lines and otherwise ignored: what event_parse() refuses, a second start
 * of a rank, ranks outside the world, updates of a rank that repeat or go backwards, anything after the end,
 * and updates beyond RECEIPT_MAX_UPDATES. An oom event or a non-finite loss, whichever is first, sets
 * r->failure. */
struct receipt_builder;
struct receipt_builder *receipt_builder_new(struct receipt *r, const char *expected_nonce, double spawn_s);
void receipt_builder_line(struct receipt_builder *b, const char *line, size_t length, double arrived_s);
void receipt_builder_finish(struct receipt_builder *b, double end_s); /* frees the builder */

struct strbuf;
/* Sorted keys, compact, 17 digits. Text that is not UTF-8 is escaped. */
void receipt_to_json(const struct receipt *r, struct strbuf *json);
/* Strict: every key of the schema and no other. ERR_INPUT names the JSON path; `path` is what messages name.
 */
enum err_code receipt_from_json(const char *path, const char *json, size_t length,
	struct receipt *ret_receipt, struct err *reterr) MUST_CHECK;

/* Signing keys: an HMAC key per campaign and one Ed25519 pair per user. */
struct receipt_keys {
	unsigned char hmac[32];
	unsigned char ed25519_secret[64], ed25519_public[32];
	bool has_hmac;
	bool has_ed25519;  /* the public part is known; a trusted key of somebody else has no secret (zeroes)
			    */
	char campaign[65]; /* whose HMAC key it is */
};
/* Loads or (create) makes $XDG_STATE_HOME/infrarsi/keys/<campaign>.hmac and ed25519.key, mode 0600. Two
 * processes that create at once end with the same keys. Without `create` an absent key is not an error: has_
 * stays false. Refuses (ERR_CONTRACT) a key file that others can read and a folder that others can write. */
enum err_code receipt_keys_load(
	const char *campaign, bool create, struct receipt_keys *ret_keys, struct err *reterr) MUST_CHECK;
void receipt_keys_wipe(struct receipt_keys *keys);

/* Serialises, signs and writes the receipt to path (atomically); sets payload_digest. */
enum err_code receipt_seal(
	struct receipt *r, const struct receipt_keys *keys, const char *path, struct err *reterr) MUST_CHECK;
/* The stored form of any payload; ERR_STATE when a key is missing. */
enum err_code receipt_seal_payload(const char *payload, size_t length, const struct receipt_keys *keys,
	struct strbuf *ret_stored, struct err *reterr) MUST_CHECK;

enum seal_state {
	SEAL_HMAC_AND_ED25519, /* both verified */
	SEAL_ED25519,          /* the campaign key is not here; the public signature holds */
	SEAL_UNSIGNED,
	SEAL_EDITED,     /* a signature does not match the payload */
	SEAL_FOREIGN,    /* signed by a key other than the expected one */
	SEAL_TRUNCATED,  /* the bytes end before the document does */
	SEAL_MALFORMED,  /* no receipt: not JSON, or not as docs/formats.md says */
	SEAL_SCHEMA,     /* of a version that this one does not read */
	SEAL_UNREADABLE, /* the file or a key could not be read at all */
	N_SEAL_STATES
};
extern const char *const seal_state_names[N_SEAL_STATES];
/* Reads, checks signatures, parses. *ret_state says in one word how that went, and is the one output that is
 * set on failure too. A receipt that is not authentic is an ERR_CONTRACT error whose message names the reason
 * ("unsigned", "edited", "foreign"); a truncated or malformed one, or one of another schema, is ERR_INPUT
 * with line and column where there are any. keys (may be NULL): with has_ed25519, a receipt signed by another
 * key is foreign, without it the key in the receipt is taken as it is; with has_hmac, the HMAC must match
 * too. */
enum err_code receipt_read(const char *path, const struct receipt_keys *keys, struct receipt *ret_receipt,
	enum seal_state *ret_state, struct err *reterr) MUST_CHECK;

/* The same for files of several campaigns: asks for the keys once it knows which campaign the receipt says it
 * is of ("" where it does not say), so that one reading does. The keys are borrowed until the call returns;
 * NULL = none. */
typedef enum err_code (*receipt_keys_fn)(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr);
enum err_code receipt_read_by(const char *path, receipt_keys_fn lookup, void *context,
	struct receipt *ret_receipt, enum seal_state *ret_state, struct err *reterr) MUST_CHECK;
/* From bytes that were read already; `path` is what messages name. */
enum err_code receipt_open(const char *path, const char *bytes, size_t length, receipt_keys_fn lookup,
	void *context, struct receipt *ret_receipt, enum seal_state *ret_state,
	struct err *reterr) MUST_CHECK;

#endif
