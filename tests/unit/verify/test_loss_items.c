/* Layer 4: the loss rule with numbers by hand, gradient norm, evaluation, precision. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "verify_fixture.h"

static struct verify_fixture f;

static int set_up(void **state)
{
	(void)state;
	fixture_init(&f);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_release(&f);
	return 0;
}

static void scale_loss(struct receipt *r, double factor)
{
	for (size_t i = 0; i < r->n_updates; i++)
		r->updates[i].loss.value *= factor;
}

/* Without proof of the same data the window means are compared. */
static void without_data_proof(void)
{
	clear_data(&f.refs[0]);
	clear_data(&f.refs[1]);
	clear_data(&f.candidate);
}

/* Reference window mean: 5 - 0.02 * 20.5 = 4.59. Times 1.03: 4.7277, exactly the limit of 3%. */
static void window_mean_at_its_boundary(void **state)
{
	(void)state;
	without_data_proof();
	scale_loss(&f.candidate, 1.03);
	expect_valid(
		&f, ITEM_LOSS, ITEM_PASS, "window mean 4.7277 against 4.5900: 3% over 20 updates (limit 3%)");
	scale_loss(&f.candidate, 1 + 1e-7);
	expect_rejected(&f, ITEM_LOSS, ITEM_FAIL, NULL);
}

/* Better than the reference by more than the tolerance is another training too. */
static void lower_loss_is_held_to_the_same_limit(void **state)
{
	(void)state;
	without_data_proof();
	scale_loss(&f.candidate, 0.96);
	expect_rejected(&f, ITEM_LOSS, ITEM_FAIL, "4%");
}

/* One update off by 4%: the window mean moves by 0.2%, the strict rule sees it. */
static void strict_rule_where_the_data_are_the_same(void **state)
{
	(void)state;
	f.candidate.updates[19].loss.value *= 1.04;
	expect_rejected(
		&f, ITEM_LOSS, ITEM_FAIL, "largest deviation 4% at update 20 of 20 compared (limit 3%)");
	without_data_proof();
	expect_valid(&f, ITEM_LOSS, ITEM_PASS, "window mean");
	f.candidate.terms.loss_per_update = true; /* declared by the task */
	expect_rejected(&f, ITEM_LOSS, ITEM_FAIL, "update 20");
}

static void strict_rule_at_its_boundary(void **state)
{
	(void)state;
	f.candidate.updates[19].loss.value = 4.6 * 1.03;
	expect_valid(&f, ITEM_LOSS, ITEM_PASS, NULL);
	f.candidate.updates[19].loss.value = 4.6 * 1.0300001;
	expect_rejected(&f, ITEM_LOSS, ITEM_FAIL, NULL);
}

/* The warm-up is not part of the loss window. */
static void warm_up_is_not_compared(void **state)
{
	(void)state;
	f.candidate.updates[3].loss.value *= 2;
	expect_valid(&f, ITEM_LOSS, ITEM_PASS, "of 20 compared");
}

/*
 * Repeats at 1 +- 0.05 of the curve: deviations from their mean are 0.05 each. Pooled over 20 updates:
 * squares = 20 * 2 * 0.0025 = 0.1, degrees of freedom (2 - 1) * 20, sigma_l = sqrt(0.1 / 20) = 0.0707107.
 * They exceed the tolerance of 3%, so the per-update limit is 3 * sqrt(2) * sigma_l = 0.3 and that of the
 * window mean 3 * sigma_l * sqrt(2 / 20) = 0.0670820.
 */
static void wide_repeats_widen_the_limits(void **state)
{
	(void)state;
	scale_loss(&f.refs[0], 1.05);
	scale_loss(&f.refs[1], 0.95);
	scale_loss(&f.candidate, 1.2999);
	expect_item(&f, ITEM_LOSS, ITEM_PASS, "(limit 30%, widened: repeats differ)");
	scale_loss(&f.candidate, 1.3001 / 1.2999);
	expect_item(&f, ITEM_LOSS, ITEM_FAIL, "limit 30%");
	without_data_proof();
	scale_loss(&f.candidate, 1.0670 / 1.3001);
	expect_item(&f, ITEM_LOSS, ITEM_PASS, "(limit 6.71%, widened)");
	scale_loss(&f.candidate, 1.0672 / 1.0670);
	expect_item(&f, ITEM_LOSS, ITEM_FAIL, NULL);
}

/* Repeats at 1 +- 0.03 stay within the tolerance: nothing widens although 3 sigma_l sqrt(2) would be 18%. */
static void narrow_repeats_widen_nothing(void **state)
{
	(void)state;
	scale_loss(&f.refs[0], 1.03);
	scale_loss(&f.refs[1], 0.97);
	scale_loss(&f.candidate, 1.031);
	expect_item(&f, ITEM_LOSS, ITEM_FAIL, "(limit 3%)");
}

/*
 * Stopped after update 12: k = 2. Repeats at 1 +- 0.02: squares = 2 * 2 * 0.0004, degrees of freedom 2,
 * sigma_l = sqrt(0.0008) = 0.0282843; limit = 3 * sigma_l * sqrt(2/2) = 8.49%.
 */
