/* Any bytes as a table, and as the file of its defaults. What is read must have a legal reference and answer
 * for every neighbour of it. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "simulate/surface.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void use_job(struct simulated_job *job)
{
	CLEANUP(free_ptr) int *setting = xcalloc((size_t)job->n_levers + 1, sizeof(int));
	job_reference(job, setting);
	require(job_is_legal(job, setting) && job_is_legal(job, job->optimum_setting));
	require(job_gain_ln(job, setting) == 0 && job->optimum_ln >= 0);
	for (int l = 0; l < job->n_levers; l++) {
		int reference = setting[l];
		for (setting[l] = 0; setting[l] < job->levers[l].n_settings; setting[l]++) {
			struct simulated_run run;
			double gain = job_gain_ln(job, setting);
			require(isnan(gain) || gain <= job->optimum_ln);
			job_run(job, setting, 1, 1, &run);
			require(isfinite(run.end_s));
			simulated_run_release(&run);
		}
		setting[l] = reference;
	}
	/* Its own sibling: every effect is known. */
	surface_learn(job, (const struct simulated_job *const[]){job}, 1);
	require(job->experienced_start && job_is_legal(job, job->experienced_start));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct simulated_job job;
	struct surface_defaults *defaults = NULL;
	struct err e = ERR_INIT;
	if (surface_parse("f__1x8h100.csv", (const char *)data, size, NULL, &job, &e) == OK) {
		use_job(&job);
		simulated_job_release(&job);
	} else {
		require(e.message[0] && e.line && e.column);
	}
	if (surface_defaults_parse("d.json", (const char *)data, size, &defaults, &e) == OK)
		surface_defaults_free(defaults);
	return 0;
}
