/*
 * Between the rules and the machinery that runs them. A rule is a row of the table in audit.c and a function
 * in a file of its own; it looks at the paired facts of all changed files at once and adds findings.
 */
#ifndef INFRARSI_AUDIT_INT_H
#define INFRARSI_AUDIT_INT_H

#include "audit/audit.h"
#include "audit/facts.h"
#include "audit/words.h"
#include "patch/diff.h"

enum { LANGUAGE_BIT_NONE = 1, LANGUAGE_BIT_C = 2, LANGUAGE_BIT_PYTHON = 4 };

struct audit_rule;

struct changed_file {
	const struct diff_file *diff;
	const char *path;
	enum language language;
	struct source old, new; /* no facts when created, deleted or of no language */
};

struct change {
	const struct audit_terms *terms;
	struct changed_file *files;
	size_t n_files;
	/* Facts of the files of one language, in order of appearance: rules look at one language at a time.
	 */
	struct fact **old, **new;
	size_t n_old, n_new;
	size_t *work_left; /* facts that may still be looked at: see spend() */

	/* Where findings go. */
	struct audit_report *report;
	size_t room;
	const struct audit_rule *rule;
};

struct audit_rule {
	const char *id, *title;
	enum audit_severity severity;       /* the gravest it gives */
	unsigned languages;                 /* LANGUAGE_BIT_* */
	void (*run)(struct change *change); /* over C, or over everything where no language is needed */
	void (*run_python)(struct change *change);
	const char *anchor; /* in docs/audit.md */
};

/* `fact` may be of the old or of the new version. */
void report(struct change *change, enum audit_severity severity, const struct fact *fact, const char *reason);
void report_line(struct change *change, enum audit_severity severity, const char *path, int line, bool in_old,
	const char *text, size_t length, const char *reason);

void rule_unread(struct change *change);       /* A0 */
void rule_time(struct change *change);         /* A1 */
void rule_precision(struct change *change);    /* A2 */
void rule_update(struct change *change);       /* A3 */
void rule_work(struct change *change);         /* A4 */
void rule_cache(struct change *change);        /* A5 */
void rule_errors(struct change *change);       /* A6 */
void rule_process(struct change *change);      /* A7 */
void rule_results(struct change *change);      /* A8 */
void rule_data(struct change *change);         /* A9 */
void rule_hook(struct change *change);         /* A10 */
void rule_preprocessor(struct change *change); /* A11 */
void rule_wait(struct change *change);         /* A12 */

/* Python: what the functions of the job do, for the calls of them (py_names.c). */
void py_learn(struct change *change);

/* The same rules for Python (rule_py_*.c). */
void rule_py_time(struct change *change);
void rule_py_precision(struct change *change);
void rule_py_update(struct change *change);
void rule_py_work(struct change *change);
void rule_py_cache(struct change *change);
void rule_py_errors(struct change *change);
void rule_py_process(struct change *change);
void rule_py_results(struct change *change);
void rule_py_data(struct change *change);
void rule_py_hook(struct change *change);
void rule_py_meaning(struct change *change);
void rule_py_wait(struct change *change);

/* ---- what several rules ask (query.c, placement.c, reduction.c) ---- */

/* Rules compare changed facts with all others; a change made to be slow is refused. False: no work is left,
 * the answer does not matter any more. */
bool spend(const struct change *change, size_t facts);

bool is_added(const struct fact *f); /* new, or its text changed */
bool same_function(const struct fact *a, const struct fact *b);
/* An old fact of this kind and text exists. */
bool existed(const struct change *change, enum fact_kind kind, const char *name);
/* A call inside `node` (new version) whose name is in the list. */
bool node_calls(const struct change *change, const struct source *source, TSNode node, enum words list);
/* Nothing but printing, timing and local variables happens in `node`. */
bool only_logs(const struct change *change, const struct source *source, TSNode node);
/* One of the words, between underscores, in any case. */
bool name_has_word(const char *name, const char *const *words, size_t n);
/* A condition that depends on how far training has come. */
bool depends_on_step(const char *condition);

/* A guard with this condition is in the chain. */
bool guard_chain_has(const struct guard *chain, const char *text);
/* `condition` compares a counter of the loops around `f` with `bound`, so as to stay below it. */
bool keeps_within(const struct fact *f, const char *condition, const char *bound);
/* The first condition around `now` that was not around `before`; NULL when there is none. Error paths and
 * choices between two ways to do the same work (`list` names it) do not count. */
const struct guard *added_guard(
	const struct change *change, const struct fact *before, const struct fact *now, enum words list);
/* A condition that leaves out what is empty: `n == 0` of a name that is neither new nor a loop's counter. */
bool is_emptiness(const struct change *change, const struct fact *f, const struct guard *guard);
/* Names of the list that a function used and uses no longer, without having moved elsewhere. */
void check_lost_names(struct change *change, enum words list, const char *reason);
/* Work handed over as a function's name, and what collectives do (handed.c). */
void check_handed_work(struct change *change);
void check_collectives(struct change *change);
/* Parts of an update in another order (order.c). */
void check_update_order(struct change *change);
/* Calls whose name is in the list and that are gone, guarded by a new condition, or in fewer loops. */
void check_placement(struct change *change, enum words list, enum words but_not, const char *what);

/* `now` (resolved through one variable of `function`) is `base` made smaller: divided, shifted, cut by a
 * constant or a minimum, or a smaller number. */
/* The value that an added assignment gives the plain variable `text`, else `text`. */
const char *resolve(const struct change *change, const char *function, const char *text);
bool is_reduction(const struct change *change, const char *function, const char *now, const char *base);
/* The arguments of a changed call with `list` names: block those made smaller. */
void check_arguments(struct change *change, const struct fact *now, const char *reason);
/* The same for a call that took the place of `old`; further arguments at its end do not matter. */
void check_replaced_arguments(
	struct change *change, const struct fact *now, const struct fact *old, const char *reason);

/* ---- precision (rule_precision.c) ---- */

/* How menus call the format that a name speaks of; NULL when it speaks of none below fp32. */
const char *precision_format(const char *name);
bool menu_has(const struct change *change, const char *format);
/* The severity of a format that the menu does not name. */
enum audit_severity outside_menu(const struct change *change);

/* ---- loops (coverage.c, accumulation.c, early_exit.c, rule_work.c) ---- */

/* A store that was made in every turn and is now left out in some. */
void check_accumulation(struct change *change);
/* Conditions on positions that let others through (positions.c). */
void check_position_masks(struct change *change);
/* New exits that skip work. */
void check_exits(struct change *change);

enum coverage {
	COVERAGE_ALL,
	COVERAGE_PART,
	COVERAGE_PART_OF_BLOCKS, /* the loops around, or the threads, do not make up for it */
	COVERAGE_IF_EVEN,        /* all, if the constants divide without a remainder */
	COVERAGE_UNKNOWN,
	COVERAGE_NOT_TRIED
};

/* Whether `now`, with the loops around it and those that go on after it, visits what `old` visited. */
enum coverage loop_coverage(const struct change *change, const struct fact *now, const struct fact *old);
/* A loop up to a position that now goes beyond it (positions.c). */
void check_further(
	struct change *change, const struct fact *now, const struct fact *old, enum coverage coverage);
/* `now` also visits what `old` did not. */
bool loop_goes_further(const struct change *change, const struct fact *now, const struct fact *old);
/* One turn does several elements: the body has i + 1, i + k of an inner loop, or a loop that begins at i. */
bool loop_steps_on(const struct fact *loop);

#endif
