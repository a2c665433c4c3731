/*
 * Norms of gradients: clip_grad_norm_(..., foreach=False) works tensor by tensor, and so does the loop that
 * many scripts have,
 *
 *     total_norm = 0.0
 *     for p in model.parameters():
 *         if p.grad is not None:
 *             param_norm = p.grad.data.norm(2)
 *             total_norm += param_norm.item() ** 2
 *     total_norm = total_norm ** 0.5
 *
 * which waits for the device at every tensor. Summed on the device it waits once. Anything else in the loop,
 * or a later use of its variables, is refused.
 */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

static bool is_sharded(const struct rewrite *r)
{
	return file_has_word(r, "FSDP") || file_has_word(r, "DTensor") || file_has_word(r, "fully_shard");
}

/* ---- the loop: comments in it would be lost, so there may be none ---- */

struct norm {
	TSNode first, loop, last; /* statements */
	const char *total, *p, *tensors, *part;
	bool is_squared_at_end;
};

static TSNode only_child(TSNode block, uint32_t index, uint32_t count)
{
	TSNode none = {0};
	return !ts_node_is_null(block) && ts_node_named_child_count(block) == count
		       ? ts_node_named_child(block, index)
		       : none;
}

static bool is_one_of(const char *text, const char *const *forms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, forms[i]) == 0)
			return true;
	return false;
}

/* `if p.grad is not None:` and the two lines below it. */
static bool read_sum(struct rewrite *r, struct norm *n, TSNode condition)
{
	TSNode block = code_field(condition, "consequence");
	if (!node_is_kind(condition, "if_statement") ||
		!ts_node_is_null(code_field(condition, "alternative")) ||
		strcmp(node_dense_text(r, code_field(condition, "condition")),
			arena_printf(r->arena, "%s.gradisnotNone", n->p)) != 0)
		return false;
	TSNode taken = only_child(only_child(block, 0, 2), 0, 1),
	       added = only_child(only_child(block, 1, 2), 0, 1);
	if (!node_is_kind(taken, "assignment") || !node_is_kind(added, "augmented_assignment"))
		return false;
	const char *const forms[] = {arena_printf(r->arena, "%s.grad.data.norm(2)", n->p),
		arena_printf(r->arena, "%s.grad.detach().data.norm(2)", n->p),
		arena_printf(r->arena, "%s.grad.detach().norm(2)", n->p),
		arena_printf(r->arena, "%s.grad.norm(2)", n->p),
		arena_printf(r->arena, "%s.grad.norm()", n->p)};
	n->part = code_text(r, code_field(taken, "left"));
	return node_is_kind(code_field(taken, "left"), "identifier") &&
	       is_one_of(node_dense_text(r, code_field(taken, "right")), forms, ARRAY_LEN(forms)) &&
	       node_text_is(r, code_field(added, "left"), n->total) &&
	       node_text_is(r, code_field(added, "operator"), "+=") &&
	       strcmp(node_dense_text(r, code_field(added, "right")),
		       arena_printf(r->arena, "%s.item()**2", n->part)) == 0;
}

static bool read_zero(struct rewrite *r, struct norm *n)
{
	TSNode zero = only_child(n->first, 0, 1);
	if (!node_is_kind(n->first, "expression_statement") || !node_is_kind(zero, "assignment"))
		return false;
	const char *value = node_dense_text(r, code_field(zero, "right"));
	n->total = code_text(r, code_field(zero, "left"));
	return node_is_kind(code_field(zero, "left"), "identifier") &&
	       (strcmp(value, "0") == 0 || strcmp(value, "0.0") == 0 || strcmp(value, "0.") == 0);
}

static bool read_root(struct rewrite *r, struct norm *n)
{
	TSNode root = only_child(n->last, 0, 1);
	if (!node_is_kind(n->last, "expression_statement") || !node_is_kind(root, "assignment") ||
		!node_text_is(r, code_field(root, "left"), n->total))
		return false;
	const char *const forms[] = {arena_printf(r->arena, "%s**0.5", n->total),
		arena_printf(r->arena, "%s**(1./2)", n->total),
		arena_printf(r->arena, "%s**(1.0/2)", n->total),
		arena_printf(r->arena, "math.sqrt(%s)", n->total)};
	return is_one_of(node_dense_text(r, code_field(root, "right")), forms, ARRAY_LEN(forms));
}

struct uses {
	const char *name;
	TSNode loop;
	size_t outside;
};

