#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/facts.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { TEXT_CAP = 2000 };

/* tree-sitter follows a null node into nothing. */
static const TSNode no_node;

const char *node_type(TSNode node)
{
	return ts_node_is_null(node) ? "" : ts_node_type(node);
}

bool node_is(TSNode node, const char *type)
{
	return strcmp(node_type(node), type) == 0;
}

uint32_t node_start(TSNode node)
{
	return ts_node_is_null(node) ? 0 : ts_node_start_byte(node);
}

uint32_t node_end(TSNode node)
{
	return ts_node_is_null(node) ? 0 : ts_node_end_byte(node);
}

bool node_contains(TSNode outer, TSNode inner)
{
	return !ts_node_is_null(outer) && !ts_node_is_null(inner) && node_start(outer) <= node_start(inner) &&
	       node_end(outer) >= node_end(inner);
}

TSNode node_parent(TSNode node)
{
	return ts_node_is_null(node) ? no_node : ts_node_parent(node);
}

TSNode node_next(TSNode node)
{
	return ts_node_is_null(node) ? no_node : ts_node_next_named_sibling(node);
}

TSNode node_child(TSNode node, uint32_t index)
{
	return ts_node_is_null(node) ? no_node : ts_node_child(node, index);
}

TSNode node_field(TSNode node, const char *field)
{
	return ts_node_is_null(node) ? no_node
				     : ts_node_child_by_field_name(node, field, (uint32_t)strlen(field));
}

TSNode node_named(TSNode node, uint32_t index)
{
	return ts_node_is_null(node) ? no_node : ts_node_named_child(node, index);
}

uint32_t node_count(TSNode node, uint32_t cap)
{
	return ts_node_is_null(node) ? 0 : MIN_OF(ts_node_named_child_count(node), cap);
}

static bool is_blank(char c)
{
	return c == '\0' || strchr(" \t\n\r\f\v", c) != NULL;
}

/* 'x' is "x" where the quotes are all that differs. */
static bool is_plain_quoted(const char *text, uint32_t length)
{
	return length >= 2 && text[0] == '\'' && text[length - 1] == '\'' &&
	       !memchr(text + 1, '\'', length - 2) && !memchr(text, '"', length) &&
	       !memchr(text, '\\', length);
}

static void add_token(const struct source *source, TSNode leaf, struct strbuf *text)
{
	uint32_t from = node_start(leaf), to = node_end(leaf);
	if (to <= from || to > source->length)
		return;
	if (text->len)
		strbuf_addch(text, ' ');
	bool requote = source->language == LANGUAGE_PYTHON && is_plain_quoted(source->text + from, to - from);
	/* tokens such as the rest of a #define line may hold blanks themselves */
	for (uint32_t i = from; i < to && text->len < TEXT_CAP; i++) {
		char c = source->text[i];
		if (!is_blank(c))
			strbuf_addch(text, requote && c == '\'' ? '"' : c);
		else if (text->len && text->buf[text->len - 1] != ' ')
			strbuf_addch(text, ' ');
	}
	while (text->len && text->buf[text->len - 1] == ' ')
		text->buf[--text->len] = '\0';
}

/* By the type's name: this is asked for every node of every text. */
static bool is_literal_type(const char *type)
{
	switch (type[0]) {
	case 's':
		return strcmp(type, "string") == 0 || strcmp(type, "string_literal") == 0 ||
		       strcmp(type, "system_lib_string") == 0;
	case 'c':
		return strcmp(type, "char_literal") == 0;
	default:
		return false;
	}
}

static bool is_mute_type(const char *type)
{
	return strcmp(type, "comment") == 0 || strcmp(type, "line_continuation") == 0;
}

static bool closes(const char *type)
{
	return (type[0] == ')' || type[0] == ']' || type[0] == '}') && !type[1];
}

/* In Python a comma before a bracket closes says nothing: it waits for what comes next. */
static void add_leaf(
	const struct source *source, TSNode leaf, const char *type, struct strbuf *text, TSNode *comma)
{
	if (is_mute_type(type))
		return;
	if (!ts_node_is_null(*comma) && !closes(type))
		add_token(source, *comma, text);
	*comma = (TSNode){0};
	if (source->language == LANGUAGE_PYTHON && type[0] == ',' && !type[1])
		*comma = leaf;
	else
		add_token(source, leaf, text);
}

/* Past the cap the text ends in a hash of the rest, so that a change there is still seen. */
static void add_rest(const struct source *source, TSNode node, struct strbuf *text)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	for (uint32_t i = node_start(node); i < node_end(node); i++)
		hash = (hash ^ (unsigned char)source->text[i]) * 1099511628211u;
	strbuf_addf(text, " ...%016llx", (unsigned long long)hash);
}

static bool is_negation(const struct source *source, TSNode node)
{
	return node_is(node, "unary_expression") && source->text[node_start(node)] == '!';
}

/* What `unlikely(x)` and `__builtin_expect(!!(x), 0)` are about: x. Null for any other node. Macros of these
 * names that say something else are found by rule A11. */
