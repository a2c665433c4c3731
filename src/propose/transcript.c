#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "propose/transcript.h"

static const char schema[] = "infrarsi-transcript/1";

static char *canonical(const json_t *request)
{
	return json_dump_take(json_incref((json_t *)request));
}

void transcript_digest(const json_t *request, char ret_hex[SHA256_HEX_SIZE])
{
	CLEANUP(free_ptr) char *text = canonical(request);
	sha256_hex(text, strlen(text), ret_hex);
}

/* Where a line's members are kept, and what they must be. */
enum member_kind { MEMBER_TEXT, MEMBER_DIGEST, MEMBER_OBJECT, MEMBER_NUMBER };
static const struct member {
	const char *key, *wanted;
	enum member_kind kind;
	bool optional;
	size_t offset;
} members[] = {
	{"proposer", "a name", MEMBER_TEXT, false, offsetof(struct transcript_entry, proposer)},
	{"request_digest", "64 hexadecimal digits", MEMBER_DIGEST, false,
		offsetof(struct transcript_entry, request_digest)},
	{"request", "an object", MEMBER_OBJECT, true, offsetof(struct transcript_entry, request_json)},
	{"answer", "a text", MEMBER_TEXT, false, offsetof(struct transcript_entry, answer)},
	{"tokens_in", "a number from 0", MEMBER_NUMBER, false, offsetof(struct transcript_entry, tokens_in)},
	{"tokens_out", "a number from 0", MEMBER_NUMBER, false,
		offsetof(struct transcript_entry, tokens_out)},
	{"usd", "a number from 0", MEMBER_NUMBER, false, offsetof(struct transcript_entry, usd)},
	{"seconds", "a number from 0", MEMBER_NUMBER, false, offsetof(struct transcript_entry, seconds)},
};

static bool is_digest(const char *text)
{
	unsigned char bytes[SHA256_BYTES];
	return strlen(text) == SHA256_HEX_SIZE - 1 && hex_decode(text, bytes, sizeof(bytes));
}

/* false: not what is wanted. */
static bool read_member(
	const struct member *m, const json_t *value, struct arena *arena, struct transcript_entry *entry)
{
	void *field = (char *)entry + m->offset;
	const char *text = json_string_value(value);
	double number = json_is_number(value) ? json_number_value(value) : NAN;
	switch (m->kind) {
	case MEMBER_TEXT:
	case MEMBER_DIGEST:
		if (!text || (m->kind == MEMBER_DIGEST && !is_digest(text)))
			return false;
		*(const char **)field = arena_strdup(arena, text);
		return true;
	case MEMBER_OBJECT: {
		if (!json_is_object(value))
			return false;
		CLEANUP(free_ptr) char *dumped = canonical(value);
		*(const char **)field = arena_strdup(arena, dumped);
		return true;
	}
	case MEMBER_NUMBER:
		*(double *)field = number;
		return isfinite(number) && number >= 0;
	}
	return false;
}

static bool is_member(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].key, key) == 0)
			return true;
	return strcmp(key, "schema") == 0;
}

static enum err_code check_keys(const char *path, int line, const json_t *object, struct err *reterr)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value)
	{
		const char *names[ARRAY_LEN(members)];
		if (is_member(key))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(members); i++)
			names[i] = members[i].key;
		const char *close = closest_name(key, names, ARRAY_LEN(names));
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, key, strnlen(key, 100));
		return err_set_at(reterr, ERR_INPUT, path, line, 0, "unknown key '%s'%s%s%s", shown.buf,
			close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
	}
	return OK;
}

static enum err_code check_request(const char *path, const struct transcript_entry *entry, struct err *reterr)
{
	char digest[SHA256_HEX_SIZE];
	if (!entry->request_json)
		return OK;
	sha256_hex(entry->request_json, strlen(entry->request_json), digest);
	if (strcmp(digest, entry->request_digest) == 0)
		return OK;
	return err_set_at(reterr, ERR_INPUT, path, entry->line, 0,
		"request_digest is not the digest of 'request' (%.12s..., not %.12s...)", digest,
		entry->request_digest);
}

