/* Campaigns from doctor to promotion, against what they must deliver. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "campaign_fixture.h"
#include "promote/promotion.h"

#define ROWS 4
static const struct {
	const char *what;
	struct row rows[ROWS];
	int delivered_trial_row; /* 0 = nothing */
	int n_valid, n_duels;
	double gain_ln;
} cases[] = {
	{"nothing is faster", {{0.2}, {0.2}, {0.21}, {0.3}}, 0, 3, -1, 0},
	{"one is faster", {{0.2}, {0.25}, {0.1}, {0.3}}, 2, 3, 1, 0.6931471805599453},
	{"the fastest reads other data", {{0.2}, {0.05, ANSWER_WRONG_DATA}, {0.1}, {0.3}}, 2, 2, 1,
		0.6931471805599453},
	{"all fail", {{0.2}, {0.1, ANSWER_CRASH}, {0.1, ANSWER_OOM}, {0.1, ANSWER_HANG}}, 0, 0, 0, 0},
	{"the fastest is not so again", {{0.2}, {0.1, ANSWER_RUN, 1, 0.25}, {0.15}, {0.3}}, 2, 3, 2,
		0.28768207245178096},
	{"the best crashes in its duel", {{0.2}, {0.1, ANSWER_RUN, 1, 0.1, ANSWER_CRASH}, {0.15}, {0.3}}, 2,
		3, 2, 0.28768207245178096},
};

static int row_of_delivered(const struct stage *s)
{
	const struct state *state = &s->c.state;
	if (!state->delivered_finalist)
		return 0;
	int trial = state->duels[state->delivered_finalist - 1].trial;
	return state->trials[trial - 1].candidate.setting[0];
}

static int count_valid(const struct state *s)
{
	int n = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		n += s->trials[i].status == TRIAL_VALID;
	return n;
}

static void each_campaign_delivers_what_it_must(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stage s;
		stage_open(&s, cases[i].rows, ROWS, NULL);
		enum err_code code = stage_go_on(&s);
		if (code != OK)
			fail_msg("%s: %s", cases[i].what, s.error.message);
		const struct state *state = &s.c.state;
		assert_true(state->finished);
		if (row_of_delivered(&s) != cases[i].delivered_trial_row)
			fail_msg("%s: delivered row %d", cases[i].what, row_of_delivered(&s));
		assert_int_equal(count_valid(state), cases[i].n_valid);
		assert_true(cases[i].n_duels < 0 || state->n_duels == (size_t)cases[i].n_duels);
		if (cases[i].delivered_trial_row)
			assert_true(fabs(state->duels[state->delivered_finalist - 1].result.gain_ln -
					    cases[i].gain_ln) < 0.002);
		assert_int_equal(s.executions, (int)(state->next_seq - 1));
		stage_close(&s);
	}
}

/* Ctrl-C in any execution: what was done stays done, and the campaign ends as if nothing had happened. */
static void a_stop_anywhere_is_resumed(void **unused)
{
	(void)unused;
	const struct row *rows = cases[1].rows;
	int executions = 99;
	for (int stop_at = 0; stop_at <= executions; stop_at++) {
		struct stage s;
		stage_open(&s, rows, ROWS, NULL);
		s.stop_at = stop_at;
		if (stop_at) {
			stage_expect(&s, stage_go_on(&s), ERR_INTERRUPTED, "infrarsi");
			assert_int_equal(s.executions, stop_at);
			stage_close_campaign(&s);
		}
		stage_expect(&s, stage_go_on(&s), OK, NULL);
		if (!stop_at)
			executions = s.executions;
		assert_int_equal(s.executions, executions + (stop_at > 0));
		assert_int_equal(row_of_delivered(&s), 2);
		assert_int_equal(s.c.state.n_counted, 3);
		stage_close(&s);
	}
}

/* The same seed, the same answers: the same ledger, but for ids and times. */
static void the_same_seed_gives_the_same_course(void **unused)
{
	(void)unused;
	struct stage a, b;
	stage_open(&a, cases[4].rows, ROWS, NULL);
	stage_expect(&a, stage_go_on(&a), OK, NULL);
	stage_open(&b, cases[4].rows, ROWS, NULL);
	stage_expect(&b, stage_go_on(&b), OK, NULL);
	assert_int_equal(a.c.state.n_trials, b.c.state.n_trials);
	for (size_t i = 0; i < a.c.state.n_trials; i++) {
		assert_string_equal(a.c.state.trials[i].signature, b.c.state.trials[i].signature);
		assert_true(a.c.state.trials[i].score == b.c.state.trials[i].score);
	}
	stage_close(&b);
	stage_close(&a);
}

