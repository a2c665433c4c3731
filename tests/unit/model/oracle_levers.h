/* The levers of tests/oracle/kernel_values.py: four number axes, a category, a patch. */
#ifndef INFRARSI_TESTS_MODEL_ORACLE_LEVERS_H
#define INFRARSI_TESTS_MODEL_ORACLE_LEVERS_H

#include <math.h>

#include "model/models.h"

#define GIB 1073741824.0
enum { LEVERS = 6, MAX_SETTINGS = 5, MAX_RUNS = 32 };

struct levers {
	struct lever lever[LEVERS];
	struct lever_prior prior[LEVERS][MAX_SETTINGS];
	struct observation observation[MAX_RUNS];
	struct model_input in;
};

static inline void levers_init(struct levers *t)
{
	static const char *const name[LEVERS] = {
		"micro_batch", "tensor", "workers", "ratio", "mode", "change"};
	static const char *const setting[LEVERS][MAX_SETTINGS] = {{"1", "2", "4", "8", "16"},
		{"1", "2", "4", "8"}, {"0", "2", "4", "8"}, {"0.5", "0.75", "1"}, {"plain", "fused", "graph"},
		{"off", "on"}};
	static const int size[LEVERS] = {5, 4, 4, 3, 3, 2}, reference[LEVERS] = {0, 3, 0, 1, 1, 0};
	*t = (struct levers){0};
	for (int l = 0; l < LEVERS; l++) {
		t->lever[l] = (struct lever){.name = name[l],
			.is_patch = l == 5,
			.n_settings = size[l],
			.reference = reference[l],
			.prior = t->prior[l],
			.setting_names = setting[l]};
		for (int s = 0; s < MAX_SETTINGS; s++)
			t->prior[l][s].amdahl_cap_ln = INFINITY;
	}
	t->in = (struct model_input){.levers = t->lever,
		.n_levers = LEVERS,
		.observations = t->observation,
		.sigma_pair = 0.01,
		.reference_runs = 4,
		.capacity_bytes = 80 * GIB,
		.memory_cap_bytes = INFINITY,
		.reference_peak_bytes = 40 * GIB,
		.reference_shortfall_bytes = NAN};
}

static inline struct observation *levers_add(
	struct levers *t, const int *setting, enum observed_status status, double peak_bytes)
{
	struct observation *o = &t->observation[t->in.n_observations++];
	*o = (struct observation){
		.setting = setting, .status = status, .peak_bytes = peak_bytes, .shortfall_bytes = NAN};
	return o;
}

#endif
