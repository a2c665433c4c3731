/* Where Python facts stand, what conditions around them weigh, and what names stand for there. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))
#define HAS_TOKEN(text, list) py_text_has_any(text, list, ARRAY_LEN(list))

const struct fact *py_find(
	const struct change *change, bool in_new, enum fact_kind kind, const char *name, const char *function)
{
	struct fact **facts = in_new ? change->new : change->old;
	size_t n = in_new ? change->n_new : change->n_old;
	if (!spend(change, n))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (facts[i]->kind == kind && strcmp(facts[i]->name, name) == 0 &&
			(!function || strcmp(facts[i]->function, function) == 0))
			return facts[i];
	return NULL;
}

bool py_existed_function(const struct change *change, const char *function)
{
	return !function[0] || existed(change, FACT_FUNCTION, function);
}

bool py_function_remains(const struct change *change, const char *function)
{
	return !function[0] || py_find(change, true, FACT_FUNCTION, function, NULL);
}

size_t py_count_uses(const struct change *change, bool in_new, const char *name, const char *function)
{
	struct fact **facts = in_new ? change->new : change->old;
	size_t n = in_new ? change->n_new : change->n_old, uses = 0;
	if (!spend(change, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		uses += facts[i]->kind == FACT_NAME && strcmp(facts[i]->name, name) == 0 &&
			(!function || strcmp(facts[i]->function, function) == 0);
	return uses;
}

static void append_compact(char *text, size_t size, size_t *n, const char *part)
{
	for (; *part && *n + 1 < size; part++)
		if (*part != ' ')
			text[(*n)++] = *part;
	text[*n] = '\0';
}

void py_full_name(const struct change *change, const struct fact *at, const char *receiver, const char *name,
	char *ret_text, size_t size)
{
	const struct source *s = at->source;
	const char *whole = receiver[0] ? receiver : name;
	size_t first = strcspn(whole, " "), n = 0;
	const char *module = NULL;
	for (size_t i = 0; spend(change, 1) && i < s->n_includes; i++) {
		const struct fact *f = s->includes[i];
		if (strncmp(f->name, whole, first) == 0 && !f->name[first])
			module = f->value;
	}
	/* `import os.path` binds os */
	if (module && strncmp(module, whole, first) == 0 && (module[first] == ' ' || !module[first]))
		module = NULL;
	ret_text[0] = '\0';
	if (module) {
		append_compact(ret_text, size, &n, module);
		append_compact(ret_text, size, &n, whole + first);
	} else {
		append_compact(ret_text, size, &n, whole);
	}
	if (receiver[0]) {
		append_compact(ret_text, size, &n, ".");
		append_compact(ret_text, size, &n, name);
	}
}

bool py_replays_graph(const struct change *change)
{
	bool records = py_find(change, true, FACT_NAME, "CUDAGraph", NULL) ||
		       py_find(change, true, FACT_NAME, "make_graphed_callables", NULL);
	return records && (py_find(change, true, FACT_CALL, "replay", NULL) ||
				  py_find(change, true, FACT_CALL, "make_graphed_callables", NULL));
}

/* The last assignment before `at` in its function, or a module's constant. */
const char *py_resolve(
	const struct change *change, const struct fact *at, const char *text, bool *ret_is_resolved)
{
	const struct source *s = at->source;
	const char *value = text;
	*ret_is_resolved = false;
	if (strchr(text, ' ') || !text[0] || !spend(change, s->n_facts))
		return text;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		bool here = same_function(f, at) && node_start(f->node) < node_start(at->node);
		if (f->kind == FACT_ASSIGN && f->op[0] == '=' && (here || !f->function[0]) &&
			strcmp(f->init, text) == 0) {
			value = f->value;
			*ret_is_resolved = true;
		}
	}
	return value;
}

/* n // 2, n - 1, min(n, 512), int(n * 0.5) of n */
bool py_is_less(const struct change *change, const struct fact *at, const char *now, const char *base)
{
	bool resolved;
	const char *value = py_resolve(change, at, now, &resolved);
	const char *const texts[] = {now, value};
	double x = py_number(now), y = py_number(base);
	if (!isnan(x) && !isnan(y))
		return x < y;
	if (!isnan(x) && base[0] && !py_is_literal(base))
		return true;
	for (size_t i = 0; i < 1 + (size_t)resolved; i++)
		if (py_cuts(texts[i], base))
			return true;
	return false;
}

static const char *given(const struct change *change, const struct fact *at, const struct token *name)
{
	char text[80] = "";
	bool resolved;
	memcpy(text, name->text, MIN_OF(name->length, sizeof(text) - 1));
	const char *value = text_has_identifier(text) ? py_resolve(change, at, text, &resolved) : text;
	return value == text || !resolved ? NULL : value;
}

