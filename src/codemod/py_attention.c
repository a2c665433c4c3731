/*
 * Attention written out by hand, of the form that many training scripts share:
 *
 *     att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
 *     att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))    # optional
 *     att = F.softmax(att, dim=-1)
 *     att = self.attn_dropout(att)                                          # optional
 *     y = att @ v
 *
 * becomes one call of scaled_dot_product_attention, in any division into consecutive statements. Each
 * expression is read as a stage of this; what is none of them is refused: another mask, other steps, other
 * uses of the scores.
 */
#include "base/base.h"

#include <string.h>

#include "codemod/py_calls.h"
#include "codemod/py_masks.h"
#include "codemod/py_scope.h"
#include "codemod/rewrite.h"

enum stage { STAGE_NONE, STAGE_PRODUCT, STAGE_SCALED, STAGE_MASKED, STAGE_SOFTMAX, STAGE_DROPPED };

struct attention { /* as far as it was read */
	enum stage stage;
	const char *name;                    /* of the variable that holds it; NULL = none */
	const char *q, *k, *scale, *dropout; /* the last two NULL: as the function does by itself */
	bool is_scaled, is_causal;
	int depth; /* of the expression that is read */
};

enum { DEPTH_MAX = 16 };

static bool is_operator(struct rewrite *r, TSNode node, const char *operator)
{
	return node_is_kind(node, "binary_operator") &&
	       node_text_is(r, code_field(node, "operator"), operator);
}

/* a @ b, torch.matmul(a, b), a.matmul(b) */
static bool read_matmul(struct rewrite *r, TSNode node, TSNode *a, TSNode *b)
{
	if (is_operator(r, node, "@")) {
		*a = py_peel(code_field(node, "left"));
		*b = py_peel(code_field(node, "right"));
		return true;
	}
	TSNode object = py_method_object(r, node, "matmul");
	if (ts_node_is_null(object))
		return false;
	bool is_function = node_text_is(r, object, "torch");
	*a = py_peel(is_function ? py_argument(node, 0, 2) : object);
	*b = py_peel(is_function ? py_argument(node, 1, 2) : py_argument(node, 0, 1));
	return !ts_node_is_null(*a) && !ts_node_is_null(*b);
}

/* k.transpose(-2, -1) and k.mT; the name of k, NULL = it is none of these. */
static const char *read_transposed(struct rewrite *r, TSNode node)
{
	TSNode object = py_method_object(r, node, "transpose");
	if (node_is_kind(node, "attribute") && node_text_is(r, code_field(node, "attribute"), "mT")) {
		object = code_field(node, "object");
	} else if (!ts_node_is_null(object)) {
		const char *dims = node_dense_text(r, code_field(node, "arguments"));
		if (strcmp(dims, "(-2,-1)") != 0 && strcmp(dims, "(-1,-2)") != 0)
			return NULL;
	}
	return node_is_kind(object, "identifier") ? code_text(r, object) : NULL;
}

static bool read_product(struct rewrite *r, TSNode node, struct attention *a)
{
	TSNode left, right;
	if (a->stage != STAGE_NONE || !read_matmul(r, node, &left, &right) ||
		!node_is_kind(left, "identifier"))
		return false;
	a->k = read_transposed(r, right);
	a->q = code_text(r, left);
	a->stage = STAGE_PRODUCT;
	return a->k != NULL;
}

/* ---- the scale ---- */

/* "%s" in `form` becomes `word`. */
static const char *with_word(struct rewrite *r, const char *form, const char *word)
{
	const char *at = strstr(form, "%s");
	return arena_printf(r->arena, "%.*s%s%s", (int)(at - form), form, word, at + 2);
}

/* One over the root of the heads' width as q or k say it: what the function takes by itself. */
static bool is_usual_factor(struct rewrite *r, const char *factor, const struct attention *a)
{
	static const char *const widths[] = {"%s.size(-1)", "%s.shape[-1]"};
	static const char *const factors[] = {
		"1.0/math.sqrt(%s)", "1/math.sqrt(%s)", "%s**-0.5", "(%s)**-0.5"};
	const char *const names[] = {a->q, a->k};
	for (size_t n = 0; n < ARRAY_LEN(names); n++)
		for (size_t w = 0; w < ARRAY_LEN(widths); w++)
			for (size_t f = 0; f < ARRAY_LEN(factors); f++) {
				const char *width = with_word(r, widths[w], names[n]);
				if (strcmp(factor, with_word(r, factors[f], width)) == 0)
					return true;
			}
	return false;
}

