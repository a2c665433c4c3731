/* Who calls whom, in the files of the program that are seen. */
#ifndef INFRARSI_CODEMOD_C_CALLS_H
#define INFRARSI_CODEMOD_C_CALLS_H

#include "codemod/rewrite.h"

/* Of a definition; "". */
const char *c_function_name(struct rewrite *r, TSNode function);
/* The statement stands behind a directive of OpenMP or inside a statement that does. */
bool c_is_in_region(struct rewrite *r, TSNode statement);
/* The function, or one that calls it, is called in a region, or by a pointer: from who knows where. */
bool c_may_run_in_region(struct rewrite *r, TSNode function);
/* The same where it is certain: by name, pointers to it left out. */
bool c_is_called_in_region(struct rewrite *r, TSNode function);

#endif
