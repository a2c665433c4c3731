/* A8 for Python: what is reported must be what was computed: no constants, no earlier or smoothed values, no
 * counters without work, no peak that was reset. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* Handed to the hook's update(): total of hook.update(loss=total). */
bool py_is_reported(const struct change *change, const char *name)
{
	static const char *const others[] = {"step", "model", "self", "float", "int", "item", "dt", "time"};
	if (IN(name, others) || !spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!py_is_report(f) || strncmp(f->name, "row", 3) == 0 || strcmp(f->name, "param") == 0)
			continue;
		struct token t;
		for (const char *at = f->value; next_token(&at, &t);)
			if (token_is(&t, name) && strncmp(at, " = ", 3) != 0 && strncmp(at, " (", 2) != 0 &&
				strncmp(at, " .", 2) != 0)
				return true;
	}
	return false;
}

/* self.norm = nn.LayerNorm(d) is a layer, tokens = batch["tokens"] is data. */
static bool is_counted_tokens(const struct fact *f)
{
	return f->op[1] == '=' || py_is_literal(f->value) || text_has_token(f->value, "*") ||
	       text_has_token(f->value, "numel");
}

static bool is_named_result(const struct fact *f)
{
	static const char *const layers[] = {"norm1", "norm2", "final_norm", "input_norm", "loss_fn",
		"loss_func", "q_norm", "k_norm", "attn_norm", "ffn_norm", "loss_mask", "loss_scale",
		"norm_type"};
	bool parameter = py_is_option(f) && (f->flags & DECLARE_PARAMETER);
	if (!word_in(f->name, WORDS_RESULT) || IN(f->name, layers) || parameter)
		return false;
	return strcmp(py_short(f->function), "__init__") != 0 && !strstr(f->value, "nn . ") &&
	       !strstr(f->value, "Norm (");
}

static bool is_result(const struct change *change, const struct fact *f)
{
	if (f->kind != FACT_ASSIGN || py_is_evaluation(f->function))
		return false;
	if (!py_is_option(f) && !f->same && py_is_reported(change, f->name))
		return true;
	if (!is_named_result(f))
		return false;
	if (strcmp(f->name, "tokens") == 0)
		return is_counted_tokens(f);
	/* the memory of an attention is no peak of memory */
	return strcmp(f->name, "mem") != 0 || py_is_option(f) || strstr(f->value, "memory") ||
	       py_is_literal(f->value);
}

static const struct fact *lost_computation(const struct change *change, const struct fact *now)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_ASSIGN && strcmp(f->name, now->name) == 0 && !f->same &&
			!py_is_literal(f->value))
			return f;
	}
	return NULL;
}

/* loss = 0.0, and then loss += ... */
static bool is_added_up(const struct change *change, const struct fact *zero)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && f != zero && strcmp(f->init, zero->init) == 0 &&
			same_function(f, zero) && (f->op[1] == '=' || text_contains(f->value, f->init)))
			return true;
	}
	return false;
}

static bool is_zero(const char *value)
{
	return py_number(value) == 0 || strstr(value, "zeros (") || strstr(value, "tensor ( 0");
}

static bool is_constant(const char *value)
{
	return py_is_literal(value) || strncmp(value, "torch . tensor ( ", 17) == 0 ||
	       strstr(value, "torch . zeros (") || strstr(value, "torch . full (") ||
	       strstr(value, "zeros_like (") || strstr(value, "full_like (");
}

static bool is_given_constant(const struct change *change, const struct fact *f)
{
	bool zero = is_zero(f->value);
	if (zero && is_added_up(change, f))
		return false;
	/* a new keyword of some other function */
	if (py_is_option(f) && !f->twin && f->step[0] && !zero)
		return false;
	bool known = f->twin || existed(change, FACT_NAME, f->name);
	return known && (lost_computation(change, f) || (!zero && py_sets(f)));
}

static void check_constants(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || f->same || !is_constant(f->value) ||
			strcmp(f->value, "None") == 0 || !(py_sets(f) || py_is_option(f)))
			continue;
		if (is_result(change, f) && is_given_constant(change, f))
			report(change, AUDIT_BLOCK, f, "a result is given a constant");
	}
}

