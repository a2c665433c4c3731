/*
 * Lua 5.4 as a calculator: one expression in, one value out. No libraries, no metatables that an expression
 * can reach, text chunks only, a limit on instructions and memory; the variables set here and min, max, floor
 * and ceil are all it can name, and nothing can be assigned. The same variables always give the same value.
 *
 * Messages in *reterr are Lua's without its own positions; the caller knows the place.
 */
#ifndef INFRARSI_SPEC_SANDBOX_H
#define INFRARSI_SPEC_SANDBOX_H

#include "base/base.h"

enum { SANDBOX_INSTRUCTIONS = 100000, SANDBOX_MEMORY_BYTES = 1 << 20 };

enum sandbox_kind { SANDBOX_BOOL, SANDBOX_NUMBER, SANDBOX_TEXT };

struct sandbox_value {
	enum sandbox_kind kind;
	bool truth;
	bool is_integer; /* number is whole because Lua kept it as an integer */
	double number;
	const char *text; /* borrowed until the next call on the sandbox */
};

struct sandbox;
struct sandbox *sandbox_new(void);
void sandbox_free(struct sandbox *s);

enum err_code sandbox_compile(
	struct sandbox *s, const char *expression, int *ret_handle, struct err *reterr) MUST_CHECK;
/* A whole number below 2^53 becomes a Lua integer, so that // and % stay exact. */
enum err_code sandbox_set(struct sandbox *s, const char *name, const struct sandbox_value *value,
	struct err *reterr) MUST_CHECK;
enum err_code sandbox_evaluate(
	struct sandbox *s, int handle, struct sandbox_value *ret_value, struct err *reterr) MUST_CHECK;

#endif
