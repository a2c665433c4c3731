/*
 * Landscapes: simulated training jobs as JSON (docs/simulate.md has the fields): additive effects on ln
 * speed-up and on memory, interactions, conflicts, predictions that a search may see, and experience from a
 * sibling device. Input is not trusted: every error names the file, the JSON path and what was expected.
 */
#ifndef INFRARSI_SIMULATE_LANDSCAPE_H
#define INFRARSI_SIMULATE_LANDSCAPE_H

#include "base/base.h"
#include "simulate/job.h"

enum err_code landscape_load(const char *path, struct simulated_job *ret_job, struct err *reterr) MUST_CHECK;
/* The same from memory; `path` is what messages name. */
enum err_code landscape_parse(const char *path, const char *text, size_t length,
	struct simulated_job *ret_job, struct err *reterr) MUST_CHECK;

#endif
