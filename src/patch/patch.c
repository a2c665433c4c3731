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
	size_t work_left = LOOSE_WORK_CAP;
	for (size_t i = 0; i < diff->n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		const struct diff_file *file = &diff->files[i];
		struct changed_file *changed;
		size_t n_before = c->n_files;
		const char *path;
		TRY(real_path(c, file, &path, reterr));
		TRY(change_open(c, path, file->place, &changed, reterr));
		if (c->n_files == n_before)
			return change_refuse(c->name, file->place, path,
				"this file appears twice in the diff, under two names: put its hunks under "
				"one "
				"header",
				reterr);
		TRY(loose_diff_apply(c->name, file, &changed->old, &work_left, c->arena, &text, reterr));
		change_set_take(changed, file->deleted ? NULL : &text);
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
		change_set_take(file, &text);
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

static bool has_file(const struct diff *diff, const char *path)
{
	for (size_t i = 0; i < diff->n_files; i++)
		if (strcmp(diff->files[i].path, path) == 0)
			return true;
	return false;
}

/* git's diff shows each file that the patch changes, under the name that was looked at, and no other. */
static enum err_code check_kept(const struct change *c, const struct diff *step, struct err *reterr)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_files; i++) {
		const struct changed_file *file = &c->files[i];
		if (!changed_file_differs(file))
			continue;
		n++;
		if (!has_file(step, file->path))
			return change_refuse(c->name, file->place, file->path,
				"git does not keep this change: it takes the name for something else, or "
				"another "
				"file of the patch is in its way",
				reterr);
	}
	if (n != step->n_files)
		return err_set_at(reterr, ERR_INPUT, c->name, 0, 0,
			"the patch changes %zu files, but git's diff of it shows %zu", n, step->n_files);
	return OK;
}

