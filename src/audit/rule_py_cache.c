/*
 * A5 for Python: results kept across steps. Whatever outlives a call can keep: module variables, attributes,
 * attributes of functions, mutable defaults, caching decorators, variables of the loop's function. What is
 * kept is harmless when it depends on shapes and types only.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

struct keepers {
	const struct fact **facts;
	size_t n, room;
};

static void keepers_release(struct keepers *k)
{
	free(k->facts);
}

static void keep(struct keepers *k, const struct fact *f)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->facts[i]->name, f->name) == 0 && same_function(k->facts[i], f))
			return;
	grow_array(&k->facts, &k->room, k->n + 1, sizeof(*k->facts));
	k->facts[k->n++] = f;
}

/* recompute_layers: int = 4, and nothing sets it again: a setting. */
static bool is_setting(const struct change *change, const struct fact *f)
{
	size_t set = 0;
	if (!spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *g = change->new[i];
		if (!py_is_assignment(g) || strcmp(g->name, f->name) != 0)
			continue;
		if (!py_is_literal(g->value) || strcmp(g->value, "None") == 0 || strchr("[{(", g->value[0]))
			return false;
		set++;
	}
	return set == 1;
}

static void find_keepers(const struct change *change, struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool declared = f->kind == FACT_DECLARE && (f->flags & DECLARE_STATIC);
		bool assigned = f->kind == FACT_ASSIGN && f->op[0] == '=' && f->name[0];
		if ((!declared && !assigned) || f->twin || !spend(change, k->n) ||
			existed(change, FACT_NAME, f->name) || is_setting(change, f))
			continue;
		keep(k, f);
	}
}

/* A name that keeps its value from one turn or call to the next, seen from `at`. */
static bool keeps(
	const struct change *change, const struct keepers *k, const char *name, const struct fact *at)
{
	if (!spend(change, k->n))
		return false;
	for (size_t i = 0; i < k->n; i++) {
		const struct fact *f = k->facts[i];
		if (strcmp(f->name, name) != 0)
			continue;
		if (f->flags & (DECLARE_STATIC | DECLARE_FIELD))
			return true;
		if (same_function(f, at) && f->loops < at->loops)
			return true;
		/* a closure's variable */
		if (!same_function(f, at) && strncmp(at->function, f->function, strlen(f->function)) == 0)
			return true;
	}
	return false;
}

static bool mentions_keeper(
	const struct change *change, const struct keepers *k, const struct fact *at, const char *text)
{
	struct token t, last = {"", 0}, earlier = {"", 0};
	for (; next_token(&text, &t); earlier = last, last = t) {
		char name[80] = "";
		size_t quote = t.text[0] == '"' && t.length > 2;
		if (t.length >= sizeof(name))
			continue;
		/* hasattr(self, "_mask") */
		memcpy(name, t.text + quote, t.length - 2 * quote);
		if (keeps(change, k, name, at))
			return true;
		/* self.seen, wherever it is made */
		if (token_is(&last, ".") && token_is(&earlier, "self") && !existed(change, FACT_NAME, name) &&
			!(py_find(change, true, FACT_ASSIGN, name, NULL) &&
				is_setting(change, py_find(change, true, FACT_ASSIGN, name, NULL))))
			return true;
	}
	return false;
}

/* cached = cache.get(key): then `cached is None` asks the cache. */
static bool asks_keeper(const struct change *change, const struct keepers *k, const struct fact *branch)
{
	if (mentions_keeper(change, k, branch, branch->value))
		return true;
	struct token t;
	for (const char *at = branch->value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		bool resolved;
		const char *value =
			text_has_identifier(name) ? py_resolve(change, branch, name, &resolved) : name;
		if (value != name && resolved && mentions_keeper(change, k, branch, value))
			return true;
	}
	return false;
}

/* ---- what the computation depends on ---- */

static bool is_table_name(const char *name)
{
	static const char *const parts[] = {"mask", "rope", "cos", "sin", "freq", "pos", "table", "alibi",
		"arange", "tril", "triu", "bias", "buffer", "grid", "window", "causal", "workspace", "angles",
		"stream"};
	return HAS(name, parts);
}

