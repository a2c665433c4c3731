#include "base/base.h"

#include <ctype.h>
#include <endian.h>
#include <string.h>

#include "adapter/signatures_int.h"
#include "base/memory.h"

/* The order decides which of two rows that match one line speaks: what is most special first. */
static const struct signature_table *const signature_tables[] = {
	&signatures_memory,
	&signatures_data,
	&signatures_launcher,
	&signatures_crash,
	&signatures_nan,
	&signatures_compile,
	&signatures_collective,
	&signatures_text,
};

const struct signature *signature_at(size_t order)
{
	for (size_t i = 0; i < ARRAY_LEN(signature_tables); i++) {
		if (order < signature_tables[i]->count)
			return &signature_tables[i]->rows[order];
		order -= signature_tables[i]->count;
	}
	return NULL;
}

/* ---- the index: rows by the first four bytes of their pattern ---- */

enum { GRAM = 4, BUCKET_BITS = 14, NO_ROW = 0xFFFF };

struct indexed_row {
	const struct signature *signature;
	uint16_t literal_length; /* up to the first * */
	uint16_t next;           /* row of the same bucket, or NO_ROW */
};

struct signature_index {
	uint8_t marks[1 << BUCKET_BITS]; /* of the buckets that have rows: there are few */
	uint16_t heads[1 << BUCKET_BITS];
	struct indexed_row rows[];
};

static size_t bucket_of_gram(uint32_t gram)
{
	return (gram * 2654435761u) >> (32 - BUCKET_BITS); /* Knuth's multiplicative hash */
}

/* Little endian on every machine: signature_find() takes several grams out of one word. */
static size_t bucket_of(const char *text)
{
	uint32_t gram;
	memcpy(&gram, text, sizeof(gram));
	return bucket_of_gram(le32toh(gram));
}

static size_t count_rows(void)
{
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_LEN(signature_tables); i++)
		count += signature_tables[i]->count;
	return count;
}

struct signature_index *signature_index_new(void)
{
	size_t order = count_rows();
	struct signature_index *index = xmalloc(sizeof(*index) + order * sizeof(index->rows[0]));
	memset(index->heads, 0xFF, sizeof(index->heads));
	memset(index->marks, 0, sizeof(index->marks));
	/* Backwards, so that a bucket's rows stand in the order of the tables. */
	for (size_t i = ARRAY_LEN(signature_tables); i-- > 0;) {
		for (size_t k = signature_tables[i]->count; k-- > 0;) {
			const struct signature *s = &signature_tables[i]->rows[k];
			const char *star = strchr(s->pattern, '*');
			size_t length = star ? (size_t)(star - s->pattern) : strlen(s->pattern);
			size_t bucket = bucket_of(s->pattern);
			uint16_t *head = &index->heads[bucket];
			index->marks[bucket] = 1;
			index->rows[--order] = (struct indexed_row){s, (uint16_t)length, *head};
			*head = (uint16_t)order;
		}
	}
	return index;
}

/* ---- matching ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The end of a match of what stands behind the pattern's literal, or NULL. Parts are looked for one behind
 * the other, each as early as possible. */
static const char *match_rest(const char *p, const char *end, const char *pattern)
{
	while (*pattern == '*') {
		pattern++;
		size_t length = strcspn(pattern, "*");
		p = memmem(p, (size_t)(end - p), pattern, length);
		if (!p)
			return NULL;
		p += length;
		pattern += length;
	}
	return p;
}

enum outcome { NO_MATCH, MATCH, NO_MATCH_IN_LINE };

static enum outcome match_at(const struct indexed_row *row, const char *lower, size_t length, size_t at)
{
	const struct signature *s = row->signature;
	if (row->literal_length > length - at || memcmp(lower + at, s->pattern, row->literal_length) != 0)
		return NO_MATCH;
	const char *end = match_rest(
		lower + at + row->literal_length, lower + length, s->pattern + row->literal_length);
	if (!end)
		return NO_MATCH_IN_LINE; /* a later start leaves less behind it */
	bool joined_before = at > 0 && is_word(lower[at - 1]), joined_behind = is_word(*end);
	if ((s->flags & SIG_WORD) && (joined_before || joined_behind))
		return NO_MATCH;
	if ((s->flags & SIG_END) && joined_behind)
		return NO_MATCH;
	bool misplaced = (s->flags & SIG_START) && at != level_prefix_length(lower);
	return misplaced ? NO_MATCH : MATCH;
}

