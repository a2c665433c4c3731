/* Small changes as rows of a table: what a text is, what it becomes, and what the audit must say of it.
 *
 * expect: "none": no finding; "not blocked": at most reviews; "not clean": some finding; or rules and a
 * severity, one of which must be found: "A3|A4 block". */
#ifndef INFRARSI_TEST_CHANGE_ROWS_H
#define INFRARSI_TEST_CHANGE_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/base.h"
#include "base/memory.h"
#include "base/strbuf.h"

/* `old` becomes `new` in the job, and perhaps `old2` becomes `new2`. */
struct change_row {
	const char *name, *job; /* job: its text, or the file that holds it */
	const char *old, *new, *old2, *new2, *expect;
};

static enum err_code give_text(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	(void)path;
	(void)reterr;
	strbuf_clear(ret_text);
	strbuf_addstr(ret_text, context);
	return OK;
}

static size_t add_diff_lines(struct strbuf *body, char sign, const char *text)
{
	size_t lines = 0;
	for (; *text; lines++) {
		size_t length = strcspn(text, "\n");
		strbuf_addch(body, sign);
		strbuf_add(body, text, length);
		strbuf_addch(body, '\n');
		text += length + 1;
	}
	return lines;
}

static bool is_expected(const struct audit_report *report, const char *expect)
{
	char rules[32] = "", severity[8] = "";
	if (strcmp(expect, "none") == 0)
		return report->n_findings == 0;
	if (strcmp(expect, "not blocked") == 0)
		return !report->blocked;
	if (strcmp(expect, "not clean") == 0)
		return report->n_findings > 0;
	assert_int_equal(sscanf(expect, "%31s %7s", rules, severity), 2);
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct audit_finding *f = &report->findings[i];
		size_t length = strlen(f->rule);
		const char *at = strstr(rules, f->rule);
		bool named = at && (at[length] == '|' || at[length] == '\0');
		if (named && (f->severity == AUDIT_BLOCK) == (strcmp(severity, "block") == 0))
			return true;
	}
	return false;
}

/* Prints what was found where it is not what the row wants, and always with AUDIT_VERBOSE. */
static bool check_texts(const char *name, const char *path, const char *old, const char *new,
	const struct audit_terms *terms, const char *expect)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct audit_report report;
	struct err e = ERR_INIT;
	size_t n_old = add_diff_lines(&body, '-', old), n_new = add_diff_lines(&body, '+', new);
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n@@ -1,%zu +1,%zu @@\n%s", path, path, n_old, n_new, body.buf);
	if (audit_diff_with(terms, diff.buf, diff.len, give_text, (void *)(uintptr_t)old, &report, &e) != OK)
		fail_msg("%s: %s", name, e.message);
	bool right = is_expected(&report, expect);
	if (!right)
		printf("WRONG %s: wants %s\n", name, expect);
	for (size_t i = 0; (!right || getenv("AUDIT_VERBOSE")) && i < report.n_findings; i++) {
		const struct audit_finding *f = &report.findings[i];
		printf("  %-30.30s %-6s %-3s %d%s %s | %s\n", name,
			f->severity == AUDIT_BLOCK ? "block" : "review", f->rule, f->line,
			f->in_old ? " (old)" : "", f->reason, f->text);
	}
	audit_report_release(&report);
	return right;
}

/* ---- rows that change a job in one or two places ---- */

static inline char *replaced(const char *name, const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	if (!at || strstr(at + 1, old))
		fail_msg("%s: the text to be changed must occur once", name);
	return xasprintf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static inline bool check_change(const struct change_row *row, const char *path, const char *job)
{
	static const char *const menu[] = {"fp32"};
	static const struct audit_terms terms = {menu, 1};
	CLEANUP(free_ptr) char *once = replaced(row->name, job, row->old, row->new);
	CLEANUP(free_ptr) char *twice = row->old2 ? replaced(row->name, once, row->old2, row->new2) : NULL;
	return check_texts(row->name, path, job, twice ? twice : once, &terms, row->expect);
}

#endif
