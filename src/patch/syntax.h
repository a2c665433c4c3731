/*
 * Source text to syntax tree, for the languages that have a grammar here. Work is bounded by a size cap;
 * there is no time limit, because what is refused must not depend on the machine.
 */
#ifndef INFRARSI_PATCH_SYNTAX_H
#define INFRARSI_PATCH_SYNTAX_H

#include <tree_sitter/api.h>

#include "base/base.h"

enum { SYNTAX_CAP_BYTES = 4 << 20, SYNTAX_DEPTH_CAP = 1000 };
enum language { LANGUAGE_NONE, LANGUAGE_C, LANGUAGE_PYTHON };

/* By the file name's end. */
enum language syntax_language(const char *path);

/* `path` is for messages. The tree is the caller's: ts_tree_delete(). */
enum err_code syntax_parse(enum language language, const char *path, const char *text, size_t length,
	TSTree **ret_tree, struct err *reterr) MUST_CHECK;
void syntax_free(TSTree **tree); /* for CLEANUP() */

/* On to the next node of the cursor's tree in the order of the text, the node before what is in it; the
 * second leaves out what is in the current node. false: there is no other. */
bool syntax_next(TSTreeCursor *cursor);
bool syntax_next_outside(TSTreeCursor *cursor);

/* Nodes where the grammar did not fit: errors and missing tokens. */
size_t syntax_error_count(const TSTree *tree);

#endif
