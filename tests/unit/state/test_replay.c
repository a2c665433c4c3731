/* A ledger, and the state that it means. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ledger_fixture.h"
#include "stats/noise.h"

static const char *const threads4 = "{\"threads\":\"4\"}", *const fast = "{\"mode\":\"fast\"}";

static const struct {
	struct ending ending;
	enum trial_status status;
	enum observed_status observed;
	bool has_gain, incumbent_allowed;
	double extra_sd_ln;
} endings[] = {
	{{.time_s = 0.1}, TRIAL_VALID, OBSERVED_OK, true, true, 0},
	/* ln(0.11 / 0.1) apart: a hiccup carries the mean */
	{{.time_s = 0.11, .median_s = 0.1}, TRIAL_VALID, OBSERVED_OK, true, true, 0.0953101798},
	{{.time_s = 0.1005, .median_s = 0.1}, TRIAL_VALID, OBSERVED_OK, true, true, 0},
	{{.time_s = -1, .failure = "oom", .failing_item = ITEM_NO_ERRORS}, TRIAL_OOM, OBSERVED_OOM, false,
		false, 0.03},
	{{.time_s = -1, .failure = "crash", .failing_item = -1}, TRIAL_CRASHED, OBSERVED_CRASH, false, false,
		0.03},
	{{.time_s = -1, .failure = "compile", .failing_item = -1}, TRIAL_CRASHED, OBSERVED_CRASH, false,
		false, 0.03},
	{{.time_s = -1, .failure = "killed", .failing_item = -1}, TRIAL_CRASHED, OBSERVED_CRASH, false, false,
		0.03},
	{{.time_s = -1, .failure = "timeout", .failing_item = -1}, TRIAL_HUNG, OBSERVED_HANG, false, false,
		0.03},
	{{.time_s = -1, .failure = "stall", .failing_item = -1}, TRIAL_HUNG, OBSERVED_HANG, false, false,
		0.03},
	{{.time_s = -1, .failure = "nan", .failing_item = ITEM_NO_ERRORS}, TRIAL_INVALID, OBSERVED_INVALID,
		false, false, 0.03},
	/* CONTROLLER R2: rejected by layer 4 or the cap alone, the time still counts, with 0.03 more */
	{{.time_s = 0.1, .failing_item = ITEM_LOSS}, TRIAL_INVALID, OBSERVED_INVALID, true, false, 0.03},
	{{.time_s = 0.1, .failing_item = ITEM_MEMORY_CAP}, TRIAL_INVALID, OBSERVED_OK, true, false, 0.03},
	/* by L2, L3 or L5 it does not: that would teach that cheats are fast */
	{{.time_s = 0.1, .failing_item = ITEM_SAME_WORKLOAD}, TRIAL_INVALID, OBSERVED_INVALID, false, false,
		0.03},
	{{.time_s = 0.1, .failing_item = ITEM_SAME_DATA}, TRIAL_INVALID, OBSERVED_INVALID, false, false,
		0.03},
	{{.time_s = 0.1, .failing_item = ITEM_OPTIMIZER_STEPS}, TRIAL_INVALID, OBSERVED_INVALID, false, false,
		0.03},
	{{.time_s = 0.1, .failing_item = ITEM_TIMING}, TRIAL_INVALID, OBSERVED_INVALID, false, false, 0.03},
	/* reported after a clean exit, and not failed */
	{{.time_s = 0.1, .failure = "collective"}, TRIAL_VALID, OBSERVED_OK, true, true, 0},
};

static void an_ending_is_a_status_and_an_observation(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		struct world w;
		world_open(&w, NULL);
		world_begin(&w, 7);
		world_references(&w);
		world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &endings[i].ending);
		world_load(&w);
		const struct trial *t = &w.state.trials[0];
		const struct observation *o = &w.state.search.model.observations[0];
		if (t->status != endings[i].status || o->status != endings[i].observed)
			fail_msg("ending %zu: %s, observed %d", i, trial_status_names[t->status], o->status);
		assert_int_equal(o->has_gain, endings[i].has_gain);
		assert_int_equal(o->incumbent_allowed, endings[i].incumbent_allowed);
		assert_true(fabs(o->extra_sd_ln - endings[i].extra_sd_ln) < 1e-9);
		assert_int_equal(w.state.n_counted, 1);
		assert_true(w.state.cost.search_s == 10);
		world_close(&w);
	}
}

