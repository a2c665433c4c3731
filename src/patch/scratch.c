#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "patch/scratch.h"

extern char **environ;

const char *scratch_slash(const struct scratch *s)
{
	size_t length = strlen(s->prefix);
	return length && s->prefix[length - 1] != '/' ? "/" : "";
}

static void trim_end(struct strbuf *text)
{
	while (text->len && text->buf[text->len - 1] == '\n')
		text->buf[--text->len] = '\0';
}

/* What helpers get of the caller's environment, and what points git here. */
static void make_env(struct scratch *s, const char *git_dir, const char *objects)
{
	size_t n = 0, room = 0;
	grow_array(&s->env, &room, 8, sizeof(*s->env));
	s->env[n++] = xasprintf("GIT_DIR=%s", git_dir);
	s->env[n++] = xasprintf("GIT_WORK_TREE=%s", s->dir);
	s->env[n++] = xasprintf("GIT_INDEX_FILE=%s/index", s->dir);
	s->env[n++] = xasprintf("GIT_OBJECT_DIRECTORY=%s/objects", s->dir);
	s->env[n++] = xasprintf("GIT_ALTERNATE_OBJECT_DIRECTORIES=%s", objects);
	s->env[n++] = xstrdup("GIT_ATTR_NOSYSTEM=1");
	s->env[n++] = xstrdup("GIT_LITERAL_PATHSPECS=1"); /* a path is no pattern, whatever it looks like */
	s->env[n++] = xstrdup("LC_ALL=C");
	for (char **e = environ; *e; e++) {
		if (!is_helper_variable(*e) || strncmp(*e, "LC_ALL=", 7) == 0)
			continue;
		grow_array(&s->env, &room, n + 2, sizeof(*s->env));
		s->env[n++] = xstrdup(*e);
	}
	s->env[n] = NULL;
}

/* What a patch is known by must not depend on anybody's settings: all that change what git reads, keeps and
 * prints here, to git's own defaults, and what would run programs or write into the repository off. Options
 * of a command (scratch_diff()) override these. */
static const char *const settings[] = {"core.hooksPath=/dev/null", "core.fsmonitor=", "core.autocrlf=false",
	"core.safecrlf=false", "core.quotePath=false", "core.attributesFile=/dev/null",
	"core.whitespace=", "core.ignoreCase=false", "core.precomposeUnicode=false", "core.protectHFS=true",
	"core.protectNTFS=true", "core.bigFileThreshold=512m", "core.splitIndex=false",
	"core.sparseCheckout=false", "index.sparse=false", "core.untrackedCache=false",
	"diff.algorithm=myers", "diff.context=3", "diff.interHunkContext=0", "diff.indentHeuristic=true",
	"diff.suppressBlankEmpty=false", "diff.noprefix=false", "diff.mnemonicPrefix=false",
	"diff.srcPrefix=a/", "diff.dstPrefix=b/", "diff.relative=false",
	"diff.orderFile=", "diff.renames=false", "diff.renameLimit=1000", "diff.ignoreSubmodules=none",
	"diff.submodule=short", "diff.wsErrorHighlight=none", "color.ui=false", "log.showSignature=false",
	"submodule.recurse=false"};

enum err_code scratch_git(const struct scratch *s, const char *const *words, const char *input, size_t length,
	struct strbuf *ret_output, struct err *reterr)
{
	const char *argv[2 * ARRAY_LEN(settings) + 40];
	size_t n = 0;
	argv[n++] = "git";
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		argv[n++] = "-c";
		argv[n++] = settings[i];
	}
	for (; *words && n + 1 < ARRAY_LEN(argv); words++)
		argv[n++] = *words;
	argv[n] = NULL;
	return git_run_argv(s->dir, argv, (const char *const *)s->env, input, length, ret_output, reterr);
}

#define GIT(s, output, reterr, ...)                                                                          \
	scratch_git(s, (const char *const[]){__VA_ARGS__, NULL}, NULL, 0, output, reterr)

