/* Landscapes: values worked out by hand from tests/fixtures/simulate, and what a bad file says. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>

#include "simulate_fixture.h"

#define GIB 1073741824.0

static void expect_truth(const struct simulated_job *job, const int *setting, enum job_end end,
	double gain_ln, double peak_gib, double excess_gib)
{
	struct truth t = job_evaluate(job, setting);
	assert_int_equal(t.end, end);
	if (!isnan(gain_ln) && fabs(t.gain_ln - gain_ln) > 1e-12)
		fail_msg("gain %.15f, expected %.15f", t.gain_ln, gain_ln);
	assert_true(fabs(t.peak_bytes / GIB - peak_gib) < 1e-9);
	assert_true(
		isnan(excess_gib) ? isnan(t.excess_bytes) : fabs(t.excess_bytes / GIB - excess_gib) < 1e-9);
}

/* small: levers micro_batch, recompute, zero, loader_workers, p_fused_norm; 60 of 80 GiB; thrash 0.1 from 72
 * on. */
static void effects_interactions_and_memory_add_up(void **state)
{
	(void)state;
	struct simulated_job job;
	load_fixture("small.json", &job);
	expect_truth(&job, (int[]){0, 0, 0, 0, 0}, JOB_RUNS, 0, 60, NAN);
	expect_truth(&job, (int[]){0, 0, 1, 0, 1}, JOB_RUNS, 0.02, 45, NAN);
	/* 0.15, and nearness: (72 / 80 - 0.9) / 0.1 = 0 */
	expect_truth(&job, (int[]){1, 0, 0, 0, 0}, JOB_RUNS, 0.15, 72, NAN);
	/* 0.2 - 0.1 * (76 / 80 - 0.9) / 0.1 = 0.2 - 0.05 */
	expect_truth(&job, (int[]){0, 1, 0, 0, 0}, JOB_RUNS, 0.15, 76, NAN);
	/* 0.15 + 0.2 + 0.03 of the interaction; 60 + 12 + 16 + 1 */
	expect_truth(&job, (int[]){1, 1, 0, 0, 0}, JOB_OOM, 0.38, 89, 9);
	/* the crash comes before the memory */
	expect_truth(&job, (int[]){2, 1, 0, 1, 0}, JOB_CRASHES, NAN, 106, NAN);
	/* 0.15 + 0.2 + 0.03 - 0.02 + 0.001 + 0.04 - 0.1 * (74 / 80 - 0.9) / 0.1 = 0.401 - 0.025 */
	expect_truth(&job, (int[]){1, 1, 1, 1, 1}, JOB_RUNS, 0.376, 74, NAN);
	assert_true(fabs(job.optimum_ln - 0.376) < 1e-12);
	assert_true(fabs(job_gain_ln(&job, job.optimum_setting) - 0.376) < 1e-12);
	simulated_job_release(&job);
}

/* cliff: in the file p_skip_aux is knob 3 and fp8 knob 4; as levers patches come last: compile, liger, tp,
 * fp8, p_skip_aux, p_bucket. */
static void patches_come_last_and_every_conflict_ends_as_it_should(void **state)
{
	(void)state;
	struct simulated_job job;
	load_fixture("cliff.json", &job);
	assert_int_equal(job.n_levers, 6);
	assert_int_equal(job.n_knobs, 4);
	assert_string_equal(job.levers[3].name, "fp8");
	assert_string_equal(job.levers[4].name, "p_skip_aux");
	assert_true(job.levers[4].is_patch && !job.levers[3].is_patch);
	expect_truth(&job, (int[]){1, 0, 0, 0, 0, 0}, JOB_HANGS, NAN, 28, NAN);
	expect_truth(&job, (int[]){1, 1, 0, 0, 0, 0}, JOB_RUNS, 0.32, 25, NAN);
	expect_truth(&job, (int[]){0, 0, 0, 1, 0, 0}, JOB_LOSES, 0.1, 26, NAN);
	expect_truth(&job, (int[]){0, 0, 0, 0, 1, 0}, JOB_CHEATS, 0.3, 30, NAN);
	expect_truth(&job, (int[]){0, 0, 2, 0, 0, 1}, JOB_CRASHES, NAN, 22, NAN);
	/* the best: 0.35 - 0.03 + 0.05 + 0.06 + 0.04 */
	expect_truth(&job, (int[]){1, 1, 1, 0, 0, 1}, JOB_RUNS, 0.47, 20, NAN);
	assert_memory_equal(job.optimum_setting, ((int[]){1, 1, 1, 0, 0, 1}), 6 * sizeof(int));
	simulated_job_release(&job);
}

