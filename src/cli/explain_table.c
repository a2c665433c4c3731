/* The table of settings: gain with its interval drawn to scale, what was believed before, runs, memory. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/explain_print.h"

enum { NAME_LEAST = 10, NAME_MOST = 30, BAR_LEAST = 11, BAR_MOST = 33, ROWS_SHOWN = 40 };
/* Widths of mark, gain, interval, before, moved, runs with the space behind each. */
enum { FIXED_COLUMNS = 2 + 7 + 16 + 7 + 8 + 6, MEMORY_COLUMNS = 16 };

struct row {
	int lever;
	const struct setting_belief *belief;
};

struct table {
	const struct explanation *x;
	struct row *rows;
	size_t n_rows, n_shown;
	bool has_memory;
	int name_columns, bar_columns;
	double low_ln, high_ln; /* of the scale; 0 lies in it */
};

/* ------------------------------------------------------------- what is shown */

static double best_gain(const struct lever_belief *b)
{
	double best = -INFINITY;
	for (size_t i = 0; i < b->n_settings; i++)
		best = fmax(best, b->settings[i].gain.mean);
	return best;
}

static int best_lever_first(const void *va, const void *vb)
{
	const struct lever_belief *a = *(const struct lever_belief *const *)va;
	const struct lever_belief *b = *(const struct lever_belief *const *)vb;
	double gain_a = best_gain(a), gain_b = best_gain(b);
	if (gain_a != gain_b)
		return gain_a > gain_b ? -1 : 1;
	return a->lever < b->lever ? -1 : 1;
}

/* Levers by their best setting, the settings of one in their own order. */
static void list_rows(struct table *t)
{
	const struct beliefs *b = &t->x->beliefs;
	CLEANUP(free_ptr) const struct lever_belief **order = xcalloc(b->n_levers + 1, sizeof(*order));
	for (size_t i = 0; i < b->n_levers; i++) {
		order[i] = &b->levers[i];
		t->n_rows += order[i]->n_settings;
	}
	qsort(order, b->n_levers, sizeof(*order), best_lever_first);
	t->rows = xcalloc(t->n_rows + 1, sizeof(*t->rows));
	t->n_rows = 0;
	for (size_t i = 0; i < b->n_levers; i++)
		for (size_t k = 0; k < order[i]->n_settings; k++)
			t->rows[t->n_rows++] = (struct row){order[i]->lever, &order[i]->settings[k]};
	t->n_shown = t->x->show_all ? t->n_rows : MIN_OF(t->n_rows, (size_t)ROWS_SHOWN);
}

static void add_label(const struct table *t, const struct row *row, struct strbuf *text)
{
	explain_add_setting(text, t->x->state, row->lever, row->belief->setting);
}

static double half_interval(const struct row *row)
{
	return explain_interval_sd * row->belief->gain.sd;
}

static void measure(struct table *t)
{
	t->name_columns = NAME_LEAST;
	for (size_t i = 0; i < t->n_shown; i++) {
		CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
		const struct row *row = &t->rows[i];
		add_label(t, row, &label);
		t->name_columns = MAX_OF(t->name_columns, (int)MIN_OF(label.len, (size_t)NAME_MOST));
		t->low_ln = fmin(t->low_ln, row->belief->gain.mean - half_interval(row));
		t->high_ln = fmax(t->high_ln, row->belief->gain.mean + half_interval(row));
		t->has_memory |= isfinite(row->belief->memory_mean_bytes);
	}
	if (!(t->high_ln > t->low_ln))
		t->high_ln = t->low_ln + 0.01; /* nothing is uncertain: any scale will do */
	int left =
		EXPLAIN_COLUMNS - FIXED_COLUMNS - t->name_columns - 2 - (t->has_memory ? MEMORY_COLUMNS : 0);
	t->bar_columns = MAX_OF(BAR_LEAST, MIN_OF(left, (int)BAR_MOST));
}

/* ------------------------------------------------------------- cells */

static int column_of(const struct table *t, double gain_ln)
{
	double place = (gain_ln - t->low_ln) / (t->high_ln - t->low_ln);
	return (int)lround(fmin(fmax(place, 0), 1) * (t->bar_columns - 1));
}

static void add_bar(const struct table *t, const struct row *row, struct strbuf *text)
{
	double mean = row->belief->gain.mean, half = half_interval(row);
	int from = column_of(t, mean - half), at = column_of(t, mean), to = column_of(t, mean + half);
	int zero = column_of(t, 0);
	for (int i = 0; i < t->bar_columns; i++)
		strbuf_addch(text, i == at ? 'o' : i == zero ? '|' : i >= from && i <= to ? '-' : ' ');
	strbuf_addch(text, ' ');
}

static void add_gain(const struct row *row, struct strbuf *text)
{
	char mean[GAIN_TEXT_SIZE], low[GAIN_TEXT_SIZE], high[GAIN_TEXT_SIZE],
		interval[2 * GAIN_TEXT_SIZE + 8];
	double half = half_interval(row);
	explain_gain(row->belief->gain.mean - half, low);
	explain_gain(row->belief->gain.mean + half, high);
	low[strcspn(low, "%x")] = '\0';
	snprintf(interval, sizeof(interval), "%s to %s", low, high);
	strbuf_addf(text, "%6s %-15s ", explain_gain(row->belief->gain.mean, mean), interval);
}

