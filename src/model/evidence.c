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

static bool is_telling(const struct words *w, int i)
{
	const char *text = w->text + w->word[i].start;
	int length = w->word[i].length;
	bool has_letter = false;
	for (int k = 0; k < length; k++)
		has_letter |= isalpha((unsigned char)text[k]) != 0;
	if (length < SHORTEST_ALONE || !has_letter)
		return false;
	for (size_t k = 0; k < ARRAY_LEN(common_words); k++)
		if (strlen(common_words[k]) == (size_t)length &&
			memcmp(common_words[k], text, (size_t)length) == 0)
			return false;
	return true;
}

/* Words of the term that follow one another in the text from its word `at` on. */
static int run_length(const struct words *term, int from, const struct words *text, int at)
{
	int n = 0;
	while (from + n < term->n && at + n < text->n && same_word(term, from + n, text, at + n))
		n++;
	return n;
}

/* The whole term of two words or more, or two of its words in a row of which one is telling, or its only word
 * if that is telling. */
static bool is_named(const struct words *term, const struct words *text)
{
	for (int from = 0; from < term->n; from++) {
		for (int at = 0; at < text->n; at++) {
			int n = run_length(term, from, text, at);
			if (n < MIN_OF(term->n, 2))
				continue;
			if (n == term->n && n > 1)
				return true;
			for (int k = 0; k < n; k++)
				if (is_telling(term, from + k))
					return true;
		}
	}
	return false;
}

struct matcher {
	struct words text, term;
};

static bool names(struct matcher *m, const char *term)
{
	split(term, &m->term);
	return is_named(&m->term, &m->text);
}

static bool lever_is_named(struct matcher *m, const struct lever *lever, int setting)
{
	if (names(m, lever->name))
		return true;
	if (lever->setting_names && !lever->is_patch && names(m, lever->setting_names[setting]))
		return true;
	for (size_t i = 0; i < lever->n_words; i++)
		if (names(m, lever->words[i]))
			return true;
	return false;
}

int evidence_named(
	const struct lever *levers, int n_levers, const int *setting, const char *text, bool *ret_named)
{
	CLEANUP(free_ptr) struct matcher *m = xcalloc(1, sizeof(*m));
	int n = 0;
	split(text, &m->text);
	for (int l = 0; l < n_levers; l++) {
		ret_named[l] = lever_is_named(m, &levers[l], setting[l]);
		n += ret_named[l];
	}
	if (n <= FEW_LEVERS)
		return n;
	memset(ret_named, 0, (size_t)n_levers * sizeof(*ret_named));
	return 0;
}
