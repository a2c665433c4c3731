/*
 * The loss of a language model in parts. Of
 *
 *     logits = self.lm_head(x)
 *     loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
 *
 * the logits of all tokens are kept for the gradient, and they are the largest tensor where the vocabulary is
 * large. A function that takes a thousand rows at a time, adds up their losses, and makes a part's logits
 * again for its gradient has the same mean and never more than a part in memory. Who else uses the logits is
 * refused: they are not there then.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "codemod/py_calls.h"
#include "codemod/py_modules.h"
#include "codemod/py_scope.h"

#define FUNCTION "cross_entropy_in_parts"

struct loss {
	TSNode call;         /* F.cross_entropy(...) */
	TSNode made;         /* the statement that makes the logits; a null node: the call itself does */
	TSNode head, hidden; /* self.lm_head, and what it is given */
	const char *logits;  /* the variable; NULL = there is none */
	const char *width;   /* that the logits are said to have; NULL = their own */
	const char *targets, *ignored;
};

/* ---- what the loss is worked out of ---- */

/* x.float() is x: the parts are worked out as wide as that. */
static TSNode without_float(struct rewrite *r, TSNode node)
{
	TSNode object = py_method_object(r, node, "float");
	bool is_plain = !ts_node_is_null(object) && node_text_is(r, code_field(node, "arguments"), "()");
	return py_peel(is_plain ? object : node);
}

/* view(-1, width), reshape(-1, width), flatten(0, 1): one row a token. A null node = it is something else. */
static TSNode flattened_logits(struct rewrite *r, TSNode node, const char **ret_width)
{
	static const char *const methods[] = {"view", "reshape", "flatten"};
	static const char *const sizes[] = {
		"(-1,%s.size(-1))", "(-1,%s.shape[-1])", "(-1,%s.size(2))", "(-1,%s.shape[2])"};
	TSNode none = {0};
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		TSNode object = py_method_object(r, node, methods[i]);
		const char *list = node_dense_text(r, code_field(node, "arguments"));
		if (ts_node_is_null(object))
			continue;
		*ret_width = NULL;
		if (i == 2)
			return strcmp(list, "(0,1)") == 0 || strcmp(list, "(0,-2)") == 0 ? object : none;
		const char *name = node_dense_text(r, without_float(r, object));
		for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
			const char *at = strstr(sizes[k], "%s");
			if (strcmp(list, arena_printf(r->arena, "%.*s%s%s", (int)(at - sizes[k]), sizes[k],
						 name, at + 2)) == 0)
				return object;
		}
		TSNode width = py_argument(node, 1, 2);
		*ret_width = node_dense_text(r, width);
		return strncmp(list, "(-1,", 4) == 0 && !ts_node_is_null(width) ? object : none;
	}
	return none;
}

struct doing {
	TSNode before; /* only what begins before it; a null node = all */
	bool something;
};

static void see_doing(struct rewrite *r, TSNode node, void *context)
{
	static const char *const layouts[] = {
		"view", "reshape", "flatten", "contiguous", "to", "long", "cuda", "detach", "clone", "size"};
	struct doing *d = context;
	bool is_layout = false;
	for (size_t i = 0; i < ARRAY_LEN(layouts) && node_is_kind(node, "call"); i++)
		is_layout |= strcmp(call_name(r, node), layouts[i]) == 0;
	if (!ts_node_is_null(d->before) && ts_node_start_byte(node) >= ts_node_start_byte(d->before))
		return;
	bool is_around = !ts_node_is_null(d->before) && ts_node_end_byte(node) >= ts_node_end_byte(d->before);
	d->something |= !is_layout && !is_around;
}

/* No calls but those that lay out tensors anew, and no assignments within. `before`: as see_doing() has it.
 */
static bool does_nothing_before(struct rewrite *r, TSNode expression, TSNode before)
{
	static const char *const kinds[] = {"call", "named_expression", "await", "yield"};
	struct doing d = {.before = before};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		visit_kind(r, expression, kinds[i], see_doing, &d);
	return !d.something;
}

static bool does_nothing(struct rewrite *r, TSNode expression)
{
	TSNode all = {0};
	return does_nothing_before(r, expression, all);
}

