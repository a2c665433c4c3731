/* Data parallelism and data loading: copies that need not be made or wait. */
#include "base/base.h"

#include <string.h>

#include "codemod/py_modules.h"

static bool is_ddp(struct rewrite *r, TSNode call)
{
	const char *name = call_name(r, call);
	return strcmp(name, "DistributedDataParallel") == 0 ||
	       (strcmp(name, "DDP") == 0 && file_has_word(r, "DistributedDataParallel"));
}

static void share_buckets(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	if (!is_ddp(r, call) || !ts_node_is_null(call_keyword(r, call, "gradient_as_bucket_view")))
		return;
	if (call_has_splat(call))
		rewrite_refuse(r, call, "its arguments come from elsewhere");
	else if (file_has_word(r, "detach_"))
		rewrite_refuse(r, call, "gradients that are views cannot be detached in place (detach_)");
	else
		call_add_argument(r, call, "gradient_as_bucket_view=True");
}

static void run_bucket_view(struct rewrite *r)
{
	visit_kind(r, r->root, "call", share_buckets, NULL);
}

const struct codemod codemod_py_bucket_view = {
	{"bucket-view", "gradients live in the buckets that are reduced: one copy less",
		"gradient_as_bucket_view", "backward,collective",
		"DistributedDataParallel without gradient_as_bucket_view; not where gradients are detached "
		"in place",
		LANGUAGE_PYTHON},
	run_bucket_view};

/* ---- static graph ---- */

static void see_branch(struct rewrite *r, TSNode function, void *context)
{
	static const char *const kinds[] = {"if_statement", "conditional_expression", "while_statement",
		"match_statement", "try_statement", "boolean_operator", "for_in_clause"};
	bool *found = context;
	if (!node_text_is(r, code_field(function, "name"), "forward"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		*found |= count_kind(r, code_field(function, "body"), kinds[i]) > 0;
}

/* A forward() of the program that may go different ways. */
static bool has_branches(struct rewrite *r)
{
	bool found = false;
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		visit_kind(&view, r->sources[i].root, "function_definition", see_branch, &found);
	}
	return found;
}

struct made {
	const char *name;
	bool is_own;
};

/* model = Net(...), or Net(...).to(device), of a class of the program */
static void see_made(struct rewrite *r, TSNode node, void *context)
{
	struct made *m = context;
	TSNode value = code_field(node, "right");
	if (!node_text_is(r, code_field(node, "left"), m->name))
		return;
	while (node_is_kind(value, "call") && node_is_kind(code_field(value, "function"), "attribute") &&
		node_is_kind(code_field(code_field(value, "function"), "object"), "call"))
		value = code_field(code_field(value, "function"), "object");
	m->is_own |= node_is_kind(value, "call") &&
		     node_is_kind(code_field(value, "function"), "identifier") &&
		     py_is_own_class(r, code_text(r, code_field(value, "function")));
}

static const char *reason_not_static(struct rewrite *r, TSNode call)
{
	static const char *const words[] = {"no_sync", "checkpoint", "requires_grad", "requires_grad_",
		"compile", "freeze", "register_comm_hook", "find_unused_parameters", "LayerDrop",
		"stochastic_depth"};
	struct made made = {.name = ""};
	TSNode arguments = code_field(call, "arguments");
	if (call_has_splat(call) || !ts_node_named_child_count(arguments))
		return "its arguments come from elsewhere";
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (py_program_has(r, words[i]))
			return "which parameters take part may change, or the graph is handled in another "
			       "way";
	made.name = code_text(r, ts_node_named_child(arguments, 0));
	visit_kind(r, r->root, "assignment", see_made, &made);
	if (!made.is_own)
		return "the model is not one of the program's classes, made in this file";
	return has_branches(r) ? "a forward() may go different ways" : NULL;
}

static void fix_graph(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	if (!is_ddp(r, call) || !ts_node_is_null(call_keyword(r, call, "static_graph")))
		return;
	const char *why = reason_not_static(r, call);
	if (why)
		rewrite_refuse(r, call, why);
	else
		call_add_argument(r, call, "static_graph=True");
}

static void run_static_graph(struct rewrite *r)
{
	visit_kind(r, r->root, "call", fix_graph, NULL);
}

const struct codemod codemod_py_static_graph = {
	{"static-graph", "data parallelism that knows the graph stays the same", "ddp_graph_mode", "backward",
		"DistributedDataParallel of a class of the program, where no forward() has a condition; not "
		"with "
		"no_sync, checkpoints, compiling, frozen parameters or find_unused_parameters",
		LANGUAGE_PYTHON},
	run_static_graph};

/* ---- loading ---- */

/* Workers are left to the user: they draw other random numbers, and each of them reads an iterable data set
 * whole. */
static void pin(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	if (strcmp(call_name(r, call), "DataLoader") != 0 || !file_has_word(r, "cuda") ||
		!ts_node_is_null(call_keyword(r, call, "pin_memory")))
		return;
	if (call_has_splat(call))
		rewrite_refuse(r, call, "its arguments come from elsewhere");
	else
		call_add_argument(r, call, "pin_memory=True");
}

static void run_pin(struct rewrite *r)
{
	visit_kind(r, r->root, "call", pin, NULL);
}

const struct codemod codemod_py_pin_memory = {
	{"pin-memory", "batches are loaded into pinned memory, from which a GPU copies faster",
		"dataloader_pin_memory", "data",
		"DataLoader without pin_memory, in a file that uses cuda; the number of workers stays",
		LANGUAGE_PYTHON},
	run_pin};
