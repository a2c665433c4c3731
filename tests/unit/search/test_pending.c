#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "search/pending.h"
#include "search_fixture.h"

enum { BUCKETS = 3, ZERO = 4, MAX_BUCKETS = 2 };

/* A campaign of three runs, `buckets` the best of them, with a fourth that runs now: visited, not ended. */
struct campaign {
	struct fixture f;
	int running[LEVERS];
	const int *pending[1];
};

static void campaign_init(struct campaign *c)
{
	int setting[LEVERS];
	fixture_init(&c->f);
	c->f.gain_ln[BUCKETS][1] = 0.10;
	c->f.gain_ln[ZERO][1] = 0.04;
	c->f.gain_ln[5][1] = -0.05;
	c->f.gib[ZERO][1] = 5;
	reference_copy(&c->f, setting)[BUCKETS] = 1;
	execute(&c->f, setting);
	reference_copy(&c->f, setting)[ZERO] = 1;
	execute(&c->f, setting);
	reference_copy(&c->f, setting)[5] = 1;
	execute(&c->f, setting);
}

/* What the search itself would try next is what runs. */
static void begin_next(struct campaign *c)
{
	struct decision d = next_decision(&c->f);
	assert_true(d.found);
	memcpy(c->running, d.setting, sizeof(c->running));
	decision_release(&d);
	c->f.visited[c->f.in.n_visited++] = c->running;
	c->pending[0] = c->running;
	c->f.in.decision++;
}

static void fit(struct scores *s, const struct campaign *c)
{
	struct err e = ERR_INIT;
	assert_int_equal(scores_init(s, &c->f.in, &e), OK);
}

/* The definition: a run that measured its posterior mean moves no belief about itself (of one Gaussian
 * process; the average over scales moves a little) and takes its uncertainty away. */
static void a_running_trial_is_believed_to_measure_what_is_expected(void **state)
{
	(void)state;
	struct campaign c;
	struct scores before = {0}, after = {0};
	struct err e = ERR_INIT;
	campaign_init(&c);
	begin_next(&c);
	fit(&before, &c);
	struct candidate *old = scores_look_up(&before, c.running);
	candidate_predict(&before, old);
	c.f.in.pending = c.pending;
	c.f.in.n_pending = 1;
	fit(&after, &c);
	assert_int_equal(pending_fit(&after, &e), OK);
	struct candidate *new = scores_look_up(&after, c.running);
	candidate_predict(&after, new);
	assert_true(fabs(new->mean_ln - old->mean_ln) < 0.1 * old->sd_ln);
	assert_true(new->sd_ln < 0.5 * old->sd_ln);
	assert_true(new->p_ok == old->p_ok); /* it exonerates nothing */
	assert_int_equal(after.incumbent, before.incumbent);
	assert_true(fabs(after.incumbent_ln - before.incumbent_ln) < 0.01);
	assert_int_equal(after.in->model.n_observations, 3); /* the input is what was measured */
	scores_release(&before);
	scores_release(&after);
}

/* Whatever is expected of it: only what was measured leads. */
static void a_running_trial_is_never_the_incumbent(void **state)
{
	(void)state;
	struct campaign c;
	struct scores s = {0};
	struct err e = ERR_INIT;
	campaign_init(&c);
	reference_copy(&c.f, c.running)[BUCKETS] = MAX_BUCKETS;
	c.f.prior[BUCKETS][MAX_BUCKETS] = (struct lever_prior){
		.experienced = true, .mean_ln = 1, .sd_ln = 0.02, .amdahl_cap_ln = INFINITY};
	c.pending[0] = c.running;
	c.f.visited[c.f.in.n_visited++] = c.running;
	c.f.in.pending = c.pending;
	c.f.in.n_pending = 1;
	fit(&s, &c);
	assert_int_equal(pending_fit(&s, &e), OK);
	assert_true(candidate_score(&s, scores_look_up(&s, c.running)) > 0);
	assert_true(scores_look_up(&s, c.running)->mean_ln > 0.9);
	assert_int_equal(s.incumbent, 0);
	struct decision d = next_decision(&c.f);
	assert_int_equal(d.base_observation < 0 ? 0 : d.base_observation, 0);
	assert_true(d.incumbent_ln < 0.2);
	decision_release(&d);
	scores_release(&s);
}

static double distance(const int *a, const int *b)
{
	int n = 0;
	for (int l = 0; l < LEVERS; l++)
		n += a[l] != b[l];
	return n;
}

/* Without the guess, a search that has learnt nothing new proposes the nearest thing to what runs; with it,
 * the score of what differs from it in a lever that says nothing falls. */
