#include "base/base.h"

#include "propose/cost.h"

/* Beyond any context window and any price of one exchange. NaN is not meant either. */
static const double most_tokens = 1e7, most_usd = 1e3;

bool cost_tokens_are_meant(double tokens)
{
	return tokens >= 0 && tokens <= most_tokens;
}

bool cost_usd_is_meant(double usd)
{
	return usd >= 0 && usd <= most_usd;
}