/* y.view(-1) and the like of what no call makes but those that only lay out tensors anew. */
static bool is_flat(struct rewrite *r, TSNode targets)
{
	static const char *const forms[][2] = {{"view", "(-1)"}, {"reshape", "(-1)"}, {"flatten", "()"}};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (!ts_node_is_null(py_method_object(r, targets, forms[i][0])))
			return strcmp(node_dense_text(r, code_field(targets, "arguments")), forms[i][1]) ==
				       0 &&
			       does_nothing(r, code_field(code_field(targets, "function"), "object"));
	return false;
}

static uint32_t count_arguments(TSNode list)
{
	uint32_t n = 0;
	for (uint32_t i = 0; node_is_kind(list, "argument_list") && i < ts_node_named_child_count(list); i++)
		n += !node_is_kind(ts_node_named_child(list, i), "comment");
	return n;
}

static TSNode positional(TSNode list, uint32_t index)
{
	TSNode none = {0};
	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		TSNode child = ts_node_named_child(list, i);
		if (!node_is_kind(child, "comment") && index-- == 0)
			return node_is_kind(child, "keyword_argument") ? none : child;
	}
	return none;
}

/* F.cross_entropy(logits, targets), what is ignored, and that it is a mean. false: no loss of this kind, or
 * *ret_why. */
static bool read_arguments(struct rewrite *r, struct loss *l, TSNode *ret_logits, const char **ret_why)
{
	TSNode list = code_field(l->call, "arguments");
	uint32_t n = count_arguments(list);
	if (!py_is_torch_call(r, l->call, "cross_entropy") || n < 2)
		return false;
	TSNode logits = flattened_logits(r, positional(list, 0), &l->width), targets = positional(list, 1);
	if (ts_node_is_null(logits) || !is_flat(r, targets))
		return false;
	TSNode ignored = call_keyword(r, l->call, "ignore_index"),
	       how = call_keyword(r, l->call, "reduction");
	bool is_mean = node_text_is(r, how, "\"mean\"") || node_text_is(r, how, "'mean'");
	l->ignored = code_text(r, ignored);
	if (n != 2u + !ts_node_is_null(ignored) + is_mean || !does_nothing(r, ignored))
		*ret_why = "the loss is weighted, smoothed or reduced in another way";
	l->targets = code_text(r, targets);
	*ret_logits = without_float(r, logits);
	return !*ret_why;
}

/* ---- who makes the logits ---- */

struct making {
	const char *name;
	TSNode value;
};

static void find_value(struct rewrite *r, TSNode assignment, void *context)
{
	struct making *m = context;
	if (node_text_is(r, code_field(assignment, "left"), m->name))
		m->value = code_field(assignment, "right");
}

/* Of config.vocab_size; "" where the text is more than a name, a member or a number. */
static const char *last_part(const char *text)
{
	const char *dot = strrchr(text, '.');
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
			return "";
	return dot ? dot + 1 : text;
}

/* nn.Linear(width, config.vocab_size) gives logits of self.vocab_size words. */
static bool has_width(struct rewrite *r, TSNode head, const char *width)
{
	struct making m = {.name = code_text(r, head)};
	visit_kind(r, scope_class(head), "assignment", find_value, &m);
	TSNode words = call_keyword(r, m.value, "out_features");
	if (ts_node_is_null(words))
		words = positional(code_field(m.value, "arguments"), 1);
	const char *name = last_part(node_dense_text(r, words));
	return *name && strcmp(name, last_part(width)) == 0;
}

/* self.lm_head(x), of an nn.Linear of the class */
static bool read_head(struct rewrite *r, struct loss *l, TSNode call)
{
	TSNode list = code_field(call, "arguments");
	if (!node_is_kind(call, "call") || count_arguments(list) != 1)
		return false;
	l->head = code_field(call, "function");
	l->hidden = positional(list, 0);
	return py_is_module(r, l->head, "Linear") && !ts_node_is_null(l->hidden) &&
	       !strstr(ts_node_type(l->hidden), "splat") && (!l->width || has_width(r, l->head, l->width));
}

