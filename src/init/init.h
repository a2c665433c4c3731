/*
 * The `init` stage: recognises the stack of a repository, proposes knobs, writes a commented infrarsi.yaml
 * where there is none, validates it where there is one, and hashes the frozen files into infrarsi.lock. Never
 * needs the network; never overwrites a task file. Re-running updates the lock only when asked to (accept),
 * after saying what changed.
 */
#ifndef INFRARSI_INIT_INIT_H
#define INFRARSI_INIT_INIT_H

#include "base/base.h"
#include "base/memory.h"

struct strbuf;

struct init_fact { /* one thing that was found, with where; text from the repository: escape when shown */
	const char *what, *value, *where;
};

struct init_report {
	struct arena arena;
	bool wrote_task, wrote_lock, lock_differs;
	const char *stack;
	struct init_fact *facts; /* Stack, Launch, Knobs, Frozen, Editable: the lines of UX.md */
	size_t n_facts;
	int asks;                     /* ASK lines in a task file that was just written */
	const char *lock_differences; /* one line each; "" = none */
	const char *next;             /* the next sensible command */
};

struct init_options {
	const char *dir;       /* the job's folder */
	const char *catalogue; /* path of mechanisms.yaml; NULL = not at hand */
	bool accept_changes;   /* update a lock that differs */
};
enum err_code init_run(
	const struct init_options *options, struct init_report *ret_report, struct err *reterr) MUST_CHECK;
void init_report_release(struct init_report *r);

#endif
