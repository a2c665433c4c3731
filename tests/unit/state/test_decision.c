/* A ledger and the candidate that it must lead to: the same one each time it is read. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ledger_fixture.h"

static void write_search(struct world *w, unsigned long long seed)
{
	world_begin(w, seed);
	world_references(w);
	world_propose(w, "aa", "01-one", "[]");
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1, .peak_bytes = 2e9});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = -1, .failure = "crash", .failing_item = -1});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[\"aa\"]"),
		&(struct ending){.time_s = 0.08, .peak_bytes = 2e9});
}

static struct decision decide(struct world *w, const char *strategy)
{
	struct decision d = {0};
	world_load(w);
	assert_int_equal(strategy_find(strategy)->next(&w->state.search, &d, &w->error), OK);
	assert_true(d.found);
	return d;
}

/* A strategy without models predicts nothing: NAN. */
static bool same_number(double a, double b)
{
	return a == b || (a != a && b != b);
}

static void assert_same(const struct world *w, const struct decision *a, const struct decision *b)
{
	assert_memory_equal(a->setting, b->setting, w->state.space.n_levers * sizeof(int));
	assert_true(same_number(a->score, b->score) && same_number(a->mean_ln, b->mean_ln) &&
		    same_number(a->p_ok, b->p_ok));
	assert_string_equal(a->operators, b->operators);
	assert_string_equal(a->reason, b->reason);
}

static void reopen(struct world *w)
{
	ledger_close(take_ptr(w->ledger));
	assert_int_equal(ledger_open(w->path, LEDGER_WRITE, &w->ledger, &w->error), OK);
}

static void the_same_ledger_gives_the_same_decision(void **unused)
{
	(void)unused;
	static const char *const strategies[] = {"controller", "random"};
	for (size_t i = 0; i < ARRAY_LEN(strategies); i++) {
		struct world w;
		world_open(&w, NULL);
		write_search(&w, 7);
		struct decision first = decide(&w, strategies[i]), again = decide(&w, strategies[i]);
		assert_same(&w, &first, &again);
		reopen(&w);
		struct decision reopened = decide(&w, strategies[i]);
		assert_same(&w, &first, &reopened);
		decision_release(&first);
		decision_release(&again);
		decision_release(&reopened);
		world_close(&w);
	}
}

static bool is_visited(const struct state *s, const int *setting)
{
	for (size_t i = 0; i < s->search.n_visited; i++)
		if (memcmp(s->search.visited[i], setting, s->space.n_levers * sizeof(int)) == 0)
			return true;
	return false;
}

static void what_was_tried_is_not_tried_again(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	write_search(&w, 7);
	struct decision d = decide(&w, "controller");
	assert_false(is_visited(&w.state, d.setting));
	/* The patch and the threads are faster together: what comes next keeps both. */
	assert_int_equal(d.setting[2], 1);
	decision_release(&d);
	world_close(&w);
}

static void an_interrupted_candidate_may_come_back(void **unused)
{
	(void)unused;
	static const char task[] =
		"version: 1\nname: job\nstack: native\nlaunch: {command: [./train, '{mode}']}\n"
		"contract: {updates: 30, warmup: 10}\n"
		"knobs: [{name: mode, values: [slow, fast], reference: slow}]\n";
	struct world w;
	world_open(&w, task);
	world_begin(&w, 7);
	world_references(&w);
	world_release(&w, ENTRY_INTERRUPTED, "search", world_register(&w, "{\"mode\":\"fast\"}", "[]"), 5);
	struct decision d = decide(&w, "controller");
	assert_int_equal(d.setting[0], 1);
	decision_release(&d);
	/* And once it has run, nothing is left. */
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = 0.1});
	world_load(&w);
	assert_int_equal(strategy_find("controller")->next(&w.state.search, &d, &w.error), OK);
	assert_false(d.found);
	decision_release(&d);
	world_close(&w);
}

static void the_incumbent_is_the_best_valid_trial(void **unused)
{
	(void)unused;
	struct world w;
	int trial;
	double mean_ln;
	world_measured(&w);
	world_load(&w);
	assert_int_equal(state_incumbent(&w.state, &trial, &mean_ln, &w.error), OK);
	assert_int_equal(trial, -1);
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"2\"}", "[]"),
		&(struct ending){.time_s = 0.05, .failing_item = ITEM_LOSS});
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1});
	world_load(&w);
	assert_int_equal(state_incumbent(&w.state, &trial, &mean_ln, &w.error), OK);
	assert_int_equal(trial, 1);
	assert_true(mean_ln > 0.4);
	world_close(&w);
}

/* 10,000 entries are read in one go: no step that is quadratic in them. */
static void a_long_ledger_loads(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	for (int i = 0; i < 3300; i++) {
		int trial = world_register(&w, i % 2 ? "{\"threads\":\"4\"}" : "{\"mode\":\"fast\"}", "[]");
		world_release(&w, ENTRY_TRANSIENT, "search", trial, 1);
	}
	world_load(&w);
	assert_int_equal(w.state.n_trials, 3300);
	assert_int_equal(w.state.n_decisions, 3300);
	assert_true(w.state.cost.search_s == 3300);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_ledger_gives_the_same_decision),
		cmocka_unit_test(what_was_tried_is_not_tried_again),
		cmocka_unit_test(an_interrupted_candidate_may_come_back),
		cmocka_unit_test(the_incumbent_is_the_best_valid_trial),
		cmocka_unit_test(a_long_ledger_loads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
