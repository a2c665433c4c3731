#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/evidence.h"

enum { TEXT_MAX = 4096, WORDS_MAX = 512, FEW_LEVERS = 4, SHORTEST_ALONE = 3 };

/* Words that say nothing by themselves. */
static const char *const common_words[] = {"and", "assert", "async", "auto", "batch", "bool", "cache", "call",
	"code", "config", "cpu", "cuda", "data", "default", "device", "dtype", "enable", "error", "exception",
	"expected", "failed", "false", "file", "for", "forward", "from", "function", "gpu", "grad", "group",
	"impl", "in", "input", "int", "invalid", "is", "kernel", "layer", "level", "line", "loss", "max",
	"memory", "micro", "min", "mode", "model", "module", "name", "none", "not", "num", "number", "off",
	"on", "op", "optimizer", "out", "output", "parallel", "param", "rank", "run", "runtime", "self",
	"set", "shape", "size", "step", "steps", "stream", "tensor", "the", "time", "to", "torch", "train",
	"training", "true", "type", "use", "value", "warning", "with", "world", "yes", "no"};

struct word {
	int start, length;
};

struct words { /* of one text; lower case */
	char text[TEXT_MAX];
	struct word word[WORDS_MAX];
	int n;
};

static bool begins_word(const char *text, size_t i)
{
	if (i == 0 || !isalnum((unsigned char)text[i - 1]))
		return true;
	return isupper((unsigned char)text[i]) && islower((unsigned char)text[i - 1]);
}

static void split(const char *text, struct words *w)
{
	w->n = 0;
	for (size_t i = 0; text[i] && i < TEXT_MAX; i++) {
		unsigned char c = (unsigned char)text[i];
		w->text[i] = (char)tolower(c);
		if (!isalnum(c))
			continue;
		if (begins_word(text, i)) {
			if (w->n == WORDS_MAX)
				return;
			w->word[w->n++] = (struct word){(int)i, 0};
		}
		w->word[w->n - 1].length++;
	}
}

static bool same_word(const struct words *a, int i, const struct words *b, int j)
{
	return a->word[i].length == b->word[j].length &&
	       memcmp(a->text + a->word[i].start, b->text + b->word[j].start, (size_t)a->word[i].length) == 0;
}

static bool is_common(const struct words *w, int i)
{
	for (size_t k = 0; k < ARRAY_LEN(common_words); k++)
		if (strlen(common_words[k]) == (size_t)w->word[i].length &&
			memcmp(common_words[k], w->text + w->word[i].start, (size_t)w->word[i].length) == 0)
			return true;
	return false;
}

static bool is_telling(const struct words *w, int i)
{
	const char *text = w->text + w->word[i].start;
	int length = w->word[i].length;
	bool has_letter = false;
	for (int k = 0; k < length; k++)
		has_letter |= isalpha((unsigned char)text[k]) != 0;
	return length >= SHORTEST_ALONE && has_letter && !is_common(w, i);
}

struct matcher {
	const struct lever *levers;
	struct words text, term, name; /* of the failure, of a lever, of one of its settings */
	bool claimed[WORDS_MAX];       /* words of the text that a term claims; */
	bool taken[WORDS_MAX];         /* a longer one did: they stand for that */
};

/* Words of the term, from its word `from` on, that follow one another in the text from its word `at` on. */
static int run_length(const struct matcher *m, const struct words *term, int from, int at)
{
	int n = 0;
	while (from + n < term->n && at + n < m->text.n && !m->taken[at + n] &&
		same_word(term, from + n, &m->text, at + n))
		n++;
	return n;
}

static void claim(struct matcher *m, int at, int n)
{
	for (int i = 0; i < n; i++)
		m->claimed[at + i] = true;
}

static bool any_is_telling(const struct words *w, int from, int n)
{
	for (int i = 0; i < n; i++)
		if (is_telling(w, from + i))
			return true;
	return false;
}

/* How many words of the text at `at` are the name of one of the lever's settings; 0 = none. */
static int setting_length(struct matcher *m, const struct lever *lever, int at)
{
	int longest = 0;
	for (int i = 0; lever->setting_names && i < lever->n_settings; i++) {
		split(lever->setting_names[i], &m->name);
		int n = run_length(m, &m->name, 0, at);
		if (n == m->name.n && n > longest)
			longest = n;
	}
	return longest;
}

