#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/nearest.h"

/* Costs of aligning one line, in hundredths of a line. */
enum { COST_LINE = 100, COST_BLANKS = 4, COST_FOUND_ALONE = 60, COST_WANTED_ALONE = 80 };
enum { WORD_BITS = 64, OPEN_LINE_CAP = 1024, WORK_CAP = 1 << 24, LEAST_PERCENT = 50 };

struct pattern { /* one wanted line */
	struct text_line line, trimmed;
	bool open_start, open_end;
	size_t length; /* of what is compared */
	uint64_t positions[256];
};

static void pattern_set(struct pattern *p, const struct wanted *wanted, size_t index)
{
	struct text_line line = wanted->lines[index];
	p->line = line;
	p->open_start = wanted->first_open && index == 0;
	p->open_end = wanted->last_open && index + 1 == wanted->count;
	p->trimmed = text_line_trim(line);
	p->length = MIN_OF(p->trimmed.length, (size_t)WORD_BITS);
	memset(p->positions, 0, sizeof(p->positions));
	for (size_t i = 0; i < p->length; i++)
		p->positions[(unsigned char)p->trimmed.text[i]] |= (uint64_t)1 << i;
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

/* Equal, or equal to the part of a line that may be meant. */
static bool fits(const struct pattern *p, struct text_line found)
{
	struct text_line part = found;
	if (part.length < p->line.length)
		return false;
	if (p->open_start && p->open_end)
		return !p->line.length || memmem(found.text, found.length, p->line.text, p->line.length);
	if (p->open_start)
		part.text += part.length - p->line.length;
	if (p->open_start || p->open_end)
		part.length = p->line.length;
	return text_line_equal(p->line, part);
}

static int line_cost(const struct pattern *p, struct text_line found)
{
	if (fits(p, found))
		return 0;
	struct text_line trimmed = text_line_trim(found);
	if (text_line_equal(p->trimmed, trimmed))
		return COST_BLANKS;
	bool is_open = p->open_start || p->open_end;
	size_t length = MIN_OF(trimmed.length, (size_t)(is_open ? OPEN_LINE_CAP : WORD_BITS));
	size_t longer = is_open ? p->length : MAX_OF(length, p->length);
	size_t apart = longer ? distance(p, trimmed.text, length) : 0;
	/* equal as far as they are compared, different behind it */
	return COST_BLANKS + (longer ? (int)((COST_LINE - COST_BLANKS) * apart / longer) : 0) + (apart == 0);
}

/* The wanted lines that WORK_CAP allows to look at. */
static size_t affordable(const struct text_lines *text, size_t n_wanted)
{
	size_t row = 0;
	for (size_t j = 0; j < text->count; j++)
		row += MIN_OF(text->items[j].length, (size_t)WORD_BITS) + 1;
	size_t most = row ? WORK_CAP / row : n_wanted;
	return MIN_OF(n_wanted, MAX_OF(most, (size_t)1));
}

struct cell {
	int cost;
	uint32_t start; /* text line at which this alignment begins */
};

/* Approximate matching with free ends in the text (Sellers 1980), one row a wanted line. */
static void align(const struct text_lines *text, const struct wanted *wanted, size_t n, size_t *ret_start,
	size_t *ret_end, int *ret_cost)
{
	CLEANUP(free_ptr) struct cell *row = xcalloc(text->count + 1, sizeof(*row));
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	for (size_t j = 0; j <= text->count; j++)
		row[j].start = (uint32_t)j;
	for (size_t i = 0; i < n; i++) {
		pattern_set(pattern, wanted, i);
		struct cell diagonal = row[0];
		row[0].cost += COST_WANTED_ALONE;
		for (size_t j = 1; j <= text->count; j++) {
			struct cell best = diagonal;
			best.cost += line_cost(pattern, text->items[j - 1]);
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
static void trace(const struct text_line *found, size_t width, const struct wanted *wanted, size_t n,
	unsigned char *steps)
{
	CLEANUP(free_ptr) int *row = xcalloc(width + 1, sizeof(*row));
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	for (size_t j = 1; j <= width; j++)
		row[j] = row[j - 1] + COST_FOUND_ALONE;
	for (size_t i = 0; i < n; i++) {
		unsigned char *step = steps + i * (width + 1);
		int diagonal = row[0];
		pattern_set(pattern, wanted, i);
		row[0] += COST_WANTED_ALONE;
		step[0] = STEP_WANTED;
		for (size_t j = 1; j <= width; j++) {
			int best = diagonal + line_cost(pattern, found[j - 1]);
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

/* Backwards through the steps; what is noted last is the first difference. */
static void first_difference(const struct text_lines *text, const struct wanted *wanted, size_t n,
	size_t start, size_t end, struct nearest *nearest)
{
	CLEANUP(free_ptr) struct pattern *pattern = xmalloc(sizeof(*pattern));
	size_t width = end - start, i = n, j = width;
	const struct text_line *found = text->items + start;
	CLEANUP(free_ptr) unsigned char *steps = xcalloc(n * (width + 1), 1);
	trace(found, width, wanted, n, steps);
	while (i > 0 || j > 0) {
		enum step step = i ? steps[(i - 1) * (width + 1) + j] : STEP_FOUND;
		i -= step != STEP_FOUND;
		j -= step != STEP_WANTED;
		if (step == STEP_BOTH) {
			pattern_set(pattern, wanted, i);
			if (fits(pattern, found[j]))
				continue;
		}
		nearest->wanted = MIN_OF(i, n - 1) + 1;
		nearest->line = MIN_OF(start + j, text->count - 1) + 1;
		nearest->expected = step == STEP_FOUND ? (struct text_line){0} : wanted->lines[i];
		nearest->found = step == STEP_WANTED ? (struct text_line){0} : found[j];
		nearest->kind = step == STEP_BOTH ? difference(pattern, found[j]) : "a line";
	}
}

bool nearest_find(const struct text_lines *text, const struct wanted *wanted, struct nearest *ret_nearest)
{
	struct nearest nearest = {0};
	size_t n = affordable(text, wanted->count), start, end;
	int cost;
	if (!n || !text->count || text->count > UINT32_MAX)
		return false;
	align(text, wanted, n, &start, &end, &cost);
	nearest.percent = 100 - (int)((size_t)cost / n);
	if (nearest.percent < LEAST_PERCENT || start == end)
		return false;
	first_difference(text, wanted, n, start, end, &nearest);
	if (!nearest.kind)
		return false;
	nearest.first = start + 1;
	*ret_nearest = nearest;
	return true;
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
