/*
 * restrict on the pointers of static functions, so that the compiler may keep values in registers and use
 * vectors. Different names are not enough, for they may stand for the same memory: every call must be in this
 * file and pass different arrays of the caller, memory that the caller allocated, or pointers that are
 * restrict there. What an allocator of the program's own returns is not known to be anybody's alone.
 */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codemod/rewrite.h"

enum { PARAMETERS = 16 };

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

struct function {
	const char *name;
	TSNode definition;
	TSNode pointer[PARAMETERS]; /* pointer_declarator */
	int position[PARAMETERS];
	int n, n_parameters;
	bool writes, spoiled;
	int calls;
};

static bool is_number_type(struct rewrite *r, TSNode parameter)
{
	static const char *const types[] = {
		"float", "double", "int", "int32_t", "uint16_t", "uint8_t", "int8_t"};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (node_text_is(r, code_field(parameter, "type"), types[i]))
			return true;
	return false;
}

static bool has_child_text(struct rewrite *r, TSNode node, const char *text)
{
	for (uint32_t i = 0; i < ts_node_child_count(node); i++)
		if (node_text_is(r, ts_node_child(node, i), text))
			return true;
	return false;
}

static bool read_parameters(struct rewrite *r, TSNode list, struct function *f)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		TSNode parameter = ts_node_named_child(list, i),
		       declarator = code_field(parameter, "declarator");
		int position = f->n_parameters++;
		if (node_is_kind(declarator, "array_declarator"))
			return false; /* a pointer by another spelling, and no place for the word */
		if (!node_is_kind(declarator, "pointer_declarator"))
			continue;
		if (!is_number_type(r, parameter) || f->n == PARAMETERS)
			return false; /* what it points to may hold the other pointers */
		if (!node_is_kind(code_field(declarator, "declarator"), "identifier") ||
			subtree_has_word(r, declarator, "restrict"))
			return false;
		f->pointer[f->n] = declarator;
		f->position[f->n++] = position;
		f->writes |= !has_child_text(r, parameter, "const");
	}
	return f->n >= 2 && f->writes;
}

/* The variable at the left of an argument: `x` in `(float *)x + i * n`. */
static const char *base_of(struct rewrite *r, TSNode argument)
{
	for (;;) {
		if (node_is_kind(argument, "identifier"))
			return code_text(r, argument);
		if (node_is_kind(argument, "cast_expression"))
			argument = code_field(argument, "value");
		else if (node_is_kind(argument, "binary_expression"))
			argument = code_field(argument, "left");
		else if (node_is_kind(argument, "parenthesized_expression"))
			argument = ts_node_named_child(argument, 0);
		else
			return "";
	}
}

struct memory {
	const char *name;
	int n, n_own; /* declarations of the name in the caller */
	int n_changes;
};