static void gains_are_against_the_mean_of_the_references(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	world_load(&w);
	/* exp of the mean ln of 0.2000, 0.2002, 0.2001, 0.2003 */
	assert_true(fabs(w.state.noise.mean_s - 0.20014996877341) < 1e-12);
	assert_true(fabs(w.state.trials[0].run.gain_ln - log(w.state.noise.mean_s / 0.1)) < 1e-12);
	assert_int_equal(w.state.noise.runs, 4);
	assert_true(w.state.reference_peak_bytes == 1e9);
	world_close(&w);
}

/* Cost stays, the signature is free again, the models see nothing, the budget is not used. */
static void interrupted_and_transient_release(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_release(&w, ENTRY_INTERRUPTED, "search", world_register(&w, threads4, "[]"), 5);
	world_release(&w, ENTRY_TRANSIENT, "search", world_register(&w, fast, "[]"), 7);
	world_release(&w, ENTRY_TRANSIENT, "reference", 0, 3);
	world_release(&w, ENTRY_INTERRUPTED, "promotion", 0, 2);
	world_release(&w, ENTRY_INTERRUPTED, "profile", 0, 1);
	world_load(&w);
	assert_int_equal(w.state.trials[0].status, TRIAL_INTERRUPTED);
	assert_int_equal(w.state.trials[1].status, TRIAL_TRANSIENT);
	assert_string_equal(w.state.trials[1].reason_text, "the host failed");
	assert_true(w.state.cost.search_s == 12);
	assert_true(w.state.cost.reference_s == 43 && w.state.cost.promotion_s == 2);
	assert_true(w.state.cost.profile_s == 1);
	assert_int_equal(w.state.n_counted, 0);
	assert_int_equal(w.state.search.model.n_observations, 0);
	assert_int_equal(w.state.search.n_visited, 1); /* the reference */
	assert_int_equal(w.state.next_seq, w.seq + 1);
	world_close(&w);
}

static void what_ran_or_runs_is_visited(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	world_register(&w, fast, "[]");
	world_load(&w);
	assert_int_equal(w.state.search.n_visited, 3);
	assert_int_equal(w.state.search.visited[0][0], 0);
	assert_int_equal(w.state.search.visited[1][0], 2);
	assert_int_equal(w.state.search.visited[2][1], 1);
	assert_int_equal(w.state.trials[1].status, TRIAL_REGISTERED);
	world_close(&w);
}

/* The host's faults are nobody's, but a candidate that always meets them is not proposed for ever. */
static void endless_host_faults_end(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	for (int faults = 1; faults <= 6; faults++) {
		world_release(&w, ENTRY_TRANSIENT, "search", world_register(&w, fast, "[]"), 1);
		world_load(&w);
		assert_int_equal(state_count_transients(&w.state, faults), faults);
		assert_int_equal(w.state.search.n_visited > 1, faults == 6);
	}
	assert_int_equal(w.state.search.visited[1][1], 1);
	assert_int_equal(w.state.search.model.n_observations, 0);
	world_close(&w);
}

/* A crash of settings that all passed elsewhere is nobody's fault: it may run again, twice and no more. */
static void an_unexplained_crash_may_run_again_twice(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	for (int crashes = 1; crashes <= 3; crashes++) {
		world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"),
			&(struct ending){.time_s = -1, .failure = "crash", .failing_item = -1});
		world_load(&w);
		bool all_visited = w.state.search.n_visited == (size_t)(crashes + 2);
		/* The run that passed counts among the tries. */
		assert_true(crashes < 2 || all_visited);
	}
	world_close(&w);
}

static void a_refusal_costs_nothing(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_entry(&w, ENTRY_REJECTED, 0, NULL,
		"{\"name\":\"05-skip\",\"by\":\"audit\",\"reason\":\"A3 conditional\",\"patch\":\"\"}");
	world_load(&w);
	assert_int_equal(w.state.n_refusals, 1);
	assert_string_equal(w.state.refusals[0].name, "05-skip");
	assert_int_equal(w.state.n_counted, 0);
	assert_true(w.state.cost.search_s == 0);
	world_close(&w);
}

