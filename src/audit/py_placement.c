/*
 * Calls that are gone, became conditional, or stand in fewer loops. As placement.c, with Python's ways around
 * it: functions that nothing calls, callables handed on, loops that are conditions.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- calls that are gone ---- */

static bool hands_on(const char *name)
{
	static const char *const wrappers[] = {"checkpoint", "compile", "graph", "remat", "script", "vmap",
		"recompute", "autograd", "apply", "wrap"};
	return HAS(name, wrappers);
}

/* checkpoint(self.block, x) runs the block. */
static bool is_handed_on(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->same && hands_on(f->name) &&
			text_has_token(f->value, gone->name))
			return true;
	}
	return false;
}

static const struct fact *replacement(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL)
			continue;
		if (!f->twin && py_same_trade(gone, f))
			return f;
		if (!f->twin && py_trade(gone) == PY_COLLECTIVE && py_is_wrapper(f->name))
			return f;
		/* a new function, of a thread perhaps, calls it now */
		if (py_is_load(gone) && strcmp(f->name, gone->name) == 0 && f->function[0] &&
			!py_existed_function(change, f->function))
			return f;
	}
	return NULL;
}

/* One function for others that do the same together. */
static bool is_composed(const struct change *change, const struct fact *gone)
{
	static const struct {
		const char *whole;
		const char *parts[3], *others[3]; /* one of each */
	} equals[] = {
		{"cross_entropy", {"gather", "take_along_dim", "one_hot"},
			{"logsumexp", "log_softmax", NULL}},
		{"nll_loss", {"gather", "take_along_dim", "one_hot"}, {"sum", "mean", NULL}},
		{"log_softmax", {"logsumexp", NULL}, {"logsumexp", NULL}},
		{"softmax", {"exp", NULL}, {"sum", "logsumexp", NULL}},
		{"one_hot", {"bincount", "scatter_add_", "scatter_"}, {"bincount", "zeros", "new_zeros"}},
	};
	for (size_t i = 0; i < ARRAY_LEN(equals); i++) {
		bool part = false, other = false;
		if (strcmp(gone->name, equals[i].whole) != 0)
			continue;
		for (size_t k = 0; k < change->n_new; k++) {
			const struct fact *f = change->new[k];
			if (f->kind != FACT_CALL || !same_function(f, gone))
				continue;
			for (size_t n = 0; n < 3; n++) {
				part |= !f->twin && equals[i].parts[n] &&
					strcmp(f->name, equals[i].parts[n]) == 0;
				other |= equals[i].others[n] && strcmp(f->name, equals[i].others[n]) == 0;
			}
		}
		return part && other;
	}
	return false;
}

/* self.router(x) became F.linear(x.float(), self.router.weight.float()). */
static bool uses_weight(const struct change *change, const struct fact *gone)
{
	CLEANUP(free_ptr) char *weight = xasprintf("%s . weight", gone->name);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_CALL) && strcmp(f->name, "linear") == 0 && same_function(f, gone) &&
			text_contains(f->value, weight) && !strchr(f->value, '['))
			return true;
	}
	return false;
}

/* all_reduce(a), all_reduce(b) became a loop over (a, b), or one of stack((a, b)). */
static bool is_coalesced(const struct change *change, const struct fact *gone)
{
	char argument[PY_ARGUMENT_CAP];
	const char *at = gone->value + (gone->value[0] == '(');
	if (py_trade(gone) != PY_COLLECTIVE || !py_next_argument(&at, argument) || strchr(argument, ' '))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char sent[PY_ARGUMENT_CAP];
		bool resolved;
		if (f->kind != FACT_CALL || f->same || strcmp(f->name, gone->name) != 0 ||
			!same_function(f, gone))
			continue;
		at = f->value + (f->value[0] == '(');
		if (!py_next_argument(&at, sent))
			continue;
		if (text_has_token(py_resolve(change, f, sent, &resolved), argument))
			return true;
		for (const struct guard *g = f->guards; g; g = g->up)
			if (g->kind == GUARD_LOOP && text_has_token(g->text, argument))
				return true;
	}
	return false;
}

/* fused_clip_and_step(...) does more than one part. */
static bool is_fused_away(const struct change *change, const struct fact *gone)
{
	static const char *const keys[] = {[PY_BACKWARD] = "backward",
		[PY_STEP] = "step",
		[PY_CLIP] = "clip",
		[PY_ZERO] = "zero",
		[PY_COLLECTIVE] = "reduce",
		[PY_AVERAGE] = "ema",
		[PY_SCHEDULE] = "lr",
		[PY_SCALER] = "scale",
		[PY_TERM] = "loss"};
	enum py_trade trade = py_trade(gone);
	for (size_t i = 0; i < change->n_new && trade != PY_NO_TRADE; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && strcasestr(f->name, keys[trade]) &&
			!py_is_constructor(f->name) && strcmp(f->name, "no_grad") != 0)
			return true;
	}
	return false;
}

