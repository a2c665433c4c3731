/* Everything here answers no where it is not sure: a mask that is taken for the causal one and is not trains
 * something else. */
#include "base/base.h"

#include <string.h>

#include "codemod/py_masks.h"
#include "codemod/py_scope.h"

bool mask_is_minus_infinity(struct rewrite *r, TSNode value)
{
	/* 1e9 below the largest is as good: exp() of it is 0 in every format that trains. */
	static const char *const forms[] = {"float('-inf')", "float(\"-inf\")", "-float('inf')",
		"-float(\"inf\")", "-math.inf", "-torch.inf", "-1e9", "-1e10", "-1e30"};
	const char *text = node_dense_text(r, value);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (strcmp(text, forms[i]) == 0)
			return true;
	size_t length = strlen(text);
	return strncmp(text, "torch.finfo(", 12) == 0 && strcmp(text + length - 5, ").min") == 0;
}

enum triangle { TRIANGLE_NONE, TRIANGLE_LOWER, TRIANGLE_UPPER, TRIANGLE_ADDED };

/* x[:, :, :T, :T] and the like: leading axes whole or new, the last two cut alike from their beginning. */
static bool is_corner(struct rewrite *r, TSNode subscript)
{
	uint32_t n = ts_node_named_child_count(subscript);
	const char *last[2] = {NULL, NULL};
	for (uint32_t i = 1; i < n; i++) { /* the first child is what is cut */
		const char *text = node_dense_text(r, ts_node_named_child(subscript, i));
		bool is_whole =
			strcmp(text, ":") == 0 || strcmp(text, "...") == 0 || strcmp(text, "None") == 0;
		if (i + 2 < n && !is_whole)
			return false;
		if (i + 2 >= n)
			last[i + 2 - n] = text;
	}
	if (!last[0] || !last[1])
		return n == 2 && strcmp(last[1], "None") == 0;
	if (strcmp(last[0], "None") == 0 && strcmp(last[1], "None") == 0)
		return true; /* x[None, None]: the axes behind them are those of x */
	const char *end = last[1][0] == ':' ? last[1] + 1 : "-";
	bool is_plain =
		strspn(end, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(end);
	return is_plain && strcmp(end, "1") != 0 && strcmp(last[0], last[1]) == 0;
}

/* .view(1, 1, T, T) */
static bool keeps_last_two(struct rewrite *r, TSNode list)
{
	uint32_t n = ts_node_named_child_count(list);
	for (uint32_t i = 0; i + 2 < n; i++)
		if (!node_text_is(r, ts_node_named_child(list, i), "1"))
			return false;
	const char *a = n >= 2 ? node_dense_text(r, ts_node_named_child(list, n - 2)) : "1";
	return strcmp(a, "1") != 0 && strcmp(a, "-1") != 0 &&
	       strcmp(a, node_dense_text(r, ts_node_named_child(list, n - 1))) == 0;
}

/* A method that changes type, place, or nothing of the last two axes. */
static bool is_harmless(struct rewrite *r, TSNode function, TSNode list)
{
	static const char *const types[] = {"bool", "to", "type", "float", "cuda", "contiguous"};
	TSNode name = code_field(function, "attribute");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (node_text_is(r, name, types[i]))
			return true;
	if (node_text_is(r, name, "unsqueeze"))
		return strcmp(node_dense_text(r, list), "(0)") == 0;
	return (node_text_is(r, name, "view") || node_text_is(r, name, "reshape")) && keeps_last_two(r, list);
}

/* What is behind such methods, corners and parentheses; a null node where something else is done to it. */
static TSNode bare(struct rewrite *r, TSNode node)
{
	TSNode none = {0};
	for (int depth = 0; depth < 16; depth++) {
		TSNode function = code_field(node, "function");
		if (node_is_kind(node, "parenthesized_expression")) {
			node = ts_node_named_child(node, 0);
		} else if (node_is_kind(node, "subscript")) {
			if (!is_corner(r, node))
				return none;
			node = code_field(node, "value");
		} else if (node_is_kind(node, "call") && node_is_kind(function, "attribute") &&
			   !node_text_is(r, code_field(function, "object"), "torch")) {
			if (!is_harmless(r, function, code_field(node, "arguments")))
				return none;
			node = code_field(function, "object");
		} else {
			return node;
		}
	}
	return none;
}

/* The first two of n sizes are the same text, and not one. */
static bool is_square(struct rewrite *r, TSNode sizes)
{
	const char *a = node_dense_text(r, ts_node_named_child(sizes, 0));
	return ts_node_named_child_count(sizes) >= 2 && strcmp(a, "1") != 0 &&
	       strcmp(a, node_dense_text(r, ts_node_named_child(sizes, 1))) == 0;
}

/* (n, n), (n, n, dtype=...), ((n, n), ...): two sizes and no more. */
static bool makes_square(struct rewrite *r, TSNode list)
{
	TSNode shape = ts_node_named_child(list, 0);
	if (node_is_kind(shape, "tuple"))
		return ts_node_named_child_count(shape) == 2 && is_square(r, shape);
	for (uint32_t i = 2; i < ts_node_named_child_count(list); i++)
		if (!node_is_kind(ts_node_named_child(list, i), "keyword_argument"))
			return false;
	return is_square(r, list);
}

/* torch.ones(n, n), torch.full((n, n), -inf): as what is left above the diagonal of it. */
static enum triangle square_of(struct rewrite *r, TSNode filled)
{
	const char *from = node_dense_text(r, code_field(filled, "function"));
	TSNode list = code_field(filled, "arguments");
	if (!node_is_kind(list, "argument_list") || !makes_square(r, list))
		return TRIANGLE_NONE;
	if (strcmp(from, "torch.ones") == 0)
		return TRIANGLE_UPPER;
	bool is_infinite = strcmp(from, "torch.full") == 0 &&
			   node_is_kind(ts_node_named_child(list, 0), "tuple") &&
			   mask_is_minus_infinity(r, ts_node_named_child(list, 1));
	return is_infinite ? TRIANGLE_ADDED : TRIANGLE_NONE;
}

/* torch.tril(torch.ones(...)); torch.triu(torch.ones(...), diagonal=1), also of torch.full(..., -inf) */
static enum triangle triangle_of(struct rewrite *r, TSNode expression)
{
	TSNode call = bare(r, expression), list = code_field(call, "arguments");
	uint32_t n = node_is_kind(list, "argument_list") ? ts_node_named_child_count(list) : 0;
	if (!node_is_kind(call, "call") || n < 1 || n > 2)
		return TRIANGLE_NONE;
	const char *name = node_dense_text(r, code_field(call, "function"));
	enum triangle square = square_of(r, ts_node_named_child(list, 0));
	if (n == 1)
		return strcmp(name, "torch.tril") == 0 && square == TRIANGLE_UPPER ? TRIANGLE_LOWER
										   : TRIANGLE_NONE;
	const char *diagonal = node_dense_text(r, ts_node_named_child(list, 1));
	bool is_above = strcmp(diagonal, "diagonal=1") == 0 || strcmp(diagonal, "1") == 0;
	return strcmp(name, "torch.triu") == 0 && is_above ? square : TRIANGLE_NONE;
}

/* Of an expression itself, or of the one value that its name is ever given. */
static enum triangle triangle_behind(struct rewrite *r, TSNode expression)
{
	TSNode node = bare(r, expression), value = {0};
	if (node_is_kind(node, "identifier"))
		value = scope_only_value(r, node);
	else if (node_is_kind(node, "attribute"))
		value = scope_only_member(r, node);
	else if (!ts_node_is_null(node))
		value = node;
	return ts_node_is_null(value) ? TRIANGLE_NONE : triangle_of(r, value);
}

bool mask_forbids_later(struct rewrite *r, TSNode condition)
{
	while (node_is_kind(condition, "parenthesized_expression"))
		condition = ts_node_named_child(condition, 0);
	if (node_is_kind(condition, "comparison_operator") && ts_node_named_child_count(condition) == 2) {
		TSNode left = ts_node_named_child(condition, 0), right = ts_node_named_child(condition, 1);
		const char *text = node_dense_text(r, condition), *tail = text + strlen(text) - 3;
		enum triangle t = triangle_behind(r, left);
		return (t == TRIANGLE_LOWER && node_text_is(r, right, "0") && strcmp(tail, "==0") == 0) ||
		       (t == TRIANGLE_UPPER && node_text_is(r, right, "1") && strcmp(tail, "==1") == 0);
	}
	bool inverts = node_is_kind(condition, "unary_operator") && *node_dense_text(r, condition) == '~';
	TSNode inner = inverts ? code_field(condition, "argument") : condition;
	return triangle_behind(r, inner) == (inverts ? TRIANGLE_LOWER : TRIANGLE_UPPER);
}

bool mask_adds_causal(struct rewrite *r, TSNode value)
{
	return triangle_behind(r, value) == TRIANGLE_ADDED;
}
