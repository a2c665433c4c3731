/* tests/matrix: every case agrees, and there are as many as the documents say. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "matrix/matrix.h"

static struct matrix matrix;

static int run_all(void **state)
{
	struct err err = ERR_INIT;
	char text[2048];
	(void)state;
	if (!getenv("MATRIX"))
		return 1;
	if (matrix_load(getenv("MATRIX"), &matrix, &err) == OK && matrix_run(&matrix, &err) == OK)
		return 0;
	err_format(&err, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
	return 1;
}

static int drop_all(void **state)
{
	(void)state;
	matrix_release(&matrix);
	return 0;
}

static void every_case_agrees(void **state)
{
	size_t differ = 0;
	(void)state;
	for (size_t i = 0; i < matrix.n; i++) {
		const struct matrix_case *c = &matrix.cases[i];
		if (c->agrees)
			continue;
		print_error("%s\n%s\n%s\n", c->name, c->about, c->disagreement);
		differ++;
	}
	assert_int_equal(differ, 0);
}

/* The paper: 28 perturbations rejected, 12 benign variants accepted. */
static void the_papers_kinds_are_all_there(void **state)
{
	struct matrix_tally t;
	(void)state;
	matrix_tally(&matrix, &t);
	assert_true(t.cases >= 170);
	assert_int_equal(t.rejected, 28);
	assert_int_equal(t.rejected_right, 28);
	assert_int_equal(t.accepted, 12);
	assert_int_equal(t.accepted_right, 12);
}

/* Each result that an item can have at all is expected of it by some case. */
static void every_result_of_every_item_occurs(void **state)
{
	static const bool never[N_ITEMS][4] = {
		[ITEM_COMPLETES] = {[ITEM_UNCHECKED] = true, [ITEM_NA] = true},
		[ITEM_NO_ERRORS] = {[ITEM_UNCHECKED] = true, [ITEM_NA] = true},
		[ITEM_SAME_WORKLOAD] = {[ITEM_NA] = true},
		[ITEM_SAME_DATA] = {[ITEM_NA] = true},
		[ITEM_SAME_MODEL] = {[ITEM_NA] = true},
		[ITEM_FROZEN_FILES] = {[ITEM_UNCHECKED] = true},
		[ITEM_OPTIMIZER_STEPS] = {[ITEM_NA] = true},
		[ITEM_LOSS] = {[ITEM_NA] = true},
		[ITEM_GRAD_NORM] = {[ITEM_NA] = true},
		[ITEM_PRECISION] = {[ITEM_NA] = true},
		[ITEM_TIMING] = {[ITEM_NA] = true},
	};
	bool seen[N_ITEMS][4] = {{false}};
	(void)state;
	for (size_t i = 0; i < matrix.n; i++)
		for (int item = 0; item < N_ITEMS; item++)
			if (matrix.cases[i].expected.outcome != OUTCOME_REFUSED)
				seen[item][matrix.cases[i].expected.items[item]] = true;
	for (int item = 0; item < N_ITEMS; item++)
		for (int result = 0; result < 4; result++)
			if (seen[item][result] == never[item][result])
				fail_msg("%s %s: %s", item_infos[item].name, item_result_names[result],
					seen[item][result] ? "occurs" : "never occurs");
}

/* Each item is the primary cause of some rejection; each review is held, and each refusal made, in some case.
 */
static void every_cause_occurs(void **state)
{
	bool primary[N_ITEMS] = {false}, review[N_REVIEW_KINDS] = {false}, refusal[N_REFUSALS] = {false};
	(void)state;
	for (size_t i = 0; i < matrix.n; i++) {
		const struct matrix_answer *e = &matrix.cases[i].expected;
		if (e->outcome == OUTCOME_INVALID)
			primary[e->primary] = true;
		if (e->outcome == OUTCOME_REFUSED)
			refusal[e->refusal] = true;
		for (int k = 0; k < N_REVIEW_KINDS; k++)
			review[k] |= e->reviews[k];
	}
	for (int i = 0; i < N_ITEMS; i++)
		if (!primary[i])
			fail_msg("%s rejects in no case", item_infos[i].name);
	for (int k = 0; k < N_REVIEW_KINDS; k++)
		if (!review[k])
			fail_msg("no case is held for %s", review_names[k]);
	for (int k = REFUSAL_NONE + 1; k < N_REFUSALS; k++)
		/* These two are about the machine, not about the receipt. */
		if (!refusal[k] && k != REFUSAL_UNREADABLE && k != REFUSAL_UNKNOWN_KEY)
			fail_msg("no case is refused as %s", refusal_names[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_agrees),
		cmocka_unit_test(the_papers_kinds_are_all_there),
		cmocka_unit_test(every_result_of_every_item_occurs),
		cmocka_unit_test(every_cause_occurs),
	};
	return cmocka_run_group_tests(tests, run_all, drop_all);
}
