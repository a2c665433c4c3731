#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codemod/c_calls.h"
#include "codemod/c_quiet.h"

enum {
	CALL_DEPTH = 4, /* a function that calls itself ends here, too */
	CALLS = 64      /* each is looked up in all files */
};

#define UNKNOWN_CODE "the loop has something that is not known"
#define UNKNOWN_NAME "a name is a macro, or declared where it is not seen"
#define UNKNOWN_CALL "what a call does is not known"
#define UNKNOWN_FUNCTION "which function a call means is not known"
#define ODD_VARIABLE "a variable of the loop is not a plain one"

struct quiet {
	int depth, n_calls;
	const char *why;
};

static void look(struct rewrite *r, struct quiet *q, TSNode node);

static void refuse(struct quiet *q, const char *why)
{
	if (!q->why)
		q->why = why;
}

static void look_at_children(struct rewrite *r, struct quiet *q, TSNode node)
{
	for (uint32_t i = 0; !q->why && i < ts_node_named_child_count(node); i++)
		look(r, q, ts_node_named_child(node, i));
}

/* ---- which function a call means ---- */

struct lookup {
	const char *name;
	const struct source *source; /* that is looked through */
	TSNode definition;
	const struct source *place; /* of the definition */
	int n;
	bool is_macro;
};

static void see_definition(struct rewrite *r, TSNode node, void *context)
{
	struct lookup *l = context;
	if (strcmp(c_function_name(r, node), l->name) != 0)
		return;
	l->definition = node;
	l->place = l->source;
	l->n++;
}

static void see_macro(struct rewrite *r, TSNode node, void *context)
{
	struct lookup *l = context;
	l->is_macro |= node_text_is(r, code_field(node, "name"), l->name);
}

static struct rewrite view_of(const struct rewrite *r, const struct source *source)
{
	struct rewrite view = *r;
	view.file = source->file;
	view.root = source->root;
	view.volatility = VOLATILE_NOT_LOOKED;
	return view;
}

static struct lookup look_up(struct rewrite *r, const char *name)
{
	struct lookup l = {.name = name};
	for (size_t i = 0; i < r->n_sources; i++) {
		l.source = &r->sources[i];
		struct rewrite view = view_of(r, l.source);
		visit_kind(&view, view.root, "function_definition", see_definition, &l);
		visit_kind(&view, view.root, "preproc_def", see_macro, &l);
		visit_kind(&view, view.root, "preproc_function_def", see_macro, &l);
	}
	return l;
}

/* #ifndef NAME, #define NAME around a whole header. */
static bool is_guard(struct rewrite *r, TSNode node)
{
	TSNode name = code_field(node, "name"), define = ts_node_named_child(node, 1);
	return node_is_kind(node, "preproc_ifdef") && node_is_kind(ts_node_child(node, 0), "#ifndef") &&
	       node_is_kind(ts_node_parent(node), "translation_unit") &&
	       node_is_kind(define, "preproc_def") &&
	       node_text_is(r, code_field(define, "name"), code_text(r, name));
}

/* Under a condition of the preprocessor there may be another one that is not seen. */
static bool is_conditional(struct rewrite *r, TSNode definition)
{
	for (TSNode up = ts_node_parent(definition); !ts_node_is_null(up); up = ts_node_parent(up))
		if (strncmp(ts_node_type(up), "preproc_", 8) == 0 && !is_guard(r, up))
			return true;
	return false;
}

static bool is_static(struct rewrite *r, TSNode definition)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(definition); i++)
		if (node_text_is(r, ts_node_named_child(definition, i), "static"))
			return true;
	return false;
}

