/* The rules for Python on small changes: what each kind of cheat is called, and that honest changes pass. */
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
#include "python_jobs.h"
#include "python_changes.h"
#include "python_further.h"
#include "python_plain.h"

static enum err_code give(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const char *text = context;
	(void)path;
	(void)reterr;
	strbuf_clear(ret_text);
	strbuf_addstr(ret_text, text);
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

static void audit_texts(const char *path, const char *old, const char *new, struct audit_report *report)
{
	static const char *const menu[] = {"fp32"};
	static const struct audit_terms terms = {menu, 1};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct err e = ERR_INIT;
	size_t n_old = add_lines(&body, '-', old), n_new = add_lines(&body, '+', new);
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n@@ -1,%zu +1,%zu @@\n%s", path, path, n_old, n_new, body.buf);
	if (audit_diff_with(&terms, diff.buf, diff.len, give, (void *)old, report, &e) != OK)
		fail_msg("%s", e.message);
}

static char *replaced(const char *name, const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	if (!at || strstr(at + 1, old))
		fail_msg("%s: the text to be changed must occur once", name);
	return xasprintf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static char *changed(const struct change_row *row)
{
	char *once = replaced(row->name, row->job, row->old, row->new);
	if (!row->old2)
		return once;
	char *twice = replaced(row->name, once, row->old2, row->new2);
	free(once);
	return twice;
}

static bool is_expected(const struct audit_report *report, const char *expect)
{
	char rule[8] = "", severity[8] = "";
	if (strcmp(expect, "none") == 0)
		return report->n_findings == 0;
	if (strcmp(expect, "not blocked") == 0)
		return !report->blocked;
	if (strcmp(expect, "not clean") == 0)
		return report->n_findings > 0;
	assert_int_equal(sscanf(expect, "%7s %7s", rule, severity), 2);
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct audit_finding *f = &report->findings[i];
		bool block = f->severity == AUDIT_BLOCK;
		if (strcmp(f->rule, rule) == 0 && block == (strcmp(severity, "block") == 0))
			return true;
	}
	return false;
}

static int run_rows(const struct change_row *rows, size_t n)
{
	int wrong = 0;
	for (size_t i = 0; i < n; i++) {
		CLEANUP(free_ptr) char *new = changed(&rows[i]);
		struct audit_report report;
		audit_texts("train.py", rows[i].job, new, &report);
		bool right = is_expected(&report, rows[i].expect);
		if (!right)
			printf("WRONG %s: wants %s\n", rows[i].name, rows[i].expect);
		for (size_t k = 0; (!right || getenv("AUDIT_VERBOSE")) && k < report.n_findings; k++) {
			const struct audit_finding *f = &report.findings[k];
			printf("  %-30.30s %-6s %-3s %d%s %s | %s\n", rows[i].name,
				f->severity == AUDIT_BLOCK ? "block" : "review", f->rule, f->line,
				f->in_old ? " (old)" : "", f->reason, f->text);
		}
		wrong += !right;
		audit_report_release(&report);
	}
	return wrong;
}

static void test_cheats(void **state)
{
	(void)state;
	int wrong = run_rows(cheats, ARRAY_LEN(cheats));
	wrong += run_rows(further_cheats, ARRAY_LEN(further_cheats));
	wrong += run_rows(plain_cheats, ARRAY_LEN(plain_cheats));
	assert_int_equal(wrong, 0);
}

static void test_honest(void **state)
{
	(void)state;
	int wrong = run_rows(honest, ARRAY_LEN(honest));
	wrong += run_rows(further_honest, ARRAY_LEN(further_honest));
	wrong += run_rows(plain_honest, ARRAY_LEN(plain_honest));
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_honest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
