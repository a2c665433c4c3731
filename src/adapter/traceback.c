/* Python's tracebacks: from the heading to the exception, which is what counts. Several writers may be in the
 * middle of one at the same time. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "adapter/failure_int.h"

enum {
	TRACEBACK_MAX_LINES = 5000,
	CHAIN_MAX_DISTANCE = 12, /* lines from the sentence that joins two tracebacks to the second */
};

static const char heading[] = "traceback (most recent call last";

struct traceback *traceback_of(struct failure_scan *scan, const struct log_line *line)
{
	uint32_t writer = writer_of(line);
	struct traceback *oldest = NULL;
	for (size_t i = 0; i < MAX_TRACEBACKS; i++) {
		struct traceback *t = &scan->tracebacks[i];
		if (t->used && t->writer == writer)
			return t;
		if (!oldest || (oldest->used && (!t->used || t->heading_line < oldest->heading_line)))
			oldest = t;
	}
	memset(oldest, 0, sizeof(*oldest));
	oldest->used = true;
	oldest->writer = writer;
	oldest->heading_line = line->number;
	oldest->chain = oldest->next = ACT_NONE;
	return oldest;
}

static size_t count_blanks(const char *text)
{
	return strspn(text, " \t");
}

/* ---- headings ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);
	return length >= n && memcmp(text + length - n, end, n) == 0;
}

/* Of the exception: where the heading stands, or torch elastic's "  traceback : " before it. A progress bar
 * that it was printed behind does not count. */
static size_t indent_of(const char *start, const char *end)
{
	static const char key[] = "traceback :";
	const char *p = start + count_blanks(start);
	if (p >= end || strncmp(p, key, sizeof(key) - 1) == 0)
		return (size_t)(p - start);
	return 0;
}

/* "  + Exception Group Traceback": what stands under it, behind bars, has headings of its own. */
static bool is_group_heading(const char *lower, size_t at)
{
	return ends_with(lower, at, "exception group ");
}

static void begin(struct failure_scan *scan, const struct log_line *line, size_t at)
{
	static const char box_corner[] = "\xe2\x95\xad";
	struct traceback *t = traceback_of(scan, line);
	const char *lower = scan->lower;
	size_t prefix = level_prefix_length(lower);
	bool original = ends_with(lower, at, "original ");
	bool group = ends_with(lower, at, "| ");
	bool chained = t->chain != ACT_NONE && line->number - t->finding_line <= CHAIN_MAX_DISTANCE;
	if (original)
		t->chain = ACT_CHAIN_ORIGINAL;
	else if (!chained)
		t->chain = ACT_NONE;
	if (t->chain == ACT_NONE) {
		t->in_worker = false;
		t->device_index.has = false;
	}
	t->open = true;
	t->headless = false;
	t->boxed = strstr(lower, box_corner) != NULL;
	t->heading_line = line->number;
	t->n_lines = 0;
	t->ignored = t->next == ACT_IGNORED;
	t->in_thread = t->next == ACT_THREAD;
	t->next = ACT_NONE;
	enum line_level level = line_level_of(lower);
	t->warning = level == LEVEL_WARNING || level == LEVEL_INFO;
	t->prefix_length = group ? at : prefix;
	if (t->prefix_length >= sizeof(t->prefix) || t->prefix_length > line->length)
		t->prefix_length = 0;
	memcpy(t->prefix, line->text, t->prefix_length);
	t->indent = indent_of(lower + t->prefix_length, lower + at);
}

/* '  File "x.py", line 12, in f' without a heading: the log was cut or another writer took it away. */
static void begin_headless(struct failure_scan *scan, const struct log_line *line)
{
	static const char frame[] = "  File \"";
	const char *at = strstr(line->text, ", line ");
	struct traceback *t = traceback_of(scan, line);
	if (t->open || !at || !strstr(at, ", in ") || strncmp(line->text, frame, sizeof(frame) - 1) != 0)
		return;
	t->open = t->headless = true;
	t->boxed = t->ignored = t->in_thread = t->warning = t->in_worker = false;
	t->chain = t->next = ACT_NONE;
	t->heading_line = line->number;
	t->n_lines = 0;
	t->prefix_length = 0;
	t->indent = 0;
}

