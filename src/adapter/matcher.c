#include "base/base.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/matcher.h"
#include "adapter/window_int.h"
#include "base/memory.h"

enum { MAX_SHORT = 8 };

struct literal {
	const char *text;
	uint64_t owners, notes;
	uint16_t length, offset; /* of the window; of a short one's rarest byte */
	uint16_t hash;           /* of the window */
	uint32_t window;         /* folded: hashes of other windows may be the same */
};

struct matcher {
	uint8_t marks[HASH_SIZE];  /* of hashes that literals have: groups of their owners */
	uint16_t first[HASH_SIZE]; /* the first literal of a hash; they are in the order of their hashes */
	struct literal *literals;
	size_t n_literals, capacity;
	struct literal shorts[MAX_SHORT]; /* shorter than the window: looked for byte by byte */
	size_t n_shorts;
};

struct matcher *matcher_new(void)
{
	return xcalloc(1, sizeof(struct matcher));
}

static void add_bits(struct literal *to, const struct literal *from)
{
	to->owners |= from->owners;
	to->notes |= from->notes;
}

void matcher_add(struct matcher *m, const char *text, uint64_t owners, uint64_t notes)
{
	struct literal literal = {
		.text = text, .owners = owners, .notes = notes, .length = (uint16_t)strlen(text)};
	assert(literal.length > 0);
	for (const char *p = text; *p; p++)
		assert(!isupper((unsigned char)*p));
	if (literal.length < WINDOW) {
		while (isalpha((unsigned char)text[literal.offset]))
			literal.offset++;
		assert(literal.offset < literal.length); /* memchr() does not fold case */
		for (size_t i = 0; i < m->n_shorts; i++)
			if (strcmp(m->shorts[i].text, text) == 0) {
				add_bits(&m->shorts[i], &literal);
				return;
			}
		assert(m->n_shorts < MAX_SHORT);
		m->shorts[m->n_shorts++] = literal;
		return;
	}
	grow_array(&m->literals, &m->capacity, m->n_literals + 1, sizeof(*m->literals));
	m->literals[m->n_literals++] = literal;
}

static int by_hash(const void *left, const void *right)
{
	const struct literal *a = left, *b = right;
	int order = (a->hash > b->hash) - (a->hash < b->hash);
	return order ? order : strcmp(a->text, b->text);
}

/* A literal of several owners is compared once. They stand side by side. */
static void merge_literals(struct matcher *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n_literals; i++) {
		if (n > 0 && strcmp(m->literals[n - 1].text, m->literals[i].text) == 0)
			add_bits(&m->literals[n - 1], &m->literals[i]);
		else
			m->literals[n++] = m->literals[i];
	}
	m->n_literals = n;
}

/* What nobody wants, or has been found already, is mostly passed without a look. */
static uint8_t groups_of(uint64_t owners)
{
	owners |= owners >> 32;
	owners |= owners >> 16;
	owners |= owners >> 8;
	return (uint8_t)owners;
}

/* Beside those of its owners, of a literal with notes: always looked for. */
enum { GROUP_OF_NOTES = 1 << (MATCHER_GROUPS - 1) };

void matcher_compile(struct matcher *m)
{
	CLEANUP(free_ptr) struct window_counts *counts = window_counts_new();
	for (size_t i = 0; i < m->n_literals; i++) {
		struct literal *l = &m->literals[i];
		l->offset = (uint16_t)rarest_window(counts, l->text, l->length);
		l->window = folded(load_window(l->text + l->offset));
		l->hash = (uint16_t)hash_of_folded(l->window);
	}
	if (m->n_literals)
		qsort(m->literals, m->n_literals, sizeof(*m->literals), by_hash);
	merge_literals(m);
	for (size_t i = m->n_literals; i-- > 0;) {
		m->first[m->literals[i].hash] = (uint16_t)i;
		m->marks[m->literals[i].hash] |= groups_of(m->literals[i].owners);
		if (m->literals[i].notes)
			m->marks[m->literals[i].hash] |= GROUP_OF_NOTES;
	}
}

static bool is_at(const struct literal *l, const char *p)
{
	for (size_t i = 0; i < l->length; i++)
		if (to_lower(p[i]) != l->text[i])
			return false;
	return true;
}

/* hits->owners holds what is not wanted as if it had been found. */
static bool has_news(const struct literal *l, const struct matcher_hits *hits)
{
	return (l->owners & ~hits->owners) || (l->notes & ~hits->notes);
}

static void add_hit(const struct literal *l, struct matcher_hits *hits)
{
	hits->owners |= l->owners;
	hits->notes |= l->notes;
}

/* The literals whose window has this hash, where the text allows them at this place. */
static void compare(const struct matcher *m, size_t hash, const char *text, size_t length, size_t at,
	struct matcher_hits *hits)
{
	const struct literal *end = m->literals + m->n_literals;
	uint32_t window = folded(load_window(text + at));
	for (const struct literal *l = m->literals + m->first[hash]; l < end && l->hash == hash; l++) {
		if (l->window != window || !has_news(l, hits) || at < l->offset ||
			at - l->offset + l->length > length)
			continue;
		if (is_at(l, text + at - l->offset))
			add_hit(l, hits);
	}
}

static bool has_short(const struct literal *l, const char *text, size_t length)
{
	const char *end = text + length;
	for (const char *p = text; (p = memchr(p, l->text[l->offset], (size_t)(end - p))) != NULL; p++)
		if ((size_t)(p - text) >= l->offset && (size_t)(l->length - l->offset) <= (size_t)(end - p) &&
			is_at(l, p - l->offset))
			return true;
	return false;
}

struct matcher_hits matcher_find(const struct matcher *m, uint64_t wanted, const char *text, size_t length)
{
	enum { AT_ONCE = 4 }; /* one branch for so many places: marks are rare */
	struct matcher_hits hits = {.owners = ~wanted};
	unsigned left = groups_of(wanted) | GROUP_OF_NOTES;
	size_t i = 0;
	for (; i + WINDOW + AT_ONCE <= length; i += AT_ONCE) {
		uint64_t bytes;
		memcpy(&bytes, text + i, sizeof(bytes));
		bytes = le64toh(bytes) | 0x2020202020202020u;
		size_t h0 = hash_of_folded((uint32_t)bytes), h1 = hash_of_folded((uint32_t)(bytes >> 8)),
		       h2 = hash_of_folded((uint32_t)(bytes >> 16)),
		       h3 = hash_of_folded((uint32_t)(bytes >> 24));
		if (!((m->marks[h0] | m->marks[h1] | m->marks[h2] | m->marks[h3]) & left))
			continue;
		const size_t hashes[AT_ONCE] = {h0, h1, h2, h3};
		for (size_t k = 0; k < AT_ONCE; k++)
			if (m->marks[hashes[k]] & left)
				compare(m, hashes[k], text, length, i + k, &hits);
		left = groups_of(~hits.owners) | GROUP_OF_NOTES;
	}
	for (; i + WINDOW <= length; i++) {
		size_t hash = hash_of(text + i);
		if (m->marks[hash] & left)
			compare(m, hash, text, length, i, &hits);
	}
	for (size_t k = 0; k < m->n_shorts; k++)
		if (has_news(&m->shorts[k], &hits) && has_short(&m->shorts[k], text, length))
			add_hit(&m->shorts[k], &hits);
	hits.owners &= wanted;
	return hits;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	free(m->literals);
	free(m);
}