static void a_decision_without_its_registration_is_pending(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_load(&w);
	assert_false(w.state.has_pending_decision);
	int64_t id = world_decide(&w, fast, "[]");
	world_load(&w);
	assert_true(w.state.has_pending_decision);
	assert_int_equal(w.state.pending_id, id);
	assert_int_equal(w.state.pending.setting[0], 0);
	assert_int_equal(w.state.pending.setting[1], 1);
	int trial = world_register_decided(&w, id, fast, "[]");
	world_load(&w);
	assert_false(w.state.has_pending_decision);
	assert_int_equal(w.state.n_decisions, 1);
	assert_string_equal(w.state.trials[trial - 1].operators, "exploit");
	assert_true(w.state.trials[trial - 1].p_ok == 0.9);
	world_close(&w);
}

static void patches_are_levers_and_know_their_conflicts(void **unused)
{
	(void)unused;
	struct world w;
	bool legal = true;
	world_measured(&w);
	world_propose(&w, "aa", "01-one", "[\"bb\",\"not-there\"]");
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{}", "[\"aa\"]"), &(struct ending){.time_s = 0.15});
	world_propose(&w, "bb", "02-two", "[]");
	world_propose(&w, "cc", "03-three", "[]");
	world_load(&w);
	assert_int_equal(w.state.space.n_levers, 5);
	assert_int_equal(w.state.search.model.n_levers, 5);
	assert_true(w.state.search.model.levers[2].is_patch);
	assert_true(w.state.search.model.levers[2].prior[1].predicted_gain_ln == 0.05);
	assert_string_equal(w.state.patch_paths[1], "patches/bb.diff");
	assert_string_equal(w.state.patch_reviews[1], "A2 cast, model.c:7");
	/* A candidate from before the others came: they are off. */
	assert_int_equal(w.state.trials[0].candidate.setting[2], 1);
	assert_int_equal(w.state.trials[0].candidate.setting[3], 0);
	assert_int_equal(space_is_legal(&w.state.space, (int[]){0, 0, 1, 1, 0}, &legal, NULL, &w.error), OK);
	assert_false(legal);
	assert_int_equal(space_is_legal(&w.state.space, (int[]){0, 0, 1, 0, 1}, &legal, NULL, &w.error), OK);
	assert_true(legal);
	world_close(&w);
}

static void phase_shares_bound_the_gains(void **unused)
{
	(void)unused;
	struct world w;
	double shares[N_PHASES], other;
	world_measured(&w);
	world_propose(&w, "aa", "01-one", "[]");
	world_load(&w);
	assert_false(state_phase_shares(&w.state, shares, &other));
	assert_true(isinf(w.state.search.model.levers[1].prior[1].amdahl_cap_ln));
	world_finish(
		&w, ROLE_PROFILE, 0, &(struct ending){.time_s = 0.2, .forward_s = 0.05, .backward_s = 0.1});
	world_load(&w);
	assert_true(state_phase_shares(&w.state, shares, &other));
	assert_true(fabs(shares[PHASE_FORWARD] - 0.25) < 1e-12 && fabs(shares[PHASE_BACKWARD] - 0.5) < 1e-12);
	assert_true(fabs(other - 0.25) < 1e-12);
	/* -ln(1 - 0.75) for forward and backward, -ln(1 - 0.25) for forward alone, none for a knob without
	 * phases */
	assert_true(fabs(w.state.search.model.levers[1].prior[1].amdahl_cap_ln - log(4)) < 1e-12);
	assert_true(fabs(w.state.search.model.levers[2].prior[1].amdahl_cap_ln - log(4.0 / 3)) < 1e-12);
	assert_true(isinf(w.state.search.model.levers[0].prior[1].amdahl_cap_ln));
	world_close(&w);
}

