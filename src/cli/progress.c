#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"
#include "report/report.h"

static const double redraw_s = 0.2;
enum { BAR_WIDTH = 20, NARROW_BAR_WIDTH = 8, NARROW_COLUMNS = 100, DEFAULT_COLUMNS = 100 };

void progress_view_init(struct progress_view *view, const struct common_options *common)
{
	*view = (struct progress_view){.quiet = common->json};
	view->is_terminal = !common->json && isatty(STDOUT_FILENO);
}

static void close_line(struct progress_view *view)
{
	if (view->line_open)
		printf("\r\033[K");
	view->line_open = false;
}

void progress_view_end(struct progress_view *view)
{
	close_line(view);
	fflush(stdout);
}

static size_t columns(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
		return size.ws_col;
	return DEFAULT_COLUMNS;
}

static void add_bar(struct strbuf *line, int update, int updates)
{
	int width = columns() < NARROW_COLUMNS ? NARROW_BAR_WIDTH : BAR_WIDTH;
	int filled = updates > 0 ? update * width / updates : 0;
	strbuf_addstr(line, " [");
	for (int i = 0; i < width; i++)
		strbuf_addch(line, i < filled ? '=' : i == filled ? '>' : ' ');
	strbuf_addf(line, "] %d/%d", update, updates);
}

/* Several at once: each by its number, without a bar. */
static void add_running(struct strbuf *line, const struct progress *p)
{
	for (size_t i = 0; i < p->n_running; i++) {
		const struct progress_running *r = &p->running[i];
		strbuf_addstr(line, i ? ", " : "  ");
		if (r->trial)
			strbuf_addf(line, "trial %d", r->trial);
		else
			strbuf_addstr(line, "reference");
		strbuf_addf(line, " %d/%d", r->update, p->updates);
	}
}

/* The live line: what runs, how far it is, the best so far, what is left. */
static void draw(struct progress_view *view, const struct progress *p)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf tail = STRBUF_INIT;
	char unit[UNIT_TEXT_SIZE];
	add_running(&line, p);
	if (!p->n_running)
		add_bar(&tail, p->update, p->updates);
	if (view->trials_budget > 0 && isfinite(view->best_ln))
		strbuf_addf(&tail, "  best %s", format_speedup(view->best_ln, unit));
	if (view->trials_budget > 0)
		strbuf_addf(&tail, "  left %d", view->trials_budget - view->trials_done);
	if (view->trials_budget > 0 && isfinite(view->eta_s))
		strbuf_addf(&tail, ", ~%s", format_duration(view->eta_s, unit));
	if (!p->n_running) {
		strbuf_addstr(&line, "  ");
		strbuf_add_escaped(&line, p->text, strlen(p->text));
	}
	size_t width = columns() - 1;
	size_t room = width > tail.len ? width - tail.len : 0;
	printf("\r\033[K%.*s%.*s", (int)MIN_OF(line.len, room), line.buf, (int)MIN_OF(tail.len, width),
		tail.buf);
	fflush(stdout);
	view->line_open = true;
	view->last_drawn_s = clock_now_s();
}

static void show_row(struct progress_view *view, const struct progress *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (!view->header_shown)
		report_trial_header(&text);
	view->header_shown = true;
	if (p->kind == PROGRESS_TRIAL)
		report_trial_row(p->state, p->trial, &text);
	else
		report_refusal_row(p->refusal, &text);
	close_line(view);
	cli_print(&text);
	fflush(stdout);
}

static void show_duel(struct progress_view *view, const struct progress *p)
{
	const struct execution *run = p->execution;
	close_line(view);
	printf("  duel %d  pair %d/%zu  %-9s  ", p->duel->finalist, run->pair + 1, p->duel->n_pairs,
		run->is_candidate_side ? "candidate" : "reference");
	if (run->has_time)
		printf("%.4f s/update\n", run->time_s);
	else
		printf("%s\n", failure_class_names[run->failure]);
	fflush(stdout);
}

static void show_confirmation(struct progress_view *view, const struct progress *p)
{
	close_line(view);
	printf("  over %d updates  %-9s  ", p->updates, p->text);
	if (p->execution->has_time)
		printf("%.4f s/update\n", p->execution->time_s);
	else
		printf("%s\n", failure_class_names[p->execution->failure]);
	fflush(stdout);
}

static void show_text(struct progress_view *view, const struct progress *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	close_line(view);
	strbuf_add_escaped(&text, p->text, strlen(p->text));
	printf("  %s%s\n", p->kind == PROGRESS_NOTE ? "note: " : "", text.buf);
	fflush(stdout);
}

void progress_view_show(void *context, const struct progress *p)
{
	struct progress_view *view = context;
	if (view->quiet)
		return;
	switch (p->kind) {
	case PROGRESS_STAGE:
		view->trials_done = p->trials_done;
		view->trials_budget = p->trials_budget;
		view->best_ln = p->best_ln;
		view->eta_s = p->eta_s;
		/* A stage of a search trial is the live line's business; piped output gets the trial's row
		 * instead. */
		if (view->is_terminal) {
			struct progress begin = *p;
			if (!begin.updates && p->state)
				begin.updates = p->state->task->contract.updates;
			draw(view, &begin);
		} else if (p->n_running || (p->trials_budget == 0 && !p->duel)) {
			show_text(view, p);
		}
		break;
	case PROGRESS_UPDATE:
		if (view->is_terminal && clock_now_s() - view->last_drawn_s >= redraw_s)
			draw(view, p);
		break;
	case PROGRESS_TRIAL:
	case PROGRESS_REFUSAL:
		if (!view->without_rows)
			show_row(view, p);
		break;
	case PROGRESS_DUEL:
		show_duel(view, p);
		break;
	case PROGRESS_CONFIRMATION:
		show_confirmation(view, p);
		break;
	case PROGRESS_NOTE:
		show_text(view, p);
		break;
	}
}
