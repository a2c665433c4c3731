/* The early stop's bound by hand and its error rates by simulation. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "stats/early_stop.h"

enum { REFERENCE_RUNS = 4, UPDATES = 20, EQUALS = 8 };

static void assert_close(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g, expected %.12g", got, wanted);
}

/* R = 4, sigma_pair = 0.01, s = 0.03 of 50 degrees of freedom: se^2 = 1e-4 + 9e-4/5 = 2.8e-4, its degrees of
 * freedom 2.8e-4^2 / (1e-4^2/3 + 1.8e-4^2/50) = 19.691896, c = t(19.691896, 0.9975) = 3.1594187850 (SciPy),
 * the bound 0.02 + c se = 0.0728671881. A run that is slower by 0.075 in ln is stopped after five updates and
 * not before. */
static void bound_by_hand(void **state)
{
	(void)state;
	const struct early_stop_terms terms = {.incumbent_s = 0.5,
		.gate_ln = 0.02,
		.sigma_pair = 0.01,
		.reference_runs = 4,
		.step_sd_ln = 0.03,
		.step_dof = 50};
	struct early_stop test;
	early_stop_init(&test, &terms);
	assert_true(isnan(early_stop_slower_ln(&test)));
	for (int i = 0; i < 4; i++) {
		assert_false(early_stop_add(&test, 0.5 * exp(0.075)));
		assert_true(isinf(early_stop_bound_ln(&test)));
	}
	assert_true(early_stop_add(&test, 0.5 * exp(0.075)));
	assert_close(early_stop_bound_ln(&test), 0.07286718808998828, 1e-10);
	assert_close(early_stop_slower_ln(&test), 0.075, 1e-14);
	early_stop_release(&test);
}

/* Three runs of steps that differ by 2% in turn: each difference squared is ln(1.02)^2, so s^2 = ln(1.02)^2 /
 * 2; 57 differences are worth 38 degrees of freedom. */
static void noise_of_a_step_is_pooled(void **state)
{
	(void)state;
	double steps[UPDATES];
	struct early_stop_terms terms = {0};
	for (int i = 0; i < UPDATES; i++)
		steps[i] = i % 2 ? 1.02 : 1;
	const struct run_times runs[] = {{steps, UPDATES}, {steps, UPDATES}, {steps, UPDATES}};
	early_stop_calibrate(runs, 3, &terms);
	assert_close(terms.step_sd_ln, log(1.02) / M_SQRT2, 1e-12);
	assert_close(terms.step_dof, 38, 1e-12);
	/* Nothing known of a step's noise is not the same as no noise. */
	const struct run_times short_run = {steps, 2};
	early_stop_calibrate(&short_run, 1, &terms);
	assert_true(isinf(terms.step_sd_ln));
	assert_close(terms.step_dof, 0, 0);
}

/* A run whose own steps vary more than the reference's is given the time that this takes. */
static void own_noise_counts(void **state)
{
	(void)state;
	const struct early_stop_terms terms = {.incumbent_s = 1,
		.gate_ln = 0.02,
		.sigma_pair = 0.001,
		.reference_runs = 4,
		.step_sd_ln = 0.001,
		.step_dof = 50};
	struct early_stop quiet, noisy;
	early_stop_init(&quiet, &terms);
	early_stop_init(&noisy, &terms);
	bool stops_quiet = false, stops_noisy = false;
	for (int i = 0; i < 6; i++) {
		stops_quiet |= early_stop_add(&quiet, 1.1);
		stops_noisy |= early_stop_add(&noisy, i % 2 ? 1.0 : 1.25);
	}
	assert_true(stops_quiet);
	assert_false(stops_noisy);
	assert_true(early_stop_bound_ln(&noisy) > 3 * early_stop_bound_ln(&quiet));
	early_stop_release(&quiet);
	early_stop_release(&noisy);
}

static void nothing_is_concluded_without_a_calibration(void **state)
{
	(void)state;
	const struct early_stop_terms terms = {
		.incumbent_s = 1, .gate_ln = 0.02, .sigma_pair = 0.001, .reference_runs = 1, .step_dof = 9};
	struct early_stop test;
	early_stop_init(&test, &terms);
	for (int i = 0; i < 100; i++)
		assert_false(early_stop_add(&test, 5));
	early_stop_release(&test);
}

static const struct early_stop_terms quiet = {.incumbent_s = 1,
	.gate_ln = 0.02,
	.sigma_pair = 0.001,
	.reference_runs = 4,
	.step_sd_ln = 0.001,
	.step_dof = 50};

static void times_that_are_none_stop_nothing(void **state)
{
	(void)state;
	static const double broken[] = {NAN, INFINITY, -INFINITY};
	for (size_t k = 0; k < ARRAY_LEN(broken); k++) {
		struct early_stop test;
		early_stop_init(&test, &quiet);
		assert_false(early_stop_add(&test, broken[k]));
		for (int i = 0; i < 50; i++)
			assert_false(early_stop_add(&test, 5));
		early_stop_release(&test);
	}
}

