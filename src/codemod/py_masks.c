#include "base/base.h"

#include <string.h>

#include "codemod/py_masks.h"

const char *text_with(struct rewrite *r, const char *form, const char *word)
{
	const char *at = strstr(form, "%s");
	return arena_printf(r->arena, "%.*s%s%s", (int)(at - form), form, word, at + 2);
}

TSNode owner_of_name(struct rewrite *r, TSNode name)
{
	bool is_member = strncmp(code_text(r, name), "self.", 5) == 0;
	TSNode node = name;
	while (!ts_node_is_null(node) &&
		!node_is_kind(node, is_member ? "class_definition" : "function_definition"))
		node = ts_node_parent(node);
	return ts_node_is_null(node) ? r->root : node;
}

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

/* Through what changes shape, type or place and not the values: x.view(...), x.bool(), x[:T, :T], (x). */
static TSNode bare(struct rewrite *r, TSNode node)
{
	static const char *const methods[] = {
		"view", "reshape", "bool", "to", "unsqueeze", "type", "float", "cuda"};
	for (;;) {
		TSNode function = code_field(node, "function");
		bool is_method = node_is_kind(node, "call") && node_is_kind(function, "attribute"),
		     harmless = false;
		for (size_t i = 0; is_method && i < ARRAY_LEN(methods); i++)
			harmless |= node_text_is(r, code_field(function, "attribute"), methods[i]);
		if (harmless)
			node = code_field(function, "object");
		else if (node_is_kind(node, "subscript"))
			node = code_field(node, "value");
		else if (node_is_kind(node, "parenthesized_expression"))
			node = ts_node_named_child(node, 0);
		else
			return node;
	}
}

/* What a triangle is cut from: ones, or minus infinity; as what is left above the diagonal of it. */
static enum triangle upper_of(struct rewrite *r, TSNode filled)
{
	const char *from = node_dense_text(r, code_field(filled, "function"));
	TSNode values = code_field(filled, "arguments");
	if (strcmp(from, "torch.ones") == 0)
		return TRIANGLE_UPPER;
	bool is_infinite = strcmp(from, "torch.full") == 0 && ts_node_named_child_count(values) >= 2 &&
			   mask_is_minus_infinity(r, ts_node_named_child(values, 1));
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
	TSNode filled = ts_node_named_child(list, 0);
	if (n == 1)
		return strcmp(name, "torch.tril") == 0 && upper_of(r, filled) == TRIANGLE_UPPER
			       ? TRIANGLE_LOWER
			       : TRIANGLE_NONE;
	const char *diagonal = node_dense_text(r, ts_node_named_child(list, 1));
	bool is_above = strcmp(diagonal, "diagonal=1") == 0 || strcmp(diagonal, "1") == 0;
	return strcmp(name, "torch.triu") == 0 && is_above ? upper_of(r, filled) : TRIANGLE_NONE;
}

struct search {
	const char *name, *member; /* as it is used, and without self. */
	size_t n;
	enum triangle found;
};

static void take(struct search *s, enum triangle t)
{
	bool is_first = s->n++ == 0;
	s->found = is_first || s->found == t ? t : TRIANGLE_NONE;
}

static void find_assignment(struct rewrite *r, TSNode assignment, void *context)
{
	struct search *s = context;
	TSNode left = code_field(assignment, "left");
	bool is_whole = node_text_is(r, left, s->name);
	if (is_whole || node_text_is(r, bare(r, left), s->name)) /* mask[...] = ... */
		take(s, is_whole ? triangle_of(r, code_field(assignment, "right")) : TRIANGLE_NONE);
}

static void find_change(struct rewrite *r, TSNode assignment, void *context)
{
	struct search *s = context;
	if (node_text_is(r, bare(r, code_field(assignment, "left")), s->name))
		take(s, TRIANGLE_NONE);
}

static void find_buffer(struct rewrite *r, TSNode call, void *context)
{
	struct search *s = context;
	TSNode list = code_field(call, "arguments");
	if (!node_text_is(r, code_field(call, "function"), "self.register_buffer") ||
		ts_node_named_child_count(list) < 2)
		return;
	const char *first = node_dense_text(r, ts_node_named_child(list, 0));
	size_t length = strlen(s->member);
	if (strlen(first) == length + 2 && strncmp(first + 1, s->member, length) == 0)
		take(s, triangle_of(r, ts_node_named_child(list, 1)));
}

/* Of an expression itself, or of the name that it is, wherever that is given a value. */
static enum triangle triangle_behind(struct rewrite *r, TSNode expression)
{
	TSNode node = bare(r, expression);
	bool is_member = node_is_kind(node, "attribute") && strncmp(code_text(r, node), "self.", 5) == 0;
	if (!is_member && !node_is_kind(node, "identifier"))
		return triangle_of(r, node);
	struct search s = {.name = code_text(r, node)};
	s.member = is_member ? s.name + 5 : s.name;
	TSNode owner = owner_of_name(r, node);
	visit_kind(r, owner, "assignment", find_assignment, &s);
	visit_kind(r, owner, "augmented_assignment", find_change, &s);
	if (is_member)
		visit_kind(r, owner, "call", find_buffer, &s);
	/* A variable of the file, unless the function has a parameter of the name. */
	bool is_parameter = node_is_kind(owner, "function_definition") &&
			    subtree_has_word(r, code_field(owner, "parameters"), s.name);
	if (!is_member && s.n == 0 && !is_parameter) {
		visit_kind(r, r->root, "assignment", find_assignment, &s);
		visit_kind(r, r->root, "augmented_assignment", find_change, &s);
	}
	return s.found;
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
