#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event/chain.h"
#include "event/receipt.h"
#include "verify/set.h"
#include "verify/verify.h"

const char *const refusal_names[N_REFUSALS] = {
	[REFUSAL_NONE] = "none",
	[REFUSAL_UNREADABLE] = "unreadable",
	[REFUSAL_TRUNCATED] = "truncated",
	[REFUSAL_MALFORMED] = "malformed",
	[REFUSAL_SCHEMA] = "schema",
	[REFUSAL_UNSIGNED] = "unsigned",
	[REFUSAL_EDITED] = "edited",
	[REFUSAL_FOREIGN] = "foreign",
	[REFUSAL_UNKNOWN_KEY] = "unknown_key",
	[REFUSAL_DUPLICATE] = "duplicate",
	[REFUSAL_REPLAYED] = "replayed",
	[REFUSAL_BROKEN] = "broken",
	[REFUSAL_GAP] = "gap",
	[REFUSAL_NO_REFERENCE] = "no_reference",
	[REFUSAL_OTHER_TERMS] = "other_terms",
};

static const enum set_refusal refusal_of_seal[N_SEAL_STATES] = {
	[SEAL_HMAC_AND_ED25519] = REFUSAL_MALFORMED,
	[SEAL_ED25519] = REFUSAL_MALFORMED,
	[SEAL_UNSIGNED] = REFUSAL_UNSIGNED,
	[SEAL_EDITED] = REFUSAL_EDITED,
	[SEAL_FOREIGN] = REFUSAL_FOREIGN,
	[SEAL_TRUNCATED] = REFUSAL_TRUNCATED,
	[SEAL_MALFORMED] = REFUSAL_MALFORMED,
	[SEAL_SCHEMA] = REFUSAL_SCHEMA,
	[SEAL_UNREADABLE] = REFUSAL_UNREADABLE,
};

static const enum set_refusal refusal_of_chain[N_CHAIN_PROBLEM_KINDS] = {
	[CHAIN_DUPLICATE] = REFUSAL_DUPLICATE,
	[CHAIN_REPLAYED] = REFUSAL_REPLAYED,
	[CHAIN_BROKEN] = REFUSAL_BROKEN,
};

struct set_digest {
	const char *hex; /* in the receipt; files do not move once the index is made */
	size_t file;
};

struct set_loss {
	double loss;
	size_t file;
};

void receipt_set_init(struct receipt_set *set, receipt_keys_fn lookup, void *context)
{
	*set = (struct receipt_set){.arena = ARENA_INIT, .lookup = lookup, .context = context};
}

void receipt_set_release(struct receipt_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].has_receipt)
			receipt_release(&set->files[i].receipt);
	free(set->files);
	free(set->digests);
	free(set->losses);
	arena_release(&set->arena);
	*set = (struct receipt_set){.arena = ARENA_INIT};
}

static enum err_code look_up(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	struct receipt_set *set = context;
	TRY(set->lookup(set->context, campaign, ret_keys, reterr));
	set->key_known = *ret_keys && (*ret_keys)->has_ed25519;
	return OK;
}

static struct set_file *add(struct receipt_set *set, const char *path, bool given)
{
	grow_array(&set->files, &set->capacity, set->n + 1, sizeof(*set->files));
	struct set_file *file = &set->files[set->n++];
	*file = (struct set_file){.path = arena_strdup(&set->arena, path), .given = given};
	set->key_known = false;
	return file;
}

static void note_opened(struct receipt_set *set, struct set_file *file, enum err_code code)
{
	if (code != OK) {
		file->refusal = refusal_of_seal[file->seal];
	} else if (!set->key_known) {
		/* Without any key to hold it against, a signature only says that somebody signed. */
		receipt_release(&file->receipt);
		file->refusal = REFUSAL_UNKNOWN_KEY;
		(void)err_set(&file->why, ERR_CONTRACT,
			"signed by a key that is not known here; where you trust its signer, name the key "
			"with --key");
	} else {
		file->has_receipt = true;
	}
}