static void an_early_stop_widens_the_window_mean(void **state)
{
	(void)state;
	without_data_proof();
	scale_loss(&f.refs[0], 1.02);
	scale_loss(&f.refs[1], 0.98);
	f.candidate.n_updates = 12;
	scale_loss(&f.candidate, 1.08);
	expect_item(&f, ITEM_LOSS, ITEM_PASS, "8% over 2 updates (limit 8.49%, widened)");
	scale_loss(&f.candidate, 1.086 / 1.08);
	expect_item(&f, ITEM_LOSS, ITEM_FAIL, NULL);
}

static void losses_that_are_not_there(void **state)
{
	(void)state;
	f.candidate.updates[15].loss = none;
	expect_rejected(&f, ITEM_LOSS, ITEM_FAIL, "not reported at update 16");
	f.candidate.updates[15].loss = some(NAN);
	expect_item(&f, ITEM_LOSS, ITEM_FAIL, "not a finite number at update 16");
	EVERY_UPDATE(&f.refs[0], loss, none);
	EVERY_UPDATE(&f.refs[1], loss, none);
	EVERY_UPDATE(&f.candidate, loss, none);
	expect_valid(&f, ITEM_LOSS, ITEM_UNCHECKED, "reference reports no loss");
	f.candidate.n_updates = 10;
	expect_item(&f, ITEM_LOSS, ITEM_UNCHECKED, "no update of the window ran");
}

/* Update 1: 1.99. */
static void grad_norm_vetoes_only_on_the_same_batch(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_GRAD_NORM, ITEM_PASS, "update 1: 1.9900 against 1.9900: 0% (limit 3%)");
	f.candidate.updates[0].grad_norm = some(1.99 * 1.03);
	expect_valid(&f, ITEM_GRAD_NORM, ITEM_PASS, NULL);
	f.candidate.updates[0].grad_norm = some(1.99 * 1.031);
	expect_rejected(&f, ITEM_GRAD_NORM, ITEM_FAIL, "3.1%");
	without_data_proof();
	expect_valid(&f, ITEM_GRAD_NORM, ITEM_FAIL, "a report");
	f.candidate.updates[0].grad_norm = none;
	expect_valid(&f, ITEM_GRAD_NORM, ITEM_UNCHECKED, "not reported");
	EVERY_UPDATE(&f.refs[0], grad_norm, none);
	EVERY_UPDATE(&f.refs[1], grad_norm, none);
	expect_valid(&f, ITEM_GRAD_NORM, ITEM_UNCHECKED, NULL);
}

static void eval_if_configured(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_EVAL, ITEM_NA, "not configured");
	f.candidate.terms.eval_configured = true;
	f.candidate.terms.eval_tolerance = 0.01;
	expect_rejected(&f, ITEM_EVAL, ITEM_UNCHECKED, "configured, not run");
	f.candidate.eval_difference = some(-0.01);
	expect_valid(&f, ITEM_EVAL, ITEM_PASS, "differs by 1% (limit 1%)");
	f.candidate.eval_difference = some(-0.0101);
	expect_rejected(&f, ITEM_EVAL, ITEM_FAIL, NULL);
	f.candidate.eval_difference = some(NAN);
	expect_rejected(&f, ITEM_EVAL, ITEM_FAIL, NULL);
}

static void precision_against_the_menu(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_PRECISION, ITEM_PASS, "storage fp32, compute fp32: in the task's menu");
	f.candidate.compute_precision = "bfloat16"; /* another spelling of what is on the menu */
	expect_valid(&f, ITEM_PRECISION, ITEM_PASS, "bfloat16");
	f.candidate.compute_precision = "fp8";
	expect_rejected(&f, ITEM_PRECISION, ITEM_FAIL, "outside");
	f.candidate.compute_precision = "";
	expect_valid(&f, ITEM_PRECISION, ITEM_UNCHECKED, "not reported, by the reference it is");
	FOR_ALL(&f, compute_precision, "");
	expect_valid(&f, ITEM_PRECISION, ITEM_UNCHECKED, NULL);
}

static void precision_without_a_menu_is_information(void **state)
{
	(void)state;
	FOR_ALL(&f, terms.n_precision_menu, 0);
	expect_valid(&f, ITEM_PRECISION, ITEM_PASS, "as in the reference");
	f.candidate.compute_precision = "fp8";
	expect_valid(&f, ITEM_PRECISION, ITEM_FAIL, "another than the reference's");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(window_mean_at_its_boundary),
		TEST(lower_loss_is_held_to_the_same_limit),
		TEST(strict_rule_where_the_data_are_the_same),
		TEST(strict_rule_at_its_boundary),
		TEST(warm_up_is_not_compared),
		TEST(wide_repeats_widen_the_limits),
		TEST(narrow_repeats_widen_nothing),
		TEST(an_early_stop_widens_the_window_mean),
		TEST(losses_that_are_not_there),
		TEST(grad_norm_vetoes_only_on_the_same_batch),
		TEST(eval_if_configured),
		TEST(precision_against_the_menu),
		TEST(precision_without_a_menu_is_information),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
