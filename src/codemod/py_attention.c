/*
 * Attention written out by hand, of the form that many training scripts share:
 *
 *     att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
 *     att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
 *     att = F.softmax(att, dim=-1)
 *     att = self.attn_dropout(att)          # optional
 *     y = att @ v
 *
 * becomes one call of scaled_dot_product_attention. Anything else between these lines, another scale or
 * another use of `att` is refused.
 */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

#define NAME "%63[a-zA-Z0-9_]"

struct steps {
	TSNode product, masked, softmax, dropout, output; /* assignments; dropout may be null */
	const char *scores, *q, *k, *v;
};

static TSNode assignment_of(TSNode statement)
{
	TSNode none = {0};
	if (!node_is_kind(statement, "expression_statement"))
		return none;
	TSNode child = ts_node_named_child(statement, 0);
	return node_is_kind(child, "assignment") ? child : none;
}

static TSNode next_statement(TSNode statement)
{
	TSNode next = ts_node_next_named_sibling(statement);
	while (node_is_kind(next, "comment"))
		next = ts_node_next_named_sibling(next);
	return next;
}

/* q @ k.transpose(-2,-1), times 1 / sqrt of the head's width: the scale that the function has by itself. */
static bool read_product(struct rewrite *r, TSNode assignment, struct steps *s)
{
	char q[64], k[64], width[64];
	static const char *const forms[] = {
		("(" NAME "@" NAME ".transpose(-2,-1))*(1.0/math.sqrt(" NAME ".size(-1)))%n"),
		(NAME "@" NAME ".transpose(-2,-1)/math.sqrt(" NAME ".size(-1))%n"),
		("(" NAME "@" NAME ".transpose(-2,-1))/math.sqrt(" NAME ".size(-1))%n"),
		("(" NAME "@" NAME ".transpose(-2,-1))*" NAME ".size(-1)**-0.5%n"),
	};
	const char *text = node_dense_text(r, code_field(assignment, "right"));
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		int end = -1;
		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the forms above */
		if (sscanf(text, forms[i], q, k, width, &end) != 3 || end != (int)strlen(text))
			continue;
		if (strcmp(width, k) != 0 && strcmp(width, q) != 0)
			continue;
		s->q = arena_strdup(r->arena, q);
		s->k = arena_strdup(r->arena, k);
		s->scores = code_text(r, code_field(assignment, "left"));
		return true;
	}
	return false;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The mask's name is that of a lower triangle of ones: a buffer of this class of module, or a variable. */
static bool is_triangle(struct rewrite *r, const char *name)
{
	static const char *const forms[] = {"register_buffer(\"%s\",torch.tril(torch.ones(",
		"register_buffer('%s',torch.tril(torch.ones(", "%s=torch.tril(torch.ones("};
	const char *file = node_dense_text(r, r->root);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const char *word = strstr(forms[i], "%s");
		const char *text =
			arena_printf(r->arena, "%.*s%s%s", (int)(word - forms[i]), forms[i], name, word + 2);
		if (strstr(file, text))
			return true;
	}
	return false;
}

/* masked_fill(<triangle>[...] == 0, float('-inf')) */
static bool is_causal_mask(struct rewrite *r, TSNode assignment, const struct steps *s)
{
	const char *text = node_dense_text(r, code_field(assignment, "right"));
	const char *call = arena_printf(r->arena, "%s.masked_fill(", s->scores);
	if (!has_prefix(text, call) || !node_text_is(r, code_field(assignment, "left"), s->scores))
		return false;
	const char *mask = text + strlen(call), *end = strstr(mask, "==0,float(");
	if (!end || (strcmp(end, "==0,float('-inf'))") != 0 && strcmp(end, "==0,float(\"-inf\"))") != 0))
		return false;
	const char *name = has_prefix(mask, "self.") ? mask + strlen("self.") : mask;
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	bool is_whole = name + length == end || name[length] == '[';
	return length && is_whole && is_triangle(r, arena_strndup(r->arena, name, length));
}

static bool is_softmax(struct rewrite *r, TSNode assignment, const struct steps *s)
{
	const char *text = node_dense_text(r, code_field(assignment, "right"));
	return node_text_is(r, code_field(assignment, "left"), s->scores) &&
	       (strcmp(text, arena_printf(r->arena, "F.softmax(%s,dim=-1)", s->scores)) == 0 ||
		       strcmp(text, arena_printf(r->arena, "torch.softmax(%s,dim=-1)", s->scores)) == 0);
}