void receipt_set_add_file(struct receipt_set *set, const char *path, bool given)
{
	struct set_file *file = add(set, path, given);
	note_opened(set, file, receipt_read_by(path, look_up, set, &file->receipt, &file->seal, &file->why));
}

void receipt_set_add_bytes(
	struct receipt_set *set, const char *path, const char *bytes, size_t length, bool given)
{
	struct set_file *file = add(set, path, given);
	note_opened(set, file,
		receipt_open(path, bytes, length, look_up, set, &file->receipt, &file->seal, &file->why));
}

static int compare_digests(const void *x, const void *y)
{
	const struct set_digest *a = x, *b = y;
	int order = strcmp(a->hex, b->hex);
	return order ? order : (a->file > b->file) - (a->file < b->file);
}

static void index_digests(struct receipt_set *set)
{
	if (set->digests && set->n_indexed == set->n)
		return;
	free(set->digests);
	set->digests = xcalloc(set->n + 1, sizeof(*set->digests));
	set->n_digests = 0;
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].has_receipt)
			set->digests[set->n_digests++] =
				(struct set_digest){set->files[i].receipt.payload_digest, i};
	qsort(set->digests, set->n_digests, sizeof(*set->digests), compare_digests);
	set->n_indexed = set->n;
}

struct set_file *receipt_set_by_digest(struct receipt_set *set, const char *digest)
{
	index_digests(set);
	size_t low = 0, high = set->n_digests;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(set->digests[middle].hex, digest) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < set->n_digests && strcmp(set->digests[low].hex, digest) == 0;
	return found ? &set->files[set->digests[low].file] : NULL;
}

bool receipt_set_misses_reference(struct receipt_set *set, const struct receipt *r)
{
	for (size_t i = 0; i < r->n_reference_digests; i++)
		if (!receipt_set_by_digest(set, r->reference_digests[i]))
			return true;
	return false;
}

static void check_chain(struct receipt_set *set)
{
	struct chain_file *chain = arena_array(&set->arena, set->n, sizeof(*chain));
	size_t *index = arena_array(&set->arena, set->n, sizeof(size_t)), n = 0;
	struct chain_problem *problems = NULL;
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].has_receipt) {
			index[n] = i;
			chain[n++] = (struct chain_file){set->files[i].path, &set->files[i].receipt};
		}
	size_t count = receipt_chain_check(chain, n, &set->arena, &problems);
	/* The gravest kind first: a copy, then a replay, then a place that does not fit. */
	for (int kind = 0; kind < N_CHAIN_PROBLEM_KINDS; kind++)
		for (size_t i = 0; i < count; i++) {
			struct set_file *file = &set->files[index[problems[i].file]];
			if ((int)problems[i].kind != kind || file->refusal != REFUSAL_NONE)
				continue;
			file->refusal = refusal_of_chain[kind];
			(void)err_set(&file->why, ERR_CONTRACT, "%s", problems[i].text);
		}
}

/* Taking a receipt away would hide an execution from the bill. */
static void check_gaps(struct receipt_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct set_file *file = &set->files[i];
		const struct receipt *r = &file->receipt;
		if (!file->has_receipt || file->refusal != REFUSAL_NONE || !*r->prev ||
			receipt_set_by_digest(set, r->prev))
			continue;
		file->refusal = REFUSAL_GAP;
		(void)err_set(&file->why, ERR_CONTRACT,
			"gap: receipt %lld, which it follows, is missing or not authentic",
			(long long)r->seq - 1);
	}
}

void receipt_set_check(struct receipt_set *set, bool whole)
{
	check_chain(set);
	if (whole)
		check_gaps(set);
}

static int compare_losses(const void *x, const void *y)
{
	const struct set_loss *a = x, *b = y;
	if (a->loss != b->loss)
		return a->loss < b->loss ? -1 : 1;
	return (a->file > b->file) - (a->file < b->file);
}

static bool is_trial(const struct set_file *file)
{
	return file->has_receipt && !role_is_reference(file->receipt.role);
}