/* A number beside an arithmetic operator, outside of brackets: 0.9 * loss, loss / 2. */
static bool scales_by_number(const char *text, const char *before)
{
	static const char *const ops[] = {"*", "/", "//", "+", "-", "**"};
	struct token t, last = {"", 0}, earlier = {"", 0};
	int depth = 0;
	for (const char *at = text; next_token(&at, &t);) {
		struct token next = {"", 0};
		const char *ahead = at;
		(void)next_token(&ahead, &next);
		depth += token_is(&t, "[") - token_is(&t, "]");
		if (depth == 0 && (isdigit((unsigned char)t.text[0]) || t.text[0] == '.')) {
			bool operand = earlier.length && (isalnum((unsigned char)earlier.text[0]) ||
								 strchr("_)]\"", earlier.text[0]));
			bool after = false, sign = token_is(&last, "-") && !operand;
			for (size_t i = 0; i < ARRAY_LEN(ops); i++)
				after |= (token_is(&last, ops[i]) && !sign) || token_is(&next, ops[i]);
			char number[40] = "";
			memcpy(number, t.text, MIN_OF(t.length, sizeof(number) - 1));
			double value = py_number(number);
			if (after && value != 0 && value != 1 && !text_has_token(before, number))
				return true;
		}
		earlier = last;
		last = t;
	}
	return false;
}

/* A call in the value that the old version did not make. */
static bool calls_anew(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (py_is_new(&s->facts[i], FACT_CALL) && node_contains(f->node, s->facts[i].node))
			return true;
	return false;
}

/* variance = ..., which only the expression read that one new call takes the place of. */
static bool was_intermediate(const struct change *change, const struct fact *f, const char *name)
{
	const struct fact *made = py_find(change, false, FACT_ASSIGN, name, f->function);
	return made && py_sets(made) && !made->twin && !word_in(name, WORDS_RESULT) && calls_anew(f);
}

static bool is_module(const struct change *change, const struct fact *f, const char *name)
{
	const struct source *s = f->source;
	(void)change;
	for (size_t i = 0; i < s->n_includes; i++)
		if (strcmp(s->includes[i]->name, name) == 0)
			return true;
	return false;
}

/* Terms of a sum that went: loss = ce + aux became loss = ce. */
static bool drops_a_term(const struct change *change, const struct fact *f, const char *before)
{
	struct token t;
	bool in_module = false;
	if (!text_has_token(before, "+") || text_has_token(f->value, "+"))
		return false;
	for (const char *at = before; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		bool called = strncmp(at, " (", 2) == 0, has_part = strncmp(at, " . ", 3) == 0;
		/* math.pi is a constant of a module, and no term. */
		bool is_part = in_module && text_has_identifier(name);
		bool module = has_part && is_module(change, f, name);
		in_module = module || (in_module && !is_part);
		if (text_has_identifier(name) && !called && !module && !is_part &&
			!text_has_token(f->value, name) &&
			py_count_uses(change, true, name, f->function) <
				py_count_uses(change, false, name, f->function) &&
			!was_intermediate(change, f, name))
			return true;
	}
	return false;
}

/* The same function of the same values: what keywords say is for the rules about these. */
static bool same_positional(const char *a, const char *b)
{
	char x[PY_ARGUMENT_CAP], y[PY_ARGUMENT_CAP];
	size_t length = strcspn(a, "(");
	if (!a[length] || strncmp(a, b, length) != 0 || b[length] != '(')
		return false;
	a += length + 1;
	b += length + 1;
	for (;;) {
		bool more_a = py_next_argument(&a, x), more_b = py_next_argument(&b, y);
		more_a &= !text_has_token(x, "=");
		more_b &= !text_has_token(y, "=");
		if (more_a != more_b || (more_a && strcmp(x, y) != 0))
			return false;
		if (!more_a)
			break;
	}
	/* and nothing after the call */
	return strcspn(a, "*/+-") == strlen(a) && strcspn(b, "*/+-") == strlen(b);
}

static bool is_read_from_elsewhere(const char *now, const char *before)
{
	static const char *const reads[] = {
		"open", "load", "loads", "read", "read_text", "readline", "recv", "getenv"};
	return py_text_has_any(now, reads, ARRAY_LEN(reads)) &&
	       !py_text_has_any(before, reads, ARRAY_LEN(reads));
}

/* total = total + x */
static bool sums_up(const struct fact *f)
{
	CLEANUP(free_ptr) char *before = xasprintf("%s +", f->init);
	CLEANUP(free_ptr) char *behind = xasprintf("+ %s", f->init);
	return text_contains(f->value, before) || text_contains(f->value, behind);
}

/* Why a result of the old version is none any more; NULL when that cannot be told. */
static const char *what_spoils_sum(const struct change *change, const struct fact *f, const char *before)
{
	if (!f->twin)
		return NULL;
	if (drops_a_term(change, f, before))
		return "a term of a result is dropped";
	if (strcmp(f->twin->op, "+=") == 0 && py_sets(f) && !sums_up(f))
		return "a result is no longer added up";
	return NULL;
}

