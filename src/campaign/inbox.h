/*
 * Suggestions from outside a running search: files in .infrarsi/inbox/, each an answer as a proposer would
 * give it (docs/proposers.md). Anybody may put one in at any time (infrarsi mcp does); only the owner of the
 * ledger takes them out, before a decision.
 *
 *     struct inbox box;
 *     TRY(inbox_list(c->dir, &arena, &box, reterr));
 *     for (size_t i = 0; i < box.n_refused; i++)
 *             say box.refused[i].name and .reason
 *     for (size_t i = 0; i < box.n_items; i++) {
 *             answer_parse(box.items[i].answer, ...), record it in the ledger
 *             TRY(inbox_done(c->dir, box.items[i].name, reterr));
 *     }
 *
 * A file that was recorded and not moved (a crash between the two) is listed again: what takes it must not
 * mind taking it twice. `dir` is that of .infrarsi everywhere. Nothing is ever deleted: what was taken lies
 * in inbox/taken/, what could not be read in inbox/refused/.
 */
#ifndef INFRARSI_CAMPAIGN_INBOX_H
#define INFRARSI_CAMPAIGN_INBOX_H

#include "base/base.h"

struct arena;

enum { INBOX_FILES = 1000, INBOX_FILE_BYTES = 1 << 20, INBOX_NAME_SIZE = 48, INBOX_PROPOSER_LENGTH = 64 };

struct inbox_item {
	const char *name;     /* of its file, without the folder; not looked at by inbox_put() */
	const char *proposer; /* "mcp": letters, digits, - and _ */
	bool measure;         /* its configurations run next, whatever their score */
	const char *answer;   /* JSON text of one object */
};

struct inbox_refusal {
	const char *name, *reason; /* what was expected; safe to show */
};

struct inbox {                    /* strings live in the arena */
	struct inbox_item *items; /* in the order in which they were put */
	size_t n_items;
	struct inbox_refusal *refused; /* moved to inbox/refused/ */
	size_t n_refused;
};

/* ERR_LIMIT: too large, or INBOX_FILES wait already. ERR_INPUT: the item is not one that inbox_list() would
 * read. On disk when it returns. */
enum err_code inbox_put(const char *dir, const struct inbox_item *item, char ret_name[INBOX_NAME_SIZE],
	struct err *reterr) MUST_CHECK;

/* At most INBOX_FILES, the oldest; the others wait for the next call. Files that do not end in .json are left
 * alone. No inbox is an empty one. */
enum err_code inbox_list(
	const char *dir, struct arena *arena, struct inbox *ret_inbox, struct err *reterr) MUST_CHECK;

/* Moves a listed file to inbox/taken/; one that is gone is fine. */
enum err_code inbox_done(const char *dir, const char *name, struct err *reterr) MUST_CHECK;

/* Moves a listed file to inbox/refused/: what it suggests cannot be used. */
enum err_code inbox_refuse(const char *dir, const char *name, struct err *reterr) MUST_CHECK;

/* How many files wait. */
size_t inbox_count(const char *dir);

#endif