static TSNode hinted(const struct source *source, TSNode node)
{
	static const char *const hints[] = {
		"likely", "unlikely", "__builtin_expect", "__builtin_expect_with_probability"};
	TSNode none = {0}, function = none;
	if (node_is(node, "call_expression"))
		function = node_field(node, "function");
	if (!node_is(function, "identifier"))
		return none;
	uint32_t from = node_start(function), length = node_end(function) - from;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		if (strlen(hints[i]) != length || memcmp(source->text + from, hints[i], length) != 0)
			continue;
		TSNode what = node_named(node_field(node, "arguments"), 0);
		TSNode inner = is_negation(source, what) ? node_field(what, "argument") : none;
		if (is_negation(source, inner))
			what = node_field(inner, "argument");
		if (is_negation(source, inner) && node_is(what, "parenthesized_expression"))
			what = node_named(what, 0);
		return node_is(what, "comment") ? none : what;
	}
	return none;
}

/* Hints inside hints are read as calls: no one writes them, and the stack stays small. */
static void add_node(const struct source *source, TSNode node, bool is_in_hint, struct strbuf *text)
{
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	TSNode comma = {0};
	for (bool more = true; more && text->len < TEXT_CAP;) {
		TSNode at = ts_tree_cursor_current_node(&cursor);
		const char *type = node_type(at);
		bool is_leaf = ts_node_child_count(at) == 0 || is_literal_type(type);
		TSNode operand = {0};
		if (!is_in_hint && strcmp(type, "call_expression") == 0)
			operand = hinted(source, at);
		if (is_leaf)
			add_leaf(source, at, type, text, &comma);
		bool is_hinted = !ts_node_is_null(operand);
		if (is_hinted)
			add_node(source, operand, true, text);
		more = is_leaf || is_hinted ? syntax_next_outside(&cursor) : syntax_next(&cursor);
	}
	ts_tree_cursor_delete(&cursor);
}

void node_text(const struct source *source, TSNode node, struct strbuf *text)
{
	strbuf_clear(text);
	if (ts_node_is_null(node))
		return;
	add_node(source, node, false, text);
	if (text->len >= TEXT_CAP)
		add_rest(source, node, text);
}

/* ---- pairing ---- */

/* What must agree, from the most to the least. */
enum pass {
	PASS_TEXT_LOOPS,
	PASS_TEXT_CONDITIONS,
	PASS_TEXT_FUNCTION,
	PASS_TEXT,
	PASS_NAME_LOOPS,
	PASS_NAME_FUNCTION,
	PASS_NAME,
	PASS_COUNT
};

static uint64_t conditions_of(const struct fact *f)
{
	return f->guards ? f->guards->conditions : 0;
}

static int compare_for(const struct fact *a, const struct fact *b, enum pass pass)
{
	int order = (a->kind > b->kind) - (a->kind < b->kind);
	if (!order && pass <= PASS_TEXT) {
		order = (a->hash > b->hash) - (a->hash < b->hash);
		order = order ? order : strcmp(a->text, b->text);
	} else if (!order) {
		order = strcmp(a->name, b->name);
	}
	if (!order && pass != PASS_TEXT && pass != PASS_NAME)
		order = strcmp(a->function, b->function);
	if (!order && (pass == PASS_TEXT_LOOPS || pass == PASS_NAME_LOOPS))
		order = a->loops - b->loops;
	if (!order && pass <= PASS_TEXT_CONDITIONS)
		order = (conditions_of(a) > conditions_of(b)) - (conditions_of(a) < conditions_of(b));
	return order;
}

/* Facts of one source lie in one array, so their addresses are their order of appearance. */
static int in_order(const struct fact *a, const struct fact *b)
{
	int order = strcmp(a->source->path, b->source->path);
	return order ? order : (a > b) - (a < b);
}

static int compare_pass(const void *a, const void *b, void *pass)
{
	const struct fact *x = *(struct fact *const *)a, *y = *(struct fact *const *)b;
	int order = compare_for(x, y, *(enum pass *)pass);
	return order ? order : in_order(x, y);
}

/* Only what carries a meaning by its name pairs by name. */
static bool pairs_by_name(const struct fact *f)
{
	return f->kind == FACT_CALL || f->kind == FACT_ASSIGN || f->kind == FACT_LOOP ||
	       f->kind == FACT_DECLARE || f->kind == FACT_DEFINE || f->kind == FACT_FUNCTION;
}

static size_t unpaired(struct fact **from, size_t n, struct fact **to, enum pass pass)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (!from[i]->twin && (pass <= PASS_TEXT || pairs_by_name(from[i])))
			to[count++] = from[i];
	return count;
}

static void pair_pass(struct fact **a, size_t n_a, struct fact **b, size_t n_b, enum pass pass)
{
	size_t i = 0, j = 0;
	qsort_r(a, n_a, sizeof(*a), compare_pass, &pass);
	qsort_r(b, n_b, sizeof(*b), compare_pass, &pass);
	while (i < n_a && j < n_b) {
		int order = compare_for(a[i], b[j], pass);
		if (order == 0) {
			a[i]->twin = b[j];
			b[j]->twin = a[i];
			a[i]->same = b[j]->same = pass <= PASS_TEXT;
		}
		i += order <= 0;
		j += order >= 0;
	}
}

void facts_pair(struct fact **old, size_t n_old, struct fact **new, size_t n_new)
{
	CLEANUP(free_ptr) struct fact **a = xcalloc(n_old + 1, sizeof(*a));
	CLEANUP(free_ptr) struct fact **b = xcalloc(n_new + 1, sizeof(*b));
	for (enum pass pass = 0; pass < PASS_COUNT; pass++) {
		size_t n_a = unpaired(old, n_old, a, pass), n_b = unpaired(new, n_new, b, pass);
		pair_pass(a, n_a, b, n_b, pass);
	}
}
