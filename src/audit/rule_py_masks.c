/* A4 for Python: which positions, tokens and targets count: windows cut into masks, tokens picked by rank,
 * targets set to be ignored. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- windows ---- */

/* i[:, None] - j[None, :], q_idx - kv_idx: how far apart two positions are */
static bool is_distance(const struct change *change, const struct fact *at, const char *text)
{
	static const char *const positions[] = {"pos", "idx", "index", "row", "col", "arange", "query", "key",
		"None", "i", "j", "q", "k", "t", "s"};
	bool resolved;
	const char *value = text;
	while (strncmp(value, "( ", 2) == 0)
		value += 2;
	if (!strchr(value, ' '))
		value = py_resolve(change, at, value, &resolved);
	if (!text_has_token(value, "-") || text_has_real(value))
		return false;
	struct token t;
	for (const char *rest = value; next_token(&rest, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (strlen(name) > 2 ? HAS(name, positions) && !IN(name, ((const char *const[]){"mask"}))
				     : IN(name, positions))
			return true;
	}
	return false;
}

static bool is_comparison(const struct fact *f)
{
	static const char *const ops[] = {"<", "<=", ">", ">="};
	return f->kind == FACT_BINARY && IN(f->op, ops);
}

/* In the function of a mask or of a layer. */
static bool is_about_attention(const struct fact *f)
{
	static const char *const parts[] = {"mask", "attn", "attention", "causal", "score", "local"};
	return py_is_forward(f->function) || HAS(f->function, parts);
}

static void check_comparisons(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_comparison(f) || f->same || py_is_evaluation(f->function) || !is_about_attention(f) ||
			!spend(change, 2 * f->source->n_facts))
			continue;
		bool left = is_distance(change, f, f->init), right = is_distance(change, f, f->value);
		const char *limit = left ? f->value : f->init;
		if (left != right && py_number(limit) != 0)
			report(change, AUDIT_BLOCK, f, "positions beyond a window no longer count");
	}
}

/* The diagonal of tril(x, d) or x.tril(diagonal=d): "" for the main one. */
static void read_diagonal(const struct fact *call, char text[PY_ARGUMENT_CAP])
{
	static const char *const modules[] = {"torch", "np", "jnp", "numpy"};
	char argument[PY_ARGUMENT_CAP];
	const char *at = call->value + (call->value[0] == '(');
	size_t place = IN(call->init, modules) ? 1 : 0;
	text[0] = '\0';
	for (size_t i = 0; py_next_argument(&at, argument); i++) {
		if (strncmp(argument, "diagonal = ", 11) == 0)
			memmove(text, argument + 11, strlen(argument + 11) + 1);
		else if (i == place && !strchr(argument, '='))
			memmove(text, argument, strlen(argument) + 1);
	}
}

/* triu(ones, -256) leaves a band, tril(ones, 1) sees ahead. */
static void check_triangles(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool lower = strncmp(f->name, "tril", 4) == 0, upper = strncmp(f->name, "triu", 4) == 0;
		char diagonal[PY_ARGUMENT_CAP];
		bool resolved;
		if (f->kind != FACT_CALL || f->same || !(lower || upper) || strstr(f->name, "indices"))
			continue;
		read_diagonal(f, diagonal);
		const char *value = py_resolve(change, f, diagonal, &resolved);
		if (upper && (value[0] == '-' || strncmp(value, "1 -", 3) == 0))
			report(change, AUDIT_BLOCK, f, "positions beyond a window no longer count");
		else if (lower && py_number(value) > 0)
			report(change, AUDIT_BLOCK, f, "a mask lets positions through that lie ahead");
	}
}

static bool is_mask_name(const char *name)
{
	static const char *const parts[] = {"mask", "visible", "allowed", "causal", "attend"};
	return HAS(name, parts);
}

/* mask &= other, mask = mask & other: fewer positions than before */
static void check_narrowed(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool narrows = strcmp(f->op, "&=") == 0 || (py_sets(f) && text_has_token(f->value, "&") &&
								   text_contains(f->value, f->init));
		if (f->kind == FACT_ASSIGN && !f->twin && narrows && is_mask_name(f->name) &&
			existed(change, FACT_NAME, f->name) && !py_is_evaluation(f->function))
			report(change, text_has_new_number(f->value, "") ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a mask lets fewer positions through");
	}
}

