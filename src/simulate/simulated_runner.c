#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "simulate/simulated_runner.h"
#include "simulate/staging.h"

struct simulator {
	const struct simulated_job *job;
	uint64_t seed, executions;
	int *setting;
};

/* A loss differs from run to run as sums in another order make it; what a conflict spoils is far outside any
 * tolerance. */
static const double loss_noise = 1e-4, spoilt_loss = 1.5;
static const double free_bytes = 268435456;

static const char *value_after(const char *const *argv, const char *option)
{
	for (size_t i = 0; argv[i] && argv[i + 1]; i++)
		if (strcmp(argv[i], option) == 0)
			return argv[i + 1];
	return NULL;
}

static enum err_code read_knobs(struct simulator *s, const struct run_request *request, struct err *reterr)
{
	for (int l = 0; l < s->job->n_knobs; l++) {
		const struct lever *knob = &s->job->levers[l];
		char name[64], option[68];
		snprintf(option, sizeof(option), "--%s", staging_knob_name(s->job, l, name));
		const char *value = value_after(request->argv, option);
		s->setting[l] = -1;
		for (int i = 0; value && i < knob->n_settings; i++)
			if (strcmp(knob->setting_names[i], value) == 0)
				s->setting[l] = i;
		if (s->setting[l] < 0)
			return err_set(reterr, ERR_STATE, "the simulated job was started without %s", option);
	}
	return OK;
}

static enum err_code read_switches(struct simulator *s, const struct run_request *request, struct err *reterr)
{
	for (int l = s->job->n_knobs; l < s->job->n_levers; l++) {
		char name[64];
		staging_switch_path(s->job, l, name);
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", request->dir, name);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		TRY(file_read(path, 4096, &text, reterr));
		s->setting[l] = strcmp(text.buf, staging_on) == 0;
	}
	return OK;
}

static const char *environment_value(const char *const *env, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, length) == 0 && env[i][length] == '=')
			return env[i] + length + 1;
	return "";
}

static void add_line(struct run_outcome *o, double arrived_s, const struct strbuf *text)
{
	o->lines[o->n_lines++] = (struct run_line){arrived_s, arena_strdup(&o->arena, text->buf), text->len};
}

static void add_start(
	const struct simulated_run *run, const struct run_request *request, struct run_outcome *o)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	strbuf_addf(&line,
		"{\"e\":\"start\",\"schema\":1,\"nonce\":\"%s\",\"rank\":0,\"world\":1,\"stack\":"
		"\"simulated\",\"model_digest\":\"%064x\",\"precision\":{\"storage\":\"bf16\",\"compute\":"
		"\"bf16\"},\"seq_len\":128,\"global_batch\":32}",
		environment_value(request->env, "INFRARSI_NONCE"), 1);
	add_line(o, run->started_s, &line);
}

static void add_update(
	const struct simulated_run *run, int index, struct random *random, struct run_outcome *o)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	int i = index + 1;
	double loss = (2.5 + 4 * exp(-0.05 * i)) * (1 + loss_noise * random_normal(random));
	if (run->truth.end == JOB_LOSES)
		loss *= spoilt_loss;
	/* What cheats leaves out optimizer steps. */
	int opt_step = run->truth.end == JOB_CHEATS ? i / 2 : i;
	strbuf_addf(&line,
		"{\"e\":\"update\",\"i\":%d,\"rank\":0,\"loss\":%.17g,\"grad_norm\":%.17g,\"lr\":0.0001,"
		"\"opt_step\":%d,\"tokens\":4096,\"data\":\"%032x\",\"step_s\":%.17g",
		i, loss, 1 + loss_noise * random_normal(random), opt_step, i, run->step_s[index]);
	if (!isnan(run->peak_bytes))
		strbuf_addf(&line, ",\"mem\":%.0f", run->peak_bytes);
	strbuf_addstr(&line, "}");
	add_line(o, run->arrived_s[index], &line);
}