struct include {
	const char *file; /* without folders */
	bool found;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void see_include(struct rewrite *r, TSNode node, void *context)
{
	struct include *i = context;
	const char *path = code_text(r, code_field(node, "path"));
	size_t n = strlen(path);
	if (n > 2)
		i->found |= strcmp(last_part(arena_strndup(r->arena, path + 1, n - 2)), i->file) == 0;
}

/* A static function of another file is the one that is called only where that file is included. */
static bool is_visible(struct rewrite *r, const struct lookup *l)
{
	struct rewrite view = view_of(r, l->place);
	struct include include = {.file = last_part(l->place->file->path)};
	if (l->place->file == r->file || !is_static(&view, l->definition))
		return true;
	visit_kind(r, r->root, "preproc_include", see_include, &include);
	return include.found;
}

/* ---- calls ---- */

/* The name is not that of a variable, such as a pointer to some function. */
static bool is_function_name(struct rewrite *r, TSNode call, const char *name)
{
	struct c_name found = c_find_name(r, call, name);
	TSNode declarator = found.declarator;
	if (found.place == NAME_UNKNOWN)
		return true;
	while (node_is_kind(declarator, "pointer_declarator"))
		declarator = code_field(declarator, "declarator");
	return found.place == NAME_FILE && node_is_kind(declarator, "function_declarator") &&
	       node_text_is(r, code_field(declarator, "declarator"), name);
}

static bool is_library_call(struct rewrite *r, TSNode call, const char *name)
{
	bool is_copy = strcmp(name, "memcpy") == 0 || strcmp(name, "memset") == 0;
	return is_copy ? c_find_name(r, call, name).place == NAME_UNKNOWN : c_is_math_call(r, call);
}

static void look_into(struct rewrite *r, struct quiet *q, const struct lookup *l)
{
	struct rewrite view = view_of(r, l->place);
	if (is_conditional(&view, l->definition) || !is_visible(r, l)) {
		refuse(q, UNKNOWN_FUNCTION);
		return;
	}
	if (subtree_has_word(&view, l->definition, "weak") ||
		subtree_has_word(&view, l->definition, "volatile")) {
		refuse(q, UNKNOWN_CALL);
		return;
	}
	if (q->depth == CALL_DEPTH) {
		refuse(q, "calls go deeper than is looked into");
		return;
	}
	q->depth++;
	look(&view, q, code_field(l->definition, "body"));
	q->depth--;
}

static void look_at_call(struct rewrite *r, struct quiet *q, TSNode node)
{
	TSNode function = code_field(node, "function");
	const char *name = code_text(r, function);
	if (!node_is_kind(function, "identifier") || !is_function_name(r, node, name)) {
		refuse(q, UNKNOWN_CALL);
		return;
	}
	if (++q->n_calls > CALLS) {
		refuse(q, "there are too many calls to look into");
		return;
	}
	struct lookup l = look_up(r, name);
	if (l.is_macro || l.n > 1)
		refuse(q, UNKNOWN_FUNCTION);
	else if (l.n == 1)
		look_into(r, q, &l);
	else if (!is_library_call(r, node, name))
		refuse(q, UNKNOWN_CALL);
	if (!q->why)
		look_at_children(r, q, code_field(node, "arguments"));
}

/* ---- names and types ---- */

/* Words of a number: "(2 * sizeof(float))", 1e-5f, 0x10UL. */
static bool is_number_word(const char *word)
{
	static const char *const words[] = {
		"sizeof", "float", "double", "int", "long", "unsigned", "char", "short", "size_t"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return isdigit((unsigned char)*word);
}

struct macro {
	const char *name;
	bool is_other;
};

/* A number, a word, or all of it in brackets: else its parts belong to what stands beside it. */
static bool is_one_operand(const char *value)
{
	char *end;
	size_t n = strlen(value);
	int depth = 0;
	strtod(value, &end);
	if (end > value && strspn(end, "fFlLuU") == strlen(end))
		return true;
	for (size_t i = 0; i < n; i++) {
		depth += (value[i] == '(') - (value[i] == ')');
		if (depth < 1 && i + 1 < n && !isalnum((unsigned char)value[i]) && !strchr("_.", value[i]))
			return false;
	}
	return n > 0;
}

/* A macro can stand for a variable, too, which nobody then sees used. */
static void see_value(struct rewrite *r, TSNode node, void *context)
{
	struct macro *m = context;
	if (!node_text_is(r, code_field(node, "name"), m->name))
		return;
	m->is_other |= !is_one_operand(node_dense_text(r, code_field(node, "value")));
	for (const char *p = code_text(r, code_field(node, "value")); *p;) {
		size_t n = 0;
		while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.')
			n++;
		m->is_other |= n && *p != '.' && !is_number_word(arena_strndup(r->arena, p, n));
		p += n ? n : 1;
	}
}

bool c_is_number(struct rewrite *r, const char *name)
{
	struct macro m = {.name = name};
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = view_of(r, &r->sources[i]);
		visit_kind(&view, view.root, "preproc_def", see_value, &m);
	}
	return !m.is_other;
}

static void look_at_name(struct rewrite *r, struct quiet *q, TSNode node)
{
	struct c_name name = c_find_name(r, node, code_text(r, node));
	const char *why = c_reason_unknown(r, node);
	if (why)
		refuse(q, why);
	else if (name.place == NAME_UNKNOWN && !c_is_number(r, code_text(r, node)))
		refuse(q, "a name is a macro of more than a number");
	else if (name.place == NAME_FILE || name.is_static) /* perhaps one of each thread */
		refuse(q, "a variable outside of the function");
}

struct type {
	const char *name;
	int n;
	bool is_odd;
};

static void see_typedef(struct rewrite *r, TSNode node, void *context)
{
	struct type *t = context;
	if (!subtree_has_word(r, code_field(node, "declarator"), t->name))
		return;
	t->n++;
	t->is_odd |= subtree_has_word(r, node, "volatile");
}

/* A name that is no type could be a macro, with more in it than a type; `(x) * y` is read as a cast, too. */
static void look_at_type(struct rewrite *r, struct quiet *q, TSNode node)
{
	struct type t = {.name = code_text(r, node)};
	if (node_is_kind(ts_node_parent(node), "struct_specifier"))
		return;
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = view_of(r, &r->sources[i]);
		visit_kind(&view, view.root, "type_definition", see_typedef, &t);
	}
	if (t.n != 1 || t.is_odd || c_find_name(r, node, t.name).place != NAME_UNKNOWN)
		refuse(q, UNKNOWN_NAME);
}