/* p.grad = None does what zero_grad() does. */
static bool clears_gradients(const struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && !f->same && strcmp(f->name, "grad") == 0 &&
			(strcmp(f->value, "None") == 0 || py_number(f->value) == 0))
			return true;
	}
	return false;
}

/* The same call stands in the function more often than it must: one of two is enough. */
static bool was_repeated(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && strcmp(f->text, gone->text) == 0 &&
			same_function(f, gone) && f->loops == gone->loops &&
			(f->guards ? f->guards->conditions : 0) ==
				(gone->guards ? gone->guards->conditions : 0))
			return true;
	}
	return false;
}

/* unused = f(x): nothing reads it. */
static bool was_dead(const struct change *change, const struct fact *gone)
{
	for (const struct guard *g = gone->guards; g; g = g->up)
		if (strcmp(g->text, "( False )") == 0 || strcmp(g->text, "( 0 )") == 0 ||
			strcmp(g->text, "never") == 0)
			return true;
	if (py_is_update(gone))
		return false;
	bool assigned = false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_ASSIGN || f->op[0] != '=' || !same_function(f, gone) ||
			!node_contains(f->node, gone->node))
			continue;
		if (strchr(f->init, ' ') || py_count_uses(change, false, f->init, gone->function) != 1)
			return false;
		assigned = true;
	}
	return assigned;
}

static bool was_choice(const struct change *change, const struct fact *old)
{
	for (const struct guard *g = old->guards; g; g = g->up)
		if ((g->kind == GUARD_IF || g->kind == GUARD_AFTER_EXIT) && !g->is_error_path &&
			py_is_done_otherwise(change, old, g))
			return true;
	return false;
}

/* Nothing is lost by it. */
static bool was_needless(const struct change *change, const struct fact *gone)
{
	return was_dead(change, gone) || was_repeated(change, gone) || is_composed(change, gone) ||
	       py_is_fused_attention(change, gone) || uses_weight(change, gone) ||
	       is_coalesced(change, gone) || (py_trade(gone) == PY_ZERO && clears_gradients(change));
}

static bool scaling_ended(const struct change *change, const struct fact *gone)
{
	return py_trade(gone) == PY_SCALER && py_find(change, true, FACT_CALL, "step", NULL) &&
	       !py_find(change, true, FACT_NAME, "scaler", NULL);
}

static void report_removed(struct change *change, const struct fact *old, const char *what)
{
	char reason[160];
	if (was_needless(change, old))
		return;
	bool other = replacement(change, old) || is_handed_on(change, old) || is_fused_away(change, old) ||
		     py_replays_graph(change) || scaling_ended(change, old);
	bool inlined = py_find(change, false, FACT_FUNCTION, old->name, NULL) &&
		       !py_function_remains(change, old->name);
	bool fine =
		other || inlined || was_choice(change, old) || !py_function_remains(change, old->function);
	snprintf(reason, sizeof(reason), "a call to %s is gone%s", what,
		other ? "; another call may do its work" : "");
	report(change, fine ? AUDIT_REVIEW : AUDIT_BLOCK, old, reason);
}

/* ---- calls that moved ---- */

/* The function that the call moved into is new: does anything run it, and under which condition? */
static const struct fact *caller_of(const struct change *change, const struct fact *moved, bool *ret_known)
{
	const char *name = py_short(moved->function);
	const struct fact *first = NULL;
	*ret_known = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (strcmp(f->name, name) != 0)
			continue;
		*ret_known |= f->kind == FACT_NAME || f->kind == FACT_CALL || f->kind == FACT_DECORATOR;
		if (f->kind == FACT_CALL && !f->twin && !first)
			first = f;
	}
	return first;
}

static void check_moved(struct change *change, const struct fact *old, const char *what)
{
	char reason[160];
	bool known;
	const struct fact *now = old->twin, *caller = caller_of(change, now, &known);
	if (strncmp(py_short(now->function), "__", 2) == 0 || py_is_forward(now->function))
		return;
	if (!known) {
		snprintf(reason, sizeof(reason), "%s moved into a function that nothing calls", what);
		report(change, AUDIT_BLOCK, now, reason);
		return;
	}
	enum py_weight weight;
	if (!caller || !py_added_guard(change, old, caller, &weight))
		return;
	snprintf(reason, sizeof(reason), "%s became conditional", what);
	report(change, weight == PY_DECISIVE ? AUDIT_BLOCK : AUDIT_REVIEW, caller, reason);
}

