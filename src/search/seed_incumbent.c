#include "base/base.h"

#include "search/seeds.h"

void seed_incumbent(struct scores *s, struct seed_list *list)
{
	seed_add(list, (struct seed){.setting = s->incumbent_setting,
			       .observation = s->incumbent,
			       .origin_name = s->incumbent < 0 ? "reference" : "incumbent",
			       .origin_setting = s->incumbent_setting});
}
