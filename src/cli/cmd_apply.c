#include "base/base.h"

#include <stdio.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "promote/apply.h"

struct apply_values {
	const char *branch;
	int trial;
	bool force, undo;
};

static void print_result(const struct apply_result *r, bool undone)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (undone)
		strbuf_addf(&text, "Undone: %zu files are as they were.\n", r->n_files);
	else if (r->branch)
		strbuf_addf(&text,
			"Checked: no file changed since the search. Wrote 1 launch file and %d patch%s on "
			"branch '%s' (%d commits: %seach patch, the launch file).\nUndo: %s    Use: git "
			"switch "
			"%s && ./run-fast.sh\n",
			r->n_patches, r->n_patches == 1 ? "" : "es", r->branch, r->n_commits,
			r->n_commits > r->n_patches + 1 ? "what was not committed, " : "", r->undo,
			r->branch);
	else
		strbuf_addf(&text,
			"Checked: no file changed since the search. Wrote 1 launch file and %d patch%s into "
			"the working tree.\n"
			"Undo: %s    Use: ./run-fast.sh\n",
			r->n_patches, r->n_patches == 1 ? "" : "es", r->undo);
	cli_print(&text);
}

static void print_json(const struct apply_result *r)
{
	json_t *files = json_array(), *json = json_object();
	for (size_t i = 0; i < r->n_files; i++)
		json_array_append_new(files, json_from_text(r->files[i]));
	json_object_set_new(json, "branch", r->branch ? json_from_text(r->branch) : json_null());
	json_object_set_new(json, "patches", json_integer(r->n_patches));
	json_object_set_new(json, "commits", json_integer(r->n_commits));
	json_object_set_new(json, "files", files);
	json_object_set_new(json, "undo", json_from_text(r->undo));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct apply_values *v = values;
	struct campaign c = {0};
	struct apply_result result = {0};
	struct err e = ERR_INIT;
	if (cli_open_recorded(&parsed->common, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	struct apply_options options = {
		.dir = c.dir, .branch = v->branch, .trial = v->trial, .force = v->force};
	enum err_code code = v->undo ? apply_undo(&c.state, c.dir, &result, &e)
				     : apply_run(&c.state, &options, &result, &e);
	if (code == OK && parsed->common.json)
		print_json(&result);
	else if (code == OK)
		print_result(&result, v->undo);
	int exit_code = code == OK ? 0 : cli_fail(&parsed->common, &e);
	apply_result_release(&result);
	campaign_close(&c);
	return exit_code;
}

static const struct option_spec options[] = {
	{"branch", "NAME", OPTION_TEXT, "commit on a new branch instead of changing the working tree",
		offsetof(struct apply_values, branch)},
	{"trial", "N", OPTION_INTEGER, "another valid trial than the delivered one; needs --force",
		offsetof(struct apply_values, trial)},
	{"force", NULL, OPTION_FLAG, "apply a trial that no duel confirmed",
		offsetof(struct apply_values, force)},
	{"undo", NULL, OPTION_FLAG, "take back the last application to the working tree",
		offsetof(struct apply_values, undo)},
};

const struct command command_apply = {
	.name = "apply",
	.summary = "write the verified winner back: patches and a launch script",
	.usage = "",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct apply_values),
	.run = run,
};
