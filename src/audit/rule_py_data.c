/* A9 for Python: the same rows in the same order, the same random numbers. */
#include "base/base.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"
#include "base/strbuf.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- random numbers ---- */

static bool is_seeding(const struct fact *call)
{
	return strstr(call->name, "seed") || strcmp(call->name, "default_rng") == 0 ||
	       strcmp(call->name, "shuffle") == 0 || strcmp(call->name, "Generator") == 0;
}

/* The state is taken and given back: recomputation and graph capture leave it as it was. */
static bool restores_state(const struct change *change, const struct fact *f)
{
	static const char *const states[] = {"set_rng_state", "set_rng_state_all", "fork_rng", "setstate"};
	bool state = IN(f->name, states) || strstr(f->name, "rng");
	for (size_t i = 0; i < change->n_new && state; i++) {
		const struct fact *g = change->new[i];
		if (g->kind == FACT_CALL && !g->twin &&
			(strncmp(g->name, "get_rng_state", 13) == 0 || strcmp(g->name, "fork_rng") == 0 ||
				strcmp(g->name, "getstate") == 0))
			return true;
	}
	return false;
}

static void check_random_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_random(f) || f->same || py_is_evaluation(f->function) || restores_state(change, f))
			continue;
		if (f->twin)
			report(change, AUDIT_BLOCK, f, "a random number generator is called differently");
		else
			report(change,
				is_seeding(f) && py_existed_function(change, f->function) ? AUDIT_BLOCK
											  : AUDIT_REVIEW,
				f, "a further use of a random number generator");
	}
}

static void check_seeds(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool seed = strcasestr(f->name, "seed") && f->kind == FACT_ASSIGN;
		if (seed && is_added(f) && existed(change, FACT_NAME, f->name) &&
			(f->twin || py_is_literal(f->value)))
			report(change, AUDIT_BLOCK, f,
				"a seed or the state of a generator is set differently");
	}
}

/* ---- loaders ---- */

/* shuffle, sampler and the like where a loader is made */
static bool is_loader_keyword(const struct fact *f)
{
	static const char *const telling[] = {"shuffle", "sampler", "batch_sampler", "drop_last", "generator",
		"split", "worker_init_fn", "group_by_length", "length_column_name", "num_replicas",
		"collate_fn", "dataset", "packing", "streaming", "replacement", "num_samples", "max_length",
		"truncation", "train_dataset", "data_seed", "padding", "train_samples"};
	return py_is_option(f) && !f->same && IN(f->name, telling) && !(f->flags & DECLARE_PARAMETER);
}

/* It goes into, or comes from, a call that the other version makes too, and is more than a default. */
static bool matters_to_loader(const struct fact *f)
{
	return !f->twin && f->step[0] && !py_is_off(f->value);
}

/* worker_init_fn=lambda worker: torch.set_num_threads(1) */
static bool only_sets_threads(const struct fact *f)
{
	static const char *const calls[] = {"set_num_threads", "set_num_interop_threads"};
	const struct source *s = f->source;
	bool sets = false;
	for (size_t i = 0; i < s->n_facts; i++) {
		if (s->facts[i].kind != FACT_CALL || !node_contains(f->node, s->facts[i].node))
			continue;
		if (!IN(s->facts[i].name, calls))
			return false;
		sets = true;
	}
	return sets && strcmp(f->name, "worker_init_fn") == 0;
}

static void check_loader_keywords(struct change *change)
{
	static const char reason[] = "rows are chosen or ordered differently";
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_loader_keyword(f) || only_sets_threads(f))
			continue;
		bool certain = py_is_literal(f->value) || strstr(f->name, "sampler");
		if (py_was_here(f))
			report(change, certain ? AUDIT_BLOCK : AUDIT_REVIEW, f, reason);
		else if (matters_to_loader(f) && existed(change, FACT_CALL, f->step))
			report(change, AUDIT_BLOCK, f, reason);
	}
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (is_loader_keyword(f) && matters_to_loader(f) &&
			py_find(change, true, FACT_CALL, f->step, NULL))
			report(change, AUDIT_BLOCK, f, reason);
	}
}

/* cycle(loader), islice(loader, 4), [batch] * n, Subset(dataset, ...) */
static bool takes_fewer(const struct fact *call)
{
	static const char *const names[] = {"islice", "cycle", "Subset", "random_split",
		"SubsetRandomSampler", "SequentialSampler", "takewhile", "train_test_split", "shard",
		"WeightedRandomSampler", "tee"};
	static const char *const methods[] = {"take", "select", "skip", "filter", "sample", "head"};
	if (strcmp(call->name, "repeat") == 0)
		return strcmp(call->init, "itertools") == 0 || text_has_word(call->value, WORDS_DATA);
	return IN(call->name, names) || (IN(call->name, methods) && text_has_word(call->init, WORDS_DATA));
}

