/* A job's log through the failure classifier, every line of it. The first byte chooses how the job ended,
 * "[rank3]: " before a line who wrote it; steps are the lines that begin with "step=". What is reported must
 * be of the log and fit to be shown. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure.h"
#include "adapter/log.h"
#include "adapter/reader_int.h"
#include "adapter/signatures_int.h"
#include "base/memory.h"

enum { MAX_STEPS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_prefix(struct log_line *line)
{
	line->rank = -1;
	line->text = line->raw;
	line->length = strlen(line->raw);
	if (strncmp(line->raw, "[rank", 5) != 0 || !isdigit((unsigned char)line->raw[5]) ||
		strncmp(line->raw + 6, "]: ", 3) != 0)
		return;
	line->rank = line->raw[5] - '0';
	line->text += 9;
	line->length -= 9;
}

static void take_step(struct failure_scan *scan, const struct log_line *line, struct log_summary *summary)
{
	if (strncmp(line->text, "step=", 5) != 0 || summary->n_steps == MAX_STEPS)
		return;
	struct log_step *step = &summary->steps[summary->n_steps++];
	*step = (struct log_step){.step = (long)summary->n_steps, .line = line->number};
	step->loss = number_of(line->text, "loss");
	failure_scan_step(scan, step);
}

static void check_report(const struct failure_report *r, long n_lines)
{
	for (const char *p = r->evidence; *p; p++)
		if ((unsigned char)*p < 0x20)
			abort();
	if (r->class >= N_FAILURE_CLASSES || r->line < 0 || r->line > n_lines ||
		r->n_ranks > FAILURE_MAX_RANKS)
		abort();
	if (r->class == FAILURE_NONE && (r->line || r->text[0]))
		abort();
	if (r->shortfall_bytes.has &&
		!(r->shortfall_bytes.value >= 0.0 && isfinite(r->shortfall_bytes.value)))
		abort();
	json_decref(failure_report_to_json(r));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct failure_exit exits[] = {
		{0, 0, false, false, false},
		{1, 0, false, false, false},
		{137, 0, false, false, false},
		{-1, 6, false, false, false},
		{-1, 9, true, false, false},
		{2, 0, false, false, true},
	};
	/* One for all inputs: making it takes longer than reading a small log. */
	static struct signature_index *index;
	if (size == 0)
		return 0;
	if (!index)
		index = signature_index_new();
	size_t how = data[0] % (ARRAY_LEN(exits) + 1);
	const struct failure_exit *ended = how < ARRAY_LEN(exits) ? &exits[how] : NULL;
	struct log_step steps[MAX_STEPS];
	struct log_summary summary = {.framework = "unknown", .steps = steps};
	summary.completed = (struct opt_number){size % 2 == 0, size % 4 == 0};
	struct failure_scan *scan = failure_scan_new(ended && ended->build, index);
	struct log_line line = {.number = 0};
	char *text = xmalloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (char *p = text, *next; p; p = next) {
		next = memchr(p, '\n', (size_t)(text + size - 1 - p));
		if (next)
			*next++ = '\0';
		line.raw = p;
		line.number++;
		take_prefix(&line);
		if (line.length > LOG_LINE_MAX)
			continue;
		failure_scan_line(scan, &line);
		take_step(scan, &line, &summary);
		(void)failure_scan_wants_next(scan);
		if (line.length > 0)
			failure_scan_last_line(scan, &line);
	}
	failure_scan_finish(scan, ended, &summary);
	check_report(&summary.failure, line.number);
	free(text);
	return 0;
}