/* pending[0], held.popleft(): what an earlier turn put into a container that is new and outlives it */
static bool takes_from_queue(const struct change *change, const struct fact *f)
{
	static const char *const ways[] = {"[ 0 ]", "[ - 2 ]", ". popleft (", ". pop ( 0", ". get ("};
	struct token t;
	for (const char *at = f->value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		bool takes = false;
		for (size_t i = 0; i < ARRAY_LEN(ways); i++)
			takes |= *at == ' ' && strncmp(at + 1, ways[i], strlen(ways[i])) == 0;
		const struct fact *made =
			takes ? py_find(change, true, FACT_ASSIGN, name, f->function) : NULL;
		if (made && !made->twin && made->loops < f->loops && !existed(change, FACT_NAME, name))
			return true;
	}
	return false;
}

/* ce = nll / count became ce = nll / count / n, and nothing else lost that factor. */
static bool is_scaled_once_more(const struct change *change, const struct fact *f, const char *before)
{
	size_t length = strlen(before);
	const char *rest = f->value + length;
	if (!length || strncmp(f->value, before, length) != 0 ||
		(strncmp(rest, " / ", 3) != 0 && strncmp(rest, " * ", 3) != 0) || strchr(rest, '('))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *g = change->old[i];
		if (!g->twin && (g->op[0] == '/' || g->op[0] == '*') &&
			strcmp(py_last(g->value), py_last(rest)) == 0)
			return false;
	}
	return true;
}

static const char *what_spoils(const struct change *change, const struct fact *f, const char *before)
{
	bool scaled =
		(f->op[0] == '*' || f->op[0] == '/') && py_is_literal(f->value) && py_number(f->value) != 1;
	const char *reason = what_spoils_sum(change, f, before);
	if (reason)
		return reason;
	if (!f->twin && (py_is_option(f) || !existed(change, FACT_NAME, f->name)))
		return NULL;
	if (takes_from_queue(change, f))
		return "a result is taken from what an earlier turn kept";
	if (is_scaled_once_more(change, f, before))
		return "a result is divided or multiplied once more";
	if (is_read_from_elsewhere(f->value, before))
		return "a result is read from somewhere";
	if (py_is_stale(f->value) && !py_is_stale(before))
		return "a result is mixed with or taken from an earlier value";
	if (scales_by_number(f->value, before))
		return "a result is computed with a new constant";
	return scaled ? "a result is scaled by a constant" : NULL;
}

static void check_mixture(struct change *change, const struct fact *f)
{
	const char *before = f->twin ? f->twin->value : "";
	bool scales = f->op[0] == '*' || f->op[0] == '/';
	if (f->twin && (py_same_but_for_reading(f->value, before) || same_positional(f->value, before) ||
			       py_drops_recomputation(before, f->value)))
		return;
	const char *reason = what_spoils(change, f, before);
	if (reason)
		report(change, AUDIT_BLOCK, f, reason);
	else if (scales ? existed(change, FACT_NAME, f->name) : py_sets(f) && py_was_here(f))
		report(change, AUDIT_REVIEW, f, "a result is computed or normalised differently");
}

static void check_mixtures(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (is_result(change, f) && is_added(f) && f->value[0] &&
			(!is_constant(f->value) || f->op[1] == '='))
			check_mixture(change, f);
	}
}

/* loss += cross_entropy(part), a mean each, without dividing by their number */
static bool is_mean_of_part(const struct fact *f)
{
	static const char *const means[] = {"cross_entropy", "mse_loss", "nll_loss", "l1_loss",
		"binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"};
	return f->kind == FACT_CALL && f->twin && f->loops > f->twin->loops && IN(f->name, means) &&
	       !strstr(f->value, "\"sum\"") && !strstr(f->value, "\"none\"");
}

static bool is_weighted(const struct change *change, const struct fact *mean)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool divides = f->op[0] == '/' || f->op[0] == '*' || strstr(f->value, "mean");
		if ((py_is_new(f, FACT_BINARY) || py_is_new(f, FACT_ASSIGN)) && divides &&
			same_function(f, mean))
			return true;
	}
	return false;
}

static void check_sums_of_means(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_mean_of_part(f))
			continue;
		bool weighs = is_weighted(change, f);
		report(change, weighs ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			weighs ? "means of parts are put together: their weights must be right"
			       : "means of parts are added up without a weight");
	}
}