bool py_same_but_for_names(const struct change *change, const struct fact *old, const struct fact *now)
{
	const char *a = old->text, *b = now->text;
	struct token x, y;
	for (;;) {
		bool more_a = next_token(&a, &x), more_b = next_token(&b, &y);
		if (!more_a || !more_b)
			return more_a == more_b;
		if (x.length == y.length && memcmp(x.text, y.text, x.length) == 0)
			continue;
		const char *was = given(change, old, &x), *is = given(change, now, &y);
		if (!was || !is || strcmp(was, is) != 0)
			return false;
	}
}

static bool counts_a_loop(const struct fact *at, const struct token *name)
{
	for (const struct guard *g = at->guards; g; g = g->up) {
		const char *text = g->text;
		struct token t;
		while (g->kind == GUARD_LOOP && next_token(&text, &t) && !token_is(&t, "in"))
			if (t.length == name->length && memcmp(t.text, name->text, t.length) == 0)
				return true;
	}
	return false;
}

bool py_is_periodic(const struct fact *at, const char *condition)
{
	static const char *const chance[] = {"random", "rand", "randint", "randrange", "choice"};
	struct token t, before = {"", 0};
	if (py_text_has_any(condition, chance, ARRAY_LEN(chance)))
		return true;
	for (; next_token(&condition, &t); before = t)
		if ((token_is(&t, "%") || token_is(&t, "&")) && before.length && counts_a_loop(at, &before))
			return true;
	return false;
}

/* ---- conditions ---- */

static bool is_none_test(const char *text)
{
	return text_contains(text, "is None") || text_contains(text, "is not None") ||
	       text_contains(text, "== None") || text_contains(text, "!= None");
}

static bool is_size_test(const char *text)
{
	return text_contains(text, "== 0") || text_contains(text, "> 0") || text_contains(text, "<= 0") ||
	       text_contains(text, "!= 0") || text_contains(text, ">= 1") || text_contains(text, "< 1");
}

/* Of something that was there before: `if grad_clip > 0`, `if x.numel() == 0`. */
static bool names_known_only(const struct change *change, const char *text)
{
	static const char *const sizes[] = {"numel", "len", "size", "shape"};
	struct token t;
	while (next_token(&text, &t)) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (text_has_identifier(name) && !name_is_one_of(name, sizes, ARRAY_LEN(sizes)) &&
			!existed(change, FACT_NAME, name))
			return false;
	}
	return true;
}

/* micro == 0, where micro counts a loop around: not what is empty, but one turn of several. */
static bool asks_counter(const struct fact *f, const char *text)
{
	struct token t;
	while (next_token(&text, &t))
		if (isalpha((unsigned char)t.text[0]) && counts_a_loop(f, &t))
			return true;
	return false;
}

/* Whether there are others to talk to, whether a parameter has a gradient. */
static bool is_harmless_test(const char *text)
{
	static const char *const parallel[] = {"world", "ddp", "distributed", "is_initialized", "dp_size",
		"tp_size", "pp_size", "num_ranks", "nranks", "is_dist"};
	if (HAS(text, parallel) && !text_has_token(text, "rank"))
		return true;
	return text_has_token(text, "requires_grad") || (is_none_test(text) && strstr(text, "grad"));
}

static enum py_weight weigh_one(
	const struct change *change, const struct fact *f, const struct guard *guard, const char *text)
{
	static const char *const kinds[] = {"isinstance", "hasattr", "is_available", "is_cuda", "device",
		"training", "TYPE_CHECKING", "is_compiling", "is_floating_point"};
	if (py_is_arbitrary(text))
		return PY_DECISIVE;
	if (is_harmless_test(text))
		return PY_HARMLESS;
	if (strcmp(text, "( self . training )") == 0 && strstr(f->name, "drop"))
		return PY_HARMLESS;
	if (guard->kind == GUARD_EXCEPT || is_none_test(text) || (HAS_TOKEN(text, kinds) && text[0] == '('))
		return PY_DOUBTFUL;
	bool empty = is_size_test(text) && !text_has_token(text, "&") && names_known_only(change, text) &&
		     !asks_counter(f, text);
	return empty ? PY_DOUBTFUL : PY_DECISIVE;
}

/* The next part of "( a and b )" from *at, in parentheses again; false at the end. */
static bool next_conjunct(const char **at, char part[200])
{
	struct token t;
	int depth = 0;
	size_t n = 2;
	memcpy(part, "( ", 2);
	while (next_token(at, &t)) {
		if (depth == 0 && (token_is(&t, "and") || token_is(&t, ")")))
			break;
		depth += (t.text[0] == '(' || t.text[0] == '[') - (t.text[0] == ')' || t.text[0] == ']');
		if (n + t.length + 4 < 200) {
			memcpy(part + n, t.text, t.length);
			n += t.length;
			part[n++] = ' ';
		}
	}
	part[n] = ')';
	part[n + 1] = '\0';
	return n > 2;
}

