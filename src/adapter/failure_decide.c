/* From all that a log says of its end, and how the job exited, to one cause. */
#include "base/base.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure_int.h"
#include "base/strbuf.h"

enum {
	/* Steps behind a failure that prove that the job went on: the other ranks, and output that was kept
	 * back in a buffer, add a few. */
	CONTINUED_MIN_STEPS = 3,
	EXIT_OF_TIMEOUT = 124, /* coreutils' timeout */
};

struct failure_report failure_report_none(void)
{
	struct failure_report r;
	const struct opt_number none = {false, NAN};
	memset(&r, 0, sizeof(r));
	struct opt_number *const numbers[] = {&r.rank, &r.device_index, &r.exit_code, &r.signal, &r.pid,
		&r.port, &r.timeout_ms, &r.last_good_step, &r.requested_bytes, &r.free_bytes,
		&r.capacity_bytes, &r.shortfall_bytes, &r.allocated_bytes, &r.reserved_unallocated_bytes,
		&r.reserved_total_bytes, &r.process_in_use_bytes, &r.foreign_in_use_bytes,
		&r.private_pools_bytes, &r.allowed_bytes, &r.oom_count, &r.max_shortfall_bytes,
		&r.host_rss_bytes, &r.host_requested_bytes};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = none;
	return r;
}

/* ---- the exit ---- */

static int signal_of(const struct failure_exit *ended)
{
	if (ended->exit_signal)
		return ended->exit_signal;
	/* A shell reports the signal that ended its child as 128 + number. */
	return ended->exit_status > 128 && ended->exit_status < 160 ? ended->exit_status - 128 : 0;
}

static struct ending ending_of(const struct failure_exit *ended, const struct log_summary *summary)
{
	struct ending e = {.known = ended != NULL};
	if (ended) {
		e.cut_short = ended->timed_out || ended->stalled;
		e.clean = ended->exit_status == 0 && !ended->exit_signal && !e.cut_short;
		e.failed = !e.clean;
	}
	for (size_t i = 0; i < summary->n_steps; i++)
		e.last_step_line = MAX_OF(e.last_step_line, summary->steps[i].line);
	e.completed = summary->completed.has && summary->completed.value > 0.0;
	return e;
}

/* ---- which finding ---- */

struct choice {
	struct finding *cause, *continued, *signalled, *echo, *launcher, *weak, *noise, *scheduler;
};

static void earlier(struct finding **slot, struct finding *f)
{
	if (!*slot || f->line < (*slot)->line)
		*slot = f;
}

static bool job_went_on(const struct finding *f, const struct log_summary *summary, const struct ending *e)
{
	long behind = steps_behind(summary, f->line);
	bool again = e->completed || e->clean || (summary->flags & 1u << LOG_RESTARTED);
	if (f->signature && (f->signature->flags & SIG_FINAL) && !again)
		return false;
	return behind >= CONTINUED_MIN_STEPS || (behind > 0 && (e->completed || e->clean));
}

/* What is printed when a job that is done is cleared away. */
static bool is_post_run(const struct finding *f, const struct ending *e)
{
	if (e->failed || f->line <= e->last_step_line || e->last_step_line == 0)
		return false;
	if (e->clean && f->class == FAILURE_COLLECTIVE)
		return true;
	if (!e->completed)
		return false;
	return f->class == FAILURE_COLLECTIVE || f->class == FAILURE_KILLED || f->strength == STRENGTH_ECHO ||
	       (e->clean && f->class != FAILURE_NAN && f->class != FAILURE_TIMEOUT);
}

static bool is_scheduler(const struct finding *f)
{
	static const char *const subkinds[] = {"time_limit", "preempted", "node_fail"};
	for (size_t i = 0; i < ARRAY_LEN(subkinds); i++)
		if (f->subkind && strcmp(f->subkind, subkinds[i]) == 0)
			return true;
	return false;
}