/*
 * A whole term, wherever it stands, claims its words: of p_fused_rope=on nothing is left that p_fused_norm
 * could be meant by, and what compile_mode takes, compile cannot. A word that says nothing alone (tp, k7)
 * names its lever where a setting follows it (tp=2); that setting is then the lever's and no other's.
 */
static bool claims_whole(struct matcher *m, const struct lever *lever, const char *term)
{
	bool found = false;
	split(term, &m->term);
	for (int at = 0; at < m->text.n; at++) {
		int n = run_length(m, &m->term, 0, at);
		if (n == 0 || n < m->term.n)
			continue;
		bool may_do_alone = n > 1 || is_telling(&m->term, 0);
		bool may_do_with_setting = may_do_alone || !is_common(&m->term, 0);
		int n_setting = may_do_with_setting ? setting_length(m, lever, at + n) : 0;
		if (!may_do_alone && n_setting == 0)
			continue;
		claim(m, at, n + n_setting);
		found = true;
	}
	return found;
}

/* Two of its words in a row of which one is telling, or its only word if that is telling. */
static bool is_alluded_to(struct matcher *m, const char *term)
{
	split(term, &m->term);
	for (int from = 0; from < m->term.n; from++)
		for (int at = 0; at < m->text.n; at++) {
			int n = run_length(m, &m->term, from, at);
			bool whole = n == m->term.n && n > 1;
			if (n >= MIN_OF(m->term.n, 2) && n && (whole || any_is_telling(&m->term, from, n)))
				return true;
		}
	return false;
}

static bool is_named_in_part(struct matcher *m, const struct lever *lever, int setting)
{
	if (is_alluded_to(m, lever->name))
		return true;
	if (lever->setting_names && !lever->is_patch && is_alluded_to(m, lever->setting_names[setting]))
		return true;
	for (size_t i = 0; i < lever->n_words; i++)
		if (is_alluded_to(m, lever->words[i]))
			return true;
	return false;
}

struct term {
	int lever, n_words, index;
	const char *text;
};

static int longest_first(const void *va, const void *vb)
{
	const struct term *a = va, *b = vb;
	if (a->n_words != b->n_words)
		return a->n_words > b->n_words ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static struct term *list_terms(struct matcher *m, int n_levers, size_t *ret_count)
{
	size_t n = 0, room = 0;
	for (int l = 0; l < n_levers; l++)
		room += 1 + m->levers[l].n_words;
	struct term *terms = xcalloc(room + 1, sizeof(*terms));
	for (int l = 0; l < n_levers; l++)
		for (size_t i = 0; i <= m->levers[l].n_words; i++) {
			const char *text = i ? m->levers[l].words[i - 1] : m->levers[l].name;
			split(text, &m->term);
			terms[n] = (struct term){l, m->term.n, (int)n, text};
			n++;
		}
	qsort(terms, n, sizeof(*terms), longest_first);
	*ret_count = n;
	return terms;
}

/* Those of one length at a time: a word may belong to two levers. */
static void find_whole_terms(struct matcher *m, int n_levers, bool *ret_named)
{
	size_t n;
	CLEANUP(free_ptr) struct term *terms = list_terms(m, n_levers, &n);
	for (size_t i = 0; i < n; i++) {
		if (i && terms[i].n_words < terms[i - 1].n_words)
			memcpy(m->taken, m->claimed, sizeof(m->taken));
		if (claims_whole(m, &m->levers[terms[i].lever], terms[i].text))
			ret_named[terms[i].lever] = true;
	}
	memcpy(m->taken, m->claimed, sizeof(m->taken));
}

int evidence_named(
	const struct lever *levers, int n_levers, const int *setting, const char *text, bool *ret_named)
{
	CLEANUP(free_ptr) struct matcher *m = xcalloc(1, sizeof(*m));
	int n = 0;
	m->levers = levers;
	split(text, &m->text);
	memset(ret_named, 0, (size_t)n_levers * sizeof(*ret_named));
	find_whole_terms(m, n_levers, ret_named);
	for (int l = 0; l < n_levers; l++) {
		ret_named[l] = ret_named[l] || is_named_in_part(m, &levers[l], setting[l]);
		n += ret_named[l];
	}
	if (n <= FEW_LEVERS)
		return n;
	memset(ret_named, 0, (size_t)n_levers * sizeof(*ret_named));
	return 0;
}
