#include "base/base.h"

#include "search/seeds.h"

/* Backtracking: what was added since may be what stands in the way. */
void seed_reference(struct scores *s, struct seed_list *list)
{
	seed_add(list, (struct seed){.setting = s->reference,
			       .observation = -1,
			       .origin_name = "reference",
			       .origin_setting = s->reference});
}
