/* Reading a log: bytes into lines, lines to whoever looks for something in them. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/line_int.h"
#include "adapter/matcher.h"
#include "adapter/scan_int.h"
#include "adapter/signatures_int.h"
#include "base/file.h"
#include "base/memory.h"

/* Owners of literals as bits. The matcher passes over what is of no owner that it still looks for, by groups
 * of owners (matcher.h): the loop of one's own, whose literals half of all step lines are full of, and
 * failures have one each to themselves, the other readers share the rest. */
enum { GROUPS = MATCHER_GROUPS, SHARED_GROUPS = GROUPS - 2 };
#define FAILURE_OWNER ((uint64_t)1 << 63)

static uint64_t owner_of_reader(size_t i)
{
	return i == 0 ? 1 : (uint64_t)2 << ((i - 1) / SHARED_GROUPS * GROUPS + (i - 1) % SHARED_GROUPS);
}

static size_t first_reader(uint64_t owners)
{
	size_t bit = (size_t)__builtin_ctzll(owners);
	return bit == 0 ? 0 : (bit - 1) / GROUPS * SHARED_GROUPS + (bit - 1) % GROUPS + 1;
}

struct log_literals {
	struct matcher *matcher;
	struct signature_index *index;
};

static void add_literals(struct matcher *matcher, const char *const *literals, uint64_t owner, uint64_t notes)
{
	for (; literals && *literals; literals++)
		matcher_add(matcher, *literals, owner, notes);
}

struct log_literals *log_literals_new(void)
{
	struct log_literals *literals = xcalloc(1, sizeof(*literals));
	literals->matcher = matcher_new();
	for (size_t i = 0; readers[i]; i++) {
		add_literals(literals->matcher, readers[i]->anchors, owner_of_reader(i), 0);
		add_literals(literals->matcher, readers[i]->notices, 0, (uint64_t)1 << i);
	}
	const char *literal;
	for (size_t i = 0; (literal = failure_literal_at(i)) != NULL; i++)
		matcher_add(literals->matcher, literal, FAILURE_OWNER, 0);
	matcher_compile(literals->matcher);
	literals->index = signature_index_new();
	return literals;
}

void log_literals_free(struct log_literals *literals)
{
	if (!literals)
		return;
	matcher_free(literals->matcher);
	signature_index_free(literals->index);
	free(literals);
}

struct log_scan *log_scan_new(const struct log_options *options, log_step_fn on_step, void *context)
{
	struct log_scan *scan = xcalloc(1, sizeof(*scan));
	if (options)
		scan->options = *options;
	scan->on_step = on_step;
	scan->context = context;
	scan->number = 1;
	scan->literals = scan->options.literals;
	if (!scan->literals)
		scan->literals = scan->own_literals = log_literals_new();
	readers_init(scan);
	for (size_t i = 0; i < scan->n_readers; i++) {
		bool wanted = !scan->options.format || readers[i]->priority == READER_AUXILIARY ||
			      strcmp(scan->options.format, readers[i]->name) == 0;
		scan->active |= wanted ? owner_of_reader(i) : 0;
	}
	scan->failure = failure_scan_new(scan->options.build, scan->literals->index);
	return scan;
}

void log_scan_free(struct log_scan *scan)
{
	if (!scan)
		return;
	readers_release(scan);
	failure_scan_free(scan->failure);
	log_literals_free(scan->own_literals);
	free(scan);
}

const struct log_summary *log_scan_facts(const struct log_scan *scan)
{
	return scan->best ? scan->best->facts : NULL;
}

/* ---- one line ---- */

/* owners: to whom the line was offered. */
static void tell_step(struct log_scan *scan, uint64_t owners)
{
	struct reader *teller = scan->best;
	if (!teller)
		return;
	/* An engine, or a trainer whose own lines are missing: the script prints its steps by itself. */
	if (reader_n_steps(teller) == 0)
		for (size_t i = 0; i < scan->n_readers; i++)
			if (scan->readers[i].ops->priority == READER_LOOP)
				teller = &scan->readers[i];
	bool offered = owners & owner_of_reader((size_t)(teller - scan->readers));
	struct log_step *step = offered && teller->touched ? reader_last_step(teller) : NULL;
	if (!step)
		return;
	failure_scan_step(scan->failure, step);
	if (scan->on_step)
		scan->on_step(scan->context, step);
}

