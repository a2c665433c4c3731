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

/* A name, a member or a number. */
static bool is_plain_size(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
			return false;
	return *text != '\0';
}

/* view(-1, width), reshape(-1, width), flatten(0, 1): one row a token. A null node = it is something else. */
static TSNode flattened_logits(struct rewrite *r, TSNode node)
{
	static const char *const methods[] = {"view", "reshape", "flatten"};
	TSNode none = {0};
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		TSNode object = py_method_object(r, node, methods[i]);
		const char *list = node_dense_text(r, code_field(node, "arguments"));
		if (ts_node_is_null(object))
			continue;
		if (i == 2)
			return strcmp(list, "(0,1)") == 0 || strcmp(list, "(0,-2)") == 0 ? object : none;
		const char *name = node_dense_text(r, without_float(r, object));
		if (strcmp(list, arena_printf(r->arena, "(-1,%s.size(-1))", name)) == 0 ||
			strcmp(list, arena_printf(r->arena, "(-1,%s.shape[-1])", name)) == 0)
			return object;
		TSNode width = py_argument(node, 1, 2);
		return strncmp(list, "(-1,", 4) == 0 && !ts_node_is_null(width) &&
				       is_plain_size(node_dense_text(r, width))
			       ? object
			       : none;
	}
	return none;
}

static bool is_flat(struct rewrite *r, TSNode targets)
{
	static const char *const forms[][2] = {{"view", "(-1)"}, {"reshape", "(-1)"}, {"flatten", "()"}};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (!ts_node_is_null(py_method_object(r, targets, forms[i][0])))
			return strcmp(node_dense_text(r, code_field(targets, "arguments")), forms[i][1]) == 0;
	return false;
}

