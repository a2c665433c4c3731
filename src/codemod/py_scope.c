#include "base/base.h"

#include <string.h>

#include "codemod/py_modules.h"
#include "codemod/py_scope.h"

enum { DEPTH_MAX = 12 };

static TSNode around(TSNode node, const char *kind)
{
	while (!ts_node_is_null(node) && !node_is_kind(node, kind))
		node = ts_node_parent(node);
	return node;
}

TSNode scope_function(TSNode node)
{
	return around(node, "function_definition");
}

TSNode scope_class(TSNode node)
{
	return around(node, "class_definition");
}

static bool is_same(TSNode a, TSNode b)
{
	return !ts_node_is_null(a) && !ts_node_is_null(b) && ts_node_eq(a, b);
}

/* ---- where a name is bound, read and written ---- */

/* obj.name and f(name=...) are other names. */
static bool is_variable(TSNode identifier)
{
	TSNode parent = ts_node_parent(identifier);
	return !(node_is_kind(parent, "attribute") && is_same(code_field(parent, "attribute"), identifier)) &&
	       !(node_is_kind(parent, "keyword_argument") && is_same(code_field(parent, "name"), identifier));
}

/* The child of `node` on the way up may be given a value, or goes where it is not followed. */
static bool binds(TSNode node, TSNode child)
{
	static const struct {
		const char *kind, *field; /* NULL = anywhere in it */
	} places[] = {{"augmented_assignment", "left"}, {"for_statement", "left"}, {"for_in_clause", "left"},
		{"named_expression", "name"}, {"as_pattern", NULL}, {"with_item", NULL},
		{"global_statement", NULL}, {"nonlocal_statement", NULL}, {"delete_statement", NULL},
		{"import_statement", NULL}, {"import_from_statement", NULL}, {"parameters", NULL},
		{"lambda_parameters", NULL}, {"lambda", NULL}, {"class_definition", NULL},
		{"function_definition", NULL}, {"except_clause", NULL}, {"case_clause", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (node_is_kind(node, places[i].kind) &&
			(!places[i].field || is_same(code_field(node, places[i].field), child)))
			return true;
	return false;
}

enum use { USE_READ, USE_VALUE, USE_UNPACKED, USE_OTHER };

/* What happens to the variable or member at `node`, looked at up to `top`. */
static enum use use_of(TSNode node, TSNode top)
{
	TSNode child = node, parent = ts_node_parent(node);
	for (; !ts_node_is_null(parent) && !is_same(parent, top);
		child = parent, parent = ts_node_parent(parent)) {
		if (binds(parent, child))
			return USE_OTHER;
		if (!node_is_kind(parent, "assignment") || !is_same(code_field(parent, "left"), child))
			continue;
		if (is_same(child, node))
			return ts_node_is_null(code_field(parent, "right")) ? USE_OTHER : USE_VALUE;
		return node_is_kind(child, "pattern_list") && is_same(ts_node_parent(node), child)
			       ? USE_UNPACKED
			       : USE_OTHER;
	}
	return USE_READ;
}

static TSNode assigned_to(TSNode node)
{
	return code_field(around(node, "assignment"), "right");
}

/* An operand of masked_fill() or of a sum: neither changes it nor gives it another name. */
static bool is_only_looked_at(struct rewrite *r, TSNode node)
{
	for (TSNode parent = ts_node_parent(node); !ts_node_is_null(parent);
		parent = ts_node_parent(parent)) {
		if (node_is_kind(parent, "call") &&
			is_same(ts_node_parent(node), code_field(parent, "function")))
			return false; /* a method of it */
		const char *name = node_is_kind(parent, "call") ? call_name(r, parent) : "";
		if (strcmp(name, "masked_fill") == 0 || strcmp(name, "masked_fill_") == 0)
			return true;
		TSNode operator= code_field(parent, "operator");
		if (node_is_kind(parent, "binary_operator") && node_text_is(r, operator, "+"))
			return true;
		if (strstr(ts_node_type(parent), "statement"))
			return false;
	}
	return false;
}

struct tracing {
	const char *name;
	TSNode top, value;
	size_t n_values, n_others;
};

static void trace_variable(struct rewrite *r, TSNode identifier, void *context)
{
	struct tracing *t = context;
	if (!node_text_is(r, identifier, t->name) || !is_variable(identifier))
		return;
	enum use use = use_of(identifier, t->top);
	if (use == USE_VALUE) {
		t->n_values++;
		t->value = assigned_to(identifier);
	} else if (use != USE_READ || !is_only_looked_at(r, identifier)) {
		t->n_others++;
	}
}

TSNode scope_only_value(struct rewrite *r, TSNode name)
{
	TSNode none = {0};
	struct tracing t = {.name = code_text(r, name), .top = scope_function(name)};
	if (ts_node_is_null(t.top))
		return none;
	visit_kind(r, t.top, "identifier", trace_variable, &t);
	return t.n_values == 1 && t.n_others == 0 ? t.value : none;
}

/* ---- members ---- */

struct member {
	const char *name; /* without self. */
	const char *class_name;
	TSNode class, value;
	size_t n_values, n_others;
};

/* Nodes of another file are in another tree. */
static bool is_of_class(const struct member *m, TSNode node)
{
	return m->class.tree == node.tree && is_same(scope_class(node), m->class);
}

static void trace_member(struct rewrite *r, TSNode attribute, void *context)
{
	struct member *m = context;
	if (!node_text_is(r, code_field(attribute, "attribute"), m->name))
		return;
	bool is_self = node_text_is(r, code_field(attribute, "object"), "self"),
	     is_ours = is_of_class(m, attribute);
	TSNode top = {0}, parent = ts_node_parent(attribute);
	enum use use = use_of(attribute, is_self ? scope_function(attribute) : top);
	if (is_self && !is_ours)
		return; /* another class's */
	if (is_self && use == USE_VALUE) {
		m->n_values++;
		m->value = assigned_to(attribute);
	} else if (is_self) {
		m->n_others += use != USE_READ || !is_only_looked_at(r, attribute);
	} else {
		/* module.bias, of whatever it is: read, or handed to a function. */
		TSNode method = code_field(parent, "attribute");
		const char *text = node_is_kind(parent, "attribute") ? code_text(r, method) : "";
		bool writes = *text && text[strlen(text) - 1] == '_';
		m->n_others += use == USE_VALUE || use == USE_UNPACKED || writes ||
			       node_is_kind(parent, "subscript");
	}
}

static void trace_call(struct rewrite *r, TSNode call, void *context)
{
	static const char *const setters[] = {"setattr", "register_buffer", "register_parameter", "delattr"};
	struct member *m = context;
	TSNode list = code_field(call, "arguments");
	bool is_setter = false;
	for (size_t i = 0; i < ARRAY_LEN(setters); i++)
		is_setter |= strcmp(call_name(r, call), setters[i]) == 0;
	if (!is_setter || !node_is_kind(list, "argument_list"))
		return;
	const char *quoted = arena_printf(r->arena, "\"%s\"", m->name),
		   *single = arena_printf(r->arena, "'%s'", m->name);
	const char *text = node_dense_text(r, list);
	if (!strstr(text, quoted) && !strstr(text, single))
		return;
	bool is_self = node_text_is(r, code_field(call, "function"), "self.register_buffer");
	if (is_self && !is_of_class(m, call))
		return;
	TSNode first = ts_node_named_child(list, 0), second = ts_node_named_child(list, 1);
	if (!is_self || !node_is_kind(first, "string") || ts_node_is_null(second) ||
		node_is_kind(second, "keyword_argument")) {
		m->n_others++;
		return;
	}
	m->n_values++;
	m->value = second;
}

static void trace_class(struct rewrite *r, TSNode class, void *context)
{
	struct member *m = context;
	TSNode bases = code_field(class, "superclasses");
	if (!ts_node_is_null(bases) && subtree_has_word(r, bases, m->class_name))
		m->n_others++;
}

static bool derives_from_own(struct rewrite *r, TSNode class)
{
	TSNode bases = code_field(class, "superclasses");
	for (uint32_t i = 0; !ts_node_is_null(bases) && i < ts_node_named_child_count(bases); i++)
		if (py_is_own_class(r, code_text(r, ts_node_named_child(bases, i))))
			return true;
	return false;
}

static bool trace_members(struct rewrite *r, struct member *m)
{
	const struct codemod_file *file = r->file;
	TSNode root = r->root;
	for (size_t i = 0; i < r->n_sources; i++) {
		r->file = r->sources[i].file; /* texts of nodes are read from it */
		r->root = r->sources[i].root;
		visit_kind(r, r->root, "attribute", trace_member, m);
		visit_kind(r, r->root, "call", trace_call, m);
		visit_kind(r, r->root, "class_definition", trace_class, m);
	}
	r->file = file;
	r->root = root;
	return m->n_values == 1 && m->n_others == 0;
}

TSNode scope_only_member(struct rewrite *r, TSNode attribute)
{
	TSNode none = {0};
	struct member m = {
		.class = scope_class(attribute), .name = code_text(r, code_field(attribute, "attribute"))};
	if (ts_node_is_null(m.class) || !node_text_is(r, code_field(attribute, "object"), "self") ||
		derives_from_own(r, m.class))
		return none;
	m.class_name = code_text(r, code_field(m.class, "name"));
	return trace_members(r, &m) ? m.value : none;
}

/* ---- numbers ---- */

static bool is_number(struct rewrite *r, TSNode node, bool in_constructor, int depth);

struct numbers {
	const char *name;
	TSNode top;
	int depth;
	size_t n_numbers, n_others;
};

/* x.size() and x.shape hold whole numbers. */
static bool is_sizes(struct rewrite *r, TSNode node)
{
	TSNode function = code_field(node, "function");
	if (node_is_kind(node, "attribute"))
		return node_text_is(r, code_field(node, "attribute"), "shape");
	return node_is_kind(node, "call") && node_is_kind(function, "attribute") &&
	       node_text_is(r, code_field(function, "attribute"), "size") &&
	       strcmp(node_dense_text(r, code_field(node, "arguments")), "()") == 0;
}

static void count_numbers(struct rewrite *r, TSNode identifier, void *context)
{
	struct numbers *n = context;
	if (!node_text_is(r, identifier, n->name) || !is_variable(identifier))
		return;
	switch (use_of(identifier, n->top)) {
	case USE_VALUE:
		*(is_number(r, assigned_to(identifier), false, n->depth + 1) ? &n->n_numbers
									     : &n->n_others) += 1;
		break;
	case USE_UNPACKED:
		*(is_sizes(r, assigned_to(identifier)) ? &n->n_numbers : &n->n_others) += 1;
		break;
	case USE_READ:
		break;
	case USE_OTHER:
		n->n_others++;
	}
}

static void count_member_numbers(struct rewrite *r, TSNode attribute, void *context)
{
	struct numbers *n = context;
	if (!node_text_is(r, attribute, n->name))
		return;
	switch (use_of(attribute, scope_function(attribute))) {
	case USE_VALUE:
		*(is_number(r, assigned_to(attribute), true, n->depth + 1) ? &n->n_numbers : &n->n_others) +=
			1;
		break;
	case USE_READ:
		break;
	default:
		n->n_others++;
	}
}

static bool is_number_name(struct rewrite *r, TSNode node, int depth)
{
	bool is_member = node_is_kind(node, "attribute");
	struct numbers n = {.name = code_text(r, node), .depth = depth};
	n.top = is_member ? scope_class(node) : scope_function(node);
	if (ts_node_is_null(n.top) || (is_member && !node_text_is(r, code_field(node, "object"), "self")))
		return false;
	visit_kind(r, n.top, is_member ? "attribute" : "identifier",
		is_member ? count_member_numbers : count_numbers, &n);
	return n.n_numbers > 0 && n.n_others == 0;
}

static bool is_number_call(struct rewrite *r, TSNode call, bool in_constructor, int depth)
{
	TSNode function = code_field(call, "function"), list = code_field(call, "arguments");
	const char *name = node_dense_text(r, function);
	TSNode first = ts_node_named_child(list, 0);
	if (strcmp(name, "math.sqrt") == 0 || strcmp(name, "float") == 0 || strcmp(name, "int") == 0)
		return ts_node_named_child_count(list) == 1 && is_number(r, first, in_constructor, depth + 1);
	bool is_size = node_is_kind(function, "attribute") &&
		       node_text_is(r, code_field(function, "attribute"), "size");
	return is_size && ts_node_named_child_count(list) == 1 && is_number(r, first, false, depth + 1);
}

static bool is_number(struct rewrite *r, TSNode node, bool in_constructor, int depth)
{
	while (node_is_kind(node, "parenthesized_expression"))
		node = ts_node_named_child(node, 0);
	if (ts_node_is_null(node) || depth > DEPTH_MAX)
		return false;
	if (node_is_kind(node, "integer") || node_is_kind(node, "float"))
		return true;
	if (node_is_kind(node, "unary_operator"))
		return is_number(r, code_field(node, "argument"), in_constructor, depth + 1);
	if (node_is_kind(node, "binary_operator"))
		return is_number(r, code_field(node, "left"), in_constructor, depth + 1) &&
		       is_number(r, code_field(node, "right"), in_constructor, depth + 1);
	if (node_is_kind(node, "call"))
		return is_number_call(r, node, in_constructor, depth);
	if (node_is_kind(node, "subscript"))
		return is_sizes(r, code_field(node, "value"));
	bool is_name = node_is_kind(node, "identifier") || node_is_kind(node, "attribute");
	/* What a constructor is handed for a width or a count is one: a tensor would end the run, not change
	 * it. */
	return is_name && (in_constructor || is_number_name(r, node, depth));
}

bool scope_is_number(struct rewrite *r, TSNode node)
{
	return is_number(r, node, false, 0);
}

/* ---- imports ---- */

struct importing {
	const char *wanted; /* a name to look for; NULL = the best of all */
	const char *found;
	int rank;
};

static void offer(struct importing *i, const char *name, int rank)
{
	if (i->wanted ? strcmp(i->wanted, name) == 0 : rank > i->rank) {
		i->found = name;
		i->rank = rank;
	}
}

/* import torch; import torch.nn.functional as F; import torch.nn as nn */
static void take_import(struct rewrite *r, struct importing *i, const char *name, const char *alias)
{
	if (!alias && (strcmp(name, "torch") == 0 || strncmp(name, "torch.", 6) == 0))
		offer(i, "torch.nn.functional", 3);
	else if (alias && strcmp(name, "torch.nn.functional") == 0)
		offer(i, alias, 2);
	else if (alias && strcmp(name, "torch.nn") == 0)
		offer(i, arena_printf(r->arena, "%s.functional", alias), 1);
}

/* from torch.nn import functional as F; from torch import nn */
static void take_from(
	struct rewrite *r, struct importing *i, const char *module, const char *name, const char *alias)
{
	const char *known_as = alias ? alias : name;
	if (strcmp(module, "torch.nn") == 0 && strcmp(name, "functional") == 0)
		offer(i, known_as, 2);
	else if (strcmp(module, "torch") == 0 && strcmp(name, "nn") == 0)
		offer(i, arena_printf(r->arena, "%s.functional", known_as), 1);
}

static void read_import(struct rewrite *r, TSNode statement, void *context)
{
	struct importing *i = context;
	if (!node_is_kind(ts_node_parent(statement), "module"))
		return;
	bool is_from = node_is_kind(statement, "import_from_statement");
	const char *module = is_from ? node_dense_text(r, code_field(statement, "module_name")) : "";
	for (uint32_t k = is_from; k < ts_node_named_child_count(statement); k++) {
		TSNode item = ts_node_named_child(statement, k);
		bool has_alias = node_is_kind(item, "aliased_import");
		const char *name = node_dense_text(r, has_alias ? code_field(item, "name") : item);
		const char *alias = has_alias ? code_text(r, code_field(item, "alias")) : NULL;
		if (is_from)
			take_from(r, i, module, name, alias);
		else
			take_import(r, i, name, alias);
	}
}

static const char *import_of(struct rewrite *r, const char *wanted)
{
	struct importing i = {.wanted = wanted};
	visit_kind(r, r->root, "import_statement", read_import, &i);
	visit_kind(r, r->root, "import_from_statement", read_import, &i);
	return i.found;
}

const char *scope_functional(struct rewrite *r)
{
	return import_of(r, NULL);
}

bool scope_is_functional(struct rewrite *r, const char *name)
{
	return import_of(r, name) != NULL;
}
