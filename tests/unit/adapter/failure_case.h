/* A log as text, how its job exited, and what the classifier must say of it. */
#ifndef INFRARSI_TESTS_FAILURE_CASE_H
#define INFRARSI_TESTS_FAILURE_CASE_H

#include "base/base.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/log.h"
#include "base/strbuf.h"

enum { EXIT_UNKNOWN = -1000 }; /* else the status; negative: ended by that signal */

struct failure_case {
	const char *source; /* the program that prints it, with its release where that matters */
	const char *log;
	int exit;
	enum failure_class class;
	long line;
	const char *subkind; /* NULL = none */
};

/* In small pieces: nothing may depend on where a read ends. */
static inline struct log_summary summarise(
	const struct log_literals *literals, const char *log, size_t length, const struct log_options *how)
{
	struct log_options options = *how;
	struct log_summary summary;
	options.literals = literals;
	struct log_scan *scan = log_scan_new(&options, NULL, NULL);
	for (size_t at = 0; at < length;) {
		size_t n = MIN_OF(length - at, (size_t)61);
		log_scan_feed(scan, log + at, n);
		at += n;
	}
	log_scan_finish(scan, &summary);
	return summary;
}

static inline struct log_options exited(int status)
{
	struct log_options options = {.format = NULL};
	if (status == EXIT_UNKNOWN)
		return options;
	if (status < 0)
		options.exit_signal = (struct opt_number){true, -status};
	else
		options.exit_status = (struct opt_number){true, status};
	return options;
}

static inline void check_failure_cases(
	const struct log_literals *literals, const struct failure_case *cases, size_t count)
{
	int wrong = 0;
	for (size_t i = 0; i < count; i++) {
		const struct failure_case *c = &cases[i];
		struct log_options how = exited(c->exit);
		struct log_summary s = summarise(literals, c->log, strlen(c->log), &how);
		const struct failure_report *r = &s.failure;
		const char *expected = c->subkind ? c->subkind : "", *subkind = r->subkind ? r->subkind : "";
		if (r->class != c->class || r->line != c->line || strcmp(expected, subkind) != 0) {
			print_error("%s: %s at %ld (%s), not %s at %ld (%s)\n%s\n", c->source,
				failure_class_names[r->class], r->line, subkind,
				failure_class_names[c->class], c->line, expected, c->log);
			wrong++;
		}
		/* The text is part of the line that it claims to be of. */
		if (r->line > 0 && r->text[0])
			assert_non_null(strstr(c->log, r->text));
		if (r->class != FAILURE_NONE)
			assert_true(s.completed.has && s.completed.value == 0.0);
		log_summary_release(&s);
	}
	assert_int_equal(wrong, 0);
}

#endif