static bool is_data_like(const char *name)
{
	static const char *const further[] = {"q", "k", "v", "qkv", "attn", "weight", "w", "grad", "grads",
		"p", "params", "state", "loss", "key_states", "query", "value", "embeddings", "probs",
		"scores"};
	return (py_is_data_name(name) || IN(name, further)) && !is_table_name(name);
}

/* x.shape, x.device, len(x), empty_like(x): nothing of what is in x; nor does x = ... read it. */
static bool asks_for_shape(TSNode identifier, const struct source *s)
{
	static const char *const attributes[] = {"shape", "device", "dtype", "size", "dim", "ndim", "numel",
		"is_cuda", "stride", "layout", "new_empty", "new_zeros", "new_ones", "type", "get_device",
		"new_full"};
	static const char *const functions[] = {
		"len", "empty_like", "zeros_like", "ones_like", "isinstance", "type", "id", "full_like"};
	TSNode parent = node_parent(identifier);
	TSNode name = {0};
	if (node_is(parent, "assignment") && ts_node_eq(node_field(parent, "left"), identifier))
		return true;
	bool of_object = node_is(parent, "attribute") && ts_node_eq(node_field(parent, "object"), identifier);
	if (of_object)
		name = node_field(parent, "attribute");
	else if (node_is(parent, "argument_list"))
		name = node_field(node_parent(parent), "function");
	else if (node_is(parent, "keyword_argument"))
		return ts_node_eq(node_field(parent, "name"), identifier);
	if (node_is(parent, "attribute") && !of_object)
		return true; /* the attribute itself */
	if (node_is(name, "attribute"))
		name = node_field(name, "attribute");
	if (ts_node_is_null(name))
		return false;
	char text[40] = "";
	uint32_t from = node_start(name), length = node_end(name) - from;
	memcpy(text, s->text + from, MIN_OF(length, (uint32_t)sizeof(text) - 1));
	return of_object ? IN(text, attributes) : IN(text, functions);
}

enum dependence { ON_NOTHING, ON_SIZES, ON_UNKNOWN, ON_DATA };

static bool is_harmless_call(const struct fact *f)
{
	static const char *const makers[] = {"empty", "zeros", "ones", "full", "arange", "linspace", "tril",
		"triu", "outer", "cos", "sin", "to", "view", "unsqueeze", "expand", "masked_fill", "get",
		"size", "clear", "append", "dim", "tuple", "str", "int", "hasattr", "getattr", "new_empty",
		"new_zeros", "pow", "cat", "stack", "polar", "logical_not", "Stream", "Event", "CUDAGraph",
		"pin_memory", "contiguous", "register_buffer", "float", "torch", "device", "exp", "log",
		"repeat", "setdefault", "pop", "items", "bool", "type", "transpose", "squeeze", "flip",
		"reshape", "current_stream", "graph_pool_handle", "new_group"};
	size_t length = strlen(f->name);
	return IN(f->name, makers) || is_table_name(f->name) ||
	       (length > 5 && strcmp(f->name + length - 5, "_like") == 0);
}

static enum dependence call_depends(const struct fact *call)
{
	if (is_harmless_call(call))
		return ON_SIZES;
	if (py_is_work(call) || py_is_update(call) || py_is_load(call) || py_is_random(call))
		return ON_DATA;
	return py_is_quiet(call) || py_is_constructor(call->name) ? ON_NOTHING : ON_UNKNOWN;
}

static enum dependence depends(const struct change *change, const struct source *s, TSNode part)
{
	enum dependence found = ON_NOTHING;
	if (!spend(change, s->n_facts))
		return ON_UNKNOWN;
	for (size_t i = 0; i < s->n_facts && found != ON_DATA; i++) {
		const struct fact *f = &s->facts[i];
		enum dependence one = ON_NOTHING;
		if (!node_contains(part, f->node))
			continue;
		if (f->kind == FACT_CALL)
			one = call_depends(f);
		else if (f->kind == FACT_NAME && is_data_like(f->name) && !asks_for_shape(f->node, s))
			one = ON_DATA;
		found = MAX_OF(found, one);
	}
	return found;
}

