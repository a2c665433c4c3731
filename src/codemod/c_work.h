/* How much a loop does, as far as its text tells. */
#ifndef INFRARSI_CODEMOD_C_WORK_H
#define INFRARSI_CODEMOD_C_WORK_H

#include "codemod/rewrite.h"

/* A condition in C that holds when the loop is worth sharing out among threads. NULL with the reason where
 * that cannot be told before the loop begins. */
const char *c_enough_work(struct rewrite *r, TSNode loop, const char **ret_why);

#endif
