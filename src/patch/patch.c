#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "patch/diff.h"
#include "patch/patch.h"
#include "patch/patch_int.h"
#include "patch/scratch.h"
#include "patch/syntax.h"
#include "spec/task.h"

/* One patch on its way from text to canonical diff. */
struct reading {
	const struct task *task;
	const struct scratch *scratch;
	const char *name;
	struct arena *arena;
	struct patch *patch;
	struct err *reterr;
};

static enum err_code refuse(const struct reading *r, int line, const char *path, const char *reason)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, path, MIN_OF(strlen(path), (size_t)300));
	return err_set_at(r->reterr, ERR_INPUT, r->name, line, 0, "%s: %s", shown.buf, reason);
}

/* ---- `# key: value` lines ---- */

static enum err_code read_title(struct reading *r, int line, const char *value)
{
	(void)line;
	r->patch->title = arena_strdup(r->arena, value);
	return OK;
}

static enum err_code read_mechanism(struct reading *r, int line, const char *value)
{
	if (strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(value))
		return err_set_at(r->reterr, ERR_INPUT, r->name, line, 0,
			"expected a mechanism id (lower-case letters, digits, _), got '%s'", value);
	r->patch->mechanism = arena_strdup(r->arena, value);
	return OK;
}

static enum err_code read_phases(struct reading *r, int line, const char *value)
{
	static const char *const known[] = {"forward", "backward", "optimizer", "data", "collective"};
	char *list = arena_strdup(r->arena, value), *rest = NULL;
	r->patch->phases = arena_array(r->arena, ARRAY_LEN(known), sizeof(*r->patch->phases));
	r->patch->n_phases = 0;
	for (char *word = strtok_r(list, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
		size_t k = 0, seen = 0;
		while (k < ARRAY_LEN(known) && strcmp(word, known[k]) != 0)
			k++;
		while (seen < r->patch->n_phases && strcmp(word, r->patch->phases[seen]) != 0)
			seen++;
		if (k == ARRAY_LEN(known))
			return err_set_at(r->reterr, ERR_INPUT, r->name, line, 0,
				"unknown phase '%s': expected forward, backward, optimizer, data or "
				"collective",
				word);
		if (seen == r->patch->n_phases)
			r->patch->phases[r->patch->n_phases++] = word;
	}
	return OK;
}

static enum err_code read_predicted(struct reading *r, int line, const char *value)
{
	double gain;
	if (!parse_fraction(value[0] == '+' ? value + 1 : value, &gain) || !(gain > -1 && gain <= 100))
		return err_set_at(r->reterr, ERR_INPUT, r->name, line, 0,
			"expected a predicted speed-up such as 5%%, got '%s'", value);
	r->patch->has_predicted = true;
	r->patch->predicted_gain_ln = log1p(gain);
	return OK;
}

static const struct {
	const char *key;
	enum err_code (*read)(struct reading *r, int line, const char *value);
} header_keys[] = {
	{"title", read_title},
	{"mechanism", read_mechanism},
	{"phases", read_phases},
	{"predicted", read_predicted},
};

/* A key that is not known but close to one is a slip of the pen; any other is a remark. */
static enum err_code read_header_line(struct reading *r, int line, char *text)
{
	char *colon = strchr(text, ':');
	const char *names[ARRAY_LEN(header_keys)];
	if (!colon)
		return OK;
	char *key = text + strspn(text, "# \t"), *value = colon + 1 + strspn(colon + 1, " \t");
	*colon = '\0';
	for (size_t i = 0; i < ARRAY_LEN(header_keys); i++) {
		names[i] = header_keys[i].key;
		if (strcasecmp(key, header_keys[i].key) != 0)
			continue;
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, value, MIN_OF(strlen(value), (size_t)200));
		return header_keys[i].read(r, line, shown.buf);
	}
	const char *meant = strlen(key) < 32 ? closest_name(key, names, ARRAY_LEN(names)) : NULL;
	if (meant)
		return err_set_at(r->reterr, ERR_INPUT, r->name, line, 0,
			"unknown key '%s' (did you mean '%s'?)", key, meant);
	return OK;
}

