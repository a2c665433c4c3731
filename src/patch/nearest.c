#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/nearest.h"

/* Costs of aligning one line, in hundredths of a line. */
enum { COST_LINE = 100, COST_BLANKS = 4, COST_FOUND_ALONE = 60, COST_WANTED_ALONE = 80 };
enum { WORD_BITS = 64, OPEN_LINE_CAP = 1024, LEAST_PERCENT = 50 };

/* Steps, as work is counted: of distance() one a byte; of comparing memory, and of a pattern's table, so many
 * bytes. */
enum { BYTES_A_STEP = 16, PATTERN_STEPS = 2 * 256 * 8 / BYTES_A_STEP };

struct search {
	const struct text_lines *text;
	struct text_line *trimmed; /* the text's lines without white space around them; by malloc */
	const struct wanted *wanted;
	size_t n; /* how many of the wanted lines are looked at */
	size_t work;
};

struct pattern { /* one wanted line */
	struct text_line line, trimmed;
	bool open_start, open_end;
	size_t length; /* of what is compared */
	uint64_t positions[256];
};

static struct text_line trim(struct search *s, struct text_line line)
{
	s->work += line.length;
	return text_line_trim(line);
}

static void pattern_set_line(struct pattern *p, const struct wanted *wanted, size_t index)
{
	p->line = wanted->lines[index];
	p->open_start = wanted->first_open && index == 0;
	p->open_end = wanted->last_open && index + 1 == wanted->count;
}

static void pattern_set(struct search *s, struct pattern *p, size_t index)
{
	pattern_set_line(p, s->wanted, index);
	p->trimmed = trim(s, p->line);
	p->length = MIN_OF(p->trimmed.length, (size_t)WORD_BITS);
	memset(p->positions, 0, sizeof(p->positions));
	for (size_t i = 0; i < p->length; i++)
		p->positions[(unsigned char)p->trimmed.text[i]] |= (uint64_t)1 << i;
	s->work += PATTERN_STEPS;
}

/* Levenshtein distance, Myers's bit vectors: a row of the matrix as vertical differences +1 and -1. To the
 * nearest part of the text where the pattern is open. */
static size_t distance(const struct pattern *p, const char *text, size_t length)
{
	uint64_t plus = ~(uint64_t)0, minus = 0;
	size_t score = p->length, least = score;
	if (!p->length)
		return p->open_end ? 0 : length;
	uint64_t last = (uint64_t)1 << (p->length - 1);
	for (size_t i = 0; i < length; i++) {
		uint64_t equal = p->positions[(unsigned char)text[i]];
		uint64_t x_vertical = equal | minus;
		uint64_t x_horizontal = (((equal & plus) + plus) ^ plus) | equal;
		uint64_t up = minus | ~(x_horizontal | plus);
		uint64_t down = plus & x_horizontal;
		score += (up & last) != 0;
		score -= (down & last) != 0;
		up = up << 1 | !p->open_start;
		down <<= 1;
		plus = down | ~(x_vertical | up);
		minus = up & x_vertical;
		least = MIN_OF(least, score);
	}
	return p->open_end ? least : score;
}

static bool equal(struct search *s, struct text_line a, struct text_line b)
{
	s->work += 1 + (a.length == b.length ? a.length / BYTES_A_STEP : 0);
	return text_line_equal(a, b);
}

/* Equal, or equal to the part of a line that may be meant. */
static bool fits(struct search *s, const struct pattern *p, struct text_line found)
{
	struct text_line part = found;
	if (part.length < p->line.length)
		return false;
	if (p->open_start && p->open_end) {
		s->work += found.length;
		return !p->line.length || memmem(found.text, found.length, p->line.text, p->line.length);
	}
	if (p->open_start)
		part.text += part.length - p->line.length;
	if (p->open_start || p->open_end)
		part.length = p->line.length;
	return equal(s, p->line, part);
}