static void look_at_use(struct rewrite *r, TSNode name, void *context)
{
	struct uses *u = context;
	bool is_inside = ts_node_start_byte(name) >= ts_node_start_byte(u->loop) &&
			 ts_node_end_byte(name) <= ts_node_end_byte(u->loop);
	u->outside += !is_inside && node_text_is(r, name, u->name);
}

static bool is_used_outside(struct rewrite *r, TSNode loop, const char *name)
{
	struct uses u = {.name = name, .loop = loop};
	TSNode function = loop;
	while (!ts_node_is_null(ts_node_parent(function)) && !node_is_kind(function, "function_definition"))
		function = ts_node_parent(function);
	visit_kind(r, function, "identifier", look_at_use, &u);
	return u.outside > 0;
}

/* NULL: it may be changed. */
static const char *reason_against(struct rewrite *r, const struct norm *n)
{
	if (is_used_outside(r, n->loop, n->part) || is_used_outside(r, n->loop, n->p))
		return "the loop's variables are used elsewhere too";
	if (!node_indent(r, n->first))
		return "the sum stands on a line with something else";
	if (is_sharded(r))
		return "gradients may be parts of sharded tensors";
	if (file_has_word(r, "mps"))
		return "the device may have no double precision";
	return strstr(node_dense_text(r, r->root), "sum=") || strstr(r->file->text, "def sum(")
		       ? "the file may have a sum() of its own"
		       : NULL;
}

static void find_loop(struct rewrite *r, TSNode loop, void *context)
{
	struct norm n = {.loop = loop,
		.first = ts_node_prev_named_sibling(loop),
		.last = ts_node_next_named_sibling(loop)};
	(void)context;
	if (ts_node_is_null(n.first) || ts_node_is_null(n.last) ||
		!node_is_kind(code_field(loop, "left"), "identifier") ||
		!ts_node_is_null(code_field(loop, "alternative")))
		return;
	n.p = code_text(r, code_field(loop, "left"));
	n.tensors = code_text(r, code_field(loop, "right"));
	if (!read_zero(r, &n) || !read_sum(r, &n, only_child(code_field(loop, "body"), 0, 1)) ||
		!read_root(r, &n))
		return;
	const char *why = reason_against(r, &n), *indent = node_indent(r, n.first);
	if (why) {
		rewrite_refuse(r, loop, why);
		return;
	}
	/* As wide as .item() was. */
	rewrite_replace(r, ts_node_start_byte(n.first), ts_node_end_byte(n.last),
		arena_printf(r->arena,
			"%s = sum(%s.grad.detach().norm(2).double() ** 2 for %s in %s if %s.grad is not "
			"None)\n"
			"%s%s = float(%s) ** 0.5",
			n.total, n.p, n.p, n.tensors, n.p, indent, n.total, n.total));
	r->n_places++;
}

static void run_loop(struct rewrite *r)
{
	visit_kind(r, r->root, "for_statement", find_loop, NULL);
}

const struct codemod codemod_py_grad_norm = {
	{"grad-norm", "the norm of gradients summed on the device, waited for once", "grad_norm_clip_impl",
		"optimizer",
		"the usual loop that adds up p.grad.norm(2).item() ** 2 and takes the root; not with sharded "
		"gradients or another use of its variables",
		LANGUAGE_PYTHON},
	run_loop};

/* ---- foreach ---- */

static void take_together(struct rewrite *r, TSNode call, void *context)
{
	TSNode value = call_keyword(r, call, "foreach");
	(void)context;
	if (strcmp(call_name(r, call), "clip_grad_norm_") != 0 || !node_text_is(r, value, "False"))
		return;
	if (is_sharded(r)) {
		rewrite_refuse(r, call, "gradients may be parts of sharded tensors");
		return;
	}
	/* None and not True: the latter is an error where a device has no such kernels. */
	rewrite_replace(r, ts_node_start_byte(value), ts_node_end_byte(value), "None");
	r->n_places++;
}

static void run_clip(struct rewrite *r)
{
	visit_kind(r, r->root, "call", take_together, NULL);
}

const struct codemod codemod_py_clip_foreach = {
	{"clip-foreach", "gradients clipped all at once instead of one by one", "grad_norm_clip_impl",
		"optimizer",
		"clip_grad_norm_(..., foreach=False); without the argument torch 2 does so by itself; not "
		"with sharded "
		"gradients",
		LANGUAGE_PYTHON},
	run_clip};