void traceback_act(struct failure_scan *scan, const struct log_line *line, const struct signature_hit *hit)
{
	enum signature_act act = hit->signature->act;
	if (act == ACT_TRACEBACK) {
		if (!is_group_heading(scan->lower, hit->at))
			begin(scan, line, hit->at);
		return;
	}
	if (act == ACT_FRAME) {
		begin_headless(scan, line);
		return;
	}
	struct traceback *t = traceback_of(scan, line);
	if (act == ACT_IGNORED || act == ACT_THREAD) {
		t->next = act;
		return;
	}
	t->chain = act;
	t->finding_line = line->number;
	if (act == ACT_CHAIN_ORIGINAL) {
		/* "-- Process 1 terminated with the following error:" */
		t->process = number_behind(scan->lower, "process ");
	}
}

/* ---- exceptions ---- */

static const char *const exception_endings[] = {"Error", "Exception", "Interrupt", "Exit", "Iteration",
	"Warning", "Timeout", "Expired", "Failure", "Exhausted", "Traceback", "Panic", "Violation", "Empty",
	"Full"};

static bool has_exception_ending(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_LEN(exception_endings); i++)
		if (ends_with(name, length, exception_endings[i]))
			return true;
	return false;
}

static bool is_level_name(const char *name, size_t length)
{
	static const char *const levels[] = {
		"INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL", "NOTE"};
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strlen(levels[i]) == length && memcmp(name, levels[i], length) == 0)
			return true;
	return false;
}

/* "Unsupported: Call to ..." is an exception, "Epoch: [0][415/1736]", "Loss: 2.1" and "http://" are none. */
static bool is_measure(const char *value)
{
	value += count_blanks(value);
	return *value && (isdigit((unsigned char)*value) || strchr("[-+/", *value));
}

/* "ValueError: bad", "torch.cuda.OutOfMemoryError: ..", "KeyboardInterrupt", "RayTaskError(ValueError): ..".
 */
static bool is_exception(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	bool dotted = memchr(text, '.', length) != NULL;
	if (length < 3 || isdigit((unsigned char)text[0]) || is_level_name(text, length))
		return false;
	bool named = has_exception_ending(text, length);
	const char *behind = text + length;
	if (*behind == '(')
		return named;
	if (!*behind)
		return named || (dotted && text[0] != '.');
	if (*behind != ':')
		return false;
	return named || ((dotted || isupper((unsigned char)text[0])) && !is_measure(behind + 1));
}

static bool is_specific(const struct finding *f)
{
	return f->signature && !f->generic && f->strength == STRENGTH_CAUSE &&
	       (f->class == FAILURE_OOM || f->class == FAILURE_COLLECTIVE || f->class == FAILURE_NAN ||
		       (f->class == FAILURE_CRASH && f->subkind && f->signature->flags & SIG_PROSE));
}

static void describe(
	struct traceback *t, struct finding *f, const struct signature *signature, const char *lower)
{
	f->clean = f->strength == STRENGTH_CAUSE;
	if (!signature) {
		f->class = t->in_worker ? FAILURE_DATA : FAILURE_CRASH;
		f->subkind = t->in_worker ? "worker_exception" : NULL;
		f->strength = STRENGTH_CAUSE;
		f->clean = f->generic = true;
	}
	if (t->in_thread || t->warning)
		f->strength = STRENGTH_WEAK;
	/* "Caught ValueError in DataLoader worker process 0.", "... in pin memory thread for device 1." */
	if (strstr(lower, "in dataloader worker process"))
		t->in_worker = true;
	if (strstr(lower, "in pin memory thread"))
		t->device_index = number_behind(lower, "thread for device ");
	if (t->device_index.has)
		f->device_index = t->device_index;
	if (t->process.has && f->rank < 0)
		f->rank = (int)t->process.value;
}

