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

static int by_place(const struct link *a, const struct link *b)
{
	int order = strcmp(a->r->campaign, b->r->campaign);
	if (order)
		return order;
	return a->r->seq < b->r->seq ? -1 : a->r->seq > b->r->seq;
}

/* The same payloads side by side, the file that was given first in front. */
static int compare_place(const void *x, const void *y)
{
	const struct link *a = x, *b = y;
	int order = by_place(a, b);
	if (!order)
		order = strcmp(a->r->payload_digest, b->r->payload_digest);
	return order ? order : by_index(a, b);
}

/* The earliest use of a nonce in front. */
static int compare_nonce(const void *x, const void *y)
{
	const struct link *a = x, *b = y;
	int order = strcmp(a->r->nonce, b->r->nonce);
	if (!order)
		order = by_place(a, b);
	return order ? order : by_index(a, b);
}

static void report(struct check *c, enum chain_problem_kind kind, const struct link *refused,
	const struct link *other, const char *text)
{
	grow_array(&c->problems, &c->capacity, c->n_problems + 1, sizeof(*c->problems));
	c->problems[c->n_problems++] = (struct chain_problem){kind, refused->file, other->file, text};
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

/* The receipts that claim one place in one campaign; n = 0: none was given. */
struct place {
	const struct link *links;
	size_t n;
	bool disputed; /* by different payloads */
};

static struct place place_at(const struct link *links, size_t n, size_t begin)
{
	struct place p = {links + begin, 0, false};
	while (begin + p.n < n && by_place(&links[begin], &links[begin + p.n]) == 0) {
		p.disputed |= !same_payload(&p.links[0], &p.links[p.n]);
		p.n++;
	}
	return p;
}

/* Whether b is the place right behind a. */
static bool follows(const struct place *a, const struct place *b)
{
	return a->n > 0 && b->n > 0 && strcmp(a->links->r->campaign, b->links->r->campaign) == 0 &&
	       b->links->r->seq == a->links->r->seq + 1;
}

static bool names(const struct link *later, const struct link *earlier)
{
	return strcmp(later->r->prev, earlier->r->payload_digest) == 0;
}

/* Whose place it is: whom the receipt behind names, who names the one before, who was given first. */
static const struct link *owner_of(
	const struct place *before, const struct place *p, const struct place *after)
{
	const struct link *best = p->links;
	int best_score = -1;
	for (size_t i = 0; i < p->n; i++) {
		const struct link *l = &p->links[i];
		int score = 0;
		if (follows(p, after) && !after->disputed)
			score += 2 * names(after->links, l);
		if (follows(before, p) && !before->disputed)
			score += names(l, before->links);
		if (score > best_score || (score == best_score && l->file < best->file)) {
			best = l;
			best_score = score;
		}
	}
	return best;
}

static void check_place(
	struct check *c, const struct place *before, const struct place *p, const struct place *after)
{
	const struct link *owner = owner_of(before, p, after);
	for (size_t i = 0; i < p->n; i++) {
		const struct link *l = &p->links[i], *twin = i ? &p->links[i - 1] : NULL;
		check_alone(c, l);
		if (twin && same_payload(twin, l))
			report(c, CHAIN_DUPLICATE, l, twin,
				arena_printf(c->arena, "duplicate: %s and %s are the same receipt",
					twin->path, l->path));
		else if (!same_payload(l, owner))
			report(c, CHAIN_REPLAYED, l, owner,
				arena_printf(c->arena,
					"replayed: %s and %s are both receipt %lld of campaign %s",
					owner->path, l->path, (long long)l->r->seq, l->r->campaign));
	}
	/* Of a disputed place it cannot be told which receipt is to be named. */
	if (follows(before, p) && !before->disputed && !p->disputed && owner->r->prev[0] &&
		!names(owner, before->links))
		report(c, CHAIN_BROKEN, owner, before->links,
			arena_printf(c->arena, "broken chain: %s does not name %s as the receipt before it",
				owner->path, before->links->path));
}

static void check_places(struct check *c, struct link *links, size_t n)
{
	struct place before = {NULL, 0, false}, p, after;
	qsort(links, n, sizeof(*links), compare_place);
	p = place_at(links, n, 0);
	for (size_t begin = 0; begin < n; begin += p.n, before = p, p = after) {
		after = place_at(links, n, begin + p.n);
		check_place(c, &before, &p, &after);
	}
}

static void check_nonces(struct check *c, struct link *links, size_t n)
{
	qsort(links, n, sizeof(*links), compare_nonce);
	for (size_t i = 1, first = 0; i < n; i++) {
		const struct link *a = &links[first], *b = &links[i];
		if (!*b->r->nonce || strcmp(a->r->nonce, b->r->nonce) != 0)
			first = i;
		else if (!same_payload(a, b))
			report(c, CHAIN_REPLAYED, b, a,
				arena_printf(c->arena, "replayed: %s and %s have the same nonce", a->path,
					b->path));
	}
}

size_t receipt_chain_check(const struct chain_file *files, size_t n_files, struct arena *arena,
	struct chain_problem **ret_problems)
{
	struct check c = {arena, NULL, 0, 0};
	CLEANUP(free_ptr) struct link *links = xcalloc(n_files, sizeof(*links));
	for (size_t i = 0; i < n_files; i++)
		links[i] = (struct link){files[i].receipt, files[i].path, i};
	check_places(&c, links, n_files);
	check_nonces(&c, links, n_files);
	struct chain_problem *problems = arena_array(arena, c.n_problems, sizeof(*problems));
	if (c.n_problems)
		memcpy(problems, c.problems, c.n_problems * sizeof(*problems));
	free(c.problems);
	*ret_problems = problems;
	return c.n_problems;
}