/* [batch] * n */
static bool copies_rows(const struct fact *f)
{
	return py_is_new(f, FACT_BINARY) && strcmp(f->op, "*") == 0 && f->init[0] == '[' &&
	       text_has_word(f->init, WORDS_DATA);
}

static void check_shorteners(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_CALL) && !py_is_evaluation(f->function) && takes_fewer(f))
			report(change, AUDIT_BLOCK, f, "rows are taken from fewer, or again");
		else if (copies_rows(f))
			report(change, AUDIT_BLOCK, f, "the same rows are used again");
	}
}

/* ---- how rows are made ---- */

static void without_transfer(const char *text, struct strbuf *bare)
{
	static const char *const transfers[] = {" . pin_memory ( )", " . contiguous ( )",
		", non_blocking = True", " . long ( )", "non_blocking = True"};
	strbuf_addstr(bare, text);
	for (size_t i = 0; i < ARRAY_LEN(transfers); i++)
		for (char *at = bare->buf; (at = strstr(at, transfers[i]));) {
			size_t length = strlen(transfers[i]);
			memmove(at, at + length, strlen(at + length) + 1);
			bare->len -= length;
		}
	/* .to(device), .cuda() */
	for (char *at = bare->buf; (at = strstr(at, " . to (")) || (at = strstr(bare->buf, " . cuda ("));) {
		char *end = strchr(at, ')');
		if (!end)
			break;
		memmove(at, end + 1, strlen(end + 1) + 1);
		bare->len = strlen(bare->buf);
	}
}

static bool same_but_for_transfer(const char *a, const char *b)
{
	CLEANUP(strbuf_release) struct strbuf x = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf y = STRBUF_INIT;
	without_transfer(a, &x);
	without_transfer(b, &y);
	while (x.len && x.buf[x.len - 1] == ' ')
		x.buf[--x.len] = '\0';
	while (y.len && y.buf[y.len - 1] == ' ')
		y.buf[--y.len] = '\0';
	return strcmp(x.buf, y.buf) == 0;
}

static bool makes_rows(const char *function)
{
	static const char *const names[] = {"__getitem__", "__iter__", "__next__", "__len__", "collate",
		"collate_fn", "get_batch", "batches"};
	const char *name = py_short(function);
	return function[0] && (IN(name, names) || word_in(name, WORDS_LOADER) || strcasestr(name, "batch") ||
				      strcasestr(name, "shuffle"));
}

/* What the function was told, or how far training has come, no longer decides. */
static bool loses_argument(const struct change *change, const struct fact *f)
{
	struct token t;
	for (const char *at = f->twin->value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (text_has_identifier(name) && !text_has_token(f->value, name) &&
			py_find(change, false, FACT_DECLARE, name, f->function) &&
			py_count_uses(change, true, name, f->function) <
				py_count_uses(change, false, name, f->function))
			return true;
	}
	return false;
}

/* An index that is reduced, fixed or taken modulo something. */
static bool chooses_less(const struct change *change, const struct fact *f)
{
	const char *was = f->twin->value, *now = f->value;
	bool modulo = text_has_token(now, "%") && !text_has_token(was, "%");
	bool fixed = py_is_literal(now) && !py_is_literal(was);
	bool other = !isnan(py_number(now)) && !isnan(py_number(was)) && py_number(now) != py_number(was);
	return modulo || fixed || other || py_is_less(change, f, now, was) || loses_argument(change, f);
}

/* How rows travel, not which. */
static bool is_transport(const char *argument)
{
	static const char *const keywords[] = {"num_workers", "pin_memory", "persistent_workers",
		"prefetch_factor", "timeout", "worker_init_fn", "multiprocessing_context",
		"pin_memory_device"};
	char name[40] = "";
	size_t length = strcspn(argument, " ");
	memcpy(name, argument, MIN_OF(length, sizeof(name) - 1));
	return strncmp(argument + length, " = ", 3) == 0 && IN(name, keywords);
}

static bool next_telling_argument(const char **at, char text[PY_ARGUMENT_CAP])
{
	while (py_next_argument(at, text))
		if (!is_transport(text))
			return true;
	return false;
}

static bool same_loader(const char *a, const char *b)
{
	char x[PY_ARGUMENT_CAP], y[PY_ARGUMENT_CAP];
	static const char maker[] = "Loader (";
	const char *in_a = strstr(a, maker), *in_b = strstr(b, maker);
	if (!in_a || !in_b || in_a - a != in_b - b || strncmp(a, b, (size_t)(in_a - a)) != 0)
		return false;
	in_a += sizeof(maker) - 1;
	in_b += sizeof(maker) - 1;
	for (;;) {
		bool more_a = next_telling_argument(&in_a, x), more_b = next_telling_argument(&in_b, y);
		if (!more_a || !more_b)
			return more_a == more_b && !*in_a == !*in_b;
		if (strcmp(x, y) != 0)
			return false;
	}
}

