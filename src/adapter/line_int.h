/* Making a line fit to read: terminal control sequences, containers and prefixes of collectors. Internal to
 * adapter/. */
#ifndef INFRARSI_ADAPTER_LINE_INT_H
#define INFRARSI_ADAPTER_LINE_INT_H

#include "adapter/reader_int.h"
#include "base/base.h"

/* Takes out, in place: ANSI escape sequences (colours, cursor, titles and links of OSC), NUL and other
 * control bytes but the tab; a UTF-8 BOM at the start. Returns the new length; text[length] is set to NUL. */
size_t line_without_controls(char *text, size_t length);
/* False where it would change nothing; true also where there is but a tab. */
bool line_has_controls(const char *text, size_t length);

/* A record of docker's json-file driver, {"log":"step=1 loss=2\n","stream":"stdout","time":".."}: puts what
 * it logs in its place, in place. False when it is none. */
bool line_is_dockers(const char *text, size_t length);
bool line_out_of_docker(char *text, size_t *length);

/* Steps over what collectors and launchers put before a line: moves line->text behind it and sets rank,
 * source and torn. line->raw, text and length are given. */
void line_without_prefixes(struct log_line *line);

#endif