/* `index`: of the text's line. */
static int line_cost(struct search *s, const struct pattern *p, size_t index)
{
	struct text_line trimmed = s->trimmed[index];
	if (fits(s, p, s->text->items[index]))
		return 0;
	if (equal(s, p->trimmed, trimmed))
		return COST_BLANKS;
	bool is_open = p->open_start || p->open_end;
	size_t length = MIN_OF(trimmed.length, (size_t)(is_open ? OPEN_LINE_CAP : WORD_BITS));
	size_t longer = is_open ? p->length : MAX_OF(length, p->length);
	size_t apart = longer ? distance(p, trimmed.text, length) : 0;
	s->work += length;
	/* equal as far as they are compared, different behind it */
	return COST_BLANKS + (longer ? (int)((COST_LINE - COST_BLANKS) * apart / longer) : 0) + (apart == 0);
}

/* How many of the wanted lines may be looked at: each is compared with every line of the text, twice
 * (align() and trace()). */
static size_t affordable(const struct search *s)
{
	size_t row = PATTERN_STEPS;
	for (size_t j = 0; j < s->text->count; j++)
		row += 3 + 2 * s->text->items[j].length / BYTES_A_STEP +
		       MIN_OF(s->trimmed[j].length, (size_t)WORD_BITS);
	size_t most = NEAREST_WORK_CAP / 2 / row;
	return MIN_OF(s->wanted->count, MAX_OF(most, (size_t)1));
}

struct cell {
	int cost;
	uint32_t start; /* text line at which this alignment begins */
};

/* Approximate matching with free ends in the text (Sellers 1980), one row a wanted line. */
static void align(struct search *s, size_t *ret_start, size_t *ret_end, int *ret_cost)
{
	const struct text_lines *text = s->text;
	CLEANUP(free_ptr) struct cell *row = xcalloc(text->count + 1, sizeof(*row));
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	for (size_t j = 0; j <= text->count; j++)
		row[j].start = (uint32_t)j;
	for (size_t i = 0; i < s->n; i++) {
		pattern_set(s, pattern, i);
		struct cell diagonal = row[0];
		row[0].cost += COST_WANTED_ALONE;
		for (size_t j = 1; j <= text->count; j++) {
			struct cell best = diagonal;
			best.cost += line_cost(s, pattern, j - 1);
			diagonal = row[j];
			if (row[j].cost + COST_WANTED_ALONE < best.cost)
				best = (struct cell){row[j].cost + COST_WANTED_ALONE, row[j].start};
			if (row[j - 1].cost + COST_FOUND_ALONE < best.cost)
				best = (struct cell){row[j - 1].cost + COST_FOUND_ALONE, row[j - 1].start};
			row[j] = best;
		}
	}
	size_t end = 0;
	for (size_t j = 1; j <= text->count; j++)
		if (row[j].cost < row[end].cost)
			end = j;
	*ret_start = row[end].start;
	*ret_end = end;
	*ret_cost = row[end].cost;
}

/* ---- what differs ---- */

static bool same_letters(struct text_line a, struct text_line b, bool ignore_blanks, bool ignore_case)
{
	size_t i = 0, j = 0;
	for (;;) {
		while (ignore_blanks && i < a.length && isspace((unsigned char)a.text[i]))
			i++;
		while (ignore_blanks && j < b.length && isspace((unsigned char)b.text[j]))
			j++;
		if (i == a.length || j == b.length)
			return i == a.length && j == b.length;
		int x = (unsigned char)a.text[i++], y = (unsigned char)b.text[j++];
		if (x != y && !(ignore_case && tolower(x) == tolower(y)))
			return false;
	}
}

static struct text_line without_return(struct text_line line)
{
	line.length -= text_line_has_return(line);
	return line;
}

static bool lacks_return(struct text_line expected, struct text_line found)
{
	return text_line_has_return(found) && text_line_equal(expected, without_return(found));
}

static bool has_extra_return(struct text_line expected, struct text_line found)
{
	return lacks_return(found, expected);
}

static bool differs_at_end(struct text_line expected, struct text_line found)
{
	return text_line_equal(text_line_chop(expected), text_line_chop(found));
}

static struct text_line indentation(struct text_line line)
{
	struct text_line trimmed = text_line_trim(line);
	return (struct text_line){line.text, trimmed.length ? (size_t)(trimmed.text - line.text) : 0};
}

static bool has_tab(struct text_line line)
{
	return line.length && memchr(line.text, '\t', line.length);
}

