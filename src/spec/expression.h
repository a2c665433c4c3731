/*
 * A task's expressions, compiled once and evaluated often. Constraints are, in this order: the derived values
 * (each must have a value), the invariants (must be true) and the conflicts (must be false). What a
 * constraint says depends on the settings of the knobs that it reads, directly or through derived values, and
 * is remembered for each combination of them.
 *
 * An expression that fails for some settings (a division by zero, a word where a number is needed) makes
 * these settings illegal; it is an error of the task only where the reference is concerned (task_check).
 */
#ifndef INFRARSI_SPEC_EXPRESSION_H
#define INFRARSI_SPEC_EXPRESSION_H

#include "base/base.h"
#include "spec/sandbox.h"

struct arena;
struct strbuf;
struct task;
struct expression;

enum constraint_kind { CONSTRAINT_DERIVED, CONSTRAINT_INVARIANT, CONSTRAINT_CONFLICT };

struct expression_set;

/* Compiles and resolves every name; messages carry the expression's place in the task file. */
enum err_code expression_set_create(
	const struct task *task, struct expression_set **ret_set, struct err *reterr) MUST_CHECK;
void expression_set_free(struct expression_set *set);

size_t expression_set_count(const struct expression_set *set);
const struct expression *constraint_expression(const struct expression_set *set, size_t index);
/* "derived", "contract.invariants" or "conflicts". */
const char *constraint_section(const struct expression_set *set, size_t index);
enum constraint_kind constraint_kind(const struct expression_set *set, size_t index);
/* Indices of the knobs it reads, ascending. */
const size_t *constraint_knobs(const struct expression_set *set, size_t index, size_t *ret_count);
/* setting: by knob; only those of constraint_knobs() are read. */
bool constraint_holds(struct expression_set *set, size_t index, const int *setting);
/* Why it does not hold: "`a == b` (line 3) does not hold". */
void constraint_reason(struct expression_set *set, size_t index, const int *setting, struct strbuf *reason);
/* What evaluating it gives, of the kind that the constraint needs; the message has no place. */
enum err_code constraint_value(struct expression_set *set, size_t index, const int *setting,
	struct sandbox_value *ret_value, struct err *reterr) MUST_CHECK;

/* All derived values as template text ("8", not "8.0"), n_derived strings in `arena`; *ret_numbers may be
 * NULL (NAN where the value is a string). */
enum err_code expression_set_derive(struct expression_set *set, const int *setting, struct arena *arena,
	const char ***ret_texts, double **ret_numbers, struct err *reterr) MUST_CHECK;

#endif
