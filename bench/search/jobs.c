#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "bench.h"
#include "simulate/landscape.h"
#include "simulate/surface.h"

const char *const group_names[N_GROUPS] = {
	"generated landscapes", "paper-like landscapes", "training surfaces", "kernel tables"};

/* Where next to nothing can be won, fractions of it say nothing. */
static const double smallest_optimum_ln = 0.02;
enum { SIBLINGS_MAX = 3 };
static const char defaults_name[] = "defaults.json";

/* "_1p34b": a model of 1.34 billion parameters. Its first character; NULL = the name does not end so. */
static const char *find_size(const char *name, const char *end, double *ret_size_b)
{
	const char *at = end;
	while (at > name && at[-1] != '_')
		at--;
	char number[16] = "";
	size_t length = (size_t)(end - at);
	if (at == name || length < 2 || length > sizeof(number) || end[-1] != 'b')
		return NULL;
	for (size_t i = 0; i + 1 < length; i++)
		number[i] = at[i] == 'p' ? '.' : at[i];
	return parse_number(number, ret_size_b) && *ret_size_b > 0 ? at : NULL;
}

/* `<family>[_<size>]__<device>`: how much of it is the family. */
static size_t family_length(const char *name, double *ret_size_b)
{
	const char *end = strstr(name, "__");
	end = end ? end : name + strlen(name);
	const char *size = find_size(name, end, ret_size_b);
	if (!size)
		*ret_size_b = 1;
	return (size_t)((size ? size - 1 : end) - name);
}

static void take_job(struct bench *b, struct simulated_job *job, enum group group)
{
	if (!(job->optimum_ln > smallest_optimum_ln)) {
		fprintf(stderr, "left out: %s (the best is %.3fx)\n", job->name, exp(job->optimum_ln));
		simulated_job_release(job);
		return;
	}
	double size_b;
	size_t family = family_length(job->name, &size_b);
	job->failures_explain = b->options->hints;
	grow_array(&b->jobs, &b->capacity, b->n_jobs + 1, sizeof(*b->jobs));
	b->jobs[b->n_jobs++] = (struct bench_job){.job = *job,
		.group = group,
		.family = arena_strndup(&b->arena, job->name, family),
		.size_b = size_b};
}

static bool has_memory_readings(const struct simulated_job *job)
{
	int *reference = xcalloc((size_t)job->n_levers + 1, sizeof(int));
	job_reference(job, reference);
	bool has = !isnan(job_evaluate(job, reference).peak_bytes);
	free(reference);
	return has;
}

static enum err_code load_landscapes(struct bench *b, struct err *reterr)
{
	char **paths = NULL;
	size_t n = 0;
	enum err_code code = OK;
	TRY(glob_files(b->options->landscapes, "*.json", &paths, &n, reterr));
	for (size_t i = 0; i < n && code == OK; i++) {
		if (strcmp(paths[i], defaults_name) == 0) /* of surfaces that lie in the same folder */
			continue;
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", b->options->landscapes, paths[i]);
		struct simulated_job job;
		code = landscape_load(path, &job, reterr);
		if (code == OK)
			take_job(
				b, &job, strncmp(paths[i], "paper_", 6) == 0 ? GROUP_PAPER : GROUP_GENERATED);
	}
	free_strings(paths, n);
	return code;
}

static enum err_code load_tables(struct bench *b, const struct surface_defaults *defaults, struct err *reterr)
{
	char **paths = NULL;
	size_t n = 0;
	enum err_code code = OK;
	TRY(glob_files(b->options->surfaces, "*.csv", &paths, &n, reterr));
	for (size_t i = 0; i < n && code == OK; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", b->options->surfaces, paths[i]);
		struct simulated_job job;
		code = surface_load(path, defaults, &job, reterr);
		if (code == OK)
			take_job(b, &job, has_memory_readings(&job) ? GROUP_TRAINING : GROUP_KERNELS);
	}
	free_strings(paths, n);
	return code;
}

static enum err_code load_surfaces(struct bench *b, struct err *reterr)
{
	struct surface_defaults *defaults = NULL;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", b->options->surfaces, defaults_name);
	if (path_exists(path))
		TRY(surface_defaults_load(path, &defaults, reterr));
	enum err_code code = load_tables(b, defaults, reterr);
	surface_defaults_free(defaults);
	return code;
}

/* [number of devices differs] + |ln ratio of the model sizes|, as experience is ranked elsewhere; between
 * equals the nearer number of devices. */
static double distance_of(const struct bench_job *a, const struct bench_job *b)
{
	double apart = fabs(log((double)a->job.devices / b->job.devices));
	return (apart > 0) + fabs(log(a->size_b / b->size_b)) + 1e-3 * apart;
}

/* Nearest first, then in the order of the files. */
static void teach(struct bench *b, size_t self)
{
	const struct simulated_job *siblings[SIBLINGS_MAX];
	double distance[SIBLINGS_MAX];
	size_t n = 0;
	const struct bench_job *mine = &b->jobs[self];
	for (size_t i = 0; i < b->n_jobs; i++) {
		const struct bench_job *other = &b->jobs[i];
		if (i == self || !other->job.is_measured || strcmp(other->family, mine->family) != 0)
			continue;
		double d = distance_of(mine, other);
		size_t at = n;
		for (; at > 0 && distance[at - 1] > d; at--)
			if (at < SIBLINGS_MAX) {
				siblings[at] = siblings[at - 1];
				distance[at] = distance[at - 1];
			}
		if (at == SIBLINGS_MAX)
			continue;
		siblings[at] = &other->job;
		distance[at] = d;
		n = MIN_OF(n + 1, (size_t)SIBLINGS_MAX);
	}
	surface_learn(&b->jobs[self].job, siblings, n);
}

enum err_code bench_load(struct bench *b, struct err *reterr)
{
	if (b->options->landscapes)
		TRY(load_landscapes(b, reterr));
	if (b->options->surfaces)
		TRY(load_surfaces(b, reterr));
	for (size_t i = 0; i < b->n_jobs && b->options->siblings; i++)
		if (b->jobs[i].job.is_measured)
			teach(b, i);
	if (b->n_jobs == 0)
		return err_set(reterr, ERR_INPUT, "no landscape and no surface to run on");
	return OK;
}

void bench_release(struct bench *b)
{
	for (size_t i = 0; i < b->n_jobs; i++)
		simulated_job_release(&b->jobs[i].job);
	free(b->jobs);
	arena_release(&b->arena);
}
