/* A3 for Python: the optimizer's work skipped, deferred, made periodic, or short of one of its terms. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- conditions on the step ---- */

/* `with model.no_sync() if last else nullcontext()`: py_check_gradients() looks at these. */
static bool chooses_context(const struct fact *branch)
{
	const char *text = branch->source->text + node_start(branch->node);
	size_t length = node_end(branch->node) - node_start(branch->node);
	return node_is(branch->node, "conditional_expression") &&
	       (memmem(text, length, "no_sync", 7) || memmem(text, length, "nullcontext", 11));
}

/* next(it) for the batch after this one, if there is one */
static bool only_fetches(const struct change *change, const struct fact *branch)
{
	const struct source *s = branch->source;
	bool fetches = false;
	if (text_has_token(branch->value, "%") || !spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(branch->node, f->node) || f->kind != FACT_CALL)
			continue;
		if (!py_is_load(f) && !py_is_quiet(f) && strcmp(f->name, "to") != 0)
			return false;
		fetches |= py_is_load(f);
	}
	return fetches;
}

static bool raises_within(const struct fact *branch)
{
	const struct source *s = branch->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (py_is_exit(&s->facts[i], "raise") && node_contains(branch->node, s->facts[i].node))
			return true;
	return false;
}

static bool is_step_condition(const struct change *change, const struct fact *f)
{
	if (!py_is_new(f, FACT_BRANCH) || chooses_context(f) || py_is_evaluation(f->function))
		return false;
	return (py_depends_on_step(f->value) || py_is_periodic(f, f->value)) &&
	       !py_only_logs(change, f->source, f->node);
}

/* checkpoint(layer, x) in some turns, layer(x) in the others: the same work, kept or done again */
static bool chooses_recomputation(const struct fact *branch)
{
	const struct source *s = branch->source;
	const struct fact *kept = NULL, *again = NULL;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && node_contains(branch->node, f->node) && py_recomputes(f))
			again = f;
	}
	for (size_t i = 0; i < s->n_facts && again; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && f != again && node_contains(branch->node, f->node) &&
			text_has_token(again->value, f->name))
			kept = f;
	}
	return kept != NULL;
}

static void check_step_conditions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_step_condition(change, f))
			continue;
		bool choice = py_replays_graph(change) || only_fetches(change, f) || raises_within(f) ||
			      chooses_recomputation(f);
		report(change, choice ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"a new condition on the step decides what is computed");
	}
}

/* ---- within the optimizer ---- */

static bool is_in_place(const struct fact *call)
{
	size_t length = strlen(call->name);
	return length > 2 && call->name[length - 1] == '_' && call->name[0] != '_';
}

/* m.lerp_(g, 1 - b) for m.mul_(b).add_(g, alpha=1 - b): another operation in place on the same */
static bool is_done_in_place(const struct change *change, const struct fact *gone)
{
	size_t length = strcspn(gone->init, " ");
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && is_in_place(f) && same_function(f, gone) &&
			strcspn(f->init, " ") == length && strncmp(f->init, gone->init, length) == 0)
			return true;
	}
	return false;
}

/* g.mul_(c) for each g became _foreach_mul_(grads, c). */
static bool is_grouped(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_CALL) && strncmp(f->name, "_foreach_", 9) == 0 &&
			strcmp(f->name + 9, gone->name) == 0 && same_function(f, gone))
			return true;
	}
	return false;
}

/* What the function was given goes on: the parameters and the limit. */
static bool is_given_everything(const struct change *change, const struct fact *call)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_DECLARE && (f->flags & DECLARE_PARAMETER) && same_function(f, call) &&
			strcmp(f->name, "self") != 0 && !text_has_token(call->value, f->name))
			return false;
	}
	return true;
}

/* The framework's function of this trade, called in the function of this trade. */
static bool is_of_framework(const struct change *change, const struct fact *gone)
{
	const struct fact itself = py_imagined_call(py_short(gone->function));
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_CALL) && same_function(f, gone) && py_trade(f) != PY_NO_TRADE &&
			py_trade(f) == py_trade(&itself) && is_given_everything(change, f))
			return true;
	}
	return false;
}

static bool is_foreach(const struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_CALL && !change->new[i]->twin &&
			(strstr(change->new[i]->name, "_foreach") || strstr(change->new[i]->name, "fused")))
			return true;
	return false;
}

/* Statements that were always carried out and now depend on something. */
static bool is_part_of_update(const struct fact *f)
{
	bool counts = f->kind == FACT_ASSIGN || (f->kind == FACT_CALL && !py_is_quiet(f));
	return counts && f->function[0] && py_is_update_function(f->function);
}

