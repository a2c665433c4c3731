#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Formats beside the message first: the arguments may point into it. A cut never leaves half a UTF-8
 * sequence. */
static void set_message(struct err *reterr, const char *fmt, va_list ap)
{
	char text[sizeof(reterr->message)];
	int wanted = vsnprintf(text, sizeof(text), fmt, ap);
	size_t n = strlen(text);
	if (wanted >= (int)sizeof(text)) {
		size_t tail = 0;
		while (tail < 3 && tail < n && ((unsigned char)text[n - 1 - tail] & 0xC0) == 0x80)
			tail++;
		if (tail < n && ((unsigned char)text[n - 1 - tail] & 0xC0) == 0xC0)
			n -= tail + 1;
	}
	memcpy(reterr->message, text, n);
	reterr->message[n] = '\0';
}

static void set_place(struct err *reterr, const char *file, int line, int column)
{
	reterr->line = line;
	reterr->column = column;
	snprintf(reterr->file, sizeof(reterr->file), "%s", file ? file : "");
}

enum err_code err_set(struct err *reterr, enum err_code code, const char *fmt, ...)
{
	if (!reterr)
		return code;
	va_list ap;
	va_start(ap, fmt);
	set_message(reterr, fmt, ap);
	va_end(ap);
	reterr->code = code;
	set_place(reterr, NULL, 0, 0);
	return code;
}

enum err_code err_set_at(
	struct err *reterr, enum err_code code, const char *file, int line, int column, const char *fmt, ...)
{
	if (!reterr)
		return code;
	va_list ap;
	va_start(ap, fmt);
	set_message(reterr, fmt, ap);
	va_end(ap);
	reterr->code = code;
	set_place(reterr, file, line, column);
	return code;
}

enum err_code err_errno(struct err *reterr, const char *fmt, ...)
{
	int saved = errno;
	if (!reterr)
		return ERR_IO;
	va_list ap;
	va_start(ap, fmt);
	set_message(reterr, fmt, ap);
	va_end(ap);
	size_t used = strlen(reterr->message);
	snprintf(reterr->message + used, sizeof(reterr->message) - used, ": %s", strerror(saved));
	reterr->code = ERR_IO;
	set_place(reterr, NULL, 0, 0);
	return ERR_IO;
}

enum err_code err_prefix(struct err *reterr, enum err_code code, const char *fmt, ...)
{
	if (!reterr)
		return code;
	char context[512], old[sizeof(reterr->message)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, reterr->message, sizeof(old));
	/* The cut, if any, falls on the end of the old message: the context is what is new here. */
	int room = (int)(sizeof(reterr->message) - strlen(context) - 3);
	snprintf(reterr->message, sizeof(reterr->message), "%s: %.*s", context, room, old);
	reterr->code = code;
	return code;
}

void err_format(const struct err *e, char *buf, size_t size)
{
	if (!e->file[0])
		snprintf(buf, size, "%s", e->message);
	else if (e->line > 0 && e->column > 0)
		snprintf(buf, size, "%s:%d:%d: %s", e->file, e->line, e->column, e->message);
	else if (e->line > 0)
		snprintf(buf, size, "%s:%d: %s", e->file, e->line, e->message);
	else
		snprintf(buf, size, "%s: %s", e->file, e->message);
}

int err_exit_code(enum err_code code)
{
	switch (code) {
	case OK:
		return 0;
	case ERR_FAILED:
	case ERR_IO:
		return 1;
	case ERR_INPUT:
	case ERR_NOT_FOUND:
	case ERR_LIMIT:
	case ERR_STATE:
		return 2;
	case ERR_INTERRUPTED:
		return 4;
	case ERR_CONTRACT:
		return 5;
	}
	return 1;
}