/* Counted against the parent: lines that came with the base are none of this step. */
static enum err_code check_size(
	const struct change *c, const char *tree, size_t *ret_lines, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct diff step = {0};
	size_t added = 0, removed = 0, most = (size_t)c->task->patches.max_lines;
	TRY(scratch_diff(c->scratch, c->tree, tree, &text, reterr));
	if (text.len)
		TRY(diff_parse(c->name, text.buf, text.len, &arena, &step, reterr));
	TRY(check_kept(c, &step, reterr));
	if (!text.len)
		return err_set_at(reterr, ERR_INPUT, c->name, c->n_files ? c->files[0].place : 0, 0,
			"the patch changes nothing in the snapshot");
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
	for (size_t i = 0; i < parsed.n_files; i++) {
		const char *reason = guard_path(&c->task->contract, parsed.files[i].path);
		if (reason)
			return change_refuse(c->name, 0, parsed.files[i].path, reason, reterr);
		patch->files[i] = parsed.files[i].path;
	}
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

static enum err_code tree_as_patch(const struct scratch *s, const char *tree, struct arena *arena,
	struct stack_patch *ret_patch, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	*ret_patch = (struct stack_patch){.n_files = 0};
	TRY(scratch_diff(s, s->base_tree, tree, &diff, reterr));
	return diff.len ? stack_patch_parse("the base", diff.buf, arena, ret_patch, reterr) : OK;
}

/* Whether the change, written for the snapshot, makes every change that leads to the parent. */
static enum err_code repeats_base(
	const struct patch_site *site, const struct change *whole, bool *ret_repeats, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct stack_patch base, patch;
	char tree[TREE_ID_SIZE];
	TRY(change_write(whole, tree, reterr));
	TRY(tree_as_patch(site->scratch, site->parent, &arena, &base, reterr));
	TRY(tree_as_patch(site->scratch, tree, &arena, &patch, reterr));
	*ret_repeats = stack_contains(&patch, &base);
	return OK;
}

/* What has been read from the snapshot, as a change of the parent. */
static enum err_code move_to_parent(
	const struct patch_site *site, struct change *whole, struct change *ret_change, struct err *reterr)
{
	CLEANUP(change_release)
	struct change moved = {.task = site->task,
		.scratch = site->scratch,
		.tree = site->parent,
		.name = whole->name,
		.arena = whole->arena};
	for (size_t i = 0; i < whole->n_files; i++) {
		struct changed_file *from = &whole->files[i], *file;
		TRY(change_open(&moved, from->path, from->place, &file, reterr));
		file->now = from->now;
		file->own = take_ptr(from->own);
	}
	*ret_change = moved;
	moved = (struct change){0};
	return OK;
}

/* A diff of the whole change does not fit on top of its base: it repeats the base's lines. It is taken where
 * it repeats all of them; `why` says why it does not fit there, and then why it is refused. */
static enum err_code read_whole(const struct patch_site *site, const struct patch_draft *draft,
	struct arena *arena, struct change *ret_change, struct err *why)
{
	CLEANUP(change_release) struct change whole = {0};
	struct err ignored = ERR_INIT;
	bool repeats = false;
	enum err_code code = draft_on_tree(site, site->scratch->base_tree, draft, arena, &whole, &ignored);
	if (code == ERR_INPUT || code == ERR_LIMIT)
		return err_prefix(why, ERR_INPUT, "on top of its base");
	if (code == OK)
		code = repeats_base(site, &whole, &repeats, &ignored);
	if (code != OK) {
		*why = ignored;
		return code;
	}
	if (!repeats)
		return err_prefix(why, ERR_INPUT,
			"it fits only without its base, whose changes it does not repeat; on top of its "
			"base");
	return move_to_parent(site, &whole, ret_change, why);
}

enum err_code patch_from_draft(const struct patch_site *site, const struct patch_draft *draft,
	struct arena *arena, struct patch *ret_patch, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(change_release) struct change change = {0};
	struct err why = ERR_INIT;
	enum err_code code = draft_on_tree(site, site->parent, draft, arena, &change, &why);
	if (code == ERR_INPUT && strcmp(site->parent, site->scratch->base_tree) != 0)
		code = read_whole(site, draft, arena, &change, &why);
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

void patch_copy(const struct patch *from, struct arena *arena, struct patch *ret_patch)
{
	struct patch p = *from;
	p.name = arena_strdup(arena, from->name);
	p.source = arena_strdup(arena, from->source);
	p.title = arena_strdup(arena, from->title);
	p.mechanism = arena_strdup(arena, from->mechanism);
	p.diff = arena_strdup(arena, from->diff);
	p.phases = arena_array(arena, from->n_phases, sizeof(*p.phases));
	for (size_t i = 0; i < from->n_phases; i++)
		p.phases[i] = arena_strdup(arena, from->phases[i]);
	p.files = arena_array(arena, from->n_files, sizeof(*p.files));
	for (size_t i = 0; i < from->n_files; i++)
		p.files[i] = arena_strdup(arena, from->files[i]);
	*ret_patch = p;
}

enum err_code patch_parse(const struct task *task, const char *commit, const char *prefix,
	const struct patch_text *text, const struct patch_base *base, struct arena *arena,
	struct patch *ret_patch, struct err *reterr)
{
	CLEANUP(scratch_close) struct scratch scratch = {0};
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	struct patch_draft draft;
	struct patch patch;
	char parent[TREE_ID_SIZE], tree[TREE_ID_SIZE];
	TRY(patch_draft_parse(text, &work, &draft, reterr));
	TRY(scratch_open(task->root, commit, prefix, &scratch, reterr));
	memcpy(parent, scratch.base_tree, TREE_ID_SIZE);
	if (base && base->count)
		TRY(base_tree(&scratch, base, parent, reterr));
	const struct patch_site site = {task, &scratch, parent};
	TRY(patch_from_draft(&site, &draft, &work, &patch, tree, reterr));
	patch_copy(&patch, arena, ret_patch);
	return OK;
}
