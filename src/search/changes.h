/*
 * Several changes to one configuration at once: what the operators that jump are made of.
 *
 *     changes_sort(change, n);
 *     const int *setting = changes_apply(s, s->incumbent_setting, change, MIN_OF(n, 4));
 */
#ifndef INFRARSI_SEARCH_CHANGES_H
#define INFRARSI_SEARCH_CHANGES_H

#include "base/base.h"
#include "search/score.h"

struct change {
	int lever, to;
	double gain_ln; /* what is hoped for; rounded, so that ties are ties everywhere */
};

/* Largest gain first; then by lever and setting. */
void changes_sort(struct change *change, int n);
/* All of them at once where that is legal; else one after the other, each left out or completed by the first
 * other setting that restores what it breaks. NULL = none can be made. In the decision's arena. */
const int *changes_apply(struct scores *s, const int *base, const struct change *change, int n);

#endif