static void look_for_best(struct log_scan *scan)
{
	scan->best = scan_choose(scan);
	for (size_t i = 0; i < scan->n_readers; i++)
		if (!reader_can_win(scan, &scan->readers[i]))
			scan->active &= ~owner_of_reader(i);
}

static void dispatch(struct log_scan *scan, const struct log_line *line, struct matcher_hits hits)
{
	uint64_t owners = hits.owners;
	scan->line = line;
	if (owners & FAILURE_OWNER)
		failure_scan_line(scan->failure, line);
	owners &= scan->active;
	if (!owners)
		return;
	bool news = false;
	for (uint64_t left = owners; left; left &= left - 1) {
		size_t at = first_reader(left);
		struct reader *reader = &scan->readers[at];
		size_t evidence = reader->evidence;
		reader->noticed = hits.notes >> at & 1;
		reader->touched = false;
		bool had_steps = reader_n_steps(reader) > 0;
		reader->ops->line(reader, line);
		news |= (reader != scan->best && reader->evidence != evidence) ||
			had_steps != (reader_n_steps(reader) > 0);
	}
	if (news)
		look_for_best(scan);
	tell_step(scan, owners);
}

struct segment {
	const char *bytes; /* not terminated */
	size_t length;
	bool redrawn, cut, unended;
	bool controls;   /* an escape or NUL is among the bytes */
	bool lasting;    /* the bytes stay until the end of log_scan_feed() */
	bool terminated; /* by a NUL, as a line's text is */
};

static void put_text(struct line_buffer *buffer, const char *bytes, size_t length)
{
	memcpy(buffer->text, bytes, length);
	buffer->text[length] = '\0';
	buffer->used = length;
}

/* Makes a line of the bytes, in the buffer where they cannot stay where they are. */
static struct log_line make_line(
	struct log_scan *scan, struct line_buffer *buffer, const struct segment *segment)
{
	scan->parts.known = 0;
	if (!segment->terminated)
		put_text(buffer, segment->bytes, segment->length);
	struct log_line line = {.raw = segment->terminated ? segment->bytes : buffer->text,
		.length = segment->length,
		.number = scan->number,
		.parts = &scan->parts,
		.redrawn = segment->redrawn,
		.cut = segment->cut,
		.unended = segment->unended};
	line_without_prefixes(&line);
	return line;
}

static void clean_segment(struct log_scan *scan, struct segment *segment)
{
	bool controls = segment->controls;
	bool first = scan->number == 1 && line_has_controls(segment->bytes, segment->length);
	bool brace = segment->length > 0 && segment->bytes[0] == '{';
	if (!first && !controls && !(brace && line_is_dockers(segment->bytes, segment->length)))
		return;
	struct line_buffer *clean = &scan->clean;
	put_text(clean, segment->bytes, segment->length);
	/* A record may hold escapes of its own. */
	if (line_out_of_docker(clean->text, &clean->used) || controls || first)
		clean->used = line_without_controls(clean->text, clean->used);
	segment->bytes = clean->text;
	segment->length = clean->used;
	segment->lasting = false;
	segment->terminated = true;
}

static bool is_blank(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != ' ' && bytes[i] != '\t')
			return false;
	return true;
}

/* Takes the last line out of bytes that are about to go. */
static void keep_last(struct log_scan *scan)
{
	if (scan->last_bytes)
		memcpy(scan->last, scan->last_bytes, scan->last_length);
	scan->last_bytes = NULL;
}

