#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/evaluate_int.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { FACTS_CAP = 20000000 /* looked at for one comparison */ };

static bool node_has(TSNode node, uint32_t byte)
{
	return !ts_node_is_null(node) && node_start(node) <= byte && byte < node_end(node);
}

/* ---- names ---- */

/* Where the facts of a function, or all macros, lie: looked for once. */
static struct span find_span(struct evaluation *e, const char *function)
{
	const struct source *s = e->source;
	for (size_t i = 0; i < e->n_spans; i++) {
		const struct span *known = &e->spans[i];
		bool same = known->function && function ? strcmp(known->function, function) == 0
							: known->function == function;
		if (known->source == s && same)
			return *known;
	}
	struct span span = {s, function, s->n_facts, 0};
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (function ? strcmp(f->function, function) != 0 : f->kind != FACT_DEFINE)
			continue;
		span.from = MIN_OF(span.from, i);
		span.to = i + 1;
	}
	(void)spend(e->change, s->n_facts);
	if (e->n_spans < ARRAY_LEN(e->spans))
		e->spans[e->n_spans++] = span;
	return span;
}

static bool is_counter_around(const struct fact *f, const char *name, uint32_t byte)
{
	return f->kind == FACT_LOOP && strcmp(f->name, name) == 0 && node_has(f->node, byte);
}

