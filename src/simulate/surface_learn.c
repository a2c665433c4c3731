/*
 * What siblings teach: mean effects of settings as priors, and a start. All that the models take today is a
 * prior for each setting; a model that takes the siblings' rows themselves finds them mapped on the target's
 * levers in struct mapping.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "simulate/surface.h"
#include "simulate/surface_int.h"

static const double trust = 0.7, sd_ln = 0.02, sd_share = 0.5, capacity_sd = 0.02, bytes_share = 0.3;

struct mapping { /* a sibling's levers and settings among the target's */
	const struct surface *sibling;
	int *lever;    /* of each target lever; -1 = the sibling has none of that name */
	int **setting; /* by target lever and target setting; -1 = not there */
};

static int setting_called(const struct lever *lever, const char *name)
{
	for (int i = 0; i < lever->n_settings; i++)
		if (strcmp(lever->setting_names[i], name) == 0)
			return i;
	return -1;
}

static struct mapping map_sibling(
	struct arena *arena, const struct simulated_job *job, const struct simulated_job *sibling)
{
	size_t n = (size_t)job->n_levers;
	struct mapping m = {.sibling = sibling->data,
		.lever = arena_array(arena, n, sizeof(int)),
		.setting = arena_array(arena, n, sizeof(int *))};
	for (int l = 0; l < job->n_levers; l++) {
		const struct lever *mine = &job->levers[l];
		m.lever[l] = -1;
		for (int k = 0; k < sibling->n_levers; k++)
			if (strcmp(sibling->levers[k].name, mine->name) == 0)
				m.lever[l] = k;
		m.setting[l] = arena_array(arena, (size_t)mine->n_settings, sizeof(int));
		for (int i = 0; i < mine->n_settings; i++)
			m.setting[l][i] = m.lever[l] < 0 ? -1
							 : setting_called(&sibling->levers[m.lever[l]],
								   mine->setting_names[i]);
	}
	return m;
}

struct effect {
	double gain_ln, bytes;
	size_t n, n_bytes;
};

/* Rows with the setting against the same rows with the target's reference setting. */
static void add_effect(
	struct arena *arena, const struct mapping *m, int lever, int setting, int reference, struct effect *e)
{
	const struct surface *s = m->sibling;
	int theirs = m->lever[lever];
	if (theirs < 0 || m->setting[lever][setting] < 0 || m->setting[lever][reference] < 0)
		return;
	int *partner = arena_array(arena, (size_t)s->n_levers, sizeof(int));
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct surface_row *row = &s->rows[i];
		if (row->status != ROW_OK || row->setting[theirs] != m->setting[lever][setting])
			continue;
		memcpy(partner, row->setting, (size_t)s->n_levers * sizeof(int));
		partner[theirs] = m->setting[lever][reference];
		const struct surface_row *base = surface_find(s, partner);
		if (!base || base->status != ROW_OK)
			continue;
		e->gain_ln += log(base->time_s / row->time_s);
		e->n++;
		if (isnan(row->peak_bytes) || isnan(base->peak_bytes))
			continue;
		e->bytes += row->peak_bytes - base->peak_bytes;
		e->n_bytes++;
	}
}

static void set_prior(const struct simulated_job *job, const struct effect *e, struct lever_prior *p)
{
	if (e->n == 0)
		return;
	double gain = e->gain_ln / (double)e->n;
	p->experienced = true;
	p->mean_ln = trust * gain;
	p->sd_ln = fmax(sd_ln, sd_share * fabs(gain));
	if (e->n_bytes == 0 || !isfinite(job->capacity_bytes))
		return;
	p->declared_bytes = e->bytes / (double)e->n_bytes;
	p->memory_sd_bytes = fmax(capacity_sd * job->capacity_bytes, bytes_share * fabs(p->declared_bytes));
}

/* The sibling's fastest row that is legal here; NULL = none is. */
static const int *best_start(struct arena *arena, const struct simulated_job *job, const struct mapping *m)
{
	const struct surface *s = m->sibling;
	int *setting = arena_array(arena, (size_t)job->n_levers, sizeof(int)), *best = NULL;
	double best_s = INFINITY;
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct surface_row *row = &s->rows[i];
		bool mapped = row->status == ROW_OK && row->time_s < best_s;
		for (int l = 0; l < job->n_levers && mapped; l++) {
			setting[l] = job->levers[l].reference;
			mapped = m->lever[l] < 0;
			for (int v = 0; v < job->levers[l].n_settings && !mapped; v++) {
				mapped = m->setting[l][v] == row->setting[m->lever[l]];
				setting[l] = mapped ? v : setting[l];
			}
		}
		if (!mapped || !surface_find(job->data, setting))
			continue;
		if (!best)
			best = arena_array(arena, (size_t)job->n_levers, sizeof(int));
		memcpy(best, setting, (size_t)job->n_levers * sizeof(int));
		best_s = row->time_s;
	}
	return best;
}

void surface_learn(struct simulated_job *job, const struct simulated_job *const *siblings, size_t n_siblings)
{
	struct arena *arena = &job->arena;
	if (n_siblings == 0)
		return;
	struct mapping *maps = arena_array(arena, n_siblings, sizeof(*maps));
	struct lever *levers = arena_array(arena, (size_t)job->n_levers, sizeof(*levers));
	for (size_t i = 0; i < n_siblings; i++)
		maps[i] = map_sibling(arena, job, siblings[i]);
	for (int l = 0; l < job->n_levers; l++) {
		size_t size = (size_t)job->levers[l].n_settings;
		levers[l] = job->levers[l];
		levers[l].prior = arena_array(arena, size, sizeof(struct lever_prior));
		memcpy(levers[l].prior, job->levers[l].prior, size * sizeof(struct lever_prior));
		for (int v = 0; v < job->levers[l].n_settings; v++) {
			struct effect e = {0};
			for (size_t i = 0; i < n_siblings && v != levers[l].reference; i++)
				add_effect(arena, &maps[i], l, v, levers[l].reference, &e);
			set_prior(job, &e, &levers[l].prior[v]);
		}
	}
	job->experienced_levers = levers;
	for (size_t i = 0; i < n_siblings && !job->experienced_start; i++)
		job->experienced_start = best_start(arena, job, &maps[i]);
}
