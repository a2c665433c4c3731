/* What the walkers of all languages share: adding facts and guards, normalised texts within a budget, and the
 * table that says what is done with which node. */
#ifndef INFRARSI_AUDIT_FACTS_WALK_H
#define INFRARSI_AUDIT_FACTS_WALK_H

#include "audit/facts.h"
#include "base/strbuf.h"

struct walker;

struct scope {
	const char *function;
	const struct guard *guards;
	int loops;
	/* Python */
	const char *prefix; /* of names defined here: "Trainer.step." */
	const char *callee; /* whose arguments these are */
	bool in_class;      /* directly in a class's body */
};

/* Sorted by type: found by bisection. */
struct walk_handler {
	const char *type;
	void (*walk)(struct walker *w, TSNode node, const struct scope *scope);
	enum fact_kind plain; /* where walk is NULL: a fact that is its own text */
};

/* from time import perf_counter as now */
struct import_alias {
	const struct import_alias *next;
	const char *bound, *module, *name;
};

struct walker {
	struct source *source;
	struct arena *arena;
	struct strbuf text; /* reused */
	const struct walk_handler *handlers;
	size_t n_handlers;
	const struct import_alias *aliases; /* Python */
	size_t room;
	size_t budget_bytes;
	int depth;
	bool too_deep, too_long;
};

/* Walks the whole tree of w->source. ERR_LIMIT when it is nested too deeply or its texts get too long. */
enum err_code walk_source(struct source *source, const struct walk_handler *handlers, size_t n_handlers,
	struct arena *arena, struct err *reterr) MUST_CHECK;

void walk_node(struct walker *w, TSNode node, const struct scope *scope);
void walk_children(struct walker *w, TSNode node, const struct scope *scope);

/* The normalised text of a node, in the arena; "" for a null node and when the budget is used up (too_long).
 */
const char *walk_text(struct walker *w, TSNode node);

/* A fact's address is good until the next one is added. */
struct fact *walk_add(struct walker *w, enum fact_kind kind, TSNode node, const char *name, const char *text,
	const struct scope *scope);
const struct guard *walk_guard(
	struct walker *w, const struct scope *scope, enum guard_kind kind, const char *text, TSNode node);
/* As walk_guard(); what is guarded lies in `inside`. */
const struct guard *walk_guard_inside(struct walker *w, const struct scope *scope, enum guard_kind kind,
	const char *text, TSNode node, TSNode inside);
const struct guard *walk_guard_after(
	struct walker *w, const struct scope *scope, const char *text, TSNode node, bool is_error_path);

/* return, break, continue, goto, raise: the word is the name, with what it gives back and under which
 * condition. */
void walk_exit(struct walker *w, TSNode node, const struct scope *scope);

#endif