/* The first exception of a chain is the cause; where no row knows it, the one that was made of it tells what
 * the job was at: compiling, reading its data. */
static void classify_by_wrapper(struct finding *f, const struct signature *wrapper)
{
	if (!f || f->signature || !wrapper || wrapper->strength != STRENGTH_CAUSE ||
		wrapper->class == FAILURE_KILLED)
		return;
	f->class = wrapper->class;
	f->subkind = wrapper->subkind;
}

/* The finding that the exception belongs to: of an earlier link of its chain, or a new one. NULL: what came
 * before says more. */
static struct finding *finding_of_exception(struct failure_scan *scan, const struct traceback *t,
	enum signature_act chain, const struct log_line *line, struct line_meaning m)
{
	struct finding *last = finding_by_serial(scan, t->finding_serial);
	if (!last || chain == ACT_NONE)
		return finding_add(scan, line, m.signature, m.at);
	/* "_queue.Empty" alone says nothing: what was made of it does. */
	if (chain == ACT_CHAIN_CAUSE && !(last->bare && m.signature)) {
		classify_by_wrapper(last, m.signature);
		return NULL;
	}
	if (chain == ACT_CHAIN_CONTEXT && is_specific(last) && !m.signature)
		return NULL;
	finding_replace(scan, last, line, m.signature, m.at);
	return last;
}

static void exception(struct failure_scan *scan, struct traceback *t, const struct log_line *line,
	const char *lower, size_t offset)
{
	enum signature_act chain = t->chain;
	bool remote = strstr(lower, "raytaskerror(") != NULL;
	t->open = remote;
	t->chain = remote ? ACT_CHAIN_ORIGINAL : ACT_NONE;
	t->finding_line = line->number;
	if (t->ignored)
		return;
	struct line_meaning m = line_meaning(scan, line, lower, strlen(lower), true);
	m.at += offset;
	if (t->warning) {
		scan->log_flags |=
			m.signature && m.signature->class == FAILURE_COMPILE ? 1u << LOG_COMPILE_FALLBACK : 0;
		return;
	}
	struct finding *f = finding_of_exception(scan, t, chain, line, m);
	if (!f)
		return;
	describe(t, f, m.signature, lower);
	f->bare = !strpbrk(lower, ":(");
	t->process.has = false;
	t->finding_serial = f->serial;
	finding_done(scan, f, line);
}

/* ---- lines ---- */

/* What rich draws around a traceback: its lines begin with a vertical or a lower corner. */
static bool is_box_line(const char *text)
{
	text += count_blanks(text);
	return strncmp(text, "\xe2\x94\x82", 3) == 0 || strncmp(text, "\xe2\x95\xb0", 3) == 0 ||
	       strncmp(text, "\xe2\x95\xad", 3) == 0;
}

static const char *behind_prefix(const struct traceback *t, const struct log_line *line)
{
	if (t->prefix_length == 0)
		return line->text;
	if (line->length < t->prefix_length || memcmp(line->text, t->prefix, t->prefix_length) != 0)
		return NULL;
	return line->text + t->prefix_length;
}

bool traceback_line(struct failure_scan *scan, const struct log_line *line)
{
	struct traceback *t = traceback_of(scan, line);
	if (!t->open)
		return false;
	const char *text = behind_prefix(t, line);
	if (!text || line->number == t->heading_line)
		return false;
	if (++t->n_lines > TRACEBACK_MAX_LINES) {
		t->open = false;
		return false;
	}
	size_t blanks = count_blanks(text);
	if (!text[blanks] || (t->boxed && is_box_line(text)))
		return true;
	if (blanks > t->indent)
		return strncmp(scan->lower + (text - line->text) + blanks, heading, sizeof(heading) - 1) != 0;
	size_t offset = (size_t)(text - line->text) + blanks;
	if (is_exception(text + blanks)) {
		exception(scan, t, line, scan->lower + offset, offset);
		return true;
	}
	/* Another writer's line in the middle, unless the traceback had no heading to begin with. */
	if (t->headless)
		t->open = false;
	return false;
}
