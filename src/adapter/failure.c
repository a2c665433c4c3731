#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure.h"
#include "adapter/failure_int.h"
#include "base/memory.h"

enum { CONTINUES_MAX_DISTANCE = 4 }; /* lines behind a generic cause that may still be its message */

/* ---- life ---- */

struct failure_scan *failure_scan_new(bool build, const struct signature_index *index)
{
	struct failure_scan *scan = xcalloc(1, sizeof(*scan));
	scan->build = build;
	scan->index = index ? index : (scan->own_index = signature_index_new());
	scan->launcher.rank = -1;
	scan->findings = xcalloc(MAX_FINDINGS, sizeof(struct finding *));
	return scan;
}

void failure_scan_free(struct failure_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->n_findings; i++) {
		free(scan->findings[i]->oom);
		free(scan->findings[i]);
	}
	for (size_t i = 0; i < scan->n_not_finite; i++)
		free(scan->not_finite[i].text);
	free(scan->findings);
	signature_index_free(scan->own_index);
	free(scan);
}

/* A line must hold every part of a pattern: the last one is a text of its own. */
const char *failure_literal_at(size_t i)
{
	const struct signature *s = signature_at(i);
	if (!s)
		return NULL;
	const char *star = strrchr(s->pattern, '*');
	return star ? star + 1 : s->pattern;
}

/* ---- findings ---- */

uint32_t writer_of(const struct log_line *line)
{
	return line->source ? line->source : (uint32_t)(line->rank + 1);
}

struct finding *finding_by_serial(const struct failure_scan *scan, long serial)
{
	if (serial <= 0)
		return NULL;
	for (size_t i = 0; i < scan->n_findings; i++)
		if (scan->findings[i]->serial == serial)
			return scan->findings[i];
	return NULL;
}

static struct finding *finding_slot(struct failure_scan *scan)
{
	long serial = ++scan->last_serial;
	size_t at = (size_t)serial - 1;
	if (at >= FINDINGS_FIRST)
		at = FINDINGS_FIRST + (at - FINDINGS_FIRST) % FINDINGS_LAST;
	if (at == scan->n_findings)
		scan->findings[scan->n_findings++] = xcalloc(1, sizeof(struct finding));
	struct finding *f = scan->findings[at];
	free(f->oom);
	memset(f, 0, sizeof(*f));
	f->serial = serial;
	f->device_index.value = f->exit_code.value = NAN;
	return f;
}

/* The line as it stands in the log; of a long one the part around the match. No character is cut in two. */
static void keep_text(char text[FAILURE_TEXT_SIZE], const struct log_line *line, size_t at)
{
	size_t length = strlen(line->raw), start = 0, limit = FAILURE_TEXT_SIZE - 1;
	size_t behind_prefixes = length > line->length ? length - line->length : 0;
	if (length > limit && behind_prefixes + at > limit / 4)
		start = MIN_OF(behind_prefixes + at - limit / 4, length - limit);
	while (start > 0 && start < length && ((unsigned char)line->raw[start] & 0xC0) == 0x80)
		start++;
	size_t end = MIN_OF(length, start + limit);
	while (end > start && end < length && ((unsigned char)line->raw[end] & 0xC0) == 0x80)
		end--;
	while (end > start && isspace((unsigned char)line->raw[end - 1]))
		end--;
	memcpy(text, line->raw + start, end - start);
	text[end - start] = '\0';
}

void finding_replace(struct failure_scan *scan, struct finding *f, const struct log_line *line,
	const struct signature *s, size_t at)
{
	f->signature = s;
	f->class = s ? s->class : FAILURE_CRASH;
	f->strength = s ? s->strength : STRENGTH_CAUSE;
	f->subkind = s ? s->subkind : NULL;
	f->clean = s && (s->flags & SIG_CLEAN);
	f->generic = s && (s->flags & SIG_GENERIC);
	f->signal = s ? s->signal : 0;
	f->through_collective = strstr(scan->lower, "processgroup") != NULL;
	f->line = line->number;
	f->writer = writer_of(line);
	int told = rank_in_message(scan->lower);
	f->rank = line->rank >= 0 ? line->rank : told;
	keep_text(f->text, line, at);
}

