/* The model compiled in its place: behind the move to the device, before the optimizer and any wrapper take
 * it. */
#include "base/base.h"

#include <string.h>

#include "codemod/py_modules.h"

static void run(struct rewrite *r)
{
	if (!file_has_word(r, "torch"))
		return;
	struct model_move p = py_find_move(r);
	if (!p.found)
		return;
	if (file_has_word(r, "compile")) {
		rewrite_refuse(r, p.statement, "the file compiles something already");
	} else if (p.found > 1) {
		rewrite_refuse(r, p.statement, "several models are moved to a device");
	} else if (py_is_conditional(p.statement)) {
		rewrite_refuse(r, p.statement, "the model is moved under a condition or in a loop");
	} else if (!node_indent(r, p.statement)) {
		rewrite_refuse(r, p.statement, "the move stands on a line with something else");
	} else {
		/* In place. torch.compile(model) would give a wrapper whose parameters go by other names
		 * (_orig_mod.x): in checkpoints, and in the digest of the model that the contract holds. */
		rewrite_insert(r, ts_node_end_byte(p.statement),
			arena_printf(r->arena, "\n%s%s.compile()", node_indent(r, p.statement), p.name));
		r->n_places++;
	}
}

const struct codemod codemod_py_compile = {
	{"compile", "the model compiled, before optimizer and wrappers take it", "torch_compile",
		"forward,backward",
		"one model that is moved to a device at the level of a function, in a file that compiles "
		"nothing; needs torch 2.2",
		LANGUAGE_PYTHON, .starts_slowly = true},
	run};
