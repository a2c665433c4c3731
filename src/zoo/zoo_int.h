/* Shared by the files of this folder. */
#ifndef INFRARSI_ZOO_ZOO_INT_H
#define INFRARSI_ZOO_ZOO_INT_H

#include "zoo/zoo.h"

/* Lines of `name text`; blank lines and # remarks apart. numbered: the names are 1, 2, 3, ... */
enum err_code zoo_read_entries(const char *path, bool numbered, struct arena *arena,
	struct zoo_entry **ret_entries, size_t *ret_count, struct err *reterr) MUST_CHECK;
/* zoo: the kinds and look-alikes that may be named, and where strings live. */
enum err_code zoo_read_expect(
	struct zoo *zoo, const char *path, struct zoo_expect *ret_expect, struct err *reterr) MUST_CHECK;

/* The next line of a text as words in an arena. False at the end. */
struct zoo_line {
	int number; /* 1-based */
	const char **words;
	size_t n_words;
	const char *rest; /* what follows the first word, blanks trimmed */
	bool is_remark;
};
bool zoo_next_line(const char **at, struct arena *arena, struct zoo_line *line);

#endif
