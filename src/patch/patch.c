#include "base/base.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/change.h"
#include "patch/diff.h"
#include "patch/guard.h"
#include "patch/loose_diff.h"
#include "patch/patch.h"
#include "patch/patch_int.h"
#include "patch/stack.h"
#include "patch/syntax.h"
#include "spec/task.h"

enum err_code patch_draft_parse(
	const struct patch_text *text, struct arena *arena, struct patch_draft *ret_draft, struct err *reterr)
{
	static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark, which some editors write */
	struct patch_draft draft = {.name = arena_strdup(arena, text->name), .format = text->format};
	bool is_marked = text->length >= 3 && memcmp(text->text, mark, 3) == 0;
	const char *begin = text->text + (is_marked ? 3 : 0);
	size_t length = text->length - (is_marked ? 3 : 0);
	if (length && memchr(begin, '\0', length))
		return err_set_at(reterr, ERR_INPUT, text->name, 0, 0, "NUL bytes: a patch is text");
	if (text->format == PATCH_EDITS) {
		TRY(edits_parse(draft.name, begin, length, arena, &draft.edits, reterr));
		draft.header = draft.edits.header;
	} else {
		TRY(diff_parse_loose(draft.name, begin, length, arena, &draft.diff, reterr));
		TRY(header_read(
			&draft.header, begin, length, draft.diff.first_place, draft.name, arena, reterr));
	}
	*ret_draft = draft;
	return OK;
}

/* ---- a draft's files ---- */

/* The path as written, unless there is no such file and there is one without a prefix that stands on both
 * sides. */
static enum err_code real_path(
	const struct change *c, const struct diff_file *file, const char **ret_path, struct err *reterr)
{
	const char *path = file->path;
	enum scratch_kind kind;
	*ret_path = path;
	if (file->created || (strncmp(path, "a/", 2) != 0 && strncmp(path, "b/", 2) != 0) ||
		guard_path(&c->task->contract, path + 2))
		return OK;
	TRY(scratch_kind_of(c->scratch, c->tree, path, &kind, reterr));
	if (kind != SCRATCH_NOTHING)
		return OK;
	TRY(scratch_kind_of(c->scratch, c->tree, path + 2, &kind, reterr));
	if (kind == SCRATCH_FILE)
		*ret_path = path + 2;
	return OK;
}

static enum err_code read_diff(struct change *c, const struct diff *diff, struct err *reterr)
{
	for (size_t i = 0; i < diff->n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		const struct diff_file *file = &diff->files[i];
		struct changed_file *changed;
		const char *path;
		TRY(real_path(c, file, &path, reterr));
		TRY(change_open(c, path, file->place, &changed, reterr));
		TRY(loose_diff_apply(c->name, file, &changed->old, c->arena, &text, reterr));
		change_set(c, changed, file->deleted ? NULL : text.buf, text.len);
	}
	return OK;
}

static enum err_code read_edits(struct change *c, const struct edit_list *edits, struct err *reterr)
{
	for (size_t i = 0; i < edits->count; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		const struct edit *edit = &edits->items[i];
		struct changed_file *file;
		enum err_code code = change_open(c, edit->file, 0, &file, reterr);
		if (code != OK)
			return err_prefix(reterr, code, "edits[%zu]", i);
		TRY(edits_apply_one(c->name, edit, &file->now, &text, reterr));
		change_set(c, file, text.buf, text.len);
	}
	return OK;
}

/* ---- what has to hold of the change ---- */

static enum err_code count_errors(const char *path, const struct old_file *file, enum language language,
	size_t *ret_count, struct err *reterr)
{
	CLEANUP(syntax_free) TSTree *tree = NULL;
	*ret_count = 0;
	if (!file->exists)
		return OK;
	TRY(syntax_parse(language, path, file->text, file->length, &tree, reterr));
	*ret_count = syntax_error_count(tree);
	return OK;
}

