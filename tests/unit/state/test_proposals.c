/* What answers of proposers mean: who said it, what the search is told, what is passed over. Expected values
 * are the entries' own numbers. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ledger_fixture.h"

static const char digest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void answer(struct world *w, const char *proposer, int after, const char *rest)
{
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"%s\",\"after\":%d,\"ok\":true,\"error\":\"\"%s}",
		proposer, after, rest);
}

static void open_measured(struct world *w)
{
	world_open(w, NULL);
	world_begin(w, 7);
	world_references(w);
}

static void counts_questions_and_costs(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	answer(&w, "a", 0, ",\"cost\":{\"tokens\":150,\"usd\":0.5,\"seconds\":2}");
	world_entry(&w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"b\",\"after\":0,\"ok\":false,\"error\":\"gone\","
		"\"cost\":{\"tokens\":-3,\"usd\":0.25}}");
	answer(&w, "c", 3, ""); /* it came unasked */
	world_load(&w);
	assert_int_equal(w.state.n_proposers, 3);
	const struct proposer_record *a = &w.state.proposers[0], *b = a + 1, *c = a + 2;
	assert_true(a->questions == 1 && a->answers == 1 && !a->failed && a->tokens == 150 && a->usd == 0.5);
	assert_true(b->questions == 1 && b->answers == 0 && b->failed && b->tokens == 0);
	assert_string_equal(b->failure, "gone");
	assert_true(c->questions == 0 && c->answers == 1);
	assert_true(w.state.cost.tokens == 150 && w.state.cost.usd == 0.75);
	assert_int_equal(state_find_proposer(&w.state, "c"), 2);
	assert_int_equal(state_find_proposer(&w.state, "d"), -1);
	assert_string_equal(state_source_name(&w.state, 0), "the task");
	assert_string_equal(state_source_name(&w.state, 2), "b");
	world_close(&w);
}

static void priors_reach_the_levers(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	world_propose(&w, digest, "01-p", "[]");
	answer(&w, "a", 0,
		",\"priors\":[{\"knob\":\"mode\",\"setting\":\"fast\",\"gain_ln\":0.2,\"gain_sd_ln\":0.1},"
		"{\"knob\":\"threads\",\"setting\":\"4\",\"gain_ln\":null,\"memory_bytes\":-7,\"memory_sd_"
		"bytes\":3},"
		"{\"knob\":\"mode\",\"setting\":\"slow\",\"gain_ln\":9},"   /* the reference */
		"{\"knob\":\"mode\",\"setting\":\"faster\",\"gain_ln\":9}," /* none such */
		"{\"knob\":\"gone\",\"setting\":\"x\",\"gain_ln\":9}]");
	answer(&w, "b", 0,
		",\"priors\":[{\"patch\":"
		"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
		"\"gain_ln\":0.3},{\"knob\":\"mode\",\"setting\":\"fast\",\"gain_ln\":0.4}]");
	world_load(&w);
	assert_int_equal(w.state.n_priors, 4);
	const struct lever *levers = w.state.search.model.levers;
	const struct lever_prior *fast = &levers[1].prior[1], *four = &levers[0].prior[2],
				 *on = &levers[2].prior[1];
	/* The later of two stands. */
	assert_true(fast->predicted_gain_ln == 0.4 && fast->predicted_sd_ln == 0 && fast->source == 2);
	assert_true(four->declared_bytes == -7 && four->memory_sd_bytes == 3 && four->source == 0);
	assert_true(on->predicted_gain_ln == 0.3 && on->source == 2);
	world_close(&w);
}

/* Whoever restates what was measured has foretold nothing. */
static void a_measured_gain_is_no_prediction(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	int trial = world_register(&w, "{\"mode\":\"fast\"}", "[]");
	world_finish(&w, ROLE_SEARCH, trial, &(struct ending){.time_s = 0.1});
	answer(&w, "late", 1, ",\"priors\":[{\"knob\":\"mode\",\"setting\":\"fast\",\"gain_ln\":0.69}]");
	answer(&w, "early", 0, ",\"priors\":[{\"knob\":\"threads\",\"setting\":\"4\",\"gain_ln\":0.1}]");
	world_load(&w);
	const struct lever *levers = w.state.search.model.levers;
	assert_true(levers[1].prior[1].source == 0 && levers[1].prior[1].predicted_gain_ln != 0.69);
	assert_true(levers[0].prior[2].source == 2 && levers[0].prior[2].predicted_gain_ln == 0.1);
	world_close(&w);
}

/* Beside others trials finish in any order: what counts is what was known when it was said. */
static void a_trial_that_finished_later_was_foretold(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	int first = world_register(&w, "{\"mode\":\"fast\"}", "[]");
	int second = world_register(&w, "{\"threads\":\"4\"}", "[]");
	world_finish(&w, ROLE_SEARCH, second, &(struct ending){.time_s = 0.1});
	answer(&w, "a", 1,
		",\"priors\":[{\"knob\":\"mode\",\"setting\":\"fast\",\"gain_ln\":0.2},"
		"{\"knob\":\"threads\",\"setting\":\"4\",\"gain_ln\":0.69}]");
	world_finish(&w, ROLE_SEARCH, first, &(struct ending){.time_s = 0.1});
	world_load(&w);
	const struct lever *levers = w.state.search.model.levers;
	assert_true(levers[1].prior[1].source == 1 && levers[1].prior[1].predicted_gain_ln == 0.2);
	assert_true(levers[0].prior[2].source == 0 && levers[0].prior[2].predicted_gain_ln != 0.69);
	world_close(&w);
}