/* ---- branches ---- */

static bool leaves_function(const struct source *s, TSNode part)
{
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_EXIT && strcmp(s->facts[i].name, "raise") != 0 &&
			node_contains(part, s->facts[i].node))
			return true;
	return false;
}

/* What is done only once: the branch, or everything after it where the branch leaves. */
static TSNode guarded_part(const struct fact *branch)
{
	TSNode part = node_field(branch->node, "consequence");
	if (ts_node_is_null(part))
		return branch->node;
	if (leaves_function(branch->source, part)) {
		TSNode rest = node_parent(branch->node);
		return ts_node_is_null(rest) ? part : rest;
	}
	return part;
}

static bool only_sizes_named(const struct fact *branch)
{
	return is_table_name(branch->function) || is_table_name(branch->value);
}

/* The function that records and replays a device graph: check_graphs() asks what is copied into it. */
static bool records_graph(const struct change *change, const struct fact *branch)
{
	return py_find(change, true, FACT_CALL, "CUDAGraph", branch->function) &&
	       py_find(change, true, FACT_CALL, "replay", branch->function);
}

static void check_branches(struct change *change, const struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_BRANCH || f->twin || !asks_keeper(change, k, f) ||
			py_only_logs(change, f->source, f->node) || records_graph(change, f))
			continue;
		enum dependence on = depends(change, f->source, guarded_part(f));
		if (on == ON_DATA)
			report(change, AUDIT_BLOCK, f,
				"a computation on inputs or parameters is done once and kept");
		else if (on == ON_UNKNOWN && !only_sizes_named(f))
			report(change, AUDIT_REVIEW, f,
				"a computation is done once and kept: it must depend on sizes only");
	}
}

/* try: return cache[key] except KeyError: ... */
static void check_handlers(struct change *change, const struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool lookup = strstr(f->name, "KeyError") || strstr(f->name, "AttributeError") ||
			      strstr(f->name, "NameError");
		if (f->kind != FACT_HANDLER || f->twin || !lookup)
			continue;
		TSNode whole = node_parent(f->node);
		bool kept = mentions_keeper(change, k, f, f->value);
		for (size_t n = 0; n < f->source->n_facts && !kept; n++) {
			const struct fact *g = &f->source->facts[n];
			kept = g->kind == FACT_NAME && node_contains(whole, g->node) &&
			       keeps(change, k, g->name, f);
		}
		if (!kept)
			continue;
		enum dependence on = depends(change, f->source, f->node);
		if (on == ON_DATA || on == ON_UNKNOWN)
			report(change, on == ON_DATA ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a computation is done once and kept");
	}
}

/* ---- decorators ---- */

static bool is_caching(const char *name)
{
	static const char *const names[] = {"lru_cache", "cache", "cached", "memoize", "memoized",
		"cached_property", "memo", "once", "weak_lru"};
	return IN(name, names);
}

/* A function whose arguments are sizes and that calls no part of the model. */
static enum dependence parameter_depends(const char *name)
{
	return is_data_like(name) || word_in(name, WORDS_STEP) || strcmp(name, "model") == 0 ? ON_DATA
											     : ON_SIZES;
}

static enum dependence function_depends(const struct change *change, const char *function)
{
	enum dependence found = ON_NOTHING;
	for (size_t i = 0; i < change->n_new && found != ON_DATA; i++) {
		const struct fact *f = change->new[i];
		enum dependence one = ON_NOTHING;
		if (strcmp(f->function, function) != 0)
			continue;
		if (f->kind == FACT_DECLARE && (f->flags & DECLARE_PARAMETER))
			one = parameter_depends(f->name);
		else if (f->kind == FACT_CALL)
			one = call_depends(f);
		found = MAX_OF(found, one);
	}
	return found;
}

