#include "base/base.h"

#include <math.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "simulate/landscape.h"
#include "simulate/landscape_int.h"

/* Beyond any training job; keeps step times and bytes within what an event can say. */
static const double gain_limit_ln = 10, peak_limit_bytes = 1e6 * LANDSCAPE_GIB;
/* From here on nearness to the capacity costs time. */
static const double thrash_from = 0.9;

static bool all_present(const struct term *terms, size_t n, const int *setting)
{
	for (size_t i = 0; i < n; i++)
		if (setting[terms[i].lever] != terms[i].setting)
			return false;
	return true;
}

/* The first conflict of one of two kinds; NULL = none. */
static const struct conflict *conflict_of(
	const struct landscape *l, const int *setting, enum job_end one, enum job_end other)
{
	for (size_t i = 0; i < l->n_conflicts; i++) {
		const struct conflict *c = &l->conflicts[i];
		if ((c->end == one || c->end == other) && all_present(c->terms, c->n_terms, setting))
			return c;
	}
	return NULL;
}

static enum job_end end_of(const struct conflict *c)
{
	return c ? c->end : JOB_RUNS;
}

static void add_up(const struct simulated_job *job, const int *setting, double *ret_gain, double *ret_peak)
{
	const struct landscape *l = job->data;
	double gain = 0, peak = l->reference_peak_bytes;
	for (int k = 0; k < job->n_levers; k++) {
		gain += l->gain_ln[l->first_id[k] + setting[k]];
		peak += l->bytes[l->first_id[k] + setting[k]];
	}
	for (size_t i = 0; i < l->n_interactions; i++) {
		const struct interaction *x = &l->interactions[i];
		if (!all_present(x->terms, x->n_terms, setting))
			continue;
		gain += x->gain_ln;
		peak += x->bytes;
	}
	*ret_gain = fmin(fmax(gain, -gain_limit_ln), gain_limit_ln);
	*ret_peak = fmin(fmax(peak, -peak_limit_bytes), peak_limit_bytes);
}

static struct truth evaluate(const struct simulated_job *job, const int *setting)
{
	const struct landscape *l = job->data;
	struct truth t = {
		.end = end_of(conflict_of(l, setting, JOB_CRASHES, JOB_HANGS)), .excess_bytes = NAN};
	add_up(job, setting, &t.gain_ln, &t.peak_bytes);
	if (t.end != JOB_RUNS)
		return t;
	if (t.peak_bytes > job->capacity_bytes) {
		t.end = JOB_OOM;
		t.excess_bytes = t.peak_bytes - job->capacity_bytes;
		return t;
	}
	double fill = t.peak_bytes / job->capacity_bytes;
	t.gain_ln -= l->thrash_ln * fmax(0, (fill - thrash_from) / (1 - thrash_from));
	t.end = end_of(conflict_of(l, setting, JOB_LOSES, JOB_CHEATS));
	return t;
}

static int culprits(const struct simulated_job *job, const int *setting, int *ret_lever)
{
	const struct conflict *c = conflict_of(job->data, setting, JOB_CRASHES, JOB_HANGS);
	int n = c ? (int)MIN_OF(c->n_terms, (size_t)CULPRITS_MAX) : 0;
	for (int i = 0; i < n; i++)
		ret_lever[i] = c->terms[i].lever;
	return n;
}

const struct job_kind landscape_kind = {"landscape", evaluate, NULL, culprits};

enum err_code landscape_load(const char *path, struct simulated_job *ret_job, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
	return landscape_parse(path, text.buf, text.len, ret_job, reterr);
}