static void add_hit(
	struct signature_hit hits[SIGNATURE_MAX_HITS], size_t *count, const struct signature_hit *hit)
{
	size_t i = *count;
	if (i == SIGNATURE_MAX_HITS) {
		if (hits[i - 1].order < hit->order)
			return;
		i--;
	} else {
		(*count)++;
	}
	for (; i > 0 && hits[i - 1].order > hit->order; i--)
		hits[i] = hits[i - 1];
	hits[i] = *hit;
}

/* The next place from `at` on where a row may begin; length - GRAM + 1 or more = there is none. */
static size_t next_mark(const struct signature_index *index, const char *lower, size_t length, size_t at)
{
	enum { AT_ONCE = 4 };
	for (; at + GRAM + AT_ONCE <= length; at += AT_ONCE) {
		uint64_t bytes;
		memcpy(&bytes, lower + at, sizeof(bytes));
		bytes = le64toh(bytes);
		for (unsigned k = 0; k < AT_ONCE; k++)
			if (index->marks[bucket_of_gram((uint32_t)(bytes >> 8 * k))])
				return at + k;
	}
	while (at + GRAM <= length && !index->marks[bucket_of(lower + at)])
		at++;
	return at;
}

size_t signature_find(const struct signature_index *index, const char *lower, size_t length, bool build,
	struct signature_hit hits[SIGNATURE_MAX_HITS])
{
	/* Rows that this line has been asked for with a final answer. */
	uint64_t settled[SIGNATURE_MAX_ROWS / 64] = {0};
	size_t count = 0;
	for (size_t at = next_mark(index, lower, length, 0); at + GRAM <= length;
		at = next_mark(index, lower, length, at + 1)) {
		for (uint16_t i = index->heads[bucket_of(lower + at)]; i != NO_ROW; i = index->rows[i].next) {
			const struct indexed_row *row = &index->rows[i];
			uint64_t bit = (uint64_t)1 << (i % 64);
			if ((settled[i / 64] & bit) || ((row->signature->flags & SIG_BUILD) && !build))
				continue;
			enum outcome outcome = match_at(row, lower, length, at);
			if (outcome != NO_MATCH)
				settled[i / 64] |= bit;
			struct signature_hit hit = {row->signature, i, at};
			if (outcome == MATCH)
				add_hit(hits, &count, &hit);
		}
	}
	return count;
}

/* ---- what a line calls itself ---- */

enum { LEVEL_TEXT_MAX = 160 }; /* bytes from the start of a line in which its level is looked for */

/* glog: "E0813 06:09:49.845341 ...", PyTorch's C++: "[E ProcessGroupNCCL.cpp:1316]", "[W1017 11:33:02 ...".
 */
static enum line_level glog_level(const char *lower)
{
	const char *p = lower + (*lower == '[');
	if (!*p || !strchr("diwef", *p))
		return LEVEL_NONE;
	bool date =
		isdigit((unsigned char)p[1]) && isdigit((unsigned char)p[2]) && isdigit((unsigned char)p[3]);
	bool named = *lower == '[' && p[1] == ' ' && isalpha((unsigned char)p[2]);
	if (!date && !named)
		return LEVEL_NONE;
	return *p == 'w' ? LEVEL_WARNING : *p == 'i' || *p == 'd' ? LEVEL_INFO : LEVEL_ERROR;
}