static void add_prior(const struct row *row, struct strbuf *text)
{
	char before[GAIN_TEXT_SIZE], moved[GAIN_TEXT_SIZE];
	const struct setting_belief *b = row->belief;
	snprintf(moved, sizeof(moved), fabs(b->moved_sd) < 9.95 ? "%+.1f sd" : "%+.0f sd", b->moved_sd);
	strbuf_addf(text, "%6s %7s ", explain_gain(b->gain.prior_mean, before),
		fabs(b->moved_sd) < 0.05 ? "-" : moved);
}

static void add_runs(const struct row *row, struct strbuf *text)
{
	char runs[32] = "never";
	if (row->belief->n_ok || row->belief->n_failed)
		snprintf(runs, sizeof(runs), "%d/%d", row->belief->n_ok, row->belief->n_failed);
	strbuf_addf(text, "%5s", runs);
}

/* "+12.1 +-0.4 GiB": both in the unit of the larger. */
static void add_memory(const struct row *row, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE], cell[64];
	double mean = row->belief->memory_mean_bytes;
	double half = explain_interval_sd * row->belief->memory_sd_bytes;
	double larger = fmax(fabs(mean), half), shown = larger;
	if (!isfinite(larger)) {
		strbuf_addstr(text, "               -");
		return;
	}
	while (fabs(shown) >= 1023.5)
		shown /= 1024;
	double scale = larger > 0 ? shown / larger : 1;
	format_bytes(larger, unit);
	snprintf(cell, sizeof(cell), shown < 99.95 ? "%+.1f +-%.1f %s" : "%+.0f +-%.0f %s", scale * mean,
		scale * half, strchr(unit, ' ') + 1);
	strbuf_addf(text, " %15s", cell);
}

static char mark_of(const struct setting_belief *b)
{
	return b->in_incumbent ? '*' : ' ';
}

static void add_row(const struct table *t, const struct row *row, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	add_label(t, row, &label);
	strbuf_addf(text, "%c%c", mark_of(row->belief), row->belief->is_big ? '!' : ' ');
	size_t used = explain_add_cut(text, label.buf, (size_t)t->name_columns);
	strbuf_addf(text, "%*s ", t->name_columns - (int)used, "");
	add_gain(row, text);
	add_bar(t, row, text);
	add_prior(row, text);
	add_runs(row, text);
	if (t->has_memory)
		add_memory(row, text);
	strbuf_addch(text, '\n');
}

/* ------------------------------------------------------------- around the rows */

/* The scale over the bars: its ends and the zero, where they do not meet. */
static void add_scale(const struct table *t, struct strbuf *text)
{
	char low[GAIN_TEXT_SIZE], high[GAIN_TEXT_SIZE], scale[BAR_MOST + 1];
	int n = t->bar_columns, zero = column_of(t, 0);
	memset(scale, ' ', (size_t)n);
	explain_gain(t->low_ln, low);
	explain_gain(t->high_ln, high);
	int n_low = (int)strlen(low), n_high = (int)strlen(high);
	if (t->low_ln < 0 && n_low + n_high < n)
		memcpy(scale, low, (size_t)n_low);
	if (t->high_ln > 0 && n_low + n_high < n)
		memcpy(scale + n - n_high, high, (size_t)n_high);
	bool is_free = true;
	for (int i = MAX_OF(zero - 1, 0); i <= MIN_OF(zero + 1, n - 1); i++)
		is_free &= scale[i] == ' ';
	if (is_free)
		scale[zero] = '0';
	strbuf_addf(text, "%.*s ", n, scale);
}

static void add_header(const struct table *t, struct strbuf *text)
{
	strbuf_addf(text, "  %-*s %6s %-15s ", t->name_columns, "setting", "gain", "95% interval");
	add_scale(t, text);
	strbuf_addf(
		text, "%6s %7s %5s%s\n", "prior", "moved", "runs", t->has_memory ? "  memory (+-95%)" : "");
}

static void add_legend(const struct table *t, struct strbuf *text)
{
	char gate[GAIN_TEXT_SIZE];
	const struct explanation *x = t->x;
	if (t->n_shown < t->n_rows)
		strbuf_addf(text,
			"  ... %zu more settings, of levers that promise less: infrarsi explain --all\n",
			t->n_rows - t->n_shown);
	strbuf_addf(text,
		"  * in the incumbent   ! a big knob: %s or more, predicted or learnt   runs: ok/failed\n"
		"  prior: believed before any run   moved: by the runs, in sd of the prior\n",
		explain_gain(x->state->search.gate_ln, gate) + 1);
}

void explain_table(const struct explanation *x, struct strbuf *text)
{
	struct table t = {.x = x};
	list_rows(&t);
	measure(&t);
	strbuf_addstr(text, "What each setting alone does to the speed of the reference\n");
	add_header(&t, text);
	for (size_t i = 0; i < t.n_shown; i++)
		add_row(&t, &t.rows[i], text);
	add_legend(&t, text);
	free(t.rows);
}
