/*
 * Best of several independent attempts (RE-Bench, Wijk et al. 2024): three greedy chains from the reference
 * that share the budget in turn and know nothing of each other; the best of all wins. Each chain believes the
 * predictions with an error of its own, as repeated samples of one adviser do.
 */
#include "base/base.h"

#include <math.h>

#include "search/strategies.h"
#include "search/strategy_rival.h"

enum { CHAINS = 3 };

/* Standard deviation of the predictions over all settings. */
static double spread(const struct rival *r)
{
	double sum = 0, squares = 0;
	int n = 0;
	for (int l = 0; l < r->s.n_levers; l++) {
		const struct lever *lever = &r->s.in->model.levers[l];
		for (int to = 0; to < lever->n_settings; to++, n++) {
			double worth = rival_worth(lever, to);
			sum += worth;
			squares += worth * worth;
		}
	}
	return n ? sqrt(fmax(squares / n - sum / n * (sum / n), 0)) : 0;
}

static const double *beliefs(struct rival *r, const int *base, uint64_t chain)
{
	struct random random;
	double *worth = rival_untried_worth(r, base, chain, CHAINS);
	double error = spread(r);
	int id = 0;
	random_init(&random, r->s.in->seed, "chain", chain);
	for (int l = 0; l < r->s.n_levers; l++) {
		const struct lever *lever = &r->s.in->model.levers[l];
		for (int to = 0; to < lever->n_settings; to++)
			worth[id++] += error * random_normal(&random);
	}
	return worth;
}

static struct candidate *propose(struct rival *r)
{
	static const char *const names[CHAINS] = {"chain 1", "chain 2", "chain 3"};
	size_t chain = r->s.in->model.n_observations % CHAINS;
	int incumbent = rival_incumbent(r->s.in, chain, CHAINS, 0);
	r->label = names[chain];
	const int *base = rival_build_on(r, incumbent, "the chain's incumbent");
	return rival_best_change(r, base, beliefs(r, base, chain), false);
}

enum err_code chains_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "best-of-chains", propose, ret_decision, reterr);
}