static bool is_whole_number(const char *text)
{
	text += *text == '-';
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* F.cross_entropy(logits, targets) and ignore_index=-1 at most. false: no loss of this kind, or *ret_why. */
static bool read_arguments(struct rewrite *r, struct loss *l, TSNode *ret_logits, const char **ret_why)
{
	TSNode list = code_field(l->call, "arguments");
	uint32_t n = node_is_kind(list, "argument_list") ? ts_node_named_child_count(list) : 0;
	if (!py_is_torch_call(r, l->call, "cross_entropy") || n < 2)
		return false;
	TSNode logits = flattened_logits(r, ts_node_named_child(list, 0)),
	       targets = ts_node_named_child(list, 1);
	if (ts_node_is_null(logits) || !is_flat(r, targets))
		return false;
	TSNode ignored = call_keyword(r, l->call, "ignore_index");
	l->ignored = ts_node_is_null(ignored) ? "" : node_dense_text(r, ignored);
	if (n != 2 + (*l->ignored != '\0') || (*l->ignored && !is_whole_number(l->ignored)))
		*ret_why = "the loss is weighted, smoothed or reduced in another way";
	l->targets = code_text(r, targets);
	*ret_logits = without_float(r, logits);
	return !*ret_why;
}

/* ---- who makes the logits ---- */

/* self.lm_head(x), of an nn.Linear of the class */
static bool read_head(struct rewrite *r, struct loss *l, TSNode call)
{
	if (!node_is_kind(call, "call"))
		return false;
	l->head = code_field(call, "function");
	l->hidden = py_argument(call, 0, 1);
	return py_is_module(r, l->head, "Linear") && !ts_node_is_null(l->hidden) &&
	       !node_is_kind(l->hidden, "list_splat");
}

struct counting {
	const char *name;
	size_t n;
};

static void count_name(struct rewrite *r, TSNode node, void *context)
{
	struct counting *c = context;
	c->n += node_text_is(r, node, c->name);
}

static size_t uses(struct rewrite *r, TSNode top, const char *name)
{
	struct counting c = {.name = name};
	visit_kind(r, top, "identifier", count_name, &c);
	return c.n;
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

static bool is_simple_condition(TSNode branch)
{
	TSNode condition = code_field(branch, "condition");
	return node_is_kind(condition, "comparison_operator") || node_is_kind(condition, "identifier") ||
	       node_is_kind(condition, "attribute") || node_is_kind(condition, "not_operator");
}

/* From the loss up to the block of `made`: conditions without calls, and before the way up only idle
 * statements. */
static bool follows_at_once(struct rewrite *r, TSNode made, TSNode call)
{
	TSNode block = ts_node_parent(made), node = call;
	for (TSNode up = ts_node_parent(call); !ts_node_is_null(up); node = up, up = ts_node_parent(up)) {
		bool is_block = node_is_kind(up, "block"), is_there = ts_node_eq(up, block);
		for (TSNode before = ts_node_prev_named_sibling(node); is_block && !ts_node_is_null(before);
			before = ts_node_prev_named_sibling(before)) {
			if (is_there && ts_node_eq(before, made))
				return true;
			if (!is_idle(before))
				return false;
		}
		bool is_branch = node_is_kind(up, "if_statement");
		if (is_there || strstr(ts_node_type(up), "comprehension") || node_is_kind(up, "lambda") ||
			(is_branch && (!is_simple_condition(up) || count_kind(r, up, "elif_clause"))))
			return false;
		if (!is_block && !is_branch && !node_is_kind(up, "else_clause") &&
			(strstr(ts_node_type(up), "statement") || strstr(ts_node_type(up), "definition")) &&
			!node_is_kind(up, "expression_statement") && !node_is_kind(up, "return_statement"))
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
	if (s.n != 1 || !read_head(r, l, without_float(r, code_field(s.found, "right"))))
		return "";
	l->logits = s.name;
	l->made = ts_node_parent(s.found);
	if (!node_is_kind(l->made, "expression_statement"))
		return "the logits are made in the middle of something else";
	if (uses(r, function, s.name) != 1 + uses(r, ts_node_named_child(list, 0), s.name))
		return "the logits are used elsewhere too";
	return follows_at_once(r, l->made, l->call) ? NULL
						    : "something happens between the logits and their loss";
}

/* ---- what becomes of it ---- */

static const char *reason_around(struct rewrite *r)
{
	static const char *const sharded[] = {"FSDP", "FullyShardedDataParallel", "fully_shard", "DTensor",
		"parallelize_module", "deepspeed"};
	static const char *const captured[] = {
		"CUDAGraph", "make_graphed_callables", "functional_call", "jit"};
	for (size_t i = 0; i < ARRAY_LEN(sharded); i++)
		if (py_program_has(r, sharded[i]))
			return "the layer's weight may be sharded";
	for (size_t i = 0; i < ARRAY_LEN(captured); i++)
		if (py_program_has(r, captured[i]))
			return "the program captures or transforms its functions";
	return NULL;
}

struct import {
	TSNode statement;
};

static void find_import(struct rewrite *r, TSNode statement, void *context)
{
	struct import *i = context;
	if (ts_node_is_null(i->statement) && node_is_kind(ts_node_parent(statement), "module") &&
		node_text_is(r, ts_node_named_child(statement, 0), "torch") && node_indent(r, statement))
		i->statement = statement;
}

/* Where the class or function around a node begins, with the comments right above it. */
static size_t beginning_of(TSNode node)
{
	while (!node_is_kind(ts_node_parent(node), "module"))
		node = ts_node_parent(node);
	for (;;) {
		TSNode above = ts_node_prev_sibling(node);
		bool is_its_own = node_is_kind(above, "comment") &&
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
			"    losses = [torch.utils.checkpoint.checkpoint(of_part, h, t, use_reentrant=False, "
			"preserve_rng_state=False)\n"
			"              for h, t in zip(hidden.split(rows), targets.split(rows))]\n"
			"    return torch.stack(losses).sum() / (targets != ignore_index).sum()\n\n\n",
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
	why = why ? why : reason_around(r);
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
		"nowhere else; not with sharded weights; more exact than the loss in bf16; needs torch 2",
		LANGUAGE_PYTHON},
	run};
