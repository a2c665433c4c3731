/*
 * Answers on record, so that a campaign can be run again without asking anybody: JSON lines, one an answer.
 * docs/proposers.md
 *
 *     transcript_digest(request, digest);
 *     TRY(transcript_append(path, &entry, reterr));
 *     ...
 *     TRY(transcript_load(path, &arena, &transcript, reterr));
 *     TRY(transcript_answer(&transcript, n, request, TRANSCRIPT_STRICT, &entry, reterr));
 *
 * A recorded line is on disk when transcript_append() returns. A request holds no secret and an answer has
 * its keys masked (chat.h, command.h) before it comes here.
 */
#ifndef INFRARSI_PROPOSE_TRANSCRIPT_H
#define INFRARSI_PROPOSE_TRANSCRIPT_H

#include <jansson.h>

#include "base/base.h"
#include "base/hash.h"

struct arena;

enum { TRANSCRIPT_CAP_BYTES = 64 << 20 };

struct transcript_entry {
	const char *proposer; /* its name in the task, not empty */
	const char *request_digest;
	const char *request_json; /* NULL = not recorded; else canonical, as it was digested */
	const char *answer;       /* UTF-8 */
	double tokens_in, tokens_out, usd, seconds;
	int line; /* in its file; set on reading */
};

struct transcript {
	const char *path;
	struct transcript_entry *entries; /* in the order in which they were given */
	size_t n_entries;
};

enum transcript_mode {
	TRANSCRIPT_STRICT, /* an answer only for the request that it was given to */
	TRANSCRIPT_LENIENT /* only the order counts */
};

void transcript_digest(const json_t *request, char ret_hex[SHA256_HEX_SIZE]);

/* Creates the file where there is none; mends a line that a crash cut. ERR_IO leaves the file as it was. */
enum err_code transcript_append(
	const char *path, const struct transcript_entry *entry, struct err *reterr) MUST_CHECK;

/* ERR_INPUT: the first line that is none, with its number. Everything lives in `arena`. */
enum err_code transcript_parse(const char *path, const char *bytes, size_t length, struct arena *arena,
	struct transcript *ret_transcript, struct err *reterr) MUST_CHECK;
enum err_code transcript_load(const char *path, struct arena *arena, struct transcript *ret_transcript,
	struct err *reterr) MUST_CHECK;

/* The index-th answer, from 0. ERR_NOT_FOUND where there is none left; ERR_INPUT, with the line, where strict
 * and it was given to another request. */
enum err_code transcript_answer(const struct transcript *t, size_t index, const json_t *request,
	enum transcript_mode mode, const struct transcript_entry **ret_entry, struct err *reterr) MUST_CHECK;

#endif