/* Priors are the file's; experience is 0.7 of the sibling's effect, sd max(0.02, half of it), for memory
 * max(2% of the capacity, 30% of it). */
static void a_search_is_told_what_it_may_know(void **state)
{
	(void)state;
	struct simulated_job job;
	struct search_input in = {.model = {.n_levers = 6}};
	load_fixture("cliff.json", &job);
	job_inform(&job, false, &in);
	const struct lever_prior *p = &in.model.levers[0].prior[1];
	assert_true(p->predicted_gain_ln == 0.05 && p->amdahl_cap_ln == 2.3 && p->declared_bytes == GIB);
	assert_true(!p->experienced);
	assert_true(in.model.capacity_bytes == 40 * GIB);
	assert_null(in.experienced_start);
	assert_null(in.is_legal);
	job_inform(&job, true, &in);
	p = &in.model.levers[0].prior[1];
	assert_true(p->experienced && fabs(p->mean_ln - 0.175) < 1e-12 && fabs(p->sd_ln - 0.125) < 1e-12);
	assert_true(p->declared_bytes == -1.5 * GIB && fabs(p->memory_sd_bytes - 0.8 * GIB) < 1);
	p = &in.model.levers[2].prior[1];
	assert_true(fabs(p->sd_ln - 0.02) < 1e-12 && fabs(p->memory_sd_bytes - 1.5 * GIB) < 1);
	assert_false(in.model.levers[3].prior[1].experienced);
	assert_memory_equal(in.experienced_start, ((int[]){1, 1, 0, 0, 0, 1}), 6 * sizeof(int));
	simulated_job_release(&job);
}

/* ---- noise ---- */

static double window_ln(
	const struct simulated_job *job, const int *setting, uint64_t seed, uint64_t execution)
{
	struct simulated_run run;
	double sum = 0;
	job_run(job, setting, seed, execution, &run);
	assert_int_equal(run.n_updates, job->updates);
	for (int i = job->warmup; i < job->updates; i++)
		sum += run.step_s[i];
	assert_true(fabs(run.end_s - run.arrived_s[job->updates - 1]) < 1e-12);
	simulated_run_release(&run);
	return log(sum / (job->updates - job->warmup));
}

/* Over 4000 runs: sd of one run sigma_pair / sqrt(2), and the mean is the truth, exp(-gain) * 2 s.
 * Tolerances: 5 standard errors (sd / sqrt(4000); sd / sqrt(8000)), and for the sd 1% for what the window's
 * mean of exponentials differs. */
static void runs_differ_as_much_as_they_should(void **state)
{
	(void)state;
	struct simulated_job job;
	load_fixture("small.json", &job);
	const int setting[] = {1, 0, 0, 0, 0};
	double sum = 0, squares = 0, sd = 0.002 / sqrt(2);
	for (uint64_t i = 0; i < 4000; i++) {
		double y = window_ln(&job, setting, 7, i) - (log(2) - 0.15);
		sum += y;
		squares += y * y;
	}
	assert_true(fabs(sum / 4000) < 5 * sd / sqrt(4000));
	assert_true(fabs(sqrt(squares / 4000) / sd - 1) < 5 / sqrt(8000) + 0.01);
	simulated_job_release(&job);
}

/* sigma_pair 1.2% is above 1%: one run in twenty is slower by |N(0, 3 sd)|, mean 0.05 * 3 sd * sqrt(2 / pi).
 */
