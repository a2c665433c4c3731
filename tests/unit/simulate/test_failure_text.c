/* What simulated failures say of their cause: how often, how rightly, and that it can be read. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/evidence.h"
#include "simulate/failure_text.h"
#include "simulate_fixture.h"

enum { LEVERS = 6, SEEDS = 4000 };
/* cliff.json: compile, liger, tp, fp8, p_skip_aux, p_bucket. */
static const int hang[LEVERS] = {1, 0, 1}, crash[LEVERS] = {0, 0, 2, 1, 0, 1}, runs[LEVERS] = {0, 0, 1};

static void setup_job(struct simulated_job *job)
{
	load_fixture("cliff.json", job);
	job->failures_explain = true;
}

struct tally {
	int silent, right, wrong;
};

/* Levers that the text names, as the search reads it; fails unless they can be the culprits or two others. */
static void count_text(const struct simulated_job *job, const int *setting, const char *text,
	unsigned culprits, struct tally *t)
{
	bool named[LEVERS], changed = false;
	unsigned bits = 0;
	if (!text) {
		t->silent++;
		return;
	}
	int n = evidence_named(job->levers, LEVERS, setting, text, named);
	for (int l = 0; l < LEVERS; l++) {
		bits |= named[l] ? 1u << l : 0;
		changed |= named[l] && setting[l] != job->levers[l].reference;
	}
	if (n != 2 || !changed)
		fail_msg("'%s' names %#x", text, bits);
	*(bits == culprits ? &t->right : &t->wrong) += 1;
}

/* 60% right and 15% wrong: a share over n draws is off by more than 4 sqrt(p (1 - p) / n) once in 16,000. */
static void shares_are_as_documented(void **state)
{
	(void)state;
	static const struct {
		const int *setting;
		unsigned culprits;
	} cases[] = {{hang, 1u << 0 | 1u << 1}, {crash, 1u << 2 | 1u << 5}};
	struct simulated_job job;
	setup_job(&job);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tally t = {0};
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			CLEANUP(free_ptr) char *text = failure_text(&job, cases[i].setting, seed);
			count_text(&job, cases[i].setting, text, cases[i].culprits, &t);
		}
		assert_true(fabs((double)t.right / SEEDS - 0.60) < 4 * sqrt(0.60 * 0.40 / SEEDS));
		assert_true(fabs((double)t.wrong / SEEDS - 0.15) < 4 * sqrt(0.15 * 0.85 / SEEDS));
		assert_int_equal(t.silent + t.right + t.wrong, SEEDS);
	}
	simulated_job_release(&job);
}

/* Of the seed and the configuration alone: whichever run it is, whichever strategy came upon it. */
static void the_same_failure_says_the_same(void **state)
{
	(void)state;
	struct simulated_job job;
	int n_different = 0;
	setup_job(&job);
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct simulated_run first, later;
		CLEANUP(free_ptr) char *text = failure_text(&job, crash, seed);
		CLEANUP(free_ptr) char *other = failure_text(&job, hang, seed);
		job_run(&job, crash, seed, 1, &first);
		job_run(&job, crash, seed, 17, &later);
		assert_true(!text == !first.explanation && !text == !later.explanation);
		if (text) {
			assert_string_equal(first.explanation, text);
			assert_string_equal(later.explanation, text);
		}
		n_different += !text != !other;
		simulated_run_release(&first);
		simulated_run_release(&later);
	}
	assert_true(n_different > 0);
	simulated_job_release(&job);
}

static void nothing_else_explains_itself(void **state)
{
	(void)state;
	struct simulated_job job, table;
	load_fixture("cliff.json", &job);
	load_fixture("kernel__toy.csv", &table);
	table.failures_explain = true;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct simulated_run run;
		assert_null(failure_text(&job, crash, seed)); /* not asked for */
		assert_null(failure_text(&table, (const int[]){0, 0, 0}, seed));
		job.failures_explain = true;
		job_run(&job, runs, seed, 1, &run);
		assert_null(run.explanation);
		simulated_run_release(&run);
		job.failures_explain = false;
	}
	simulated_job_release(&table);
	simulated_job_release(&job);
}

/* The landscape's conflict of one setting is named alone; its reader finds that one. */
static void a_setting_that_fails_alone_is_named_alone(void **state)
{
	(void)state;
	CLEANUP(free_ptr) char *text = fixture_text("cliff.json");
	CLEANUP(free_ptr) char *single = replaced(text, "\"kind\": \"loss\"", "\"kind\": \"crash\"");
	static const int fp8[LEVERS] = {0, 0, 0, 1};
	struct simulated_job job;
	struct err e = ERR_INIT;
	int n_alone = 0;
	assert_int_equal(landscape_parse("cliff", single, strlen(single), &job, &e), OK);
	job.failures_explain = true;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		bool named[LEVERS];
		CLEANUP(free_ptr) char *said = failure_text(&job, fp8, seed);
		int n = said ? evidence_named(job.levers, LEVERS, fp8, said, named) : 0;
		assert_true(!said || n == 1 || n == 2);
		assert_true(n != 1 || named[3]);
		n_alone += n == 1;
	}
	assert_true(n_alone > 80 && n_alone < 160); /* 120, sd 7 */
	simulated_job_release(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_as_documented),
		cmocka_unit_test(the_same_failure_says_the_same),
		cmocka_unit_test(nothing_else_explains_itself),
		cmocka_unit_test(a_setting_that_fails_alone_is_named_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
