#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "report/predictions.h"
#include "report/report_int.h"
#include "spec/task.h"

enum { WHO_COLUMNS = 14, WHAT_COLUMNS = 47, PREDICTED_COLUMNS = 9, MEASURED_COLUMNS = 25 };
enum { SHOWN_IN_TERMINAL = 8, SHOWN_IN_MARKDOWN = 60, REASON_BYTES = 160 };
/* A share of a gain that may as well be three times as much or none of it is not worth reading. */
static const double unclear_reach = 3;

/* ------------------------------------------------------------- what is said */

struct predictions predictions_of(const struct state *s, struct arena *arena)
{
	struct predictions p = {.state = s, .failure = ""};
	struct err e = ERR_INIT;
	if (calibration_form(s, arena, &p.calibration, &e) != OK)
		p.failure = arena_strdup(arena, e.message);
	for (size_t i = 0; i < p.calibration.n_predictions; i++)
		p.n_measured += p.calibration.predictions[i].measured_by != MEASURED_NOT;
	return p;
}

void describe_prediction(const struct state *s, const struct prediction *p, struct strbuf *text)
{
	size_t n_knobs = s->task->n_knobs;
	if (p->what == PREDICTED_CONFIGURATION)
		candidate_describe(p->candidate, NULL, &s->space, text);
	else if (p->what == PREDICTED_PATCH)
		strbuf_addf(text, "patch %s", s->space.patches[(size_t)p->lever - n_knobs].name);
	else
		strbuf_addf(text, "%s=%s", s->task->knobs[p->lever].name,
			s->task->knobs[p->lever].settings[p->setting].text);
}

static void describe_with_trial(const struct state *s, const struct prediction *p, struct strbuf *text)
{
	describe_prediction(s, p, text);
	if (p->what == PREDICTED_CONFIGURATION && p->trial)
		strbuf_addf(text, " (trial %d)", p->trial);
}

void add_percent(struct strbuf *text, double gain_ln)
{
	double percent = 100 * expm1(gain_ln);
	if (fabs(percent) < 0.05)
		strbuf_addstr(text, "0%");
	else if (percent >= 999.5)
		strbuf_addf(text, "%.3gx", exp(gain_ln));
	else
		strbuf_addf(text, fabs(percent) < 9.95 ? "%+.1f%%" : "%+.0f%%", percent);
}

static void add_interval(struct strbuf *text, const struct prediction *p)
{
	double reach = calibration_interval_sd * p->measured_sd_ln;
	add_percent(text, p->measured_ln - reach);
	strbuf_addstr(text, " to ");
	add_percent(text, p->measured_ln + reach);
}

/* ------------------------------------------------------------- a row for each source */

static void add_count_of(struct strbuf *text, int n, int of)
{
	if (of)
		strbuf_addf(text, "%d of %d", n, of);
	else
		strbuf_addch(text, '-');
}

static void add_measured(const struct calibration_row *r, struct strbuf *text)
{
	add_count_of(text, r->n_measured, r->n_predictions);
}

static void add_order(const struct calibration_row *r, struct strbuf *text)
{
	if (isfinite(r->rank_correlation))
		strbuf_addf(text, "%+.2f", r->rank_correlation);
	else
		strbuf_addch(text, '-');
}

static void add_share(const struct calibration_row *r, struct strbuf *text)
{
	double reach = calibration_interval_sd * r->share_sd;
	if (reach > unclear_reach)
		strbuf_addstr(text, "unclear");
	else if (isfinite(r->share))
		strbuf_addf(text, "%.0f%% (%.0f to %.0f)", 100 * r->share, 100 * (r->share - reach),
			100 * (r->share + reach));
	else
		strbuf_addch(text, '-');
}

