/* `total += loss.item()` in a loop waits for the device in every pass. The sum can stay on the device until
 * somebody looks at it. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

static bool is_in_loop(TSNode node)
{
	for (; !ts_node_is_null(node) && !node_is_kind(node, "function_definition");
		node = ts_node_parent(node))
		if (node_is_kind(node, "for_statement") || node_is_kind(node, "while_statement"))
			return true;
	return false;
}

struct uses {
	const char *name;
	int sums, others;
};

/* Every use beside the sum must be one that turns a tensor into text or a number by itself: a format,
 * float(), int(). A plain reset to zero is one too. */
static bool is_harmless(struct rewrite *r, TSNode name)
{
	TSNode up = ts_node_parent(name);
	if (node_is_kind(up, "augmented_assignment"))
		return ts_node_eq(code_field(up, "left"), name);
	if (node_is_kind(up, "assignment") && ts_node_eq(code_field(up, "left"), name)) {
		TSNode right = code_field(up, "right");
		return node_is_kind(right, "float") || node_is_kind(right, "integer");
	}
	for (; !ts_node_is_null(up) && !node_is_kind(up, "expression_statement"); up = ts_node_parent(up)) {
		/* Without a format ("{total:.3f}") a tensor shows itself as one. */
		if (node_is_kind(up, "interpolation"))
			return count_kind(r, up, "format_specifier") > 0;
		if (node_is_kind(up, "call") &&
			(strcmp(call_name(r, up), "float") == 0 || strcmp(call_name(r, up), "int") == 0))
			return true;
	}
	return false;
}

static void look_at_use(struct rewrite *r, TSNode name, void *context)
{
	struct uses *uses = context;
	if (!node_text_is(r, name, uses->name))
		return;
	if (is_harmless(r, name))
		uses->sums++;
	else
		uses->others++;
}

static void keep_on_device(struct rewrite *r, TSNode sum, void *context)
{
	(void)context;
	TSNode left = code_field(sum, "left"), right = code_field(sum, "right");
	if (!node_is_kind(left, "identifier") || !node_text_is(r, code_field(sum, "operator"), "+=") ||
		!node_is_kind(right, "call") || strcmp(call_name(r, right), "item") != 0 || !is_in_loop(sum))
		return;
	TSNode tensor = code_field(code_field(right, "function"), "object");
	if (!node_is_kind(tensor, "identifier"))
		return;
	struct uses uses = {.name = code_text(r, left)};
	visit_kind(r, r->root, "identifier", look_at_use, &uses);
	if (uses.others) {
		rewrite_refuse(r, sum, "the sum is used where a tensor may not do");
		return;
	}
	/* As wide as what .item() gives is summed: a sum of bf16 stops growing. */
	rewrite_replace(r, ts_node_start_byte(right), ts_node_end_byte(right),
		arena_printf(r->arena, "%s.detach().float()", code_text(r, tensor)));
	r->n_places++;
}

static void run(struct rewrite *r)
{
	visit_kind(r, r->root, "augmented_assignment", keep_on_device, NULL);
}

const struct codemod codemod_py_item_sync = {
	{"no-item-sync", "sums of losses stay on the device until they are shown", "log_sync_interval",
		"forward,backward",
		"`total += loss.item()` in a loop, where the total is otherwise only shown or converted",
		LANGUAGE_PYTHON},
	run};
