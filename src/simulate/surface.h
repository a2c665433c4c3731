/*
 * Surfaces: measured configuration -> time tables as CSV, `knob...,time_s,peak_mem_gib,status` with status
 * ok, oom, compile_fail or runtime_fail (docs/simulate.md). Only configurations that were measured are legal.
 * A column that follows from the others as a product of powers (data parallel size, gradient accumulation) is
 * no lever: it is set by them, as a task file's `derived` would.
 *
 * The reference is the default that is given, else the lowest-valued configuration that ran.
 */
#ifndef INFRARSI_SIMULATE_SURFACE_H
#define INFRARSI_SIMULATE_SURFACE_H

#include "base/base.h"
#include "simulate/job.h"

struct surface_defaults; /* reference configurations by surface name */
enum err_code surface_defaults_load(
	const char *path, struct surface_defaults **ret_defaults, struct err *reterr) MUST_CHECK;
enum err_code surface_defaults_parse(const char *path, const char *text, size_t length,
	struct surface_defaults **ret_defaults, struct err *reterr) MUST_CHECK;
void surface_defaults_free(struct surface_defaults *defaults);

/* defaults: NULL = none. */
enum err_code surface_load(const char *path, const struct surface_defaults *defaults,
	struct simulated_job *ret_job, struct err *reterr) MUST_CHECK;
enum err_code surface_parse(const char *path, const char *text, size_t length,
	const struct surface_defaults *defaults, struct simulated_job *ret_job,
	struct err *reterr) MUST_CHECK;

/*
 * Experience from the same job elsewhere: the mean effect of each setting over the siblings' rows that differ
 * from another row in this setting alone, the nearest sibling's best configuration that is legal here, and at
 * most 40 rows of each of three, drawn, as runs for the memory model. Siblings: nearest first.
 */
void surface_learn(struct simulated_job *job, const struct simulated_job *const *siblings, size_t n_siblings);

#endif
