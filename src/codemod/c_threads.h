/* Loops that omp-parallel would share out, which the other codemods leave to it. */
#ifndef INFRARSI_CODEMOD_C_THREADS_H
#define INFRARSI_CODEMOD_C_THREADS_H

#include "codemod/c_body.h"

/* The directive for the loop; NULL with the reason, or without one where it is no candidate. */
const char *c_parallel_directive(struct rewrite *r, TSNode loop, const char **ret_why);

#endif
