#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign_fixture.h"

enum { UPDATES = 12, WARMUP = 4 };

/* ---- the runner ---- */

static void add_line(struct run_outcome *o, double arrived_s, const char *text)
{
	o->lines[o->n_lines++] = (struct run_line){arrived_s, arena_strdup(&o->arena, text), strlen(text)};
}

static const char *value_of(const char *const *env, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, length) == 0 && env[i][length] == '=')
			return env[i] + length + 1;
	return "";
}

static void add_start(struct run_outcome *o, const struct run_request *request)
{
	CLEANUP(free_ptr)
	char *line = xasprintf(
		"{\"e\":\"start\",\"schema\":1,\"nonce\":\"%s\",\"rank\":0,\"world\":1,\"stack\":"
		"\"native\",\"params\":1000,\"active_params\":1000,\"layers\":2,\"d_attn\":64,"
		"\"model_digest\":\"%064d\",\"precision\":{\"storage\":\"fp32\",\"compute\":\"fp32\"},"
		"\"seq_len\":128,\"global_batch\":32}",
		value_of(request->env, "INFRARSI_NONCE"), 7);
	add_line(o, o->spawn_s + 0.5, line);
}

static double add_updates(struct run_outcome *o, int n, double step_s, bool other_data, bool profile)
{
	double at_s = o->spawn_s + 0.5;
	for (int i = 1; i <= n; i++) {
		at_s += step_s;
		CLEANUP(free_ptr)
		char *line = xasprintf(
			"{\"e\":\"update\",\"i\":%d,\"rank\":0,\"loss\":%.3f,\"grad_norm\":%.3f,\"lr\":%g,"
			"\"opt_step\":%d,\"tokens\":4096,\"data\":\"%032x\",\"step_s\":%.9f,\"mem\":%d}",
			i, 5 - 0.02 * i, 2 - 0.01 * i, 1e-5 * i, i, (other_data ? 1000 : 0) + i, step_s,
			1 << 20);
		add_line(o, at_s, line);
		if (!profile)
			continue;
		CLEANUP(free_ptr)
		char *phase = xasprintf("{\"e\":\"phase\",\"i\":%d,\"forward\":%.9f,\"backward\":%.9f}", i,
			0.3 * step_s, 0.5 * step_s);
		add_line(o, at_s, phase);
	}
	return at_s;
}

/* The row of the candidate that the command line names: `./train --row N`. */
static size_t row_of(const struct run_request *request)
{
	for (size_t i = 0; request->argv[i]; i++)
		if (strcmp(request->argv[i], "--row") == 0)
			return strtoul(request->argv[i + 1], NULL, 10);
	return 0;
}

static void answer(struct stage *s, const struct run_request *request, enum answer answer, double time_s,
	struct run_outcome *o)
{
	static const char *const logs[] = {[ANSWER_RUN] = "done\n",
		[ANSWER_CRASH] = "free(): invalid next size (normal)\n",
		[ANSWER_OOM] = "torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
		[ANSWER_HANG] = "",
		[ANSWER_WRONG_DATA] = "done\n"};
	bool whole = answer == ANSWER_RUN || answer == ANSWER_WRONG_DATA, hangs = answer == ANSWER_HANG;
	/* Half a per mille from run to run: never nothing, never much. */
	double step_s = time_s * (1 + 0.00025 * (s->executions * 7 % 5 - 2));
	o->spawn_s = 1000.0 * s->executions;
	o->lines = arena_array(&o->arena, 2 * UPDATES + 3, sizeof(*o->lines));
	add_start(o, request);
	o->end_s = 0.01 + add_updates(o, whole ? UPDATES : 2, step_s, answer == ANSWER_WRONG_DATA,
				  *value_of(request->env, "INFRARSI_PROFILE"));
	if (whole)
		add_line(o, o->end_s, "{\"e\":\"end\",\"updates\":12}");
	o->end = hangs ? RUN_STALLED : RUN_EXITED;
	o->exit_status = whole ? 0 : hangs ? -1 : 1;
	o->exit_signal = hangs ? 9 : 0;
	assert_int_equal(
		file_write_atomic(request->log_path, logs[answer], strlen(logs[answer]), 0644, NULL), OK);
}