/* Each part of a conjunction by itself; what stood around the work before does not count. */
static enum py_weight weigh_against(const struct change *change, const struct fact *f,
	const struct guard *guard, const struct guard *before)
{
	enum py_weight weight = PY_HARMLESS;
	const char *at = guard->text + 2;
	char part[200];
	if (strncmp(guard->text, "( ", 2) != 0 || !text_has_token(guard->text, "and") ||
		text_has_token(guard->text, "or") || strlen(guard->text) > 190)
		return weigh_one(change, f, guard, guard->text);
	while (next_conjunct(&at, part)) {
		enum py_weight one =
			guard_chain_has(before, part) ? PY_HARMLESS : weigh_one(change, f, guard, part);
		weight = MAX_OF(weight, one);
	}
	return weight;
}

enum py_weight py_weigh(const struct change *change, const struct fact *f, const struct guard *guard)
{
	return weigh_against(change, f, guard, NULL);
}

/* The other parts of the statement do work of the same trade. */
bool py_is_done_otherwise(const struct change *change, const struct fact *f, const struct guard *g)
{
	const struct source *s = f->source;
	bool arbitrary = g->kind == GUARD_CASE || py_is_arbitrary(g->text);
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *other = &s->facts[i];
		if (other->kind != FACT_CALL || !node_contains(g->node, other->node) ||
			(!ts_node_is_null(g->inside) && node_contains(g->inside, other->node)))
			continue;
		if (py_recomputes(other) && text_has_token(other->value, f->name))
			return true;
		if (!arbitrary && py_same_trade(f, other))
			return true;
	}
	return false;
}

static bool is_condition(const struct guard *g)
{
	return g->kind == GUARD_IF || g->kind == GUARD_CASE || g->kind == GUARD_AFTER_EXIT ||
	       g->kind == GUARD_EXCEPT;
}

const struct guard *py_added_guard(const struct change *change, const struct fact *before,
	const struct fact *now, enum py_weight *ret_weight)
{
	const struct guard *found = NULL;
	*ret_weight = PY_HARMLESS;
	for (const struct guard *g = now->guards; g; g = g->up) {
		if (!spend(change, 8))
			return NULL;
		if (!is_condition(g) || g->is_error_path || guard_chain_has(before->guards, g->text))
			continue;
		enum py_weight weight = weigh_against(change, now, g, before->guards);
		if (weight <= *ret_weight || py_is_done_otherwise(change, now, g))
			continue;
		*ret_weight = weight;
		found = g;
	}
	return found;
}

static bool is_log_fact(const struct change *change, const struct fact *f)
{
	switch (f->kind) {
	case FACT_CALL:
		return py_is_quiet(f) || py_is_clock(f) || (py_is_wait(f) && f->name[0] == 's');
	case FACT_ASSIGN:
		return f->op[0] == ':' || word_in(f->name, WORDS_TIME) ||
		       !existed(change, FACT_NAME, f->name);
	case FACT_EXIT:
		return strcmp(f->name, "raise") == 0;
	case FACT_DELETE:
		return false;
	default:
		return true;
	}
}

bool py_drops_recomputation(const char *before, const char *now)
{
	CLEANUP(free_ptr) char *otherwise = xasprintf("else %s", now);
	bool wraps = strstr(before, "checkpoint (") || strstr(before, "compile (");
	return wraps && text_contains(before, otherwise);
}

static bool is_in_log(const struct fact *use)
{
	const struct source *s = use->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && word_in(f->name, WORDS_LOG) && !py_is_report(f) &&
			node_contains(node_field(f->node, "arguments"), use->node))
			return true;
	}
	return false;
}

static bool goes_to_log(const struct change *change, const char *name, const struct fact *made)
{
	bool used = false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_NAME || strcmp(f->name, name) != 0 || !same_function(f, made) ||
			node_contains(made->node, f->node))
			continue;
		if (!is_in_log(f))
			return false;
		used = true;
	}
	return used;
}

bool py_was_logged_only(const struct change *change, const struct fact *old)
{
	if (!old->function[0] || !spend(change, change->n_old))
		return false;
	if (is_in_log(old)) {
		const struct fact *made = py_find(change, false, FACT_ASSIGN, old->name, old->function);
		return old->kind != FACT_NAME || (made && goes_to_log(change, old->name, made));
	}
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (py_sets(f) && same_function(f, old) && node_contains(f->node, old->node))
			return !strchr(f->init, ' ') && goes_to_log(change, f->name, f);
	}
	return false;
}

bool py_only_logs(const struct change *change, const struct source *source, TSNode node)
{
	bool logs = false;
	if (!spend(change, source->n_facts))
		return false;
	for (size_t i = 0; i < source->n_facts; i++) {
		const struct fact *f = &source->facts[i];
		if (!node_contains(node, f->node) || ts_node_eq(node, f->node))
			continue;
		if (!is_log_fact(change, f))
			return false;
		logs |= f->kind == FACT_CALL;
	}
	return logs;
}