/* An interval of no length is what a reader that took several lines at once sees, behind one that is too
 * long. Without the two a run that is five times slower is stopped after five updates that say so; one that
 * is as fast never is, although every interval that has a length has twice the incumbent's. */
static void lines_read_together_say_nothing(void **state)
{
	(void)state;
	static const double slow[] = {5, 5, 15, 0, 0, 5, 5, 5};
	struct early_stop test;
	early_stop_init(&test, &quiet);
	assert_false(early_stop_add(&test, 0));
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		assert_true(early_stop_add(&test, slow[i]) == (i + 1 == ARRAY_LEN(slow)));
	assert_int_equal(test.n, 5);
	assert_close(early_stop_slower_ln(&test), log(5), 1e-14);
	early_stop_release(&test);
	early_stop_init(&test, &quiet);
	for (int i = 0; i < 200; i++)
		assert_false(early_stop_add(&test, i % 2 ? 0 : 2));
	early_stop_release(&test);
}

/* One step of ten times the length moves the mean of five by 0.46 and their median not at all. */
static void a_hiccup_stops_no_run(void **state)
{
	(void)state;
	for (int at = 0; at < UPDATES; at++) {
		struct early_stop test;
		early_stop_init(&test, &quiet);
		for (int i = 0; i < UPDATES; i++)
			assert_false(early_stop_add(&test, i == at ? 10 : 1));
		early_stop_release(&test);
	}
}

/* ---- error rates ---- */

struct spread { /* of one run */
	double between, within;
};

static struct spread spread_of(double sigma_pair, double between_share)
{
	double run = sigma_pair / M_SQRT2;
	return (struct spread){sqrt(between_share) * run, sqrt((1 - between_share) * UPDATES) * run};
}

/* Each line waits with this chance until the next one comes. */
static void read_late(struct random *r, double chance, double step_s[UPDATES])
{
	double arrived_s[UPDATES], before_s = 0;
	for (int i = 0; i < UPDATES; i++)
		arrived_s[i] = before_s += step_s[i];
	for (int i = UPDATES - 2; i >= 0; i--)
		if (random_uniform(r) < chance)
			arrived_s[i] = arrived_s[i + 1];
	for (int i = 0; i < UPDATES; i++)
		step_s[i] = arrived_s[i] - (i ? arrived_s[i - 1] : 0);
}

static double draw_run(struct random *r, const struct spread *s, double slower_ln, double step_s[UPDATES])
{
	double between = s->between * random_normal(r), sum = 0;
	for (int i = 0; i < UPDATES; i++) {
		step_s[i] = exp(slower_ln + between + s->within * random_normal(r));
		sum += step_s[i];
	}
	return sum / UPDATES;
}

static struct early_stop_terms calibrate(struct random *r, const struct spread *s)
{
	double steps[REFERENCE_RUNS][UPDATES];
	struct run_times runs[REFERENCE_RUNS];
	struct noise noise;
	for (int i = 0; i < REFERENCE_RUNS; i++) {
		draw_run(r, s, 0, steps[i]);
		runs[i] = (struct run_times){steps[i], UPDATES};
	}
	assert_int_equal(noise_estimate(runs, REFERENCE_RUNS, &noise, NULL), OK);
	struct early_stop_terms terms = {
		.gate_ln = noise.gate, .sigma_pair = noise.sigma_pair, .reference_runs = REFERENCE_RUNS};
	early_stop_calibrate(runs, REFERENCE_RUNS, &terms);
	return terms;
}

/* Updates after which a run is stopped; 0 = never. */
static int stopped_after(const struct early_stop_terms *terms, const double step_s[UPDATES])
{
	struct early_stop test;
	int after = 0;
	early_stop_init(&test, terms);
	for (int i = 0; i < UPDATES && !after; i++)
		if (early_stop_add(&test, step_s[i]))
			after = i + 1;
	early_stop_release(&test);
	return after;
}

struct rates {
	double stopped, mean_updates; /* of all; of those that were stopped */
};

struct world {
	double sigma_pair, between_share;
	double slower_ln; /* true, than the incumbent */
	bool beyond_gate; /* and by the gate more: the worst that a run within the gate can be */
	int equals;       /* the incumbent is the luckiest of so many equally fast ones */
	double late;      /* chance of a line to be read with the next */
};

static struct rates simulate(const struct world *w, int campaigns)
{
	struct spread spread = spread_of(w->sigma_pair, w->between_share);
	double step_s[UPDATES];
	int stopped = 0;
	long updates = 0;
	for (int k = 0; k < campaigns; k++) {
		struct random r;
		random_init(&r, 20261130, "early stop", (uint64_t)k);
		struct early_stop_terms terms = calibrate(&r, &spread);
		terms.incumbent_s = INFINITY;
		for (int i = 0; i < w->equals; i++)
			terms.incumbent_s = fmin(terms.incumbent_s, draw_run(&r, &spread, 0, step_s));
		draw_run(&r, &spread, w->slower_ln + (w->beyond_gate ? terms.gate_ln : 0), step_s);
		read_late(&r, w->late, step_s);
		int after = stopped_after(&terms, step_s);
		stopped += after > 0;
		updates += after;
	}
	return (struct rates){(double)stopped / campaigns, stopped ? (double)updates / stopped : 0};
}

