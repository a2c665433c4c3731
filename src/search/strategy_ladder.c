/*
 * The micro-batch ladder of DeepSpeed's autotuner: for each ZeRO stage the micro-batch grows until it fails
 * or is no faster; then the other knobs are gone through as a grid around the best. Knobs only. Where a task
 * has neither knob, only the grid is left.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "search/strategies.h"
#include "search/strategy_rival.h"

enum { GRID_MAX = 100000 };

static const char *const micro_batch_names[] = {"micro_batch", "micro_batch_size", "mbs", "micro_bs",
	"train_micro_batch_size_per_gpu", "per_device_train_batch_size", "batch_per_device"};
static const char *const stage_names[] = {"zero", "zero_stage", "stage", "sharding", "fsdp", "fsdp_sharding"};

static int lever_called(const struct rival *r, const char *const *names, size_t n_names)
{
	for (int l = 0; l < r->s.n_levers; l++)
		for (size_t i = 0; i < n_names; i++)
			if (strcmp(r->s.in->model.levers[l].name, names[i]) == 0)
				return l;
	return -1;
}

struct ladder {
	struct rival *r;
	int micro_batch, stage; /* levers; -1 = none */
	const int *best;
	double best_ln;
};

/* The reference with this stage and micro-batch; NULL where no legal configuration has them. */
static struct candidate *rung(struct ladder *l, int stage, int micro_batch)
{
	struct rival *r = l->r;
	int *setting = settings_copy(&r->s.arena, r->s.reference, r->s.n_levers);
	struct candidate *c = scores_look_up(&r->s, setting);
	if (l->stage >= 0 && stage != setting[l->stage])
		c = rival_legal_change(r, setting, l->stage, stage);
	if (!c)
		return NULL;
	memcpy(setting, c->setting, (size_t)r->s.n_levers * sizeof(int));
	if (l->micro_batch < 0 || micro_batch == setting[l->micro_batch])
		return c;
	return rival_legal_change(r, setting, l->micro_batch, micro_batch);
}

/* The rung of this stage that has not been tried; NULL = the stage is done with. */
static struct candidate *climb_stage(struct ladder *l, int stage)
{
	struct rival *r = l->r;
	int rungs = l->micro_batch < 0 ? 1 : r->s.in->model.levers[l->micro_batch].n_settings;
	double before = -INFINITY;
	for (int b = 0; b < rungs; b++) {
		struct candidate *c = rung(l, stage, b);
		if (!c)
			continue;
		double gain = rival_gain_ln(r, c->setting);
		if (isnan(gain) && rival_find(r, c->setting) < 0) {
			if (candidate_may_run(&r->s, c))
				return c;
			continue; /* it runs now */
		}
		if (!(gain > before))
			return NULL;
		before = gain;
		if (gain > l->best_ln) {
			l->best_ln = gain;
			l->best = c->setting;
		}
	}
	return NULL;
}

/* The next setting vector in counting order, the last knob fastest; false after the last. */
static bool count_up(const struct ladder *l, int *setting)
{
	for (int k = l->r->s.n_levers; k-- > 0;) {
		const struct lever *lever = &l->r->s.in->model.levers[k];
		if (k == l->micro_batch || k == l->stage || lever->is_patch)
			continue;
		if (++setting[k] < lever->n_settings)
			return true;
		setting[k] = 0;
	}
	return false;
}

static struct candidate *grid(struct ladder *l)
{
	struct rival *r = l->r;
	int *setting = settings_copy(&r->s.arena, l->best, r->s.n_levers);
	for (int k = 0; k < r->s.n_levers; k++)
		if (k != l->micro_batch && k != l->stage && !r->s.in->model.levers[k].is_patch)
			setting[k] = 0;
	r->label = "grid";
	r->origin = (struct origin){l->best, rival_find(r, l->best), "the ladder's best", 0};
	for (int i = 0; i < GRID_MAX; i++) {
		struct candidate *c = scores_look_up(&r->s, setting);
		if (candidate_may_run(&r->s, c))
			return c;
		if (!count_up(l, setting))
			break;
	}
	return NULL;
}

static struct candidate *propose(struct rival *r)
{
	struct ladder l = {.r = r,
		.micro_batch = lever_called(r, micro_batch_names, ARRAY_LEN(micro_batch_names)),
		.stage = lever_called(r, stage_names, ARRAY_LEN(stage_names)),
		.best = r->s.reference,
		.best_ln = -INFINITY};
	int stages = l.stage < 0 ? 1 : r->s.in->model.levers[l.stage].n_settings;
	r->label = "ladder";
	for (int stage = 0; stage < stages && (l.stage >= 0 || l.micro_batch >= 0); stage++) {
		struct candidate *c = climb_stage(&l, stage);
		if (c)
			return c;
	}
	return grid(&l);
}

enum err_code ladder_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "microbatch-ladder", propose, ret_decision, reterr);
}
