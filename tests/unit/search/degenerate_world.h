/*
 * Tasks at the edge, of any shape: levers, a truth that is a sum over settings, and a run of any candidate.
 * Every strategy is led through; whatever it proposes is legal, new and not the reference, and it stops when
 * nothing is left. Include cmocka.h first.
 *
 *     struct world *w = world_new();
 *     add_levers(w, 2, NUMBER, 3);
 *     w->gain_ln[0][1] = 0.1;
 *     assert_int_equal(play_all(w, 17), 8);
 *     free(w);
 */
#ifndef INFRARSI_TESTS_DEGENERATE_WORLD_H
#define INFRARSI_TESTS_DEGENERATE_WORLD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/search.h"

#define GIB 1073741824.0
enum { LEVERS_MAX = 12, SETTINGS_MAX = 500, TRIALS_MAX = 64 };

struct world {
	struct lever lever[LEVERS_MAX];
	struct lever_prior prior[LEVERS_MAX][SETTINGS_MAX];
	char text[SETTINGS_MAX][8];
	const char *number[SETTINGS_MAX];
	double gain_ln[LEVERS_MAX][SETTINGS_MAX], gib[LEVERS_MAX][SETTINGS_MAX]; /* the truth: sums */
	double reference_gib;
	enum observed_status (*ends)(const struct world *w, const int *setting); /* NULL = well */
	bool hides_peaks, hides_shortfalls;
	int setting[TRIALS_MAX][LEVERS_MAX];
	struct observation observation[TRIALS_MAX];
	const int *visited[TRIALS_MAX];
	struct search_input in;
};

static inline struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	for (int s = 0; s < SETTINGS_MAX; s++) {
		snprintf(w->text[s], sizeof(w->text[s]), "%d", s + 1);
		w->number[s] = w->text[s];
	}
	w->reference_gib = 60;
	w->in = (struct search_input){.model = {.levers = w->lever,
					      .observations = w->observation,
					      .sigma_pair = 0.005,
					      .reference_runs = 4,
					      .capacity_bytes = 80 * GIB,
					      .memory_cap_bytes = INFINITY,
					      .reference_peak_bytes = 60 * GIB,
					      .reference_shortfall_bytes = NAN},
		.visited = w->visited,
		.seed = 7,
		.gate_ln = 0.02};
	return w;
}

enum lever_kind { CATEGORY, RANK, NUMBER, PATCH };

static inline void add_levers(struct world *w, int n, enum lever_kind kind, int n_settings)
{
	for (int i = 0; i < n; i++) {
		int l = w->in.model.n_levers++;
		w->lever[l] = (struct lever){.name = "lever",
			.is_patch = kind == PATCH,
			.ordered = kind == RANK || kind == NUMBER,
			.n_settings = n_settings,
			.prior = w->prior[l],
			.setting_names = kind == NUMBER ? w->number : NULL};
		for (int s = 0; s < n_settings; s++)
			w->prior[l][s].amdahl_cap_ln = INFINITY;
	}
}

static inline void does_not_fit(struct world *w, double reference_gib, bool says_how_much)
{
	struct model_input *m = &w->in.model;
	w->reference_gib = reference_gib;
	m->reference_runs = 0;
	m->reference_peak_bytes = NAN;
	m->reference_shortfall_bytes = says_how_much ? reference_gib * GIB - m->capacity_bytes : NAN;
}

/* ------------------------------------------------------------- running candidates */

static inline enum observed_status end_of(const struct world *w, const int *setting, double gib)
{
	enum observed_status end = w->ends ? w->ends(w, setting) : OBSERVED_OK;
	return end == OBSERVED_OK && gib * GIB > w->in.model.capacity_bytes ? OBSERVED_OOM : end;
}