/* Every loss of every trial, so that a replayed one is found without comparing all with all. */
static void index_losses(struct receipt_set *set)
{
	size_t room = 0;
	free(set->losses);
	set->n_losses = 0;
	for (size_t i = 0; i < set->n; i++)
		room += is_trial(&set->files[i]) ? set->files[i].receipt.n_updates : 0;
	set->losses = xcalloc(room + 1, sizeof(*set->losses));
	for (size_t i = 0; i < set->n; i++) {
		const struct receipt *r = &set->files[i].receipt;
		for (size_t u = 0; is_trial(&set->files[i]) && u < r->n_updates; u++)
			if (r->updates[u].loss.has && isfinite(r->updates[u].loss.value))
				set->losses[set->n_losses++] = (struct set_loss){r->updates[u].loss.value, i};
	}
	qsort(set->losses, set->n_losses, sizeof(*set->losses), compare_losses);
}

enum { MAX_SUSPECTS = 16, N_PROBES = 3 };

static size_t first_loss(const struct receipt_set *set, double loss)
{
	size_t low = 0, high = set->n_losses;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->losses[middle].loss < loss)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Trials that have one of three losses of r's. Where many have it (a deterministic job), the first few do. */
static size_t suspects_of(const struct receipt_set *set, const struct receipt *r,
	const struct receipt *ret_suspects[MAX_SUSPECTS])
{
	size_t n = 0;
	for (size_t p = 1; p <= N_PROBES && r->n_updates > 0; p++) {
		const struct receipt_update *u = &r->updates[p * r->n_updates / (N_PROBES + 1)];
		if (!u->loss.has || !isfinite(u->loss.value))
			continue;
		for (size_t i = first_loss(set, u->loss.value);
			i < set->n_losses && set->losses[i].loss == u->loss.value && n < MAX_SUSPECTS; i++) {
			const struct receipt *other = &set->files[set->losses[i].file].receipt;
			bool known = other == r;
			for (size_t k = 0; k < n; k++)
				known |= ret_suspects[k] == other;
			if (!known)
				ret_suspects[n++] = other;
		}
	}
	return n;
}

static size_t references_of(struct receipt_set *set, struct set_file *file, const struct receipt **ret_refs)
{
	const struct receipt *r = &file->receipt;
	size_t n = 0;
	for (size_t k = 0; k < r->n_reference_digests; k++) {
		const struct set_file *other = receipt_set_by_digest(set, r->reference_digests[k]);
		if (other && other != file && role_is_reference(other->receipt.role) &&
			strcmp(other->receipt.campaign, r->campaign) == 0)
			ret_refs[n++] = &other->receipt;
	}
	return n;
}

static void judge(struct receipt_set *set, struct set_file *file)
{
	const struct receipt *r = &file->receipt, *suspects[MAX_SUSPECTS];
	CLEANUP(free_ptr)
	const struct receipt **refs = xcalloc(r->n_reference_digests + 1, sizeof(*refs));
	size_t n = references_of(set, file, refs);
	file->n_references = n;
	if (n == 0 && role_is_reference(r->role))
		refs[n++] = r; /* the first of its kind: there is nothing before it */
	if (n == 0) {
		file->refusal = REFUSAL_NO_REFERENCE;
		(void)err_set(&file->why, ERR_INPUT,
			"the reference receipts that it was compared with are not among the files; name them "
			"too");
	} else if (verify_receipt(r, refs, n, file->duel, &file->verdict, &file->why) != OK) {
		file->refusal = REFUSAL_OTHER_TERMS;
	} else {
		size_t n_suspects = suspects_of(set, r, suspects);
		verify_against_trials(r, refs, n, suspects, n_suspects, &file->verdict);
		file->judged = true;
	}
}

void receipt_set_judge(struct receipt_set *set)
{
	index_losses(set);
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].given && set->files[i].has_receipt && set->files[i].refusal == REFUSAL_NONE)
			judge(set, &set->files[i]);
}
