/* The canonical JSON of everything in a task that fixes its contract; its SHA-256 is the contract's digest.
 */
#ifndef INFRARSI_SPEC_CONTRACT_JSON_H
#define INFRARSI_SPEC_CONTRACT_JSON_H

#include "base/base.h"

struct task;

/*
 * The contract section, stack, build and launch, the knobs' reference settings and the derived values. Not
 * what only steers the search: other settings, priors, conflicts, starts, proposers, budget, timeouts.
 */
void contract_digest(const struct task *task, char ret_hex[65]);

#endif
