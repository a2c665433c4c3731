/* Surfaces: levers, reference and answers of the tables in tests/fixtures/simulate, and what a bad table
 * says. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "simulate_fixture.h"

#define GIB 1073741824.0

static int setting_called(const struct lever *lever, const char *name)
{
	for (int i = 0; i < lever->n_settings; i++)
		if (strcmp(lever->setting_names[i], name) == 0)
			return i;
	fail_msg("%s has no setting %s", lever->name, name);
	return -1;
}

/* A configuration by its values, in the order of the levers. */
static void configuration(const struct simulated_job *job, const char *const *values, int *setting)
{
	for (int l = 0; l < job->n_levers; l++)
		setting[l] = setting_called(&job->levers[l], values[l]);
}

/* mbs * grad_acc * dp = 64 and dp * pp * tp = 8 in every row: dp and grad_acc are set by the others. */
static void columns_that_follow_are_no_levers(void **state)
{
	(void)state;
	struct simulated_job job;
	static const char *const names[] = {"mbs", "pp", "tp", "zero"};
	load_fixture("toy__2x4h100.csv", &job);
	assert_int_equal(job.n_levers, 4);
	for (int l = 0; l < 4; l++)
		assert_string_equal(job.levers[l].name, names[l]);
	assert_true(job.levers[0].ordered && !job.levers[3].ordered);
	assert_int_equal(job.devices, 8);
	assert_true(job.capacity_bytes == 80 * GIB);
	assert_true(job.sigma_pair == 0.005 && job.is_measured);
	simulated_job_release(&job);
}

/* Rows of the file: the default 1,32,2,1,4,0 takes 5.6591 s and 13.75 GiB, the fastest is 4,2,8,1,1,1
 * with 4.45 s; 8,8,1,2,4,0 fails at run time; 8,1,8,1,1,0 runs out of memory; 1,64,1,1,4,0 is not there. */
static void rows_answer(void **state)
{
	(void)state;
	struct simulated_job job;
	int setting[4];
	load_fixture("toy__2x4h100.csv", &job);
	job_reference(&job, setting);
	struct truth t = job_evaluate(&job, setting);
	assert_true(t.end == JOB_RUNS && t.gain_ln == 0 && fabs(t.peak_bytes - 13.75 * GIB) < 1);
	assert_true(job.reference_step_s == 5.6591);
	assert_true(fabs(job.optimum_ln - log(5.6591 / 4.45)) < 1e-12);
	configuration(&job, (const char *const[]){"4", "1", "1", "1"}, setting);
	assert_memory_equal(setting, job.optimum_setting, sizeof(setting));
	assert_true(fabs(job_gain_ln(&job, setting) - job.optimum_ln) < 1e-12);
	configuration(&job, (const char *const[]){"8", "2", "4", "0"}, setting);
	assert_int_equal(job_evaluate(&job, setting).end, JOB_CRASHES);
	assert_true(isnan(job_gain_ln(&job, setting)) && job_is_legal(&job, setting));
	configuration(&job, (const char *const[]){"8", "1", "1", "0"}, setting);
	t = job_evaluate(&job, setting);
	assert_true(t.end == JOB_OOM && isnan(t.excess_bytes));
	configuration(&job, (const char *const[]){"1", "4", "4", "0"}, setting);
	assert_false(job_is_legal(&job, setting));
	simulated_job_release(&job);
}

/* 16, 1, scalar: 16, 1, float4 comes before it and does not compile. */
static void without_a_default_the_lowest_that_ran_is_the_reference(void **state)
{
	(void)state;
	struct simulated_job job;
	int reference[3];
	load_fixture("kernel__toy.csv", &job);
	job_reference(&job, reference);
	assert_string_equal(job.levers[0].setting_names[reference[0]], "16");
	assert_string_equal(job.levers[1].setting_names[reference[1]], "1");
	assert_string_equal(job.levers[2].setting_names[reference[2]], "scalar");
	assert_true(isinf(job.capacity_bytes));
	assert_int_equal(job.devices, 1);
	/* numbers ascend as numbers, words as words */
	assert_string_equal(job.levers[0].setting_names[3], "128");
	assert_string_equal(job.levers[2].setting_names[0], "float4");
	simulated_job_release(&job);
}