static void noisy_jobs_have_slow_outliers(void **state)
{
	(void)state;
	struct simulated_job job;
	load_fixture("cliff.json", &job);
	const int reference[6] = {0};
	double sum = 0, sd = 0.012 / sqrt(2), third = 0;
	for (uint64_t i = 0; i < 8000; i++) {
		double y = window_ln(&job, reference, 3, i);
		sum += y;
		third += y > 4 * sd;
	}
	/* 5 standard errors */
	assert_true(fabs(sum / 8000 - 0.15 * sd * sqrt(2 / 3.141592653589793)) < 5 * 1.2 * sd / sqrt(8000));
	/* P(outlier run beyond 4 sd) = 0.05 * P(N(0,1) + |N(0,3)| > 4) is about 0.05 * 0.2; without outliers
	 * 3e-5. */
	assert_in_range((int)third, 40, 130);
	simulated_job_release(&job);
}

static void the_same_execution_is_the_same_run(void **state)
{
	(void)state;
	struct simulated_job job;
	load_fixture("small.json", &job);
	const int setting[] = {0, 0, 1, 0, 0};
	assert_true(window_ln(&job, setting, 5, 9) == window_ln(&job, setting, 5, 9));
	assert_true(window_ln(&job, setting, 5, 9) != window_ln(&job, setting, 5, 10));
	assert_true(window_ln(&job, setting, 5, 9) != window_ln(&job, setting, 6, 9));
	simulated_job_release(&job);
}

/* Costs: start-up and two updates of an out-of-memory end, start-up alone of a crash, 300 s more of a hang.
 * The message shows 0.4 to 1 of the excess. */
static void failures_cost_and_tell_what_they_should(void **state)
{
	(void)state;
	struct simulated_job job;
	struct simulated_run run;
	load_fixture("small.json", &job);
	for (uint64_t i = 0; i < 100; i++) {
		job_run(&job, (int[]){1, 1, 0, 0, 0}, 1, i, &run);
		assert_int_equal(run.n_updates, 2);
		assert_true(fabs(run.end_s - 60 - 2 * 2 * exp(-0.38)) < 0.1);
		assert_true(run.shortfall_bytes >= 0.4 * 9 * GIB - 1 && run.shortfall_bytes <= 9 * GIB + 1);
		assert_true(isnan(run.peak_bytes));
		simulated_run_release(&run);
	}
	job_run(&job, (int[]){2, 1, 0, 1, 0}, 1, 1, &run);
	assert_true(run.n_updates == 0 && run.end_s == 60);
	simulated_run_release(&run);
	simulated_job_release(&job);
	load_fixture("cliff.json", &job);
	job_run(&job, (int[]){1, 0, 0, 0, 0, 0}, 1, 1, &run);
	assert_true(run.n_updates == 0 && run.end_s == 330);
	simulated_run_release(&run);
	simulated_job_release(&job);
}

/* ---- bad files ---- */

static void what_is_wrong_is_said_with_its_path(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{"{", "[", "expected a landscape as JSON"},
		{"\"seed\"", "\"sed\"", "no key 'sed' (did you mean 'seed'?)"},
		{"\"name\": \"small\"", "\"name\": \"\"", "name: expected 1 to 64 printable bytes"},
		{"\"name\": \"small\"", "\"name\": \"a\\u001b\"", "name: expected 1 to 64 printable bytes"},
		{"\"capacity_gib\": 80", "\"capacity_gib\": -80", "capacity_gib: expected a number in 0.001"},
		{"\"ref_peak_gib\": 60", "\"ref_peak_gib\": 81",
			"ref_peak_gib: expected a number in 1e-06 .. 80"},
		{"\"sigma_pair\": 0.002", "\"sigma_pair\": \"0\"", "sigma_pair: expected a number"},
		{"\"warmup\": 10", "\"warmup\": 29", "warmup: expected an integer in 0 .. 28"},
		{"\"ngpu\": 8", "\"ngpu\": 0", "ngpu: expected an integer in 1"},
		{"\"ref\": 0", "\"ref\": 3", "knobs[0].ref: expected an integer in 0 .. 2"},
		{"\"ordered\": true", "\"ordered\": 1", "knobs[0].ordered: expected true or false"},
		{"\"4\"", "\"2\"", "knobs[0].settings[2]: expected a setting that is not in the list"},
		{"\"full\"", "3", "knobs[1].settings[0]: expected 1 to 64 printable"},
		{"\"name\": \"recompute\"", "\"name\": \"zero\"", "knobs: expected every name once"},
		{"0.15,", "\"x\",", "knobs[0].true_log[1]: expected a number in -10 .. 10"},
		{"0.15,", "", "knobs[0].true_log: expected an array of 3 elements"},
		{"\"true_log\": [\n    0,", "\"true_log\": [\n    0.1,",
			"knobs[0]: expected true_log and true_gib of 0"},
		{"\"patch\": false", "\"patch\": true", "knobs[0]: expected a patch to have two settings"},
		{"\"amdahl_cap\": 2.3", "\"amdahl_cap\": null", "knobs[0].amdahl_cap: expected a number"},
		{"\"dlog\"", "\"dlogs\"", "interactions[0]: expected no key 'dlogs' (did you mean 'dlog'?)"},
		{"\"kind\": \"crash\"", "\"kind\": \"boom\"",
			"conflicts[0].kind: expected crash, hang, loss or hack"},
		{"\"opt_log\"", "\"optlog\"", "expected no key 'optlog'"},
		{"\"prior_spearman\"", "\"name\"", "duplicate object key"},
	};
	CLEANUP(free_ptr) char *good = fixture_text("small.json");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(free_ptr) char *bad = replaced(good, cases[i].from, cases[i].to);
		struct simulated_job job;
		struct err e = ERR_INIT;
		assert_int_equal(landscape_parse("bad.json", bad, strlen(bad), &job, &e), ERR_INPUT);
		if (!strstr(e.message, cases[i].says) || strcmp(e.file, "bad.json") != 0)
			fail_msg("%s -> %s: '%s' in '%s'", cases[i].from, cases[i].to, e.message, e.file);
	}
}

