#include "base/base.h"

#include <math.h>
#include <string.h>

#include "search/pending.h"

/* More likely than not. */
static const double fits_from = 0.5;

static struct observation fantasy_of(struct scores *s, const int *setting)
{
	double peak, peak_sd, p_fits, mean, mean_sd;
	memory_model_predict(s->memory, setting, &peak, &peak_sd, &p_fits);
	bool fits = round_score(p_fits) >= fits_from && isfinite(peak);
	/* As the row will be read: where no peak is told, closeness to the capacity is not counted either. */
	peak = fits ? peak : NAN;
	time_model_predict(s->time, setting, peak, &mean, &mean_sd);
	return (struct observation){.setting = setting,
		.status = OBSERVED_OK,
		.has_gain = true,
		.gain_ln = mean,
		.peak_bytes = peak,
		.shortfall_bytes = NAN};
}

static struct observation *with_fantasies(struct scores *s)
{
	const struct search_input *in = s->in;
	size_t n = in->model.n_observations;
	struct observation *all = arena_array(&s->arena, n + in->n_pending, sizeof(*all));
	if (n)
		memcpy(all, in->model.observations, n * sizeof(*all));
	for (size_t i = 0; i < in->n_pending; i++)
		all[n + i] = fantasy_of(s, in->pending[i]);
	return all;
}

enum err_code pending_fit(struct scores *s, struct err *reterr)
{
	struct time_model *time = NULL;
	struct memory_model *memory = NULL;
	struct model_input *in = arena_alloc(&s->arena, sizeof(*in));
	*in = s->in->model;
	in->observations = with_fantasies(s);
	in->n_observations += s->in->n_pending;
	TRY(time_model_fit(in, &time, reterr));
	enum err_code code = memory_model_fit(in, &memory, reterr);
	if (code != OK) {
		time_model_free(time);
		return code;
	}
	time_model_free(s->time);
	memory_model_free(s->memory);
	s->time = time;
	s->memory = memory;
	/* Who leads was settled by what was measured; how far, by the models that candidates are held
	 * against. */
	if (s->incumbent >= 0)
		s->incumbent_ln = round_score(observation_mean_ln(s, s->incumbent));
	return OK;
}
