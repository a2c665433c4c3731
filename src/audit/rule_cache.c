/*
 * A5: results kept across steps. A variable or field that is new, outlives a call and guards a computation
 * ("once") is harmless when what is computed depends on shapes only, and a cheat when it depends on inputs or
 * parameters.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/audit_int.h"
#include "base/memory.h"

/* Names that keep their values: new statics, file-level variables and fields. */
static bool is_new_keeper(const struct fact *f)
{
	return f->kind == FACT_DECLARE && !f->twin && f->name[0] && !(f->flags & DECLARE_FUNCTION) &&
	       !(f->flags & DECLARE_PARAMETER) &&
	       ((f->flags & DECLARE_FIELD) || ((f->flags & DECLARE_STATIC) && !(f->flags & DECLARE_CONST)));
}

struct keepers {
	const char **names;
	size_t n, room;
};

static void keepers_release(struct keepers *k)
{
	free(k->names);
}

static void find_keepers(const struct change *change, struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		if (!is_new_keeper(change->new[i]))
			continue;
		grow_array(&k->names, &k->room, k->n + 1, sizeof(*k->names));
		k->names[k->n++] = change->new[i]->name;
	}
}

static bool is_keeper_name(const struct change *change, const struct keepers *k, const char *name)
{
	return spend(change, k->n) && name_is_one_of(name, k->names, k->n);
}

static bool declared_in(const struct change *change, const struct source *s, TSNode node, const char *name)
{
	if (!spend(change, s->n_facts))
		return true;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_DECLARE && strcmp(s->facts[i].name, name) == 0 &&
			node_contains(node, s->facts[i].node))
			return true;
	return false;
}

/* A name that a parameter or variable of the function declares as a pointer or array. */
static bool is_pointer(
	const struct change *change, const struct source *s, const char *function, const char *name)
{
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_DECLARE && strcmp(f->name, name) == 0 &&
			(f->flags & (DECLARE_POINTER | DECLARE_ARRAY)) &&
			(strcmp(f->function, function) == 0 || !f->function[0]))
			return true;
	}
	return false;
}

static bool is_subscript_base(TSNode identifier)
{
	TSNode parent = node_parent(identifier);
	return node_is(parent, "subscript_expression") &&
	       ts_node_eq(node_field(parent, "argument"), identifier);
}

static bool is_training_call(const struct fact *f)
{
	return f->kind == FACT_CALL && !word_in(f->name, WORDS_ALLOCATE) &&
	       (word_in(f->name, WORDS_WORK) || word_in(f->name, WORDS_UPDATE) ||
		       word_in(f->name, WORDS_DATA) || word_in(f->name, WORDS_RANDOM));
}

/* An identifier whose contents are read here: an argument, an array's base, an operand. */
static bool is_handed_on(const struct fact *f)
{
	if (f->kind != FACT_NAME || !node_is(f->node, "identifier"))
		return false;
	TSNode parent = node_parent(f->node);
	return node_is(parent, "argument_list") || node_is(parent, "binary_expression") ||
	       is_subscript_base(f->node);
}

/* Work whose outcome depends on more than sizes: it reads arrays that are not its own, or calls the model. */
static bool depends_on_data(const struct change *change, const struct keepers *k, const struct source *s,
	TSNode block, const char *function)
{
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(block, f->node))
			continue;
		if (is_training_call(f))
			return true;
		if (!is_handed_on(f) || is_keeper_name(change, k, f->name) ||
			declared_in(change, s, block, f->name))
			continue;
		if (is_pointer(change, s, function, f->name))
			return true;
	}
	return false;
}

static bool token_is_keeper(const struct change *change, const struct keepers *k, const struct token *t)
{
	char name[80] = "";
	if (t->length >= sizeof(name))
		return false;
	memcpy(name, t->text, t->length);
	return is_keeper_name(change, k, name);
}

static bool has_keeper_token(const struct change *change, const struct keepers *k, const char *text)
{
	struct token t;
	while (next_token(&text, &t))
		if (token_is_keeper(change, k, &t))
			return true;
	return false;
}