static void take_segment(struct log_scan *scan, struct segment segment)
{
	if (segment.length > LOG_LINE_MAX) {
		segment.length = LOG_LINE_MAX;
		segment.cut = true; /* of a longer line; what is terminated is never so */
	}
	clean_segment(scan, &segment);
	uint64_t anyway = failure_scan_wants_next(scan->failure) ? FAILURE_OWNER : 0;
	if (segment.length == 0 && !anyway)
		return;
	uint64_t wanted = (scan->active | FAILURE_OWNER) & ~anyway;
	struct matcher_hits hits =
		matcher_find(scan->literals->matcher, wanted, segment.bytes, segment.length);
	hits.owners |= anyway;
	if (hits.owners) {
		struct log_line line = make_line(scan, &scan->text, &segment);
		dispatch(scan, &line, hits);
	}
	if (!is_blank(segment.bytes, segment.length)) {
		scan->last_bytes = segment.bytes;
		scan->last_length = MIN_OF(segment.length, sizeof(scan->last) - 1);
		scan->last_number = scan->number;
		if (!segment.lasting)
			keep_last(scan);
	}
}

/* ---- bytes into lines ---- */

static void append_pending(struct log_scan *scan, const char *bytes, size_t length)
{
	struct line_buffer *pending = &scan->pending;
	size_t room = LOG_LINE_MAX - pending->used;
	if (length > room) {
		pending->cut = true;
		length = room;
	}
	memcpy(pending->text + pending->used, bytes, length);
	pending->used += length;
	scan->has_pending = true;
}

/* What has been collected; it stays where it is until the next piece. */
static struct segment pending_segment(struct log_scan *scan)
{
	struct line_buffer *pending = &scan->pending;
	pending->text[pending->used] = '\0';
	return (struct segment){.bytes = pending->text,
		.length = pending->used,
		.cut = pending->cut,
		.controls = memchr(pending->text, '\033', pending->used) ||
			    memchr(pending->text, '\0', pending->used),
		.terminated = true};
}

/* Ends the line or drawing whose last bytes these are. */
static void end_segment(struct log_scan *scan, const char *bytes, size_t length, bool redrawn, bool controls)
{
	struct segment segment = {.bytes = bytes, .length = length, .controls = controls, .lasting = true};
	if (scan->has_pending) {
		append_pending(scan, bytes, length);
		segment = pending_segment(scan);
		scan->has_pending = scan->pending.cut = false;
		scan->pending.used = 0;
	}
	segment.redrawn = redrawn;
	take_segment(scan, segment);
	scan->number += !redrawn;
}

/* Where a byte stands next; looked for once, not anew for every line. */
struct next_byte {
	char byte;
	const char *at;
};

static const char *next_byte(struct next_byte *next, const char *from, const char *end)
{
	if (next->at < from) {
		next->at = memchr(from, next->byte, (size_t)(end - from));
		next->at = next->at ? next->at : end;
	}
	return next->at;
}

/* A \r at the end of the bytes fed before: with \n behind it, it ended the line. */
static const char *settle_carriage_return(struct log_scan *scan, const char *p)
{
	if (!scan->pending_cr)
		return p;
	scan->pending_cr = false;
	bool newline = *p == '\n';
	end_segment(scan, p, 0, !newline, true);
	return p + newline;
}

static void feed_lines(struct log_scan *scan, const char *bytes, size_t length)
{
	const char *end = bytes + length;
	struct next_byte newline = {'\n', NULL}, carriage = {'\r', NULL}, escape = {'\033', NULL},
			 nul = {'\0', NULL};
	for (const char *p = settle_carriage_return(scan, bytes); p < end;) {
		const char *at = next_byte(&newline, p, end);
		at = MIN_OF(at, next_byte(&carriage, p, end));
		if (at == end || (*at == '\r' && at + 1 == end)) {
			append_pending(scan, p, (size_t)(at - p));
			scan->pending_cr = at != end;
			return;
		}
		bool redrawn = *at == '\r' && at[1] != '\n';
		const char *seen_end = p + MIN_OF(at - p, LOG_LINE_MAX);
		bool controls = next_byte(&escape, p, end) < seen_end || next_byte(&nul, p, end) < seen_end;
		end_segment(scan, p, (size_t)(at - p), redrawn, controls);
		p = at + 1 + (*at == '\r' && !redrawn);
	}
}