/* `loss = None`: nothing that the logits could depend on happens between them and their loss. */
static bool is_idle(TSNode statement)
{
	TSNode assignment = py_assignment_of(statement), right = code_field(assignment, "right");
	return node_is_kind(statement, "comment") ||
	       (node_is_kind(code_field(assignment, "left"), "identifier") &&
		       (node_is_kind(right, "none") || node_is_kind(right, "integer") ||
			       node_is_kind(right, "float")));
}

/* A null node: it stands in a decorator, a default or the bases of a class. */
static TSNode statement_of(TSNode node)
{
	while (!ts_node_is_null(node) && !strstr(ts_node_type(node), "statement"))
		node = ts_node_parent(node);
	return node;
}

/* Something on the way from the loss up that does nothing by itself. */
static bool is_passed(struct rewrite *r, TSNode up)
{
	static const char *const plain[] = {
		"block", "else_clause", "expression_statement", "return_statement"};
	const char *type = ts_node_type(up);
	if (node_is_kind(up, "if_statement"))
		return does_nothing(r, code_field(up, "condition")) && !count_kind(r, up, "elif_clause");
	if (node_is_kind(up, "conditional_expression"))
		return does_nothing(r, ts_node_named_child(up, 1));
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (node_is_kind(up, plain[i]))
			return true;
	return !node_is_kind(up, "lambda") && !strstr(type, "comprehension") && !strstr(type, "statement") &&
	       !strstr(type, "definition") && !strstr(type, "generator");
}

/* The first statement before the node that is not idle; a null node = there is none. */
static TSNode busy_before(TSNode node)
{
	TSNode before = ts_node_prev_named_sibling(node);
	while (!ts_node_is_null(before) && is_idle(before))
		before = ts_node_prev_named_sibling(before);
	return before;
}

/* From the loss up to the block of `made`: conditions without calls, and before the way up only idle
 * statements. */
static bool follows_at_once(struct rewrite *r, TSNode made, TSNode call)
{
	TSNode block = ts_node_parent(made), node = call, statement = statement_of(call);
	if (ts_node_is_null(statement) || !does_nothing_before(r, statement, call))
		return false;
	for (TSNode up = ts_node_parent(call); !ts_node_is_null(up) && is_passed(r, up);
		node = up, up = ts_node_parent(up)) {
		TSNode busy = {0};
		if (node_is_kind(up, "block"))
			busy = busy_before(node);
		if (ts_node_eq(up, block))
			return !ts_node_is_null(busy) && ts_node_eq(busy, made);
		if (!ts_node_is_null(busy))
			return false;
	}
	return false;
}

struct search {
	const char *name;
	TSNode found;
	size_t n;
};

static void find_making(struct rewrite *r, TSNode assignment, void *context)
{
	struct search *s = context;
	if (!node_text_is(r, code_field(assignment, "left"), s->name))
		return;
	s->n++;
	s->found = assignment;
}

