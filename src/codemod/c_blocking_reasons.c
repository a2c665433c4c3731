/* Whether the passes of a loop may take turns: nothing of a thread's, nothing that goes on, names that stay.
 */
#include "base/base.h"

#include <string.h>

#include "codemod/c_blocking.h"
#include "codemod/c_calls.h"
#include "codemod/c_clauses.h"
#include "codemod/c_quiet.h"

enum { PRIVATE_NAMES = 16 };

/* ---- the directive ---- */

/* A counter has no value that goes on from one loop to the next. */
static bool is_counter(struct rewrite *r, const struct c_blocking *b, const char *name)
{
	struct c_name found = c_find_name(r, b->rows.loop, name);
	return c_is_whole(&found) && found.place == NAME_LOCAL && !found.is_static &&
	       c_is_only_counter(r, c_function_of(b->rows.loop), name);
}

static bool are_counters(struct rewrite *r, const struct c_blocking *b, const char *list)
{
	const char *names[PRIVATE_NAMES];
	int n = c_read_names(r, list, names, PRIVATE_NAMES);
	for (int i = 0; i < n; i++)
		if (!is_counter(r, b, names[i]))
			return false;
	return n > 0;
}

static const char *reason_schedule(const char *argument)
{
	static const char *const kinds[] = {"static", "dynamic", "guided", "auto", "runtime"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(argument, kinds[i]) == 0)
			return NULL;
	return "the schedule counts passes";
}

static const char *reason_clause(struct rewrite *r, const struct c_blocking *b, const struct c_clause *clause)
{
	const char *name = clause->name, *argument = clause->argument;
	if (argument && strcmp(name, "shared") == 0)
		return NULL;
	if (argument && strcmp(name, "default") == 0 &&
		(strcmp(argument, "none") == 0 || strcmp(argument, "shared") == 0))
		return NULL;
	if (argument && strcmp(name, "schedule") == 0)
		return reason_schedule(argument);
	if (argument && strcmp(name, "private") == 0)
		return are_counters(r, b, argument)
			       ? NULL
			       : "a private variable may carry a value from one part of a pass to another";
	if (argument && strcmp(name, "if") == 0)
		return c_is_size_condition(r, argument, &b->rows)
			       ? NULL
			       : "the condition of the directive may be what keeps the passes apart";
	return "the directive has a clause that says more than which loop is shared out";
}

static const char *reason_directive(struct rewrite *r, const struct c_blocking *b)
{
	struct c_clause clauses[CLAUSES];
	int n;
	if (!c_read_clauses(r, b->directive, clauses, &n))
		return "the directive is not read to its end";
	for (int i = 0; i < n; i++) {
		const char *why = reason_clause(r, b, &clauses[i]);
		if (why)
			return why;
	}
	return NULL;
}

static bool is_private(struct rewrite *r, const struct c_blocking *b, const char *name)
{
	struct c_clause clauses[CLAUSES];
	const char *names[PRIVATE_NAMES];
	int n;
	if (!c_read_clauses(r, b->directive, clauses, &n))
		return false;
	for (int i = 0; i < n; i++) {
		if (strcmp(clauses[i].name, "private") != 0 || !clauses[i].argument)
			continue;
		int n_names = c_read_names(r, clauses[i].argument, names, PRIVATE_NAMES);
		for (int j = 0; j < n_names; j++)
			if (strcmp(names[j], name) == 0)
				return true;
	}
	return false;
}

/* ---- where it stands ---- */

/* In a region of several threads each may have memory of its own, and the loop is mostly run by one of them.
 */
static const char *reason_around(struct rewrite *r, const struct c_blocking *b)
{
	static const char *const kinds[] = {
		"preproc_def", "preproc_function_def", "preproc_if", "preproc_ifdef"};
	TSNode loop = b->rows.loop, up = ts_node_parent(loop), function = c_function_of(loop);
	TSNode before = ts_node_prev_named_sibling(b->directive);
	if (!node_is_kind(up, "compound_statement") || ts_node_is_null(function))
		return "blocks do not fit where the loop stands";
	if (node_is_kind(before, "preproc_call") || file_has_word(r, "_Pragma") || c_is_in_region(r, up) ||
		c_is_collapsed(r, loop))
		return "another directive may belong to the loop";
	if (c_is_called_in_region(r, function))
		return "the function is called from a parallel region";
	/* Names may mean something else from there on, or be declared where it is not seen. */
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (count_kind(r, function, kinds[i]))
			return "the function has lines for the preprocessor that are no directives";
	return NULL;
}

/* ---- values that stay ---- */

struct steady {
	const struct c_blocking *b;
	const char *why;
};

