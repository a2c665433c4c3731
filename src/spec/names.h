/*
 * The names that templates and expressions may use: knobs, derived values, contract numbers and, in
 * expressions, a few functions. One name means one thing in a task.
 */
#ifndef INFRARSI_SPEC_NAMES_H
#define INFRARSI_SPEC_NAMES_H

#include "base/base.h"

struct arena;
struct task;

enum name_kind { NAME_UNKNOWN, NAME_KNOB, NAME_DERIVED, NAME_CONTRACT, NAME_FUNCTION };

struct name {
	enum name_kind kind;
	size_t index; /* into the task's knobs or derived values, contract names or functions */
};

bool name_is_word(const char *text);        /* [a-z_][a-z0-9_]* */
bool name_is_environment(const char *text); /* [A-Za-z_][A-Za-z0-9_]* */
/* Why the word cannot name a knob or derived value ("a word of the expression language"); NULL = it can. */
const char *name_reserved(const char *text);

struct name task_lookup(const struct task *task, const char *text);
/* " (did you mean 'x'?)" over all names of the task, or "". */
const char *task_suggest(const struct task *task, const char *text, bool with_functions, struct arena *arena);

size_t contract_names(void);
const char *contract_name(size_t index);
/* False where the task does not declare it. */
bool contract_value(const struct task *task, size_t index, double *ret_value);

size_t function_names(void);
const char *function_name(size_t index);

#endif
