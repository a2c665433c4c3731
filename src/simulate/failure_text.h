/*
 * What a simulated crash or hang says of its cause: the line that the failure classifier would take from the
 * log. Six in ten name the settings that are to blame, 15 in a hundred name two others that the configuration
 * has, the rest says nothing of use. The settings are named in words alone: whether a search makes anything
 * of it is up to how it reads texts.
 *
 * The same configuration says the same with the same seed, however often and by whomever it is run.
 */
#ifndef INFRARSI_SIMULATE_FAILURE_TEXT_H
#define INFRARSI_SIMULATE_FAILURE_TEXT_H

#include "base/base.h"
#include "simulate/job.h"

/* Free it. NULL: it says nothing, or failures of this job do not explain themselves. */
char *failure_text(const struct simulated_job *job, const int *setting, uint64_t seed);

#endif