static enum err_code read_entry(const char *path, const json_t *object, struct arena *arena,
	struct transcript_entry *entry, struct err *reterr)
{
	int line = entry->line;
	if (strcmp(json_text_of(object, "schema"), schema) != 0)
		return err_set_at(reterr, ERR_INPUT, path, line, 0, "'schema' must be \"%s\"", schema);
	TRY(check_keys(path, line, object, reterr));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(object, members[i].key);
		if (!value && members[i].optional)
			continue;
		if (!read_member(&members[i], value, arena, entry))
			return err_set_at(reterr, ERR_INPUT, path, line, 0, "'%s' must be %s", members[i].key,
				members[i].wanted);
	}
	if (!*entry->proposer)
		return err_set_at(reterr, ERR_INPUT, path, line, 0, "'proposer' is empty");
	return check_request(path, entry, reterr);
}

static enum err_code read_line(const char *path, const char *text, size_t length, struct arena *arena,
	struct transcript_entry *entry, struct err *reterr)
{
	json_error_t fault;
	CLEANUP(json_decref_ptr) json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
	if (!object) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT; /* it quotes the text */
		strbuf_add_escaped(&shown, fault.text, strlen(fault.text));
		return err_set_at(reterr, ERR_INPUT, path, entry->line, MAX_OF(fault.column, 1),
			"not valid JSON: %s", shown.buf);
	}
	if (!json_is_object(object))
		return err_set_at(reterr, ERR_INPUT, path, entry->line, 0, "a line is one JSON object");
	return read_entry(path, object, arena, entry, reterr);
}

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r", text[i]) || !text[i])
			return false;
	return true;
}

enum err_code transcript_parse(const char *path, const char *bytes, size_t length, struct arena *arena,
	struct transcript *ret_transcript, struct err *reterr)
{
	const char *end = bytes + length;
	size_t n_lines = 1;
	for (const char *p = bytes; p < end; p++)
		n_lines += *p == '\n';
	struct transcript t = {.path = arena_strdup(arena, path),
		.entries = arena_array(arena, n_lines, sizeof(*t.entries))};
	int line = 0;
	for (const char *p = bytes; p < end;) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((line_end ? line_end : end) - p);
		struct transcript_entry *entry = &t.entries[t.n_entries];
		line++;
		if (!is_blank(p, n)) {
			entry->line = line;
			TRY(read_line(path, p, n, arena, entry, reterr));
			t.n_entries++;
		}
		p += n + (line_end != NULL);
	}
	*ret_transcript = t;
	return OK;
}

enum err_code transcript_load(
	const char *path, struct arena *arena, struct transcript *ret_transcript, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(path, TRANSCRIPT_CAP_BYTES, &text, reterr));
	return transcript_parse(path, text.buf, text.len, arena, ret_transcript, reterr);
}

/* The first part in which two requests differ; "" = none is known to. */
static const char *different_part(const char *recorded_json, const json_t *request, char part[64])
{
	part[0] = '\0';
	CLEANUP(json_decref_ptr) json_t *recorded = recorded_json ? json_loads(recorded_json, 0, NULL) : NULL;
	const json_t *sides[] = {recorded, request};
	for (size_t side = 0; recorded && side < ARRAY_LEN(sides) && !*part; side++) {
		const char *key;
		json_t *value;
		json_object_foreach((json_t *)sides[side], key, value)
		{
			if (json_equal(value, json_object_get(sides[!side], key)))
				continue;
			CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
			strbuf_add_escaped(&shown, key, strlen(key));
			snprintf(part, 64, "%s", shown.buf);
			break;
		}
	}
	return part;
}

