#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/facts_walk.h"
#include "base/memory.h"

/* Bytes of source turned into normalised texts for one file: nested expressions are read once a level. */
enum { TEXT_BUDGET_BYTES = 256 << 20 };

static uint64_t hash_fact(enum fact_kind kind, const char *text)
{
	uint64_t hash = 14695981039346656037u + kind; /* FNV-1a */
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

/* Loops, contexts and the bodies of try do not decide whether something runs. */
static bool is_condition(enum guard_kind kind)
{
	return kind != GUARD_LOOP && kind != GUARD_WITH && kind != GUARD_TRY;
}

static uint64_t hash_conditions(const struct guard *guard)
{
	uint64_t above = guard->up ? guard->up->conditions : 0;
	return is_condition(guard->kind) ? above * 31 + hash_fact(0, guard->text) : above;
}

const char *walk_text(struct walker *w, TSNode node)
{
	if (ts_node_is_null(node))
		return "";
	size_t bytes = node_end(node) - node_start(node);
	if (bytes > w->budget_bytes) {
		w->too_long = true;
		return "";
	}
	w->budget_bytes -= bytes;
	node_text(w->source, node, &w->text);
	return arena_strndup(w->arena, w->text.buf, w->text.len);
}

struct fact *walk_add(struct walker *w, enum fact_kind kind, TSNode node, const char *name, const char *text,
	const struct scope *scope)
{
	struct source *s = w->source;
	grow_array(&s->facts, &w->room, s->n_facts + 1, sizeof(*s->facts));
	s->facts[s->n_facts] = (struct fact){.kind = kind,
		.name = name,
		.text = text,
		.value = "",
		.init = "",
		.step = "",
		.op = "",
		.condition = "",
		.function = scope->function,
		.guards = scope->guards,
		.source = s,
		.node = node,
		.loops = scope->loops,
		.line = (int)ts_node_start_point(node).row + 1,
		.hash = hash_fact(kind, text)};
	return &s->facts[s->n_facts++];
}

const struct guard *walk_guard_inside(struct walker *w, const struct scope *scope, enum guard_kind kind,
	const char *text, TSNode node, TSNode inside)
{
	struct guard *guard = arena_alloc(w->arena, sizeof(*guard));
	*guard = (struct guard){
		.up = scope->guards, .kind = kind, .text = text, .node = node, .inside = inside};
	guard->conditions = hash_conditions(guard);
	return guard;
}

const struct guard *walk_guard(
	struct walker *w, const struct scope *scope, enum guard_kind kind, const char *text, TSNode node)
{
	return walk_guard_inside(w, scope, kind, text, node, (TSNode){0});
}

const struct guard *walk_guard_after(
	struct walker *w, const struct scope *scope, const char *text, TSNode node, bool is_error_path)
{
	struct guard *guard = arena_alloc(w->arena, sizeof(*guard));
	*guard = (struct guard){.up = scope->guards,
		.kind = GUARD_AFTER_EXIT,
		.text = text,
		.node = node,
		.is_error_path = is_error_path};
	guard->conditions = hash_conditions(guard);
	return guard;
}

void walk_children(struct walker *w, TSNode node, const struct scope *scope)
{
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do
			walk_node(w, ts_tree_cursor_current_node(&cursor), scope);
		while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

static int compare_handler(const void *type, const void *handler)
{
	return strcmp(type, ((const struct walk_handler *)handler)->type);
}

void walk_node(struct walker *w, TSNode node, const struct scope *scope)
{
	if (ts_node_is_null(node) || !ts_node_is_named(node) || w->too_long)
		return;
	if (w->depth >= SYNTAX_DEPTH_CAP) {
		w->too_deep = true;
		return;
	}
	w->depth++;
	const struct walk_handler *handler =
		bsearch(node_type(node), w->handlers, w->n_handlers, sizeof(*handler), compare_handler);
	if (!handler) {
		walk_children(w, node, scope);
	} else if (handler->walk) {
		handler->walk(w, node, scope);
	} else {
		const char *text = walk_text(w, node);
		walk_add(w, handler->plain, node, text, text, scope);
	}
	w->depth--;
}

enum err_code walk_source(struct source *source, const struct walk_handler *handlers, size_t n_handlers,
	struct arena *arena, struct err *reterr)
{
	struct walker w = {.source = source,
		.arena = arena,
		.text = STRBUF_INIT,
		.handlers = handlers,
		.n_handlers = n_handlers,
		.budget_bytes = TEXT_BUDGET_BYTES};
	struct scope scope = {.function = "", .prefix = "", .callee = ""};
	walk_node(&w, ts_tree_root_node(source->tree), &scope);
	strbuf_release(&w.text);
	if (w.too_deep)
		return err_set_at(reterr, ERR_LIMIT, source->path, 0, 0, "nested more than %d levels deep",
			SYNTAX_DEPTH_CAP);
	if (w.too_long)
		return err_set_at(
			reterr, ERR_LIMIT, source->path, 0, 0, "expressions too long and nested to analyse");
	return OK;
}

void walk_exit(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *value = walk_text(w, node_named(node, 0));
	const char *keyword = walk_text(w, node_child(node, 0));
	const char *guard = scope->guards ? scope->guards->text : "";
	struct fact *fact = walk_add(w, FACT_EXIT, node, keyword,
		arena_printf(w->arena, "%s %s | %s", keyword, value, guard), scope);
	fact->value = value;
	walk_children(w, node, scope);
}