static void check_made_rows(struct change *change, const struct fact *f)
{
	static const char reason[] = "rows are made differently";
	bool returns = py_is_new(f, FACT_EXIT) && strcmp(f->name, "return") == 0;
	if (py_is_assignment(f) && py_was_here(f)) {
		if (same_loader(f->value, f->twin->value))
			return;
		if (!same_but_for_transfer(f->value, f->twin->value) || strcmp(f->op, f->twin->op) != 0)
			report(change, chooses_less(change, f) ? AUDIT_BLOCK : AUDIT_REVIEW, f, reason);
	} else if (returns && (py_is_literal(f->value) || py_has_cut(f->value))) {
		report(change, AUDIT_BLOCK, f, reason);
	} else if (py_is_new(f, FACT_BINARY) && f->op[0] == '%') {
		report(change, AUDIT_BLOCK, f, "rows are taken from fewer");
	}
}

static void check_functions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->same && makes_rows(f->function) && py_existed_function(change, f->function) &&
			!py_is_evaluation(f->function))
			check_made_rows(change, f);
	}
}

/* Keyword arguments that choose rows are looked at by name. */
static void check_arguments_of(struct change *change, const struct fact *f)
{
	const char *a = f->twin->value + (f->twin->value[0] == '('), *b = f->value + (f->value[0] == '(');
	char was[PY_ARGUMENT_CAP], now[PY_ARGUMENT_CAP];
	bool differs = false;
	while (py_next_argument(&a, was) && py_next_argument(&b, now)) {
		if (text_has_token(was, "=") || text_has_token(now, "=") || same_but_for_transfer(was, now))
			continue;
		bool modulo = text_has_token(now, "%") && !text_has_token(was, "%");
		if (modulo || (py_is_literal(now) && strcmp(now, was) != 0) ||
			py_is_less(change, f, now, was)) {
			report(change, AUDIT_BLOCK, f, "rows are chosen by a constant or from fewer");
			return;
		}
		differs = true;
	}
	if (differs)
		report(change, AUDIT_REVIEW, f, "rows are asked for differently");
}

/* get_batch(step) became get_batch(0) or get_batch(step % 2). */
static void check_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !f->twin || f->same || !py_is_load(f) || !py_is_load(f->twin))
			continue;
		if (!same_but_for_transfer(f->init, f->twin->init))
			report(change, AUDIT_REVIEW, f, "rows are asked for differently");
		else
			check_arguments_of(change, f);
	}
}

/* next(it) in the loop once more than before */
static void check_added_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_load(f) && !f->twin && f->loops > 0 && py_existed_function(change, f->function) &&
			existed(change, FACT_CALL, f->name) && !py_is_evaluation(f->function))
			report(change, AUDIT_REVIEW, f, "rows are asked for in a further place");
	}
}

/* x, y = batch became x, y = x0, y0: a batch under another name. */
static bool is_changed_batch(const struct fact *f)
{
	return py_sets(f) && !f->same && py_was_here(f) && py_is_data_name(f->name) &&
	       !makes_rows(f->function) && !py_is_evaluation(f->function);
}

static void check_batches(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_changed_batch(f))
			continue;
		const char *now = f->value, *was = f->twin->value;
		bool again = (py_is_stale(now) && !py_is_stale(was)) ||
			     (text_has_token(now, "lambda") && !text_has_token(was, "lambda"));
		bool fewer = text_has_token(now, "%") && !text_has_token(was, "%");
		if (again || fewer || (py_is_literal(now) && !py_is_literal(was)))
			report(change, AUDIT_BLOCK, f, "rows are taken from fewer, or again");
	}
}

/* dataset = sorted(dataset, key=len), rows.sort() */
static bool names_order(const char *text)
{
	static const char *const orders[] = {
		"sorted", "reversed", "sort", "argsort", "groupby", "unique", "reverse"};
	return py_text_has_any(text, orders, ARRAY_LEN(orders));
}

/* The rows that a statement puts in another order; NULL when it does not. */
static const char *ordered_rows(const struct fact *f)
{
	const char *rows = py_sets(f) ? f->name : py_last(f->init);
	if (!word_in(rows, WORDS_DATA))
		return NULL;
	if (py_sets(f))
		return names_order(f->value) && text_has_word(f->value, WORDS_DATA) ? rows : NULL;
	return f->kind == FACT_CALL && names_order(f->name) && py_is_statement(f) ? rows : NULL;
}

static void check_order(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		const char *rows = f->same ? NULL : ordered_rows(f);
		bool before = f->twin && names_order(f->twin->value);
		if (rows && !before && existed(change, FACT_NAME, rows))
			report(change, AUDIT_BLOCK, f, "rows are ordered differently");
	}
}

void rule_py_data(struct change *change)
{
	py_check_placement(change, py_is_load, "loading of rows");
	py_check_placement(change, py_is_random, "drawing of random numbers");
	check_random_calls(change);
	check_seeds(change);
	check_loader_keywords(change);
	check_shorteners(change);
	check_functions(change);
	check_calls(change);
	check_added_calls(change);
	check_batches(change);
	check_order(change);
}