static bool differs_in_tabs(struct text_line expected, struct text_line found)
{
	return text_line_equal(text_line_trim(expected), text_line_trim(found)) &&
	       has_tab(indentation(expected)) != has_tab(indentation(found));
}

static bool differs_in_depth(struct text_line expected, struct text_line found)
{
	return text_line_equal(text_line_trim(expected), text_line_trim(found));
}

static bool differs_in_blanks(struct text_line expected, struct text_line found)
{
	return same_letters(expected, found, true, false);
}

static bool differs_in_case(struct text_line expected, struct text_line found)
{
	return same_letters(expected, found, true, true);
}

static bool differs(struct text_line expected, struct text_line found)
{
	(void)expected;
	(void)found;
	return true;
}

/* Whether a line without its blanks has the other in it. */
static bool contains(struct text_line expected, struct text_line found, bool ignore_case)
{
	for (size_t i = 0; i < found.length; i++) {
		struct text_line rest = {found.text + i, found.length - i};
		size_t used = 0, matched = 0;
		while (matched < expected.length && used < rest.length) {
			int x = (unsigned char)expected.text[matched], y = (unsigned char)rest.text[used];
			if (isspace(x))
				matched++;
			else if (isspace(y))
				used++;
			else if (x != y && !(ignore_case && tolower(x) == tolower(y)))
				break;
			else
				matched++, used++;
		}
		while (matched < expected.length && isspace((unsigned char)expected.text[matched]))
			matched++;
		if (matched == expected.length)
			return true;
	}
	return false;
}

/* Of a line that may stand in a longer one. */
static const char *open_kind(struct text_line expected, struct text_line found)
{
	expected.length = MIN_OF(expected.length, (size_t)OPEN_LINE_CAP);
	found.length = MIN_OF(found.length, (size_t)OPEN_LINE_CAP);
	if (contains(expected, found, false))
		return "white space";
	return contains(expected, found, true) ? "upper and lower case" : "its text";
}

/* The first that holds. */
static const char *kind_of(struct text_line expected, struct text_line found)
{
	static const struct {
		bool (*holds)(struct text_line expected, struct text_line found);
		const char *kind;
	} kinds[] = {
		{lacks_return, "the line end (the file has CRLF)"},
		{has_extra_return, "the line end (the file has no CRLF)"},
		{differs_at_end, "white space at the end of the line"},
		{differs_in_tabs, "tabs and spaces of the indentation"},
		{differs_in_depth, "the depth of the indentation"},
		{differs_in_blanks, "white space"},
		{differs_in_case, "upper and lower case"},
		{differs, "its text"},
	};
	size_t i = 0;
	while (!kinds[i].holds(expected, found))
		i++;
	return kinds[i].kind;
}

static const char *difference(const struct pattern *p, struct text_line found)
{
	bool is_part = (p->open_start || p->open_end) &&
		       !text_line_equal(text_line_trim(p->line), text_line_trim(found));
	return is_part ? open_kind(p->line, found) : kind_of(p->line, found);
}

enum step { STEP_BOTH, STEP_WANTED, STEP_FOUND };

/* The alignment again, of the closest place alone, with the way kept. steps: n rows of `width` + 1. */
static void trace(struct search *s, size_t start, size_t width, unsigned char *steps)
{
	CLEANUP(free_ptr) int *row = xcalloc(width + 1, sizeof(*row));
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	for (size_t j = 1; j <= width; j++)
		row[j] = row[j - 1] + COST_FOUND_ALONE;
	for (size_t i = 0; i < s->n; i++) {
		unsigned char *step = steps + i * (width + 1);
		int diagonal = row[0];
		pattern_set(s, pattern, i);
		row[0] += COST_WANTED_ALONE;
		step[0] = STEP_WANTED;
		for (size_t j = 1; j <= width; j++) {
			int best = diagonal + line_cost(s, pattern, start + j - 1);
			step[j] = STEP_BOTH;
			diagonal = row[j];
			if (row[j] + COST_WANTED_ALONE < best) {
				best = row[j] + COST_WANTED_ALONE;
				step[j] = STEP_WANTED;
			}
			if (row[j - 1] + COST_FOUND_ALONE < best) {
				best = row[j - 1] + COST_FOUND_ALONE;
				step[j] = STEP_FOUND;
			}
			row[j] = best;
		}
	}
}