/* can_begin_level() knows how those begin that may stand anywhere. */
static const struct {
	const char *text;
	enum line_level level;
	bool at_start;
} level_words[] = {
	{"[info]", LEVEL_INFO, false},
	{"[debug]", LEVEL_INFO, false},
	{"[warning]", LEVEL_WARNING, false},
	{"[warn]", LEVEL_WARNING, false},
	{"[error]", LEVEL_ERROR, false},
	{"[info|", LEVEL_INFO, false},
	{"[warning|", LEVEL_WARNING, false},
	{"[error|", LEVEL_ERROR, false},
	{" info ", LEVEL_INFO, false},
	{" debug ", LEVEL_INFO, false},
	{" warning ", LEVEL_WARNING, false},
	{" error ", LEVEL_ERROR, false},
	{" critical ", LEVEL_ERROR, false},
	{" info:", LEVEL_INFO, false},
	{" warning:", LEVEL_WARNING, false},
	{": error:", LEVEL_ERROR, false},
	{"userwarning:", LEVEL_WARNING, false},
	{"futurewarning:", LEVEL_WARNING, false},
	{"runtimewarning:", LEVEL_WARNING, false},
	{"deprecationwarning:", LEVEL_WARNING, false},
	{"info:", LEVEL_INFO, true},
	{"debug:", LEVEL_INFO, true},
	{"warning:", LEVEL_WARNING, true},
	{"warn:", LEVEL_WARNING, true},
	{"| warning:", LEVEL_WARNING, true},
	{"error:", LEVEL_ERROR, true},
	{"critical:", LEVEL_ERROR, true},
	{"info ", LEVEL_INFO, true},
	{"warning ", LEVEL_WARNING, true},
	{"error ", LEVEL_ERROR, true},
	{"w external/", LEVEL_WARNING, false},
	{"w tensorflow/", LEVEL_WARNING, false},
	/* Another program's affairs. */
	{"wandb:", LEVEL_INFO, true},
};

/* Whether one of the words that may stand anywhere can begin at p: a look at two bytes. */
static bool can_begin_level(const char *p)
{
	switch (*p) {
	case ' ':
	case '[':
		return p[1] == 'i' || p[1] == 'w' || p[1] == 'e' || p[1] == 'd' || p[1] == 'c';
	case ':':
	case 'w':
		return p[1] == ' ';
	case 'u':
		return p[1] == 's';
	case 'f':
	case 'r':
		return p[1] == 'u';
	case 'd':
		return p[1] == 'e';
	default:
		return false;
	}
}

static enum line_level level_at(const char *p, bool start)
{
	for (size_t i = 0; i < ARRAY_LEN(level_words); i++) {
		const char *text = level_words[i].text;
		if (*text == *p && (start || !level_words[i].at_start) && strncmp(p, text, strlen(text)) == 0)
			return level_words[i].level;
	}
	return LEVEL_NONE;
}

enum line_level line_level_of(const char *lower)
{
	enum line_level level = glog_level(lower);
	if (level != LEVEL_NONE)
		return level;
	char head[LEVEL_TEXT_MAX + 1];
	size_t length = strnlen(lower, LEVEL_TEXT_MAX);
	memcpy(head, lower, length);
	head[length] = '\0';
	for (const char *p = head; *p && level == LEVEL_NONE; p++)
		if (p == head || can_begin_level(p))
			level = level_at(p, p == head);
	/* "host:pid:tid [0] NCCL WARN" */
	if (level == LEVEL_NONE && strstr(head, "nccl info"))
		return LEVEL_INFO;
	return level == LEVEL_NONE && strstr(head, "nccl warn") ? LEVEL_WARNING : level;
}

size_t level_prefix_length(const char *lower)
{
	const char *end = NULL;
	if (glog_level(lower) != LEVEL_NONE)
		end = strstr(lower, "] ");
	if (!end || end - lower > LEVEL_TEXT_MAX)
		return 0;
	return (size_t)(end - lower) + 2;
}

/* ---- talk ---- */

bool is_coping(const char *lower)
{
	static const char *const words[] = {"retrying", "will retry", "retry in", "recovering", "recovered",
		"skipping", "skip batch", "trying batch size", "reducing batch size", "reducing micro",
		"reducing the batch", "decreasing batch size", "falling back", "fall back", "fallback",
		"will be ignored", "and continuing"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(lower, words[i]))
			return true;
	return false;
}

bool is_advice(const char *lower, size_t match_at)
{
	static const char *const words[] = {"if ", "avoid", "prevent", "in case", "may ", "might ", "could ",
		"can cause", "to fix", "hint", "tip:", "suggest", "for example", "such as", "e.g.",
		"without ", "checking for ", "handled", "caught "};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *at = memmem(lower, match_at, words[i], strlen(words[i]));
		/* "uncaught" and "unhandled" are the opposite. */
		if (at && (at == lower || !is_word(at[-1])))
			return true;
	}
	return false;
}

bool is_talk(const char *lower, size_t match_at)
{
	/* Tuners and allocators that try and do without. */
	bool harmless = strstr(lower, "this is not a failure") || strstr(lower, "ignoring this choice");
	return harmless || is_coping(lower) || is_advice(lower, match_at);
}
