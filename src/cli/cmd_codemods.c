/* `infrarsi codemods`: what the catalogue would change in source files, without a task or a campaign. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "codemod/codemod.h"

enum { FILES_MAX = 1000 };

struct codemods_values {
	const char *only;
	bool list;
};

static void print_list(bool json)
{
	const struct codemod_info *info;
	json_t *all = json_array();
	for (size_t i = 0; (info = codemod_list(i)) != NULL; i++) {
		json_t *one = json_object();
		json_object_set_new(one, "name", json_string(info->name));
		json_object_set_new(one, "title", json_string(info->title));
		json_object_set_new(one, "mechanism", json_string(info->mechanism));
		json_object_set_new(one, "when", json_string(info->when));
		json_array_append_new(all, one);
		if (!json)
			printf("%-18s %s\n                   %s\n", info->name, info->title, info->when);
	}
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(all);
	if (json)
		printf("%s\n", text);
}

static bool is_wanted(const struct codemods_values *v, const struct codemod_info *info)
{
	return !v->only || strcmp(v->only, info->name) == 0;
}

static void add_json(
	const struct codemods_values *v, const struct codemod_result *result, struct strbuf *text)
{
	json_t *json = json_object(), *proposals = json_array(), *refusals = json_array();
	for (size_t i = 0; i < result->n_proposals; i++) {
		const struct codemod_proposal *p = &result->proposals[i];
		if (!is_wanted(v, p->info))
			continue;
		json_t *one = json_object();
		json_object_set_new(one, "name", json_string(p->info->name));
		json_object_set_new(one, "title", json_string(p->info->title));
		json_object_set_new(one, "mechanism", json_string(p->info->mechanism));
		json_object_set_new(one, "places", json_integer(p->n_places));
		json_object_set_new(one, "diff", json_from_text(p->diff));
		json_array_append_new(proposals, one);
	}
	for (size_t i = 0; i < result->n_refusals; i++) {
		const struct codemod_refusal *r = &result->refusals[i];
		if (!is_wanted(v, r->info))
			continue;
		json_t *one = json_object();
		json_object_set_new(one, "name", json_string(r->info->name));
		json_object_set_new(one, "file", json_from_text(r->path));
		json_object_set_new(one, "line", json_integer(r->line));
		json_object_set_new(one, "reason", json_string(r->reason));
		json_array_append_new(refusals, one);
	}
	json_object_set_new(json, "proposals", proposals);
	json_object_set_new(json, "refusals", refusals);
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(json);
	strbuf_addf(text, "%s\n", dump);
}

static void add_refusals(
	const struct codemods_values *v, const struct codemod_result *result, struct strbuf *text)
{
	for (size_t i = 0; i < result->n_refusals; i++) {
		const struct codemod_refusal *r = &result->refusals[i];
		if (!is_wanted(v, r->info))
			continue;
		strbuf_addf(text, "# %s leaves ", r->info->name);
		strbuf_add_escaped(text, r->path, strlen(r->path));
		strbuf_addf(text, ":%d alone: %s\n", r->line, r->reason);
	}
}

static void note_unread(const struct parsed *parsed, struct strbuf *text)
{
	for (size_t i = 0; i < parsed->n_positional; i++) {
		const char *path = parsed->positional[i];
		if (syntax_language(path) != LANGUAGE_NONE)
			continue;
		strbuf_addstr(text, "# not read, for it is neither C nor Python: ");
		strbuf_add_escaped(text, path, strlen(path));
		strbuf_addch(text, '\n');
	}
}

/* One of them alone is a patch as it stands: what is not part of it comes before it, where everybody passes
 * it over. Of several, which are read and not applied, what they leave alone is the end. */
static void add_text(const struct parsed *parsed, const struct codemods_values *v,
	const struct codemod_result *result, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf remarks = STRBUF_INIT;
	size_t n = 0;
	add_refusals(v, result, &remarks);
	note_unread(parsed, &remarks);
	if (v->only)
		strbuf_addstr(text, remarks.buf);
	for (size_t i = 0; i < result->n_proposals; i++) {
		const struct codemod_proposal *p = &result->proposals[i];
		if (!is_wanted(v, p->info))
			continue;
		strbuf_addf(text, "%s# %s: %s (%d place%s)\n%s", n++ ? "\n" : "", p->info->name,
			p->info->title, p->n_places, p->n_places == 1 ? "" : "s", p->diff);
	}
	if (!n)
		strbuf_addstr(text, "# nothing to change\n");
	if (!v->only)
		strbuf_addstr(text, remarks.buf);
}

static enum err_code read_files(
	const struct parsed *parsed, struct arena *arena, struct codemod_file *files, struct err *reterr)
{
	for (size_t i = 0; i < parsed->n_positional; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		const char *path = parsed->positional[i];
		if (!path_is_contained(path))
			return err_set(reterr, ERR_INPUT,
				"codemods: %s: expected a path below the current folder, so that the diff "
				"applies there",
				path);
		if (path_is_dir(path))
			return err_set(reterr, ERR_INPUT,
				"codemods: %s is a folder; name the source files in it", path);
		TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
		if (memchr(text.buf, '\0', text.len))
			return err_set(reterr, ERR_INPUT, "codemods: %s is no text", path);
		files[i] = (struct codemod_file){path, arena_strndup(arena, text.buf, text.len), text.len};
	}
	return OK;
}

static enum err_code check(const struct parsed *parsed, const struct codemods_values *v, struct err *reterr)
{
	if (parsed->n_positional == 0)
		return err_set(reterr, ERR_INPUT,
			"codemods: expected source files, such as  infrarsi codemods train.py model.py");
	if (v->only && !codemod_find(v->only))
		return err_set(reterr, ERR_INPUT,
			"codemods: --only: there is no codemod '%s'; see  infrarsi codemods "
			"--list",
			v->only);
	return OK;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct codemods_values *v = values;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct codemod_result result;
	struct err e = ERR_INIT;
	if (v->list) {
		print_list(parsed->common.json);
		return 0;
	}
	struct codemod_file *files = arena_array(&arena, parsed->n_positional + 1, sizeof(*files));
	enum err_code code = check(parsed, v, &e);
	if (code == OK)
		code = read_files(parsed, &arena, files, &e);
	if (code == OK)
		code = codemod_run(files, parsed->n_positional, &arena, &result, &e);
	if (code != OK)
		return cli_fail(&parsed->common, &e);
	if (parsed->common.json)
		add_json(v, &result, &text);
	else
		add_text(parsed, v, &result, &text);
	cli_print(&text);
	return 0;
}

static const struct option_spec options[] = {
	{"only", "NAME", OPTION_TEXT, "this one's diff alone", offsetof(struct codemods_values, only)},
	{"list", NULL, OPTION_FLAG, "list the codemods", offsetof(struct codemods_values, list)},
};

const struct command command_codemods = {
	.name = "codemods",
	.summary = "what the catalogue would change in source files, as diffs",
	.usage = "FILE... | --list",
	.detail =
		"The same code changes that a proposer of kind catalogue puts into a campaign "
		"(docs/codemods.md). Nothing "
		"is\nwritten, built or measured: whether a change is worth anything, infrarsi run finds out.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct codemods_values),
	.max_positional = FILES_MAX,
	.run = run,
};