/* float4 takes 0.7 of scalar's time in every pair of rows (to 6 digits): the experienced mean is 0.7
 * ln(1/0.7). */
static void siblings_teach_effects_and_a_start(void **state)
{
	(void)state;
	struct simulated_job job, sibling;
	load_fixture("kernel__toy.csv", &job);
	load_fixture("kernel__toy.csv", &sibling);
	surface_learn(&job, (const struct simulated_job *const[]){&sibling}, 1);
	struct search_input in = {.model = {.n_levers = 3}};
	job_inform(&job, true, &in);
	const struct lever_prior *p = &in.model.levers[2].prior[0];
	assert_true(p->experienced && fabs(p->mean_ln - 0.7 * log(1 / 0.7)) < 1e-5);
	assert_true(fabs(p->sd_ln - 0.5 * log(1 / 0.7)) < 1e-5);
	assert_string_equal(job.levers[0].setting_names[in.experienced_start[0]], "32");
	assert_string_equal(job.levers[1].setting_names[in.experienced_start[1]], "4");
	assert_string_equal(job.levers[2].setting_names[in.experienced_start[2]], "float4");
	job_inform(&job, false, &in);
	assert_false(in.model.levers[2].prior[0].experienced);
	simulated_job_release(&sibling);
	simulated_job_release(&job);
}

/* The fixture with one other row: what a run elsewhere is on this task's levers. */
static void runs_of_siblings_are_put_on_the_levers(void **state)
{
	(void)state;
	CLEANUP(free_ptr) char *text = fixture_text("toy__2x4h100.csv");
	CLEANUP(free_ptr) char *other = replaced(text, "1,8,8,1,1,0,5.15,55,ok", "3,8,8,1,1,9,5.15,55,ok");
	struct simulated_job job, sibling;
	struct err e = ERR_INIT;
	load_fixture("toy__2x4h100.csv", &job);
	assert_int_equal(surface_parse("toy__1x4h100.csv", other, strlen(other), NULL, &sibling, &e), OK);
	surface_learn(&job, (const struct simulated_job *const[]){&sibling, &sibling, &sibling, &sibling}, 4);
	struct search_input in = {.model = {.n_levers = job.n_levers}};
	job_inform(&job, true, &in);
	assert_true(in.model.n_sibling_runs > 0 && in.model.n_sibling_runs <= 3 * 40);
	int n_of[3] = {0}, n_oom = 0, n_odd = 0;
	for (size_t i = 0; i < in.model.n_sibling_runs; i++) {
		const struct sibling_run *run = &in.model.sibling_runs[i];
		assert_in_range(run->sibling, 0, 2);
		n_of[run->sibling]++;
		n_oom += run->out_of_memory;
		assert_true(run->out_of_memory ? isnan(run->peak_bytes) : run->peak_bytes > 0);
		assert_true(run->capacity_bytes == 80 * 1073741824.0);
		/* A micro-batch that the target lacks is a number all the same; ZeRO has two settings there:
		 * no axis, and 9 is neither. */
		if (run->value[0] != 3)
			continue;
		n_odd++;
		assert_true(run->peak_bytes == 55 * 1073741824.0 && run->value[3] == -1);
	}
	assert_true(n_of[0] == n_of[1] && n_of[1] == n_of[2] && n_of[0] <= 40 && n_oom > 0);
	assert_true(n_odd > 0);
	job_inform(&job, false, &in);
	assert_int_equal(in.model.n_sibling_runs, 0);
	simulated_job_release(&sibling);
	simulated_job_release(&job);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
		int line, column;
	} cases[] = {
		{"", "expected the header of a surface", 1, 1},
		{"a,b\n", "expected the header of a surface", 1, 1},
		{"time_s,peak_mem_gib,status\n1,,ok\n", "expected the header of a surface", 1, 1},
		{"a,time_s,peak_mem_gib\n", "expected the header of a surface", 1, 1},
		{"a,,time_s,peak_mem_gib,status\n", "expected a knob's name", 1, 3},
		{"a,a,time_s,peak_mem_gib,status\n", "expected every knob once", 1, 3},
		{"a,time_s,peak_mem_gib,status\n", "expected at least one row", 1, 1},
		{"a,time_s,peak_mem_gib,status\n1,2,ok\n", "as many cells as the header", 2, 1},
		{"a,time_s,peak_mem_gib,status\n1,2,,ok,\n", "as many cells as the header", 2, 1},
		{"a,time_s,peak_mem_gib,status\n1,2,,fine\n", "expected ok, oom, compile_fail or", 2, 6},
		{"a,time_s,peak_mem_gib,status\n1,,,ok\n", "a row that is ok has a time", 2, 3},
		{"a,time_s,peak_mem_gib,status\n1,-2,,ok\n", "expected seconds above 0", 2, 3},
		{"a,time_s,peak_mem_gib,status\n1,nan,,ok\n", "expected seconds above 0", 2, 3},
		{"a,time_s,peak_mem_gib,status\n1,2,x,ok\n", "expected GiB above 0", 2, 5},
		{"a,time_s,peak_mem_gib,status\n,2,,ok\n", "expected a value", 2, 1},
		{"a,time_s,peak_mem_gib,status\n\"1\",2,,ok\n", "without quotation marks", 2, 1},
		{"a,time_s,peak_mem_gib,status\n1,2,,ok\n\n1,3,,ok\n", "this is that of line 2", 4, 1},
		{"a,time_s,peak_mem_gib,status\n1,,,oom\n", "at least one row with status ok", 1, 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct simulated_job job;
		struct err e = ERR_INIT;
		assert_int_equal(surface_parse("t.csv", cases[i].text, strlen(cases[i].text), NULL, &job, &e),
			ERR_INPUT);
		if (!strstr(e.message, cases[i].says) || e.line != cases[i].line ||
			e.column != cases[i].column)
			fail_msg("case %zu: %d:%d: '%s'", i, e.line, e.column, e.message);
	}
}