static struct finding **slot_of(struct choice *c, const struct finding *f)
{
	switch (f->strength) {
	case STRENGTH_CAUSE:
		return &c->cause;
	case STRENGTH_ECHO:
		return &c->echo;
	case STRENGTH_LAUNCHER:
		return f->signal && f->signal != SIGABRT ? &c->signalled : &c->launcher;
	case STRENGTH_WEAK:
		return &c->weak;
	case STRENGTH_NOISE:
		return &c->noise;
	case STRENGTH_NOTHING:
	default:
		return NULL;
	}
}

static void sort_in(
	struct choice *c, struct finding *f, const struct log_summary *summary, const struct ending *e)
{
	f->continued = f->class != FAILURE_NAN && job_went_on(f, summary, e);
	struct finding **slot = slot_of(c, f);
	if (!slot)
		return;
	if (!f->continued || f->strength == STRENGTH_NOISE) {
		earlier(slot, f);
		if (f->strength == STRENGTH_CAUSE && is_scheduler(f))
			earlier(&c->scheduler, f);
		return;
	}
	/* Of several that were survived the last one is the likeliest to be the one that was not. */
	if (f->strength == STRENGTH_CAUSE && (!c->continued || f->line > c->continued->line))
		c->continued = f;
}

static uint32_t flag_of_handled(const struct finding *f)
{
	if (f->class == FAILURE_OOM)
		return 1u << LOG_OOM_HANDLED;
	return f->class == FAILURE_COMPILE ? 1u << LOG_COMPILE_FALLBACK : 0;
}

/* The launcher accuses another process than those that felt it: that one died without a word. */
static bool accuses_another(const struct finding *launcher, const struct finding *echo)
{
	return launcher->rank >= 0 && echo->rank >= 0 && launcher->rank != echo->rank;
}

/* What ended a job that was killed: the scheduler's reason, or the first report of it. */
static struct finding *choose_killer(const struct choice *c)
{
	bool reported = c->signalled && c->signalled->class == FAILURE_KILLED;
	if (c->scheduler)
		return c->scheduler;
	/* Slurm cancels a step of which one task has failed. */
	if (c->launcher && c->launcher->line < c->cause->line)
		return c->launcher;
	return reported && c->signalled->line < c->cause->line ? c->signalled : c->cause;
}

static struct finding *choose(const struct choice *c)
{
	if (c->cause)
		return c->cause->class == FAILURE_KILLED ? choose_killer(c) : c->cause;
	if (c->signalled)
		return c->signalled;
	if (c->echo && !(c->launcher && accuses_another(c->launcher, c->echo)))
		return c->echo;
	/* A process that ended with a code of its own had said why. */
	return c->launcher && c->continued ? c->continued : c->launcher;
}

/* ---- the report ---- */

static void put_evidence(struct failure_report *report, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strlen(text));
	/* The cut must not leave half a character behind. */
	size_t cut = MIN_OF(safe.len, (size_t)FAILURE_EVIDENCE_SIZE - 1);
	while (cut > 0 && cut < safe.len && ((unsigned char)safe.buf[cut] & 0xC0) == 0x80)
		cut--;
	snprintf(report->evidence, sizeof(report->evidence), "%.*s", (int)cut, safe.buf);
}

static void report_line(struct failure_report *report, enum failure_class class, long line, const char *text)
{
	report->class = class;
	report->line = line;
	snprintf(report->source, sizeof(report->source), "log:%ld", line);
	snprintf(report->text, sizeof(report->text), "%s", text);
	put_evidence(report, text);
}

