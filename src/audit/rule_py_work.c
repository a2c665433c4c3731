/* A4 for Python: less work: early exits, smaller sizes and arguments, masks dropped. Loops and slices have
 * files of their own. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- exits ---- */

static bool cuts_off(const struct fact *f)
{
	TSNode next = node_next(f->node);
	while (node_is(next, "comment"))
		next = node_next(next);
	return !ts_node_is_null(next);
}

static bool trades_within(const struct change *change, const struct source *s, TSNode node)
{
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++)
		if (node_contains(node, s->facts[i].node) &&
			(py_is_work(&s->facts[i]) || py_is_update(&s->facts[i]) || py_is_load(&s->facts[i])))
			return true;
	return false;
}

/* The loop that a break or continue belongs to, or the function, does work. */
static bool skips_work(const struct change *change, const struct fact *f)
{
	if (f->name[0] == 'r')
		return py_is_forward(f->function) || py_is_update_function(f->function) ||
		       word_in(py_short(f->function), WORDS_WORK) ||
		       word_in(py_short(f->function), WORDS_LOADER);
	for (const struct guard *g = f->guards; g; g = g->up)
		if (g->kind == GUARD_LOOP)
			return trades_within(change, f->source, g->node);
	return false;
}

static const struct guard *exit_condition(const struct fact *f)
{
	const struct guard *g = f->guards;
	while (g && (g->kind == GUARD_WITH || g->kind == GUARD_TRY))
		g = g->up;
	return g && g->kind != GUARD_LOOP ? g : NULL;
}

static bool is_new_exit(const struct change *change, const struct fact *f)
{
	return py_is_new(f, FACT_EXIT) && strcmp(f->name, "raise") != 0 &&
	       py_existed_function(change, f->function) && !py_is_evaluation(f->function);
}

static void check_conditional_exit(struct change *change, const struct fact *f, const struct guard *g)
{
	enum py_weight weight = py_weigh(change, f, g);
	bool arbitrary = py_is_arbitrary(g->text);
	/* `if fused: return fused_loss(x)` */
	bool works = trades_within(change, f->source, ts_node_is_null(g->inside) ? f->node : g->inside);
	if (weight == PY_HARMLESS || (works && !arbitrary))
		return;
	bool may_be_honest = py_is_exit(f, "return") && !arbitrary && !text_has_real(g->text);
	report(change, weight == PY_DECISIVE && !may_be_honest ? AUDIT_BLOCK : AUDIT_REVIEW, f,
		"a new early exit skips work");
}

static void check_new_exits(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_new_exit(change, f))
			continue;
		const struct guard *g = exit_condition(f);
		if (cuts_off(f))
			report(change, AUDIT_BLOCK, f, "what follows this exit no longer runs");
		else if (g && g->kind != GUARD_AFTER_EXIT && skips_work(change, f))
			check_conditional_exit(change, f, g);
	}
}

/* ---- sizes ---- */

/* Micro-batch times two and accumulation halved: the product stays. Rows for length, or length for rows, is
 * other work. */
static bool is_made_up_for(const struct change *change, const struct fact *f)
{
	static const char *const batches[] = {"batch", "accum", "micro", "bsz"};
	double ratio = py_number(f->value) / py_number(f->twin->value);
	for (size_t i = 0; i < change->n_new && !isnan(ratio); i++) {
		const struct fact *g = change->new[i];
		if (g == f || g->kind != FACT_ASSIGN || g->same || !g->twin || !py_is_size_name(g->name) ||
			!HAS(g->name, batches) || !HAS(f->name, batches))
			continue;
		double other = py_number(g->value) / py_number(g->twin->value);
		if (fabs(other * ratio - 1) < 1e-9)
			return true;
	}
	return false;
}

static void check_changed_size(struct change *change, const struct fact *f)
{
	const char *was = f->twin->value;
	double x = py_number(f->value), y = py_number(was);
	if (py_is_less(change, f, f->value, was))
		report(change, is_made_up_for(change, f) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"a size of the workload was made smaller");
	else if (isnan(x) && text_has_new_number(f->value, was) && isnan(y))
		report(change, AUDIT_BLOCK, f, "a size of the workload is computed with a new constant");
	else if (!isnan(x) && !isnan(y) && x != y)
		report(change, AUDIT_REVIEW, f, "a size of the workload was changed");
	else if (!isnan(y) && isnan(x))
		report(change, AUDIT_REVIEW, f, "a size of the workload is no longer a constant");
}

/* T = T // 2, T //= 2, and a limit given to a call that had none. */
static void check_added_limit(struct change *change, const struct fact *f)
{
	bool parameter = (f->flags & DECLARE_PARAMETER) != 0;
	if (!parameter && py_is_literal(f->value) && strcmp(f->value, "None") != 0 && f->step[0] &&
		existed(change, FACT_CALL, f->step))
		report(change, AUDIT_BLOCK, f, "a limit is set where there was none");
}

