#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codemod/c_tables.h"
#include "codemod/rewrite.h"

/* In the initialiser of what no function declares: such a table has no order in which it is worked out. */
static bool is_in_table(TSNode node)
{
	bool is_row = false;
	for (TSNode up = ts_node_parent(node); !ts_node_is_null(up); up = ts_node_parent(up)) {
		is_row |= node_is_kind(up, "initializer_list");
		if (node_is_kind(up, "function_definition") || node_is_kind(up, "compound_statement"))
			return false;
	}
	return is_row;
}

/* A line "#if...", "#else" or "#endif" begins here: its length, or 0. */
static size_t condition_length(const char *text, size_t start, size_t length)
{
	static const char *const words[] = {"#if ", "#ifdef ", "#ifndef ", "#elif ", "#else", "#endif"};
	size_t before = start, n = 0;
	while (before > 0 && strchr(" \t", text[before - 1]))
		before--;
	if (before > 0 && text[before - 1] != '\n')
		return 0;
	while (start + n < length && text[start + n] != '\n')
		n++;
	if (n && text[start + n - 1] == '\\')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (n >= strlen(words[i]) && strncmp(text + start, words[i], strlen(words[i])) == 0)
			return n;
	return 0;
}

char *c_text_of_tables(const TSTree *tree, const char *text, size_t length)
{
	char *copy = xcalloc(length + 1, 1);
	TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
	bool is_changed = false, is_table = true;
	memcpy(copy, text, length);
	for (bool more = true; more && is_table; more = syntax_next(&cursor)) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		if (!ts_node_is_missing(node) && !node_is_kind(node, "ERROR"))
			continue;
		size_t start = ts_node_start_byte(node), n = condition_length(text, start, length);
		is_table = n && ts_node_end_byte(node) <= start + n && is_in_table(node);
		if (is_table)
			memset(copy + start, ' ', n);
		is_changed = true;
	}
	ts_tree_cursor_delete(&cursor);
	if (is_table && is_changed)
		return copy;
	free(copy);
	return NULL;
}
