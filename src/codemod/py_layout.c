/* channels_last for convolutional models: weights and images with the channels of a pixel beside each other,
 * which is what the kernels want. */
#include "base/base.h"

#include <string.h>

#include "codemod/py_modules.h"

struct calls { /* of the model */
	const char *model, *input;
	int n;
	bool is_plain;
};

static void see_call(struct rewrite *r, TSNode call, void *context)
{
	struct calls *c = context;
	TSNode first = code_field(call, "arguments");
	if (!node_text_is(r, code_field(call, "function"), c->model))
		return;
	first = node_is_kind(first, "argument_list") && ts_node_named_child_count(first) == 1
			? ts_node_named_child(first, 0)
			: first;
	c->is_plain &= node_is_kind(first, "identifier");
	const char *input = code_text(r, first);
	c->is_plain &= !c->n || strcmp(input, c->input) == 0;
	c->input = input;
	c->n++;
}

struct inputs {
	const char *name;
	TSNode moves[2]; /* calls of x.to(...) that set it */
	int n, n_others;
};

static void see_input(struct rewrite *r, TSNode left, TSNode right, struct inputs *in)
{
	if (!node_text_is(r, left, in->name))
		return;
	bool is_move = node_is_kind(right, "call") && strcmp(call_name(r, right), "to") == 0 &&
		       node_is_kind(code_field(code_field(right, "function"), "object"), "identifier") &&
		       ts_node_is_null(call_keyword(r, right, "memory_format")) && !call_has_splat(right);
	if (is_move && in->n < 2)
		in->moves[in->n++] = right;
	else
		in->n_others++;
}

/* `x = image.to(device)` and `x, y = x.to(device), y.to(device)` */
static void see_assignment(struct rewrite *r, TSNode node, void *context)
{
	struct inputs *in = context;
	TSNode left = code_field(node, "left"), right = code_field(node, "right");
	if (ts_node_is_null(right))
		return;
	if (!node_is_kind(left, "pattern_list")) {
		see_input(r, left, right, in);
		return;
	}
	for (uint32_t i = 0; i < ts_node_named_child_count(left); i++) {
		bool is_pair = node_is_kind(right, "expression_list") &&
			       ts_node_named_child_count(right) == ts_node_named_child_count(left);
		see_input(
			r, ts_node_named_child(left, i), is_pair ? ts_node_named_child(right, i) : right, in);
	}
}

/* NULL: the layout may be chosen. */
static const char *reason_against(struct rewrite *r, const struct model_move *m, struct inputs *in)
{
	struct calls c = {.model = m->name, .is_plain = true};
	if (m->found > 1 || py_is_conditional(m->statement) || !node_indent(r, m->statement))
		return "no single place where the model is moved to its device";
	if (py_program_has(r, "view"))
		return "view() does not take this layout (reshape() does)";
	if (py_program_has(r, "as_strided") || py_program_has(r, "stride") ||
		py_program_has(r, "is_contiguous"))
		return "the layout of tensors is looked at";
	visit_kind(r, r->root, "call", see_call, &c);
	if (!c.n || !c.is_plain)
		return "the model is not called with one variable alone";
	in->name = c.input;
	visit_kind(r, r->root, "assignment", see_assignment, in);
	if (!in->n || in->n_others)
		return "the images are not just moved to a device";
	return NULL;
}

static void run(struct rewrite *r)
{
	struct inputs in = {.n = 0};
	if (!py_program_has(r, "Conv2d") || py_program_has(r, "channels_last") || !file_has_word(r, "torch"))
		return;
	struct model_move m = py_find_move(r);
	if (!m.found)
		return;
	const char *why = reason_against(r, &m, &in);
	if (why) {
		rewrite_refuse(r, m.statement, why);
		return;
	}
	rewrite_insert(r, ts_node_end_byte(m.statement),
		arena_printf(r->arena, "\n%s%s = %s.to(memory_format=torch.channels_last)",
			node_indent(r, m.statement), m.name, m.name));
	r->n_places++;
	for (int i = 0; i < in.n; i++)
		call_add_argument(r, in.moves[i], "memory_format=torch.channels_last");
}

const struct codemod codemod_py_channels_last = {
	{"channels-last", "images and weights of convolutions with their channels side by side",
		"channels_last", "forward,backward",
		"a program with Conv2d whose model is moved to its device in one place and called with one "
		"variable "
		"of images, itself moved by x.to(...); not where view() or strides are used",
		LANGUAGE_PYTHON},
	run};