static void lines_may_end_as_on_windows(void **state)
{
	(void)state;
	static const char text[] = "a,time_s,peak_mem_gib,status\r\n1,2,,ok\r\n2,1,,ok";
	struct simulated_job job;
	struct err e = ERR_INIT;
	assert_int_equal(surface_parse("t.csv", text, strlen(text), NULL, &job, &e), OK);
	assert_true(fabs(job.optimum_ln - log(2)) < 1e-12);
	simulated_job_release(&job);
}

static void defaults_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *defaults, *says;
	} cases[] = {
		{"[", "expected JSON"},
		{"[]", "expected an object"},
		{"{\"t\": 1}", "t: expected an array of 1 to 64 elements"},
		{"{\"t\": [1]}", "t[0]: expected 1 to 64 printable"},
		{"{\"t\": [\"1\", \"2\"]}", "expected 2 knobs, as the default of t has"},
		{"{\"t\": [\"3\"]}", "expected a row with status ok for the default of t"},
		{"{\"t\": [\"2\"]}", "expected a row with status ok for the default of t"},
	};
	static const char text[] = "a,time_s,peak_mem_gib,status\n1,2,,ok\n2,,,oom\n";
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct surface_defaults *defaults = NULL;
		struct simulated_job job;
		struct err e = ERR_INIT;
		enum err_code code = surface_defaults_parse(
			"d.json", cases[i].defaults, strlen(cases[i].defaults), &defaults, &e);
		if (code == OK)
			code = surface_parse("x/t.csv", text, strlen(text), defaults, &job, &e);
		surface_defaults_free(defaults);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].says))
			fail_msg("%s: '%s'", cases[i].defaults, e.message);
	}
}

static void other_files_are_refused_by_name(void **state)
{
	(void)state;
	struct simulated_job job;
	struct err e = ERR_INIT;
	assert_int_equal(surface_load("t.csv.xz", NULL, &job, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "expected a .csv file; a compressed one has to be unpacked first"));
	assert_int_equal(surface_load("/nonexistent/t.csv", NULL, &job, &e), ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_that_follow_are_no_levers),
		cmocka_unit_test(rows_answer),
		cmocka_unit_test(without_a_default_the_lowest_that_ran_is_the_reference),
		cmocka_unit_test(siblings_teach_effects_and_a_start),
		cmocka_unit_test(runs_of_siblings_are_put_on_the_levers),
		cmocka_unit_test(what_is_wrong_is_said_with_its_place),
		cmocka_unit_test(lines_may_end_as_on_windows),
		cmocka_unit_test(defaults_are_checked),
		cmocka_unit_test(other_files_are_refused_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
