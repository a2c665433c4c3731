/*
 * Edits: a list of {file, old, new}. `old` has to occur exactly once in the file as the edits before it left
 * it, byte for byte; an empty `old` makes a new file. JSON, either the list alone or an object with it:
 *
 *     {"title": "...", "mechanism": "...", "phases": ["forward"], "predicted": "5%", "base": ["01-name"],
 *      "edits": [{"file": "model.c", "old": "x * 2", "new": "x + x"}]}
 */
#ifndef INFRARSI_PATCH_EDITS_H
#define INFRARSI_PATCH_EDITS_H

#include "base/base.h"
#include "patch/header.h"

struct strbuf;
struct old_file;

struct edit {
	size_t index; /* in the list */
	const char *file, *old, *new;
	size_t old_length, new_length;
};

struct edit_list {
	struct edit *items;
	size_t count;
	struct patch_header header;
};

enum { EDITS_CAP_BYTES = 1 << 20, EDITS_CAP = 1000 };

/* `name` is what messages call the list. ERR_INPUT with line and column, or with the path in the document
 * such as edits[2].old. Strings live in `arena`. */
enum err_code edits_parse(const char *name, const char *text, size_t length, struct arena *arena,
	struct edit_list *ret_list, struct err *reterr) MUST_CHECK;

/* One edit. ERR_INPUT names the closest place where `old` does not occur, and all places where it occurs more
 * than once. */
enum err_code edits_apply_one(const char *name, const struct edit *edit, const struct old_file *file,
	struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

#endif
