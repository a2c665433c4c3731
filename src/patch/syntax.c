#include "base/base.h"

#include <string.h>

#include "patch/syntax.h"

const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_python(void);

enum language syntax_language(const char *path)
{
	static const struct {
		const char *end;
		enum language language;
	} ends[] = {
		{".c", LANGUAGE_C},
		{".h", LANGUAGE_C},
		{".py", LANGUAGE_PYTHON},
	};
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(ends); i++)
		if (strcmp(dot, ends[i].end) == 0)
			return ends[i].language;
	return LANGUAGE_NONE;
}

enum err_code syntax_parse(enum language language, const char *path, const char *text, size_t length,
	TSTree **ret_tree, struct err *reterr)
{
	if (length > SYNTAX_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, path, 0, 0,
			"%zu bytes of source, more than the %d that are analysed", length, SYNTAX_CAP_BYTES);
	TSParser *parser = ts_parser_new();
	TSTree *tree = NULL;
	if (ts_parser_set_language(parser, language == LANGUAGE_C ? tree_sitter_c() : tree_sitter_python()))
		tree = ts_parser_parse_string(parser, NULL, text, (uint32_t)length);
	ts_parser_delete(parser);
	if (!tree)
		return err_set_at(reterr, ERR_FAILED, path, 0, 0,
			"the syntax parser gave no tree: grammar and tree-sitter library do not match");
	*ret_tree = tree;
	return OK;
}

void syntax_free(TSTree **tree)
{
	if (*tree)
		ts_tree_delete(*tree);
	*tree = NULL;
}

bool syntax_next_outside(TSTreeCursor *cursor)
{
	while (!ts_tree_cursor_goto_next_sibling(cursor))
		if (!ts_tree_cursor_goto_parent(cursor))
			return false;
	return true;
}

bool syntax_next(TSTreeCursor *cursor)
{
	return ts_tree_cursor_goto_first_child(cursor) || syntax_next_outside(cursor);
}

size_t syntax_error_count(const TSTree *tree)
{
	TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
	size_t count = 0;
	for (bool more = true; more;) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		count += ts_node_is_missing(node) || strcmp(ts_node_type(node), "ERROR") == 0;
		more = ts_node_has_error(node) ? syntax_next(&cursor) : syntax_next_outside(&cursor);
	}
	ts_tree_cursor_delete(&cursor);
	return count;
}