static bool read_scale(struct rewrite *r, TSNode node, struct attention *a, bool divides)
{
	const char *text = code_text(r, node), *dense = node_dense_text(r, py_peel(node));
	if (a->stage != STAGE_PRODUCT || !scope_is_number(r, node))
		return false;
	a->stage = STAGE_SCALED;
	a->is_scaled = true;
	const char *factor = divides ? arena_printf(r->arena, "1.0/%s", dense) : dense;
	static const char root[] = "**0.5";
	size_t length = strlen(dense), tail = sizeof(root) - 1;
	if (divides && length > tail && strcmp(dense + length - tail, root) == 0)
		factor = arena_printf(r->arena, "%.*s**-0.5", (int)(length - tail), dense);
	if (is_usual_factor(r, factor, a))
		return true;
	bool is_atom = !node_is_kind(node, "binary_operator");
	a->scale = !divides ? text : arena_printf(r->arena, is_atom ? "1.0 / %s" : "1.0 / (%s)", text);
	return true;
}

/* ---- stages ---- */

static enum stage read_stage(struct rewrite *r, TSNode node, struct attention *a);

/* scores * scale, scores / root, scores + mask */
static bool read_arithmetic(struct rewrite *r, TSNode node, struct attention *a)
{
	TSNode left = code_field(node, "left"), right = code_field(node, "right");
	bool times = is_operator(r, node, "*"), divides = is_operator(r, node, "/");
	struct attention swapped = *a;
	if (is_operator(r, node, "+")) {
		if (!read_stage(r, left, a) || a->stage >= STAGE_MASKED || !mask_adds_causal(r, right))
			return false;
		a->stage = STAGE_MASKED;
		a->is_causal = true;
		return true;
	}
	if ((times || divides) && read_stage(r, left, a))
		return read_scale(r, right, a, divides);
	*a = swapped;
	return times && read_stage(r, right, a) && read_scale(r, left, a, false);
}

/* x.masked_fill(condition, value), also the one that ends with an underscore */
static bool read_masked(struct rewrite *r, TSNode call, struct attention *a)
{
	TSNode object = py_method_object(r, call, "masked_fill");
	if (ts_node_is_null(object))
		object = py_method_object(r, call, "masked_fill_");
	TSNode condition = py_argument(call, 0, 2), value = py_argument(call, 1, 2);
	if (ts_node_is_null(object) || ts_node_is_null(condition) || !read_stage(r, object, a) ||
		a->stage >= STAGE_MASKED)
		return false;
	a->stage = STAGE_MASKED;
	a->is_causal = mask_is_minus_infinity(r, value) && mask_forbids_later(r, condition);
	return a->is_causal;
}

/* softmax(x, dim=-1) or x.softmax(-1), and nothing else said */
static bool read_softmax(struct rewrite *r, TSNode call, struct attention *a)
{
	TSNode list = code_field(call, "arguments"), x = {0};
	if (!node_is_kind(call, "call"))
		return false;
	if (py_is_torch_call(r, call, "softmax"))
		x = ts_node_named_child(list, 0);
	uint32_t n = ts_node_is_null(x) ? 1 : 2;
	if (ts_node_is_null(x))
		x = py_method_object(r, call, "softmax");
	if (ts_node_is_null(x) || ts_node_named_child_count(list) != n)
		return false;
	const char *dim = node_dense_text(r, ts_node_named_child(list, n - 1));
	if ((strcmp(dim, "dim=-1") != 0 && strcmp(dim, "-1") != 0) || !read_stage(r, x, a) ||
		a->stage >= STAGE_SOFTMAX)
		return false;
	a->stage = STAGE_SOFTMAX;
	return true;
}

/* A name, a member or a number: nothing that binds looser than "if". */
static bool is_atom(TSNode node)
{
	return node_is_kind(node, "identifier") || node_is_kind(node, "attribute") ||
	       node_is_kind(node, "float") || node_is_kind(node, "integer") || node_is_kind(node, "true") ||
	       node_is_kind(node, "false");
}

/* self.drop(x), where the class makes it an nn.Dropout and nothing else. */
static const char *module_dropout(struct rewrite *r, TSNode call)
{
	TSNode function = code_field(call, "function");
	if (!py_is_module(r, function, "Dropout") ||
		ts_node_named_child_count(code_field(call, "arguments")) != 1)
		return NULL;
	const char *name = code_text(r, function);
	return arena_printf(r->arena, "%s.p if %s.training else 0.0", name, name);
}

/* F.dropout(x, p=p, training=training) */
static const char *function_dropout(struct rewrite *r, TSNode call)
{
	TSNode p = call_keyword(r, call, "p"), training = call_keyword(r, call, "training");
	if (!py_is_torch_call(r, call, "dropout") || !is_atom(p) || !is_atom(training) ||
		ts_node_named_child_count(code_field(call, "arguments")) != 3)
		return NULL;
	return arena_printf(r->arena, "%s if %s else 0.0", code_text(r, p), code_text(r, training));
}

