/*
 * Device slots (launch.device_slots): what each of several jobs at once has to itself. A job that runs alone
 * has the first, so that all are measured on alike.
 */
#ifndef INFRARSI_CAMPAIGN_SLOTS_H
#define INFRARSI_CAMPAIGN_SLOTS_H

#include "base/base.h"
#include "campaign/trial_int.h"

/* As the ledger and people name it: "devices 0,1 cpus 0-7". In `arena`. */
const char *slot_text(const struct device_slot *slot, struct arena *arena);
/* Its part of what an execution is prepared with. */
void slot_fill(const struct launch *launch, int slot, struct preparation *p);
/* ERR_INPUT unless the task declares slots for so many at once, and they are ours to give. One alone (0 or 1)
 * needs none. */
enum err_code slots_check(struct campaign *c, int at_once, struct err *reterr) MUST_CHECK;
/* ERR_STATE where the reference was measured on other devices than those that a run alone is given now. */
enum err_code slots_check_reference(const struct campaign *c, struct err *reterr) MUST_CHECK;

#endif