enum err_code transcript_answer(const struct transcript *t, size_t index, const json_t *request,
	enum transcript_mode mode, const struct transcript_entry **ret_entry, struct err *reterr)
{
	char digest[SHA256_HEX_SIZE], part[64];
	if (index >= t->n_entries)
		return err_set_at(reterr, ERR_NOT_FOUND, t->path, 0, 0,
			"the transcript has %zu answer%s, and number %zu is asked for", t->n_entries,
			t->n_entries == 1 ? "" : "s", index + 1);
	const struct transcript_entry *entry = &t->entries[index];
	transcript_digest(request, digest);
	if (mode == TRANSCRIPT_STRICT && strcmp(digest, entry->request_digest) != 0) {
		different_part(entry->request_json, request, part);
		return err_set_at(reterr, ERR_INPUT, t->path, entry->line, 0,
			"this answer was given to another request (%.12s..., now %.12s...)%s%s%s",
			entry->request_digest, digest, *part ? ": '" : "", part, *part ? "' differs" : "");
	}
	*ret_entry = entry;
	return OK;
}

static enum err_code entry_text(const struct transcript_entry *entry, struct strbuf *line, struct err *reterr)
{
	json_t *object = json_object();
	json_object_set_new(object, "schema", json_string(schema));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct member *m = &members[i];
		const void *field = (const char *)entry + m->offset;
		const char *text = m->kind == MEMBER_NUMBER ? NULL : *(const char *const *)field;
		json_t *value = m->kind == MEMBER_NUMBER   ? json_from_number(*(const double *)field)
				: !text                    ? NULL
				: m->kind == MEMBER_OBJECT ? json_loads(text, JSON_REJECT_DUPLICATES, NULL)
							   : json_string(text);
		if (value)
			json_object_set_new(object, m->key, value);
	}
	CLEANUP(free_ptr) char *text = json_dump_take(object);
	strbuf_addf(line, "%s\n", text);
	/* What could not be read again is not written. */
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct transcript_entry again = {.line = 0};
	return read_line("entry", line->buf, line->len - 1, &arena, &again, reterr);
}

/* The end of a file that does not end with a line's end: a line without one, to be kept, or half a line. */
static enum err_code mend_end(int fd, const char *path, off_t *size, struct strbuf *line, struct err *reterr)
{
	char last = '\n';
	if (*size > 0 && pread(fd, &last, 1, *size - 1) != 1)
		return err_errno(reterr, "cannot read %s", path);
	if (last == '\n')
		return OK;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct transcript_entry entry = {.line = 0};
	TRY(file_read(path, TRANSCRIPT_CAP_BYTES, &text, reterr));
	const char *line_end = memrchr(text.buf, '\n', text.len);
	size_t begin = line_end ? (size_t)(line_end + 1 - text.buf) : 0;
	if (read_line(path, text.buf + begin, text.len - begin, &arena, &entry, NULL) == OK) {
		CLEANUP(strbuf_release) struct strbuf joined = STRBUF_INIT;
		strbuf_addf(&joined, "\n%s", line->buf);
		strbuf_clear(line);
		strbuf_addstr(line, joined.buf);
		return OK;
	}
	if (ftruncate(fd, (off_t)begin) != 0)
		return err_errno(reterr, "cannot mend %s", path);
	*size = (off_t)begin;
	return OK;
}

static enum err_code append_to(int fd, const char *path, struct strbuf *line, struct err *reterr)
{
	struct stat st;
	if (flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0)
		return err_errno(reterr, "cannot lock %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set_at(reterr, ERR_INPUT, path, 0, 0, "not a regular file");
	off_t size = st.st_size;
	TRY(mend_end(fd, path, &size, line, reterr));
	if ((size_t)size + line->len > TRANSCRIPT_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, path, 0, 0, "the transcript would be larger than %d MiB",
			TRANSCRIPT_CAP_BYTES >> 20);
	enum err_code code = write_all(fd, line->buf, line->len, reterr);
	if (code == OK && fdatasync(fd) != 0)
		code = err_errno(reterr, "cannot sync %s", path);
	if (code != OK) {
		(void)!ftruncate(fd, size); /* half a line would be an error to every reader */
		return err_prefix(reterr, code, "%s", path);
	}
	return OK;
}

enum err_code transcript_append(const char *path, const struct transcript_entry *entry, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	TRY(entry_text(entry, &line, reterr));
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		return append_to(fd, path, &line, reterr);
	if (errno != ENOENT)
		return err_errno(reterr, "cannot write %s", path);
	return file_write_atomic(path, line.buf, line.len, 0644, reterr);
}
