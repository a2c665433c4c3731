#include "base/base.h"

#include "search/seeds.h"

static const struct seed_operator table[] = {
	{"exploit", "one or two changes to the incumbent", true, seed_incumbent, NULL},
	{"backtrack", "one or two changes to the reference", false, seed_reference, NULL},
	{"bundle", "what a promising failed configuration lacked", false, seed_failed, NULL},
	{"escape", "several changes at once, drawn from the posterior", true, seed_jump, NULL},
	{"warm_restart", "one or two changes to a good configuration far from the incumbent", true,
		seed_restart, NULL},
	{"survey", "every configuration where there are few", false, NULL, survey},
};

const struct seed_operator *seed_operators(int *ret_count)
{
	*ret_count = ARRAY_LEN(table);
	return table;
}

void seed_add(struct seed_list *list, struct seed seed)
{
	if (list->n < MAX_SEEDS)
		list->seed[list->n++] = seed;
}
