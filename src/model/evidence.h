/*
 * Which levers a failure's own text speaks of: their names, the words that belong to them, and the names of
 * the settings they are at, as runs of words. Case, underscores, hyphens, dots and CamelCase do not matter.
 */
#ifndef INFRARSI_MODEL_EVIDENCE_H
#define INFRARSI_MODEL_EVIDENCE_H

#include "base/base.h"
#include "model/models.h"

/* Sets ret_named[lever] (n_levers); returns how many. A text that names more than a few names none: it is a
 * dump of the configuration. */
int evidence_named(
	const struct lever *levers, int n_levers, const int *setting, const char *text, bool *ret_named);

#endif
