/* The signature table of the failure classifier. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_SIGNATURES_INT_H
#define INFRARSI_ADAPTER_SIGNATURES_INT_H

#include "base/base.h"
#include "event/receipt.h"

enum { SIGNATURE_LINE_MAX = 4096 }; /* bytes of a line that are looked at */

enum signature_flags {
	SIG_WEAK = 1,  /* an echo of a cause elsewhere: counts only where nothing else is found */
	SIG_CLEAN = 2, /* counts even where the job exits 0 */
	SIG_BUILD = 4, /* in the log of a build step only */
	SIG_WORD = 8,  /* no letter, digit or underscore directly before or behind the match */
	SIG_END = 16,  /* the same, behind it only */
};

struct signature {
	const char *pattern; /* part of a line, lower case; * stands for any text in between */
	enum failure_class class;
	unsigned flags;
};

/* The first row that matches a line, or NULL. */
const struct signature *signature_find(const char *line, bool build);
/* Amounts of memory that an OOM message names; absent ones stay as they are. */
void oom_numbers(const char *line, struct opt_number *requested, struct opt_number *free_bytes,
	struct opt_number *capacity);

#endif