struct finding *finding_add(
	struct failure_scan *scan, const struct log_line *line, const struct signature *s, size_t at)
{
	struct finding *f = finding_slot(scan);
	finding_replace(scan, f, line, s, at);
	return f;
}

/* ---- what a line means ---- */

static bool is_compiler_line(const char *lower, size_t at)
{
	static const char *const endings[] = {".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp",
		".hip", ".f90", ".s", ".ptx", ".mlir"};
	/* "a.cu(12): error", "a.c:4:7: error:", "a.c:4: error:" */
	const char *end = lower + at;
	while (end > lower && (isdigit((unsigned char)end[-1]) || strchr(":(", end[-1])))
		end--;
	if (end == lower + at)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t length = strlen(endings[i]);
		if ((size_t)(end - lower) > length && memcmp(end - length, endings[i], length) == 0)
			return true;
	}
	return false;
}

/* How a line says what it says. Found out when it is asked for: most rows never do. */
struct tone {
	const struct signature_index *index;
	const char *lower;
	size_t length;
	bool level_known, talk_known;
	enum line_level level;
	unsigned talk;
};

static enum line_level level_of(struct tone *tone)
{
	if (!tone->level_known)
		tone->level = line_level_of(tone->lower);
	tone->level_known = true;
	return tone->level;
}

static unsigned talk_of(struct tone *tone)
{
	if (!tone->talk_known)
		tone->talk = signature_talk(tone->index, tone->lower, tone->length);
	tone->talk_known = true;
	return tone->talk;
}

static bool allowed_by_level(const struct signature *s, struct tone *tone)
{
	enum line_level level = level_of(tone);
	if (s->flags & SIG_ERROR_ONLY)
		return level == LEVEL_ERROR;
	return level == LEVEL_NONE || level == LEVEL_ERROR || (s->flags & SIG_ANY_LEVEL);
}

static bool counts(
	const struct log_line *line, const struct signature_hit *hit, bool raised, struct tone *tone)
{
	const struct signature *s = hit->signature;
	const char *lower = tone->lower;
	if (s->act == ACT_NOT_FINITE)
		return strncmp(lower, "wandb:", 6) != 0 && is_not_finite_loss(lower);
	if (s->strength == STRENGTH_NOTHING)
		return false;
	if (!raised && ((s->flags & SIG_RAISED) || !allowed_by_level(s, tone)))
		return false;
	if (s->act == ACT_COMPILER && !is_compiler_line(lower, hit->at))
		return false;
	if (s->act == ACT_SHELL_KILLED && (raised || !is_shell_report(line, hit->at)))
		return false;
	return raised || !(s->flags & SIG_PROSE) || !is_talk(talk_of(tone), lower, hit->at);
}

static void remember_not_finite(struct failure_scan *scan, const struct log_line *line, size_t at)
{
	size_t n = scan->n_not_finite;
	if (n == MAX_NOT_FINITE_LINES ||
		(n > 0 && scan->not_finite[n - 1].line == line->number && !line->redrawn))
		return;
	char text[FAILURE_TEXT_SIZE];
	keep_text(text, line, at);
	scan->not_finite[n] = (struct not_finite_line){line->number, xstrdup(text)};
	scan->n_not_finite++;
}

/* NCCL's "Last error" names a peer that is gone: its error is an echo. */
static void demote_to_echo(struct failure_scan *scan, const struct log_line *line)
{
	struct traceback *t = traceback_of(scan, line);
	struct finding *f = finding_by_serial(scan, t->finding_serial);
	if (f && f->class == FAILURE_COLLECTIVE && line->number - t->finding_line <= CONTINUES_MAX_DISTANCE)
		f->strength = STRENGTH_ECHO;
}

/* "Attempted loss scale: 1, reducing to 1": there is nothing below, and the gradients still overflow. Once or
 * twice may be a bad batch. Above 1 an unchanged scale is hysteresis. */
