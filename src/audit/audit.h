/*
 * The source-path audit: syntax-tree rules on the change, not on the file. A finding with severity `block`
 * refuses the patch before it runs; `review` may run but needs acceptance before promotion.
 *
 *     struct audit_report report;
 *     TRY(audit_diff_with(&terms, patch->diff, strlen(patch->diff), read_old, context, &report, reterr));
 *     if (report.blocked)
 *         ...
 *     audit_report_release(&report);
 *
 * Rules are a table (audit.c); a rule has a body for C (rule_x.c) and one for Python (rule_py_x.c), which see
 * the facts of their language alone. Another changed file is one finding of rule A0 (review).
 *
 * The diff must be canonical (patch/patch.h): it has to apply to what read_old gives, strictly. ERR_INPUT
 * when it does not, ERR_LIMIT when a source is too large or too deeply nested to be read: both refuse the
 * patch.
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

/* What of the contract decides about findings. */
struct audit_terms {
	const char *const *precision; /* the menu: "fp32", "bf16", ... */
	size_t n_precision;           /* 0 = no menu: lower precision is for review, not blocked */
};

/* terms may be NULL: nothing known. */
enum err_code audit_diff_with(const struct audit_terms *terms, const char *diff, size_t length,
	audit_read_fn read_old, void *context, struct audit_report *ret_report,
	struct err *reterr) MUST_CHECK;
enum err_code audit_diff(const char *diff, size_t length, audit_read_fn read_old, void *context,
	struct audit_report *ret_report, struct err *reterr) MUST_CHECK;
void audit_report_release(struct audit_report *r);

/* The table, for `infrarsi audit --rules` and the documentation's check. False past the end. */
struct audit_rule_text {
	const char *id, *title, *anchor; /* anchor: section of docs/audit.md */
	enum audit_severity gravest;
	bool reads_c, reads_python;
};
bool audit_rule_at(size_t index, struct audit_rule_text *ret_rule);

#endif