/* A place of the alignment: wanted line i, line j of the text from `start` on. */
static void note_difference(struct search *s, enum step step, size_t i, size_t j, struct nearest *nearest)
{
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	nearest->wanted = MIN_OF(i, s->n - 1) + 1;
	nearest->line = MIN_OF(j, s->text->count - 1) + 1;
	nearest->expected = step == STEP_FOUND ? (struct text_line){0} : s->wanted->lines[i];
	nearest->found = step == STEP_WANTED ? (struct text_line){0} : s->text->items[j];
	nearest->kind = "a line";
	if (step != STEP_BOTH)
		return;
	pattern_set(s, pattern, i);
	nearest->kind = difference(pattern, nearest->found);
	/* contains(), twice; and the kinds of a line in order */
	s->work +=
		2 * OPEN_LINE_CAP * OPEN_LINE_CAP + 16 * (nearest->expected.length + nearest->found.length);
}

/* Backwards through the steps; the last that differs is the first difference. False when nothing does. */
static bool first_difference(struct search *s, size_t start, size_t end, struct nearest *nearest)
{
	size_t width = end - start, i = s->n, j = width, first_i = 0, first_j = 0;
	enum step first = STEP_BOTH;
	bool differs_somewhere = false;
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	CLEANUP(free_ptr) unsigned char *steps = xcalloc(s->n * (width + 1), 1);
	trace(s, start, width, steps);
	while (i > 0 || j > 0) {
		enum step step = i ? steps[(i - 1) * (width + 1) + j] : STEP_FOUND;
		i -= step != STEP_FOUND;
		j -= step != STEP_WANTED;
		if (step == STEP_BOTH) {
			pattern_set_line(pattern, s->wanted, i);
			if (fits(s, pattern, s->text->items[start + j]))
				continue;
		}
		differs_somewhere = true;
		first = step;
		first_i = i;
		first_j = j;
	}
	if (differs_somewhere)
		note_difference(s, first, first_i, start + first_j, nearest);
	return differs_somewhere;
}

static bool search(struct search *s, struct nearest *nearest)
{
	size_t start, end;
	int cost;
	s->n = affordable(s);
	if (!s->n)
		return false;
	align(s, &start, &end, &cost);
	nearest->first = start + 1;
	nearest->percent = 100 - (int)((size_t)cost / s->n);
	return nearest->percent >= LEAST_PERCENT && start != end && first_difference(s, start, end, nearest);
}

bool nearest_find(const struct text_lines *text, const struct wanted *wanted, struct nearest *ret_nearest)
{
	struct search s = {.text = text, .wanted = wanted};
	struct nearest nearest = {0};
	if (!wanted->count || !text->count || text->count > UINT32_MAX)
		return false;
	s.trimmed = xcalloc(text->count, sizeof(*s.trimmed));
	for (size_t j = 0; j < text->count; j++)
		s.trimmed[j] = trim(&s, text->items[j]);
	bool found = search(&s, &nearest);
	free(s.trimmed);
	nearest.work = s.work;
	*ret_nearest = nearest;
	return found;
}

void nearest_describe(const struct nearest *n, const char *path, struct strbuf *text)
{
	strbuf_addstr(text, "the closest place is ");
	strbuf_add_escaped(text, path, MIN_OF(strlen(path), (size_t)300));
	strbuf_addf(text, ":%zu (%d%% alike): ", n->first, n->percent);
	if (!n->found.text) {
		strbuf_addf(text, "line %zu, ", n->wanted);
		text_line_show(text, n->expected);
		strbuf_addf(text, ", is not in the file before line %zu", n->line);
	} else if (!n->expected.text) {
		strbuf_addf(text, "the file has one more line (%zu), ", n->line);
		text_line_show(text, n->found);
		strbuf_addf(text, ", near line %zu", n->wanted);
	} else {
		strbuf_addf(text, "line %zu differs in %s: expected ", n->wanted, n->kind);
		text_line_show(text, n->expected);
		strbuf_addf(text, ", line %zu has ", n->line);
		text_line_show(text, n->found);
	}
}
