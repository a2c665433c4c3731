/*
 * A growing byte string, always NUL-terminated (the NUL is not counted). May hold NUL bytes.
 *
 *     struct strbuf s = STRBUF_INIT;
 *     strbuf_addf(&s, "%zu trials", n);
 *     puts(s.buf);
 *     strbuf_release(&s);
 *
 * `buf` is never NULL, also for an empty string. strbuf_detach() hands the bytes to the caller (free() them).
 */
#ifndef INFRARSI_BASE_STRBUF_H
#define INFRARSI_BASE_STRBUF_H

#include "base/base.h"

struct strbuf {
	char *buf;
	size_t len, capacity;
};

extern char strbuf_empty[1];
#define STRBUF_INIT                                                                                          \
	{                                                                                                    \
		strbuf_empty, 0, 0                                                                           \
	}

void strbuf_release(struct strbuf *s); /* frees; usable again as empty */
void strbuf_clear(struct strbuf *s);   /* length 0; keeps the memory */
void strbuf_add(struct strbuf *s, const void *bytes, size_t length);
void strbuf_addstr(struct strbuf *s, const char *text);
void strbuf_addch(struct strbuf *s, char c);
void strbuf_addf(struct strbuf *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *strbuf_detach(struct strbuf *s); /* the empty string is allocated too */

/* Text from outside (jobs, models, file names) made safe to show on a terminal: control bytes, invalid
 * UTF-8, and characters that reorder or hide text become \xNN; a tab becomes a space. */
void strbuf_add_escaped(struct strbuf *s, const char *text, size_t length);
/* The same text inside a Markdown table cell or paragraph: also | ` * _ [ ] < > # ~ $ & and newlines are
 * neutral.
 */
void strbuf_add_markdown(struct strbuf *s, const char *text, size_t length);
/* One shell word, quoted only where it needs to be. */
void strbuf_add_shell(struct strbuf *s, const char *word);

#endif
