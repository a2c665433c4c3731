/*
 * A YAML document as a tree in which every node knows its line and column. Narrower than YAML on purpose: one
 * document, scalar keys without duplicates, no anchors, aliases or tags, at most TREE_DEPTH levels and
 * TREE_BYTES bytes. Scalars stay text as written; what they mean is for the reader of the tree to say.
 *
 *     struct tree_node *root;
 *     TRY(tree_parse("infrarsi.yaml", text, length, &arena, &root, reterr));
 */
#ifndef INFRARSI_SPEC_YAML_TREE_H
#define INFRARSI_SPEC_YAML_TREE_H

#include "base/base.h"

struct arena;

enum { TREE_DEPTH = 32, TREE_BYTES = 1 << 20 };
enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree_node {
	enum tree_kind kind;
	int line, column; /* 1-based */
	const char *text; /* scalar: without NUL bytes inside */
	bool is_quoted;
	const struct tree_node *key;           /* this node is the value of this key of a map */
	struct tree_node *first, *last, *next; /* children in file order */
	size_t n_children;
};

/* An empty document is an error. The tree lives in `arena`. */
enum err_code tree_parse(const char *path, const char *text, size_t length, struct arena *arena,
	struct tree_node **ret_root, struct err *reterr) MUST_CHECK;

const struct tree_node *tree_find(const struct tree_node *map, const char *key);
/* "a list", "a mapping", "an empty value" or the scalar in quotes, made safe to print and cut. */
const char *tree_describe(const struct tree_node *node, struct arena *arena);
/* Text from the file made safe to print and cut to a length that leaves room in a message. */
const char *printable(const char *text, struct arena *arena);
bool tree_is_empty(const struct tree_node *node); /* nothing, or an unquoted ~ or null */

#endif
