/*
 * A set of stored receipts: opened, held against each other, judged. What cannot be believed is refused under
 * a name and never judged; a refusal is a result, not an error.
 *
 *     struct receipt_set set;
 *     receipt_set_init(&set, lookup, context);
 *     receipt_set_add_file(&set, path, true);
 *     receipt_set_check(&set, whole);
 *     receipt_set_judge(&set);
 *     ... set.files[i].refusal, .verdict ...
 *     receipt_set_release(&set);
 *
 * The references that a receipt names have to be in the set too: add them with given = false where nobody
 * asked for a verdict on them.
 */
#ifndef INFRARSI_VERIFY_SET_H
#define INFRARSI_VERIFY_SET_H

#include "base/base.h"
#include "base/err.h"
#include "base/memory.h"
#include "event/receipt.h"
#include "verify/verify.h"

enum set_refusal {
	REFUSAL_NONE,
	REFUSAL_UNREADABLE,
	REFUSAL_TRUNCATED,
	REFUSAL_MALFORMED,
	REFUSAL_SCHEMA,
	REFUSAL_UNSIGNED,
	REFUSAL_EDITED,
	REFUSAL_FOREIGN,
	REFUSAL_UNKNOWN_KEY,  /* no key is known that the signature could be held against */
	REFUSAL_DUPLICATE,    /* given twice */
	REFUSAL_REPLAYED,     /* a nonce, or a place in the chain, that is another receipt's */
	REFUSAL_BROKEN,       /* does not name the receipt before it */
	REFUSAL_GAP,          /* of a whole campaign: the receipt before it is not there */
	REFUSAL_NO_REFERENCE, /* none of the references that it was compared with is there */
	REFUSAL_OTHER_TERMS,  /* its references are of another contract */
	N_REFUSALS
};
extern const char *const refusal_names[N_REFUSALS];

struct set_file {
	const char *path;
	bool given; /* a verdict is asked for */
	enum set_refusal refusal;
	struct err why; /* of a refusal */
	enum seal_state seal;
	bool has_receipt; /* authentic and well-formed */
	struct receipt receipt;
	const struct duel_result *duel; /* set before judging, where it was promoted; borrowed */
	bool judged;
	struct verdict verdict;
	size_t n_references; /* of those that it names, how many were found */
};

struct set_loss;
struct set_digest;
struct receipt_set {
	struct arena arena;
	struct set_file *files;
	size_t n, capacity;
	receipt_keys_fn lookup;
	void *context;
	bool key_known;             /* of the receipt last opened */
	struct set_digest *digests; /* of those with a receipt, sorted; made anew when n_indexed is not n */
	size_t n_digests, n_indexed;
	struct set_loss *losses; /* of all trials, sorted */
	size_t n_losses;
};

void receipt_set_init(struct receipt_set *set, receipt_keys_fn lookup, void *context);
void receipt_set_release(struct receipt_set *set);
void receipt_set_add_file(struct receipt_set *set, const char *path, bool given);
void receipt_set_add_bytes(
	struct receipt_set *set, const char *path, const char *bytes, size_t length, bool given);
/* Holds the receipts against each other. whole: nothing of a campaign should be missing. */
void receipt_set_check(struct receipt_set *set, bool whole);
/* Judges what was given and is not refused. */
void receipt_set_judge(struct receipt_set *set);

/* NULL = no authentic receipt has this payload digest. */
struct set_file *receipt_set_by_digest(struct receipt_set *set, const char *digest);
bool receipt_set_misses_reference(struct receipt_set *set, const struct receipt *r);

#endif
