#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/branch.h"
#include "patch/stack.h"

#define GIT(s, output, reterr, ...)                                                                          \
	scratch_git(s, (const char *const[]){__VA_ARGS__, NULL}, NULL, 0, output, reterr)

static void first_line(const struct strbuf *output, char ret_id[TREE_ID_SIZE])
{
	snprintf(ret_id, TREE_ID_SIZE, "%.*s", (int)MIN_OF(strcspn(output->buf, "\n"), (size_t)64),
		output->buf);
}

/* ERR_FAILED is git's way to say that there is no such thing; other codes are troubles of the machine. */
static enum err_code resolve(const struct scratch *s, const char *folder, const char *name,
	char ret_id[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	CLEANUP(free_ptr) char *ref = xasprintf("%s/%s", folder, name);
	CLEANUP(free_ptr) char *commit = xasprintf("%s^{commit}", ref);
	TRY(GIT(s, NULL, reterr, "check-ref-format", ref));
	TRY(GIT(s, &output, reterr, "rev-parse", "--verify", "--quiet", "--end-of-options", commit));
	first_line(&output, ret_id);
	return OK;
}

static enum err_code refuse(const char *name, const char *reason, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, name, MIN_OF(strlen(name), (size_t)200));
	return err_set(reterr, ERR_INPUT, "branch %s: %s", shown.buf, reason);
}

static enum err_code read_message(
	const struct scratch *s, struct branch *b, struct arena *arena, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT;
	TRY(GIT(s, &message, reterr, "log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%B",
		b->tip));
	CLEANUP(free_ptr)
	char *subject = xasprintf("%.*s", (int)MIN_OF(strcspn(message.buf, "\n"), (size_t)200), message.buf);
	if (*subject)
		TRY(header_set(&b->header, "title", subject, b->name, 0, arena, reterr));
	return header_read_message(&b->header, message.buf, b->name, arena, reterr);
}

enum err_code branch_find(const struct scratch *s, const char *commit, const char *name, struct arena *arena,
	struct branch *ret_branch, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT;
	struct branch b = {.name = arena_strdup(arena, name)};
	struct err why = ERR_INIT;
	enum err_code code = resolve(s, "refs/heads", name, b.tip, &why);
	if (code == ERR_FAILED)
		code = resolve(s, "refs/remotes", name, b.tip, &why);
	if (code == ERR_FAILED)
		return refuse(name, "there is no such branch", reterr);
	if (code == OK)
		code = GIT(s, &base, &why, "merge-base", commit, b.tip);
	if (code == ERR_FAILED)
		return refuse(name, "it has no history in common with the task's commit", reterr);
	if (code != OK)
		return err_set(reterr, code, "%s", why.message);
	first_line(&base, b.base);
	TRY(read_message(s, &b, arena, reterr));
	*ret_branch = b;
	return OK;
}

enum err_code branch_contains(const struct scratch *s, const struct branch *later,
	const struct branch *earlier, bool *ret_contains, struct err *reterr)
{
	struct err why = ERR_INIT;
	enum err_code code = GIT(s, NULL, &why, "merge-base", "--is-ancestor", earlier->tip, later->tip);
	if (code != OK && code != ERR_FAILED)
		return err_set(reterr, code, "%s", why.message);
	*ret_contains = code == OK;
	return OK;
}

/* ---- what it changed ---- */

struct merging {
	const struct branch *branch;
	struct change *change;
	struct err *reterr;
};

/* The path relative to the task's folder. */
static enum err_code inside(const struct merging *m, const char *path, const char **ret_path)
{
	const struct scratch *s = m->change->scratch;
	CLEANUP(free_ptr) char *prefix = xasprintf("%s%s", s->prefix, scratch_slash(s));
	if (strncmp(path, prefix, strlen(prefix)) != 0)
		return change_refuse(
			m->change->name, 0, path, "the path leaves the task's folder", m->reterr);
	*ret_path = path + strlen(prefix);
	return OK;
}

static enum err_code check_entry(const struct merging *m, const char *meta, const char *path, const char *to)
{
	char old_mode[8] = "", new_mode[8] = "", status = 0;
	const char *name = m->change->name, *reason = NULL;
	if (sscanf(meta, ":%7s %7s %*s %*s %c", old_mode, new_mode, &status) != 3)
		return err_set(m->reterr, ERR_FAILED, "git diff-tree printed an unexpected line");
	bool created = strcmp(old_mode, "000000") == 0, deleted = strcmp(new_mode, "000000") == 0;
	const char *mode = deleted ? old_mode : new_mode;
	if (status == 'R' || status == 'C') {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addstr(&text, "renames and copies are not accepted (to ");
		strbuf_add_escaped(&text, to, MIN_OF(strlen(to), (size_t)300));
		strbuf_addch(&text, ')');
		return change_refuse(name, 0, path, text.buf, m->reterr);
	}
	if (strcmp(mode, "120000") == 0 || strcmp(old_mode, "120000") == 0)
		reason = "symbolic links are not accepted";
	else if (strcmp(mode, "160000") == 0 || strcmp(old_mode, "160000") == 0)
		reason = "submodules are not accepted";
	else if (created && strcmp(mode, "100644") != 0)
		reason = "only ordinary files (mode 100644) may be created";
	else if (!created && !deleted && strcmp(old_mode, new_mode) != 0)
		reason = "mode changes are not accepted";
	return reason ? change_refuse(name, 0, path, reason, m->reterr) : OK;
}