/* ---- fused attention ---- */

/* What stood in the place of the fused call: masked_fill(), softmax(), dropout(). */
static bool is_of_attention(const struct fact *gone)
{
	static const char *const parts[] = {"masked_fill", "softmax", "drop"};
	return HAS(gone->kind == FACT_CALL ? gone->name : gone->value, parts);
}

bool py_is_fused_attention(const struct change *change, const struct fact *gone)
{
	static const char *const fused[] = {
		"scaled_dot_product_attention", "flash_attn_func", "flash_attn_qkvpacked_func"};
	if (!is_of_attention(gone) || !spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_new(f, FACT_CALL) || !IN(f->name, fused) || !same_function(f, gone))
			continue;
		bool causal = strstr(f->value, "causal = True") != NULL;
		bool drops = strstr(f->value, "dropout_p = ") && !strstr(f->value, "dropout_p = 0");
		bool lost = py_find(change, false, FACT_CALL, "attn_dropout", gone->function) ||
			    py_find(change, false, FACT_CALL, "dropout", gone->function);
		return causal && (drops || !lost) && !strstr(f->value, "window");
	}
	return false;
}

/* ---- tokens picked by rank ---- */

/* x.norm(dim=-1).topk(n // 2) */
static void check_ranks(struct change *change)
{
	static const char *const names[] = {"topk", "kthvalue", "multinomial"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char count[PY_ARGUMENT_CAP];
		const char *at = f->value + (f->value[0] == '(');
		bool resolved;
		if (!py_is_new(f, FACT_CALL) || !IN(f->name, names) || py_is_evaluation(f->function))
			continue;
		bool function = strcmp(f->init, "torch") == 0;
		if (!py_next_argument(&at, count) || (function && !py_next_argument(&at, count)))
			continue;
		const char *value = strncmp(count, "k = ", 4) == 0 ? count + 4 : count;
		value = py_resolve(change, f, value, &resolved);
		if (py_has_cut(value) || text_has_real(value))
			report(change, AUDIT_BLOCK, f, "only some of the tokens are picked");
	}
}

/* ---- targets ---- */

static bool is_constant(const struct change *change, const struct fact *f)
{
	bool resolved;
	const char *value = py_resolve(change, f, f->value, &resolved);
	size_t upper = 0;
	while (isupper((unsigned char)f->value[upper]) || f->value[upper] == '_' ||
		isdigit((unsigned char)f->value[upper]))
		upper++;
	return py_is_literal(value) || (upper > 1 && !f->value[upper]);
}

static bool stood_here(const struct change *change, const struct fact *f)
{
	if (!spend(change, change->n_old))
		return true;
	bool new_function = !py_existed_function(change, f->function);
	for (size_t i = 0; i < change->n_old; i++)
		if (change->old[i]->kind == FACT_ASSIGN && strcmp(change->old[i]->init, f->init) == 0 &&
			(!change->old[i]->same || new_function))
			return true;
	return false;
}

/* labels[:, ::2] = -100; targets[targets < 64] = IGNORE; loss_mask[...] = 0 */
static void check_ignored(struct change *change)
{
	static const char *const names[] = {
		"labels", "label", "targets", "target", "y", "loss_mask", "weights", "mask", "loss_weights"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool sets = f->kind == FACT_ASSIGN && !f->twin && strchr(f->init, '[') &&
			    IN(f->name, names) && is_constant(change, f) &&
			    existed(change, FACT_NAME, f->name) && !stood_here(change, f);
		bool fills = f->kind == FACT_CALL && !f->twin && strncmp(f->name, "masked_fill", 11) == 0 &&
			     (strstr(f->value, "- 100") || strcasestr(f->value, "ignore"));
		if (sets || fills)
			report(change, AUDIT_BLOCK, f, "some targets no longer count");
	}
}

void py_check_masks(struct change *change)
{
	check_comparisons(change);
	check_triangles(change);
	check_narrowed(change);
	check_ranks(change);
	check_ignored(change);
}