static void read_loss_scale(
	struct failure_scan *scan, const struct log_line *line, const struct signature_hit *hit)
{
	enum { STUCK_MIN = 3 };
	const char *p = scan->lower + hit->at + strlen(hit->signature->pattern);
	double from, to;
	size_t length = read_number(p, &from);
	static const char behind[] = ", reducing to ";
	bool stuck = length && strncmp(p + length, behind, sizeof(behind) - 1) == 0 &&
		     read_number(p + length + sizeof(behind) - 1, &to) && from == to && to <= 1.0;
	if (!stuck) {
		scan->n_scale_stuck = 0;
		return;
	}
	if (scan->n_scale_stuck++ == 0)
		scan->scale_finding = finding_add(scan, line, hit->signature, hit->at)->serial;
	struct finding *f = finding_by_serial(scan, scan->scale_finding);
	if (f && scan->n_scale_stuck >= STUCK_MIN)
		f->strength = STRENGTH_CAUSE;
}

/* What a row is good for whether it counts as a cause or not. */
static void act(
	struct failure_scan *scan, const struct log_line *line, const struct signature_hit *hit, bool raised)
{
	const struct signature *s = hit->signature;
	scan->log_flags |= s->log_flags;
	facts_read(scan, s, scan->lower);
	if (s->class == FAILURE_COLLECTIVE && s->strength >= STRENGTH_NOISE)
		scan->collective_line = line->number;
	switch (s->act) {
	case ACT_TRACEBACK:
	case ACT_FRAME:
	case ACT_IGNORED:
	case ACT_THREAD:
	case ACT_CHAIN_CONTEXT:
	case ACT_CHAIN_CAUSE:
	case ACT_CHAIN_ORIGINAL:
		if (!raised)
			traceback_act(scan, line, hit);
		break;
	case ACT_ELASTIC_BLOCK:
	case ACT_SHELL_STATUS:
		launcher_block_begin(scan, s->act, 0);
		break;
	case ACT_NOT_FINITE:
		remember_not_finite(scan, line, hit->at);
		break;
	case ACT_LOSS_SCALE:
		read_loss_scale(scan, line, hit);
		break;
	case ACT_PEER_GONE:
		demote_to_echo(scan, line);
		break;
	case ACT_END_NOISE:
		scan->end_noise_line = line->number;
		break;
	default:
		break;
	}
}

/* Of the row that speaks for its line: others name signals in passing. */
static void note_signal(struct failure_scan *scan, const struct signature *s)
{
	struct opt_number *signal = &scan->facts[s->class].signal;
	if (s->signal && !signal->has)
		*signal = (struct opt_number){true, s->signal};
}

struct line_meaning line_meaning(
	struct failure_scan *scan, const struct log_line *line, const char *lower, size_t length, bool raised)
{
	struct signature_hit hits[SIGNATURE_MAX_HITS];
	size_t count = signature_find(scan->index, lower, length, scan->build, hits);
	struct line_meaning m = {NULL, 0};
	struct tone tone = {.index = scan->index, .lower = lower, .length = length};
	for (size_t i = 0; i < count; i++) {
		act(scan, line, &hits[i], raised);
		if (hits[i].signature->class == FAILURE_OOM && is_coping(talk_of(&tone)) &&
			!is_advice(talk_of(&tone), lower, hits[i].at))
			scan->log_flags |= 1u << LOG_OOM_HANDLED;
		if (!m.signature && counts(line, &hits[i], raised, &tone)) {
			m.signature = hits[i].signature;
			m.at = hits[i].at;
			note_signal(scan, m.signature);
		}
	}
	return m;
}

/* ---- lines ---- */

void finding_done(struct failure_scan *scan, struct finding *f, const struct log_line *line)
{
	const struct signature *s = f->signature;
	if (!s)
		return;
	if (s->act == ACT_OOM)
		oom_message_begin(scan, f, line);
	if (s->act == ACT_NEXT_LINE)
		scan->next_line_finding = f->serial;
	if (s->act == ACT_NOT_FINITE) {
		f->strength = STRENGTH_CAUSE;
		f->clean = true;
	}
	if (s->strength == STRENGTH_LAUNCHER)
		launcher_act(scan, f);
}

