/* The table as it is in the file. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "simulate/surface_int.h"

enum { COLUMNS_MAX = 64, ROWS_MAX = 1000000, TEXT_MAX = 64, VALUES_MAX = 1000, TAIL = 3 };
static const char *const tail_names[TAIL] = {"time_s", "peak_mem_gib", "status"};
static const char *const status_names[] = {"ok", "oom", "compile_fail", "runtime_fail"};
static const double gib = 1073741824.0, time_max_s = 1e6, peak_max_gib = 1e5;

struct cell {
	const char *text; /* in the arena */
	int column;       /* 1-based, in bytes */
};

struct table {
	const char *path;
	struct arena *arena;
	struct surface *surface;
	const char *at, *end; /* what is left of the text */
	int line;
	struct cell cells[COLUMNS_MAX + TAIL];
	int n_cells;
	size_t rows_capacity;
};

static enum err_code fail_at(const struct table *t, int column, struct err *reterr, const char *message)
{
	return err_set_at(reterr, ERR_INPUT, t->path, t->line, column, "%s", message);
}

static enum err_code take_cell(
	struct table *t, const char *line, const char *from, const char *to, struct err *reterr)
{
	int column = (int)(from - line) + 1;
	if (t->n_cells == COLUMNS_MAX + TAIL)
		return fail_at(t, column, reterr, "expected at most 64 knobs");
	if (to - from > TEXT_MAX)
		return fail_at(t, column, reterr, "expected at most 64 bytes in a cell");
	for (const char *p = from; p < to; p++)
		if (*p < 0x20 || *p > 0x7E || *p == '"')
			return fail_at(t, (int)(p - line) + 1, reterr,
				"expected printable ASCII without quotation marks");
	t->cells[t->n_cells++] = (struct cell){arena_strndup(t->arena, from, (size_t)(to - from)), column};
	return OK;
}

/* *ret_more false: no line is left. Empty lines count as none. */
static enum err_code next_line(struct table *t, bool *ret_more, struct err *reterr)
{
	t->n_cells = 0;
	while (t->at < t->end) {
		const char *line = t->at, *newline = memchr(line, '\n', (size_t)(t->end - line));
		const char *end = newline ? newline : t->end;
		t->at = newline ? newline + 1 : t->end;
		t->line++;
		if (end > line && end[-1] == '\r')
			end--;
		if (end == line)
			continue;
		for (const char *from = line;;) {
			const char *comma = memchr(from, ',', (size_t)(end - from));
			TRY(take_cell(t, line, from, comma ? comma : end, reterr));
			if (!comma)
				break;
			from = comma + 1;
		}
		*ret_more = true;
		return OK;
	}
	*ret_more = false;
	return OK;
}

static enum err_code read_header(struct table *t, struct err *reterr)
{
	bool more;
	TRY(next_line(t, &more, reterr));
	int n = t->n_cells - TAIL;
	bool right = more && n >= 1;
	for (int i = 0; i < TAIL && right; i++)
		right = strcmp(t->cells[n + i].text, tail_names[i]) == 0;
	if (!right) {
		t->line = MAX_OF(t->line, 1);
		return fail_at(t, 1, reterr,
			"expected the header of a surface: knob,...,time_s,peak_mem_gib,status");
	}
	struct surface *s = t->surface;
	s->n_columns = n;
	s->columns = arena_array(t->arena, (size_t)n, sizeof(*s->columns));
	for (int i = 0; i < n; i++) {
		if (!*t->cells[i].text)
			return fail_at(t, t->cells[i].column, reterr, "expected a knob's name");
		for (int k = 0; k < i; k++)
			if (strcmp(s->columns[k].name, t->cells[i].text) == 0)
				return fail_at(t, t->cells[i].column, reterr, "expected every knob once");
		s->columns[i].name = t->cells[i].text;
	}
	return OK;
}

static enum err_code take_value(struct table *t, int index, int *ret_value, struct err *reterr)
{
	struct column *c = &t->surface->columns[index];
	const char *text = t->cells[index].text;
	if (!*text)
		return fail_at(t, t->cells[index].column, reterr, "expected a value");
	for (int i = c->n_values; i-- > 0;)
		if (strcmp(c->text[i], text) == 0) {
			*ret_value = i;
			return OK;
		}
	if (c->n_values == VALUES_MAX)
		return fail_at(t, t->cells[index].column, reterr,
			"expected at most 1000 different values of a knob");
	if (!c->text)
		c->text = arena_array(t->arena, VALUES_MAX, sizeof(*c->text));
	c->text[c->n_values] = text;
	*ret_value = c->n_values++;
	return OK;
}

static enum err_code read_status(struct table *t, enum row_status *ret_status, struct err *reterr)
{
	const struct cell *cell = &t->cells[t->n_cells - 1];
	for (size_t i = 0; i < ARRAY_LEN(status_names); i++)
		if (strcmp(cell->text, status_names[i]) == 0) {
			*ret_status = (enum row_status)i;
			return OK;
		}
	return fail_at(
		t, cell->column, reterr, "expected ok, oom, compile_fail or runtime_fail as the status");
}