static enum err_code make_dir(struct scratch *s, struct err *reterr)
{
	const char *tmp = getenv("TMPDIR");
	s->dir = xasprintf("%s/infrarsi-patch-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
	if (!mkdtemp(s->dir)) {
		enum err_code code = err_errno(reterr, "cannot create %s", s->dir);
		free(take_ptr(s->dir));
		return code;
	}
	CLEANUP(free_ptr) char *objects = xasprintf("%s/objects", s->dir);
	return make_dirs(objects, 0700, reterr);
}

static enum err_code scratch_setup(
	struct scratch *s, const char *root, const char *commit, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf git_dir = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf objects = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf tree = STRBUF_INIT;
	TRY(git_run(root, &git_dir, reterr, "rev-parse", "--absolute-git-dir", NULL));
	TRY(git_run(root, &objects, reterr, "rev-parse", "--path-format=absolute", "--git-path", "objects",
		NULL));
	trim_end(&git_dir);
	trim_end(&objects);
	TRY(make_dir(s, reterr));
	make_env(s, git_dir.buf, objects.buf);
	CLEANUP(free_ptr) char *name = xasprintf("%s^{tree}", commit);
	TRY(GIT(s, &tree, reterr, "rev-parse", "--verify", "--end-of-options", name));
	trim_end(&tree);
	snprintf(s->base_tree, sizeof(s->base_tree), "%s", tree.buf);
	return OK;
}

enum err_code scratch_open(const char *root, const char *commit, const char *prefix,
	struct scratch *ret_scratch, struct err *reterr)
{
	struct scratch s = {.prefix = prefix ? prefix : ""};
	enum err_code code = scratch_setup(&s, root, commit, reterr);
	if (code != OK) {
		scratch_close(&s);
		return code;
	}
	*ret_scratch = s;
	return OK;
}

void scratch_close(struct scratch *s)
{
	if (s->dir)
		(void)!remove_tree(s->dir, NULL);
	for (size_t i = 0; s->env && s->env[i]; i++)
		free(s->env[i]);
	free(s->env);
	free(s->dir);
	*s = (struct scratch){0};
}

/* ---- files put into a tree ---- */

static enum err_code write_blob(
	const struct scratch *s, const struct scratch_file *file, struct strbuf *ret_id, struct err *reterr)
{
	static const char *const words[] = {"hash-object", "-w", "--no-filters", "--stdin", NULL};
	TRY(scratch_git(s, words, file->text, file->length, ret_id, reterr));
	trim_end(ret_id);
	return OK;
}

/* What the tree has at a path from the repository's root; empty = nothing. That git cannot look there is the
 * path's fault. */
static enum err_code list_path(const struct scratch *s, const char *tree, const char *full_path,
	struct strbuf *ret_entry, struct err *reterr)
{
	enum err_code code = GIT(s, ret_entry, reterr, "ls-tree", "-z", "--full-tree", tree, "--", full_path);
	return code == ERR_FAILED ? err_prefix(reterr, ERR_INPUT, "git does not take this path") : code;
}

static enum err_code mode_of(const struct scratch *s, const char *tree, const char *full_path,
	char ret_mode[8], struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	TRY(list_path(s, tree, full_path, &output, reterr));
	if (sscanf(output.buf, "%7[0-7] ", ret_mode) != 1)
		strcpy(ret_mode, "100644");
	return OK;
}

enum err_code scratch_write(const struct scratch *s, const char *tree, const struct scratch_file *files,
	size_t n_files, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	static const char *const update[] = {"update-index", "-z", "--index-info", NULL};
	CLEANUP(strbuf_release) struct strbuf entries = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	for (size_t i = 0; i < n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf id = STRBUF_INIT;
		CLEANUP(free_ptr)
		char *path = xasprintf("%s%s%s", s->prefix, scratch_slash(s), files[i].path);
		char mode[8] = "0";
		if (files[i].text) {
			TRY(mode_of(s, tree, path, mode, reterr));
			TRY(write_blob(s, &files[i], &id, reterr));
		}
		/* what is removed is named by the id of nothing, in the tree's own hash */
		strbuf_addf(&entries, "%s %.*s%s\t%s", mode, files[i].text ? 0 : (int)strlen(s->base_tree),
			"0000000000000000000000000000000000000000000000000000000000000000", id.buf, path);
		strbuf_addch(&entries, '\0');
	}
	TRY(GIT(s, NULL, reterr, "read-tree", tree));
	TRY(scratch_git(s, update, entries.buf, entries.len, NULL, reterr));
	TRY(GIT(s, &output, reterr, "write-tree"));
	trim_end(&output);
	snprintf(ret_tree, TREE_ID_SIZE, "%s", output.buf);
	return OK;
}

static enum scratch_kind kind_of_mode(const char *mode, bool is_whole)
{
	if (strncmp(mode, "120000", 6) == 0)
		return SCRATCH_LINK;
	if (strncmp(mode, "160000", 6) == 0)
		return SCRATCH_SUBMODULE;
	if (strncmp(mode, "040000", 6) == 0)
		return is_whole ? SCRATCH_FOLDER : SCRATCH_NOTHING;
	return is_whole ? SCRATCH_FILE : SCRATCH_FILE_ON_WAY;
}

enum err_code scratch_kind_of(const struct scratch *s, const char *tree, const char *path,
	enum scratch_kind *ret_kind, struct err *reterr)
{
	CLEANUP(free_ptr) char *full = xasprintf("%s%s%s", s->prefix, scratch_slash(s), path);
	size_t length = strlen(s->prefix) + strlen(scratch_slash(s));
	for (;;) {
		CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
		length += strcspn(full + length, "/");
		bool is_whole = full[length] == '\0';
		CLEANUP(free_ptr) char *part = xasprintf("%.*s", (int)length, full);
		TRY(list_path(s, tree, part, &output, reterr));
		*ret_kind = output.len ? kind_of_mode(output.buf, is_whole) : SCRATCH_NOTHING;
		if (is_whole || !output.len || *ret_kind != SCRATCH_NOTHING)
			return OK;
		length++;
	}
}

/* ---- differences ---- */

/* Headers begin with a letter and never with ' ', '+', '-' or '\\', so a line's first word tells what it is.
 */
static void keep_change_only(const char *text, struct strbuf *kept)
{
	for (const char *line = text; *line;) {
		const char *stop = strchr(line, '\n');
		size_t length = stop ? (size_t)(stop - line) : strlen(line);
		const char *heading = NULL;
		if (length >= 3 && memcmp(line, "@@ ", 3) == 0)
			heading = memmem(line + 3, length - 3, " @@", 3);
		if (strncmp(line, "index ", 6) != 0) {
			strbuf_add(kept, line, heading ? (size_t)(heading + 3 - line) : length);
			strbuf_addch(kept, '\n');
		}
		line += length + (stop != NULL);
	}
}

enum err_code scratch_diff(const struct scratch *s, const char *old_tree, const char *new_tree,
	struct strbuf *ret_diff, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	CLEANUP(free_ptr) char *relative = xasprintf("--relative=%s%s", s->prefix, scratch_slash(s));
	TRY(GIT(s, &output, reterr, "diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv",
		"--text", "--no-renames", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers",
		"--indent-heuristic", "--ignore-submodules=none", "--submodule=short", "--src-prefix=a/",
		"--dst-prefix=b/", "--full-index", "-O/dev/null", s->prefix[0] ? relative : "--no-relative",
		old_tree, new_tree));
	if (memchr(output.buf, '\0', output.len))
		return err_set(
			reterr, ERR_INPUT, "the change contains NUL bytes: only text files can be patched");
	strbuf_clear(ret_diff);
	keep_change_only(output.buf, ret_diff);
	return OK;
}

enum err_code scratch_check_kinds(
	const struct scratch *s, const char *old_tree, const char *new_tree, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	TRY(GIT(s, &output, reterr, "diff-tree", "-r", "--raw", "--no-renames", "--ignore-submodules=none",
		old_tree, new_tree));
	for (const char *line = output.buf; *line;) {
		char old_mode[8] = "", new_mode[8] = "";
		const char *stop = strchr(line, '\n');
		const char *tab = strchr(line, '\t');
		if (!stop || !tab || sscanf(line, ":%7s %7s", old_mode, new_mode) != 2)
			return err_set(reterr, ERR_FAILED, "git diff-tree printed an unexpected line");
		bool created = strcmp(old_mode, "000000") == 0, deleted = strcmp(new_mode, "000000") == 0;
		bool ordinary = (created || strncmp(old_mode, "100", 3) == 0) &&
				(deleted || strncmp(new_mode, "100", 3) == 0);
		if (!ordinary || (!created && !deleted && strcmp(old_mode, new_mode) != 0))
			return err_set(reterr, ERR_INPUT,
				"%.*s: only the contents of ordinary files may change (mode %s to %s)",
				(int)MIN_OF(stop - tab - 1, 400), tab + 1, old_mode, new_mode);
		line = stop + 1;
	}
	return OK;
}

enum err_code scratch_read(const struct scratch *s, const char *tree, const char *path,
	struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(free_ptr) char *object = xasprintf("%s:%s%s%s", tree, s->prefix, scratch_slash(s), path);
	enum err_code code = GIT(s, ret_text, reterr, "cat-file", "blob", object);
	return code == ERR_FAILED ? err_set(reterr, ERR_NOT_FOUND, "%s does not exist in the snapshot", path)
				  : code;
}
