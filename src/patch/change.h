/*
 * A change in the making: files of a tree, read once they may be touched, and what becomes of them. Readers
 * of diffs, edits and branches fill it; change_write() makes the tree.
 *
 *     struct change change = {.task = task, .scratch = scratch, .tree = tree, .name = name, .arena = arena};
 *     struct changed_file *file;
 *     TRY(change_open(&change, "model.c", line, &file, reterr));
 *     change_set_take(file, &text);
 */
#ifndef INFRARSI_PATCH_CHANGE_H
#define INFRARSI_PATCH_CHANGE_H

#include "base/base.h"
#include "patch/loose_diff.h"
#include "patch/scratch.h"

struct task;
struct strbuf;

enum { CHANGED_FILE_CAP_BYTES = 4 << 20 };

struct changed_file {
	const char *path;
	int place;           /* line of the patch that names it first; 0 = none */
	struct old_file old; /* in the tree */
	struct old_file now; /* as the patch has it so far: the old text or that of `own` */
	char *own;           /* by malloc; NULL = none */
};

struct change {
	const struct task *task;
	const struct scratch *scratch;
	const char *tree; /* that the patch is applied to */
	const char *name; /* what messages call the patch */
	struct arena *arena;
	struct changed_file *files;
	size_t n_files, room;
};
void change_release(struct change *c); /* for CLEANUP() */

/* The file with this path, read from the tree when it is opened first. ERR_INPUT, with the path and the line
 * of the patch, when no patch may touch it. The pointer lives until the next call. */
enum err_code change_open(struct change *c, const char *path, int place, struct changed_file **ret_file,
	struct err *reterr) MUST_CHECK;
/* Its new text, which becomes the change's; what it was before is freed. NULL = the file goes. */
void change_set_take(struct changed_file *file, struct strbuf *text);
/* True when the patch leaves the file other than it was. */
bool changed_file_differs(const struct changed_file *file);

/* The tree with the change in it. ERR_INPUT for files that are not text, ERR_LIMIT for too large ones. */
enum err_code change_write(
	const struct change *c, char ret_tree[TREE_ID_SIZE], struct err *reterr) MUST_CHECK;

/* ERR_INPUT: "<name>:<place>: <path, escaped>: <reason>". */
enum err_code change_refuse(
	const char *name, int place, const char *path, const char *reason, struct err *reterr);

#endif