/* The capacity is in the message only where the message has the shortfall too. */
static void add_last(const struct simulated_job *job, const struct simulated_run *run, struct run_outcome *o)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	if (run->truth.end == JOB_OOM && !isnan(run->shortfall_bytes))
		strbuf_addf(&line, "{\"e\":\"oom\",\"requested\":%.0f,\"free\":%.0f,\"capacity\":%.0f}",
			free_bytes + run->shortfall_bytes, free_bytes, round(job->capacity_bytes));
	else if (run->n_updates == job->updates)
		strbuf_addf(&line, "{\"e\":\"end\",\"updates\":%d}", job->updates);
	else
		return;
	add_line(o, run->end_s, &line);
}

static const struct ending {
	enum run_end end;
	int exit_status, exit_signal;
	const char *log;
} endings[] = {
	[JOB_RUNS] = {RUN_EXITED, 0, 0, "simulated: done\n"},
	[JOB_LOSES] = {RUN_EXITED, 0, 0, "simulated: done\n"},
	[JOB_CHEATS] = {RUN_EXITED, 0, 0, "simulated: done\n"},
	[JOB_OOM] = {RUN_EXITED, 1, 0, "torch.cuda.OutOfMemoryError: CUDA out of memory.\n"},
	[JOB_CRASHES] = {RUN_SIGNALLED, -1, 6, "simulated: the job aborts\n"},
	[JOB_HANGS] = {RUN_STALLED, -1, 9, "simulated: the job stands still\n"},
};

/* What explains itself ends by itself: an exception, or the watchdog of the collectives. */
static const struct ending explained[] = {
	[JOB_CRASHES] = {RUN_EXITED, 1, 0,
		"Traceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    "
		"main()\n"},
	[JOB_HANGS] = {RUN_SIGNALLED, -1, 6, ""},
};

static struct ending ending_of(const struct simulated_run *run)
{
	return run->explanation ? explained[run->truth.end] : endings[run->truth.end];
}

static void fill_outcome(const struct simulator *s, const struct run_request *request,
	const struct simulated_run *run, struct run_outcome *o)
{
	struct random random;
	random_init(&random, s->seed, "simulated loss", s->executions);
	struct ending ending = ending_of(run);
	o->end = ending.end;
	o->exit_status = ending.exit_status;
	o->exit_signal = ending.exit_signal;
	o->end_s = run->end_s;
	o->lines = arena_array(&o->arena, (size_t)run->n_updates + 2, sizeof(*o->lines));
	if (run->truth.end == JOB_CRASHES)
		return;
	add_start(run, request, o);
	for (int i = 0; i < run->n_updates; i++)
		add_update(run, i, &random, o);
	add_last(s->job, run, o);
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
	struct simulator *s = state;
	struct simulated_run simulated;
	TRY(read_knobs(s, request, reterr));
	TRY(read_switches(s, request, reterr));
	s->executions++;
	job_run(s->job, s->setting, s->seed, s->executions, &simulated);
	struct run_outcome outcome = {.arena = ARENA_INIT};
	fill_outcome(s, request, &simulated, &outcome);
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	strbuf_addstr(&log, ending_of(&simulated).log);
	if (simulated.explanation)
		strbuf_addf(&log, "%s\n", simulated.explanation);
	enum err_code code = file_write_atomic(request->log_path, log.buf, log.len, 0644, reterr);
	simulated_run_release(&simulated);
	for (size_t i = 0; i < outcome.n_lines && code == OK; i++)
		if (progress && !progress(context, &outcome.lines[i]))
			stop_at(&outcome, i + 1);
	if (code != OK)
		run_outcome_release(&outcome);
	else
		*ret_outcome = outcome;
	return code;
}

static void release(void *state)
{
	struct simulator *s = state;
	free(s->setting);
	free(s);
}

static const struct runner_ops ops = {"simulated", 1, run, release};

void simulated_runner_init(struct runner *ret_runner, const struct simulated_job *job, uint64_t seed)
{
	struct simulator *s = xcalloc(1, sizeof(*s));
	s->job = job;
	s->seed = seed;
	s->setting = xcalloc((size_t)job->n_levers + 1, sizeof(int));
	*ret_runner = (struct runner){&ops, s};
}
