/* A whole log into its summary and JSON. The first byte says in which pieces the bytes come and what is known
 * of the exit. What comes out must be JSON, its steps in order and its lines of the log; and pieces must not
 * matter. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "adapter/log.h"
#include "base/memory.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_summary(const struct log_summary *s)
{
	require(s->framework != NULL && s->n_steps <= LOG_MAX_STEPS);
	for (size_t i = 0; i < s->n_steps; i++) {
		require(i == 0 || s->steps[i].step > s->steps[i - 1].step);
		require(s->steps[i].line >= 1 && s->steps[i].line <= s->n_lines);
	}
	require(s->failure.line <= s->n_lines && s->recognised_line <= s->n_lines);
}

static void scan(
	const char *bytes, size_t size, size_t piece, const struct log_options *options, struct strbuf *json)
{
	struct log_scan *scan = log_scan_new(options, NULL, NULL);
	struct log_summary summary;
	for (size_t i = 0; i < size; i += piece)
		log_scan_feed(scan, bytes + i, MIN_OF(piece, size - i));
	log_scan_finish(scan, &summary);
	check_summary(&summary);
	log_summary_to_json(&summary, json);
	log_summary_release(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = {1, 3, 17, 64};
	/* One for all inputs: compiling the literals takes longer than reading a small log. */
	static struct log_literals *literals;
	if (size == 0)
		return 0;
	if (!literals)
		literals = log_literals_new();
	struct log_options options = {.literals = literals};
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	unsigned how = data[0];
	if (how & 1)
		log_options_set_exit(&options, how >> 4 == 15 ? 124 : how >> 4);
	options.build = (how & 14) == 14;
	scan((const char *)data + 1, size - 1, size, &options, &json);
	if (how & 2) {
		CLEANUP(strbuf_release) struct strbuf in_pieces = STRBUF_INIT;
		scan((const char *)data + 1, size - 1, pieces[how >> 2 & 3], &options, &in_pieces);
		require(strcmp(json.buf, in_pieces.buf) == 0);
	}
	json_t *parsed = json_loads(json.buf, JSON_REJECT_DUPLICATES, NULL);
	require(json_is_object(parsed));
	json_decref(parsed);
	return 0;
}
