/*
 * A runner (runner/runner.h) that launches nothing: it reads from the command line and from the switched
 * files which configuration was asked for, and answers with what the simulated job would have reported, at
 * the times at which it would have. No waiting.
 *
 *     struct runner runner;
 *     simulated_runner_init(&runner, &job, seed);
 *     options.runner = &runner;
 *
 * The job must outlive the runner. Release with runner_release().
 */
#ifndef INFRARSI_SIMULATE_SIMULATED_RUNNER_H
#define INFRARSI_SIMULATE_SIMULATED_RUNNER_H

#include "base/base.h"
#include "runner/runner.h"
#include "simulate/job.h"

void simulated_runner_init(struct runner *ret_runner, const struct simulated_job *job, uint64_t seed);

#endif