static void hardly_a_run_that_is_not_slower_is_stopped(void **state)
{
	(void)state;
	enum { CAMPAIGNS = 2000 };
	static const double sigmas[] = {0.003, 0.1}, shares[] = {0, 0.64, 1};
	/* 0.5% and three standard errors. */
	const double allowed = 0.005 + 3 * sqrt(0.005 * 0.995 / CAMPAIGNS);
	for (size_t i = 0; i < ARRAY_LEN(sigmas); i++)
		for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
			const struct world equal = {sigmas[i], shares[k], 0, false, 1, 0},
					   at_gate = {sigmas[i], shares[k], 0, true, 1, 0},
					   lucky = {sigmas[i], shares[k], 0, false, EQUALS, 0};
			double rates[] = {simulate(&equal, CAMPAIGNS).stopped,
				simulate(&at_gate, CAMPAIGNS).stopped, simulate(&lucky, CAMPAIGNS).stopped};
			print_message("sigma_pair %g, %g between runs: stopped of equals %.3f%%, of those at "
				      "the gate %.3f%%, behind the luckiest of %d equals %.3f%%\n",
				sigmas[i], shares[k], 100 * rates[0], 100 * rates[1], EQUALS, 100 * rates[2]);
			for (size_t j = 0; j < ARRAY_LEN(rates); j++)
				assert_true(rates[j] <= allowed);
		}
}

/* With three lines in ten read late. Were only the intervals of no length left out, and not those before
 * them, 7% and 8% of the first two would be stopped. */
static void a_late_reader_stops_no_more(void **state)
{
	(void)state;
	enum { CAMPAIGNS = 2000 };
	const double allowed = 0.005 + 3 * sqrt(0.005 * 0.995 / CAMPAIGNS);
	const struct world equal = {0.003, 0.64, 0, false, 1, 0.3}, at_gate = {0.003, 0.64, 0, true, 1, 0.3},
			   slow = {0.003, 0.64, 0.5, true, 1, 0.3};
	double rates[] = {simulate(&equal, CAMPAIGNS).stopped, simulate(&at_gate, CAMPAIGNS).stopped,
		simulate(&slow, CAMPAIGNS).stopped};
	print_message(
		"three lines in ten read late: stopped of equals %.3f%%, of those at the gate %.3f%%, of "
		"the slow %.1f%%\n",
		100 * rates[0], 100 * rates[1], 100 * rates[2]);
	assert_true(rates[0] <= allowed && rates[1] <= allowed && rates[2] >= 0.9);
}

/* Without noise within the runs the bound is Student's alone: half of the 0.5% is spent, at the first look.
 * So the rate is no lower than it has to be: three standard errors of 0.25% are 0.14%. */
static void the_bound_is_not_wider_than_its_terms(void **state)
{
	(void)state;
	const struct world w = {0.05, 1, 0, true, 1, 0};
	double stopped = simulate(&w, 12000).stopped;
	assert_true(stopped > 0.0011 && stopped < 0.0039);
}

static void what_is_clearly_slower_is_stopped_soon(void **state)
{
	(void)state;
	static const struct {
		struct world world;
		double least, most_updates;
	} cases[] = {
		{{0.001, 0.64, 0.02, true, 1, 0}, 0.99, 6},
		{{0.003, 0.64, 0.04, true, 1, 0}, 0.99, 6},
		{{0.01, 0.64, 0.12, true, 1, 0}, 0.99, 6},
		{{0.03, 0.64, 0.35, true, 1, 0}, 0.99, 6},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rates r = simulate(&cases[i].world, 1000);
		print_message("sigma_pair %g, slower than the gate by %g in ln: %.1f%% stopped, after %.1f "
			      "updates\n",
			cases[i].world.sigma_pair, cases[i].world.slower_ln, 100 * r.stopped, r.mean_updates);
		assert_true(r.stopped >= cases[i].least);
		assert_true(r.mean_updates <= cases[i].most_updates);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bound_by_hand),
		cmocka_unit_test(noise_of_a_step_is_pooled),
		cmocka_unit_test(own_noise_counts),
		cmocka_unit_test(nothing_is_concluded_without_a_calibration),
		cmocka_unit_test(times_that_are_none_stop_nothing),
		cmocka_unit_test(lines_read_together_say_nothing),
		cmocka_unit_test(a_hiccup_stops_no_run),
		cmocka_unit_test(hardly_a_run_that_is_not_slower_is_stopped),
		cmocka_unit_test(a_late_reader_stops_no_more),
		cmocka_unit_test(the_bound_is_not_wider_than_its_terms),
		cmocka_unit_test(what_is_clearly_slower_is_stopped_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
