/* Memory repair: the least that must be given up so that a configuration fits. */
#ifndef INFRARSI_SEARCH_REPAIR_H
#define INFRARSI_SEARCH_REPAIR_H

#include "base/base.h"
#include "search/score.h"

/* At most three legal one-change moves, each the one with the largest mean + 0.3 ln P(fits), until the
 * configuration is legal and P(fits) is at least a half (rule R7). The lever `kept` stays as it is; -1 =
 * none. What comes out need not fit. */
struct candidate *repair(struct scores *s, const int *setting, int kept);

#endif