/* A variable of the function that ends with the call and holds its value itself: no static, no pointer, no
 * copy of what was kept. */
static bool is_local_object(
	const struct change *change, const struct keepers *k, const struct fact *at, const struct token *name)
{
	const struct source *s = at->source;
	bool local = false;
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!token_is(name, f->kind == FACT_ASSIGN ? f->init : f->name) || !same_function(f, at))
			continue;
		if (f->kind == FACT_ASSIGN && f->value[0] != '{' && has_keeper_token(change, k, f->value))
			return false;
		if (f->kind != FACT_DECLARE || (f->flags & DECLARE_FIELD))
			continue;
		bool is_array_parameter = (f->flags & DECLARE_PARAMETER) && (f->flags & DECLARE_ARRAY);
		if ((f->flags & (DECLARE_STATIC | DECLARE_POINTER)) || is_array_parameter)
			return false;
		local = true;
	}
	return local;
}

enum { BRACKETS_CAP = 16 };

/* `text` is part of `at`. The fields of a local object, as in `two . value` or `sums [ k ] . total`, end with
 * the call as it does. */
static bool mentions_keeper(
	const struct change *change, const struct keepers *k, const struct fact *at, const char *text)
{
	struct token t;
	bool local[BRACKETS_CAP] = {false}, is_field = false; /* by depth of brackets */
	size_t depth = 0;
	while (next_token(&text, &t)) {
		bool was_field = is_field;
		is_field = token_is(&t, ".") || token_is(&t, "->");
		if (token_is(&t, "[") && depth + 1 < BRACKETS_CAP)
			local[++depth] = false;
		else if (token_is(&t, "]") && depth)
			depth--;
		else if (token_is(&t, "->"))
			local[depth] = false;
		else if (was_field && !local[depth] && token_is_keeper(change, k, &t))
			return true;
		else if (!is_field && !was_field) {
			local[depth] = is_local_object(change, k, at, &t);
			if (!local[depth] && token_is_keeper(change, k, &t))
				return true;
		}
	}
	return false;
}

static bool only_allocates(const struct source *s, TSNode block)
{
	bool allocates = false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(block, f->node))
			continue;
		if (f->kind == FACT_CALL && word_in(f->name, WORDS_ALLOCATE))
			allocates = true;
		else if (f->kind == FACT_LOOP)
			return false;
	}
	return allocates;
}

/* if (ready) return ...; the rest of the function is what is done once. */
static TSNode guarded_part(const struct fact *branch, bool *skips_rest)
{
	TSNode block = node_field(branch->node, "consequence");
	const struct source *s = branch->source;
	*skips_rest = false;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_EXIT && node_contains(block, s->facts[i].node))
			*skips_rest = true;
	return *skips_rest ? node_parent(branch->node) : block;
}

/* for (...; i < n && !drawn; ...), while (!drawn): the loop runs once; i < kept_count alone is a bound. */
static bool runs_once(const struct change *change, const struct keepers *k, const struct fact *loop)
{
	CLEANUP(free_ptr) char *plain = xasprintf("%s < %s", loop->name, loop->value);
	return loop->kind == FACT_LOOP && is_added(loop) && strcmp(loop->condition, plain) != 0 &&
	       mentions_keeper(change, k, loop, loop->condition);
}

static void check_branches(struct change *change, const struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool branches = f->kind == FACT_BRANCH && !f->twin && mentions_keeper(change, k, f, f->value);
		if ((!branches && !runs_once(change, k, f)) || only_logs(change, f->source, f->node))
			continue;
		bool skips_rest;
		TSNode part =
			f->kind == FACT_LOOP ? node_field(f->node, "body") : guarded_part(f, &skips_rest);
		if (only_allocates(f->source, part))
			continue;
		if (depends_on_data(change, k, f->source, part, f->function))
			report(change, AUDIT_BLOCK, f,
				"a computation on inputs or parameters is done once and kept");
		else
			report(change, AUDIT_REVIEW, f,
				"a computation is done once and kept: it must depend on sizes only");
	}
}

