/* Eight knobs of three settings, three of them numbers, and two patches. */
#include "base/base.h"

#include <math.h>

#include "base/random.h"
#include "null.h"

#define GIB 1073741824.0
enum { KNOBS = 8, NUMBERS = 3, PATCHES = 2, KNOB_SETTINGS = 3, UPDATES = 30, WARMUP = 10 };
/* Half of the settings are predicted to do something: N(0, 3%). */
static const double predicted_sd_ln = 0.03, predicted_share = 0.5;

struct truth_table {
	int lever, setting; /* that gains; lever -1 = none */
	double gain_ln;
};

static struct truth evaluate(const struct simulated_job *job, const int *setting)
{
	const struct truth_table *t = job->data;
	bool has = t->lever >= 0 && setting[t->lever] == t->setting;
	return (struct truth){.end = JOB_RUNS,
		.gain_ln = has ? t->gain_ln : 0,
		.peak_bytes = 40 * GIB,
		.excess_bytes = NAN};
}

static const struct job_kind kind = {"null", evaluate, NULL};

static void fill_lever(struct arena *arena, int index, struct lever *lever, struct random *random)
{
	static const char *const numbers[KNOB_SETTINGS] = {"1", "2", "4"},
				 *const words[KNOB_SETTINGS] = {"a", "b", "c"},
				 *const switches[2] = {"off", "on"};
	bool is_patch = index >= KNOBS, is_number = index < NUMBERS;
	*lever = (struct lever){.name = arena_printf(arena, "%s_%d", is_patch ? "patch" : "knob", index),
		.is_patch = is_patch,
		.ordered = is_number,
		.n_settings = is_patch ? 2 : KNOB_SETTINGS,
		.setting_names = is_patch    ? switches
				 : is_number ? numbers
					     : words};
	lever->prior = arena_array(arena, (size_t)lever->n_settings, sizeof(*lever->prior));
	for (int s = 0; s < lever->n_settings; s++) {
		double predicted = predicted_sd_ln * random_normal(random);
		bool is_predicted = random_uniform(random) < predicted_share;
		lever->prior[s] = (struct lever_prior){.amdahl_cap_ln = INFINITY,
			.predicted_gain_ln = s > 0 && is_predicted ? predicted : 0};
	}
}

static const struct truth_table *draw_truth(
	struct arena *arena, const struct lever *levers, const struct arm *arm, struct random *random)
{
	struct truth_table *t = arena_alloc(arena, sizeof(*t));
	t->lever = (int)random_below(random, KNOBS + PATCHES);
	t->setting = 1 + (int)random_below(random, (uint64_t)levers[t->lever].n_settings - 1);
	t->gain_ln = arm->gain_ln;
	if (arm->gain_ln == 0)
		t->lever = -1;
	return t;
}

void null_job_init(struct simulated_job *ret_job, const struct arm *arm, double sigma_pair, uint64_t seed)
{
	struct simulated_job job = {.arena = ARENA_INIT,
		.name = "null",
		.n_levers = KNOBS + PATCHES,
		.n_knobs = KNOBS,
		.capacity_bytes = 80 * GIB,
		.sigma_pair = sigma_pair,
		.has_outliers = arm->has_slow_runs,
		.peak_sd_bytes = 0.004 * 80 * GIB,
		.reference_step_s = 1,
		.startup_s = 10,
		.updates = UPDATES,
		.warmup = WARMUP,
		.devices = 1,
		.optimum_ln = arm->gain_ln,
		.kind = &kind};
	struct random random;
	random_init(&random, seed, "null job", 0);
	struct lever *levers = arena_array(&job.arena, KNOBS + PATCHES, sizeof(*levers));
	for (int l = 0; l < job.n_levers; l++)
		fill_lever(&job.arena, l, &levers[l], &random);
	job.levers = levers;
	job.data = draw_truth(&job.arena, levers, arm, &random);
	*ret_job = job;
}
