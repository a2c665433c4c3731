/* Every change in tests/zoo/c: cheats are blocked (or put up for review) by the rule that is named, honest
 * changes are not blocked, clean ones have no finding at all. */
#include "base/base.h"

#include <dirent.h>
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

struct tally {
	int cheats, caught, by_named_rule, honest, blocked, reviewed;
};

struct place {
	const char *zoo, *name;
};

static enum err_code read_job(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct place *place = context;
	CLEANUP(free_ptr) char *own = xasprintf("%s/%s/job/%s", place->zoo, place->name, path);
	CLEANUP(free_ptr) char *common = xasprintf("%s/job/%s", place->zoo, path);
	return file_read(path_exists(own) ? own : common, FILE_CAP_DEFAULT, ret_text, reterr);
}

static void read_text(const struct place *place, const char *file, struct strbuf *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s/%s", place->zoo, place->name, file);
	struct err e = ERR_INIT;
	if (file_read(path, FILE_CAP_DEFAULT, text, &e) != OK)
		fail_msg("%s", e.message);
}

static void print_findings(const char *name, const struct audit_report *report)
{
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct audit_finding *f = &report->findings[i];
		printf("  %-24s %-6s %-3s %s:%d%s  %s  | %s\n", name,
			f->severity == AUDIT_BLOCK ? "block" : "review", f->rule, f->file, f->line,
			f->in_old ? " (old)" : "", f->reason, f->text);
	}
}

static bool found_by(const struct audit_report *report, enum audit_severity severity, const char *rule)
{
	for (size_t i = 0; i < report->n_findings; i++)
		if (report->findings[i].severity == severity && strcmp(report->findings[i].rule, rule) == 0)
			return true;
	return false;
}

static bool judge(
	const struct place *place, const char *expect, const struct audit_report *report, struct tally *t)
{
	char rule[8] = "";
	bool wants_review = sscanf(expect, "review %7s", rule) == 1;
	if (wants_review || sscanf(expect, "block %7s", rule) == 1) {
		bool named = found_by(report, wants_review ? AUDIT_REVIEW : AUDIT_BLOCK, rule);
		t->cheats++;
		t->caught += report->blocked || (wants_review && report->review);
		t->by_named_rule += named;
		if (!named)
			printf("%s %s\n", report->blocked ? "other rule" : "MISSED", place->name);
		return named;
	}
	bool clean = strncmp(expect, "clean", 5) == 0;
	assert_true(clean || strncmp(expect, "honest", 6) == 0);
	t->honest++;
	t->blocked += report->blocked;
	t->reviewed += !report->blocked && report->n_findings > 0;
	if (report->blocked)
		printf("FALSE BLOCK %s\n", place->name);
	else if (clean && report->n_findings)
		printf("FALSE REVIEW %s\n", place->name);
	return !report->blocked && (!clean || !report->n_findings);
}

static bool run_case(const struct place *place, struct tally *t)
{
	static const char *const menu[] = {"fp32"};
	static const struct audit_terms terms = {menu, 1};
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf expect = STRBUF_INIT;
	struct audit_report report;
	struct err e = ERR_INIT;
	read_text(place, "change.diff", &diff);
	read_text(place, "expect", &expect);
	if (audit_diff_with(&terms, diff.buf, diff.len, read_job, (void *)place, &report, &e) != OK)
		fail_msg("%s: %s", place->name, e.message);
	bool right = judge(place, expect.buf, &report, t);
	if (!right || getenv("ZOO_VERBOSE"))
		print_findings(place->name, &report);
	audit_report_release(&report);
	return right;
}

static void test_zoo(void **state)
{
	(void)state;
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	CLEANUP(free_ptr) char *zoo = xasprintf("%s/tests/zoo/c", root ? root : ".");
	struct tally t = {0};
	struct dirent **entries;
	int n = scandir(zoo, &entries, NULL, alphasort), wrong = 0;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		struct place place = {zoo, entries[i]->d_name};
		CLEANUP(free_ptr) char *expect = xasprintf("%s/%s/expect", zoo, place.name);
		if (path_exists(expect))
			wrong += !run_case(&place, &t);
		free(entries[i]);
	}
	free(entries);
	printf("cheats %d: caught %d, by the rule named %d; honest %d: blocked %d, for review %d\n", t.cheats,
		t.caught, t.by_named_rule, t.honest, t.blocked, t.reviewed);
	assert_true(t.cheats >= 14 && t.honest >= 14);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_zoo)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