static enum err_code read_header(struct reading *r, const char *text, size_t length, int first_place)
{
	const char *at = text, *end = text + length;
	for (int line = 1; at < end && line < first_place; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		size_t width = (size_t)(stop - at);
		while (width && isspace((unsigned char)at[width - 1]))
			width--;
		if (width && at[0] == '#' && !memchr(at, '\0', width)) {
			CLEANUP(free_ptr) char *copy = xcalloc(width + 1, 1);
			memcpy(copy, at, width);
			TRY(read_header_line(r, line, copy));
		}
		at = stop < end ? stop + 1 : end;
	}
	return OK;
}

/* ---- which files may change ---- */

static bool has_component(const char *path, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (strncasecmp(at, name, length) == 0 && (at[length] == '/' || at[length] == '\0'))
			return true;
	return false;
}

static bool matches_any(const struct string_list *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (glob_match(patterns->items[i], path))
			return true;
	return false;
}

static bool is_harness_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return strcasecmp(base, "infrarsi.yaml") == 0 || strcasecmp(base, "infrarsi.lock") == 0 ||
	       strncasecmp(base, "infrarsi_hook", 13) == 0 || has_component(path, ".infrarsi");
}

static enum err_code check_path(const struct reading *r, const struct diff_file *file)
{
	const struct contract *contract = &r->task->contract;
	if (!path_is_contained(file->path))
		return refuse(r, file->place, file->path, "the path leaves the task's folder");
	if (has_component(file->path, ".git") || has_component(file->path, ".gitattributes") ||
		has_component(file->path, ".gitmodules"))
		return refuse(r, file->place, file->path, "git's own files may not be changed");
	if (is_harness_file(file->path))
		return refuse(r, file->place, file->path, "files of the harness may not be changed");
	if (matches_any(&contract->frozen_files, file->path))
		return refuse(r, file->place, file->path, "this file is frozen (contract.frozen_files)");
	if (!matches_any(&contract->editable_files, file->path))
		return refuse(r, file->place, file->path,
			"this file is not editable: contract.editable_files has no pattern that matches it");
	return OK;
}

/* ---- apply, with a message that leads to the hunk ---- */

/* git says "patch failed: <path>:<line>", the line being the hunk's old start. */
static enum err_code explain_apply(
	const struct reading *r, const struct diff *diff, enum err_code code, const struct err *failure)
{
	const char *failed = strstr(failure->message, "patch failed: ");
	for (size_t f = 0; failed && f < diff->n_files; f++) {
		const struct diff_file *file = &diff->files[f];
		const char *found = strstr(failed, file->path);
		const char *colon = found ? found + strlen(file->path) : "";
		if (*colon != ':')
			continue;
		int line = atoi(colon + 1);
		for (size_t h = 0; h < file->n_hunks; h++)
			if (file->hunks[h].old_start == line)
				return err_set_at(r->reterr, ERR_INPUT, r->name, file->hunks[h].place, 0,
					"hunk %zu of %s does not apply at line %d: its context and removed "
					"lines "
					"must be those of the snapshot (%s)",
					h + 1, file->path, line, failure->message);
	}
	if (code != ERR_FAILED)
		return err_set(r->reterr, code, "%s", failure->message);
	return err_set_at(r->reterr, ERR_INPUT, r->name, diff->first_place, 0, "the diff does not apply: %s",
		failure->message);
}

static void without_carriage_returns(const char *text, size_t length, struct strbuf *clean)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != '\r' || (i + 1 < length && text[i + 1] != '\n'))
			strbuf_addch(clean, text[i]);
}

static enum err_code apply_once(
	const struct reading *r, const struct diff *diff, char ret_tree[TREE_ID_SIZE], struct err *failure)
{
	CLEANUP(strbuf_release) struct strbuf normal = STRBUF_INIT;
	CLEANUP(free_ptr)
	char *prefix = xasprintf("%s%s", r->scratch->prefix, scratch_slash(r->scratch));
	diff_write(diff, prefix, &normal);
	return scratch_apply(
		r->scratch, r->scratch->base_tree, normal.buf, normal.len, true, ret_tree, failure);
}

