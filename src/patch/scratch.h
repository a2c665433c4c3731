/*
 * A scratch index and object folder over a repository: patches are applied there, so that neither the user's
 * files nor index nor object store change.
 *
 *     struct scratch scratch;
 *     TRY(scratch_open(root, commit, prefix, &scratch, reterr));
 *     TRY(scratch_write(&scratch, scratch.base_tree, files, n_files, tree, reterr));
 *     scratch_close(&scratch);
 */
#ifndef INFRARSI_PATCH_SCRATCH_H
#define INFRARSI_PATCH_SCRATCH_H

#include "base/base.h"

struct strbuf;

enum { TREE_ID_SIZE = 65 };

struct scratch {
	char *dir;          /* temporary; removed by scratch_close() */
	char **env;         /* complete environment for git, NULL-terminated */
	const char *prefix; /* borrowed: the task's folder in the repository, "" = its root */
	char base_tree[TREE_ID_SIZE];
};

enum err_code scratch_open(const char *root, const char *commit, const char *prefix,
	struct scratch *ret_scratch, struct err *reterr) MUST_CHECK;
void scratch_close(struct scratch *s);

struct scratch_file {
	const char *path; /* relative to the task's folder */
	const char *text; /* NULL = the file goes */
	size_t length;
};
/* The tree with these files put into it; a file that was there keeps its mode. git leaves out what it does
 * not take without a word: look at scratch_diff(). */
enum err_code scratch_write(const struct scratch *s, const char *tree, const struct scratch_file *files,
	size_t n_files, char ret_tree[TREE_ID_SIZE], struct err *reterr) MUST_CHECK;

/* What stands in the tree where a path leads: the file itself, or what is in the way of it. */
enum scratch_kind {
	SCRATCH_NOTHING,     /* no such file, and nothing hinders making one */
	SCRATCH_FILE,        /* an ordinary file */
	SCRATCH_FOLDER,      /* the path is a folder */
	SCRATCH_LINK,        /* it, or a folder on the way, is a symbolic link */
	SCRATCH_SUBMODULE,   /* the same, a submodule */
	SCRATCH_FILE_ON_WAY, /* a folder on the way is a file */
};
enum err_code scratch_kind_of(const struct scratch *s, const char *tree, const char *path,
	enum scratch_kind *ret_kind, struct err *reterr) MUST_CHECK;

/* git's diff between two trees, paths relative to the task's folder, without lines that depend on anything
 * but the change (object names, section headings). */
enum err_code scratch_diff(const struct scratch *s, const char *old_tree, const char *new_tree,
	struct strbuf *ret_diff, struct err *reterr) MUST_CHECK;

/* Modes and kinds of change of everything that differs; ERR_INPUT for anything but contents of ordinary
 * files. */
enum err_code scratch_check_kinds(
	const struct scratch *s, const char *old_tree, const char *new_tree, struct err *reterr) MUST_CHECK;

/* A file's bytes; `path` is relative to the task's folder. ERR_NOT_FOUND when the tree has no such file. */
enum err_code scratch_read(const struct scratch *s, const char *tree, const char *path,
	struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

/* The prefix as it stands before paths: "" or "folder/". */
const char *scratch_slash(const struct scratch *s);

/* git in the scratch folder; the words (NULL-terminated) begin after the options. Output may be NULL. */
enum err_code scratch_git(const struct scratch *s, const char *const *words, const char *input, size_t length,
	struct strbuf *ret_output, struct err *reterr) MUST_CHECK;

#endif