static void host_faults_end_with_an_error(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, cases[1].rows, ROWS, NULL);
	s.fault_from = 6; /* three references, the profile, one trial */
	stage_expect(&s, stage_go_on(&s), ERR_FAILED, "3 executions in a row could not be carried out");
	assert_int_equal(s.notes, 3);
	assert_int_equal(s.c.state.n_counted, 1);
	/* It was the host: the same candidates come again. */
	s.fault_from = 0;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(row_of_delivered(&s), 2);
	stage_close(&s);
}

static void host_faults_in_doctor_and_in_a_duel(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, cases[1].rows, ROWS, NULL);
	s.fault_from = 1;
	stage_expect(&s, stage_go_on(&s), ERR_FAILED, "the reference could not be run");
	s.fault_from = s.executions + 9; /* references, profile, three trials, one side of a pair */
	stage_expect(&s, stage_go_on(&s), ERR_FAILED, "promotion could not be carried out");
	s.fault_from = 0;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(row_of_delivered(&s), 2);
	stage_close(&s);
}

/* A build that the machine failed is tried again, twice at most; then it is the candidate's own. */
static void builds_that_the_machine_failed_are_tried_again(void **unused)
{
	(void)unused;
	static const struct {
		int faults, transients;
		enum trial_status last;
		int delivered_row;
	} faulty[] = {{1, 1, TRIAL_VALID, 1}, {2, 2, TRIAL_VALID, 1}, {9, 2, TRIAL_CRASHED, 2}};
	for (size_t i = 0; i < ARRAY_LEN(faulty); i++) {
		const struct row rows[] = {{0.2}, {.time_s = 0.1, .build_faults = faulty[i].faults}, {0.15}};
		struct stage s;
		int transients = 0;
		enum trial_status last = TRIAL_REGISTERED;
		stage_open(&s, rows, ARRAY_LEN(rows), "build: [./build, --row, '{row}']\n");
		stage_expect(&s, stage_go_on(&s), OK, NULL);
		for (size_t k = 0; k < s.c.state.n_trials; k++)
			if (s.c.state.trials[k].candidate.setting[0] == 1) {
				last = s.c.state.trials[k].status;
				transients += last == TRIAL_TRANSIENT;
			}
		assert_int_equal(transients, faulty[i].transients);
		assert_string_equal(trial_status_names[last], trial_status_names[faulty[i].last]);
		assert_int_equal(row_of_delivered(&s), faulty[i].delivered_row);
		assert_int_equal(s.c.state.n_counted, 2);
		stage_close(&s);
	}
}

/* The reference's is never its own fault. */
static void a_reference_whose_build_meets_a_full_disk_is_not_refused_for_it(void **unused)
{
	(void)unused;
	static const struct row rows[] = {{.time_s = 0.2, .build_faults = 4}, {0.1}};
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), "build: [./build, --row, '{row}']\n");
	stage_expect(&s, stage_go_on(&s), ERR_FAILED, "the reference could not be run");
	assert_int_equal(s.notes, 3);
	assert_int_equal(s.c.state.n_references, 0);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(row_of_delivered(&s), 1);
	stage_close(&s);
}

/* More trials after a delivery: what was delivered stands until another is proven better. */
static void a_delivery_stands_while_the_search_goes_on(void **unused)
{
	(void)unused;
	static const struct row rows[] = {{0.2}, {0.1}, {0.15}, {0.05}};
	struct stage s;
	static const char *first[] = {"row=1"}, *second[] = {"row=2"}, *third[] = {"row=3"};
	static const struct {
		const char **start;
		int trials, delivered_row;
		bool standing;
	} steps[] = {{first, 1, 1, false}, {second, 2, 1, true}, {third, 3, 3, false}};
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		s.run = (struct run_options){
			.trials = steps[i].trials, .starts = steps[i].start, .n_starts = 1};
		stage_expect(&s, stage_go_on(&s), OK, NULL);
		const struct duel *d = state_delivered(&s.c.state);
		assert_non_null(d);
		assert_int_equal(s.c.state.trials[d->trial - 1].candidate.setting[0], steps[i].delivered_row);
		assert_int_equal(s.c.state.has_standing, steps[i].standing);
		assert_true(s.c.state.finished);
	}
	stage_close(&s);
}

static void a_failing_reference_is_told_with_its_reason(void **unused)
{
	(void)unused;
	static const struct row rows[] = {{0.2, ANSWER_CRASH}, {0.1}};
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	stage_expect(&s, stage_go_on(&s), ERR_FAILED, "the reference itself does not pass: completes");
	assert_non_null(strstr(s.error.message, "free(): invalid next size"));
	assert_int_equal(s.executions, 1);
	stage_close(&s);
}