static void add_error(const struct calibration_row *r, struct strbuf *text)
{
	double percent = 100 * expm1(r->mean_abs_error_ln);
	if (isfinite(percent))
		strbuf_addf(text, percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
	else
		strbuf_addch(text, '-');
}

static void add_hits(const struct calibration_row *r, struct strbuf *text)
{
	add_count_of(text, r->n_hits, r->n_intervals);
}

static void add_failed(const struct calibration_row *r, struct strbuf *text)
{
	add_count_of(text, r->n_failed, r->n_run);
}

static void add_answers(const struct calibration_row *r, struct strbuf *text)
{
	int questions = r->record ? r->record->questions : 0;
	add_count_of(text, questions - (questions ? r->record->unanswered : 0), questions);
}

static void add_tokens(const struct calibration_row *r, struct strbuf *text)
{
	double tokens = r->record ? r->record->tokens : 0;
	if (!r->record || !r->record->questions)
		strbuf_addch(text, '-');
	else if (tokens < 9999.5)
		strbuf_addf(text, "%.0f", tokens);
	else
		strbuf_addf(
			text, tokens < 9999500 ? "%.0fk" : "%.0fM", tokens / (tokens < 9999500 ? 1e3 : 1e6));
}

static void add_money(const struct calibration_row *r, struct strbuf *text)
{
	if (r->record && r->record->questions)
		strbuf_addf(text, r->record->usd < 99.995 ? "%.2f" : "%.0f", r->record->usd);
	else
		strbuf_addch(text, '-');
}

static void add_time(const struct calibration_row *r, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	if (r->record && r->record->questions)
		strbuf_addstr(text, format_duration(r->record->seconds, unit));
	else
		strbuf_addch(text, '-');
}

/* Behind the name of the source. Width 0: only in REPORT.md. */
static const struct {
	const char *title, *markdown_title;
	int width;
	void (*add)(const struct calibration_row *r, struct strbuf *text);
} columns[] = {
	{"measured", "predictions measured", 8, add_measured},
	{"order", "rank correlation", 5, add_order},
	{"came true", "came true", 18, add_share},
	{"off by", "off by", 6, add_error},
	{"in range", "inside the predicted 95%", 8, add_hits},
	{"failed", "suggestions that failed", 7, add_failed},
	{"answers", "questions answered", 7, add_answers},
	{"tokens", "tokens", 6, add_tokens},
	{"USD", "USD", 5, add_money},
	{"time", "time for answers", 0, add_time},
};

static void add_row(const struct predictions *p, const struct calibration_row *r, struct strbuf *text)
{
	strbuf_addstr(text, "  ");
	add_column(text, state_source_name(p->state, r->source), WHO_COLUMNS);
	for (size_t k = 0; k < ARRAY_LEN(columns) && columns[k].width; k++) {
		CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT;
		columns[k].add(r, &cell);
		strbuf_addf(text, " %*s", columns[k].width, cell.buf);
	}
	strbuf_addch(text, '\n');
}

/* ------------------------------------------------------------- pairs, for a terminal */

static int largest_miss_first(const void *va, const void *vb)
{
	const struct prediction *a = *(const struct prediction *const *)va;
	const struct prediction *b = *(const struct prediction *const *)vb;
	double miss_a = fabs(a->measured_ln - a->gain_ln), miss_b = fabs(b->measured_ln - b->gain_ln);
	if (miss_a != miss_b)
		return miss_a > miss_b ? -1 : 1;
	return a < b ? -1 : 1;
}

static void add_pair(const struct predictions *p, const struct prediction *x, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf predicted = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf measured = STRBUF_INIT;
	describe_with_trial(p->state, x, &what);
	add_percent(&predicted, x->gain_ln);
	add_percent(&measured, x->measured_ln);
	strbuf_addstr(&measured, " (");
	add_interval(&measured, x);
	strbuf_addch(&measured, ')');
	strbuf_addstr(text, "  ");
	add_column(text, state_source_name(p->state, x->source), WHO_COLUMNS);
	strbuf_addch(text, ' ');
	add_column(text, what.buf, WHAT_COLUMNS);
	strbuf_addf(text, " %*s %*s\n", PREDICTED_COLUMNS, predicted.buf, MEASURED_COLUMNS, measured.buf);
}

static void add_pairs(const struct predictions *p, struct strbuf *text)
{
	const struct calibration *c = &p->calibration;
	CLEANUP(free_ptr) const struct prediction **order = xcalloc(p->n_measured + 1, sizeof(*order));
	size_t n = 0;
	for (size_t i = 0; i < c->n_predictions; i++)
		if (c->predictions[i].measured_by != MEASURED_NOT)
			order[n++] = &c->predictions[i];
	if (!n)
		return;
	qsort(order, n, sizeof(*order), largest_miss_first);
	strbuf_addf(text, "  %-*s %-*s %*s %*s\n", WHO_COLUMNS, "", WHAT_COLUMNS, "largest misses first",
		PREDICTED_COLUMNS, "predicted", MEASURED_COLUMNS, "measured (95%)");
	for (size_t i = 0; i < MIN_OF(n, (size_t)SHOWN_IN_TERMINAL); i++)
		add_pair(p, order[i], text);
	if (n > SHOWN_IN_TERMINAL)
		strbuf_addf(text, "  and %zu more in .infrarsi/REPORT.md\n", n - SHOWN_IN_TERMINAL);
}

void report_predictions(const struct state *s, struct strbuf *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct predictions p = predictions_of(s, &arena);
	if (*p.failure) {
		strbuf_addstr(text, "\nPredictions could not be held against what was measured: ");
		add_safe(text, p.failure);
		strbuf_addch(text, '\n');
	}
	if (!p.calibration.n_rows)
		return;
	strbuf_addf(text, "\n  %-*s", WHO_COLUMNS, "who predicted");
	for (size_t k = 0; k < ARRAY_LEN(columns) && columns[k].width; k++)
		strbuf_addf(text, " %*s", columns[k].width, columns[k].title);
	strbuf_addch(text, '\n');
	for (size_t i = 0; i < p.calibration.n_rows; i++)
		add_row(&p, &p.calibration.rows[i], text);
	add_pairs(&p, text);
}

/* ------------------------------------------------------------- for REPORT.md */

static void add_cell(struct strbuf *text, const char *value)
{
	strbuf_add_markdown(text, value, strlen(value));
}

static void add_reason(struct strbuf *text, const char *reason)
{
	size_t length = strlen(reason), keep = MIN_OF(length, (size_t)REASON_BYTES);
	while (keep && keep < length && ((unsigned char)reason[keep] & 0xC0) == 0x80)
		keep--;
	strbuf_add_markdown(text, reason, keep);
	strbuf_addstr(text, keep < length ? "..." : "");
}

static void add_markdown_rows(const struct predictions *p, struct strbuf *text)
{
	strbuf_addstr(text, "| who |");
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		strbuf_addf(text, " %s |", columns[k].markdown_title);
	strbuf_addstr(text, "\n|---|");
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		strbuf_addstr(text, "---|");
	strbuf_addch(text, '\n');
	for (size_t i = 0; i < p->calibration.n_rows; i++) {
		const struct calibration_row *r = &p->calibration.rows[i];
		strbuf_addstr(text, "| ");
		add_cell(text, state_source_name(p->state, r->source));
		strbuf_addstr(text, " |");
		for (size_t k = 0; k < ARRAY_LEN(columns); k++) {
			strbuf_addch(text, ' ');
			columns[k].add(r, text);
			strbuf_addstr(text, " |");
		}
		strbuf_addch(text, '\n');
	}
}

static void add_markdown_pair(const struct predictions *p, const struct prediction *x, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	describe_with_trial(p->state, x, &what);
	strbuf_addstr(text, "| ");
	add_cell(text, state_source_name(p->state, x->source));
	strbuf_addstr(text, " | ");
	add_cell(text, what.buf);
	strbuf_addstr(text, " | ");
	add_reason(text, x->reason);
	strbuf_addstr(text, " | ");
	add_percent(text, x->gain_ln);
	strbuf_addstr(text, " | ");
	add_percent(text, x->measured_ln);
	strbuf_addstr(text, " | ");
	add_interval(text, x);
	strbuf_addf(text, " | %s |\n", measured_by_names[x->measured_by]);
}

static void add_markdown_pairs(const struct predictions *p, struct strbuf *text)
{
	size_t n = 0;
	strbuf_addf(text,
		"![predicted against measured gains](%s)\n\n"
		"| who | what | why, in its words | predicted | measured | 95%% interval | measured by "
		"|\n|---|---|---|---|---|---|---|\n",
		CALIBRATION_PICTURE);
	for (size_t i = 0; i < p->calibration.n_predictions && n < SHOWN_IN_MARKDOWN; i++)
		if (p->calibration.predictions[i].measured_by != MEASURED_NOT) {
			add_markdown_pair(p, &p->calibration.predictions[i], text);
			n++;
		}
	strbuf_addch(text, '\n');
	if (p->n_measured > n)
		strbuf_addf(text, "%zu more are in `result.json`.\n\n", p->n_measured - n);
}

void add_predictions(const struct state *s, struct strbuf *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct predictions p = predictions_of(s, &arena);
	if (!p.calibration.n_rows && !*p.failure)
		return;
	strbuf_addstr(text, "## Who predicted what\n\n");
	if (*p.failure) {
		strbuf_addstr(text, "Predictions could not be held against what was measured: ");
		add_cell(text, p.failure);
		strbuf_addstr(text, "\n\n");
		return;
	}
	add_markdown_rows(&p, text);
	strbuf_addstr(text,
		"\nOnly what was predicted before its first measurement counts. Came true: the share of a "
		"predicted gain that was measured, by weighted least squares through 0, with its 95% "
		"interval. Off by: the mean factor between predicted and measured. Rank correlation: "
		"Kendall's tau-b, from three predictions on. A setting or a patch is measured by the time "
		"model, which was told no predictions for it.\n\n");
	if (p.n_measured)
		add_markdown_pairs(&p, text);
}