static void check_added_size(struct change *change, const struct fact *f)
{
	static const char *const cutting[] = {"/=", "//=", ">>=", "-="};
	if (py_is_option(f)) {
		check_added_limit(change, f);
		return;
	}
	bool itself = text_contains(f->value, f->init) && py_is_less(change, f, f->value, f->init);
	if (!existed(change, FACT_NAME, f->name))
		return;
	if (itself || IN(f->op, cutting))
		report(change, AUDIT_BLOCK, f, "a size of the workload is cut");
	else if (py_sets(f) && py_number(f->value) > 0 && py_existed_function(change, f->function))
		report(change, AUDIT_BLOCK, f, "a size of the workload is given a constant");
}

static void check_sizes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || f->same || !py_is_size_name(f->name))
			continue;
		if (f->twin && (same_function(f, f->twin) || f->flags & DECLARE_STATIC))
			check_changed_size(change, f);
		else if (!f->twin)
			check_added_size(change, f);
	}
}

/* ---- arguments ---- */

static bool takes_sizes(const struct fact *f)
{
	static const char *const names[] = {"topk", "top_k", "narrow", "range", "arange", "islice",
		"random_split", "Subset", "view_batch"};
	static const char *const others[] = {"Event", "Stream", "Queue", "Pool", "Executor", "Thread",
		"Timer", "Config", "Logger", "Lock", "ArgumentParser", "Tensor"};
	if (IN(f->name, names))
		return true;
	if (py_is_constructor(f->name))
		return !HAS(f->name, others);
	return py_is_work(f) || py_is_load(f);
}

static void check_arguments_of(struct change *change, const struct fact *f)
{
	const char *a = f->twin->value + (f->twin->value[0] == '('), *b = f->value + (f->value[0] == '(');
	char was[PY_ARGUMENT_CAP], now[PY_ARGUMENT_CAP];
	while (py_next_argument(&a, was) && py_next_argument(&b, now)) {
		double x = py_number(was), y = py_number(now);
		if (strcmp(was, now) == 0 || text_has_token(was, "=") || text_has_token(now, "="))
			continue;
		bool other = !isnan(x) && !isnan(y) && x != y;
		other |= py_is_literal(now) && !py_is_literal(was) && isnan(y);
		if (other || py_is_less(change, f, now, was))
			report(change, AUDIT_BLOCK, f, "a call is given a smaller size or another constant");
	}
}

static void check_call_sizes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && !f->same && takes_sizes(f) && f->value[0] == '(' &&
			!py_is_evaluation(f->function))
			check_arguments_of(change, f);
	}
}

/* ---- meaning of calls ---- */

/* is_causal=True became False; attn_mask=mask became None; nn.Dropout(p=0). */
static bool is_telling_keyword(const struct fact *f)
{
	static const char *const telling[] = {"is_causal", "causal", "ignore_index", "attn_mask",
		"attention_mask", "mask", "training", "dropout_p", "diagonal", "window_size", "padding_idx",
		"forward_only"};
	if (!py_is_option(f) || f->same || !py_is_literal(f->value))
		return false;
	return IN(f->name, telling) || (strcmp(f->name, "p") == 0 && strcasestr(f->step, "drop"));
}

static void check_keywords(struct change *change)
{
	static const char reason[] = "what is computed was changed by an argument";
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_telling_keyword(f))
			continue;
		bool default_value = strcmp(f->value, "None") == 0 || strcmp(f->value, "- 100") == 0;
		if (py_was_here(f))
			report(change, AUDIT_BLOCK, f, reason);
		else if (!f->twin && !default_value && existed(change, FACT_CALL, f->step))
			report(change, strcmp(f->value, "True") == 0 ? AUDIT_REVIEW : AUDIT_BLOCK, f, reason);
	}
}

/* A mask that a function used, where nothing masks any more. */
static void check_masks(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_NAME || f->twin ||
			!(strcasestr(f->name, "mask") || strcasestr(f->name, "causal")) ||
			!py_function_remains(change, f->function))
			continue;
		bool masks = false;
		for (size_t k = 0; k < change->n_new && !masks; k++) {
			const struct fact *g = change->new[k];
			masks = g->kind == FACT_NAME && same_function(f, g) &&
				(strcasestr(g->name, "mask") || strcasestr(g->name, "causal"));
		}
		if (!masks && spend(change, change->n_new) &&
			py_count_uses(change, true, f->name, NULL) <
				py_count_uses(change, false, f->name, NULL))
			report(change, AUDIT_BLOCK, f, "a mask is no longer used");
	}
}

/* nn.Identity() where something else stood. */
static void check_identities(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin || strcmp(f->name, "Identity") != 0)
			continue;
		bool lost = false;
		for (size_t k = 0; k < change->n_old; k++)
			lost |= change->old[k]->kind == FACT_CALL && !change->old[k]->twin &&
				py_is_constructor(change->old[k]->name);
		report(change, lost ? AUDIT_BLOCK : AUDIT_REVIEW, f, "a layer was replaced by nothing");
	}
}

void rule_py_work(struct change *change)
{
	py_check_placement(change, py_is_work, "forward, backward or loss work");
	check_new_exits(change);
	check_sizes(change);
	check_call_sizes(change);
	check_keywords(change);
	check_masks(change);
	check_identities(change);
	py_check_expressions(change);
	py_check_loops(change);
	py_check_slices(change);
	py_check_steps(change);
}
