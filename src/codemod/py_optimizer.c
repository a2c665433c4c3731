/* Optimizers of torch.optim: one fused kernel instead of a loop over parameters; gradients freed instead of
 * written with zeros. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

static bool is_torch_optimizer(struct rewrite *r, TSNode call, const char *const *names)
{
	TSNode function = code_field(call, "function");
	const char *owner =
		node_is_kind(function, "attribute") ? code_text(r, code_field(function, "object")) : "";
	bool from_torch = strcmp(owner, "optim") == 0 || strcmp(owner, "torch.optim") == 0 ||
			  (!*owner && file_has_word(r, "torch.optim") && file_has_word(r, "from"));
	for (size_t i = 0; from_torch && names[i]; i++)
		if (strcmp(call_name(r, call), names[i]) == 0)
			return true;
	return false;
}

/* NULL: an implementation may be chosen. */
static const char *reason_chosen(struct rewrite *r, TSNode call)
{
	static const char *const choices[] = {"fused", "foreach", "capturable", "differentiable"};
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (!ts_node_is_null(call_keyword(r, call, choices[i])))
			return "the optimizer's implementation is chosen already";
	return call_has_splat(call) ? "its arguments come from elsewhere and may choose an implementation"
				    : NULL;
}

static void fuse(struct rewrite *r, TSNode call, void *context)
{
	static const char *const names[] = {"Adam", "AdamW", "SGD", "Adagrad", NULL};
	(void)context;
	if (!is_torch_optimizer(r, call, names))
		return;
	const char *why = reason_chosen(r, call);
	if (why) {
		rewrite_refuse(r, call, why);
		return;
	}
	if (file_has_word(r, "GradScaler")) {
		rewrite_refuse(r, call, "a fused optimizer treats scaled gradients (GradScaler) by itself");
		return;
	}
	call_add_argument(r, call, "fused=True");
}

static void run_fused(struct rewrite *r)
{
	visit_kind(r, r->root, "call", fuse, NULL);
}

const struct codemod codemod_py_fused_optimizer = {
	{"fused-optimizer", "the optimizer's update in one kernel (fused=True)", "fused_optimizer",
		"optimizer",
		"Adam, AdamW, SGD or Adagrad of torch.optim whose implementation is not chosen; not with a "
		"GradScaler or arguments from elsewhere",
		LANGUAGE_PYTHON},
	run_fused};

/* Where there is no fused kernel. On GPUs torch 2 does so by itself, on processors it goes tensor by tensor.
 */
static void take_together(struct rewrite *r, TSNode call, void *context)
{
	static const char *const names[] = {
		"RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "Rprop", "ASGD", NULL};
	(void)context;
	if (!is_torch_optimizer(r, call, names))
		return;
	const char *why = reason_chosen(r, call);
	if (why)
		rewrite_refuse(r, call, why);
	else
		call_add_argument(r, call, "foreach=True");
}

static void run_foreach(struct rewrite *r)
{
	visit_kind(r, r->root, "call", take_together, NULL);
}

const struct codemod codemod_py_foreach_optimizer = {
	{"foreach-optimizer", "the optimizer's update for all parameters at once (foreach=True)",
		"fused_optimizer", "optimizer",
		"optimizers of torch.optim without a fused kernel (RMSprop, NAdam, RAdam, Adamax, Adadelta, "
		"Rprop, "
		"ASGD) whose implementation is not chosen; takes memory for copies of the parameters' size",
		LANGUAGE_PYTHON},
	run_foreach};

/* With zeros the optimizer also updates what had no gradient (decay, momentum); with none it does not. */
static bool is_about_gradients(const char *name)
{
	static const char *const names[] = {
		"grad", "requires_grad", "requires_grad_", "find_unused_parameters"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void look_at_name(struct rewrite *r, TSNode name, void *context)
{
	bool *found = context;
	*found = *found || is_about_gradients(code_text(r, name));
}

static bool names_gradients(struct rewrite *r)
{
	bool found = false;
	visit_kind(r, r->root, "identifier", look_at_name, &found);
	/* getattr(p, "grad"), but not the option "--grad-clip". */
	visit_kind(r, r->root, "string_content", look_at_name, &found);
	return found;
}

static void free_gradients(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	TSNode value = call_keyword(r, call, "set_to_none");
	if (strcmp(call_name(r, call), "zero_grad") != 0 || !node_text_is(r, value, "False"))
		return;
	if (names_gradients(r)) {
		rewrite_refuse(r, call, "some parameters may go without a gradient, or gradients are read");
		return;
	}
	if (file_has_word(r, "CUDAGraph") || file_has_word(r, "make_graphed_callables")) {
		rewrite_refuse(r, call, "a captured graph writes to the gradients where they were");
		return;
	}
	rewrite_replace(r, ts_node_start_byte(value), ts_node_end_byte(value), "True");
	r->n_places++;
}

static void run_set_to_none(struct rewrite *r)
{
	visit_kind(r, r->root, "call", free_gradients, NULL);
}

const struct codemod codemod_py_set_to_none = {{"set-to-none", "gradients freed instead of filled with zeros",
						       "zero_grad_set_to_none", "optimizer,backward",
						       "zero_grad(set_to_none=False), which is not torch's "
						       "default any more, in a file that neither reads "
						       "gradients nor freezes parameters",
						       LANGUAGE_PYTHON},
	run_set_to_none};