static bool read_dropout(struct rewrite *r, TSNode call, struct attention *a)
{
	if (!node_is_kind(call, "call"))
		return false;
	const char *dropout = module_dropout(r, call);
	dropout = dropout ? dropout : function_dropout(r, call);
	TSNode x = ts_node_named_child(code_field(call, "arguments"), 0);
	if (!dropout || !read_stage(r, x, a) || a->stage != STAGE_SOFTMAX)
		return false;
	a->stage = STAGE_DROPPED;
	a->dropout = dropout;
	return true;
}

/* *a is what is known of a->name before; afterwards what the expression is. */
static enum stage read_stage(struct rewrite *r, TSNode node, struct attention *a)
{
	typedef bool (*reader_fn)(struct rewrite * r, TSNode node, struct attention * a);
	static const reader_fn readers[] = {
		read_product, read_arithmetic, read_masked, read_softmax, read_dropout};
	node = py_peel(node);
	if (a->depth >= DEPTH_MAX)
		return STAGE_NONE;
	if (node_is_kind(node, "identifier"))
		return a->name && node_text_is(r, node, a->name) ? a->stage : STAGE_NONE;
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		struct attention now = *a;
		now.depth++;
		if (!readers[i](r, node, &now))
			continue;
		now.depth = a->depth;
		*a = now;
		return a->stage;
	}
	return STAGE_NONE;
}

/* ---- statements ---- */

/* The statement takes the attention a stage further, into a variable. */
static bool takes_further(struct rewrite *r, TSNode statement, struct attention *a)
{
	TSNode assignment = py_assignment_of(statement), left = code_field(assignment, "left");
	struct attention now = *a;
	if (!ts_node_is_null(assignment)) {
		if (!node_is_kind(left, "identifier") ||
			!read_stage(r, code_field(assignment, "right"), &now))
			return false;
		now.name = code_text(r, left);
		*a = now;
		return true;
	}
	/* att.masked_fill_(...): the variable stays */
	TSNode call = ts_node_named_child(statement, 0);
	if (!node_is_kind(statement, "expression_statement") ||
		ts_node_is_null(py_method_object(r, call, "masked_fill_")) || !read_masked(r, call, &now))
		return false;
	*a = now;
	return true;
}

struct output { /* <attention> @ v */
	struct attention *a;
	TSNode node, v;
	struct attention found;
	size_t n;
};

/* In a lambda or a comprehension names may be other things. */
static bool is_rebound_inside(TSNode node)
{
	for (; !ts_node_is_null(node) && !strstr(ts_node_type(node), "statement");
		node = ts_node_parent(node))
		if (node_is_kind(node, "lambda") || strstr(ts_node_type(node), "comprehension") ||
			node_is_kind(node, "generator_expression"))
			return true;
	return false;
}

static void find_output(struct rewrite *r, TSNode node, void *context)
{
	struct output *o = context;
	struct attention now = *o->a;
	TSNode left, right;
	if (!read_matmul(r, node, &left, &right) || !node_is_kind(right, "identifier") ||
		read_stage(r, left, &now) < STAGE_SOFTMAX || is_rebound_inside(node))
		return;
	o->n++;
	o->node = node;
	o->v = right;
	o->found = now;
}

static bool is_last(struct rewrite *r, TSNode statement, struct attention *a, struct output *o)
{
	*o = (struct output){.a = a};
	if (!node_is_kind(statement, "expression_statement") && !node_is_kind(statement, "return_statement"))
		return false;
	visit_kind(r, statement, "binary_operator", find_output, o);
	visit_kind(r, statement, "call", find_output, o);
	return o->n == 1;
}

enum { STATEMENTS_MAX = 8 };

struct chain {
	TSNode statements[STATEMENTS_MAX]; /* the last one has the output */
	const char *names[STATEMENTS_MAX]; /* that they give */
	size_t n;
	struct output output;
};

/* Every name that the statements give is used in them alone, and in the last one only for the output. */
static bool has_other_uses(struct rewrite *r, const struct chain *c)
{
	TSNode function = c->statements[0];
	while (!ts_node_is_null(function) && !node_is_kind(function, "function_definition"))
		function = ts_node_parent(function);
	for (size_t k = 0; k + 1 < c->n; k++) {
		size_t inside = 0;
		for (size_t i = 0; i < c->n; i++)
			inside += py_count_names(r, c->statements[i], c->names[k]);
		if (ts_node_is_null(function) || py_count_names(r, function, c->names[k]) != inside)
			return true;
		if (py_count_names(r, c->statements[c->n - 1], c->names[k]) >
			py_count_names(r, c->output.node, c->names[k]))
			return true;
	}
	return false;
}