static inline struct observation *run(struct world *w, const int *setting)
{
	struct model_input *m = &w->in.model;
	size_t i = m->n_observations++;
	double gain = 0, gib = w->reference_gib;
	for (int l = 0; l < m->n_levers; l++) {
		w->setting[i][l] = setting[l];
		gain += w->gain_ln[l][setting[l]];
		gib += w->gib[l][setting[l]];
	}
	enum observed_status end = end_of(w, setting, gib);
	bool ran = end == OBSERVED_OK;
	w->observation[i] = (struct observation){.setting = w->setting[i],
		.status = end,
		.has_gain = ran,
		.gain_ln = ran ? gain : 0,
		.incumbent_allowed = ran,
		.peak_bytes = ran && !w->hides_peaks ? gib * GIB : NAN,
		.shortfall_bytes =
			end == OBSERVED_OOM && !w->hides_shortfalls ? gib * GIB - m->capacity_bytes : NAN};
	w->visited[w->in.n_visited++] = w->setting[i];
	w->in.decision++;
	return &w->observation[i];
}

static inline bool is_reference(const struct world *w, const int *setting)
{
	for (int l = 0; l < w->in.model.n_levers; l++)
		if (setting[l] != w->lever[l].reference)
			return false;
	return true;
}

static inline bool was_visited(const struct world *w, const int *setting)
{
	size_t bytes = (size_t)w->in.model.n_levers * sizeof(int);
	for (size_t i = 0; i < w->in.n_visited; i++)
		if (memcmp(w->visited[i], setting, bytes) == 0)
			return true;
	return false;
}

static inline void check(const struct world *w, const struct strategy *s, const struct decision *d)
{
	bool in_range = true;
	for (int l = 0; l < w->in.model.n_levers; l++)
		in_range &= d->setting[l] >= 0 && d->setting[l] < w->lever[l].n_settings;
	if (!in_range || is_reference(w, d->setting) || was_visited(w, d->setting))
		fail_msg("%s: proposes what cannot, need not or did run", s->name);
	if (w->in.is_legal && !w->in.is_legal(w->in.legal_context, d->setting))
		fail_msg("%s: proposes what is not legal", s->name);
	assert_true(*d->operators && *d->reason);
	if (strcmp(s->name, "controller") != 0)
		return;
	assert_true(isfinite(d->score) && isfinite(d->mean_ln) && isfinite(d->incumbent_ln));
	assert_true(d->sd_ln >= 0 && isfinite(d->sd_ln));
	assert_true(d->p_fits >= 0 && d->p_fits <= 1 && d->p_ok >= 0 && d->p_ok <= 1);
}

static inline struct decision decide(const struct world *w, const struct strategy *s)
{
	struct decision d;
	struct err e = ERR_INIT;
	if (s->next(&w->in, &d, &e) != OK)
		fail_msg("%s: %s", s->name, e.message);
	if (d.found)
		check(w, s, &d);
	return d;
}

/* How many trials it finds to make. */
static inline int play(struct world *w, const struct strategy *s, int trials)
{
	for (int k = 0; k < trials; k++) {
		struct decision d = decide(w, s);
		bool found = d.found;
		if (found)
			run(w, d.setting);
		decision_release(&d);
		if (!found)
			return k;
	}
	return trials;
}

static inline const struct strategy *controller(void)
{
	return strategy_find("controller");
}

static inline void forget(struct world *w)
{
	w->in.model.n_observations = w->in.n_visited = 0;
	w->in.decision = 0;
}

/* Every strategy from the beginning; the controller last, and what it came to stays. */
static inline int play_all(struct world *w, int trials)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t i = 0; i < n; i++) {
		(void)play(w, &list[i], trials);
		forget(w);
	}
	return play(w, controller(), trials);
}

static inline int incumbent(const struct world *w, double *ret_mean)
{
	int observation = 99;
	struct err e = ERR_INIT;
	assert_int_equal(search_incumbent(&w->in, &observation, ret_mean, &e), OK);
	return observation;
}

static inline size_t finalists(const struct world *w, int *ret_order)
{
	size_t n = 99;
	struct err e = ERR_INIT;
	assert_int_equal(search_finalists(&w->in, TRIALS_MAX, ret_order, &n, &e), OK);
	return n;
}

#endif
