/* A3 for Python, the part about gradients: contexts without them, detached values, frozen parameters, modes.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

static const char *const without[] = {"no_grad", "inference_mode"};

/* ---- no gradients ---- */

static bool turns_off(const char *text)
{
	return py_text_has_any(text, without, ARRAY_LEN(without)) ||
	       (strstr(text, "set_grad_enabled (") && !text_contains(text, "set_grad_enabled ( True )")) ||
	       text_contains(text, "enable_grad ( False )");
}

static const struct guard *context_without(const struct guard *chain)
{
	for (; chain; chain = chain->up)
		if (chain->kind == GUARD_WITH && turns_off(chain->text))
			return chain;
	return NULL;
}

static bool is_within_quiet(const struct fact *use)
{
	const struct source *s = use->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && f->node.id != use->node.id && node_contains(f->node, use->node) &&
			(py_is_quiet(f) || py_is_report(f)) &&
			node_contains(node_field(f->node, "arguments"), use->node))
			return true;
	}
	return false;
}

/* What the call gives is used outside of the context, and not only to be logged. */
static bool is_used_outside(const struct change *change, const struct fact *call, TSNode context)
{
	const struct source *s = call->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *a = &s->facts[i];
		if (a->kind != FACT_ASSIGN || !node_contains(a->node, call->node) || !same_function(a, call))
			continue;
		if (!spend(change, s->n_facts))
			return true;
		for (size_t k = 0; k < s->n_facts; k++) {
			const struct fact *use = &s->facts[k];
			if (use->kind == FACT_NAME && strcmp(use->name, a->name) == 0 &&
				same_function(use, call) && !node_contains(context, use->node) &&
				!is_within_quiet(use))
				return true;
		}
		return false;
	}
	return py_find(change, true, FACT_EXIT, "return", call->function) != NULL ||
	       py_trade(call) == PY_BACKWARD;
}

/* forward() and backward() of a torch.autograd.Function work without a graph by themselves. */
static bool is_in_autograd_function(const struct fact *f)
{
	const struct source *s = f->source;
	const char *dot = strrchr(f->function, '.');
	for (size_t i = 0; i < s->n_facts && dot; i++) {
		const struct fact *c = &s->facts[i];
		size_t length = strlen(c->name);
		if (c->kind == FACT_CLASS && strstr(c->value, "Function") &&
			length <= (size_t)(dot - f->function) && strncmp(dot - length, c->name, length) == 0)
			return true;
	}
	return false;
}

static void check_contexts(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !(py_is_work(f) || py_trade(f) == PY_BACKWARD) ||
			py_is_evaluation(f->function))
			continue;
		const struct guard *context = context_without(f->guards);
		if (!context || !f->twin || context_without(f->twin->guards))
			continue;
		if (is_used_outside(change, f, context->node) && !is_in_autograd_function(f))
			report(change, AUDIT_BLOCK, f, "work is done without gradients");
	}
}

/* A decorator or a statement that turns gradients off. */
static void check_switches(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f) || (f->kind != FACT_DECORATOR && f->kind != FACT_CALL))
			continue;
		bool statement =
			f->kind == FACT_CALL && node_is(node_parent(f->node), "expression_statement");
		if (!turns_off(f->kind == FACT_CALL ? f->text : f->value) || py_is_evaluation(f->function))
			continue;
		if (f->kind == FACT_DECORATOR && !py_is_update_function(f->function) &&
			py_existed_function(change, f->function))
			report(change,
				py_is_forward(f->function) || word_in(py_short(f->function), WORDS_WORK)
					? AUDIT_BLOCK
					: AUDIT_REVIEW,
				f, "a function works without gradients");
		else if (statement)
			report(change, AUDIT_BLOCK, f, "gradients are turned off");
	}
}

/* ---- detached values ---- */

static bool recomputes(const struct change *change, const struct fact *f)
{
	const struct source *s = f->source;
	if (is_in_autograd_function(f))
		return true;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_CALL && same_function(&s->facts[i], f) &&
			(strcmp(s->facts[i].name, "requires_grad_") == 0 ||
				strcmp(s->facts[i].name, "save_for_backward") == 0))
			return true;
	(void)change;
	return strcmp(py_short(f->function), "backward") == 0;
}

static bool backward_stands_before(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (same_function(&s->facts[i], f) && py_trade(&s->facts[i]) == PY_BACKWARD &&
			node_start(s->facts[i].node) < node_start(f->node))
			return true;
	return false;
}

/* total = ce + c * aux became total = ce + c * aux.detach() in what computes a loss. */
static bool is_term_of(const struct fact *sum, const struct fact *detach)
{
	const struct source *s = sum->source;
	if (!py_was_here(sum) || !py_computes_update(sum->function) ||
		text_has_token(sum->twin->value, "detach"))
		return false;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_BINARY && node_contains(sum->node, s->facts[i].node) &&
			node_contains(s->facts[i].node, detach->node))
			return true;
	return false;
}

