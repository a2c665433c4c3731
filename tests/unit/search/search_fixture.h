/*
 * A task for the search tests, and a job to run its candidates: ten levers, the gains and the bytes of their
 * settings added up. Include cmocka.h first. Levers 0 to 6 are knobs, 7 and 8 patches, 9 a knob with a single
 * setting.
 */
#ifndef INFRARSI_TESTS_SEARCH_FIXTURE_H
#define INFRARSI_TESTS_SEARCH_FIXTURE_H

#include <math.h>
#include <string.h>

#include "search/search.h"

#define GIB 1073741824.0
enum { LEVERS = 10, MAX_SETTINGS = 3, MAX_TRIALS = 64 };

struct fixture {
	struct lever lever[LEVERS];
	struct lever_prior prior[LEVERS][MAX_SETTINGS];
	double gain_ln[LEVERS][MAX_SETTINGS], gib[LEVERS][MAX_SETTINGS]; /* the truth */
	int setting[MAX_TRIALS][LEVERS];                                 /* of the observations */
	struct observation observation[MAX_TRIALS];
	const int *visited[MAX_TRIALS];
	struct search_input in;
};

static inline void fixture_init(struct fixture *f)
{
	static const int size[LEVERS] = {3, 2, 2, 3, 2, 2, 2, 2, 2, 1};
	static const int reference[LEVERS] = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
	static const char *const name[LEVERS] = {
		"recompute", "compile", "fused", "buckets", "zero", "loader", "threads", "p1", "p2", "fixed"};
	static const char *const setting_name[MAX_SETTINGS] = {"off", "on", "max"};
	memset(f, 0, sizeof(*f));
	for (int l = 0; l < LEVERS; l++) {
		f->lever[l] = (struct lever){.name = name[l],
			.is_patch = l == 7 || l == 8,
			.n_settings = size[l],
			.reference = reference[l],
			.prior = f->prior[l],
			.setting_names = setting_name};
		for (int s = 0; s < MAX_SETTINGS; s++)
			f->prior[l][s].amdahl_cap_ln = INFINITY;
	}
	f->in = (struct search_input){
		.model = {.levers = f->lever,
			.n_levers = LEVERS,
			.observations = f->observation,
			.sigma_pair = 0.004,
			.reference_runs = 4,
			.capacity_bytes = 80 * GIB,
			.memory_cap_bytes = INFINITY,
			.reference_peak_bytes = 60 * GIB,
			.reference_shortfall_bytes = NAN},
		.visited = f->visited,
		.seed = 7,
		.gate_ln = 0.02,
	};
}

static inline int *reference_copy(const struct fixture *f, int *setting)
{
	for (int l = 0; l < f->in.model.n_levers; l++)
		setting[l] = f->lever[l].reference;
	return setting;
}

/* A run with this outcome; the gain counts where the status is OK. */
static inline struct observation *observe(
	struct fixture *f, const int *setting, enum observed_status status, double gain_ln)
{
	size_t i = f->in.model.n_observations++;
	memcpy(f->setting[i], setting, LEVERS * sizeof(int));
	f->visited[f->in.n_visited++] = f->setting[i];
	f->in.decision++;
	f->observation[i] = (struct observation){.setting = f->setting[i],
		.status = status,
		.has_gain = status == OBSERVED_OK,
		.gain_ln = gain_ln,
		.incumbent_allowed = status == OBSERVED_OK,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN};
	return &f->observation[i];
}

/* Nothing is to be gained by any setting, so that those that a test does not open stay out of its way. */
static inline void quiet_init(struct fixture *f)
{
	fixture_init(f);
	for (int l = 0; l < LEVERS; l++)
		for (int s = 0; s < MAX_SETTINGS; s++)
			f->prior[l][s].amdahl_cap_ln = 0;
}

/* Something may be gained by this setting, and so much is predicted. */
static inline void open_setting(struct fixture *f, int lever, int setting, double predicted_ln)
{
	f->prior[lever][setting].amdahl_cap_ln = INFINITY;
	f->prior[lever][setting].predicted_gain_ln = predicted_ln;
}

static inline struct observation *run_ok(struct fixture *f, const int *setting, double gain_ln)
{
	struct observation *o = observe(f, setting, OBSERVED_OK, gain_ln);
	o->peak_bytes = 60 * GIB;
	return o;
}

/* Runs a candidate against the fixture's truth, without noise. */
static inline struct observation *execute(struct fixture *f, const int *setting)
{
	double gain = 0, gib = f->in.model.reference_peak_bytes / GIB;
	for (int l = 0; l < f->in.model.n_levers; l++) {
		gain += f->gain_ln[l][setting[l]];
		gib += f->gib[l][setting[l]];
	}
	bool fits = gib <= f->in.model.capacity_bytes / GIB;
	struct observation *o = observe(f, setting, fits ? OBSERVED_OK : OBSERVED_OOM, gain);
	o->peak_bytes = fits ? gib * GIB : NAN;
	o->shortfall_bytes = fits ? NAN : gib * GIB - f->in.model.capacity_bytes;
	return o;
}

static inline struct decision next_decision(const struct fixture *f)
{
	struct decision d;
	struct err err = ERR_INIT;
	assert_int_equal(strategy_find("controller")->next(&f->in, &d, &err), OK);
	return d;
}

static inline bool is_visited(const struct fixture *f, const int *setting)
{
	int reference[LEVERS];
	reference_copy(f, reference);
	size_t bytes = (size_t)f->in.model.n_levers * sizeof(int);
	if (memcmp(setting, reference, bytes) == 0)
		return true;
	for (size_t i = 0; i < f->in.n_visited; i++)
		if (memcmp(f->visited[i], setting, bytes) == 0)
			return true;
	return false;
}

static inline int changes(const struct fixture *f, const int *setting)
{
	int n = 0;
	for (int l = 0; l < f->in.model.n_levers; l++)
		n += setting[l] != f->lever[l].reference;
	return n;
}

static inline void assert_names(const struct decision *d, const char *name)
{
	if (!strstr(d->operators, name))
		fail_msg("operators '%s', expected '%s' among them", d->operators, name);
}

#endif
