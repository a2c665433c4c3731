/*
 * Which parts of the search take part: the names that the task file, the command line and the search's own
 * tables share, and sets of them. What is on when nobody says anything is a column of the search's tables
 * (search/seeds.c, search/start.c).
 *
 *     struct search_switches switches = {0};        all as by default
 *     TRY(switches_read_operators("--operators-off", "escape,survey", &switches.operators_off, reterr));
 */
#ifndef INFRARSI_SPEC_SWITCHES_H
#define INFRARSI_SPEC_SWITCHES_H

#include "base/base.h"

/* In the order in which the search asks them, which decides ties. */
enum search_operator {
	OPERATOR_EXPLOIT,
	OPERATOR_BACKTRACK,
	OPERATOR_BUNDLE,
	OPERATOR_ESCAPE,
	OPERATOR_WARM_RESTART,
	OPERATOR_CONTRARIAN,
	OPERATOR_BIG_KNOB,
	OPERATOR_EXTRAPOLATE,
	OPERATOR_STACK,
	OPERATOR_PATCH,
	OPERATOR_CONFLICT,
	OPERATOR_PROPOSED,
	OPERATOR_SURVEY,
	OPERATOR_PRIOR_REVISION,
	N_OPERATORS
};
extern const char *const operator_names[N_OPERATORS + 1]; /* ends with NULL */

/* In the order in which they run. */
enum search_start { START_EXPERIENCE, START_PRIOR, START_RANDOM, N_STARTS };
extern const char *const start_names[N_STARTS + 1];

struct search_switches {
	unsigned operators_off, operators_on; /* against the defaults; bits 1u << enum search_operator */
	bool starts_given;
	unsigned starts; /* where given, in place of the defaults; bits 1u << enum search_start */
};

/* The first, changed by the second where that says something. */
struct search_switches switches_merge(struct search_switches task, struct search_switches more);
/* -1 = none of that name. */
int switch_index(const char *const *names, const char *name);
/* "a,b" -> bits, "" -> none. ERR_INPUT names `option` and lists what is known. */
enum err_code switches_read_operators(
	const char *option, const char *list, unsigned *ret_bits, struct err *reterr) MUST_CHECK;
enum err_code switches_read_starts(
	const char *option, const char *list, unsigned *ret_bits, struct err *reterr) MUST_CHECK;

#endif
