#include "base/base.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/matcher.h"
#include "base/memory.h"

enum { WINDOW = 4, HASH_BITS = 15, HASH_SIZE = 1 << HASH_BITS, MAX_SHORT = 8 };

struct literal {
	const char *text;
	uint64_t owners;
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

void matcher_add(struct matcher *m, const char *text, uint64_t owners)
{
	struct literal literal = {.text = text, .owners = owners, .length = (uint16_t)strlen(text)};
	assert(literal.length > 0);
	for (const char *p = text; *p; p++)
		assert(!isupper((unsigned char)*p));
	if (literal.length < WINDOW) {
		while (isalpha((unsigned char)text[literal.offset]))
			literal.offset++;
		assert(literal.offset < literal.length); /* memchr() does not fold case */
		for (size_t i = 0; i < m->n_shorts; i++)
			if (strcmp(m->shorts[i].text, text) == 0) {
				m->shorts[i].owners |= owners;
				return;
			}
		assert(m->n_shorts < MAX_SHORT);
		m->shorts[m->n_shorts++] = literal;
		return;
	}
	grow_array(&m->literals, &m->capacity, m->n_literals + 1, sizeof(*m->literals));
	m->literals[m->n_literals++] = literal;
}

/* Folds case (and some other pairs of bytes, which the comparison tells apart). Multiplicative hashing; of
 * the constants of xxHash this one gives the literals of four bytes, which have no choice, hashes that logs
 * rarely hit. */
static size_t hash_of_folded(uint32_t window)
{
	return (window * 3266489917u) >> (32 - HASH_BITS);
}

static uint32_t folded(uint32_t window)
{
	return window | 0x20202020u;
}

static size_t hash_of(uint32_t window)
{
	return hash_of_folded(folded(window));
}

/* Little endian on every machine: matcher_find() takes several windows out of one word. */
static uint32_t load_window(const char *p)
{
	uint32_t window;
	memcpy(&window, p, sizeof(window));
	return le32toh(window);
}

/* What is in every log: windows from it are poor ones. */
static const char typical[] =
	"[rank0]: Traceback (most recent call last): File "
	"\"/opt/venv/lib/python3.10/site-packages/torch/_tensor.py\", "
	"line 525, in backward torch.autograd.backward( loss.backward() return self._call_impl(*args, "
	"**kwargs) "
	"[2025-02-11 09:30:21,552] [INFO] [logging.py:128:log_dist] [Rank 0] step=10, skipped=0, "
	"lr=[9.0e-05] | loss: 2.1 "
	"iteration 10/ 500 | consumed samples: 2560 | consumed tokens: elapsed time per iteration (ms): "
	"5120.0 | learning "
	"rate: 7.5E-07 | global batch size: 256 | lm loss: 1.0E+01 | loss scale: 1.0 | grad norm: 21.4 | "
	"number of "
	"skipped iterations: number of nan iterations: training epoch: {'loss': 2.119, 'grad_norm': 37.6, "
	"'learning_rate': 4e-05, 'epoch': 0.2} step 1 loss 2.5 train_loss=5.0 memory: 55.37GiB(70.00%) tps: "
	"tflops: mfu: "
	"allocated reserved node-a:22740:22740 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC "
	"WARNING: Error error "
	"distributed/elastic/multiprocessing/api.py: metric_logger.py: completed step: ***** Running "
	"training ***** ----- "
	"=====     Loading checkpoint shards: saving model global process optimizer backend runtime "
	"███████▏▎▍▌▋▊▉ ####### ------- INFO - root - 00000000 ..... ..... data workers network GPU memory "
	"space sequence length values conditions ";

/* How often a byte is met, roughly: where the sample says nothing. */
static unsigned commonness(char c)
{
	if (c == ' ' || strchr("etaoinsr", c))
		return 4;
	return isalpha((unsigned char)c) ? 3 : isdigit((unsigned char)c) ? 2 : 1;
}

static void choose_window(struct literal *l, const uint8_t *seen)
{
	unsigned best = UINT_MAX;
	for (size_t i = 0; i + WINDOW <= l->length; i++) {
		size_t hash = hash_of(load_window(l->text + i));
		unsigned score = 32u * seen[hash];
		for (size_t k = i; k < i + WINDOW; k++)
			score += commonness(l->text[k]);
		if (score < best) {
			best = score;
			l->offset = (uint16_t)i;
			l->hash = (uint16_t)hash;
		}
	}
	l->window = folded(load_window(l->text + l->offset));
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
			m->literals[n - 1].owners |= m->literals[i].owners;
		else
			m->literals[n++] = m->literals[i];
	}
	m->n_literals = n;
}

/* Every eighth owner is of one group. What nobody wants, or has been found already, is thus mostly passed
 * without a look. */
static uint8_t groups_of(uint64_t owners)
{
	owners |= owners >> 32;
	owners |= owners >> 16;
	owners |= owners >> 8;
	return (uint8_t)owners;
}

void matcher_compile(struct matcher *m)
{
	CLEANUP(free_ptr) uint8_t *seen = xcalloc(HASH_SIZE, 1);
	for (size_t i = 0; i + WINDOW < sizeof(typical); i++)
		seen[hash_of(load_window(typical + i))]++;
	for (size_t i = 0; i < m->n_literals; i++)
		choose_window(&m->literals[i], seen);
	if (m->n_literals)
		qsort(m->literals, m->n_literals, sizeof(*m->literals), by_hash);
	merge_literals(m);
	for (size_t i = m->n_literals; i-- > 0;) {
		m->first[m->literals[i].hash] = (uint16_t)i;
		m->marks[m->literals[i].hash] |= groups_of(m->literals[i].owners);
	}
}

/* Plainer than tolower(), which looks at the locale. */
static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_at(const struct literal *l, const char *p)
{
	for (size_t i = 0; i < l->length; i++)
		if (fold(p[i]) != l->text[i])
			return false;
	return true;
}

/* The literals whose window has this hash, where the text allows them at this place. */
static uint64_t compare(
	const struct matcher *m, size_t hash, const char *text, size_t length, size_t at, uint64_t found)
{
	const struct literal *end = m->literals + m->n_literals;
	uint32_t window = folded(load_window(text + at));
	for (const struct literal *l = m->literals + m->first[hash]; l < end && l->hash == hash; l++) {
		if (l->window != window || !(l->owners & ~found) || at < l->offset ||
			at - l->offset + l->length > length)
			continue;
		if (is_at(l, text + at - l->offset))
			found |= l->owners;
	}
	return found;
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

uint64_t matcher_find(const struct matcher *m, uint64_t wanted, const char *text, size_t length)
{
	enum { AT_ONCE = 4 };     /* one branch for so many places: marks are rare */
	uint64_t found = ~wanted; /* as if they were: not looked for */
	uint8_t left = groups_of(wanted);
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
				found = compare(m, hashes[k], text, length, i + k, found);
		left = groups_of(~found);
	}
	for (; i + WINDOW <= length; i++) {
		size_t hash = hash_of(load_window(text + i));
		if (m->marks[hash] & left)
			found = compare(m, hash, text, length, i, found);
	}
	for (size_t k = 0; k < m->n_shorts; k++) {
		const struct literal *l = &m->shorts[k];
		if (l->owners & ~found && has_short(l, text, length))
			found |= l->owners;
	}
	return found & wanted;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	free(m->literals);
	free(m);
}
