/* Tables of a file with rows under a condition of the preprocessor, for which the grammar has no place. */
#ifndef INFRARSI_CODEMOD_C_TABLES_H
#define INFRARSI_CODEMOD_C_TABLES_H

#include <tree_sitter/api.h>

#include "base/base.h"

/* The text with blanks for such lines, so that all rows are read and every place stays where it is; malloc.
 * NULL where there is another error, or none. */
char *c_text_of_tables(const TSTree *tree, const char *text, size_t length);

#endif