static bool takes_it_on(const struct fact *assign, const struct fact *detach)
{
	return strcmp(assign->init, detach->init) == 0 || py_is_forward(detach->function) ||
	       (strchr(detach->init, '(') != NULL && !word_in(assign->name, WORDS_LOG)) ||
	       is_term_of(assign, detach);
}

/* The value goes on into the graph: it takes the place of itself, is returned, or is handed to a layer. */
static bool goes_on(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *g = &s->facts[i];
		if (g == f || !same_function(g, f) || !node_contains(g->node, f->node))
			continue;
		if (g->kind == FACT_ASSIGN && g->op[0] == '=' && takes_it_on(g, f))
			return true;
		if (g->kind == FACT_CALL && py_is_work(g))
			return true;
		if (g->kind == FACT_EXIT)
			return py_is_forward(f->function);
	}
	return false;
}

/* layer(h.data) */
/* The variable of `h.data`; "" when the fact is no such attribute. */
static void data_owner(const struct fact *f, char name[60])
{
	TSNode parent = node_parent(f->node), object = node_field(parent, "object");
	name[0] = '\0';
	if (!node_is(parent, "attribute") || ts_node_eq(object, f->node) || !node_is(object, "identifier"))
		return;
	uint32_t from = node_start(object), length = node_end(object) - from;
	snprintf(name, 60, "%.*s", (int)length, f->source->text + from);
}

static void check_data_attributes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool works = py_is_forward(f->function) || word_in(py_short(f->function), WORDS_WORK);
		if (!py_is(f, FACT_NAME, "data") || f->twin || !works || py_is_evaluation(f->function) ||
			context_without(f->guards))
			continue;
		char name[60];
		data_owner(f, name);
		if ((py_is_data_name(name) || word_in(name, WORDS_RESULT)) && !is_within_quiet(f))
			report(change, AUDIT_BLOCK, f, "a value is cut off from its gradient");
	}
}

static bool is_new_detach(const struct fact *f)
{
	static const char *const names[] = {"detach", "detach_", "stop_gradient"};
	return py_is_new(f, FACT_CALL) && IN(f->name, names) && !py_is_evaluation(f->function) &&
	       !context_without(f->guards);
}

static void check_detached(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_new_detach(f) || !spend(change, f->source->n_facts * 2))
			continue;
		bool harmless = recomputes(change, f) || is_within_quiet(f) || backward_stands_before(f);
		if (!harmless && (strcmp(f->name, "detach_") == 0 || goes_on(f)))
			report(change, AUDIT_BLOCK, f, "a value is cut off from its gradient");
	}
}

/* ---- frozen parameters, modes ---- */

static void check_frozen(struct change *change)
{
	static const char *const makers[] = {
		"tensor", "zeros", "ones", "empty", "full", "rand", "like", "as_tensor"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f))
			continue;
		bool sets = f->kind == FACT_ASSIGN && strcmp(f->name, "requires_grad") == 0 &&
			    strcmp(f->value, "False") == 0 && !(f->op[0] == ':' && HAS(f->step, makers));
		bool calls = f->kind == FACT_CALL &&
			     ((strcmp(f->name, "requires_grad_") == 0 && text_has_token(f->value, "False")) ||
				     strncmp(f->name, "freeze", 6) == 0);
		if ((sets || calls) && !py_is_evaluation(f->function) && strcmp(f->init, "gc") != 0)
			report(change, AUDIT_BLOCK, f, "parameters are frozen");
	}
}

static bool train_follows(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_CALL && same_function(&s->facts[i], f) &&
			strcmp(s->facts[i].name, "train") == 0 &&
			!text_has_token(s->facts[i].value, "False") &&
			node_start(s->facts[i].node) > node_start(f->node))
			return true;
	return false;
}

/* model.eval() turns dropout off. */
static bool turns_training_off(const struct fact *f)
{
	if (py_is(f, FACT_ASSIGN, "training"))
		return strcmp(f->value, "False") == 0;
	if (py_is(f, FACT_CALL, "train"))
		return f->init[0] && text_has_token(f->value, "False");
	return py_is(f, FACT_CALL, "eval") && f->init[0] && strcmp(f->value, "( )") == 0;
}

static void check_modes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->same && turns_training_off(f) && !py_is_evaluation(f->function) &&
			!(f->kind == FACT_CALL && train_follows(f)))
			report(change, AUDIT_BLOCK, f, "training mode is turned off: dropout no longer acts");
	}
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (py_is(f, FACT_CALL, "train") && !f->twin && f->init[0] && strcmp(f->value, "( )") == 0 &&
			py_function_remains(change, f->function))
			report(change, AUDIT_REVIEW, f, "training mode is no longer turned on here");
	}
}

static bool zeroing_is_gone(const struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (!change->old[i]->twin && py_trade(change->old[i]) == PY_ZERO)
			return true;
	return false;
}

