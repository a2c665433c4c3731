#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/chain.h"
#include "event/receipt.h"

const char *const chain_problem_names[N_CHAIN_PROBLEM_KINDS] = {
	[CHAIN_DUPLICATE] = "duplicate",
	[CHAIN_REPLAYED] = "replayed",
	[CHAIN_BROKEN] = "broken",
};

/* A file in one of the orders below; `file` is its index in the caller's array. */
struct link {
	const struct receipt *r;
	const char *path;
	size_t file;
};

struct check {
	struct arena *arena;
	struct chain_problem *problems; /* malloc; copied to the arena at the end */
	size_t n_problems, capacity;
};

static int by_index(const struct link *a, const struct link *b)
{
	return a->file < b->file ? -1 : a->file > b->file;
}

static int compare_place(const void *x, const void *y)
{
	const struct link *a = x, *b = y;
	int order = strcmp(a->r->campaign, b->r->campaign);
	if (order)
		return order;
	if (a->r->seq != b->r->seq)
		return a->r->seq < b->r->seq ? -1 : 1;
	order = strcmp(a->r->payload_digest, b->r->payload_digest);
	return order ? order : by_index(a, b);
}

static int compare_nonce(const void *x, const void *y)
{
	const struct link *a = x, *b = y;
	int order = strcmp(a->r->nonce, b->r->nonce);
	if (order)
		return order;
	order = strcmp(a->r->payload_digest, b->r->payload_digest);
	return order ? order : by_index(a, b);
}

static void report(struct check *c, enum chain_problem_kind kind, const struct link *a, const struct link *b,
	const char *text)
{
	grow_array(&c->problems, &c->capacity, c->n_problems + 1, sizeof(*c->problems));
	c->problems[c->n_problems++] = (struct chain_problem){kind, a->file, b->file, text};
}

static bool same_payload(const struct link *a, const struct link *b)
{
	return strcmp(a->r->payload_digest, b->r->payload_digest) == 0;
}

static void check_alone(struct check *c, const struct link *l)
{
	if (l->r->seq == 1 && l->r->prev[0])
		report(c, CHAIN_BROKEN, l, l,
			arena_printf(c->arena,
				"broken chain: %s is the first receipt but names one before it", l->path));
	else if (l->r->seq > 1 && !l->r->prev[0])
		report(c, CHAIN_BROKEN, l, l,
			arena_printf(c->arena, "broken chain: %s is receipt %lld but names none before it",
				l->path, (long long)l->r->seq));
}

static bool same_place(const struct link *a, const struct link *b)
{
	return strcmp(a->r->campaign, b->r->campaign) == 0 && a->r->seq == b->r->seq;
}

/* Two neighbours in order of place. disputed: several receipts claim a's place, so which of them b should
 * name cannot be told. */
static void check_pair(struct check *c, const struct link *a, const struct link *b, bool disputed)
{
	if (strcmp(a->r->campaign, b->r->campaign) != 0)
		return;
	if (same_payload(a, b))
		report(c, CHAIN_DUPLICATE, a, b,
			arena_printf(
				c->arena, "duplicate: %s and %s are the same receipt", a->path, b->path));
	else if (same_place(a, b))
		report(c, CHAIN_REPLAYED, a, b,
			arena_printf(c->arena, "replayed: %s and %s are both receipt %lld of campaign %s",
				a->path, b->path, (long long)a->r->seq, a->r->campaign));
	else if (!disputed && b->r->seq == a->r->seq + 1 && b->r->prev[0] &&
		 strcmp(b->r->prev, a->r->payload_digest) != 0)
		report(c, CHAIN_BROKEN, a, b,
			arena_printf(c->arena, "broken chain: %s does not name %s as the receipt before it",
				b->path, a->path));
}

static void check_nonces(struct check *c, const struct link *a, const struct link *b)
{
	if (!*a->r->nonce || strcmp(a->r->nonce, b->r->nonce) != 0 || same_payload(a, b))
		return;
	report(c, CHAIN_REPLAYED, a, b,
		arena_printf(c->arena, "replayed: %s and %s have the same nonce", a->path, b->path));
}

size_t receipt_chain_check(const struct chain_file *files, size_t n_files, struct arena *arena,
	struct chain_problem **ret_problems)
{
	struct check c = {arena, NULL, 0, 0};
	CLEANUP(free_ptr) struct link *links = xcalloc(n_files, sizeof(*links));
	for (size_t i = 0; i < n_files; i++)
		links[i] = (struct link){files[i].receipt, files[i].path, i};
	qsort(links, n_files, sizeof(*links), compare_place);
	for (size_t i = 0; i < n_files; i++) {
		check_alone(&c, &links[i]);
		if (i > 0)
			check_pair(&c, &links[i - 1], &links[i],
				i > 1 && same_place(&links[i - 2], &links[i - 1]) &&
					!same_payload(&links[i - 2], &links[i - 1]));
	}
	qsort(links, n_files, sizeof(*links), compare_nonce);
	for (size_t i = 1; i < n_files; i++)
		check_nonces(&c, &links[i - 1], &links[i]);
	struct chain_problem *problems = arena_array(arena, c.n_problems, sizeof(*problems));
	if (c.n_problems)
		memcpy(problems, c.problems, c.n_problems * sizeof(*problems));
	free(c.problems);
	*ret_problems = problems;
	return c.n_problems;
}
