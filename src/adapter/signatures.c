#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/matcher.h"
#include "adapter/signatures_int.h"
#include "adapter/window_int.h"
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

/* ---- talk ---- */

enum { TALK_COPING = 1, TALK_ADVICE = 2, TALK_HARMLESS = 4 };
static const char *const coping_words[] = {"retrying", "will retry", "retry in", "recovering", "recovered",
	"skipping", "skip batch", "trying batch size", "reducing batch size", "reducing micro",
	"reducing the batch", "decreasing batch size", "falling back", "fall back", "fallback",
	"will be ignored", "and continuing", NULL};
static const char *const advice_words[] = {"if ", "avoid", "prevent", "in case", "may ", "might ", "could ",
	"can cause", "to fix", "hint", "tip:", "suggest", "for example", "such as", "e.g.", "without ",
	"checking for ", "handled", "caught ", NULL};
/* Tuners and allocators that try and do without. */
static const char *const harmless_words[] = {"this is not a failure", "ignoring this choice", NULL};

static struct matcher *talk_new(void)
{
	static const struct {
		const char *const *words;
		uint64_t kind;
	} rows[] = {
		{coping_words, TALK_COPING}, {advice_words, TALK_ADVICE}, {harmless_words, TALK_HARMLESS}};
	struct matcher *talk = matcher_new();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (const char *const *word = rows[i].words; *word; word++)
			matcher_add(talk, *word, rows[i].kind, 0);
	matcher_compile(talk);
	return talk;
}

/* ---- the index: rows by the rarest four bytes of their pattern before its first * ---- */

enum { NO_ROW = 0xFFFF };

struct indexed_row {
	const struct signature *signature;
	uint16_t literal_length; /* up to the first * */
	uint16_t offset;         /* of the four bytes */
	uint16_t next;           /* row of the same hash, or NO_ROW */
};

struct signature_index {
	uint8_t marks[HASH_SIZE]; /* of the hashes that rows have: there are few */
	uint16_t heads[HASH_SIZE];
	struct matcher *talk; /* words of those who explain or cope: TALK_... */
	struct indexed_row rows[];
};

static size_t count_rows(void)
{
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_LEN(signature_tables); i++)
		count += signature_tables[i]->count;
	return count;
}

struct signature_index *signature_index_new(void)
{
	CLEANUP(free_ptr) struct window_counts *counts = window_counts_new();
	size_t order = count_rows();
	struct signature_index *index = xmalloc(sizeof(*index) + order * sizeof(index->rows[0]));
	memset(index->heads, 0xFF, sizeof(index->heads));
	memset(index->marks, 0, sizeof(index->marks));
	index->talk = talk_new();
	/* Backwards, so that the rows of a hash stand in the order of the tables. */
	for (size_t i = ARRAY_LEN(signature_tables); i-- > 0;) {
		for (size_t k = signature_tables[i]->count; k-- > 0;) {
			const struct signature *s = &signature_tables[i]->rows[k];
			size_t length = strcspn(s->pattern, "*");
			size_t offset = rarest_window(counts, s->pattern, length);
			size_t hash = hash_of(s->pattern + offset);
			index->marks[hash] = 1;
			index->rows[--order] = (struct indexed_row){
				s, (uint16_t)length, (uint16_t)offset, index->heads[hash]};
			index->heads[hash] = (uint16_t)order;
		}
	}
	return index;
}

void signature_index_free(struct signature_index *index)
{
	if (!index)
		return;
	matcher_free(index->talk);
	free(index);
}

/* ---- matching ---- */

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

/* The next place from `at` on where a row may have its four bytes; length - WINDOW + 1 or more = there is
 * none. */
static size_t next_mark(const struct signature_index *index, const char *lower, size_t length, size_t at)
{
	enum { AT_ONCE = 4 };
	const uint8_t *marks = index->marks;
	for (; at + WINDOW + AT_ONCE <= length; at += AT_ONCE) {
		uint64_t bytes;
		memcpy(&bytes, lower + at, sizeof(bytes));
		bytes = le64toh(bytes) | 0x2020202020202020u;
		if (marks[hash_of_folded((uint32_t)bytes)] | marks[hash_of_folded((uint32_t)(bytes >> 8))] |
			marks[hash_of_folded((uint32_t)(bytes >> 16))] |
			marks[hash_of_folded((uint32_t)(bytes >> 24))])
			break;
	}
	while (at + WINDOW <= length && !marks[hash_of(lower + at)])
		at++;
	return at;
}

size_t signature_find(const struct signature_index *index, const char *lower, size_t length, bool build,
	struct signature_hit hits[SIGNATURE_MAX_HITS])
{
	/* Rows that this line has been asked for with a final answer. */
	uint64_t settled[SIGNATURE_MAX_ROWS / 64] = {0};
	size_t count = 0;
	for (size_t mark = next_mark(index, lower, length, 0); mark + WINDOW <= length;
		mark = next_mark(index, lower, length, mark + 1)) {
		for (uint16_t i = index->heads[hash_of(lower + mark)]; i != NO_ROW; i = index->rows[i].next) {
			const struct indexed_row *row = &index->rows[i];
			uint64_t bit = (uint64_t)1 << (i % 64);
			if (mark < row->offset || (settled[i / 64] & bit) ||
				((row->signature->flags & SIG_BUILD) && !build))
				continue;
			size_t at = mark - row->offset;
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

/* ---- the talk of a line ---- */

unsigned signature_talk(const struct signature_index *index, const char *lower, size_t length)
{
	return (unsigned)matcher_find(index->talk, ~(uint64_t)0, lower, length).owners;
}

bool is_coping(unsigned talk)
{
	return talk & TALK_COPING;
}

bool is_advice(unsigned talk, const char *lower, size_t match_at)
{
	if (!(talk & TALK_ADVICE))
		return false;
	for (const char *const *word = advice_words; *word; word++) {
		const char *at = memmem(lower, match_at, *word, strlen(*word));
		/* "uncaught" and "unhandled" are the opposite. */
		if (at && (at == lower || !is_word(at[-1])))
			return true;
	}
	return false;
}

bool is_talk(unsigned talk, const char *lower, size_t match_at)
{
	return (talk & TALK_HARMLESS) || is_coping(talk) || is_advice(talk, lower, match_at);
}
