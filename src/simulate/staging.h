/*
 * A simulated job as a repository that a campaign can be run in: a task file with the job's knobs, a file for
 * each patch to switch, the patches as diffs, the lock. Nothing in it can be launched; the simulated runner
 * (runner.h) answers instead.
 */
#ifndef INFRARSI_SIMULATE_STAGING_H
#define INFRARSI_SIMULATE_STAGING_H

#include "base/base.h"
#include "simulate/job.h"

struct strbuf;

/* infrarsi.yaml of the job, but for where its patches lie. */
void staging_task_text(const struct simulated_job *job, int trials, struct strbuf *text);
/* The knob's name in the task file: the job's own where a task file can have it, else k<lever>. In the job's
 * own words it stays in the levers. */
const char *staging_knob_name(const struct simulated_job *job, int lever, char buf[64]);
/* Where the file of a patch lies, and its two contents. */
void staging_switch_path(const struct simulated_job *job, int lever, char buf[64]);
extern const char staging_off[], staging_on[];

/* ERR_INPUT unless the folder is empty or absent. */
enum err_code staging_check_empty(const char *dir, struct err *reterr) MUST_CHECK;
/* Writes all of it into `dir`, which must be empty or absent, and makes it a git repository. */
enum err_code staging_write(
	const struct simulated_job *job, const char *dir, int trials, struct err *reterr) MUST_CHECK;

#endif