static void check_cached_function(struct change *change, const struct fact *f, const char *function)
{
	enum dependence on = function_depends(change, function);
	bool work = word_in(py_short(function), WORDS_WORK) || word_in(py_short(function), WORDS_LOADER) ||
		    py_is_forward(function);
	if (on == ON_DATA || (work && !is_table_name(function)))
		report(change, AUDIT_BLOCK, f, "a function of inputs or parameters returns what it kept");
	else if (on == ON_UNKNOWN && !is_table_name(function))
		report(change, AUDIT_REVIEW, f,
			"a function returns what it kept: it must depend on sizes only");
}

static void check_decorators(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->twin)
			continue;
		if (f->kind == FACT_DECORATOR && is_caching(f->name)) {
			check_cached_function(change, f, f->function);
			continue;
		}
		/* f = lru_cache(None)(f) */
		if (f->kind == FACT_ASSIGN &&
			(text_has_token(f->value, "lru_cache") || text_has_token(f->value, "memoize") ||
				strncmp(f->value, "cache (", 7) == 0 ||
				text_contains(f->value, "functools . cache")))
			check_cached_function(change, f, f->name);
	}
}

/* ---- results and inputs that are kept ---- */

static void check_kept_results(struct change *change, const struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool hands_out =
			(f->kind == FACT_EXIT && (py_is_forward(f->function) ||
							 word_in(py_short(f->function), WORDS_RESULT))) ||
			(f->kind == FACT_ASSIGN && f->op[0] == '=' && word_in(f->name, WORDS_RESULT) &&
				!(f->flags & DECLARE_FIELD));
		if (!hands_out || !is_added(f) || !mentions_keeper(change, k, f, f->value) ||
			mentions_keeper(change, k, f, f->init) || py_replays_graph(change))
			continue;
		if (text_has_word(f->value, WORDS_STALE))
			report(change, AUDIT_REVIEW, f, "a result is read from what outlives the call");
	}
}

/* if torch.equal(x, self.last): an input recognised in order to reuse its result */
static void check_recognition(struct change *change, const struct keepers *k)
{
	static const char *const compare[] = {"equal", "allclose", "data_ptr", "id", "hash", "array_equal"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_BRANCH || f->twin || py_is_evaluation(f->function))
			continue;
		bool compares = py_text_has_any(f->value, compare, ARRAY_LEN(compare)) ||
				text_has_token(f->value, "is");
		bool kept = mentions_keeper(change, k, f, f->value) || text_has_word(f->value, WORDS_STALE);
		bool data = false;
		struct token t;
		for (const char *at = f->value; next_token(&at, &t);) {
			char name[80] = "";
			memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
			data |= is_data_like(name);
		}
		if (compares && kept && data && !text_contains(f->value, "None"))
			report(change, AUDIT_BLOCK, f, "an input is compared with a kept one");
	}
}

/* A graph works on fixed buffers: each batch must be copied into them. */
static void check_graphs(struct change *change)
{
	const struct fact *replay = py_find(change, true, FACT_CALL, "replay", NULL);
	if (!replay || replay->twin || !py_replays_graph(change))
		return;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!same_function(f, replay) || f->loops < replay->loops)
			continue;
		if (f->kind == FACT_CALL &&
			(strcmp(f->name, "copy_") == 0 || strcmp(f->name, "_foreach_copy_") == 0))
			return;
		if (f->kind == FACT_ASSIGN && strchr(f->init, '['))
			return;
	}
	report(change, AUDIT_BLOCK, replay, "a graph is replayed on inputs that nothing copies in");
}

/* kept.setdefault(key, model(x)) */
static void check_defaults(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin || strcmp(f->name, "setdefault") != 0)
			continue;
		TSNode arguments = node_field(f->node, "arguments");
		if (depends(change, f->source, arguments) == ON_DATA)
			report(change, AUDIT_BLOCK, f, "a computation on inputs or parameters is kept");
	}
}

void rule_py_cache(struct change *change)
{
	CLEANUP(keepers_release) struct keepers k = {0};
	find_keepers(change, &k);
	check_branches(change, &k);
	check_handlers(change, &k);
	check_decorators(change);
	check_kept_results(change, &k);
	check_recognition(change, &k);
	check_graphs(change);
	check_defaults(change);
}