void log_scan_feed(struct log_scan *scan, const char *bytes, size_t length)
{
	if (length == 0)
		return;
	scan->n_bytes += length;
	feed_lines(scan, bytes, length);
	keep_last(scan);
}

/* What stands behind the last \n. */
void scan_flush(struct log_scan *scan)
{
	if (scan->has_pending && (scan->pending.used > 0 || scan->pending_cr)) {
		struct segment segment = pending_segment(scan);
		segment.unended = true;
		take_segment(scan, segment);
	}
	scan->has_pending = scan->pending_cr = false;
	scan->line = NULL;
	if (!scan->last_length)
		return;
	struct segment last = {.bytes = scan->last, .length = scan->last_length};
	scan->number = scan->last_number;
	struct log_line line = make_line(scan, &scan->text, &last);
	failure_scan_last_line(scan->failure, &line);
}

/* ---- files ---- */

static bool begins_with_magic(const char *bytes, size_t length)
{
	static const struct {
		const char *magic;
		size_t length;
	} magics[] = {{"\x1f\x8b", 2}, {"BZh", 3}, {"PK\3\4", 4}, {"\x28\xb5\x2f\xfd", 4},
		{"\xfd"
		 "7zXZ",
			5},
		{"\177ELF", 4}};
	for (size_t i = 0; i < ARRAY_LEN(magics); i++)
		if (length >= magics[i].length && memcmp(bytes, magics[i].magic, magics[i].length) == 0)
			return true;
	return false;
}

/* A compressed file, a checkpoint: bytes that no program prints as its log. UTF-16, as PowerShell writes it,
 * has a NUL in every other place and is text. */
static bool is_binary(const char *bytes, size_t length)
{
	size_t n_controls = 0;
	for (size_t i = 0; i < length; i++)
		n_controls +=
			bytes[i] && !strchr("\t\n\r\033\b\a\f", bytes[i]) && (unsigned char)bytes[i] < 0x20;
	return begins_with_magic(bytes, length) || n_controls * 20 > length;
}

static enum err_code feed_file(struct log_scan *scan, int fd, const char *path, struct err *reterr)
{
	enum { CHUNK_SIZE = 1 << 16 };
	CLEANUP(free_ptr) char *chunk = xmalloc(CHUNK_SIZE);
	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "cannot read %s", path);
		if (n == 0)
			return OK;
		if (scan->n_bytes == 0 && scan->options.refuse_binary && is_binary(chunk, (size_t)n))
			return err_set(reterr, ERR_INPUT,
				"%s is no text; a compressed log is read with  zcat FILE | infrarsi logs -",
				path);
		log_scan_feed(scan, chunk, (size_t)n);
	}
}

bool log_format_known(const char *name)
{
	for (size_t i = 0; readers[i]; i++)
		if (readers[i]->priority != READER_AUXILIARY && strcmp(readers[i]->name, name) == 0)
			return true;
	return false;
}

const char *log_format_at(size_t index)
{
	for (size_t i = 0; readers[i]; i++)
		if (readers[i]->priority != READER_AUXILIARY && index-- == 0)
			return readers[i]->name;
	return NULL;
}

enum err_code log_read(const char *path, const struct log_options *options, struct log_summary *ret_summary,
	struct err *reterr)
{
	bool standard_input = strcmp(path, "-") == 0;
	if (options && options->format && !log_format_known(options->format))
		return err_set(reterr, ERR_INPUT, "no log format is named '%s'", options->format);
	int opened = -1;
	if (!standard_input)
		TRY(file_open_read(path, &opened, reterr));
	CLEANUP(close_fd) int fd = opened;
	struct log_scan *scan = log_scan_new(options, NULL, NULL);
	enum err_code code =
		feed_file(scan, standard_input ? 0 : fd, standard_input ? "standard input" : path, reterr);
	if (code != OK) {
		log_scan_free(scan);
		return code;
	}
	log_scan_finish(scan, ret_summary);
	return OK;
}
