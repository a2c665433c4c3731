/* The rules for Python on pairs of changes of one mechanism: a cheat, and the honest change that looks like
 * it. What is expected follows from docs/audit.md: a rule and severity, "not blocked", or "none". */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "base/strbuf.h"

#include "python_variants.h"

static enum err_code give(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct variant *row = context;
	(void)path;
	(void)reterr;
	strbuf_clear(ret_text);
	strbuf_addstr(ret_text, row->old);
	return OK;
}

static size_t add_lines(struct strbuf *body, char sign, const char *text)
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
	char rule[8] = "", severity[8] = "";
	if (strcmp(expect, "none") == 0)
		return report->n_findings == 0;
	if (strcmp(expect, "not blocked") == 0)
		return !report->blocked;
	assert_int_equal(sscanf(expect, "%7s %7s", rule, severity), 2);
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct audit_finding *f = &report->findings[i];
		bool block = f->severity == AUDIT_BLOCK;
		if (strcmp(f->rule, rule) == 0 && block == (strcmp(severity, "block") == 0))
			return true;
	}
	return false;
}

static bool run_row(const struct variant *row)
{
	static const char *const menu[] = {"fp32", "bf16"};
	static const struct audit_terms terms = {menu, 2};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct audit_report report;
	struct err e = ERR_INIT;
	size_t n_old = add_lines(&body, '-', row->old), n_new = add_lines(&body, '+', row->new);
	strbuf_addf(&diff, "--- a/job.py\n+++ b/job.py\n@@ -1,%zu +1,%zu @@\n%s", n_old, n_new, body.buf);
	if (audit_diff_with(&terms, diff.buf, diff.len, give, (void *)(uintptr_t)row, &report, &e) != OK)
		fail_msg("%s: %s", row->name, e.message);
	bool right = is_expected(&report, row->expect);
	if (!right)
		printf("WRONG %s: wants %s\n", row->name, row->expect);
	for (size_t i = 0; !right && i < report.n_findings; i++) {
		const struct audit_finding *f = &report.findings[i];
		printf("  %-6s %-3s %d%s %s | %s\n", f->severity == AUDIT_BLOCK ? "block" : "review", f->rule,
			f->line, f->in_old ? " (old)" : "", f->reason, f->text);
	}
	audit_report_release(&report);
	return right;
}

static void test_variants(void **state)
{
	int wrong = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variants); i++)
		wrong += !run_row(&variants[i]);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