static void what_runs_is_not_proposed_again_nor_its_like(void **state)
{
	(void)state;
	struct campaign c;
	struct scores blind = {0}, seeing = {0};
	struct err e = ERR_INIT;
	campaign_init(&c);
	begin_next(&c);
	struct decision without = next_decision(&c.f);
	fit(&blind, &c);
	c.f.in.pending = c.pending;
	c.f.in.n_pending = 1;
	struct decision with = next_decision(&c.f);
	fit(&seeing, &c);
	assert_int_equal(pending_fit(&seeing, &e), OK);
	assert_true(with.found && without.found);
	assert_true(distance(with.setting, c.running) > 0);
	/* The score of each change to what runs has fallen, for a part of it is no news any more. */
	for (int l = 0; l < LEVERS; l++) {
		int like[LEVERS];
		memcpy(like, c.running, sizeof(like));
		if (c.f.lever[l].n_settings < 2 || c.running[l] != c.f.lever[l].reference)
			continue;
		like[l] = like[l] ? 0 : 1;
		double now = candidate_score(&seeing, scores_look_up(&seeing, like));
		double then = candidate_score(&blind, scores_look_up(&blind, like));
		assert_true(now < then);
	}
	decision_release(&with);
	decision_release(&without);
	scores_release(&blind);
	scores_release(&seeing);
}

static void memory_is_taught_only_where_it_is_believed_to_fit(void **state)
{
	(void)state;
	for (int fits = 0; fits < 2; fits++) {
		struct campaign c;
		struct scores before = {0}, after = {0};
		struct err e = ERR_INIT;
		campaign_init(&c);
		/* 60 GiB of 80 at the reference; the declared amount is all that is known of it. */
		c.f.prior[6][1].declared_bytes = (fits ? 10 : 30) * GIB;
		reference_copy(&c.f, c.running)[6] = 1;
		c.pending[0] = c.running;
		c.f.visited[c.f.in.n_visited++] = c.running;
		c.f.in.pending = c.pending;
		c.f.in.n_pending = 1;
		fit(&before, &c);
		fit(&after, &c);
		assert_int_equal(pending_fit(&after, &e), OK);
		double peak[2], sd[2], p[2];
		memory_model_predict(before.memory, c.running, &peak[0], &sd[0], &p[0]);
		memory_model_predict(after.memory, c.running, &peak[1], &sd[1], &p[1]);
		assert_true(fits ? p[0] > 0.5 : p[0] < 0.5);
		assert_true(fabs(peak[1] - peak[0]) < 0.01 * GIB);
		assert_true(fits ? sd[1] < 0.7 * sd[0] : sd[1] == sd[0]);
		scores_release(&before);
		scores_release(&after);
	}
}

static bool same_decision(const struct decision *a, const struct decision *b)
{
	return memcmp(a->setting, b->setting, LEVERS * sizeof(int)) == 0 && a->score == b->score &&
	       a->mean_ln == b->mean_ln && a->sd_ln == b->sd_ln && a->incumbent_ln == b->incumbent_ln &&
	       strcmp(a->reason, b->reason) == 0 && strcmp(a->operators, b->operators) == 0;
}

static void without_running_trials_nothing_changes(void **state)
{
	(void)state;
	struct campaign c;
	static const int *const none[1];
	campaign_init(&c);
	struct decision absent = next_decision(&c.f);
	c.f.in.pending = none;
	struct decision empty = next_decision(&c.f);
	assert_true(same_decision(&absent, &empty));
	decision_release(&absent);
	decision_release(&empty);
}

/* Four at once from nothing, with nothing that has run: all different, whichever strategy. */
static void a_batch_holds_no_candidate_twice(void **state)
{
	(void)state;
	size_t n_strategies;
	const struct strategy *list = strategy_list(&n_strategies);
	for (size_t k = 0; k < n_strategies; k++) {
		struct fixture f;
		struct err e = ERR_INIT;
		int setting[4][LEVERS];
		const int *pending[4];
		fixture_init(&f);
		f.in.pending = pending;
		for (int i = 0; i < 4; i++) {
			struct decision d;
			assert_int_equal(list[k].next(&f.in, &d, &e), OK);
			assert_true(d.found);
			assert_false(is_visited(&f, d.setting));
			memcpy(setting[i], d.setting, sizeof(setting[i]));
			decision_release(&d);
			f.visited[f.in.n_visited++] = setting[i];
			pending[f.in.n_pending++] = setting[i];
			f.in.decision++;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_trial_is_believed_to_measure_what_is_expected),
		cmocka_unit_test(a_running_trial_is_never_the_incumbent),
		cmocka_unit_test(what_runs_is_not_proposed_again_nor_its_like),
		cmocka_unit_test(memory_is_taught_only_where_it_is_believed_to_fit),
		cmocka_unit_test(without_running_trials_nothing_changes),
		cmocka_unit_test(a_batch_holds_no_candidate_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
