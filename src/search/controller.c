/*
 * Controller U: starts, else the highest score among everything that the operators' seeds lead to, else any
 * configuration that is left (rules R5 to R8).
 */
#include "base/base.h"

#include "search/anywhere.h"
#include "search/climb.h"
#include "search/explain.h"
#include "search/pending.h"
#include "search/score.h"
#include "search/seeds.h"
#include "search/start.h"
#include "search/strategies.h"

enum { STEPS = 2, STEPS_UNTIL_ONE_FITS = 6 };
static const double redraw_probability = 0.2;

static const struct origin *origin_of(struct scores *s, const struct seed *seed, int operator_index)
{
	struct origin *origin = arena_alloc(&s->arena, sizeof(*origin));
	*origin = (struct origin){.setting = seed->origin_setting,
		.observation = seed->observation,
		.name = seed->origin_name,
		.operator_bit = 1u << operator_index};
	return origin;
}

/* Two operators may offer the same configuration; climbing from it once more finds nothing new. */
static bool is_repeated(const struct scores *s, const struct seed_list *list, int index)
{
	for (int i = 0; i < index; i++)
		if (same_settings(list->seed[i].setting, list->seed[index].setting, s->n_levers))
			return true;
	return false;
}

static void climb_from(struct scores *s, const struct seed *seed, int operator_index)
{
	const struct origin *origin = origin_of(s, seed, operator_index);
	struct candidate *c = scores_look_up(s, seed->setting);
	if (seed->competes && candidate_may_run(s, c))
		scores_consider(s, c, origin);
	if (!seed->stays)
		climb(s, seed->setting, origin, s->nothing_fits_yet ? STEPS_UNTIL_ONE_FITS : STEPS);
}

static void run_survey(struct scores *s, const struct seed_operator *operator, int operator_index)
{
	struct seed here = seed_on_incumbent(s, s->incumbent_setting);
	operator->survey(s, origin_of(s, &here, operator_index));
}

static void run_operator(struct scores *s, int index, struct seed_list *list)
{
	const struct seed_operator *operator= seed_operator((enum search_operator)index);
	int first = list->n;
	if (operator->survey)
		run_survey(s, operator, index);
	else if (operator->generate)
		operator->generate(s, list);
	for (int i = first; i < list->n; i++)
		if (!is_repeated(s, list, i))
			climb_from(s, &list->seed[i], index);
}

static void run_operators(struct scores *s)
{
	struct seed_list list = {.n = 0};
	for (int k = 0; k < N_OPERATORS; k++) {
		enum search_operator which = (enum search_operator)k;
		bool is_of_use = !s->nothing_fits_yet || !seed_operator(which)->needs_time;
		if (is_of_use && search_operator_is_on(&s->in->switches, which))
			run_operator(s, k, &list);
	}
}

static void decide(struct scores *s, struct decision *d)
{
	const char *name;
	struct candidate *start = next_start(s, &name);
	if (start) {
		decision_fill(s, start, "start", name, d);
		return;
	}
	run_operators(s);
	if (s->best) {
		decision_fill(s, s->best, NULL, NULL, d);
		return;
	}
	struct random random;
	random_init(&random, s->in->seed, "anywhere", s->in->decision);
	struct candidate *c = anywhere(s, &random, s->incumbent_setting, redraw_probability);
	if (c)
		decision_fill(s, c, "random", "no operator has anything left; anywhere", d);
	else
		*d = (struct decision){.base_observation = -1, .incumbent_ln = s->incumbent_ln};
}

enum err_code controller_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	CLEANUP(scores_release) struct scores s = {0};
	TRY(scores_init(&s, in, reterr));
	if (in->n_pending)
		TRY(pending_fit(&s, reterr));
	decide(&s, ret_decision);
	return OK;
}