static enum err_code check_syntax(const struct change *c, struct err *reterr)
{
	for (size_t i = 0; i < c->n_files; i++) {
		const struct changed_file *file = &c->files[i];
		enum language language = syntax_language(file->path);
		size_t before, after;
		if (language == LANGUAGE_NONE || !file->now.exists)
			continue;
		TRY(count_errors(file->path, &file->old, language, &before, reterr));
		TRY(count_errors(file->path, &file->now, language, &after, reterr));
		if (after > before)
			return change_refuse(c->name, file->place, file->path,
				"the changed file has more syntax errors than before", reterr);
	}
	return OK;
}

/* Counted against the parent: lines that came with the base are none of this step. */
static enum err_code check_size(
	const struct change *c, const char *tree, size_t *ret_lines, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct diff step;
	size_t added = 0, removed = 0, most = (size_t)c->task->patches.max_lines;
	TRY(scratch_diff(c->scratch, c->tree, tree, &text, reterr));
	if (!text.len)
		return err_set_at(reterr, ERR_INPUT, c->name, c->n_files ? c->files[0].place : 0, 0,
			"the patch changes nothing in the snapshot");
	TRY(diff_parse(c->name, text.buf, text.len, &arena, &step, reterr));
	for (size_t f = 0; f < step.n_files; f++)
		for (size_t h = 0; h < step.files[f].n_hunks; h++)
			for (size_t i = 0; i < step.files[f].hunks[h].n_lines; i++) {
				added += step.files[f].hunks[h].lines[i].kind == '+';
				removed += step.files[f].hunks[h].lines[i].kind == '-';
			}
	if (most && added + removed > most)
		return err_set_at(reterr, ERR_LIMIT, c->name, 0, 0,
			"the patch changes %zu lines (%zu added, %zu removed), more than the %zu allowed in "
			"one step (patches.max_lines): make several of it, each with the one before as its "
			"base",
			added + removed, added, removed, most);
	*ret_lines = added + removed;
	return OK;
}

static enum err_code set_diff(
	const struct change *c, const char *tree, struct patch *patch, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct stack_patch parsed;
	TRY(scratch_diff(c->scratch, c->scratch->base_tree, tree, &text, reterr));
	if (!text.len)
		return err_set_at(reterr, ERR_INPUT, c->name, 0, 0,
			"the patch takes its base back and changes nothing else");
	if (text.len > DIFF_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, c->name, 0, 0,
			"the diff has %zu bytes, more than the %d allowed", text.len, DIFF_CAP_BYTES);
	patch->diff = arena_strndup(c->arena, text.buf, text.len);
	sha256_hex(text.buf, text.len, patch->digest);
	TRY(stack_patch_parse(c->name, patch->diff, c->arena, &parsed, reterr));
	patch->files = arena_array(c->arena, parsed.n_files, sizeof(*patch->files));
	patch->n_files = parsed.n_files;
	for (size_t i = 0; i < parsed.n_files; i++)
		patch->files[i] = parsed.files[i].path;
	return OK;
}

static enum err_code finish(const struct change *c, const struct patch_header *header,
	struct patch *ret_patch, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	struct patch patch = {.name = c->name,
		.source = c->name,
		.title = header->title,
		.mechanism = header->mechanism,
		.phases = header->phases,
		.n_phases = header->n_phases,
		.has_predicted = header->has_predicted,
		.predicted_gain_ln = header->predicted_gain_ln};
	char tree[TREE_ID_SIZE];
	TRY(change_write(c, tree, reterr));
	TRY(check_size(c, tree, &patch.step_lines, reterr));
	TRY(check_syntax(c, reterr));
	TRY(scratch_check_kinds(c->scratch, c->scratch->base_tree, tree, reterr));
	TRY(set_diff(c, tree, &patch, reterr));
	*ret_patch = patch;
	memcpy(ret_tree, tree, TREE_ID_SIZE);
	return OK;
}