static bool is_dropout(struct rewrite *r, TSNode assignment, const struct steps *s)
{
	TSNode right = code_field(assignment, "right");
	return node_text_is(r, code_field(assignment, "left"), s->scores) && node_is_kind(right, "call") &&
	       strstr(call_name(r, right), "dropout") &&
	       strcmp(node_dense_text(r, code_field(right, "arguments")),
		       arena_printf(r->arena, "(%s)", s->scores)) == 0;
}

static bool read_output(struct rewrite *r, TSNode assignment, struct steps *s)
{
	const char *text = node_dense_text(r, code_field(assignment, "right"));
	const char *begin = arena_printf(r->arena, "%s@", s->scores);
	const char *v = text + strlen(begin);
	if (!has_prefix(text, begin) || !*v ||
		strspn(v, "abcdefghijklmnopqrstuvwxyz"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(v))
		return false;
	s->v = v;
	return true;
}

static bool read_steps(struct rewrite *r, TSNode product, struct steps *s, const char **ret_why)
{
	TSNode statement = ts_node_parent(product);
	s->product = product;
	s->masked = assignment_of(statement = next_statement(statement));
	*ret_why = "the mask is not the causal one of torch.tril";
	if (ts_node_is_null(s->masked) || !is_causal_mask(r, s->masked, s))
		return false;
	s->softmax = assignment_of(statement = next_statement(statement));
	*ret_why = "between mask and product something else happens to the scores";
	if (ts_node_is_null(s->softmax) || !is_softmax(r, s->softmax, s))
		return false;
	s->output = assignment_of(statement = next_statement(statement));
	if (!ts_node_is_null(s->output) && is_dropout(r, s->output, s)) {
		s->dropout = s->output;
		s->output = assignment_of(next_statement(statement));
	}
	return !ts_node_is_null(s->output) && read_output(r, s->output, s);
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

/* The scores' uses in the function are those of the five lines. */
static bool has_other_uses(struct rewrite *r, const struct steps *s)
{
	struct counting c = {.name = s->scores};
	TSNode function = s->product;
	while (!ts_node_is_null(function) && !node_is_kind(function, "function_definition"))
		function = ts_node_parent(function);
	visit_kind(r, function, "identifier", count_name, &c);
	return c.n != (ts_node_is_null(s->dropout) ? 6u : 8u);
}

static void replace(struct rewrite *r, const struct steps *s)
{
	const char *dropout = "";
	if (!ts_node_is_null(s->dropout)) {
		const char *module = code_text(r, code_field(code_field(s->dropout, "right"), "function"));
		dropout = arena_printf(r->arena, ", dropout_p=%s.p if %s.training else 0.0", module, module);
	}
	rewrite_replace(r, ts_node_start_byte(s->product), ts_node_end_byte(s->output),
		arena_printf(r->arena,
			"%s = torch.nn.functional.scaled_dot_product_attention(%s, %s, %s, is_causal=True%s)",
			code_text(r, code_field(s->output, "left")), s->q, s->k, s->v, dropout));
	r->n_places++;
}

static void find_product(struct rewrite *r, TSNode assignment, void *context)
{
	struct steps s = {0};
	const char *why;
	(void)context;
	if (!read_product(r, assignment, &s))
		return;
	if (!read_steps(r, assignment, &s, &why))
		rewrite_refuse(r, assignment, why);
	else if (has_other_uses(r, &s))
		rewrite_refuse(r, assignment, "the scores are used elsewhere too");
	else if (!file_has_word(r, "torch"))
		rewrite_refuse(r, assignment, "the file does not import torch");
	else
		replace(r, &s);
}

static void run(struct rewrite *r)
{
	visit_kind(r, r->root, "assignment", find_product, NULL);
}

const struct codemod codemod_py_attention = {
	{"sdpa", "attention by scaled_dot_product_attention", "attention_backend", "forward,backward",
		"scores, causal mask, softmax, optional dropout and product in consecutive lines, with the "
		"usual scale",
		LANGUAGE_PYTHON},
	run};
