#include "base/base.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "simulate/staging.h"
#include "spec/lock.h"
#include "spec/names.h"
#include "spec/task.h"

/* Source that the audit reads and finds clean. */
const char staging_off[] = "int kernel(int x)\n{\n\treturn plain(x);\n}\n";
const char staging_on[] = "int kernel(int x)\n{\n\treturn fused(x);\n}\n";
static const char switch_hunk[] =
	"@@ -1,4 +1,4 @@\n int kernel(int x)\n {\n-\treturn plain(x);\n+\treturn fused(x);\n }\n";

static const char readme[] = "A simulated training job, written by `infrarsi simulate`. Nothing here trains: "
			     "a simulator answered in\n"
			     "the place of every run, on a simulated clock. The receipts are signed with "
			     "keys made for this folder.\n";

/* Names that the command line of the task has beside the knobs'. */
static bool is_free(const struct simulated_job *job, int lever, const char *name)
{
	size_t length = strlen(name);
	if (length == 0 || length > 40 || !name_is_word(name) || name_reserved(name))
		return false;
	/* k0, k1, ... stand for those that have no usable name. */
	if (name[0] == 'k' && strspn(name + 1, "0123456789") == length - 1)
		return false;
	/* {a_flag} would be the flag of a. */
	if (length > 5 && strcmp(name + length - 5, "_flag") == 0)
		return false;
	for (int l = 0; l < job->n_knobs; l++)
		if (l != lever && strcmp(job->levers[l].name, name) == 0)
			return false;
	return true;
}

const char *staging_knob_name(const struct simulated_job *job, int lever, char buf[64])
{
	if (is_free(job, lever, job->levers[lever].name))
		snprintf(buf, 64, "%s", job->levers[lever].name);
	else
		snprintf(buf, 64, "k%d", lever);
	return buf;
}

void staging_switch_path(const struct simulated_job *job, int lever, char buf[64])
{
	snprintf(buf, 64, "switches/%04d.c", lever - job->n_knobs);
}

/* JSON's strings are YAML's double-quoted ones. */
static void add_quoted(struct strbuf *text, const char *value)
{
	json_t *json = json_from_text(value);
	CLEANUP(free_ptr) char *quoted = json_dumps(json, JSON_ENCODE_ANY);
	json_decref(json);
	if (!quoted)
		die_oom(0);
	strbuf_addstr(text, quoted);
}

static void add_command(const struct simulated_job *job, struct strbuf *text)
{
	char name[64];
	strbuf_addstr(text, "launch:\n  command: [\"simulated-job\"");
	for (int l = 0; l < job->n_knobs; l++) {
		staging_knob_name(job, l, name);
		strbuf_addf(text, ",\n    \"--%s\", \"{%s}\"", name, name);
	}
	strbuf_addf(text, "]\n  nodes: 1\n  devices_per_node: %d\n  timeout: 100d\n  startup_timeout: 100d\n",
		job->devices);
}

static void add_knob(const struct simulated_job *job, int lever, struct strbuf *text)
{
	const struct lever *knob = &job->levers[lever];
	char name[64];
	strbuf_addf(text,
		"  - name: %s\n    ordered: %s\n    reference: ", staging_knob_name(job, lever, name),
		knob->ordered ? "true" : "false");
	add_quoted(text, knob->setting_names[knob->reference]);
	strbuf_addstr(text, "\n    values: [");
	for (int i = 0; i < knob->n_settings; i++) {
		strbuf_addstr(text, i ? ", " : "");
		add_quoted(text, knob->setting_names[i]);
	}
	strbuf_addstr(text, "]\n");
}

void staging_task_text(const struct simulated_job *job, int trials, struct strbuf *text)
{
	strbuf_addstr(
		text, "# Written by `infrarsi simulate`: the launcher is a simulator.\nversion: 1\nname: ");
	add_quoted(text, job->name);
	strbuf_addstr(text, "\nstack: native\n");
	add_command(job, text);
	strbuf_addf(text,
		"contract:\n  updates: %d\n  warmup: %d\n  global_batch: 32\n  seq_len: 128\n"
		"  frozen_files: [\"README.txt\"]\n  editable_files: [\"switches/*.c\"]\n",
		job->updates, job->warmup);
	if (job->horizon_updates > 0)
		strbuf_addf(text, "  horizon: %.0f\n", job->horizon_updates);
	strbuf_addf(text, "budget: {trials: %d}\n", trials);
	strbuf_addstr(text, job->n_knobs ? "knobs:\n" : "knobs: []\n");
	for (int l = 0; l < job->n_knobs; l++)
		add_knob(job, l, text);
}

/* ---- the folder ---- */

static enum err_code write_file(const char *dir, const char *name, const char *text, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	return file_write_atomic(path, text, strlen(text), 0644, reterr);
}

/* Letters, digits, - and _ of a name: what may stand in a file's name. */
static void add_plain(struct strbuf *text, const char *name)
{
	for (const char *p = name; *p; p++)
		strbuf_addch(text,
			strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *p) ? *p
												       : '-');
}

/* The number first: the order of the folder is the order of the levers. */
static enum err_code write_patch(
	const struct simulated_job *job, int lever, const char *dir, struct err *reterr)
{
	char path[64];
	CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	staging_switch_path(job, lever, path);
	strbuf_addf(&name, "patches/%04d-", lever - job->n_knobs);
	add_plain(&name, job->levers[lever].name);
	strbuf_addstr(&name, ".diff");
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n%s", path, path, switch_hunk);
	TRY(write_file(dir, path, staging_off, reterr));
	return write_file(dir, name.buf, diff.buf, reterr);
}

static enum err_code make_folder(const char *dir, const char *name, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	return make_dirs(path, 0755, reterr);
}

enum err_code staging_check_empty(const char *dir, struct err *reterr)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	bool empty = true;
	while (stream && (entry = readdir(stream)))
		empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (stream)
		closedir(stream);
	if (!empty)
		return err_set(
			reterr, ERR_INPUT, "%s: expected a folder that is empty or does not exist", dir);
	return OK;
}

static enum err_code write_lock(const char *dir, struct err *reterr)
{
	struct task task = {0};
	struct lock lock = {0};
	CLEANUP(free_ptr) char *task_path = xasprintf("%s/infrarsi.yaml", dir);
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", dir);
	TRY(task_load(task_path, &task, reterr));
	enum err_code code = lock_compute(&task, task.root, &lock, reterr);
	if (code == OK)
		code = lock_write(&lock, path, reterr);
	lock_release(&lock);
	task_release(&task);
	return code;
}

enum err_code staging_write(const struct simulated_job *job, const char *dir, int trials, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf task = STRBUF_INIT;
	TRY(staging_check_empty(dir, reterr));
	TRY(make_folder(dir, "switches", reterr));
	TRY(make_folder(dir, "patches", reterr));
	staging_task_text(job, trials, &task);
	if (job->n_levers > job->n_knobs)
		strbuf_addstr(&task, "proposers:\n  - {kind: patches, dir: patches}\n");
	TRY(write_file(dir, "infrarsi.yaml", task.buf, reterr));
	TRY(write_file(dir, "README.txt", readme, reterr));
	for (int l = job->n_knobs; l < job->n_levers; l++)
		TRY(write_patch(job, l, dir, reterr));
	TRY(write_lock(dir, reterr));
	return git_run(dir, NULL, reterr, "init", "-q", NULL);
}
