/*
 * Templates: "{name}" stands for a knob's setting, a derived value or a contract number, "{name_flag}" for
 * the flag of a knob's setting; "{{" and "}}" are braces.
 */
#ifndef INFRARSI_SPEC_TEMPLATE_H
#define INFRARSI_SPEC_TEMPLATE_H

#include "base/base.h"

struct strbuf;
struct task;

struct template_part {
	const char *text; /* into the template */
	size_t length;
	bool is_name; /* text is what stands between the braces */
};

/* Takes the next part off *cursor; false at the end (ret_part untouched). ERR_INPUT for a lone brace. */
enum err_code template_next(
	const char **cursor, struct template_part *ret_part, bool *ret_found, struct err *reterr) MUST_CHECK;

enum template_kind { TEMPLATE_UNKNOWN, TEMPLATE_KNOB, TEMPLATE_FLAG, TEMPLATE_DERIVED, TEMPLATE_CONTRACT };
struct template_name {
	enum template_kind kind;
	size_t index;
};
struct template_name template_lookup(const struct task *task, const char *name, size_t length);

/* What names stand for, for one candidate. */
struct template_values {
	const struct task *task;
	const int *setting;         /* by knob */
	const char *const *derived; /* texts */
};

/* ret_from_flag (may be NULL): the result is nothing but flag texts. */
enum err_code template_expand(const struct template_values *values, const char *text, struct strbuf *ret_text,
	bool *ret_only_flags, struct err *reterr) MUST_CHECK;

#endif
