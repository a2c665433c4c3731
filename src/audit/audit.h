/*
 * The source-path audit: syntax-tree rules on the change, not on the file. A finding with severity `block`
 * refuses the patch before it runs; `review` may run but needs acceptance before promotion.
 *
 * Rules are a table (audit.c); one file a rule. Languages: C now; Python joins by a grammar and its own rule
 * bodies.
 */
#ifndef INFRARSI_AUDIT_AUDIT_H
#define INFRARSI_AUDIT_AUDIT_H

#include "base/base.h"
#include "base/memory.h"

enum audit_severity { AUDIT_REVIEW, AUDIT_BLOCK };

struct audit_finding {
	const char *rule;  /* "A3" */
	const char *title; /* "optimizer work made conditional" */
	enum audit_severity severity;
	const char *file;
	int line; /* in the changed file, or in the old one for removed lines */
	bool in_old;
	const char *text; /* the line, trimmed; untrusted: escape when shown */
	const char *reason;
};

struct audit_report {
	struct arena arena;
	struct audit_finding *findings;
	size_t n_findings;
	bool blocked, review;
};

/* A source of file contents: the reference tree. Returns ERR_NOT_FOUND for a file that does not exist there.
 */
struct strbuf;
typedef enum err_code (*audit_read_fn)(
	void *context, const char *path, struct strbuf *ret_text, struct err *reterr);

enum err_code audit_diff(const char *diff, size_t length, audit_read_fn read_old, void *context,
	struct audit_report *ret_report, struct err *reterr) MUST_CHECK;
void audit_report_release(struct audit_report *r);

#endif
