/*
 * What asking a proposer cost. Servers and programs say it themselves, so their figures are looked at before
 * they count: one that cannot be meant is replaced or left out, and never takes anything off what was spent.
 */
#ifndef INFRARSI_PROPOSE_COST_H
#define INFRARSI_PROPOSE_COST_H

#include "base/base.h"

struct chat_cost {
	double tokens_in, tokens_out, usd, seconds;
	int attempts;
	bool estimated; /* a figure was not given, or cannot be meant; four bytes count as a token */
};

/* Of one exchange. */
bool cost_tokens_are_meant(double tokens);
bool cost_usd_is_meant(double usd);

#endif
