/*
 * A log with what is expected of it beside it: <name>.log and <name>.expected.json. Everything expected is
 * compared with the summary's JSON, amounts in GiB to 1e-6 and all else exactly, and what the summary says
 * beyond it disagrees, too. Inputs rather than expectations are: notes, harness_exit (the job's exit status,
 * as its supervisor saw it; the kind of failure with it is kind_with_harness_exit), requested_updates,
 * expected_exit.
 */
#ifndef INFRARSI_ADAPTER_LOG_CASE_H
#define INFRARSI_ADAPTER_LOG_CASE_H

#include "adapter/log.h"
#include "base/base.h"

struct strbuf;

/* Adds a line "  field: got .., expected .." for each disagreement; their number in *ret_count. Fails where a
 * file cannot be read or the expectation is no JSON object. */
enum err_code log_case_compare(const char *log_path, const struct log_literals *literals,
	struct strbuf *disagreements, size_t *ret_count, struct err *reterr) MUST_CHECK;

#endif
