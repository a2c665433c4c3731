/*
 * The first include of every source file: attributes, scope-bound clean-up and the error-forwarding macro.
 *
 * Errors: a fallible function returns enum err_code (0 is OK; the result must be looked at) and fills
 * `struct err *reterr`, its last parameter. Outputs (`ret_x`) stay untouched on failure. See err.h.
 *
 * Ownership: CLEANUP(fn) ties an object to its scope; take_ptr() hands it on:
 *
 *     CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
 *     TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
 */
#ifndef INFRARSI_BASE_H
#define INFRARSI_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN __attribute__((noreturn))
#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* Forwards a failure to the caller; the callee has already filled reterr. */
#define TRY(call)                                                                                            \
	do {                                                                                                 \
		enum err_code try_code_ = (call);                                                            \
		if (try_code_ != OK)                                                                         \
			return try_code_;                                                                    \
	} while (0)

/* The same inside a function that has one `fail:` label and an `enum err_code code`. */
#define TRY_GOTO(call, label)                                                                                \
	do {                                                                                                 \
		code = (call);                                                                               \
		if (code != OK)                                                                              \
			goto label;                                                                          \
	} while (0)

/* Hands a pointer on and forgets it, so that its CLEANUP becomes a no-op. */
#define take_ptr(p)                                                                                          \
	({                                                                                                   \
		__typeof__(p) take_tmp_ = (p);                                                               \
		(p) = NULL;                                                                                  \
		take_tmp_;                                                                                   \
	})

#include "base/err.h"

#endif