/* sizeof(name) is read as that of a variable, whatever the name is. */
static void look_at_size(struct rewrite *r, struct quiet *q, TSNode node)
{
	TSNode value = code_field(node, "value"), name = value;
	if (node_is_kind(value, "parenthesized_expression"))
		name = ts_node_named_child(value, 0);
	if (node_is_kind(name, "identifier") &&
		c_find_name(r, name, code_text(r, name)).place == NAME_UNKNOWN)
		look_at_type(r, q, name);
	else
		look_at_children(r, q, node);
}

static void look_at_struct(struct rewrite *r, struct quiet *q, TSNode node)
{
	(void)r;
	if (!ts_node_is_null(code_field(node, "body")))
		refuse(q, UNKNOWN_CODE);
}

static void look_at_qualifier(struct rewrite *r, struct quiet *q, TSNode node)
{
	if (!node_text_is(r, node, "const") && !node_text_is(r, node, "restrict"))
		refuse(q, ODD_VARIABLE);
}

/* &x[i] and &s->a are places in memory; &x would be a way to a variable beside its name. */
static void look_at_pointer(struct rewrite *r, struct quiet *q, TSNode node)
{
	TSNode at = code_field(node, "argument");
	while (node_is_kind(at, "parenthesized_expression") ||
		(node_is_kind(at, "field_expression") && !node_text_is(r, code_field(at, "operator"), "->")))
		at = node_is_kind(at, "field_expression") ? code_field(at, "argument")
							  : ts_node_named_child(at, 0);
	if (node_text_is(r, code_field(node, "operator"), "&") && node_is_kind(at, "identifier"))
		refuse(q, "the address of a variable is taken");
	look_at_children(r, q, node);
}

/* ---- statements ---- */

static void look_at_block(struct rewrite *r, struct quiet *q, TSNode node)
{
	if (node_is_kind(ts_node_parent(node), "parenthesized_expression"))
		refuse(q, UNKNOWN_CODE);
	look_at_children(r, q, node);
}

