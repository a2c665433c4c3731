/* The rules for C on pairs of small changes to the zoo's jobs: a cheat, and an honest change that looks like
 * it. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "c_changes.h"

static enum err_code give(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	(void)path;
	(void)reterr;
	strbuf_clear(ret_text);
	strbuf_addstr(ret_text, context);
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

static void audit_texts(const char *path, char *old, const char *new, struct audit_report *report)
{
	static const char *const menu[] = {"fp32"};
	static const struct audit_terms terms = {menu, 1};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct err e = ERR_INIT;
	size_t n_old = add_lines(&body, '-', old), n_new = add_lines(&body, '+', new);
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n@@ -1,%zu +1,%zu @@\n%s", path, path, n_old, n_new, body.buf);
	if (audit_diff_with(&terms, diff.buf, diff.len, give, old, report, &e) != OK)
		fail_msg("%s", e.message);
}

static char *replaced(const char *name, const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	if (!at || strstr(at + 1, old))
		fail_msg("%s: the text to be changed must occur once", name);
	return xasprintf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static char *changed(const struct c_change *row, const char *job)
{
	char *once = replaced(row->name, job, row->old, row->new);
	if (!row->old2)
		return once;
	char *twice = replaced(row->name, once, row->old2, row->new2);
	free(once);
	return twice;
}

/* "none", "not blocked", or rules and a severity: "A3|A4 block". */
static bool is_expected(const struct audit_report *report, const char *expect)
{
	char rules[32] = "", severity[8] = "";
	if (strcmp(expect, "none") == 0)
		return report->n_findings == 0;
	if (strcmp(expect, "not blocked") == 0)
		return !report->blocked;
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

static bool run_row(const struct c_change *row)
{
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	CLEANUP(free_ptr) char *path = xasprintf("%s/tests/zoo/c/%s", root ? root : ".", row->file);
	CLEANUP(strbuf_release) struct strbuf job = STRBUF_INIT;
	struct err e = ERR_INIT;
	if (file_read(path, FILE_CAP_DEFAULT, &job, &e) != OK)
		fail_msg("%s", e.message);
	CLEANUP(free_ptr) char *new = changed(row, job.buf);
	struct audit_report report;
	audit_texts(strchr(row->file, '/') + 1, job.buf, new, &report);
	bool right = is_expected(&report, row->expect);
	if (!right)
		printf("WRONG %s: wants %s\n", row->name, row->expect);
	for (size_t i = 0; (!right || getenv("AUDIT_VERBOSE")) && i < report.n_findings; i++) {
		const struct audit_finding *f = &report.findings[i];
		printf("  %-30.30s %-6s %-3s %d%s %s | %s\n", row->name,
			f->severity == AUDIT_BLOCK ? "block" : "review", f->rule, f->line,
			f->in_old ? " (old)" : "", f->reason, f->text);
	}
	audit_report_release(&report);
	return right;
}

static void test_cheats(void **state)
{
	int wrong = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(c_cheats); i++)
		wrong += !run_row(&c_cheats[i]);
	assert_int_equal(wrong, 0);
}

static void test_honest(void **state)
{
	int wrong = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(c_honest); i++)
		wrong += !run_row(&c_honest[i]);
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
