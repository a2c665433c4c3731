/* Messages of device memory: their lines are put together, their numbers kept. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure_int.h"
#include "base/memory.h"

static const char *const message_ends[] = {"reserved by pytorch but unallocated",
	"reserved in total by pytorch", " cached)", "more than 1eb memory", "exceeded hbm capacity by",
	"that was not possible"};

static bool message_is_complete(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(message_ends); i++)
		if (strcasestr(text, message_ends[i]))
			return true;
	return false;
}

static bool same_message(const struct oom_message *a, const struct oom_message *b)
{
	return a->requested == b->requested && a->free_bytes == b->free_bytes && a->device == b->device &&
	       (a->rank == b->rank || a->rank < 0 || b->rank < 0);
}

static double value_or(struct opt_number n, double otherwise)
{
	return n.has ? n.value : otherwise;
}

/* How often, and by how much at most, memory was short: a message that is printed twice counts once. */
static void count_message(struct failure_scan *scan, const struct oom_numbers *n, int rank)
{
	struct oom_message m = {
		n->requested.value, value_or(n->free_bytes, -1.0), rank, value_or(n->device_index, -1.0)};
	if (!n->requested.has || n->exact)
		return;
	for (size_t i = 0; i < scan->n_oom_messages; i++)
		if (same_message(&scan->oom_messages[i], &m))
			return;
	if (scan->n_oom_messages < MAX_OOM_MESSAGES)
		scan->oom_messages[scan->n_oom_messages++] = m;
	if (n->shortfall.has && n->shortfall.value >= value_or(scan->max_shortfall, 0.0))
		scan->max_shortfall = n->shortfall;
}

/* XLA tells the request rounded first and exactly in the exception behind it. */
static void take_exact_request(struct failure_scan *scan, const struct oom_numbers *n)
{
	for (size_t i = 0; i < scan->n_findings; i++) {
		struct oom_numbers *earlier = scan->findings[i]->oom;
		if (earlier && earlier->requested.has && !earlier->exact && !earlier->free_bytes.has &&
			fabs(earlier->requested.value - n->requested.value) <= 0.01 * n->requested.value) {
			earlier->requested = n->requested;
			earlier->exact = true;
		}
	}
}

void oom_message_close(struct failure_scan *scan)
{
	struct oom_collection *c = &scan->oom;
	struct finding *f = finding_by_serial(scan, c->finding_serial);
	struct oom_numbers n;
	c->finding_serial = 0;
	oom_numbers_read(c->text, &n);
	if (n.requested.has && n.exact && !n.free_bytes.has)
		take_exact_request(scan, &n);
	count_message(scan, &n, c->rank);
	if (!f)
		return;
	free(f->oom);
	f->oom = xmalloc(sizeof(n));
	*f->oom = n;
}

static void add_to_message(struct oom_collection *c, const char *text, size_t length)
{
	length = MIN_OF(length, sizeof(c->text) - 2 - c->used);
	if (c->used > 0)
		c->text[c->used++] = '\n';
	memcpy(c->text + c->used, text, length);
	c->used += length;
	c->text[c->used] = '\0';
	c->n_lines++;
}

void oom_message_begin(struct failure_scan *scan, const struct finding *f, const struct log_line *line)
{
	struct oom_collection *c = &scan->oom;
	if (c->finding_serial)
		oom_message_close(scan);
	c->finding_serial = f->serial;
	c->writer = f->writer;
	c->rank = f->rank;
	c->used = 0;
	c->n_lines = 0;
	add_to_message(c, line->text, line->length);
	/* Only messages that begin to tell sizes go on elsewhere. */
	bool tells = strstr(scan->lower, "tried to allocate") || strstr(scan->lower, "out of memory.");
	if (message_is_complete(c->text) || !tells)
		oom_message_close(scan);
}

/* True where the line cannot belong to the message any more. */
static bool ends_message(const struct failure_scan *scan, const struct log_line *line)
{
	const struct oom_collection *c = &scan->oom;
	return line->length == 0 || c->n_lines >= OOM_MAX_LINES ||
	       c->used + line->length + 2 >= sizeof(c->text) ||
	       strstr(scan->lower, "traceback (most recent") || strstr(scan->lower, "out of memory") ||
	       strstr(scan->lower, "```") || scan->lower[0] == '=' || scan->lower[0] == '-' ||
	       strstr(scan->lower, "loss") != NULL;
}

void oom_message_continue(struct failure_scan *scan, const struct log_line *line)
{
	struct oom_collection *c = &scan->oom;
	if (!c->finding_serial || c->writer != writer_of(line))
		return;
	if (ends_message(scan, line)) {
		oom_message_close(scan);
		return;
	}
	add_to_message(c, line->text, line->length);
	if (message_is_complete(c->text))
		oom_message_close(scan);
}