/* loss / accum_steps, and nothing is divided or multiplied by it any more */
static bool scales(const struct fact *f)
{
	if (f->op[0] != '/' && f->op[0] != '*')
		return false;
	return f->kind == FACT_BINARY || (f->kind == FACT_ASSIGN && f->op[1] == '=');
}

static bool is_lost_divisor(const struct change *change, const struct fact *f)
{
	return !f->twin && scales(f) && text_has_word(f->init, WORDS_RESULT) &&
	       text_has_identifier(py_last(f->value)) && py_function_remains(change, f->function) &&
	       !py_is_evaluation(f->function) && spend(change, change->n_new);
}

static bool scales_results(const struct change *change, const char *factor, const char *function)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool names = text_has_token(f->value, factor) || text_has_token(f->init, factor);
		if (names && scales(f) && strcmp(f->function, function) == 0 &&
			(!f->twin || text_has_word(f->init, WORDS_RESULT)))
			return true;
	}
	return false;
}

static void check_divisors(struct change *change)
{
	static const char *const counts[] = {"accum", "micro", "world", "num_", "n_"};
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		const char *factor = py_last(f->value);
		if (is_lost_divisor(change, f) && !py_was_logged_only(change, f) &&
			!scales_results(change, factor, f->function))
			report(change,
				py_name_has_any(factor, counts, ARRAY_LEN(counts)) ? AUDIT_BLOCK
										   : AUDIT_REVIEW,
				f, "a result is no longer divided or multiplied by this");
	}
}

/* ---- returns ---- */

static bool reduces(const char *function)
{
	static const char *const parts[] = {"reduce", "mean", "average", "gather"};
	return py_name_has_any(py_short(function), parts, ARRAY_LEN(parts));
}

static bool returns_result(const struct fact *f)
{
	const char *name = py_short(f->function);
	if (!py_is_exit(f, "return") || f->twin || !f->value[0] || py_is_evaluation(f->function))
		return false;
	return word_in(name, WORDS_RESULT) || word_in(name, WORDS_WORK) || py_is_forward(f->function) ||
	       py_is_update_function(f->function) || reduces(f->function);
}

static const char *what_spoils_return(const struct change *change, const struct fact *f)
{
	bool lost = false, new_number = true, term = false;
	for (size_t k = 0; k < change->n_old; k++) {
		const struct fact *old = change->old[k];
		if (old->kind != FACT_EXIT || !same_function(old, f) || !text_has_identifier(old->value))
			continue;
		lost |= !old->twin;
		term |= !old->twin && drops_a_term(change, f, old->value);
		new_number &= scales_by_number(f->value, old->value);
	}
	if (!lost)
		return NULL;
	if (is_constant(f->value) && strcmp(f->value, "None") != 0)
		return "a constant is returned in place of a result";
	if (new_number)
		return "a result is computed with a new constant";
	if (py_is_stale(f->value))
		return "an earlier value is returned in place of a result";
	return term ? "a term of a result is dropped" : NULL;
}

/* valid.sum() became targets.numel(). */
static bool counts_all(const struct change *change, const struct fact *f)
{
	static const char *const all[] = {"numel", "size", "len", "shape"};
	for (size_t i = 0; i < change->n_old && py_text_has_any(f->value, all, ARRAY_LEN(all)); i++) {
		const struct fact *old = change->old[i];
		if (py_is_exit(old, "return") && same_function(old, f) && !old->same &&
			text_contains(old->value, ". sum ( )") &&
			!py_text_has_any(old->value, all, ARRAY_LEN(all)))
			return true;
	}
	return false;
}

static void check_returns(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		const char *reason = returns_result(f) ? what_spoils_return(change, f) : NULL;
		if (reason)
			report(change, AUDIT_BLOCK, f, reason);
		else if (returns_result(f) && spend(change, change->n_old) && counts_all(change, f))
			report(change, AUDIT_REVIEW, f, "all are counted where only some were");
	}
}

/* ce = total / count became ce = total / count / n in a function of the loss, whatever it is called. */
static void check_scaled(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_sets(f) && !f->same && py_was_here(f) && py_computes_update(f->function) &&
			!is_result(change, f) && !py_is_evaluation(f->function) &&
			is_scaled_once_more(change, f, f->twin->value))
			report(change, AUDIT_BLOCK, f, "a result is divided or multiplied once more");
	}
}

void rule_py_results(struct change *change)
{
	check_scaled(change);
	check_constants(change);
	check_mixtures(change);
	check_sums_of_means(change);
	check_divisors(change);
	check_returns(change);
	py_check_counters(change);
}
