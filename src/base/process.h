/*
 * Short helper programs (git, the compiler's --version) run to completion, with their output captured. Trials
 * never go through here: see runner/.
 */
#ifndef INFRARSI_BASE_PROCESS_H
#define INFRARSI_BASE_PROCESS_H

#include "base/base.h"

struct strbuf;

struct process_run {
	const char *const *argv; /* NULL-terminated; found on PATH */
	const char *const
		*env;      /* NULL-terminated "NAME=value"; NULL = what is_helper_variable() lets through */
	const char *dir;   /* working directory; NULL = inherit */
	const char *input; /* bytes for standard input; NULL = /dev/null */
	size_t input_length;
	size_t output_cap_bytes;  /* 0 = FILE_CAP_DEFAULT; more output is ERR_LIMIT */
	size_t errors_kept_bytes; /* of stderr the end is kept, and no length is too much; 0 = as
				     output_cap_bytes */
	double timeout_s;         /* 0 = 60 */
	const int *stop_fd;       /* readable = kill it: ERR_INTERRUPTED; NULL or a negative number = none */
};

/* Helper programs get no more of our environment than programs need in order to run (PATH, HOME, the locale,
 * the loader's paths): anything else may be a secret. True for such a "NAME=value". */
bool is_helper_variable(const char *variable);

/* Ends when the program does, and kills what it left running in its process group. OK also when the program
 * fails: look at *ret_status (exit code, or 128 + signal). stderr goes to *ret_errors where given, else into
 * *ret_output. Both are cleared first, and after a failure hold what came until then. ERR_NOT_FOUND when the
 * program or the folder does not exist, ERR_FAILED after timeout_s, ERR_LIMIT for too much output,
 * ERR_INTERRUPTED by stop_fd. */
enum err_code process_run(const struct process_run *run, struct strbuf *ret_output, struct strbuf *ret_errors,
	int *ret_status, struct err *reterr) MUST_CHECK;

/* Runs git in `dir`, hooks and configuration of the user off where they could run code; ERR_FAILED with git's
 * own message when it exits non-zero. The argument list ends with NULL. ret_output may be NULL. */
enum err_code git_run(const char *dir, struct strbuf *ret_output, struct err *reterr, ...) MUST_CHECK;
/* With the whole command line (argv[0] is "git") and environment in the caller's hand. env NULL, as in
 * git_run(): what helpers get, and git's own settings and identity, less the variables that point git at
 * another repository. */
enum err_code git_run_argv(const char *dir, const char *const *argv, const char *const *env,
	const char *input, size_t input_length, struct strbuf *ret_output, struct err *reterr) MUST_CHECK;

#endif