/* What refers to knobs must refer to some that are there. */
static void references_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *says;
	} cases[] = {
		{"interactions", "[{\"terms\": [[5, 0]], \"dlog\": 0}]",
			"interactions[0].terms[0][0]: expected an integer in 0 .. 4"},
		{"interactions", "[{\"terms\": [[0, 3]], \"dlog\": 0}]",
			"interactions[0].terms[0][1]: expected an integer in 0 .. 2"},
		{"interactions", "[{\"terms\": [], \"dlog\": 0}]",
			"interactions[0].terms: expected an array"},
		{"conflicts", "[{\"terms\": [[0, 0], [1, 0]], \"kind\": \"hang\"}]",
			"conflicts[0]: expected a conflict that the reference does not have"},
		{"declared_pairs", "[[[0, 1]]]", "declared_pairs[0]: expected an array of 2 elements"},
		{"opt_config", "[0, 0, 0, 0]", "opt_config: expected an array of 5 elements"},
		{"opt_config", "[0, 0, 0, 0, 2]", "opt_config[4]: expected an integer in 0 .. 1"},
		{"experience", "{\"config\": [0, 0, 0, 0, 0], \"effects\": [[1, 0, 0.1, 0]]}",
			"experience.effects[0][1]: expected a setting that is not the reference"},
		{"experience", "{\"config\": [0, 0, 0, 0, 0]}",
			"experience: expected an object with the key 'effects'"},
	};
	CLEANUP(free_ptr) char *good = fixture_text("small.json");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *json = json_loads(good, 0, NULL);
		json_object_set_new(json, cases[i].key, json_loads(cases[i].value, 0, NULL));
		CLEANUP(free_ptr) char *bad = json_dumps(json, 0);
		json_decref(json);
		struct simulated_job job;
		struct err e = ERR_INIT;
		assert_int_equal(landscape_parse("bad.json", bad, strlen(bad), &job, &e), ERR_INPUT);
		if (!strstr(e.message, cases[i].says))
			fail_msg("%s = %s: '%s'", cases[i].key, cases[i].value, e.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(effects_interactions_and_memory_add_up),
		cmocka_unit_test(patches_come_last_and_every_conflict_ends_as_it_should),
		cmocka_unit_test(a_search_is_told_what_it_may_know),
		cmocka_unit_test(runs_differ_as_much_as_they_should),
		cmocka_unit_test(noisy_jobs_have_slow_outliers),
		cmocka_unit_test(the_same_execution_is_the_same_run),
		cmocka_unit_test(failures_cost_and_tell_what_they_should),
		cmocka_unit_test(what_is_wrong_is_said_with_its_path),
		cmocka_unit_test(references_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
