/* Any bytes as a landscape. What is read must answer for the reference and each of its neighbours, explain
 * its failures in a line, and make a task that the task file's reader takes. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "model/evidence.h"
#include "simulate/landscape.h"
#include "simulate/staging.h"
#include "spec/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* A search reads the text: it names few levers or none. */
static void read_text(const struct simulated_job *job, const int *setting, const char *text)
{
	CLEANUP(free_ptr) bool *named = xcalloc((size_t)job->n_levers, sizeof(bool));
	int n = evidence_named(job->levers, job->n_levers, setting, text, named), n_named = 0;
	for (int l = 0; l < job->n_levers; l++)
		n_named += named[l];
	require(n == n_named && n <= 4);
}

static void run_once(const struct simulated_job *job, const int *setting)
{
	struct simulated_run run;
	job_run(job, setting, 1, 1, &run);
	require(isfinite(run.end_s) && run.end_s >= 0);
	for (int i = 0; i < run.n_updates; i++)
		require(run.step_s[i] >= 0 && run.step_s[i] < 1e9);
	require(isnan(run.peak_bytes) || (run.peak_bytes >= 1 && run.peak_bytes < 9e15));
	require(isnan(run.shortfall_bytes) || (run.shortfall_bytes >= 0 && run.shortfall_bytes < 9e15));
	require(!run.explanation || (*run.explanation && !strchr(run.explanation, '\n')));
	if (run.explanation)
		read_text(job, setting, run.explanation);
	simulated_run_release(&run);
}

static void use_job(const struct simulated_job *job)
{
	CLEANUP(free_ptr) int *setting = xcalloc((size_t)job->n_levers, sizeof(int));
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct task task = {0};
	struct err e = ERR_INIT;
	job_reference(job, setting);
	require(job_evaluate(job, setting).end == JOB_RUNS);
	run_once(job, setting);
	for (int l = 0; l < job->n_levers && l < 16; l++) {
		int reference = setting[l];
		for (setting[l] = 0; setting[l] < MIN_OF(job->levers[l].n_settings, 8); setting[l]++)
			run_once(job, setting);
		setting[l] = reference;
	}
	run_once(job, job->optimum_setting);
	read_text(job, setting, job->name);
	staging_task_text(job, 5, &text);
	if (task_parse("t.yaml", "/nonexistent", text.buf, text.len, &task, &e) == OK)
		require((int)task.n_knobs == job->n_knobs);
	else
		require(e.code == ERR_LIMIT || e.code == ERR_INPUT);
	task_release(&task);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct simulated_job job;
	struct err e = ERR_INIT;
	if (landscape_parse("l.json", (const char *)data, size, &job, &e) == OK) {
		job.failures_explain = true;
		use_job(&job);
		simulated_job_release(&job);
	} else {
		require(e.message[0] && e.file[0]);
	}
	return 0;
}
