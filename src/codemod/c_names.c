/* Names: their declarations, and expressions that may be worked out in any order. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "codemod/c_code.h"

static void unwrap(struct rewrite *r, TSNode declarator, struct c_name *n)
{
	if (node_is_kind(declarator, "init_declarator")) {
		n->value = code_field(declarator, "value");
		declarator = code_field(declarator, "declarator");
	}
	n->declarator = declarator;
	while (node_is_kind(declarator, "pointer_declarator")) {
		n->pointers++;
		for (uint32_t i = 0; i < ts_node_child_count(declarator); i++) {
			TSNode child = ts_node_child(declarator, i);
			n->is_restrict |= n->pointers == 1 && (node_text_is(r, child, "restrict") ||
								      node_text_is(r, child, "__restrict") ||
								      node_text_is(r, child, "__restrict__"));
		}
		declarator = code_field(declarator, "declarator");
	}
	if (node_is_kind(declarator, "array_declarator")) {
		n->is_array = true;
		declarator = code_field(declarator, "declarator");
	}
	n->is_odd |= !node_is_kind(declarator, "identifier");
}

static TSNode name_in(TSNode declarator)
{
	while (!ts_node_is_null(declarator) && !node_is_kind(declarator, "identifier")) {
		TSNode inner = code_field(declarator, "declarator");
		if (ts_node_is_null(inner) && node_is_kind(declarator, "parenthesized_declarator"))
			inner = ts_node_named_child(declarator, 0);
		declarator = inner;
	}
	return declarator;
}

/* The name among the declarators of a declaration or parameter. */
static bool read_declaration(struct rewrite *r, TSNode declaration, const char *name, enum name_place place,
	struct c_name *ret_name)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(declaration); i++) {
		TSNode child = ts_node_named_child(declaration, i);
		if (ts_node_eq(child, code_field(declaration, "type")) ||
			!node_text_is(r, name_in(child), name))
			continue;
		struct c_name n = {.place = place, .declaration = declaration};
		n.type = code_text(r, code_field(declaration, "type"));
		n.is_volatile = subtree_has_word(r, declaration, "volatile");
		n.is_odd = n.is_volatile || subtree_has_word(r, declaration, "_Atomic") ||
			   subtree_has_word(r, declaration, "__attribute__") ||
			   subtree_has_word(r, declaration, "register");
		n.is_static = subtree_has_word(r, declaration, "static") ||
			      subtree_has_word(r, declaration, "extern") ||
			      subtree_has_word(r, declaration, "_Thread_local") ||
			      subtree_has_word(r, declaration, "__thread");
		unwrap(r, child, &n);
		*ret_name = n;
		return true;
	}
	return false;
}

static bool read_parameters(struct rewrite *r, TSNode function, const char *name, struct c_name *ret_name)
{
	TSNode declarator = code_field(function, "declarator");
	while (node_is_kind(declarator, "pointer_declarator"))
		declarator = code_field(declarator, "declarator");
	TSNode list = code_field(declarator, "parameters");
	for (uint32_t i = 0; !ts_node_is_null(list) && i < ts_node_named_child_count(list); i++)
		if (node_is_kind(ts_node_named_child(list, i), "parameter_declaration") &&
			read_declaration(r, ts_node_named_child(list, i), name, NAME_PARAMETER, ret_name))
			return true;
	return false;
}

/* The last declaration of the name among the statements before `node` in its block. */
static bool read_before(
	struct rewrite *r, TSNode node, const char *name, enum name_place place, struct c_name *ret_name)
{
	for (TSNode at = ts_node_prev_named_sibling(node); !ts_node_is_null(at);
		at = ts_node_prev_named_sibling(at))
		if (node_is_kind(at, "declaration") && read_declaration(r, at, name, place, ret_name))
			return true;
	return false;
}

struct c_name c_find_name(struct rewrite *r, TSNode at, const char *name)
{
	struct c_name found = {.place = NAME_UNKNOWN, .type = ""};
	TSNode node = at;
	bool is_inside = true;
	for (TSNode up = ts_node_parent(at); !ts_node_is_null(up); node = up, up = ts_node_parent(up)) {
		if (node_is_kind(up, "declaration") && is_inside &&
			read_declaration(r, up, name, NAME_LOCAL, &found))
			return found; /* of the same declaration: an earlier declarator, or itself */
		if (node_is_kind(up, "for_statement") &&
			node_is_kind(code_field(up, "initializer"), "declaration") &&
			read_declaration(r, code_field(up, "initializer"), name, NAME_LOCAL, &found))
			return found;
		if (node_is_kind(up, "function_definition")) {
			is_inside = false;
			if (read_parameters(r, up, name, &found))
				return found;
		} else if (read_before(r, node, name, is_inside ? NAME_LOCAL : NAME_FILE, &found)) {
			return found;
		}
	}
	return found;
}

bool c_is_declared_in(const struct c_name *name, TSNode scope)
{
	return name->place == NAME_LOCAL &&
	       ts_node_start_byte(name->declaration) >= ts_node_start_byte(scope) &&
	       ts_node_end_byte(name->declaration) <= ts_node_end_byte(scope);
}