static enum err_code draft_on_tree(const struct patch_site *site, const char *tree,
	const struct patch_draft *draft, struct arena *arena, struct change *change, struct err *reterr)
{
	*change = (struct change){.task = site->task,
		.scratch = site->scratch,
		.tree = tree,
		.name = draft->name,
		.arena = arena};
	enum err_code code = draft->format == PATCH_EDITS ? read_edits(change, &draft->edits, reterr)
							  : read_diff(change, &draft->diff, reterr);
	if (code != OK)
		change_release(change);
	return code;
}

/* A whole diff repeats the lines of its base: read from the snapshot, and moved on top of the base, which
 * leaves what the step adds. */
static enum err_code move_to_parent(const struct patch_site *site, const struct change *whole,
	struct change *ret_change, struct err *reterr)
{
	struct change moved = {.task = site->task,
		.scratch = site->scratch,
		.tree = site->parent,
		.name = whole->name,
		.arena = whole->arena};
	for (size_t i = 0; i < whole->n_files; i++) {
		const struct changed_file *from = &whole->files[i];
		struct changed_file *file;
		enum err_code code = change_open(&moved, from->path, from->place, &file, reterr);
		if (code != OK) {
			change_release(&moved);
			return code;
		}
		file->now = from->now;
	}
	*ret_change = moved;
	return OK;
}

enum err_code patch_from_draft(const struct patch_site *site, const struct patch_draft *draft,
	struct arena *arena, struct patch *ret_patch, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(change_release) struct change change = {0};
	struct err why = ERR_INIT, ignored = ERR_INIT;
	enum err_code code = draft_on_tree(site, site->parent, draft, arena, &change, &why);
	if (code == ERR_INPUT && strcmp(site->parent, site->scratch->base_tree) != 0) {
		CLEANUP(change_release) struct change whole = {0};
		if (draft_on_tree(site, site->scratch->base_tree, draft, arena, &whole, &ignored) == OK)
			code = move_to_parent(site, &whole, &change, &why);
	}
	if (code != OK) {
		if (reterr)
			*reterr = why;
		return code;
	}
	return finish(&change, &draft->header, ret_patch, ret_tree, reterr);
}

enum err_code patch_from_branch(const struct patch_site *site, const struct branch *branch,
	struct arena *arena, struct patch *ret_patch, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(change_release)
	struct change change = {.task = site->task,
		.scratch = site->scratch,
		.tree = site->parent,
		.name = branch->name,
		.arena = arena};
	TRY(branch_read(branch, &change, reterr));
	return finish(&change, &branch->header, ret_patch, ret_tree, reterr);
}

static enum err_code base_tree(const struct scratch *scratch, const struct patch_base *base,
	char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct stack_patch *patches = arena_array(&arena, base->count + 1, sizeof(*patches));
	for (size_t i = 0; i < base->count; i++)
		TRY(stack_patch_parse("base", base->diffs[i], &arena, &patches[i], reterr));
	return stack_tree(scratch, scratch->base_tree, patches, base->count, ret_tree, reterr);
}

enum err_code patch_parse(const struct task *task, const char *commit, const char *prefix,
	const struct patch_text *text, const struct patch_base *base, struct arena *arena,
	struct patch *ret_patch, struct err *reterr)
{
	CLEANUP(scratch_close) struct scratch scratch = {0};
	struct patch_draft draft;
	char parent[TREE_ID_SIZE], tree[TREE_ID_SIZE];
	TRY(patch_draft_parse(text, arena, &draft, reterr));
	TRY(scratch_open(task->root, commit, prefix, &scratch, reterr));
	memcpy(parent, scratch.base_tree, TREE_ID_SIZE);
	if (base && base->count)
		TRY(base_tree(&scratch, base, parent, reterr));
	const struct patch_site site = {task, &scratch, parent};
	return patch_from_draft(&site, &draft, arena, ret_patch, tree, reterr);
}