static enum err_code read_version(
	const struct merging *m, const char *tree, const char *path, struct strbuf *text, bool *ret_exists)
{
	enum err_code code = scratch_read(m->change->scratch, tree, path, text, m->reterr);
	*ret_exists = code == OK;
	return code == ERR_NOT_FOUND ? OK : code;
}

/* An empty file that comes or goes has no line in a diff, and so no place in a merge of diffs. */
static enum err_code check_lines(const struct merging *m, const struct changed_file *file)
{
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf tip = STRBUF_INIT;
	const struct change *c = m->change;
	const char *reason = NULL;
	bool was, is;
	TRY(read_version(m, m->branch->base, file->path, &base, &was));
	TRY(read_version(m, m->branch->tip, file->path, &tip, &is));
	if (is && memchr(tip.buf, '\0', tip.len))
		reason = "binary files are not accepted";
	else if (!was && is && !tip.len)
		reason =
			"a new file without a line, which a diff cannot show: give it one, such as a comment";
	else if (was && !is && !base.len)
		reason = "an empty file is deleted, which a diff cannot show: leave it";
	else if (was != file->old.exists && !(was ? base.len : file->old.length))
		reason = was ? "an empty file, which the reference has deleted"
			     : "the reference has a new, empty file of this name";
	return reason ? change_refuse(c->name, 0, file->path, reason, m->reterr) : OK;
}

static enum err_code open_entry(const struct merging *m, const char *path)
{
	struct changed_file *file;
	const char *relative = NULL;
	TRY(inside(m, path, &relative));
	TRY(change_open(m->change, relative, 0, &file, m->reterr));
	return check_lines(m, file);
}

static enum err_code open_all(const struct merging *m)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
	TRY(GIT(m->change->scratch, &list, m->reterr, "diff-tree", "-r", "-z", "--raw", "--full-index", "-M",
		"--ignore-submodules=none", m->branch->base, m->branch->tip));
	const char *end = list.buf + list.len;
	for (const char *at = list.buf; at < end;) {
		const char *meta = at, *path = meta + strlen(meta) + 1;
		if (path >= end)
			return err_set(m->reterr, ERR_FAILED, "git diff-tree printed an unexpected line");
		const char *space = strrchr(meta, ' ');
		bool has_two = space && (space[1] == 'R' || space[1] == 'C');
		const char *to = path + strlen(path) + 1;
		TRY(check_entry(m, meta, path, has_two && to < end ? to : ""));
		TRY(open_entry(m, path));
		at = to;
	}
	return OK;
}

/* The same files as they were at the merge base, against what they are in the tree that is to be patched. */
static enum err_code read_ours(const struct merging *m, struct arena *arena, struct stack_patch *ret_ours)
{
	const struct change *c = m->change;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	char tree[TREE_ID_SIZE];
	struct scratch_file *files = arena_array(arena, c->n_files + 1, sizeof(*files));
	for (size_t i = 0; i < c->n_files; i++)
		files[i] = (struct scratch_file){c->files[i].path,
			c->files[i].old.exists ? c->files[i].old.text : NULL, c->files[i].old.length};
	TRY(scratch_write(c->scratch, m->branch->base, files, c->n_files, tree, m->reterr));
	TRY(scratch_diff(c->scratch, m->branch->base, tree, &diff, m->reterr));
	*ret_ours = (struct stack_patch){.name = "the reference"};
	return diff.len ? stack_patch_parse("the reference", diff.buf, arena, ret_ours, m->reterr) : OK;
}

static const struct stack_file *find_file(const struct stack_patch *patch, const char *path)
{
	for (size_t i = 0; i < patch->n_files; i++)
		if (strcmp(patch->files[i].path, path) == 0)
			return &patch->files[i];
	return NULL;
}

static enum err_code merge_one(const struct merging *m, const struct stack_patch *ours,
	const struct stack_patch *theirs, struct changed_file *file)
{
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const struct stack_file *files[2];
	size_t n = 0;
	bool exists = true;
	if ((files[n] = find_file(ours, file->path)))
		n++;
	if (!(files[n++] = find_file(theirs, file->path)))
		return change_refuse(m->change->name, 0, file->path,
			"git's diff does not show what the branch does to this file", m->reterr);
	enum err_code code = scratch_read(m->change->scratch, m->branch->base, file->path, &base, m->reterr);
	if (code != OK && code != ERR_NOT_FOUND)
		return code;
	TRY(stack_merge_file(files, n, base.buf, base.len, &text, &exists, m->reterr));
	change_set_take(file, exists ? &text : NULL);
	return OK;
}

enum err_code branch_read(const struct branch *branch, struct change *change, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	const struct merging m = {branch, change, reterr};
	struct stack_patch ours, theirs;
	TRY(open_all(&m));
	TRY(scratch_diff(change->scratch, branch->base, branch->tip, &diff, reterr));
	if (!diff.len)
		return OK;
	TRY(stack_patch_parse(branch->name, diff.buf, change->arena, &theirs, reterr));
	TRY(read_ours(&m, change->arena, &ours));
	if (stack_conflict(&ours, &theirs, &reason))
		return err_set(reterr, ERR_INPUT, "%s: it does not merge into the reference: %s",
			change->name, reason.buf);
	for (size_t i = 0; i < change->n_files; i++)
		TRY(merge_one(&m, &ours, &theirs, &change->files[i]));
	return OK;
}