/* `float *x = malloc(...)`: nothing else leads there, as long as the variable is not set again. */
static bool is_fresh(struct rewrite *r, TSNode pointer)
{
	static const char *const names[] = {"malloc", "calloc", "aligned_alloc"};
	TSNode init = ts_node_parent(pointer), value = code_field(init, "value");
	while (node_is_kind(value, "cast_expression"))
		value = code_field(value, "value");
	if (!node_is_kind(init, "init_declarator") || !node_is_kind(value, "call_expression"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (node_text_is(r, code_field(value, "function"), names[i]))
			return true;
	return false;
}

static void look_at_change(struct rewrite *r, TSNode node, void *context)
{
	struct memory *m = context;
	bool is_assignment = node_is_kind(node, "assignment_expression");
	if (node_is_kind(node, "pointer_expression") && !node_text_is(r, code_field(node, "operator"), "&"))
		return;
	m->n_changes += node_text_is(r, code_field(node, is_assignment ? "left" : "argument"), m->name);
}

static void look_at_declaration(struct rewrite *r, TSNode name, void *context)
{
	struct memory *m = context;
	TSNode up = ts_node_parent(name);
	if (!node_text_is(r, name, m->name))
		return;
	bool is_array =
		node_is_kind(up, "array_declarator") && ts_node_eq(code_field(up, "declarator"), name);
	bool is_pointer = node_is_kind(up, "pointer_declarator");
	bool is_other = node_is_kind(up, "init_declarator") && ts_node_eq(code_field(up, "declarator"), name);
	bool is_parameter = is_array && node_is_kind(ts_node_parent(up), "parameter_declaration");
	m->n += is_array || is_pointer || is_other || node_is_kind(up, "declaration") ||
		node_is_kind(up, "parameter_declaration");
	m->n_own += (is_array && !is_parameter) ||
		    (is_pointer && (subtree_has_word(r, up, "restrict") || is_fresh(r, up)));
}

static bool is_own_memory(struct rewrite *r, TSNode call, const char *name)
{
	struct memory m = {.name = name};
	TSNode caller = call;
	while (!ts_node_is_null(caller) && !node_is_kind(caller, "function_definition"))
		caller = ts_node_parent(caller);
	visit_kind(r, caller, "identifier", look_at_declaration, &m);
	visit_kind(r, caller, "assignment_expression", look_at_change, &m);
	visit_kind(r, caller, "update_expression", look_at_change, &m);
	visit_kind(r, caller, "pointer_expression", look_at_change, &m);
	return m.n == 1 && m.n_own == 1 && !m.n_changes;
}

static void check_call(struct rewrite *r, TSNode call, void *context)
{
	struct function *f = context;
	const char *bases[PARAMETERS];
	TSNode arguments = code_field(call, "arguments");
	if (!node_text_is(r, code_field(call, "function"), f->name))
		return;
	f->calls++;
	for (int i = 0; i < f->n; i++) {
		bases[i] = base_of(r, ts_node_named_child(arguments, (uint32_t)f->position[i]));
		f->spoiled |= !*bases[i] || !is_own_memory(r, call, bases[i]);
		for (int k = 0; k < i; k++)
			f->spoiled |= strcmp(bases[i], bases[k]) == 0;
	}
}

/* In the whole text: also where a macro or a comment names it. */
static int count_mentions(const struct rewrite *r, const char *name)
{
	size_t n = strlen(name);
	int found = 0;
	for (const char *p = r->file->text; (p = strstr(p, name)); p += n) {
		bool begins = p == r->file->text || !is_name_byte(p[-1]);
		found += begins && !is_name_byte(p[n]);
	}
	return found;
}

static void consider(struct rewrite *r, TSNode definition, void *context)
{
	struct function f = {.definition = definition};
	TSNode declarator = code_field(definition, "declarator");
	(void)context;
	if (!has_child_text(r, definition, "static") || !node_is_kind(declarator, "function_declarator"))
		return;
	f.name = code_text(r, code_field(declarator, "declarator"));
	if (!read_parameters(r, code_field(declarator, "parameters"), &f))
		return;
	visit_kind(r, r->root, "call_expression", check_call, &f);
	if (!f.calls)
		return;
	/* Its own name and one for each call: else a pointer to it is kept, a macro calls it, or the like. */
	if (count_mentions(r, f.name) != f.calls + 1) {
		rewrite_refuse(r, definition, "the function is used by more than calls in this file");
		return;
	}
	if (f.spoiled) {
		rewrite_refuse(r, definition, "a call may pass the same memory twice");
		return;
	}
	for (int i = 0; i < f.n; i++)
		rewrite_insert(r, ts_node_start_byte(code_field(f.pointer[i], "declarator")), "restrict ");
	r->n_places++;
}

static bool is_header(const char *path)
{
	size_t n = strlen(path);
	return n >= 2 && strcmp(path + n - 2, ".h") == 0;
}

static void run(struct rewrite *r)
{
	if (is_header(r->file->path)) /* who includes it may call what it defines */
		return;
	visit_kind(r, r->root, "function_definition", consider, NULL);
}

const struct codemod codemod_c_restrict = {{"restrict", "pointers that do not overlap are said not to",
						   "tile_size", "forward,backward,optimizer",
						   "static functions with two or more pointers to numbers, "
						   "one of them written, whose calls all stand "
						   "in the file and pass different arrays of the caller, "
						   "what it got from malloc, or restrict pointers",
						   LANGUAGE_C},
	run};