bool is_constant_name(const char *name)
{
	bool letter = false;
	for (; *name; name++) {
		if (!isupper((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_')
			return false;
		letter |= isupper((unsigned char)*name) != 0;
	}
	return letter;
}

long evaluation_free_value(const struct evaluation *e, const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	bool large = e->trial == 0 || text_contains(e->wanted, name) ||
		     (e->trial > 1 && (hash >> (8 + e->trial) & 1));
	uint32_t spread = (hash >> 4) + 7919u * (uint32_t)e->trial;
	if (e->even_constants && is_constant_name(name)) {
		long value = 4;
		while (value < (large ? 2 * e->scale : 0))
			value *= 2;
		return value;
	}
	if (large)
		return 2 * e->scale + 1 + (long)(spread % (uint32_t)e->scale);
	return 3 + (long)(spread % 14);
}

/* The block that a variable lives in: a declaration's compound statement or for loop. */
static bool is_in_scope(const struct fact *f, uint32_t byte)
{
	if (!node_is(f->node, "init_declarator"))
		return true;
	return node_has(node_parent(node_parent(f->node)), byte);
}

static bool assigns(const struct fact *f, const char *name, const struct place *place)
{
	return f->kind == FACT_ASSIGN && strcmp(f->init, name) == 0 && f->op[0] != ':' &&
	       strcmp(f->function, place->function) == 0 && node_end(f->node) <= place->byte &&
	       is_in_scope(f, place->byte);
}

enum reach { REACH_ALWAYS, REACH_NEVER, REACH_UNKNOWN };

/* Whether an assignment has run when `place` is reached. */
static enum reach reaches(struct evaluation *e, const struct fact *f, const struct place *place)
{
	for (const struct guard *g = f->guards; g; g = g->up) {
		if (node_has(g->node, place->byte)) {
			TSNode other = node_field(g->node, "alternative");
			if (!ts_node_is_null(other) &&
				node_has(other, place->byte) != node_contains(other, f->node))
				return REACH_NEVER;
			continue;
		}
		if (g->kind == GUARD_AFTER_EXIT || g->kind == GUARD_WITH || g->kind == GUARD_TRY)
			continue;
		struct place there = {place->function, node_start(g->node), place->depth + 1};
		long value;
		if (g->kind != GUARD_IF || !evaluate(e, g->text, there, &value))
			return REACH_UNKNOWN;
		if (!value)
			return REACH_NEVER;
	}
	return REACH_ALWAYS;
}

static bool assigned_value(
	struct evaluation *e, const struct fact *f, const char *name, struct place place, long *ret_value)
{
	struct place there = {place.function, node_start(f->node), place.depth + 1};
	long before = 0, value;
	if (!f->value[0] || !evaluate(e, f->value, there, &value))
		return false;
	if (f->op[1] && !evaluation_name(e, name, there, &before))
		return false;
	if (f->op[1]) {
		const struct token op = {f->op, strlen(f->op) - 1};
		const struct binary_operator *how = find_operator(&op);
		return how && apply_operator(how, before, value, ret_value);
	}
	*ret_value = value;
	return f->op[0] == '=';
}

/* It gets another value later in a loop around `place` that `f` is not in. */
static bool is_carried(struct evaluation *e, const struct fact *f, const char *name, uint32_t byte)
{
	const struct source *s = e->source;
	struct span span = find_span(e, f->function);
	for (size_t i = span.from; i < span.to; i++) {
		const struct fact *later = &s->facts[i];
		if (later->kind != FACT_ASSIGN || strcmp(later->init, name) != 0 ||
			!same_function(later, f) || node_start(later->node) < byte)
			continue;
		for (const struct guard *g = later->guards; g; g = g->up)
			if (g->kind == GUARD_LOOP && node_has(g->node, byte) &&
				!node_contains(g->node, f->node))
				return true;
	}
	return false;
}

static const struct fact *find_define(struct evaluation *e, const char *name)
{
	struct span span = find_span(e, NULL);
	for (size_t i = span.from; i < span.to; i++) {
		const struct fact *f = &e->source->facts[i];
		if (f->kind == FACT_DEFINE && strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static bool bound_value(struct evaluation *e, const char *name, uint32_t byte, long *ret_value)
{
	for (size_t i = e->n_bound; i-- > 0;)
		if (strcmp(e->bound[i].name, name) == 0) {
			*ret_value = e->bound[i].value;
			return true;
		}
	for (size_t i = 0; i < e->n_watched; i++)
		if (is_counter_around(e->watched[i], name, byte)) {
			e->watched_used |= 1u << i;
			*ret_value = 1;
			return true;
		}
	return false;
}

static bool may_look(struct evaluation *e, const char *function)
{
	struct span span = find_span(e, function), macros = find_span(e, NULL);
	size_t facts = (span.to > span.from ? span.to - span.from : 0) +
		       (macros.to > macros.from ? macros.to - macros.from : 0) + 16;
	e->facts_seen += facts;
	return e->facts_seen <= FACTS_CAP && spend(e->change, facts);
}

bool evaluation_name(struct evaluation *e, const char *name, struct place place, long *ret_value)
{
	const struct source *s = e->source;
	if (bound_value(e, name, place.byte, ret_value))
		return true;
	if (!may_look(e, place.function))
		return false;
	const struct fact *define = find_define(e, name);
	if (define && define->value[0] && !define->init[0]) {
		place.depth++;
		return evaluate(e, define->value, place, ret_value);
	}
	struct span span = find_span(e, place.function);
	bool counter = false;
	for (size_t i = span.from; i < span.to && !counter; i++)
		counter = is_counter_around(&s->facts[i], name, place.byte);
	for (size_t i = span.to; i-- > span.from && !counter;) {
		const struct fact *f = &s->facts[i];
		if (!assigns(f, name, &place))
			continue;
		enum reach reach = reaches(e, f, &place);
		if (reach == REACH_NEVER)
			continue;
		return reach == REACH_ALWAYS && !is_carried(e, f, name, place.byte) &&
		       assigned_value(e, f, name, place, ret_value);
	}
	*ret_value = evaluation_free_value(e, name);
	return true;
}

/* ---- calls ---- */

static bool bind(struct evaluation *e, const char *name, long value)
{
	if (e->n_bound >= EVALUATION_BOUND_CAP)
		return false;
	e->bound[e->n_bound++] = (struct bound_name){name, value};
	return true;
}

/* "( a , b )": the names are copied, for they must end where they end. */
static bool call_macro(struct evaluation *e, const struct fact *macro, const long *values, size_t n,
	struct place place, long *ret_value)
{
	char names[EVALUATION_ARGUMENTS_CAP][EVALUATION_NAME_CAP] = {{0}};
	size_t found = 0, outer = e->n_bound;
	struct token t;
	bool fine = true;
	for (const char *at = macro->init; fine && read_token(&at, &t);) {
		if (!isalpha((unsigned char)t.text[0]) && t.text[0] != '_')
			continue;
		fine = found < n && t.length < EVALUATION_NAME_CAP;
		if (!fine)
			break;
		memcpy(names[found], t.text, t.length);
		fine = bind(e, names[found], values[found]);
		found++;
	}
	place.depth++;
	fine = fine && found == n && evaluate(e, macro->value, place, ret_value);
	e->n_bound = outer;
	return fine;
}

/* A function that is one return. */
static bool call_function(
	struct evaluation *e, const char *name, const long *values, size_t n, int depth, long *ret_value)
{
	const struct source *s = e->source;
	const struct fact *result = NULL;
	size_t found = 0, outer = e->n_bound;
	bool fine = true;
	for (size_t i = 0; i < s->n_facts && fine; i++) {
		const struct fact *f = &s->facts[i];
		if (strcmp(f->function, name) != 0)
			continue;
		if (f->kind == FACT_DECLARE && (f->flags & DECLARE_PARAMETER)) {
			fine = found < n && bind(e, f->name, values[found]);
			found++;
		} else if (f->kind == FACT_EXIT) {
			fine = !result && strcmp(f->name, "return") == 0 && !f->guards;
			result = f;
		}
	}
	struct place there = {name, result ? node_start(result->node) : 0, depth + 1};
	fine = fine && result && found == n && evaluate(e, result->value, there, ret_value);
	e->n_bound = outer;
	return fine;
}

bool evaluation_defines(const struct evaluation *e, const char *name)
{
	for (size_t i = 0; i < e->source->n_facts; i++) {
		const struct fact *f = &e->source->facts[i];
		if (f->kind == FACT_FUNCTION && strcmp(f->name, name) == 0)
			return true;
	}
	return false;
}

/* What is defined elsewhere and has a plain name: the smaller or the larger of two. */
static bool call_of_threads(struct evaluation *e, const char *name, long *ret_value)
{
	if (strcmp(name, "omp_get_thread_num") == 0) {
		e->thread_used = true;
		*ret_value = e->thread;
	} else if (strcmp(name, "omp_get_num_threads") == 0) {
		*ret_value = e->parallel ? e->threads : 1;
	} else if (strcmp(name, "omp_get_max_threads") == 0) {
		*ret_value = e->threads;
	} else {
		return false;
	}
	return true;
}

static bool call_known(struct evaluation *e, const char *name, const long *v, size_t n, long *ret_value)
{
	if (n == 0)
		return call_of_threads(e, name, ret_value);
	if (n == 1 && strcmp(name, "int") == 0)
		*ret_value = v[0];
	else if (n == 2 && strcmp(name, "cdiv") == 0 && v[1] > 0)
		*ret_value = (v[0] + v[1] - 1) / v[1];
	else if (n == 2 && strcasestr(name, "min"))
		*ret_value = MIN_OF(v[0], v[1]);
	else if (n == 2 && strcasestr(name, "max"))
		*ret_value = MAX_OF(v[0], v[1]);
	else
		return false;
	return true;
}

bool evaluation_call(struct evaluation *e, const char *name, const long *values, size_t n, struct place place,
	long *ret_value)
{
	if (!may_look(e, place.function))
		return false;
	const struct fact *macro = find_define(e, name);
	if (macro)
		return call_macro(e, macro, values, n, place, ret_value);
	if (evaluation_defines(e, name))
		return call_function(e, name, values, n, place.depth, ret_value);
	return call_known(e, name, values, n, ret_value);
}
