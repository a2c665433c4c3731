#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "codemod/c_body.h"

static bool fail(struct c_body *b, const char *why)
{
	if (!b->why)
		b->why = why;
	return false;
}

static bool visit(struct rewrite *r, struct c_body *b, TSNode node);

static bool visit_children(struct rewrite *r, struct c_body *b, TSNode node)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
		if (!visit(r, b, ts_node_named_child(node, i)))
			return false;
	return true;
}

static TSNode bare(TSNode node)
{
	for (;;) {
		if (node_is_kind(node, "parenthesized_expression"))
			node = ts_node_named_child(node, 0);
		else if (node_is_kind(node, "cast_expression"))
			node = code_field(node, "value");
		else
			return node;
	}
}

/* ---- which part of an array ---- */

/* `v * width` or `width * v`; the width, or NULL. */
static const char *read_row_start(struct rewrite *r, const struct c_body *b, TSNode node)
{
	node = bare(node);
	if (!node_is_kind(node, "binary_expression") || !node_text_is(r, code_field(node, "operator"), "*"))
		return NULL;
	for (int side = 0; side < 2; side++) {
		TSNode v = bare(code_field(node, side ? "right" : "left"));
		TSNode width = code_field(node, side ? "left" : "right");
		if (node_text_is(r, v, b->loop.variable) && node_is_kind(bare(width), "identifier") &&
			!c_is_written(r, b->loop.loop, code_text(r, bare(width))))
			return code_text(r, bare(width));
	}
	return NULL;
}