static void report_exit(struct failure_report *report, enum failure_class class, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static void report_exit(struct failure_report *report, enum failure_class class, const char *fmt, ...)
{
	va_list ap;
	report->class = class;
	snprintf(report->source, sizeof(report->source), "exit");
	va_start(ap, fmt);
	vsnprintf(report->evidence, sizeof(report->evidence), fmt, ap);
	va_end(ap);
}

static void report_oom(const struct failure_scan *scan, const struct finding *f, struct failure_report *r)
{
	if (f->oom) {
		const struct oom_numbers *n = f->oom;
		r->requested_bytes = n->requested;
		r->free_bytes = n->free_bytes;
		r->capacity_bytes = n->capacity;
		r->shortfall_bytes = n->shortfall;
		r->allocated_bytes = n->allocated;
		r->reserved_unallocated_bytes = n->reserved_unallocated;
		r->reserved_total_bytes = n->reserved_total;
		r->process_in_use_bytes = n->process_in_use;
		r->foreign_in_use_bytes = n->foreign_in_use;
		r->private_pools_bytes = n->private_pools;
		r->allowed_bytes = n->allowed;
		r->size_bogus = n->size_bogus;
		r->wording = n->wording;
		if (n->device_index.has)
			r->device_index = n->device_index;
	}
	if (scan->n_oom_messages > 1) {
		r->oom_count = (struct opt_number){true, (double)scan->n_oom_messages};
		r->max_shortfall_bytes = scan->max_shortfall;
	}
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static bool same_kind(const struct finding *a, const struct finding *b)
{
	const char *x = a->subkind ? a->subkind : "", *y = b->subkind ? b->subkind : "";
	return a->class == b->class && strcmp(x, y) == 0 && b->strength == STRENGTH_CAUSE && !b->continued;
}

static void report_ranks(const struct failure_scan *scan, const struct finding *f, struct failure_report *r)
{
	int ranks[FAILURE_MAX_RANKS];
	size_t n = 0;
	for (size_t i = 0; i < scan->n_findings && n < FAILURE_MAX_RANKS; i++) {
		const struct finding *other = scan->findings[i];
		size_t k = 0;
		if (other->rank < 0 || !same_kind(f, other))
			continue;
		while (k < n && ranks[k] != other->rank)
			k++;
		if (k == n)
			ranks[n++] = other->rank;
	}
	if (n < 2)
		return;
	qsort(ranks, n, sizeof(ranks[0]), compare_ints);
	memcpy(r->ranks, ranks, n * sizeof(ranks[0]));
	r->n_ranks = n;
}

static void report_rank(const struct failure_scan *scan, const struct finding *f, struct failure_report *r)
{
	const struct launcher_facts *l = &scan->launcher;
	bool from_launcher = f->strength == STRENGTH_LAUNCHER || f->rank < 0;
	double rank = f->rank;
	if (from_launcher && l->block_rank.has)
		rank = l->block_rank.value; /* the global one; a line tells the rank on its node */
	else if (f->rank < 0)
		rank = l->rank;
	if (rank >= 0)
		r->rank = (struct opt_number){true, rank};
}

static void report_exit_code(
	const struct failure_scan *scan, const struct failure_exit *ended, struct failure_report *r)
{
	const struct launcher_facts *l = &scan->launcher;
	if (l->exit_code.has)
		r->exit_code = l->exit_code;
	else if (l->block_exit_code.has)
		r->exit_code = l->block_exit_code;
	else if (l->shell_status.has)
		r->exit_code = l->shell_status;
	else if (ended && ended->exit_signal)
		r->exit_code = (struct opt_number){true, -(double)ended->exit_signal};
	else if (ended && ended->exit_status >= 0)
		r->exit_code = (struct opt_number){true, ended->exit_status};
}

static void report_signal(const struct failure_scan *scan, const struct finding *f, struct failure_report *r)
{
	const struct class_facts *facts = &scan->facts[r->class];
	int number = f->signal;
	if (!number && facts->signal.has)
		number = (int)facts->signal.value;
	/* An abort is a process's own way out: what it died of stands elsewhere. */
	if (!number && (r->class == FAILURE_CRASH || r->class == FAILURE_KILLED) && r->exit_code.has &&
		r->exit_code.value < 0 && r->exit_code.value != -SIGABRT)
		number = (int)-r->exit_code.value;
	if (number > 0 &&
		(r->class == FAILURE_CRASH || r->class == FAILURE_KILLED || r->class == FAILURE_DATA))
		r->signal = (struct opt_number){true, number};
	r->pid = facts->pid;
	r->timeout_ms = facts->timeout_ms;
}

static void report_finding(const struct failure_scan *scan, const struct finding *f,
	const struct failure_exit *ended, struct failure_report *r)
{
	report_line(r, f->class, f->line, f->text);
	r->subkind = f->subkind;
	r->device_index = f->device_index;
	report_rank(scan, f, r);
	report_ranks(scan, f, r);
	report_exit_code(scan, ended, r);
	report_signal(scan, f, r);
	if (r->class == FAILURE_OOM)
		report_oom(scan, f, r);
	if (r->class == FAILURE_COLLECTIVE) {
		r->nccl = scan->nccl;
		if (!r->subkind)
			r->subkind = scan->nccl_subkind;
	} else if (f->through_collective || scan->collective_line) {
		r->surface = "collective";
	}
	if (r->class == FAILURE_CRASH || r->class == FAILURE_KILLED) {
		r->host_rss_bytes = scan->host_rss;
		r->host_requested_bytes = scan->host_requested;
		if (r->class == FAILURE_KILLED && !r->subkind && scan->host_oom)
			r->subkind = "host_oom";
	}
	if (r->subkind && strcmp(r->subkind, "port_in_use") == 0)
		r->port = scan->port;
}

/* What the exit alone says, where the log names no cause. */
static void report_silent(const struct failure_scan *scan, const struct failure_exit *ended,
	const struct choice *c, struct failure_report *report)
{
	int number = signal_of(ended);
	const struct finding *shown = c->weak ? c->weak : c->continued ? c->continued : c->noise;
	if (number && class_of_signal(number) == FAILURE_KILLED)
		report_exit(report, FAILURE_KILLED, "ended by signal %d", number);
	else if (ended->exit_status == EXIT_OF_TIMEOUT)
		report_exit(report, FAILURE_TIMEOUT, "stopped at a limit");
	else if (shown)
		report_finding(scan, shown, ended, report);
	else if (number)
		report_exit(report, FAILURE_CRASH, "ended by signal %d", number);
	else if (scan->last.line > 0)
		report_line(report, FAILURE_CRASH, scan->last.line, scan->last.text);
	else
		report_exit(report, FAILURE_CRASH, "exit %d without a word", ended->exit_status);
	report_exit_code(scan, ended, report);
	if (number)
		report->signal = (struct opt_number){true, number};
}

/* ---- values that are not finite ---- */

static const char *text_of_line(const struct failure_scan *scan, long line)
{
	const char *text = "";
	for (size_t i = 0; i < scan->n_not_finite; i++)
		if (scan->not_finite[i].line == line && !*text)
			text = scan->not_finite[i].text;
	return text;
}

/* True when a value of a step is the failure: it is older than the cause, if there is one. */
static bool report_step(const struct failure_scan *scan, const struct log_summary *summary, long cause_line,
	struct failure_report *r)
{
	long at = steps_not_finite(summary);
	const struct log_step *step = at >= 0 ? &summary->steps[at] : NULL;
	if (!step && summary->steps_dropped > 0 && scan->not_finite_step.line > 0)
		step = &scan->not_finite_step;
	if (!step || (cause_line > 0 && cause_line < step->line))
		return false;
	report_line(r, FAILURE_NAN, step->line, text_of_line(scan, step->line));
	if (!r->text[0])
		snprintf(r->evidence, sizeof(r->evidence), "step %ld: a value is not finite", step->step);
	return true;
}

/* ---- all together ---- */

/* With a limit that ended the job, only what is older than the limit's own signals is a cause. */
static bool counts_at_limit(const struct finding *f)
{
	bool host_oom = f->subkind && strcmp(f->subkind, "host_oom") == 0;
	return f->strength == STRENGTH_CAUSE && (f->class != FAILURE_KILLED || host_oom);
}

static void note_flags(struct failure_scan *scan, const struct ending *e, enum failure_class class)
{
	/* A compiler that gave up for good left nothing to fall back to. */
	if (class == FAILURE_COMPILE)
		scan->log_flags &= ~(1u << LOG_COMPILE_FALLBACK);
	if (class != FAILURE_NONE || e->last_step_line == 0)
		return;
	if (scan->collective_line > e->last_step_line)
		scan->log_flags |= 1u << LOG_POST_RUN_COLLECTIVE_NOISE;
	if (scan->end_noise_line > e->last_step_line && e->completed)
		scan->log_flags |= 1u << LOG_POST_RUN_NOISE;
}

static struct choice sort_findings(
	struct failure_scan *scan, const struct log_summary *summary, const struct ending *e, bool build)
{
	struct choice c = {.cause = NULL};
	for (size_t i = 0; i < scan->n_findings; i++) {
		struct finding *f = scan->findings[i];
		if (e->cut_short && !counts_at_limit(f))
			continue;
		if (is_post_run(f, e)) {
			scan->log_flags |= f->class == FAILURE_COLLECTIVE
						   ? 1u << LOG_POST_RUN_COLLECTIVE_NOISE
						   : 1u << LOG_POST_RUN_NOISE;
			continue;
		}
		if (e->clean && (!f->clean || build))
			continue;
		sort_in(&c, f, summary, e);
		if (f->continued)
			scan->log_flags |= flag_of_handled(f);
	}
	return c;
}

static void report_traceback_without_end(const struct failure_scan *scan, struct failure_report *r)
{
	for (size_t i = 0; i < MAX_TRACEBACKS; i++) {
		const struct traceback *t = &scan->tracebacks[i];
		bool cut = t->used && t->open && !t->headless && !t->ignored && !t->warning && !t->in_thread;
		if (cut && t->n_lines > 0 && scan->last.line >= t->heading_line &&
			scan->last.line <= t->heading_line + t->n_lines)
			report_line(r, FAILURE_CRASH, t->heading_line, "Traceback (most recent call last)");
	}
}

static void settle(struct failure_scan *scan, const struct failure_exit *ended, struct log_summary *summary,
	const struct ending *e, struct failure_report *r)
{
	bool build = ended && ended->build;
	struct choice c = sort_findings(scan, summary, e, build);
	const struct finding *f = choose(&c);
	if (!build && report_step(scan, summary, f ? f->line : 0, r)) {
		report_exit_code(scan, ended && ended->exit_status == 0 ? NULL : ended, r);
		return;
	}
	if (f)
		report_finding(scan, f, ended, r);
	else if (e->cut_short)
		report_exit(r, ended->timed_out ? FAILURE_TIMEOUT : FAILURE_STALL, "stopped at a limit");
	else if (e->failed)
		report_silent(scan, ended, &c, r);
	else if (!e->known && !e->completed)
		report_traceback_without_end(scan, r);
	if (f && f->oom)
		scan->log_flags |= oom_flags(f->oom);
}

void failure_decide(struct failure_scan *scan, const struct failure_exit *ended, struct log_summary *summary,
	struct failure_report *report)
{
	struct ending e = ending_of(ended, summary);
	settle(scan, ended, summary, &e, report);
	bool failure = report->class != FAILURE_NONE;
	if (failure && ended && ended->build && !e.cut_short)
		report->class = FAILURE_COMPILE;
	if (failure)
		steps_last_good(summary, report);
	note_flags(scan, &e, report->class);
	summary->flags |= scan->log_flags;
	if (failure || e.failed)
		summary->completed = (struct opt_number){true, 0.0};
}