static bool has_name(const char *text, const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)) != NULL; at += n)
		if ((at == text || !strchr(letters, at[-1])) && (!at[n] || !strchr(letters, at[n])))
			return true;
	return false;
}

/* The call would need a variable that goes away with the statements. */
static bool needs_what_goes(struct rewrite *r, const struct chain *c)
{
	const struct attention *a = &c->output.found;
	const char *const texts[] = {a->q, a->k, code_text(r, c->output.v), a->scale ? a->scale : "",
		a->dropout ? a->dropout : ""};
	for (size_t k = 0; k + 1 < c->n; k++)
		for (size_t i = 0; i < ARRAY_LEN(texts); i++)
			if (has_name(texts[i], c->names[k]))
				return true;
	return false;
}

static void replace(struct rewrite *r, const struct chain *c)
{
	const struct attention *a = &c->output.found;
	const char *scale = !a->is_scaled ? ", scale=1.0"
			    : a->scale    ? arena_printf(r->arena, ", scale=%s", a->scale)
					  : "";
	const char *dropout = a->dropout ? arena_printf(r->arena, ", dropout_p=%s", a->dropout) : "";
	const char *call = arena_printf(r->arena, "%s.scaled_dot_product_attention(%s, %s, %s%s%s%s)",
		scope_functional(r), a->q, a->k, code_text(r, c->output.v),
		a->is_causal ? ", is_causal=True" : "", dropout, scale);
	TSNode first = c->statements[0], last = c->statements[c->n - 1];
	size_t begin = ts_node_start_byte(last), from = ts_node_start_byte(c->output.node);
	size_t to = ts_node_end_byte(c->output.node), end = ts_node_end_byte(last);
	const char *file = r->file->text;
	rewrite_replace(r, ts_node_start_byte(first), end,
		arena_printf(r->arena, "%.*s%s%.*s", (int)(from - begin), file + begin, call, (int)(end - to),
			file + to));
	r->n_places++;
}

static const char *why_it_ends(struct rewrite *r, TSNode statement, const struct attention *a)
{
	if (a->stage < STAGE_MASKED && subtree_has_word(r, statement, "masked_fill"))
		return "the mask is not a causal one that this file makes";
	return "between product and output something else happens to the scores";
}

/* True: from this statement on they are a whole attention. *ret_stopped is the statement that is no part of
 * it. */
static bool read_statements(
	struct rewrite *r, TSNode statement, struct attention *a, struct chain *c, TSNode *ret_stopped)
{
	while (c->n + 1 < STATEMENTS_MAX && !ts_node_is_null(statement) && takes_further(r, statement, a)) {
		c->names[c->n] = a->name;
		c->statements[c->n++] = statement;
		statement = py_next_statement(statement);
	}
	*ret_stopped = statement;
	if (ts_node_is_null(statement) || !is_last(r, statement, a, &c->output))
		return false;
	c->statements[c->n++] = statement;
	return true;
}

static void read_chain(struct rewrite *r, TSNode statement, void *context)
{
	struct attention a = {.stage = STAGE_NONE};
	struct chain c = {.n = 0};
	TSNode stopped;
	(void)context;
	if (read_statements(r, statement, &a, &c, &stopped)) {
		if (has_other_uses(r, &c) || needs_what_goes(r, &c))
			rewrite_refuse(r, statement, "the scores are used elsewhere too");
		else if (!scope_functional(r))
			rewrite_refuse(r, statement, "the file does not import torch");
		else
			replace(r, &c);
		return;
	}
	bool looks_like_one = c.n > 0 && a.stage < STAGE_SOFTMAX && !ts_node_is_null(stopped) &&
			      subtree_has_word(r, ts_node_parent(statement), "softmax");
	if (looks_like_one)
		rewrite_refuse(r, statement, why_it_ends(r, stopped, &a));
}

static void run(struct rewrite *r)
{
	if (!file_has_word(r, "softmax"))
		return;
	visit_kind(r, r->root, "expression_statement", read_chain, NULL);
	visit_kind(r, r->root, "return_statement", read_chain, NULL);
}

const struct codemod codemod_py_attention = {
	{"sdpa", "attention by scaled_dot_product_attention", "attention_backend", "forward,backward",
		"scores, optional scale and causal mask, softmax, optional dropout and product in "
		"consecutive statements; needs torch 2, with another scale than the usual one 2.1",
		LANGUAGE_PYTHON},
	run};