/* By text: locals()["logits"]. */
static bool reads_names(struct rewrite *r, TSNode function)
{
	static const char *const words[] = {"locals", "vars", "eval", "exec"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (subtree_has_word(r, function, words[i]))
			return true;
	return false;
}

/* NULL: the logits come from a linear layer and go nowhere else. "": they are none of ours. */
static const char *read_logits(struct rewrite *r, struct loss *l, TSNode logits)
{
	if (read_head(r, l, logits))
		return NULL;
	if (!node_is_kind(logits, "identifier"))
		return "";
	TSNode function = scope_function(l->call), list = code_field(l->call, "arguments");
	struct search s = {.name = code_text(r, logits)};
	visit_kind(r, function, "assignment", find_making, &s);
	if (!s.n || !read_head(r, l, without_float(r, code_field(s.found, "right"))))
		return "";
	if (s.n > 1)
		return "the logits are made in several places";
	l->logits = s.name;
	l->made = ts_node_parent(s.found);
	if (!node_is_kind(l->made, "expression_statement"))
		return "the logits are made in the middle of something else";
	if (reads_names(r, function) || py_count_names(r, function, s.name) !=
						1 + py_count_names(r, ts_node_named_child(list, 0), s.name))
		return "the logits are used elsewhere too";
	return follows_at_once(r, l->made, l->call) ? NULL
						    : "something happens between the logits and their loss";
}

/* ---- what becomes of it ---- */

static const char *reason_around(struct rewrite *r, const struct loss *l)
{
	static const struct {
		const char *word, *why;
	} words[] = {
		{"FSDP", "the layer's weight may be sharded"},
		{"FullyShardedDataParallel", "the layer's weight may be sharded"},
		{"fully_shard", "the layer's weight may be sharded"},
		{"DTensor", "the layer's weight may be sharded"},
		{"parallelize_module", "the layer's weight may be sharded"},
		{"deepspeed", "the layer's weight may be sharded"},
		{"fsdp", "the layer's weight may be sharded"}, /* of Lightning */
		{"deepspeed_stage_1", "the layer's weight may be sharded"},
		{"deepspeed_stage_2", "the layer's weight may be sharded"},
		{"deepspeed_stage_3", "the layer's weight may be sharded"},
		{"CUDAGraph", "the program captures or transforms its functions"},
		{"make_graphed_callables", "the program captures or transforms its functions"},
		{"functional_call", "the program captures or transforms its functions"},
		{"jit", "the program captures or transforms its functions"},
		{"functorch", "the program captures or transforms its functions"},
		{"torch.func", "the program captures or transforms its functions"},
		{"register_forward_hook", "a hook may look at what the layer does"},
		{"register_forward_pre_hook", "a hook may look at what the layer does"},
		{"register_full_backward_hook", "a hook may look at what the layer does"},
		{"register_full_backward_pre_hook", "a hook may look at what the layer does"},
		{"register_module_forward_hook", "a hook may look at what the layer does"},
		{"register_backward_hook", "a hook may look at what the layer does"},
		{"register_module_forward_pre_hook", "a hook may look at what the layer does"},
		{"register_module_full_backward_hook", "a hook may look at what the layer does"},
		{"register_module_full_backward_pre_hook", "a hook may look at what the layer does"},
		{"opacus", "a hook may look at what the layer does"},
		{"setattr", "the layer may be replaced or changed by name"},
		{"add_module", "the layer may be replaced or changed by name"},
		{"register_module", "the layer may be replaced or changed by name"},
		{"set_submodule", "the layer may be replaced or changed by name"},
		{"_modules", "the layer may be replaced or changed by name"},
		{"spectral_norm", "the layer may be replaced or changed by name"},
		{"weight_norm", "the layer may be replaced or changed by name"},
		{"prepare_qat", "the layer may be replaced or changed by name"},
		{"quantize_", "the layer may be replaced or changed by name"},
		{"__class__", "the layer may be replaced or changed by name"},
		{"parametrize", "the layer may be replaced or changed by name"},
		{"peft", "the layer may be replaced or changed by name"},
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (py_program_has(r, words[i].word))
			return words[i].why;
	return py_is_touched_elsewhere(r, l->head) ? "the layer may be replaced, changed or given to others"
						   : NULL;
}

struct import {
	TSNode statement;
};

static void find_import(struct rewrite *r, TSNode statement, void *context)
{
	struct import *i = context;
	if (!ts_node_is_null(i->statement) || !node_is_kind(ts_node_parent(statement), "module") ||
		!node_indent(r, statement))
		return;
	for (uint32_t k = 0; k < ts_node_named_child_count(statement); k++)
		if (node_text_is(r, ts_node_named_child(statement, k), "torch"))
			i->statement = statement;
}

/* Where the class or function around a node begins, with the comments right above it. */
static size_t beginning_of(TSNode node)
{
	while (!node_is_kind(ts_node_parent(node), "module"))
		node = ts_node_parent(node);
	for (;;) {
		TSNode above = ts_node_prev_sibling(node);
		bool is_its_own = node_is_kind(above, "comment") && ts_node_start_point(above).column == 0 &&
				  ts_node_end_point(above).row + 1 == ts_node_start_point(node).row;
		if (!is_its_own)
			return ts_node_start_byte(node);
		node = above;
	}
}

static void write_function(struct rewrite *r, const struct loss *l, TSNode import)
{
	const char *module = node_dense_text(r, code_field(code_field(l->call, "function"), "object"));
	rewrite_insert(r, ts_node_end_byte(import), "\nimport torch.utils.checkpoint");
	rewrite_insert(r, beginning_of(l->call),
		arena_printf(r->arena,
			"def " FUNCTION "(head, hidden, targets, ignore_index=-100, rows=1024):\n"
			"    \"\"\"The mean cross-entropy of head(hidden), never with all of its logits in "
			"memory.\"\"\"\n"
			"    hidden = hidden.reshape(-1, hidden.size(-1))\n"
			"    assert hidden.size(0) == targets.size(0)\n"
			"\n"
			"    def of_part(hidden, targets):\n"
			"        logits = head(hidden)\n"
			"        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))\n"
			"        return %s.cross_entropy(logits, targets, ignore_index=ignore_index, "
			"reduction=\"sum\")\n"
			"\n"
			"    # The logits of a part are made again for its gradient.\n"
			"    losses = [torch.utils.checkpoint.checkpoint(of_part, h, t, "
			"use_reentrant=False)\n"
			"              for h, t in zip(hidden.split(rows), targets.split(rows))]\n"
			"    return torch.stack(losses).sum() / (targets.long() != ignore_index).sum()\n\n\n",
			module));
}

static const char *free_name(struct rewrite *r)
{
	static const char *const names[] = {"hidden", "head_input", "before_head"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!file_has_word(r, names[i]))
			return names[i];
	return NULL;
}

static void replace(struct rewrite *r, const struct loss *l, const char *name)
{
	const char *hidden = code_text(r, l->hidden);
	/* Inside the call's brackets it could go over several lines, or name a value. */
	if (strchr(hidden, '\n') || node_is_kind(l->hidden, "named_expression"))
		hidden = arena_printf(r->arena, "(%s)", hidden);
	if (l->logits)
		rewrite_replace(r, ts_node_start_byte(l->made), ts_node_end_byte(l->made),
			arena_printf(r->arena, "%s = %s", name, hidden));
	const char *ignored = *l->ignored ? arena_printf(r->arena, ", ignore_index=%s", l->ignored) : "";
	rewrite_replace(r, ts_node_start_byte(l->call), ts_node_end_byte(l->call),
		arena_printf(r->arena, FUNCTION "(%s, %s, %s%s)", code_text(r, l->head),
			l->logits ? name : hidden, l->targets, ignored));
	r->n_places++;
}

static void consider(struct rewrite *r, TSNode call, void *context)
{
	struct loss l = {.call = call};
	struct import torch = {0};
	const char *why = NULL;
	TSNode logits = {0};
	(void)context;
	if (r->n_places || (!read_arguments(r, &l, &logits, &why) && !why))
		return;
	if (!why)
		why = read_logits(r, &l, logits);
	if (why && !*why)
		return;
	visit_kind(r, r->root, "import_statement", find_import, &torch);
	const char *name = free_name(r);
	if (!why &&
		(ts_node_is_null(torch.statement) || ts_node_end_byte(torch.statement) > beginning_of(call)))
		why = "the file does not import torch by that name";
	if (!why && (!name || file_has_word(r, FUNCTION)))
		why = "the names that it needs are taken";
	why = why ? why : reason_around(r, &l);
	if (why) {
		rewrite_refuse(r, call, why);
		return;
	}
	write_function(r, &l, torch.statement);
	replace(r, &l, name);
}

static void run(struct rewrite *r)
{
	if (file_has_word(r, "cross_entropy"))
		visit_kind(r, r->root, "call", consider, NULL);
}

const struct codemod codemod_py_chunked_loss = {
	{"chunked-loss", "the loss in parts, whose logits are made again for their gradient",
		"cross_entropy_kernel", "forward,backward",
		"F.cross_entropy of all tokens' logits, made by an nn.Linear of the class just before and "
		"used "
		"nowhere else; not with sharded weights; a model in bf16 gets its loss in float32; needs "
		"torch 2",
		LANGUAGE_PYTHON},
	run};