static void a_finished_campaign_stays_so_until_there_is_budget(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, cases[1].rows, ROWS, NULL);
	s.run.trials = 1;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	int executions = s.executions;
	assert_int_equal(s.c.state.n_counted, 1);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.executions, executions);
	s.run.trials = 3;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 3);
	assert_int_equal(row_of_delivered(&s), 2);
	stage_close(&s);
}

static const char many_knobs[] = "version: 1\nname: job\nstack: native\n"
				 "launch: {command: [./train, --row, '{row}', '{a}', '{b}', '{c}']}\n"
				 "contract: {updates: 12, warmup: 4, frozen_files: [eval.txt]}\n"
				 "knobs:\n"
				 "  - {name: row, values: [0, 1, 2, 3], reference: 0}\n"
				 "  - {name: a, values: [x, y, z], reference: x}\n"
				 "  - {name: b, values: [x, y, z], reference: x}\n"
				 "  - {name: c, values: [x, y, z], reference: x}\n";

static void open_many_knobs(struct stage *s)
{
	stage_open(s, cases[1].rows, ROWS, NULL);
	stage_write(s, "infrarsi.yaml", many_knobs);
	stage_lock(s);
}

/* A fixed value is kept by every trial, however many are fixed at once. */
static void fixed_settings_are_kept(void **unused)
{
	(void)unused;
	static const char *fixed[] = {"a=y", "b=z", "c=y"};
	struct stage s;
	open_many_knobs(&s);
	s.run = (struct run_options){.trials = 4, .fixed = fixed, .n_fixed = ARRAY_LEN(fixed)};
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 4);
	for (size_t i = 0; i < s.c.state.n_trials; i++) {
		const int *setting = s.c.state.trials[i].candidate.setting;
		assert_true(setting[1] == 1 && setting[2] == 2 && setting[3] == 1);
	}
	assert_int_equal(row_of_delivered(&s), 2);
	stage_close(&s);
}

static void starts_run_first(void **unused)
{
	(void)unused;
	static const char *starts[] = {"a=y,b=z,c=y,row=3", "row=1"};
	struct stage s;
	open_many_knobs(&s);
	s.run = (struct run_options){
		.trials = 2, .starts = starts, .n_starts = ARRAY_LEN(starts), .search_only = true};
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.trials[0].candidate.setting[0], 3);
	assert_int_equal(s.c.state.trials[1].candidate.setting[0], 1);
	assert_int_equal(s.c.state.trials[1].candidate.setting[1], 0);
	assert_false(s.c.state.finished);
	stage_close(&s);
}

static void wrong_arguments_are_told(void **unused)
{
	(void)unused;
	static const struct {
		const char *fixed, *start, *strategy, *says;
	} wrong[] = {
		{"a", NULL, NULL, "expected knob=value"},
		{"=x", NULL, NULL, "expected knob=value"},
		{"q=x", NULL, NULL, "no knob 'q'"},
		{"a=w", NULL, NULL, "expected one of: x, y, z"},
		{NULL, "", NULL, "expected knob=value"},
		{NULL, "a=y,", NULL, "expected knob=value"},
		{NULL, "a=y,b", NULL, "'b': expected knob=value"},
		{NULL, NULL, "guess", "unknown strategy 'guess'"},
	};
	struct stage s;
	open_many_knobs(&s);
	stage_campaign(&s);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		const char *fixed[] = {wrong[i].fixed}, *starts[] = {wrong[i].start};
		s.run = (struct run_options){.fixed = fixed,
			.n_fixed = wrong[i].fixed != NULL,
			.starts = starts,
			.n_starts = wrong[i].start != NULL,
			.strategy = wrong[i].strategy};
		stage_expect(&s, search_run(&s.c, &s.run, &s.error), ERR_INPUT, wrong[i].says);
	}
	assert_int_equal(s.c.state.n_decisions, 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_campaign_delivers_what_it_must),
		cmocka_unit_test(a_stop_anywhere_is_resumed),
		cmocka_unit_test(the_same_seed_gives_the_same_course),
		cmocka_unit_test(host_faults_end_with_an_error),
		cmocka_unit_test(host_faults_in_doctor_and_in_a_duel),
		cmocka_unit_test(builds_that_the_machine_failed_are_tried_again),
		cmocka_unit_test(a_reference_whose_build_meets_a_full_disk_is_not_refused_for_it),
		cmocka_unit_test(a_delivery_stands_while_the_search_goes_on),
		cmocka_unit_test(a_failing_reference_is_told_with_its_reason),
		cmocka_unit_test(a_finished_campaign_stays_so_until_there_is_budget),
		cmocka_unit_test(fixed_settings_are_kept),
		cmocka_unit_test(starts_run_first),
		cmocka_unit_test(wrong_arguments_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