/* Variables of the function that the loop does not write, its places, and constants. */
static const char *reason_name_changes(struct rewrite *r, const struct c_blocking *b, TSNode node)
{
	const char *text = code_text(r, node);
	struct c_name name = c_find_name(r, node, text);
	TSNode function = c_function_of(b->rows.loop);
	if (name.place == NAME_UNKNOWN) {
		const char *why = c_reason_unknown(r, node);
		return why || c_is_number(r, text) ? why : "a name is a macro of more than a number";
	}
	if (name.place == NAME_FILE || name.is_static)
		return "a variable outside of the function";
	if (strcmp(text, b->rows.variable) == 0 || c_is_declared_in(&name, b->rows.body))
		return NULL;
	return name.is_odd || c_is_written(r, b->rows.loop, text) || c_is_address_taken(r, function, text)
		       ? "a place, or how often a loop runs, may change within a pass"
		       : NULL;
}

static void look_at_steady(struct rewrite *r, struct steady *s, TSNode node)
{
	static const char *const operators[] = {"+", "-", "*"};
	bool is_known = node_is_kind(node, "parenthesized_expression") ||
			node_is_kind(node, "number_literal") || node_is_kind(node, "cast_expression");
	if (s->why)
		return;
	if (node_is_kind(node, "identifier")) {
		s->why = reason_name_changes(r, s->b, node);
		return;
	}
	if (node_is_kind(node, "type_descriptor") || node_is_kind(node, "sizeof_expression")) {
		/* sizeof x[i] is left out, though it is a number, too; and arrays whose length is worked out.
		 */
		if (count_kind(r, node, "abstract_array_declarator") ||
			(node_is_kind(node, "sizeof_expression") &&
				ts_node_is_null(code_field(node, "type"))))
			s->why = "a place, or how often a loop runs, is more than a sum of products";
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		is_known |= node_is_kind(node, "binary_expression") &&
			    node_text_is(r, code_field(node, "operator"), operators[i]);
	if (!is_known)
		s->why = "a place, or how often a loop runs, is more than a sum of products";
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
		look_at_steady(r, s, ts_node_named_child(node, i));
}

/* NULL: the expression has one value for each row, whenever it is worked out. */
static const char *reason_not_steady(struct rewrite *r, const struct c_blocking *b, TSNode expression)
{
	struct steady s = {.b = b};
	look_at_steady(r, &s, expression);
	return s.why;
}

/* ---- the outer loop ---- */

static bool is_unsigned(const char *type)
{
	return *type == 'u' || strcmp(type, "size_t") == 0;
}

struct signs {
	bool is_unsigned, differ;
};

static void see_sign(struct rewrite *r, TSNode node, void *context)
{
	struct signs *s = context;
	struct c_name name = {.type = code_text(r, node)};
	if (node_is_kind(node, "identifier"))
		name = c_find_name(r, node, name.type);
	if (name.place != NAME_UNKNOWN || !node_is_kind(node, "identifier"))
		s->differ |= !c_is_whole(&name) || is_unsigned(name.type) != s->is_unsigned;
}

static void see_number(struct rewrite *r, TSNode node, void *context)
{
	const char *text = code_text(r, node);
	((struct signs *)context)->differ |= strspn(text, "0123456789") != strlen(text);
}

/* Else the compiler warns of the new condition, which compares and takes differences of the two. */
static bool is_bound_of_its_type(struct rewrite *r, const struct c_blocking *b)
{
	struct signs s = {.is_unsigned = is_unsigned(b->row.type)};
	visit_kind(r, b->rows.bound_node, "identifier", see_sign, &s);
	visit_kind(r, b->rows.bound_node, "type_descriptor", see_sign, &s);
	visit_kind(r, b->rows.bound_node, "number_literal", see_number, &s);
	return !s.differ;
}

static const char *reason_rows(struct rewrite *r, const struct c_blocking *b)
{
	const char *row = b->rows.variable, *why;
	if (!c_is_whole(&b->row) || b->row.place != NAME_LOCAL || b->row.is_static ||
		c_is_written(r, b->rows.body, row) || c_is_address_taken(r, c_function_of(b->rows.loop), row))
		return "the loop's variable is no plain counter";
	if (!b->rows.is_declared_here && !is_counter(r, b, row))
		return "the loop's variable is used after the loop";
	if (strspn(b->rows.first, "0123456789") != strlen(b->rows.first))
		return "the loop does not count up from a number";
	if ((why = reason_not_steady(r, b, b->rows.bound_node)))
		return why;
	return is_bound_of_its_type(r, b) ? NULL : "the loop's variable and its bound are of different types";
}

/* ---- places and statements ---- */

static const char *reason_place(struct rewrite *r, const struct c_blocking *b, int statement)
{
	TSNode declaration = b->statements[statement], init = code_field(declaration, "declarator");
	const char *name = c_place_name(r, b, statement);
	int n_declarators = 0;
	for (uint32_t i = 0; i < ts_node_named_child_count(declaration); i++) {
		TSNode child = ts_node_named_child(declaration, i);
		n_declarators += !ts_node_eq(child, code_field(declaration, "type")) &&
				 !node_is_kind(child, "type_qualifier");
	}
	if (n_declarators != 1 || !node_is_kind(init, "init_declarator") || !*name)
		return "a variable of a pass is more than a name for a place";
	for (int i = 0; i < b->n_statements; i++)
		if (i != statement && c_is_written(r, b->statements[i], name))
			return "a variable of a pass is more than a name for a place";
	const char *why = reason_not_steady(r, b, code_field(init, "value"));
	struct c_name place = c_find_name(r, b->inner.loop, name);
	/* A product of fractions may be rounded beside its use and not where it is worked out. */
	return !why && c_is_float(&place) ? "a variable of a pass is more than a name for a place" : why;
}

static const char *reason_places(struct rewrite *r, const struct c_blocking *b)
{
	const char *why = NULL;
	for (int i = 0; i < b->n_statements && !why; i++)
		if (c_is_place(b, i))
			why = reason_place(r, b, i);
	return why;
}

struct written {
	const struct c_blocking *b;
	TSNode statement;
	const char *why;
};

static TSNode written_variable(TSNode target)
{
	for (;;) {
		if (node_is_kind(target, "parenthesized_expression"))
			target = ts_node_named_child(target, 0);
		else if (node_is_kind(target, "field_expression") &&
			 node_is_kind(ts_node_child(target, 1), "."))
			target = code_field(target, "argument");
		else
			return target;
	}
}

/* Memory is what passes do not share; a variable must not be more than the statement's own. */
static void see_write(struct rewrite *r, TSNode node, void *context)
{
	struct written *w = context;
	bool is_assignment = node_is_kind(node, "assignment_expression");
	TSNode target = written_variable(code_field(node, is_assignment ? "left" : "argument"));
	if (!node_is_kind(target, "identifier"))
		return;
	const char *text = code_text(r, target);
	struct c_name name = c_find_name(r, target, text);
	if (c_is_declared_in(&name, w->statement) ||
		(is_private(r, w->b, text) && !c_is_declared_in(&name, w->b->rows.loop)))
		return;
	w->why = "a value goes from one part of a pass to another, or from pass to pass";
}

static const char *reason_writes(struct rewrite *r, const struct c_blocking *b)
{
	struct written w = {.b = b};
	for (int i = 0; i < b->n_statements; i++) {
		w.statement = b->statements[i];
		visit_kind(r, w.statement, "assignment_expression", see_write, &w);
		visit_kind(r, w.statement, "update_expression", see_write, &w);
	}
	return w.why;
}

/* ---- the inner loop ---- */

/* All rows of a block share its head. */
static const char *reason_inner(struct rewrite *r, const struct c_blocking *b)
{
	const struct c_loop *k = &b->inner;
	TSNode init = code_field(k->loop, "initializer"), condition = code_field(k->loop, "condition");
	TSNode first = node_is_kind(init, "declaration") ? code_field(code_field(init, "declarator"), "value")
							 : code_field(init, "right");
	struct c_name variable = c_find_name(r, k->body, k->variable);
	const char *why;
	if (c_depends_on_row(r, b, init) || c_depends_on_row(r, b, condition))
		return "how often the inner loop runs depends on the row";
	if (!c_is_whole(&variable) || c_is_written(r, k->body, k->variable) ||
		c_is_address_taken(r, c_function_of(k->loop), k->variable))
		return "the inner loop's variable is no plain counter";
	if (!k->is_declared_here && !is_private(r, b, k->variable))
		return "the inner loop's variable is used outside of it";
	why = reason_not_steady(r, b, first);
	return why ? why : reason_not_steady(r, b, k->bound_node);
}

/* ---- all of it ---- */

static const char *reason_taken(struct rewrite *r, const struct c_blocking *b)
{
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		if (file_has_word(&view, b->now) || file_has_word(&view, b->end))
			return "a name that blocks would need is taken";
	}
	return NULL;
}

static const char *reason_body(struct rewrite *r, const struct c_blocking *b)
{
	return c_reason_not_quiet(r, b->rows.body);
}

const char *c_reason_against_blocks(struct rewrite *r, const struct c_blocking *b)
{
	static const char *(*const reasons[])(struct rewrite * r, const struct c_blocking *b) = {
		reason_directive, reason_around, reason_body, reason_rows, reason_places, reason_inner,
		reason_writes, reason_taken};
	const char *why = NULL;
	for (size_t i = 0; i < ARRAY_LEN(reasons) && !why; i++)
		why = reasons[i](r, b);
	return why;
}
