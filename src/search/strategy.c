#include "base/base.h"

#include <string.h>

#include "search/search.h"
#include "search/strategies.h"

static const struct strategy table[] = {
	{"controller", "one score over the seeds of every operator (the default)", controller_next},
	{"random", "any legal configuration that has not run, each as likely as the other", random_next},
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