bool c_is_float(const struct c_name *name)
{
	return !name->is_odd && !name->pointers && !name->is_array &&
	       (strcmp(name->type, "float") == 0 || strcmp(name->type, "double") == 0);
}

static bool is_whole_type(const char *type)
{
	static const char *const types[] = {"int", "unsigned", "unsigned int", "long", "unsigned long",
		"long long", "unsigned long long", "size_t", "ssize_t", "ptrdiff_t", "int32_t", "uint32_t",
		"int64_t", "uint64_t"};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

bool c_is_whole(const struct c_name *name)
{
	return !name->is_odd && !name->pointers && !name->is_array && is_whole_type(name->type);
}

bool c_is_vector(const struct c_name *name)
{
	bool is_number = strcmp(name->type, "float") == 0 || strcmp(name->type, "double") == 0 ||
			 is_whole_type(name->type);
	return !name->is_odd && name->pointers + name->is_array == 1 && is_number;
}

/* ---- purity ---- */

bool c_is_math_call(struct rewrite *r, TSNode call)
{
	static const char *const names[] = {"sqrt", "exp", "log", "pow", "tanh", "cos", "sin", "fabs", "erf",
		"exp2", "log2", "log1p", "expm1", "cosh", "sinh", "tan", "atan", "floor", "ceil", "fmax",
		"fmin", "cbrt"};
	const char *name = code_text(r, code_field(call, "function"));
	size_t n = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t m = strlen(names[i]);
		if (strncmp(name, names[i], m) == 0 && (n == m || (n == m + 1 && name[m] == 'f')))
			return c_find_name(r, call, name).place == NAME_UNKNOWN;
	}
	return false;
}

static bool is_known_constant(const char *name)
{
	static const char *const names[] = {"M_PI", "M_E", "M_SQRT2", "M_SQRT1_2", "M_2_SQRTPI", "M_LN2",
		"FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX", "DBL_MIN", "DBL_EPSILON", "INT_MAX",
		"INFINITY", "NULL"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct constants {
	const char *name;
	bool found, plain;
};

/* Nothing that a call, an assignment or a count could be made of. */
static void see_define(struct rewrite *r, TSNode node, void *context)
{
	struct constants *c = context;
	if (!node_text_is(r, code_field(node, "name"), c->name))
		return;
	const char *value = node_dense_text(r, code_field(node, "value"));
	bool has_call = false;
	for (const char *p = value; *p; p++)
		has_call |= *p == '(' && p > value && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
	c->plain = (!c->found || c->plain) && !has_call && *value && !strpbrk(value, "=;{}[\"'#\\&>") &&
		   !strstr(value, "++") && !strstr(value, "--");
	c->found = true;
}

static void see_enumerator(struct rewrite *r, TSNode node, void *context)
{
	struct constants *c = context;
	if (node_text_is(r, code_field(node, "name"), c->name))
		c->found = c->plain = true;
}

/* A macro of a number, or an enumerator, in some file of the program. */
static bool is_constant(struct rewrite *r, const char *name)
{
	struct constants c = {.name = name};
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		visit_kind(&view, r->sources[i].root, "preproc_def", see_define, &c);
		visit_kind(&view, r->sources[i].root, "enumerator", see_enumerator, &c);
	}
	return c.found && c.plain;
}

const char *c_reason_unknown(struct rewrite *r, TSNode identifier)
{
	const char *name = code_text(r, identifier);
	struct c_name found = c_find_name(r, identifier, name);
	if (found.place != NAME_UNKNOWN)
		return found.is_volatile ? "a name is volatile" : NULL;
	return is_constant(r, name) || is_known_constant(name)
		       ? NULL
		       : "a name is a macro, or declared where it is not seen";
}

struct purity {
	const char *why;
};

static void see_name(struct rewrite *r, TSNode node, void *context)
{
	struct purity *p = context;
	if (!p->why && !ts_node_eq(code_field(ts_node_parent(node), "function"), node))
		p->why = c_reason_unknown(r, node);
}

static void see_call(struct rewrite *r, TSNode node, void *context)
{
	struct purity *p = context;
	if (!p->why && !c_is_math_call(r, node))
		p->why = "what a call does is not known";
}

static bool has_volatile(struct rewrite *r)
{
	if (r->volatility == VOLATILE_NOT_LOOKED)
		r->volatility = file_has_word(r, "volatile") || file_has_word(r, "_Atomic") ||
						strstr(r->file->text, "atomic_")
					? VOLATILE_FOUND
					: VOLATILE_NONE;
	return r->volatility == VOLATILE_FOUND;
}

const char *c_reason_impure(struct rewrite *r, TSNode expression)
{
	static const char *const kinds[] = {"assignment_expression", "update_expression",
		"compound_statement", "gnu_asm_expression", "compound_literal_expression",
		"generic_expression", "ERROR"};
	struct purity p = {NULL};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (count_kind(r, expression, kinds[i]))
			return "an expression has side effects";
	if (has_volatile(r))
		return "the file has volatile or atomic objects";
	visit_kind(r, expression, "call_expression", see_call, &p);
	visit_kind(r, expression, "identifier", see_name, &p);
	return p.why;
}
