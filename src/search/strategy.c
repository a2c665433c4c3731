#include "base/base.h"

#include <string.h>

#include "search/search.h"
#include "search/strategies.h"

static const struct strategy table[] = {
	{"controller", "one score over the seeds of every operator (the default)", controller_next},
	{"random", "any legal configuration that has not run, each as likely as the other", random_next},
	{"greedy", "one change at a time, kept when strictly better (autoresearch)", greedy_next},
	{"best-of-chains", "three independent greedy chains, the best of all (RE-Bench)", chains_next},
	{"optico", "knobs only, one change at a time, repairs what ran out of memory (a reconstruction)",
		optico_next},
	{"aide", "five drafts, then debug failures or improve the best (AIDE)", aide_next},
	{"microbatch-ladder", "the micro-batch up a ladder for each ZeRO stage, then a grid (DeepSpeed)",
		ladder_next},
	{"tpe", "tree-structured Parzen estimator after ten random trials (Optuna)", tpe_next},
	{"tpe-sparse", "the same after four neighbours of the reference", tpe_sparse_next},
	{"one-factor", "the settings of one lever after the other, the best stays", one_factor_next},
};

const struct strategy *strategy_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

const struct strategy *strategy_list(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(table);
	return table;
}

bool strategy_has_models(const struct strategy *strategy)
{
	return strategy->next == controller_next;
}