/* As written first; where that fails and the diff has CRLF line ends, without them. */
static enum err_code apply(const struct reading *r, const struct diff *diff, const char *text, size_t length,
	char ret_tree[TREE_ID_SIZE])
{
	struct err failure = ERR_INIT, ignored = ERR_INIT;
	enum err_code code = apply_once(r, diff, ret_tree, &failure);
	if (code != OK && memmem(text, length, "\r\n", 2)) {
		CLEANUP(strbuf_release) struct strbuf clean = STRBUF_INIT;
		struct diff plain;
		without_carriage_returns(text, length, &clean);
		TRY(diff_parse(r->name, clean.buf, clean.len, r->arena, &plain, r->reterr));
		if (apply_once(r, &plain, ret_tree, &ignored) == OK)
			return OK;
	}
	return code == OK ? OK : explain_apply(r, diff, code, &failure);
}

/* ---- syntax must not get worse ---- */

static enum err_code errors_in(const struct reading *r, const char *tree_id, const char *path,
	enum language language, size_t *ret_count)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(syntax_free) TSTree *tree = NULL;
	enum err_code code = scratch_read(r->scratch, tree_id, path, &text, r->reterr);
	*ret_count = 0;
	if (code == ERR_NOT_FOUND)
		return OK;
	TRY(code);
	TRY(syntax_parse(language, path, text.buf, text.len, &tree, r->reterr));
	*ret_count = syntax_error_count(tree);
	return OK;
}

static enum err_code check_syntax(const struct reading *r, const struct diff *diff, const char *tree)
{
	for (size_t i = 0; i < diff->n_files; i++) {
		const char *path = diff->files[i].path;
		enum language language = syntax_language(path);
		size_t before, after;
		if (language == LANGUAGE_NONE || diff->files[i].deleted)
			continue;
		TRY(errors_in(r, r->scratch->base_tree, path, language, &before));
		TRY(errors_in(r, tree, path, language, &after));
		if (after > before)
			return refuse(r, diff->files[i].place, path,
				"the changed file has more syntax errors than before");
	}
	return OK;
}

static enum err_code finish(const struct reading *r, const struct diff *diff, const char *tree)
{
	CLEANUP(strbuf_release) struct strbuf canonical = STRBUF_INIT;
	TRY(scratch_check_kinds(r->scratch, r->scratch->base_tree, tree, r->reterr));
	TRY(scratch_diff(r->scratch, r->scratch->base_tree, tree, &canonical, r->reterr));
	if (!canonical.len)
		return err_set_at(r->reterr, ERR_INPUT, r->name, diff->first_place, 0,
			"the diff changes nothing in the snapshot");
	struct patch *patch = r->patch;
	patch->diff = arena_strndup(r->arena, canonical.buf, canonical.len);
	sha256_hex(canonical.buf, canonical.len, patch->digest);
	patch->files = arena_array(r->arena, diff->n_files, sizeof(*patch->files));
	patch->n_files = diff->n_files;
	for (size_t i = 0; i < diff->n_files; i++)
		patch->files[i] = diff->files[i].path;
	return OK;
}

enum err_code patch_read(const struct task *task, const struct scratch *scratch, const char *name,
	const char *text, size_t length, struct arena *arena, struct patch *ret_patch,
	char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	struct patch patch = {.name = arena_strdup(arena, name), .source = arena_strdup(arena, name)};
	struct reading r = {task, scratch, patch.name, arena, &patch, reterr};
	struct diff diff;
	char tree[TREE_ID_SIZE];
	if (memchr(text, '\0', length))
		return err_set_at(reterr, ERR_INPUT, name, 0, 0, "NUL bytes: a diff is text");
	TRY(diff_parse(r.name, text, length, arena, &diff, reterr));
	TRY(read_header(&r, text, length, diff.first_place));
	for (size_t i = 0; i < diff.n_files; i++)
		TRY(check_path(&r, &diff.files[i]));
	TRY(apply(&r, &diff, text, length, tree));
	TRY(check_syntax(&r, &diff, tree));
	TRY(finish(&r, &diff, tree));
	*ret_patch = patch;
	memcpy(ret_tree, tree, TREE_ID_SIZE);
	return OK;
}

enum err_code patch_parse(const struct task *task, const char *commit, const char *prefix, const char *name,
	const char *text, size_t length, struct arena *arena, struct patch *ret_patch, struct err *reterr)
{
	CLEANUP(scratch_close) struct scratch scratch = {0};
	char tree[TREE_ID_SIZE];
	TRY(scratch_open(task->root, commit, prefix, &scratch, reterr));
	return patch_read(task, &scratch, name, text, length, arena, ret_patch, tree, reterr);
}
