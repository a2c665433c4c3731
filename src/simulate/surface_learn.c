/* What siblings teach: mean effects of settings as priors, a start, and runs for the memory's shape. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "model/axes.h"
#include "simulate/surface.h"
#include "simulate/surface_int.h"

static const double trust = 0.7, sd_ln = 0.02, sd_share = 0.5, capacity_sd = 0.02, bytes_share = 0.3;

/* Of more the memory model takes none. */
enum { SIBLINGS_WITH_RUNS = 3, RUNS_EACH = 40 };

struct mapping { /* a sibling's levers and settings among the target's */
	const struct surface *sibling;
	const struct simulated_job *job; /* the sibling's */
	int *lever;                      /* of each target lever; -1 = the sibling has none of that name */
	int **setting;                   /* by target lever and target setting; -1 = not there */
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
		.job = sibling,
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

/* ---- runs ---- */

/* On a number axis the sibling's own number, which need not be a setting here; else the setting of that name,
 * -1 where there is none. False: it has no place on the axis. */
static bool place_value(const struct simulated_job *job, const struct axes *axes, const struct mapping *m,
	int lever, const struct surface_row *row, double *ret_value)
{
	int theirs = m->lever[lever];
	const char *name = theirs < 0 ? NULL : m->job->levers[theirs].setting_names[row->setting[theirs]];
	const struct axis *axis = &axes->axis[lever];
	if (axis->kind == AXIS_NUMBER)
		return name && parse_number(name, ret_value) && isfinite(axis_place(axis, *ret_value));
	*ret_value = name ? setting_called(&job->levers[lever], name) : -1;
	return true;
}

static bool fill_run(struct arena *arena, const struct simulated_job *job, const struct axes *axes,
	const struct mapping *m, const struct surface_row *row, struct sibling_run *ret_run)
{
	double *value = arena_array(arena, (size_t)job->n_levers, sizeof(double));
	if (row->status != ROW_OK && row->status != ROW_OOM)
		return false;
	for (int l = 0; l < job->n_levers; l++)
		if (!place_value(job, axes, m, l, row, &value[l]))
			return false;
	*ret_run = (struct sibling_run){.value = value,
		.gain_ln = row->status == ROW_OK ? log(m->sibling->reference_time_s / row->time_s) : NAN,
		.peak_bytes = row->status == ROW_OK ? row->peak_bytes : NAN,
		.out_of_memory = row->status == ROW_OOM,
		.capacity_bytes = m->job->capacity_bytes};
	return true;
}

/* Rows drawn without replacement: a table is more than anybody has run. */
static size_t add_runs(struct arena *arena, const struct simulated_job *job, const struct axes *axes,
	const struct mapping *m, int sibling, struct sibling_run *ret_runs)
{
	struct random random;
	size_t n = m->sibling->n_rows, n_runs = 0;
	size_t *order = arena_array(arena, n, sizeof(*order));
	random_init(&random, 1, "sibling runs", (uint64_t)sibling);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = 0; i < n && n_runs < RUNS_EACH; i++) {
		size_t k = i + (size_t)random_below(&random, n - i), row = order[k];
		order[k] = order[i];
		if (fill_run(arena, job, axes, m, &m->sibling->rows[row], &ret_runs[n_runs]))
			ret_runs[n_runs++].sibling = sibling;
	}
	return n_runs;
}

static void learn_runs(struct simulated_job *job, const struct mapping *maps, size_t n_siblings)
{
	struct axes axes;
	struct sibling_run *runs =
		arena_array(&job->arena, (size_t)SIBLINGS_WITH_RUNS * RUNS_EACH, sizeof(struct sibling_run));
	axes_init(&axes, job->levers, job->n_levers);
	for (size_t i = 0; i < n_siblings && i < SIBLINGS_WITH_RUNS; i++)
		job->n_sibling_runs +=
			add_runs(&job->arena, job, &axes, &maps[i], (int)i, runs + job->n_sibling_runs);
	axes_release(&axes);
	job->sibling_runs = runs;
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
	learn_runs(job, maps, n_siblings);
	for (size_t i = 0; i < n_siblings && !job->experienced_start; i++)
		job->experienced_start = best_start(arena, job, &maps[i]);
}