static void check_within(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		enum py_weight weight;
		if (!is_part_of_update(f))
			continue;
		if (py_was_here(f) && py_added_guard(change, f, f->twin, &weight))
			report(change, weight == PY_DECISIVE ? AUDIT_BLOCK : AUDIT_REVIEW, f->twin,
				"part of an update became conditional");
		if (!py_is_new(f, FACT_CALL) || !is_in_place(f) || !py_function_remains(change, f->function))
			continue;
		if (is_grouped(change, f))
			continue;
		if (is_of_framework(change, f))
			continue;
		bool otherwise = is_foreach(change) || is_done_in_place(change, f);
		report(change, otherwise ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"part of the state is no longer updated");
	}
}

/* ---- coefficients ---- */

static bool is_coefficient(const char *name)
{
	static const char *const further[] = {"weight_decay", "max_norm", "max_grad_norm", "clip_grad",
		"gradient_clipping", "aux_loss", "z_loss", "aux", "balance", "lambda_", "grad_clip", "gamma",
		"lr", "drop", "jitter", "noise", "drop_path", "mixup", "cutmix", "perturb", "learning_rate",
		"betas", "beta1", "beta2", "eps", "label_smoothing", "alpha"};
	static const char *const others[] = {"layer_norm_eps", "eps_net", "cache_limit", "rate_limit",
		"limit_mb", "correction_mode", "temperature_c", "recursion_limit", "cache_size_limit",
		"decay_steps_log"};
	return (IN(name, further) || strstr(name, "jitter") || strstr(name, "noise") ||
		       word_in(name, WORDS_HYPER)) &&
	       !IN(name, others);
}

/* A new name that says the same: weight_decay for wd. */
static bool shares_a_word(const char *a, const char *b)
{
	static const char *const groups[][4] = {{"wd", "decay", "l2", NULL}, {"clip", "norm", "max", NULL},
		{"aux", "balanc", "z_loss", "zloss"}, {"drop", NULL}, {"lr", "rate", NULL}, {"beta", NULL},
		{"eps", NULL}, {"smooth", NULL}, {"ema", "decay", NULL}, {"warmup", NULL},
		{"momentum", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		bool in_a = false, in_b = false;
		for (size_t k = 0; k < 4 && groups[i][k]; k++) {
			in_a |= strcasestr(a, groups[i][k]) != NULL;
			in_b |= strcasestr(b, groups[i][k]) != NULL;
		}
		if (in_a && in_b)
			return true;
	}
	return false;
}

static bool is_renamed(const struct change *change, const struct fact *lost)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_NAME && !f->twin && same_function(f, lost) &&
			strcmp(f->name, lost->name) != 0 && is_coefficient(f->name) &&
			shares_a_word(f->name, lost->name))
			return true;
	}
	return false;
}

/* A coefficient that a function used and that nothing uses more often elsewhere instead. */
static void check_lost(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_NAME || f->twin || !is_coefficient(f->name) ||
			strcmp(f->name, "alpha") == 0 || !py_function_remains(change, f->function))
			continue;
		bool lost = py_count_uses(change, true, f->name, f->function) == 0 &&
			    py_count_uses(change, true, f->name, NULL) <
				    py_count_uses(change, false, f->name, NULL);
		if (lost && !is_renamed(change, f) && !py_was_logged_only(change, f))
			report(change, AUDIT_BLOCK, f,
				"a coefficient of the update or the loss is no longer used");
	}
}

/* The constructor or function that the keyword belongs to was called before. */
static bool is_known_callee(const struct change *change, const char *callee)
{
	return callee[0] && existed(change, FACT_CALL, callee);
}

/* decay = [p for ...] became decay = [] and decay.append(p) in a loop. */
static bool is_filled(const struct change *change, const struct fact *f)
{
	static const char *const adds[] = {"append", "add", "extend", "update", "setdefault"};
	if (!spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new && f->value[0] == '['; i++) {
		const struct fact *g = change->new[i];
		if (py_is_new(g, FACT_CALL) && IN(g->name, adds) && same_function(g, f) &&
			text_has_token(g->init, f->name))
			return true;
	}
	return false;
}

static void check_changed_coefficient(struct change *change, const struct fact *f)
{
	const char *before = f->twin->value;
	if (is_filled(change, f))
		return;
	if (py_number(f->value) == py_number(before) || strcmp(f->value, before) == 0)
		return;
	if (py_is_literal(f->value))
		report(change, AUDIT_BLOCK, f, "a hyper-parameter was given another value");
	else if (text_has_new_number(f->value, before))
		report(change, AUDIT_BLOCK, f, "a hyper-parameter is computed differently");
	else if (py_is_literal(before))
		report(change, AUDIT_REVIEW, f, "a hyper-parameter is no longer a constant");
}

static void check_new_coefficient(struct change *change, const struct fact *f)
{
	bool literal = py_is_literal(f->value);
	if (py_is_option(f)) {
		if (literal && is_known_callee(change, f->step))
			report(change, AUDIT_BLOCK, f, "a hyper-parameter is given where it was not");
		return;
	}
	if (!existed(change, FACT_NAME, f->name) && !strstr(f->init, "param_groups"))
		return;
	if (!py_sets(f))
		report(change, AUDIT_BLOCK, f, "a hyper-parameter is changed");
	else if (strpbrk(f->init, ".[") && py_existed_function(change, f->function))
		report(change, literal ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"a hyper-parameter is set in a further place");
}

