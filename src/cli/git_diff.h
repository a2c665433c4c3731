/*
 * What `git diff` writes beyond changed lines (renames, modes, binary files, quoted names, other prefixes
 * than a/ b/), put into the plain form that the audit reads. A patch for a campaign may have none of it; here
 * a person asks what a change does, and a rename is then the old file removed and the new one added.
 */
#ifndef INFRARSI_CLI_GIT_DIFF_H
#define INFRARSI_CLI_GIT_DIFF_H

#include "audit/audit.h"
#include "base/base.h"
#include "base/memory.h"

struct strbuf;

/* A change that is no text: for a person to look at. */
struct git_note {
	const char *path, *what;
};
struct git_notes {
	struct git_note *items;
	size_t count, room;
};
void git_notes_clear(struct git_notes *notes);

/* Other text than git's is handed on as it is. Strings of the notes live in `arena`. ERR_INPUT, with the
 * line, for a rename whose old file does not fit the diff. */
enum err_code git_diff_plain(const char *name, const char *text, size_t length, audit_read_fn read_old,
	void *context, struct arena *arena, struct strbuf *ret_plain, struct git_notes *ret_notes,
	struct err *reterr) MUST_CHECK;

/* Whether every file of a (plain) diff is already as it would be afterwards. */
bool diff_is_applied(const char *text, size_t length, audit_read_fn read_now, void *context);

#endif
