#include "base/base.h"

#include "search/seeds.h"

void seed_incumbent(struct scores *s, struct seed_list *list)
{
	seed_add(list, seed_on_incumbent(s, s->incumbent_setting));
}