static void check_coefficients(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || f->same || !is_coefficient(f->name))
			continue;
		if (!f->twin)
			check_new_coefficient(change, f);
		else if (py_was_here(f) && strcmp(f->op, f->twin->op) == 0)
			check_changed_coefficient(change, f);
	}
}

/* clip_grad_norm_(parameters, 1.0) became clip_grad_norm_(parameters, float("inf")) */
/* increment=n became increment=n * 2 */
static bool is_keyword_less(
	const struct change *change, const struct fact *f, const char *was, const char *now)
{
	size_t name = strcspn(was, "=");
	if (!was[name] || strncmp(was, now, name + 1) != 0)
		return false;
	return text_has_new_number(now, was) || py_is_less(change, f, now + name + 2, was + name + 2);
}

static void check_argument(struct change *change, const struct fact *f, const char *was, const char *now)
{
	if (text_has_token(was, "=") || text_has_token(now, "=")) {
		if (is_keyword_less(change, f, was, now))
			report(change, AUDIT_BLOCK, f, "part of the update is given something else");
		return;
	}
	double x = py_number(was), y = py_number(now);
	bool constant = (!isnan(y) && !(x == y)) || text_has_new_number(now, was);
	if (constant || py_is_less(change, f, now, was))
		report(change, AUDIT_BLOCK, f, "part of the update is given a constant or less");
	else if (py_trade(f) == PY_CLIP || py_trade(f) == PY_STEP)
		report(change, AUDIT_REVIEW, f, "part of the update is given something else");
}

static void check_arguments_of(struct change *change, const struct fact *f)
{
	const char *a = f->twin->value + (f->twin->value[0] == '('), *b = f->value + (f->value[0] == '(');
	char was[PY_ARGUMENT_CAP], now[PY_ARGUMENT_CAP];
	while (py_next_argument(&a, was) && py_next_argument(&b, now))
		if (strcmp(was, now) != 0)
			check_argument(change, f, was, now);
}

static void check_call_arguments(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && !f->same && py_is_update(f) &&
			py_same_trade(f, f->twin) && py_trade(f) != PY_COLLECTIVE && !py_is_report(f))
			check_arguments_of(change, f);
	}
}

/* ReduceOp.AVG became ReduceOp.MAX. */
static void check_reductions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool op = f->kind == FACT_ASSIGN && f->op[0] == ':' && strcmp(f->name, "op") == 0;
		if (!op || !f->twin || f->same || !same_function(f, f->twin))
			continue;
		bool sums = strstr(f->value, "SUM") || strstr(f->value, "AVG");
		report(change, sums ? AUDIT_REVIEW : AUDIT_BLOCK, f, "gradients are reduced differently");
	}
}

/* configure_optimizers(weight_decay, lr) became configure_optimizers(0.0, lr). */
static void check_handed_on(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char was[PY_ARGUMENT_CAP], now[PY_ARGUMENT_CAP];
		if (f->kind != FACT_CALL || !f->twin || f->same || f->value[0] != '(' ||
			f->twin->value[0] != '(' || py_is_quiet(f) || py_is_report(f))
			continue;
		const char *a = f->twin->value + 1, *b = f->value + 1;
		while (py_next_argument(&a, was) && py_next_argument(&b, now)) {
			const char *dot = strrchr(was, ' '), *name = dot ? dot + 1 : was;
			if (strcmp(was, now) != 0 && is_coefficient(name) && py_is_literal(now))
				report(change, AUDIT_BLOCK, f, "a hyper-parameter is replaced by a constant");
		}
	}
}

/* loss / accum_steps lost its divisor, or got another one. */
static void check_backward(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !f->twin || f->same || py_trade(f) != PY_BACKWARD)
			continue;
		const char *before = f->twin->init;
		bool scaler = strstr(f->text, "scale") || strstr(f->twin->text, "scale");
		if (text_has_new_number(f->init, before) ||
			(text_has_token(before, "/") && !text_has_token(f->init, "/") && !scaler &&
				!py_find(change, true, FACT_BINARY, "/", f->function)))
			report(change, AUDIT_BLOCK, f, "gradients are computed of something else");
	}
}

void rule_py_update(struct change *change)
{
	py_check_placement(change, py_is_update, "optimizer, gradient or auxiliary work");
	check_step_conditions(change);
	check_within(change);
	check_lost(change);
	check_coefficients(change);
	check_call_arguments(change);
	check_handed_on(change);
	check_reductions(change);
	check_backward(change);
	py_check_families(change);
	py_check_gradients(change);
	py_check_order(change);
}