static enum err_code evaluate(
	struct stage *s, const struct run_request *request, struct run_outcome *ret_outcome)
{
	struct run_outcome o = {.arena = ARENA_INIT, .end = RUN_EXITED, .spawn_s = 1000.0 * s->executions};
	o.end_s = o.spawn_s + 3;
	assert_int_equal(file_write_atomic(request->log_path, "loss 2.5\n", 9, 0644, NULL), OK);
	*ret_outcome = o;
	return OK;
}

static enum err_code build(
	struct stage *s, const struct run_request *request, struct run_outcome *ret_outcome)
{
	size_t row = row_of(request);
	bool fails = s->built[row]++ < s->rows[row].build_faults;
	const char *log = fails ? "/usr/bin/ld: final link failed: No space left on device\n" : "built\n";
	assert_int_equal(file_write_atomic(request->log_path, log, strlen(log), 0644, NULL), OK);
	*ret_outcome = (struct run_outcome){.arena = ARENA_INIT, .end = RUN_EXITED, .exit_status = fails};
	return OK;
}

/* Told to stop after so many lines, the job goes at once. */
static void stop_at(struct run_outcome *o, size_t n_lines)
{
	o->end = RUN_STOPPED;
	o->exit_status = -1;
	o->exit_signal = 15;
	o->n_lines = n_lines;
	o->end_s = o->lines[n_lines - 1].arrived_s;
}

static enum err_code run(void *state, const struct run_request *request, run_progress_fn progress,
	void *context, struct run_outcome *ret_outcome, struct err *reterr)
{
	struct stage *s = state;
	size_t row = row_of(request);
	s->executions++;
	assert_true(row < s->n_rows);
	assert_true(path_is_dir(request->dir));
	if (strcmp(request->argv[0], "./build") == 0)
		return build(s, request, ret_outcome);
	if (strcmp(request->argv[0], "./evaluate") == 0)
		return evaluate(s, request, ret_outcome);
	if (s->fault_from && s->executions >= s->fault_from)
		return err_set(reterr, ERR_IO, "no space left on device");
	struct run_outcome o = {.arena = ARENA_INIT};
	const struct row *r = &s->rows[row];
	bool later = ++s->served[row] > r->runs_well && r->runs_well;
	answer(s, request, later ? r->later : r->answer, later ? r->later_s : r->time_s, &o);
	for (size_t i = 0; progress && i < o.n_lines; i++)
		if (!progress(context, &o.lines[i]))
			stop_at(&o, i + 1);
	if (s->executions == s->stop_at)
		o.end = RUN_STOPPED;
	*ret_outcome = o;
	return OK;
}

static void release(void *state)
{
	(void)state;
	fail_msg("a borrowed runner was released");
}

static const struct runner_ops ops = {"table", 1, run, release};

/* ---- the folder ---- */

void stage_write(const struct stage *s, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", s->root, name);
	CLEANUP(free_ptr) char *parent = xstrdup(path);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(make_dirs(parent, 0755, NULL), OK);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, NULL), OK);
}

void stage_lock(struct stage *s)
{
	struct task task = {0};
	struct lock lock = {0};
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", s->root);
	if (task_load(s->task_path, &task, &s->error) != OK ||
		lock_compute(&task, task.root, &lock, &s->error) != OK)
		fail_msg("%s", s->error.message);
	assert_int_equal(lock_write(&lock, path, &s->error), OK);
	lock_release(&lock);
	task_release(&task);
}

static void write_task(struct stage *s, const char *more_yaml)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		"version: 1\nname: job\nstack: native\n"
		"launch:\n  command: [./train, --row, '{row}']\n  timeout: 1m\n"
		"contract:\n  updates: %d\n  warmup: %d\n  frozen_files: [eval.txt]\n  editable_files: "
		"['*.txt']\n"
		"budget: {trials: 8}\n"
		"knobs:\n  - {name: row, reference: 0, values: [0",
		UPDATES, WARMUP);
	for (size_t i = 1; i < s->n_rows; i++)
		strbuf_addf(&text, ", %zu", i);
	strbuf_addf(&text, "]}\n%s", more_yaml ? more_yaml : "");
	stage_write(s, "infrarsi.yaml", text.buf);
}

