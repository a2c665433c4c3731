/* Duels as the ledger tells them: runs by pair, results, and promotion that begins anew. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ledger_fixture.h"

static void write_finalist(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1});
	world_entry(w, ENTRY_ACCEPT, 1, NULL,
		"{\"what\":\"finalist\",\"finalist\":1,\"trial\":1,\"pairs\":2,\"claimed_ln\":0.7}");
}

static void write_judgement(struct world *w, bool delivered)
{
	CLEANUP(free_ptr) char *verdict = verdict_text(0);
	world_entry(w, ENTRY_ACCEPT, 1, NULL,
		"{\"what\":\"duel\",\"finalist\":1,\"trial\":1,\"pairs\":2,\"valid\":true,\"gain_ln\":%s,"
		"\"low_ln\":0.1,"
		"\"high_ln\":null,\"sigma\":0.01,\"nu\":4,\"threshold_ln\":0.02,\"delivered\":%s,\"verdict\":"
		"%s}",
		delivered ? "0.7" : "0.001", delivered ? "true" : "false", verdict);
	world_entry(w, ENTRY_ACCEPT, 0, NULL, "{\"what\":\"promotion_over\",\"delivered_finalist\":%d}",
		delivered);
}

static void runs_find_their_side_and_pair(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	write_finalist(&w);
	world_finish(&w, ROLE_PROMOTION, 0, &(struct ending){.time_s = 0.2, .finalist = 1});
	world_finish(&w, ROLE_PROMOTION, 0,
		&(struct ending){.time_s = 0.11, .finalist = 1, .is_candidate_side = true});
	/* A failed reference run is no side; one of a pair or a finalist that there is not is ignored. */
	world_finish(&w, ROLE_PROMOTION, 0,
		&(struct ending){.time_s = 0.2, .failing_item = ITEM_LOSS, .finalist = 1, .pair = 1});
	world_finish(&w, ROLE_PROMOTION, 0, &(struct ending){.time_s = 0.2, .finalist = 1, .pair = 7});
	world_finish(&w, ROLE_PROMOTION, 0, &(struct ending){.time_s = 0.2, .finalist = 3});
	world_load(&w);
	const struct duel *d = &w.state.duels[0];
	assert_int_equal(w.state.n_duels, 1);
	assert_true(d->claimed_ln == 0.7);
	assert_true(d->reference_runs[0].time_s == 0.2 && d->candidate_runs[0].time_s == 0.11);
	assert_true(fabs(d->candidate_runs[0].gain_ln - log(w.state.noise.mean_s / 0.11)) < 1e-12);
	assert_null(d->reference_runs[1].receipt_path);
	assert_null(d->candidate_runs[1].receipt_path);
	assert_int_equal(d->reference_failures, 1);
	assert_false(d->finished);
	assert_true(w.state.cost.promotion_s == 50);
	world_close(&w);
}

static void a_result_is_read_back(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	write_finalist(&w);
	write_judgement(&w, true);
	world_load(&w);
	assert_true(w.state.finished);
	assert_int_equal(w.state.delivered_finalist, 1);
	const struct duel *d = &w.state.duels[0];
	assert_true(d->finished && d->valid && d->result.delivered && d->result.gain_ln == 0.7);
	assert_true(isnan(d->result.high_ln));
	assert_true(d->verdict.valid);
	world_close(&w);
}

static void more_trials_open_promotion_again(void **unused)
{
	(void)unused;
	for (int delivered = 0; delivered < 2; delivered++) {
		struct world w;
		world_open(&w, NULL);
		write_finalist(&w);
		world_finish(&w, ROLE_PROMOTION, 0, &(struct ending){.time_s = 0.2, .finalist = 1});
		write_judgement(&w, delivered);
		world_register(&w, "{\"threads\":\"2\"}", "[]");
		world_load(&w);
		assert_false(w.state.finished);
		assert_int_equal(w.state.n_duels, 0);
		assert_int_equal(w.state.delivered_finalist, 0);
		assert_true(w.state.cost.promotion_s == 10);
		/* Measured and not found faster: it has had its chance. The winner may win again. */
		assert_int_equal(w.state.trials[0].lost_duel, !delivered);
		/* What was delivered stands, with its runs. */
		const struct duel *stands = state_delivered(&w.state);
		assert_int_equal(stands != NULL, delivered);
		if (stands)
			assert_true(stands->trial == 1 && stands->reference_runs[0].time_s == 0.2 &&
				    stands->result.gain_ln == 0.7);
		world_close(&w);
	}
}

/* Also where the promotion was under way: what was found since may be better than its finalist. */
static void more_trials_drop_an_open_duel(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	write_finalist(&w);
	world_finish(&w, ROLE_PROMOTION, 0, &(struct ending){.time_s = 0.2, .finalist = 1});
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"2\"}", "[]"),
		&(struct ending){.time_s = 0.05});
	world_load(&w);
	assert_int_equal(w.state.n_duels, 0);
	assert_false(w.state.trials[0].lost_duel);
	/* A new duel under the same number does not inherit the old one's runs. */
	world_entry(&w, ENTRY_ACCEPT, 2, NULL,
		"{\"what\":\"finalist\",\"finalist\":1,\"trial\":2,\"pairs\":2,\"claimed_ln\":1.3}");
	world_load(&w);
	assert_int_equal(w.state.duels[0].trial, 2);
	assert_null(w.state.duels[0].reference_runs[0].receipt_path);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_find_their_side_and_pair),
		cmocka_unit_test(a_result_is_read_back),
		cmocka_unit_test(more_trials_open_promotion_again),
		cmocka_unit_test(more_trials_drop_an_open_duel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