static bool has_flat_buffer(const struct change *change)
{
	static const char *const parts[] = {"flat", "cat", "bucket", "coalesc", "_foreach", "stack"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && HAS(f->name, parts))
			return true;
	}
	return false;
}

/* for _ in range(step % 2), for _ in range(int(step > 10)), while step % 2 */
static bool is_disguised_condition(const char *loop)
{
	static const char *const signs[] = {"%", "==", "not", "bool", "int", "<", ">", "!=", "&"};
	return py_depends_on_step(loop) && py_text_has_any(loop, signs, ARRAY_LEN(signs));
}

/* The loop that the call left is still there: it was taken out, not made one with others. */
static bool loop_remains(const struct fact *old)
{
	const struct source *s = old->source;
	const struct guard *g = old->guards;
	while (g && g->kind != GUARD_LOOP)
		g = g->up;
	for (size_t i = 0; i < s->n_facts && g; i++)
		if (s->facts[i].kind == FACT_LOOP && ts_node_eq(s->facts[i].node, g->node))
			return s->facts[i].twin != NULL;
	return false;
}

static void check_loops_around(struct change *change, const struct fact *old, const char *what)
{
	char reason[160];
	const struct fact *now = old->twin;
	if (!same_function(old, now))
		return;
	if (now->loops < old->loops) {
		bool merged = !old->same && (has_flat_buffer(change) ||
						    (py_trade(old) != PY_COLLECTIVE && !loop_remains(old)));
		snprintf(reason, sizeof(reason), "%s is no longer inside the loop that repeated it", what);
		report(change, merged || py_replays_graph(change) ? AUDIT_REVIEW : AUDIT_BLOCK, now, reason);
	} else if (now->loops > old->loops) {
		for (const struct guard *g = now->guards; g; g = g->up)
			if (g->kind == GUARD_LOOP && is_disguised_condition(g->text) &&
				!guard_chain_has(old->guards, g->text)) {
				snprintf(reason, sizeof(reason), "%s depends on a loop over the step", what);
				report(change, AUDIT_BLOCK, now, reason);
				return;
			}
	}
}

/* A loader's call that stands both before the loop and in it: batches are fetched ahead. */
static bool is_fetched_ahead(const struct change *change, const struct fact *now)
{
	if (!py_is_load(now))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f != now && f->kind == FACT_CALL && strcmp(f->name, now->name) == 0 &&
			same_function(f, now) && f->loops != now->loops)
			return true;
	}
	return false;
}

/* loss(hidden, targets, model.lm_head): a function that is handed the layer calls it. */
static bool is_given_away(const struct change *change, const struct fact *now)
{
	if (!py_is_work(now) || py_is_update(now) || !spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char argument[PY_ARGUMENT_CAP];
		const char *at = f->value + (f->value[0] == '(');
		if (f->kind != FACT_CALL || f->same || same_function(f, now) || f->value[0] != '(' ||
			py_is_quiet(f))
			continue;
		while (py_next_argument(&at, argument))
			if (strchr(argument, '.') && !strchr(argument, '(') &&
				strcmp(py_last(argument), now->name) == 0)
				return true;
	}
	return false;
}

static void check_kept(struct change *change, const struct fact *old, const char *what)
{
	char reason[160];
	enum py_weight weight;
	const struct fact *now = old->twin;
	const struct guard *guard = py_added_guard(change, old, now, &weight);
	if (guard) {
		bool ahead = is_fetched_ahead(change, now) && !text_has_token(guard->text, "%");
		bool otherwise = py_replays_graph(change) || is_given_away(change, now);
		snprintf(reason, sizeof(reason), "%s became conditional", what);
		report(change, weight == PY_DECISIVE && !ahead && !otherwise ? AUDIT_BLOCK : AUDIT_REVIEW,
			now, reason);
	} else if (!same_function(old, now) && now->function[0] &&
		   !py_existed_function(change, now->function)) {
		check_moved(change, old, what);
	} else if (!is_fetched_ahead(change, now)) {
		check_loops_around(change, old, what);
	}
}

void py_check_placement(struct change *change, bool (*is)(const struct fact *call), const char *what)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind != FACT_CALL || !is(old) || !spend(change, 64))
			continue;
		if (old->twin && py_same_trade(old, old->twin))
			check_kept(change, old, what);
		else if (spend(change, change->n_new))
			report_removed(change, old, what);
	}
}
