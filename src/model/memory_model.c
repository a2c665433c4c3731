/* What both forms of the memory ledger share, and the choice between them. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/memory_int.h"

struct memory_model { /* one of the two; neither: nothing limits memory */
	struct memory_additive *additive;
	struct memory_log *log;
};

/* An out-of-memory failure whose message shows more free than it asked for is fragmentation: no bound. */
struct memory_reading memory_out_of_memory(double shortfall_bytes, double unit_bytes)
{
	double shortfall = isnan(shortfall_bytes) ? 0 : shortfall_bytes / unit_bytes;
	return (struct memory_reading){.known = shortfall >= 0, .is_bound = true, .low = 1 + shortfall};
}

struct memory_reading memory_reading_of(const struct observation *o, double unit_bytes)
{
	bool finished = o->status == OBSERVED_OK || o->status == OBSERVED_INVALID;
	if (o->status == OBSERVED_OOM)
		return memory_out_of_memory(o->shortfall_bytes, unit_bytes);
	if (finished && !isnan(o->peak_bytes))
		return (struct memory_reading){.known = true, .low = o->peak_bytes / unit_bytes};
	return (struct memory_reading){.known = o->thrash, .is_range = true, .low = 0.9};
}

double memory_prior_sd_bytes(const struct lever_prior *prior, double unit_bytes)
{
	/* Declared bytes are the prior's mean as they are, so a declared sd is taken as it is, too. */
	if (!prior->experienced)
		return fmax(
			fmax(0.04 * unit_bytes, 0.5 * fabs(prior->declared_bytes)), prior->memory_sd_bytes);
	return prior->memory_sd_bytes > 0 ? prior->memory_sd_bytes
					  : fmax(0.02 * unit_bytes, 0.3 * fabs(prior->declared_bytes));
}

static enum err_code fit(const struct model_input *in, struct memory_model *m, struct err *reterr)
{
	struct axes axes;
	axes_init(&axes, in->levers, in->n_levers);
	if (axes.n_numbers > 0)
		return memory_log_fit_take(in, &axes, &m->log, reterr);
	axes_release(&axes);
	return memory_additive_fit(in, &m->additive, reterr);
}

enum err_code memory_model_fit(
	const struct model_input *in, struct memory_model **ret_model, struct err *reterr)
{
	struct memory_model *m = xcalloc(1, sizeof(*m));
	bool is_limited = isfinite(fmin(in->capacity_bytes, in->memory_cap_bytes));
	enum err_code code = is_limited ? fit(in, m, reterr) : OK;
	if (code != OK)
		memory_model_free(m);
	else
		*ret_model = m;
	return code;
}

void memory_model_free(struct memory_model *m)
{
	if (!m)
		return;
	memory_additive_free(m->additive);
	memory_log_free(m->log);
	free(m);
}

void memory_model_predict(struct memory_model *m, const int *setting, double *ret_peak_bytes,
	double *ret_sd_bytes, double *ret_p_fits)
{
	struct memory_belief b = {NAN, NAN, 1};
	if (m->additive)
		b = memory_additive_predict(m->additive, setting);
	else if (m->log)
		b = memory_log_predict(m->log, setting);
	*ret_peak_bytes = b.peak_bytes;
	*ret_sd_bytes = b.sd_bytes;
	*ret_p_fits = b.p_fits;
}

void memory_model_setting(
	const struct memory_model *m, int lever, int setting, double *ret_mean_bytes, double *ret_sd_bytes)
{
	struct memory_belief b = {NAN, NAN, 1};
	if (m->additive)
		b = memory_additive_setting(m->additive, lever, setting);
	else if (m->log)
		b = memory_log_setting(m->log, lever, setting);
	*ret_mean_bytes = b.peak_bytes;
	*ret_sd_bytes = b.sd_bytes;
}
