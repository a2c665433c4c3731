/* One example of the tables in examples_*.h: the expected lines were written by hand from what the change has
 * to be. */
#ifndef TESTS_UNIT_CODEMOD_EXAMPLES_H
#define TESTS_UNIT_CODEMOD_EXAMPLES_H

#include <stddef.h>

/* wanted: lines that must be in the diff, or NULL; reason: of the refusal, or NULL. */
struct example {
	const char *codemod, *path, *text;
	const char *wanted[4];
	const char *reason;
};

#endif
