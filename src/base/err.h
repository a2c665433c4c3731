/*
 * Errors as values. A code says which kind of failure it is (and so which exit code the command ends with);
 * the struct carries a message for a person and, where the failure is in a file, its position.
 *
 * Writing one:  return err_set(reterr, ERR_INPUT, "expected a duration such as 20m, got '%s'", text);
 * With a place: return err_set_at(reterr, ERR_INPUT, path, line, column, "unknown key '%s'", key);
 * Adding context while forwarding: code = err_prefix(reterr, code, "reading %s", path);
 *
 * reterr may be NULL where the caller does not care. Messages are cut, never overflowed.
 */
#ifndef INFRARSI_BASE_ERR_H
#define INFRARSI_BASE_ERR_H

#include <stdarg.h>

#include "base/base.h"

enum err_code {
	OK = 0,
	ERR_FAILED,      /* the job or the check failed                  -> exit 1 */
	ERR_INPUT,       /* usage, task file or other input is not valid -> exit 2 */
	ERR_NOT_FOUND,   /* a file or record that was asked for is absent-> exit 2 */
	ERR_IO,          /* the operating system refused                 -> exit 1 */
	ERR_LIMIT,       /* a declared cap was exceeded                  -> exit 2 */
	ERR_STATE,       /* not possible in the present state            -> exit 2 */
	ERR_INTERRUPTED, /* Ctrl-C or TERM                               -> exit 4 */
	ERR_CONTRACT,    /* contract violated on disk                    -> exit 5 */
};

struct err {
	enum err_code code;
	int line, column; /* 1-based; 0 = none */
	char file[512];   /* "" = none */
	char message[1536];
};

#define ERR_INIT                                                                                             \
	{                                                                                                    \
		OK, 0, 0, "", ""                                                                             \
	}

enum err_code err_set(struct err *reterr, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
enum err_code err_set_at(struct err *reterr, enum err_code code, const char *file, int line, int column,
	const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Appends strerror(errno) to the message. Uses errno as it is at the call; the code is ERR_IO. */
enum err_code err_errno(struct err *reterr, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Puts "context: " before the message that is already there; returns code. */
enum err_code err_prefix(struct err *reterr, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "file:line:column: message" or just the message; buf is always terminated. */
void err_format(const struct err *e, char *buf, size_t size);
/* The exit code of DESIGN section 5 for a failure of this kind. */
int err_exit_code(enum err_code code);

#endif