/* p.grad = None, p.grad *= 0, where zero_grad() still stands: gradients are thrown away. */
static bool drops_gradient(const struct fact *f)
{
	return py_is_literal(f->value) || text_has_new_number(f->value, f->twin ? f->twin->value : "");
}

static void check_dropped(struct change *change)
{
	bool cleared_instead = zeroing_is_gone(change);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool of_object = strstr(f->init, ". grad") != NULL;
		if (!py_is_assignment(f) || f->same || !(of_object || strcmp(f->name, "grad") == 0))
			continue;
		if (drops_gradient(f)) {
			if (!cleared_instead)
				report(change, AUDIT_BLOCK, f, "gradients are thrown away or scaled");
		} else if (of_object && !f->twin && py_sets(f) && py_existed_function(change, f->function)) {
			report(change, AUDIT_REVIEW, f, "gradients are set in a further place");
		}
	}
}

/* ---- the optimizer's parameters ---- */

static void check_parameters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !f->twin || f->same || !py_is_constructor(f->name) ||
			!text_has_token(f->twin->value, "parameters"))
			continue;
		const char *now = strstr(f->value, "parameters"), *was = strstr(f->twin->value, "parameters");
		size_t before = (size_t)(was - f->twin->value);
		bool whole = now && (size_t)(now - f->value) == before &&
			     strncmp(f->value, f->twin->value, before) == 0;
		bool cut = now && (strstr(f->value, " for ") || strchr(f->value, '['));
		if (!whole || cut)
			report(change, now ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"the optimizer is given other parameters");
	}
}

static bool makes_groups(const char *function)
{
	static const char *const parts[] = {"optim", "param_group", "parameter_group", "configure_opt"};
	return HAS(function, parts);
}

/* A test of names, sizes or turns; what a parameter is like (dim, requires_grad) sorts them into groups. */
static bool picks_parameters(const struct fact *f)
{
	static const char *const picks[] = {"endswith", "startswith", "numel", "%", "in", "match", "search"};
	return f->kind == FACT_BRANCH && !f->twin && makes_groups(f->function) &&
	       py_text_has_any(f->value, picks, ARRAY_LEN(picks));
}

/* The others are taken too: by an else, or by a second list with the opposite test. */
static bool takes_others(const struct change *change, const struct fact *f)
{
	if (!ts_node_is_null(node_field(f->node, "alternative")) || !spend(change, change->n_new))
		return true;
	bool negated = text_has_token(f->value, "not");
	const char *subject = strchr(f->value, '"');
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *g = change->new[i];
		const char *other = strchr(g->value, '"');
		if (g == f || g->kind != FACT_BRANCH || !same_function(g, f) ||
			text_has_token(g->value, "not") == negated)
			continue;
		/* the same word asked for */
		if (subject ? other && strncmp(subject, other, strcspn(subject + 1, "\"") + 2) == 0 : !other)
			return true;
	}
	return false;
}

static void check_picked(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (picks_parameters(f) && !takes_others(change, f))
			report(change, AUDIT_BLOCK, f, "some parameters are not given to the optimizer");
	}
}

/* model.module(x), raw_model(x): past the wrapper that reduces gradients */
static void check_wrappers(struct change *change)
{
	static const char *const inner[] = {"module", "raw_model", "unwrapped_model", "unwrapped",
		"inner_model", "base_model", "_orig_mod"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool resolved;
		if (f->kind != FACT_CALL || f->twin || py_is_evaluation(f->function) ||
			py_is_constructor(f->name) || !spend(change, change->n_old))
			continue;
		bool known = !f->init[0] && existed(change, FACT_NAME, f->name);
		const char *value = known ? py_resolve(change, f, f->name, &resolved) : "";
		size_t length = strlen(value);
		bool is_inner = (IN(f->name, inner) && (f->init[0] || known)) ||
				(length > 9 && strcmp(value + length - 9, " . module") == 0);
		if (is_inner && py_existed_function(change, f->function))
			report(change, AUDIT_BLOCK, f, "the wrapper that reduces gradients is passed by");
	}
}

/* weight.register_hook(lambda g: g * 0) */
static void check_gradient_hooks(struct change *change)
{
	static const char *const names[] = {"register_hook", "register_full_backward_hook",
		"register_backward_hook", "register_full_backward_pre_hook",
		"register_post_accumulate_grad_hook"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && IN(f->name, names))
			report(change, strstr(f->value, "lambda") ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"gradients may be changed on their way");
	}
}

void py_check_gradients(struct change *change)
{
	check_wrappers(change);
	check_gradient_hooks(change);
	check_contexts(change);
	check_switches(change);
	check_detached(change);
	check_data_attributes(change);
	check_frozen(change);
	check_modes(change);
	check_dropped(change);
	check_parameters(change);
	check_picked(change);
}
