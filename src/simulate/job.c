#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/strbuf.h"
#include "simulate/failure_text.h"
#include "simulate/job.h"

/* A run's variance is half of a pair's; of it 64% are between runs and 36% within the window. */
static const double between_share = 0.64, within_share = 0.36;
static const double outlier_probability = 0.05, outlier_factor = 3;
/* What the failures cost: updates before memory runs out, seconds until a hang is noticed. */
enum { UPDATES_BEFORE_OOM = 2 };
static const double hang_s = 300;
/* An out-of-memory message shows less than the whole excess: what this allocation lacked. */
static const double shortfall_least = 0.4, shortfall_floor_bytes = 0.05 * 1073741824.0;

const char *const job_end_names[6] = {"ok", "oom", "crash", "hang", "loss", "hack"};

void simulated_job_release(struct simulated_job *job)
{
	arena_release(&job->arena);
	*job = (struct simulated_job){0};
}

struct truth job_evaluate(const struct simulated_job *job, const int *setting)
{
	return job->kind->evaluate(job, setting);
}

double job_gain_ln(const struct simulated_job *job, const int *setting)
{
	struct truth t = job_evaluate(job, setting);
	return t.end == JOB_RUNS ? t.gain_ln - job->reference_gain_ln : NAN;
}

bool job_is_legal(void *context, const int *setting)
{
	const struct simulated_job *job = context;
	return !job->kind->is_legal || job->kind->is_legal(job, setting);
}

void job_reference(const struct simulated_job *job, int *ret_setting)
{
	for (int l = 0; l < job->n_levers; l++)
		ret_setting[l] = job->levers[l].reference;
}

void job_describe(const struct simulated_job *job, const int *setting, struct strbuf *text)
{
	size_t before = text->len;
	for (int l = 0; l < job->n_levers; l++) {
		const struct lever *lever = &job->levers[l];
		if (setting[l] != lever->reference)
			strbuf_addf(text, "%s%s=%s", text->len > before ? " " : "", lever->name,
				lever->setting_names[setting[l]]);
	}
	if (text->len == before)
		strbuf_addstr(text, "reference");
}

void job_inform(const struct simulated_job *job, bool with_experience, struct search_input *in)
{
	bool experienced = with_experience && job->experienced_levers;
	in->model.levers = experienced ? job->experienced_levers : job->levers;
	in->model.capacity_bytes = job->capacity_bytes;
	/* A campaign that has not read its patches yet has fewer levers than pairs and starts speak of. */
	bool whole = in->model.n_levers == job->n_levers;
	in->model.declared_pairs = job->declared_pairs;
	in->model.n_declared_pairs = whole ? job->n_declared_pairs : 0;
	in->model.sibling_runs = job->sibling_runs;
	in->model.n_sibling_runs = whole && experienced ? job->n_sibling_runs : 0;
	in->experienced_start = whole && experienced ? job->experienced_start : NULL;
	if (!job->kind->is_legal)
		return;
	in->is_legal = job_is_legal;
	in->legal_context = (void *)job;
}

/* ---- one execution ---- */

struct run_noise {
	double run_ln; /* of the whole run */
	double step_sd_ln;
};

static struct run_noise draw_noise(const struct simulated_job *job, struct random *random)
{
	double run_sd = job->sigma_pair / sqrt(2);
	struct run_noise noise = {.run_ln = sqrt(between_share) * run_sd * random_normal(random),
		.step_sd_ln = sqrt(within_share * (job->updates - job->warmup)) * run_sd};
	/* Drawn in any case, so that the other numbers are the same whether there are outliers or not. */
	double lot = random_uniform(random), slow = fabs(random_normal(random));
	if (job->has_outliers && lot < outlier_probability)
		noise.run_ln += outlier_factor * run_sd * slow;
	return noise;
}

static void run_updates(
	const struct simulated_job *job, struct random *random, int n, struct simulated_run *run)
{
	struct run_noise noise = draw_noise(job, random);
	double at_s = run->started_s, base_ln = log(job->reference_step_s) - run->truth.gain_ln;
	run->arrived_s = xcalloc((size_t)n + 1, sizeof(*run->arrived_s));
	run->step_s = xcalloc((size_t)n + 1, sizeof(*run->step_s));
	for (int i = 0; i < n; i++) {
		double before_s = at_s;
		at_s += exp(base_ln + noise.run_ln + noise.step_sd_ln * random_normal(random));
		run->arrived_s[i] = at_s;
		run->step_s[i] = at_s - before_s;
	}
	run->n_updates = n;
	run->end_s = at_s;
}

static void read_memory(const struct simulated_job *job, struct random *random, struct simulated_run *run)
{
	double noise = random_normal(random), part = random_uniform(random);
	const struct truth *t = &run->truth;
	if (t->end == JOB_OOM && isfinite(t->excess_bytes)) {
		double shown = (shortfall_least + (1 - shortfall_least) * part) * t->excess_bytes;
		run->shortfall_bytes = round(fmax(shown, shortfall_floor_bytes));
	} else if (isfinite(t->peak_bytes)) {
		run->peak_bytes = fmax(round(t->peak_bytes + job->peak_sd_bytes * noise), 1);
	}
}

void job_run(const struct simulated_job *job, const int *setting, uint64_t seed, uint64_t execution,
	struct simulated_run *ret_run)
{
	struct random random;
	struct simulated_run run = {.truth = job_evaluate(job, setting),
		.started_s = job->startup_s,
		.end_s = job->startup_s,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN};
	random_init(&random, seed, "simulated run", execution);
	read_memory(job, &random, &run);
	switch (run.truth.end) {
	case JOB_RUNS:
	case JOB_LOSES:
	case JOB_CHEATS:
		run_updates(job, &random, job->updates, &run);
		break;
	case JOB_OOM:
		run_updates(job, &random, MIN_OF((int)UPDATES_BEFORE_OOM, job->updates), &run);
		break;
	case JOB_HANGS:
		run.end_s += hang_s;
		run.explanation = failure_text(job, setting, seed);
		break;
	case JOB_CRASHES:
		run.explanation = failure_text(job, setting, seed);
		break;
	}
	*ret_run = run;
}

void simulated_run_release(struct simulated_run *run)
{
	free(run->arrived_s);
	free(run->step_s);
	free(run->explanation);
	*run = (struct simulated_run){0};
}