/* "[CUDA ERROR] at file x.cu:221:" and "out of memory" on the next line. */
static void read_next_line(struct failure_scan *scan)
{
	static const struct {
		const char *text;
		enum failure_class class;
		const char *subkind;
	} reasons[] = {
		{"out of memory", FAILURE_OOM, NULL},
		{"_alloc_failed", FAILURE_OOM, NULL},
		{"illegal memory access", FAILURE_CRASH, "illegal_memory_access"},
		{"misaligned address", FAILURE_CRASH, "illegal_memory_access"},
		{"device-side assert", FAILURE_CRASH, "device_assert"},
		{"uncorrectable ecc", FAILURE_CRASH, "hardware"},
	};
	struct finding *f = finding_by_serial(scan, scan->next_line_finding);
	scan->next_line_finding = 0;
	for (size_t i = 0; f && i < ARRAY_LEN(reasons); i++) {
		if (!strstr(scan->lower, reasons[i].text))
			continue;
		f->class = reasons[i].class;
		f->subkind = reasons[i].subkind;
		return;
	}
}

/* A generic cause whose message goes on and says more: the line that does becomes the cause. True where the
 * line is part of such a message. */
static bool refines(struct failure_scan *scan, const struct log_line *line, const struct line_meaning *m)
{
	const struct signature *s = m->signature;
	struct traceback *t = traceback_of(scan, line);
	struct finding *f = finding_by_serial(scan, t->finding_serial);
	if (!f || !f->generic || f->writer != writer_of(line) ||
		line->number - t->finding_line > CONTINUES_MAX_DISTANCE || s->strength != STRENGTH_CAUSE)
		return false;
	if (f->class == s->class)
		return f->signature != NULL;
	if (s->class == FAILURE_KILLED || s->class == FAILURE_CRASH || s->class == FAILURE_TIMEOUT ||
		s->act == ACT_NOT_FINITE)
		return false;
	/* A compiler's failure is followed by what the compiler said. */
	if (f->class == FAILURE_COMPILE && s->class != FAILURE_OOM)
		return false;
	bool clean = f->clean;
	finding_replace(scan, f, line, s, m->at);
	f->clean = clean;
	finding_done(scan, f, line);
	return true;
}

static void ordinary_line(struct failure_scan *scan, const struct log_line *line)
{
	struct line_meaning m = line_meaning(scan, line, scan->lower, scan->length, false);
	if (!m.signature || refines(scan, line, &m))
		return;
	struct finding *f = finding_add(scan, line, m.signature, m.at);
	finding_done(scan, f, line);
	if (!f->generic)
		return;
	struct traceback *t = traceback_of(scan, line);
	t->finding_serial = f->serial;
	t->finding_line = f->line;
}

static void keep_lower(struct failure_scan *scan, const struct log_line *line)
{
	size_t length = MIN_OF(line->length, (size_t)LOG_LINE_MAX);
	for (size_t i = 0; i < length; i++) {
		char c = line->text[i];
		scan->lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
	}
	scan->lower[length] = '\0';
	scan->length = length;
}

bool failure_scan_wants_next(const struct failure_scan *scan)
{
	if (scan->oom.finding_serial || scan->next_line_finding || scan->launcher.block != ACT_NONE)
		return true;
	for (size_t i = 0; i < MAX_TRACEBACKS && scan->tracebacks[i].used; i++)
		if (scan->tracebacks[i].open)
			return true;
	return false;
}

void failure_scan_line(struct failure_scan *scan, const struct log_line *line)
{
	keep_lower(scan, line);
	if (scan->next_line_finding)
		read_next_line(scan);
	oom_message_continue(scan, line);
	launcher_line(scan, line);
	if (!traceback_line(scan, line))
		ordinary_line(scan, line);
}

void failure_scan_step(struct failure_scan *scan, const struct log_step *step)
{
	bool finite = !step->loss.has || isfinite(step->loss.value);
	if (!finite && scan->not_finite_step.line == 0)
		scan->not_finite_step = *step;
}

void failure_scan_last_line(struct failure_scan *scan, const struct log_line *line)
{
	keep_lower(scan, line);
	finding_replace(scan, &scan->last, line, NULL, 0);
	scan->last.serial = -1;
}

void failure_scan_finish(
	struct failure_scan *scan, const struct failure_exit *ended, struct log_summary *summary)
{
	struct failure_report report = failure_report_none();
	if (scan->oom.finding_serial)
		oom_message_close(scan);
	failure_decide(scan, ended, summary, &report);
	summary->failure = report;
	failure_scan_free(scan);
}