static bool is_plain_target(const struct fact *name)
{
	TSNode parent = node_parent(name->node);
	TSNode op = node_field(parent, "operator");
	return node_is(parent, "assignment_expression") && !ts_node_is_null(op) &&
	       name->source->text[node_start(op)] == '=' &&
	       ts_node_eq(node_field(parent, "left"), name->node);
}

/* Its value is used in the function before it is set there, or to set it: it comes from an earlier call. */
static bool is_carried_over(const struct change *change, const struct fact *at, const char *name)
{
	bool set = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!same_function(f, at) || strcmp(f->name, name) != 0)
			continue;
		if (f->kind == FACT_ASSIGN && !node_is(f->node, "init_declarator") &&
			(f->op[0] != '=' || text_contains(f->value, name)))
			return true;
		TSNode parent = node_parent(f->node);
		bool declares = node_is(parent, "declaration") ||
				(node_is(parent, "init_declarator") &&
					ts_node_eq(node_field(parent, "declarator"), f->node));
		if (f->kind != FACT_NAME || declares)
			continue;
		if (!set && !is_plain_target(f))
			return true;
		set = true;
	}
	return false;
}

/* A pointer that is only ever set to memory: where it leads is kept, not what stands there. */
static bool is_storage(const struct change *change, const struct fact *at, const char *name)
{
	bool allocated = false;
	if (!is_pointer(change, at->source, at->function, name) || !spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !same_function(f, at) || strcmp(f->name, name) != 0)
			continue;
		const char *value = f->value;
		struct token t;
		char first[80] = "";
		if (next_token(&value, &t))
			memcpy(first, t.text, MIN_OF(t.length, sizeof(first) - 1));
		bool is_call = next_token(&value, &t) && token_is(&t, "(");
		bool is_nothing = !is_call && (strcmp(first, "NULL") == 0 || strcmp(first, "0") == 0);
		if (!is_nothing && !(is_call && word_in(first, WORDS_ALLOCATE)))
			return false;
		allocated |= is_call;
	}
	return allocated;
}

static bool hands_out_earlier(
	const struct change *change, const struct keepers *k, const struct fact *f, const char *value)
{
	struct token t;
	if (is_storage(change, f, value))
		return false;
	for (const char *at = value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (token_is_keeper(change, k, &t) && !is_local_object(change, k, f, &t) &&
			spend(change, change->n_new) && is_carried_over(change, f, name))
			return true;
	}
	return false;
}

/* Scalars that outlive a call and end up in a result. */
static void check_kept_results(struct change *change, const struct keepers *k)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool hands_out =
			f->kind == FACT_EXIT || (f->kind == FACT_ASSIGN && word_in(f->name, WORDS_RESULT));
		if (!hands_out)
			continue;
		const char *value = f->value;
		if (!mentions_keeper(change, k, f, value))
			value = resolve(change, f->function, value);
		if (is_added(f) && mentions_keeper(change, k, f, value) &&
			!mentions_keeper(change, k, f, f->init))
			report(change, hands_out_earlier(change, k, f, value) ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a result is read from a variable that outlives the call");
	}
}

/* memcmp(tokens, last_tokens, ...): recognising an input in order to reuse its result. */
static void check_recognition(struct change *change, const struct keepers *k)
{
	static const char *const compare[] = {"memcmp", "strcmp", "strncmp", "bcmp"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin || !name_is_one_of(f->name, compare, ARRAY_LEN(compare)))
			continue;
		bool kept = mentions_keeper(change, k, f, f->value) || text_has_word(f->value, WORDS_STALE);
		if (kept || text_has_word(f->value, WORDS_DATA))
			report(change, kept ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"an input is compared with a kept one: its result may be reused");
	}
}

void rule_cache(struct change *change)
{
	CLEANUP(keepers_release) struct keepers k = {0};
	find_keepers(change, &k);
	check_branches(change, &k);
	check_kept_results(change, &k);
	check_recognition(change, &k);
}
