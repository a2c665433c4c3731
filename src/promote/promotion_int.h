/* Shared by the files of promotion: duels (promotion.c), confirmations (confirmation.c). */
#ifndef INFRARSI_PROMOTE_PROMOTION_INT_H
#define INFRARSI_PROMOTE_PROMOTION_INT_H

#include "promote/promotion.h"

enum { REFERENCE_RETRIES = 2 };

bool has_run(const struct execution *run);
bool is_usable(const struct execution *run);

/* True, and the step that begins it, where the winner has not been confirmed over that many updates. */
bool confirmation_wanted(const struct state *s, int updates, struct promotion_step *step);
/* What the confirmation that was begun wants next. */
void confirmation_next(const struct state *s, struct promotion_step *step);

#endif
