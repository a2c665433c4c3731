/* Costly functions of values that a loop does not change, worked out once before it. Compilers leave them
 * where they are, because such a function may set errno. */
#include "base/base.h"

#include <string.h>

#include "codemod/c_code.h"

static const struct pure {
	const char *name, *type;
} pure[] = {
	{"sqrtf", "float"},
	{"expf", "float"},
	{"logf", "float"},
	{"powf", "float"},
	{"tanhf", "float"},
	{"cosf", "float"},
	{"sinf", "float"},
	{"sqrt", "double"},
	{"exp", "double"},
	{"log", "double"},
	{"pow", "double"},
	{"tanh", "double"},
	{"cos", "double"},
	{"sin", "double"},
};

static const struct pure *find_pure(struct rewrite *r, TSNode call)
{
	for (size_t i = 0; i < ARRAY_LEN(pure); i++)
		if (node_text_is(r, code_field(call, "function"), pure[i].name))
			return &pure[i];
	return NULL;
}

struct changes { /* of a name in a loop */
	const char *name;
	bool changed;
};

static void see_assignment(struct rewrite *r, TSNode node, void *context)
{
	struct changes *c = context;
	c->changed |= node_text_is(r, code_field(node, "left"), c->name);
}
static void see_update(struct rewrite *r, TSNode node, void *context)
{
	struct changes *c = context;
	c->changed |= node_text_is(r, code_field(node, "argument"), c->name);
}
static void see_declaration(struct rewrite *r, TSNode node, void *context)
{
	struct changes *c = context;
	c->changed |= subtree_has_word(r, node, c->name);
}
static void see_address(struct rewrite *r, TSNode node, void *context)
{
	struct changes *c = context;
	c->changed |= node_text_is(r, code_field(node, "operator"), "&") &&
		      subtree_has_word(r, code_field(node, "argument"), c->name);
}

static bool changes_in(struct rewrite *r, TSNode loop, const char *name)
{
	static const struct {
		const char *kind;
		visit_fn visit;
	} looks[] = {
		{"assignment_expression", see_assignment},
		{"update_expression", see_update},
		{"declaration", see_declaration},
		{"pointer_expression", see_address},
	};
	struct changes c = {.name = name};
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		visit_kind(r, loop, looks[i].kind, looks[i].visit, &c);
	return c.changed;
}

struct names {
	TSNode loop;
	bool vary;
};

static void look_at_name(struct rewrite *r, TSNode node, void *context)
{
	struct names *n = context;
	n->vary |= changes_in(r, n->loop, code_text(r, node));
}

/* Nothing but names, numbers and arithmetic: what a pointer leads to may change unseen. */
static bool is_plain(struct rewrite *r, TSNode arguments)
{
	static const char *const kinds[] = {"subscript_expression", "call_expression", "pointer_expression",
		"field_expression", "assignment_expression", "update_expression"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (count_kind(r, arguments, kinds[i]))
			return false;
	return count_kind(r, arguments, "identifier") > 0;
}

/* A name of the file that functions may write: not a local one. */
static bool is_local(struct rewrite *r, TSNode function, const char *name)
{
	struct changes c = {.name = name};
	visit_kind(r, function, "parameter_declaration", see_declaration, &c);
	visit_kind(r, function, "declaration", see_declaration, &c);
	return c.changed;
}

/* Given to what may be a macro, which can assign it: names in capitals, and what the file defines. */
static void see_macro(struct rewrite *r, TSNode call, void *context)
{
	struct changes *c = context;
	const char *name = code_text(r, code_field(call, "function"));
	bool has_capital = strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	const char *define = arena_printf(r->arena, "define %s(", name);
	if (has_capital || strstr(r->file->text, define))
		c->changed |= subtree_has_word(r, code_field(call, "arguments"), c->name);
}

struct locals {
	TSNode function, loop;
	bool all, kept;
};

static void look_at_origin(struct rewrite *r, TSNode node, void *context)
{
	struct locals *l = context;
	struct changes c = {.name = code_text(r, node)};
	l->all &= is_local(r, l->function, c.name);
	visit_kind(r, l->function, "pointer_expression", see_address, &c);
	visit_kind(r, l->loop, "call_expression", see_macro, &c);
	l->kept &= !c.changed;
}

/* The outermost loop in which the arguments stay as they are. */
static TSNode loop_to_leave(struct rewrite *r, TSNode call, TSNode arguments)
{
	TSNode found = {0};
	for (TSNode up = ts_node_parent(call);
		!ts_node_is_null(up) && !node_is_kind(up, "function_definition"); up = ts_node_parent(up)) {
		if (!c_is_loop(up))
			continue;
		struct names names = {.loop = up};
		visit_kind(r, arguments, "identifier", look_at_name, &names);
		if (names.vary)
			break;
		found = up;
	}
	return found;
}

static void hoist(struct rewrite *r, TSNode call, void *context)
{
	const struct pure *function = find_pure(r, call);
	TSNode arguments = code_field(call, "arguments");
	int *n = context;
	if (!function || !is_plain(r, arguments))
		return;
	TSNode loop = loop_to_leave(r, call, arguments);
	if (ts_node_is_null(loop))
		return;
	struct locals locals = {.function = c_function_of(call), .loop = loop, .all = true, .kept = true};
	visit_kind(r, arguments, "identifier", look_at_origin, &locals);
	TSNode before = ts_node_prev_named_sibling(loop);
	if (!locals.all) {
		rewrite_refuse(r, call, "a variable outside of the function may change in the loop");
		return;
	}
	if (!locals.kept) {
		rewrite_refuse(r, call, "a variable may be changed through a pointer or a macro");
		return;
	}
	if (!node_is_kind(ts_node_parent(loop), "compound_statement") || !node_indent(r, loop)) {
		rewrite_refuse(r, call, "there is no place for a variable before the loop");
		return;
	}
	/* A directive stays with its loop; variables of other blocks are not known before it. */
	TSNode at = node_is_kind(before, "preproc_call") ? before : loop;
	const char *indent = node_indent(r, loop);
	const char *name = arena_printf(r->arena, "hoisted_%s_%d", function->name, ++*n);
	size_t line = ts_node_start_byte(at) - ts_node_start_point(at).column;
	rewrite_insert(r, line,
		arena_printf(
			r->arena, "%sconst %s %s = %s;\n", indent, function->type, name, code_text(r, call)));
	rewrite_replace(r, ts_node_start_byte(call), ts_node_end_byte(call), name);
	r->n_places++;
}

static void run(struct rewrite *r)
{
	int n = 0;
	if (strstr(r->file->text, "hoisted_")) /* names that could meet */
		return;
	visit_kind(r, r->root, "call_expression", hoist, &n);
}

const struct codemod codemod_c_hoist = {
	{"hoist", "functions of unchanging values worked out once before the loop", "tile_size",
		"forward,backward,optimizer",
		"sqrt, exp, log, pow, tanh, sin, cos (and float versions) of local variables that the loop "
		"does not change",
		LANGUAGE_C},
	run};
