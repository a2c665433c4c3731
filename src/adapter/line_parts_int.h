/*
 * Parts of a line that several readers want, found when the first one asks:
 *
 *     const struct progress_bar *bar = line_bar(line);
 *     if (bar)
 *             use(line_bar_values(line));
 *
 * Internal to adapter/.
 */
#ifndef INFRARSI_ADAPTER_LINE_PARTS_INT_H
#define INFRARSI_ADAPTER_LINE_PARTS_INT_H

#include "adapter/reader_bar_int.h"
#include "base/base.h"

/* A dictionary as a record of the Trainer of transformers: three readers ask for it. */
struct line_record {
	struct field_set set;
	const char *end; /* behind it; NULL = it is broken */
	bool foreign;    /* another trainer's */
};

struct line_parts {
	unsigned known; /* what has been looked for; zeroed for each line */
	const char *percent, *dictionary;
	bool has_bar;
	struct progress_bar bar;
	struct field_set bar_values;
	struct line_record record;
	struct bar_keys bar_keys; /* of all lines so far */
};

/* The first "%|" of its text; NULL = none. */
const char *line_percent(const struct log_line *line);
/* The first '{' that a quoted key follows, as dictionary_begin() finds it. */
const char *line_dictionary(const struct log_line *line);
/* What `read` reads there; all must ask with the same one. Only where there is a dictionary. */
const struct line_record *line_record(
	const struct log_line *line, void (*read)(const char *dictionary, struct line_record *ret_record));
/* What read_progress_bar() reads of its text; NULL = no bar. */
const struct progress_bar *line_bar(const struct log_line *line);
/* What bar_values() reads of that bar; only where there is one. */
const struct field_set *line_bar_values(const struct log_line *line);
/* The same of another bar in the line. */
void line_values_of_bar(
	const struct log_line *line, const struct progress_bar *bar, struct field_set *ret_set);

#endif