static void suggestions_reach_the_search(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	answer(&w, "a", 0,
		",\"configurations\":[{\"candidate\":{\"settings\":{\"mode\":\"fast\"},\"patches\":[]},"
		"\"predicted_ln\":0.1,\"predicted_bytes\":null,\"reason\":\"r\"},"
		"{\"candidate\":{\"settings\":{\"mode\":\"gone\"},\"patches\":[]}}]");
	answer(&w, "mcp", 1,
		",\"configurations\":[{\"candidate\":{\"settings\":{\"threads\":\"4\"},\"patches\":[]},"
		"\"measure\":true}]");
	int trial = world_register(&w, "{\"mode\":\"fast\"}", "[]");
	world_propose(&w, digest, "01-p", "[]"); /* a lever more than when they were made */
	world_load(&w);
	assert_int_equal(w.state.n_suggestions, 2);
	const struct suggestion *first = &w.state.suggestions[0];
	assert_true(first->source == 1 && first->predicted_ln == 0.1 && isnan(first->predicted_bytes));
	assert_int_equal(first->trial, trial);
	assert_int_equal(w.state.suggestions[1].trial, 0);
	const struct search_input *in = &w.state.search;
	assert_int_equal(in->n_proposed, 2);
	/* The latest answer first; three levers, the patch off. */
	assert_true(in->proposed[0][0] == 2 && in->proposed[0][1] == 0 && in->proposed[0][2] == 0);
	assert_true(in->proposed[1][0] == 0 && in->proposed[1][1] == 1 && in->proposed[1][2] == 0);
	/* What shall be measured is a start. */
	assert_int_equal(in->n_user_starts, 1);
	assert_int_equal(in->user_starts[0][0], 2);
	world_close(&w);
}

static void conflicts_and_opinions(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	world_propose(&w, digest, "01-p", "[]");
	answer(&w, "catalogue", 0,
		",\"conflicts\":[{\"first\":{\"knob\":\"threads\",\"setting\":\"4\"},"
		"\"second\":{\"knob\":\"mode\",\"setting\":\"fast\"},\"reason\":\"r\"},"
		"{\"first\":{\"knob\":\"threads\",\"setting\":\"8\"},\"second\":{\"knob\":\"mode\","
		"\"setting\":\"fast\"}}]");
	answer(&w, "m", 0,
		",\"reviews\":[{\"patch\":"
		"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
		"\"accept\":true,\"reason\":\"fine\"},{\"patch\":\"bb\",\"accept\":true,\"reason\":\"\"}]");
	world_load(&w);
	assert_int_equal(w.state.search.model.n_known_conflicts, 1);
	const struct lever_pair *pair = &w.state.search.model.known_conflicts[0];
	assert_true(pair->lever_a == 0 && pair->setting_a == 2 && pair->lever_b == 1 && pair->setting_b == 1);
	assert_int_equal(w.state.n_opinions, 1);
	assert_true(w.state.opinions[0].accept && w.state.opinions[0].patch == 0 &&
		    w.state.opinions[0].source == 2);
	/* An opinion accepts nothing. */
	assert_false(w.state.patch_accepted[0]);
	world_close(&w);
}

static void malformed_answers_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *body, *says;
	} cases[] = {
		{"{\"kind\":\"answer\",\"ok\":true}", "proposer: expected text"},
		{"{\"kind\":\"answer\",\"proposer\":\"\",\"ok\":true}", "proposer: expected a name"},
		{"{\"kind\":\"answer\",\"proposer\":\"a\"}", "ok: expected true or false"},
		{"{\"kind\":\"answer\",\"proposer\":\"a\",\"ok\":true,\"after\":-1}",
			"after: expected an integer"},
		{"{\"kind\":\"answer\",\"proposer\":\"a\",\"ok\":true,\"after\":\"x\"}",
			"after: expected an integer"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		open_measured(&w);
		world_entry(&w, ENTRY_PROPOSAL, 0, NULL, "%s", cases[i].body);
		world_refused(&w, cases[i].says);
		world_close(&w);
	}
}

/* Members of other types than they should be are as good as absent. */
static void odd_members_do_no_harm(void **state)
{
	(void)state;
	struct world w;
	open_measured(&w);
	answer(&w, "a", 0,
		",\"configurations\":{\"0\":1},\"priors\":[7,null,[],{\"knob\":3,\"setting\":[]}],"
		"\"conflicts\":[1],"
		"\"reviews\":\"x\",\"cost\":[]");
	world_load(&w);
	assert_int_equal(
		w.state.n_suggestions + w.state.n_priors + w.state.n_conflicts + w.state.n_opinions, 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_questions_and_costs),
		cmocka_unit_test(priors_reach_the_levers),
		cmocka_unit_test(a_measured_gain_is_no_prediction),
		cmocka_unit_test(a_trial_that_finished_later_was_foretold),
		cmocka_unit_test(suggestions_reach_the_search),
		cmocka_unit_test(conflicts_and_opinions),
		cmocka_unit_test(malformed_answers_are_named),
		cmocka_unit_test(odd_members_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