static enum err_code read_measurements(struct table *t, struct surface_row *row, struct err *reterr)
{
	const struct cell *time = &t->cells[t->n_cells - 3], *peak = &t->cells[t->n_cells - 2];
	TRY(read_status(t, &row->status, reterr));
	row->time_s = row->peak_bytes = NAN;
	if (*time->text &&
		(!parse_number(time->text, &row->time_s) || !(row->time_s > 0 && row->time_s <= time_max_s)))
		return fail_at(t, time->column, reterr, "expected seconds above 0, at most 1e6");
	if (row->status == ROW_OK && !*time->text)
		return fail_at(t, time->column, reterr, "expected seconds: a row that is ok has a time");
	double value;
	if (*peak->text) {
		if (!parse_number(peak->text, &value) || !(value > 0 && value <= peak_max_gib))
			return fail_at(t, peak->column, reterr, "expected GiB above 0, at most 1e5");
		row->peak_bytes = value * gib;
	}
	return OK;
}

static enum err_code read_row(struct table *t, struct err *reterr)
{
	struct surface *s = t->surface;
	if (t->n_cells != s->n_columns + TAIL)
		return fail_at(t, 1, reterr, "expected as many cells as the header has");
	if (s->n_rows == ROWS_MAX)
		return fail_at(t, 1, reterr, "expected at most 1000000 rows");
	struct surface_row row = {.line = t->line};
	int *value = arena_array(t->arena, (size_t)s->n_columns, sizeof(*value));
	for (int i = 0; i < s->n_columns; i++)
		TRY(take_value(t, i, &value[i], reterr));
	row.value = value;
	TRY(read_measurements(t, &row, reterr));
	grow_array(&s->rows, &t->rows_capacity, s->n_rows + 1, sizeof(*s->rows));
	s->rows[s->n_rows++] = row;
	return OK;
}

/* ---- values in order ---- */

struct value_order {
	const char *text;
	double number;
	int index;
};

static int ascending(const void *va, const void *vb)
{
	const struct value_order *a = va, *b = vb;
	if (a->number < b->number || a->number > b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->text, b->text);
}

/* *ret_rank: new index of each old one. */
static void sort_values(struct arena *arena, struct column *c, int **ret_rank)
{
	size_t n = (size_t)c->n_values;
	struct value_order *order = arena_array(arena, n, sizeof(*order));
	*ret_rank = arena_array(arena, n, sizeof(int));
	c->number = arena_array(arena, n, sizeof(double));
	c->is_numeric = true;
	for (int i = 0; i < c->n_values; i++) {
		order[i] = (struct value_order){c->text[i], 0, i};
		c->is_numeric = c->is_numeric && parse_number(c->text[i], &order[i].number);
	}
	for (int i = 0; i < c->n_values && !c->is_numeric; i++)
		order[i].number = 0;
	qsort(order, n, sizeof(*order), ascending);
	for (int i = 0; i < c->n_values; i++) {
		c->text[i] = order[i].text;
		c->number[i] = c->is_numeric ? order[i].number : NAN;
		(*ret_rank)[order[i].index] = i;
	}
}

static void sort_all(struct arena *arena, struct surface *s)
{
	int **rank = arena_array(arena, (size_t)s->n_columns, sizeof(*rank));
	for (int k = 0; k < s->n_columns; k++)
		sort_values(arena, &s->columns[k], &rank[k]);
	for (size_t i = 0; i < s->n_rows; i++) {
		int *value = (int *)s->rows[i].value;
		for (int k = 0; k < s->n_columns; k++)
			value[k] = rank[k][value[k]];
	}
}

static enum err_code read_all(struct table *t, struct err *reterr)
{
	bool more;
	TRY(read_header(t, reterr));
	for (;;) {
		TRY(next_line(t, &more, reterr));
		if (!more)
			break;
		TRY(read_row(t, reterr));
	}
	if (t->surface->n_rows == 0)
		return fail_at(t, 1, reterr, "expected at least one row below the header");
	return OK;
}

enum err_code surface_read_table(const char *path, const char *text, size_t length, struct arena *arena,
	struct surface *ret_surface, struct err *reterr)
{
	struct surface s = {0};
	struct table t = {
		.path = path, .arena = arena, .surface = &s, .at = text, .end = text + length, .line = 0};
	enum err_code code = read_all(&t, reterr);
	if (code == OK) {
		struct surface_row *rows = arena_array(arena, s.n_rows, sizeof(*rows));
		memcpy(rows, s.rows, s.n_rows * sizeof(*rows));
		free(s.rows);
		s.rows = rows;
		sort_all(arena, &s);
		*ret_surface = s;
	} else {
		free(s.rows);
	}
	return code;
}