/* Jumps within a function that is called; of the loop itself they would end a pass, or all. */
static void look_at_jump(struct rewrite *r, struct quiet *q, TSNode node)
{
	if (!q->depth)
		refuse(q, "a pass may end early");
	look_at_children(r, q, node);
}

/* Vectors are no threads. */
static void look_at_directive(struct rewrite *r, struct quiet *q, TSNode node)
{
	const char *text = code_text(r, node), *simd = "#pragma omp simd";
	if (!q->depth || strncmp(text, simd, strlen(simd)) != 0 || strchr(text, '\\'))
		refuse(q, "a directive, or another line of the preprocessor, stands in the way");
}

static void look_at_storage(struct rewrite *r, struct quiet *q, TSNode node)
{
	(void)r, (void)node;
	refuse(q, ODD_VARIABLE);
}

static void look_at_nothing(struct rewrite *r, struct quiet *q, TSNode node)
{
	(void)r, (void)q, (void)node;
}

static void look(struct rewrite *r, struct quiet *q, TSNode node)
{
	static const struct {
		const char *kind;
		void (*look)(struct rewrite *r, struct quiet *q, TSNode node);
	} kinds[] = {
		{"identifier", look_at_name},
		{"call_expression", look_at_call},
		{"pointer_expression", look_at_pointer},
		{"type_identifier", look_at_type},
		{"type_qualifier", look_at_qualifier},
		{"struct_specifier", look_at_struct},
		{"storage_class_specifier", look_at_storage},
		{"attribute_specifier", look_at_storage},
		{"compound_statement", look_at_block},
		{"return_statement", look_at_jump},
		{"break_statement", look_at_jump},
		{"continue_statement", look_at_jump},
		{"preproc_call", look_at_directive},
		{"expression_statement", look_at_children},
		{"declaration", look_at_children},
		{"init_declarator", look_at_children},
		{"pointer_declarator", look_at_children},
		{"array_declarator", look_at_children},
		{"for_statement", look_at_children},
		{"while_statement", look_at_children},
		{"do_statement", look_at_children},
		{"if_statement", look_at_children},
		{"else_clause", look_at_children},
		{"assignment_expression", look_at_children},
		{"update_expression", look_at_children},
		{"subscript_expression", look_at_children},
		{"field_expression", look_at_children},
		{"parenthesized_expression", look_at_children},
		{"binary_expression", look_at_children},
		{"unary_expression", look_at_children},
		{"conditional_expression", look_at_children},
		{"comma_expression", look_at_children},
		{"cast_expression", look_at_children},
		{"sizeof_expression", look_at_size},
		{"initializer_list", look_at_children},
		{"initializer_pair", look_at_children},
		{"subscript_designator", look_at_children},
		{"type_descriptor", look_at_children},
		{"abstract_pointer_declarator", look_at_children},
		{"abstract_array_declarator", look_at_children},
		{"sized_type_specifier", look_at_nothing},
		{"primitive_type", look_at_nothing},
		{"field_designator", look_at_nothing},
		{"field_identifier", look_at_nothing},
		{"number_literal", look_at_nothing},
		{"char_literal", look_at_nothing},
		{"true", look_at_nothing},
		{"false", look_at_nothing},
		{"null", look_at_nothing},
		{"comment", look_at_nothing},
	};
	if (q->why)
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (node_is_kind(node, kinds[i].kind)) {
			kinds[i].look(r, q, node);
			return;
		}
	refuse(q, UNKNOWN_CODE);
}

/* Those are written and read in an order that counts, wherever they are declared. */
static bool has_atomics(const struct rewrite *r)
{
	for (size_t i = 0; i < r->n_sources; i++)
		if (strstr(r->sources[i].file->text, "_Atomic") ||
			strstr(r->sources[i].file->text, "atomic_"))
			return true;
	return false;
}

const char *c_reason_not_quiet(struct rewrite *r, TSNode statements)
{
	struct quiet q = {.why = has_atomics(r) ? "the program has atomic objects" : NULL};
	look(r, &q, statements);
	return q.why;
}