/* Phases that overlap add up to more than the update; they are scaled to it, and the cap stays finite. */
static void phases_beyond_the_update_are_scaled(void **unused)
{
	(void)unused;
	struct world w;
	double shares[N_PHASES], other;
	world_measured(&w);
	world_finish(
		&w, ROLE_PROFILE, 0, &(struct ending){.time_s = 0.2, .forward_s = 0.2, .backward_s = 0.6});
	world_load(&w);
	assert_true(state_phase_shares(&w.state, shares, &other));
	assert_true(fabs(shares[PHASE_FORWARD] - 0.25) < 1e-12 && other == 0);
	assert_true(fabs(w.state.search.model.levers[1].prior[1].amdahl_cap_ln + log(0.01)) < 1e-9);
	world_close(&w);
}

/* An invalid reference run does not calibrate; one valid run alone cannot. */
static void noise_needs_two_valid_references(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	world_begin(&w, 7);
	world_finish(&w, ROLE_REFERENCE, 0, &(struct ending){.time_s = 0.2});
	world_finish(&w, ROLE_REFERENCE, 0, &(struct ending){.time_s = 0.9, .failing_item = ITEM_LOSS});
	world_load(&w);
	assert_false(w.state.has_noise);
	assert_int_equal(w.state.search.model.reference_runs, 0);
	world_finish(&w, ROLE_REFERENCE, 0, &(struct ending){.time_s = 0.22});
	world_load(&w);
	assert_true(w.state.has_noise);
	/* sqrt(2 * variance of two values) = |ln(0.22 / 0.2)| */
	assert_true(fabs(w.state.noise.sigma_pair - log(1.1)) < 1e-12);
	assert_true(fabs(w.state.search.gate_ln - 2 * log(1.1)) < 1e-12);
	world_close(&w);
}

static void an_oom_teaches_the_capacity(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"),
		&(struct ending){.time_s = -1,
			.failure = "oom",
			.failing_item = ITEM_NO_ERRORS,
			.peak_bytes = 5e9,
			.shortfall_bytes = 1e9,
			.capacity_bytes = 8e9});
	world_load(&w);
	assert_true(w.state.capacity_bytes == 8e9 && w.state.search.model.capacity_bytes == 8e9);
	const struct observation *o = &w.state.search.model.observations[0];
	assert_true(isnan(o->peak_bytes)); /* what it had reached when it failed is no peak */
	assert_true(o->shortfall_bytes == 1e9);
	world_close(&w);
}

static void only_the_last_campaign_counts(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	world_begin(&w, 9);
	world_references(&w);
	world_register(&w, fast, "[]");
	world_load(&w);
	assert_int_equal(w.state.seed, 9);
	assert_int_equal(w.state.n_trials, 1);
	assert_int_equal(w.state.trials[0].candidate.setting[1], 1);
	assert_int_equal(w.state.n_references, 4);
	assert_true(w.state.cost.reference_s == 40);
	world_close(&w);
}

static void an_empty_ledger_is_no_campaign(void **unused)
{
	(void)unused;
	struct world w;
	struct state none;
	world_open(&w, NULL);
	world_load(&w);
	assert_false(w.state.has_campaign);
	assert_int_equal(w.state.next_seq, 1);
	assert_int_equal(state_load(&w.task, NULL, &none, &w.error), OK);
	assert_int_equal(none.space.n_levers, 2);
	state_release(&none);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ending_is_a_status_and_an_observation),
		cmocka_unit_test(gains_are_against_the_mean_of_the_references),
		cmocka_unit_test(interrupted_and_transient_release),
		cmocka_unit_test(what_ran_or_runs_is_visited),
		cmocka_unit_test(an_unexplained_crash_may_run_again_twice),
		cmocka_unit_test(endless_host_faults_end),
		cmocka_unit_test(a_refusal_costs_nothing),
		cmocka_unit_test(a_decision_without_its_registration_is_pending),
		cmocka_unit_test(patches_are_levers_and_know_their_conflicts),
		cmocka_unit_test(phase_shares_bound_the_gains),
		cmocka_unit_test(phases_beyond_the_update_are_scaled),
		cmocka_unit_test(noise_needs_two_valid_references),
		cmocka_unit_test(an_oom_teaches_the_capacity),
		cmocka_unit_test(only_the_last_campaign_counts),
		cmocka_unit_test(an_empty_ledger_is_no_campaign),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