void stage_open(struct stage *s, const struct row *rows, size_t n_rows, const char *more_yaml)
{
	memset(s, 0, sizeof(*s));
	strcpy(s->dir, "/tmp/infrarsi-campaign-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	CLEANUP(free_ptr) char *home = xasprintf("%s/home", s->dir);
	setenv("XDG_STATE_HOME", home, 1);
	snprintf(s->root, sizeof(s->root), "%s/repo", s->dir);
	snprintf(s->task_path, sizeof(s->task_path), "%s/infrarsi.yaml", s->root);
	snprintf(s->state_dir, sizeof(s->state_dir), "%s/.infrarsi", s->root);
	s->rows = rows;
	s->n_rows = n_rows;
	assert_true(n_rows <= ARRAY_LEN(s->served));
	s->runner = (struct runner){&ops, s};
	stage_write(s, "eval.txt", "frozen\n");
	stage_write(s, "model.txt", "one\ntwo\nthree\n");
	write_task(s, more_yaml);
	stage_lock(s);
	assert_int_equal(git_run(s->root, NULL, &s->error, "init", "-q", NULL), OK);
}

void stage_close(struct stage *s)
{
	stage_close_campaign(s);
	unsetenv("XDG_STATE_HOME");
	assert_int_equal(remove_tree(s->dir, NULL), OK);
}

/* ---- the campaign ---- */

/* Reads what it is given, as a view would: under ASan this finds what dangles. */
static void on_progress(void *context, const struct progress *p)
{
	struct stage *s = context;
	size_t bytes = p->text ? strlen(p->text) : 0;
	bytes += p->trial ? strlen(p->trial->signature) + strlen(p->trial->operators) : 0;
	bytes += p->refusal ? strlen(p->refusal->name) : 0;
	bytes += p->kind == PROGRESS_DUEL ? strlen(p->execution->receipt_path) + p->duel->n_pairs : 0;
	s->progress_calls += bytes > 0;
	s->notes += p->kind == PROGRESS_NOTE;
}

enum err_code stage_try_open(struct stage *s, enum campaign_mode mode)
{
	struct campaign_options options = {.progress = on_progress,
		.progress_context = s,
		.stop_fd = -1,
		.self_path = "/nonexistent",
		.hook_dir = "/nonexistent",
		.sandbox = SANDBOX_OFF,
		.runner = &s->runner};
	stage_close_campaign(s);
	enum err_code code = campaign_open(s->task_path, mode, &options, &s->c, &s->error);
	s->is_open = code == OK;
	return code;
}

void stage_open_campaign(struct stage *s)
{
	stage_expect(s, stage_try_open(s, CAMPAIGN_WRITE), OK, NULL);
}

void stage_close_campaign(struct stage *s)
{
	if (s->is_open)
		campaign_close(&s->c);
	s->is_open = false;
}

enum err_code stage_doctor(struct stage *s)
{
	struct doctor_options options = {.runs = 3};
	struct doctor_result result;
	if (!s->is_open)
		stage_open_campaign(s);
	if (!s->c.state.has_campaign)
		TRY(campaign_begin(&s->c, 7, "{}", &s->error));
	return doctor_run(&s->c, &options, &result, &s->error);
}

void stage_campaign(struct stage *s)
{
	stage_expect(s, stage_doctor(s), OK, NULL);
}

enum err_code stage_go_on(struct stage *s)
{
	TRY(stage_doctor(s));
	return search_run(&s->c, &s->run, &s->error);
}

void stage_expect(const struct stage *s, enum err_code code, enum err_code wanted, const char *says)
{
	if (code != wanted || (says && !strstr(s->error.message, says)))
		fail_msg("code %d '%s', expected %d '%s'", code, code ? s->error.message : "", wanted,
			says ? says : "");
}