static bool is_digits(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* The name counts from a number up to below the width in a loop around it. */
static bool counts_below(struct rewrite *r, const struct c_body *b, TSNode name, const char *width)
{
	if (!node_is_kind(name, "identifier"))
		return false;
	for (TSNode up = ts_node_parent(name); !ts_node_is_null(up) && !ts_node_eq(up, b->loop.loop);
		up = ts_node_parent(up)) {
		struct c_loop inner;
		if (!node_is_kind(up, "for_statement") || !node_text_is(r, name, c_loop_variable(r, up)))
			continue;
		return c_read_loop(r, up, &inner) && !inner.is_inclusive && is_digits(inner.first) &&
		       node_text_is(r, bare(inner.bound_node), width) &&
		       !c_is_written(r, inner.body, inner.variable);
	}
	return false;
}

static const char *read_width(struct rewrite *r, const struct c_body *b, TSNode index)
{
	index = bare(index);
	if (node_text_is(r, index, b->loop.variable))
		return "1";
	if (b->kind != BODY_ROWS || !node_is_kind(index, "binary_expression") ||
		!node_text_is(r, code_field(index, "operator"), "+"))
		return NULL;
	for (int side = 0; side < 2; side++) {
		const char *width = read_row_start(r, b, code_field(index, side ? "right" : "left"));
		if (width && counts_below(r, b, bare(code_field(index, side ? "left" : "right")), width))
			return width;
	}
	return NULL;
}

static bool add_access(
	struct rewrite *r, struct c_body *b, TSNode at, TSNode base, const char *width, bool is_write)
{
	const char *text = code_text(r, base);
	struct c_name name = c_find_name(r, at, text);
	if (name.place == NAME_UNKNOWN || !c_is_vector(&name))
		return fail(b, "what is read or written is no plain array of numbers");
	if (c_is_written(r, b->loop.loop, text) || c_is_address_taken(r, c_function_of(at), text))
		return fail(b, "a pointer changes in the loop");
	b->n_writes += is_write;
	for (int i = 0; i < b->n_accesses; i++) {
		struct c_access *a = &b->accesses[i];
		if (strcmp(a->base, text) != 0)
			continue;
		a->is_written |= is_write;
		if (!a->width || !width || strcmp(a->width, width) != 0)
			a->width = NULL;
		return true;
	}
	if (b->n_accesses == BODY_ACCESSES)
		return fail(b, "too many arrays to tell apart");
	b->accesses[b->n_accesses++] = (struct c_access){text, name, is_write, width};
	return true;
}

/* An element of `float *row = x + i * width`, declared in the pass. */
static bool visit_row(
	struct rewrite *r, struct c_body *b, TSNode element, const struct c_name *row, bool is_write)
{
	TSNode value = bare(row->value), index = bare(code_field(element, "index"));
	if (ts_node_is_null(row->value) || !node_is_kind(value, "binary_expression") ||
		!node_text_is(r, code_field(value, "operator"), "+") ||
		!node_is_kind(code_field(value, "left"), "identifier"))
		return fail(b, "a pointer is worked out in the loop");
	TSNode base = code_field(value, "left");
	struct c_name origin = c_find_name(r, base, code_text(r, base));
	if (c_is_declared_in(&origin, b->loop.loop))
		return fail(b, "a pointer is worked out in the loop");
	const char *width = read_row_start(r, b, code_field(value, "right"));
	if (width && !counts_below(r, b, index, width))
		width = NULL;
	return visit(r, b, index) && add_access(r, b, base, base, width, is_write);
}

static bool is_assigned(struct rewrite *r, TSNode scope, const char *name);

static bool visit_element(struct rewrite *r, struct c_body *b, TSNode element, bool is_write)
{
	TSNode base = bare(code_field(element, "argument")), index = code_field(element, "index");
	if (!node_is_kind(base, "identifier") ||
		node_is_kind(code_field(element, "argument"), "cast_expression"))
		return fail(b, "what is read or written is no plain array of numbers");
	const char *text = code_text(r, base);
	struct c_name name = c_find_name(r, base, text);
	if (!c_is_declared_in(&name, b->loop.loop))
		return visit(r, b, index) && add_access(r, b, base, base, read_width(r, b, index), is_write);
	if (name.is_static || name.is_odd || is_assigned(r, b->loop.body, text))
		return fail(b, "a pointer changes in the loop");
	if (name.pointers)
		return b->kind == BODY_ROWS ? visit_row(r, b, element, &name, is_write)
					    : fail(b, "a pointer is worked out in the loop");
	return b->kind == BODY_ROWS ? visit(r, b, index) : fail(b, "the loop has an array of its own");
}

/* ---- what is written ---- */

struct assignments {
	const char *name;
	int n, sums;
};

static void see_assignment(struct rewrite *r, TSNode node, void *context)
{
	struct assignments *a = context;
	TSNode target = code_field(node, node_is_kind(node, "assignment_expression") ? "left" : "argument");
	if (!node_text_is(r, bare(target), a->name))
		return;
	a->n++;
	a->sums += node_is_kind(node, "assignment_expression") &&
		   node_text_is(r, code_field(node, "operator"), "+=") &&
		   node_is_kind(ts_node_parent(node), "expression_statement");
}

static struct assignments assignments_of(struct rewrite *r, TSNode scope, const char *name)
{
	struct assignments a = {.name = name};
	visit_kind(r, scope, "assignment_expression", see_assignment, &a);
	visit_kind(r, scope, "update_expression", see_assignment, &a);
	return a;
}

static bool is_assigned(struct rewrite *r, TSNode scope, const char *name)
{
	return assignments_of(r, scope, name).n > 0 || c_is_address_taken(r, scope, name);
}

static void count_use(struct rewrite *r, TSNode node, void *context)
{
	struct assignments *a = context;
	a->n += node_text_is(r, node, a->name);
}

static bool add_sum(struct rewrite *r, struct c_body *b, TSNode target)
{
	const char *text = code_text(r, target);
	struct c_name name = c_find_name(r, target, text);
	struct assignments given = assignments_of(r, b->loop.body, text), uses = {.name = text};
	visit_kind(r, b->loop.loop, "identifier", count_use, &uses);
	if (name.place != NAME_LOCAL && name.place != NAME_PARAMETER)
		return fail(b, "a variable outside of the function is written");
	if (!c_is_float(&name) || name.is_static || given.sums != given.n || uses.n != given.n ||
		c_is_address_taken(r, c_function_of(target), text))
		return fail(b, "a variable goes on from one pass to the next, and is no plain sum");
	for (int i = 0; i < b->n_sums; i++)
		if (strcmp(b->sums[i], text) == 0)
			return true;
	if (b->n_sums == BODY_NAMES)
		return fail(b, "too many sums");
	b->sum_types[b->n_sums] = name.type;
	b->sums[b->n_sums++] = text;
	return true;
}

static bool is_counter(const struct c_body *b, const char *name)
{
	for (int i = 0; i < b->n_counters; i++)
		if (strcmp(b->counters[i], name) == 0)
			return true;
	return false;
}

static bool visit_target(struct rewrite *r, struct c_body *b, TSNode target)
{
	target = node_is_kind(target, "parenthesized_expression") ? bare(target) : target;
	if (node_is_kind(target, "subscript_expression"))
		return visit_element(r, b, target, true);
	if (!node_is_kind(target, "identifier"))
		return fail(b, "something is written through a pointer or into a structure");
	const char *text = code_text(r, target);
	struct c_name name = c_find_name(r, target, text);
	if (c_is_declared_in(&name, b->loop.loop))
		return !name.is_static && !name.pointers && strcmp(text, b->loop.variable) != 0
			       ? true
			       : fail(b, "the loop changes its own variable or a pointer");
	return is_counter(b, text) || add_sum(r, b, target);
}

/* ---- loops inside ---- */

static bool add_counter(struct rewrite *r, struct c_body *b, const struct c_loop *inner)
{
	struct c_name name = c_find_name(r, inner->loop, inner->variable);
	if (inner->is_declared_here || c_is_declared_in(&name, b->loop.loop) ||
		is_counter(b, inner->variable))
		return true;
	if (!c_is_whole(&name) || name.place != NAME_LOCAL || name.is_static || b->n_counters == BODY_NAMES ||
		!c_is_only_counter(r, c_function_of(inner->loop), inner->variable) ||
		c_is_address_taken(r, c_function_of(inner->loop), inner->variable))
		return fail(b, "an inner loop's variable is used outside of it");
	b->counters[b->n_counters++] = inner->variable;
	return true;
}

static bool visit_loop(struct rewrite *r, struct c_body *b, TSNode loop)
{
	struct c_loop inner;
	if (b->kind == BODY_LANES)
		return fail(b, "there is a loop inside");
	if (!c_read_loop(r, loop, &inner) || !ts_node_is_null(c_directive_of(loop)))
		return fail(b, "an inner loop does not just count, or has a directive");
	b->n_loops++;
	return add_counter(r, b, &inner) && visit(r, b, code_field(loop, "initializer")) &&
	       visit(r, b, code_field(loop, "condition")) && visit(r, b, code_field(loop, "update")) &&
	       visit(r, b, inner.body);
}

/* ---- the walk ---- */

static bool visit_name(struct rewrite *r, struct c_body *b, TSNode node)
{
	const char *why = c_reason_unknown(r, node);
	return why ? fail(b, why) : true;
}

static bool visit_declaration(struct rewrite *r, struct c_body *b, TSNode node)
{
	static const char *const words[] = {
		"static", "extern", "volatile", "_Atomic", "register", "_Thread_local", "__attribute__"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (subtree_has_word(r, node, words[i]))
			return fail(b, "a variable of the loop is not a plain one");
	/* A size with side effects. */
	if (count_kind(r, node, "array_declarator") &&
		(count_kind(r, node, "update_expression") || count_kind(r, node, "assignment_expression") ||
			count_kind(r, node, "call_expression")))
		return fail(b, "a variable of the loop is not a plain one");
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
		TSNode declarator = ts_node_named_child(node, i), value = code_field(declarator, "value");
		bool is_plain = !node_is_kind(declarator, "function_declarator") &&
				!node_is_kind(declarator, "parenthesized_declarator");
		if (!is_plain || (!ts_node_is_null(value) && !visit(r, b, value)))
			return fail(b, "a variable of the loop is not a plain one");
	}
	return true;
}

static bool visit_call(struct rewrite *r, struct c_body *b, TSNode node)
{
	if (!c_is_math_call(r, node))
		return fail(b, "what a call does is not known");
	const char *name = code_text(r, code_field(node, "function"));
	b->n_calls += strncmp(name, "sqrt", 4) != 0 && strncmp(name, "fabs", 4) != 0; /* one instruction */
	return visit_children(r, b, code_field(node, "arguments"));
}

static bool visit_assignment(struct rewrite *r, struct c_body *b, TSNode node)
{
	return visit_target(r, b, code_field(node, "left")) && visit(r, b, code_field(node, "right"));
}

static bool visit_update(struct rewrite *r, struct c_body *b, TSNode node)
{
	return visit_target(r, b, code_field(node, "argument"));
}

static bool visit_read(struct rewrite *r, struct c_body *b, TSNode node)
{
	return visit_element(r, b, node, false);
}

static bool visit_member(struct rewrite *r, struct c_body *b, TSNode node)
{
	const char *why = c_reason_impure(r, node);
	b->is_unstable |= !c_is_stable(r, node);
	return why ? fail(b, why) : true;
}

static bool visit_if(struct rewrite *r, struct c_body *b, TSNode node)
{
	return b->kind == BODY_ROWS ? visit_children(r, b, node) : fail(b, "passes differ by a condition");
}

static bool visit_nothing(struct rewrite *r, struct c_body *b, TSNode node)
{
	(void)r, (void)b, (void)node;
	return true;
}

static bool visit(struct rewrite *r, struct c_body *b, TSNode node)
{
	static const struct {
		const char *kind;
		bool (*visit)(struct rewrite *r, struct c_body *b, TSNode node);
	} kinds[] = {
		{"identifier", visit_name},
		{"number_literal", visit_nothing},
		{"comment", visit_nothing},
		{"type_descriptor", visit_nothing},
		{"sizeof_expression", visit_nothing},
		{"compound_statement", visit_children},
		{"expression_statement", visit_children},
		{"parenthesized_expression", visit_children},
		{"binary_expression", visit_children},
		{"unary_expression", visit_children},
		{"conditional_expression", visit_children},
		{"cast_expression", visit_children},
		{"comma_expression", visit_children},
		{"initializer_list", visit_children},
		{"else_clause", visit_children},
		{"if_statement", visit_if},
		{"declaration", visit_declaration},
		{"assignment_expression", visit_assignment},
		{"update_expression", visit_update},
		{"subscript_expression", visit_read},
		{"field_expression", visit_member},
		{"call_expression", visit_call},
		{"for_statement", visit_loop},
	};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (node_is_kind(node, kinds[i].kind))
			return kinds[i].visit(r, b, node);
	return fail(b, "the loop ends early, jumps, or has something that is not known");
}

static bool is_plain_counter(struct rewrite *r, const struct c_loop *loop)
{
	struct c_name variable = c_find_name(r, loop->body, loop->variable);
	return c_is_whole(&variable) && !variable.is_static && variable.place != NAME_FILE &&
	       !is_assigned(r, loop->body, loop->variable) &&
	       !c_is_address_taken(r, c_function_of(loop->loop), loop->variable);
}

/* NULL: what is written belongs to its pass. */
static const char *reason_written(struct rewrite *r, const struct c_body *b)
{
	if (b->is_unstable)
		return "a value behind a pointer may be the memory that is written";
	if (!is_digits(b->loop.first) || b->loop.step != 1 || !c_is_stable(r, b->loop.bound_node))
		return "the loop does not count up from a number by one to a bound that stays";
	for (int i = 0; i < b->n_accesses; i++)
		if (b->accesses[i].is_written && !b->accesses[i].width)
			return "a pass may write what another one reads or writes";
	return NULL;
}

bool c_read_body(struct rewrite *r, const struct c_loop *loop, enum body_kind kind, struct c_body *ret_body)
{
	struct c_body *b = ret_body;
	*b = (struct c_body){.loop = *loop, .kind = kind};
	if (!is_plain_counter(r, loop))
		return fail(b, "the loop's variable is no plain counter");
	const char *why = c_reason_impure(r, loop->bound_node); /* and what holds for the whole file */
	if (why)
		return fail(b, why);
	if (!visit(r, b, loop->body))
		return false;
	why = b->n_writes ? reason_written(r, b) : NULL;
	return why ? fail(b, why) : true;
}

/* ---- telling pointers apart ---- */

static bool is_array(const struct c_access *a)
{
	return a->name.is_array && a->name.place != NAME_PARAMETER;
}

/* Nothing else leads to what a restrict parameter leads to, but what was worked out from it. */
static bool are_separate(const struct c_access *a, const struct c_access *b)
{
	bool a_is_own = is_array(a) || a->name.place == NAME_PARAMETER;
	bool b_is_own = is_array(b) || b->name.place == NAME_PARAMETER;
	bool is_promised = (a->name.is_restrict && a->name.place == NAME_PARAMETER) ||
			   (b->name.is_restrict && b->name.place == NAME_PARAMETER);
	return (is_array(a) && is_array(b)) || (a_is_own && b_is_own && is_promised);
}

/* Different kinds of numbers do not share memory. */
static bool may_meet(const struct c_access *a, const struct c_access *b)
{
	bool a_is_float = strcmp(a->name.type, "float") == 0, b_is_float = strcmp(b->name.type, "float") == 0;
	bool a_is_double = strcmp(a->name.type, "double") == 0,
	     b_is_double = strcmp(b->name.type, "double") == 0;
	return a_is_float == b_is_float && a_is_double == b_is_double;
}

static const char *end_of(struct rewrite *r, const struct c_body *b, const struct c_access *a)
{
	const char *bound =
		b->loop.is_inclusive ? arena_printf(r->arena, "(%s + 1)", b->loop.bound) : b->loop.bound;
	return strcmp(a->width, "1") == 0
		       ? arena_printf(r->arena, "%s + %s", a->base, bound)
		       : arena_printf(r->arena, "%s + (long)%s * %s", a->base, bound, a->width);
}

static const char *pair_condition(
	struct rewrite *r, const struct c_body *b, const struct c_access *x, const struct c_access *y)
{
	if (!x->width || !y->width || strcmp(x->name.type, y->name.type) != 0)
		return NULL;
	/* Each pass may read what it writes itself. */
	const char *same = strcmp(x->width, y->width) == 0
				   ? arena_printf(r->arena, "%s == %s || ", x->base, y->base)
				   : "";
	return arena_printf(
		r->arena, "%s%s <= %s || %s <= %s", same, end_of(r, b, x), y->base, end_of(r, b, y), x->base);
}

const char *c_disjoint(struct rewrite *r, const struct c_body *body)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	int n = 0;
	for (int i = 0; i < body->n_accesses; i++)
		for (int j = 0; j < i; j++) {
			const struct c_access *a = &body->accesses[j], *b = &body->accesses[i];
			if ((!a->is_written && !b->is_written) || !may_meet(a, b) || are_separate(a, b))
				continue;
			const char *pair = pair_condition(r, body, a, b);
			if (!pair || ++n > BODY_NAMES)
				return NULL;
			strbuf_addf(&text, "%s(%s)", n > 1 ? " && " : "", pair);
		}
	if (n != 1)
		return arena_strdup(r->arena, text.buf);
	return arena_strndup(r->arena, text.buf + 1, text.len - 2); /* one needs no brackets */
}

const char *c_join(struct rewrite *r, const char *const *names, int n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (int i = 0; i < n; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", names[i]);
	return arena_strdup(r->arena, text.buf);
}
