/* Layers 2 and 3: workload, data, model, frozen files, optimizer steps. */
#include "base/base.h"

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

static void clear_everywhere(void (*clear)(struct receipt *r))
{
	clear(&f.refs[0]);
	clear(&f.refs[1]);
	clear(&f.candidate);
}

static void no_tokens(struct receipt *r)
{
	EVERY_UPDATE(r, tokens, none);
}

static void no_seq_len(struct receipt *r)
{
	EVERY_UPDATE(r, seq_len, none);
}

static void no_steps(struct receipt *r)
{
	EVERY_UPDATE(r, opt_step, none);
}

static void no_lr(struct receipt *r)
{
	EVERY_UPDATE(r, lr, none);
}

static void tokens_at_every_update(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_SAME_WORKLOAD, ITEM_PASS, "4096 tokens an update at all 30 updates");
	f.candidate.updates[0].tokens = some(4095); /* the warm-up counts too */
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "tokens 4095 against 4096 at update 1");
	f.candidate.updates[0].tokens = none;
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "tokens not reported at update 1");
}

static void workload_that_cannot_be_checked_rejects(void **state)
{
	(void)state;
	clear_everywhere(no_tokens);
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED, "tokens not reported by the reference");
	EVERY_UPDATE(&f.candidate, tokens, some(4096)); /* a claim with nothing to hold it against */
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED, NULL);
}

static void references_must_agree(void **state)
{
	(void)state;
	f.refs[1].updates[4].tokens = some(4000);
	expect_rejected(
		&f, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED, "differ from each other in tokens at update 5");
}

static void varying_workload_may_vary_alike(void **state)
{
	(void)state;
	FOR_ALL(&f, updates[7].tokens, some(1000));
	expect_valid(&f, ITEM_SAME_WORKLOAD, ITEM_PASS, NULL);
}

static void sequence_length(void **state)
{
	(void)state;
	EVERY_UPDATE(&f.candidate, seq_len, some(64));
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "sequence length 64 against 128 at update 1");
	clear_everywhere(no_seq_len);
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED, "sequence length not reported");
	FOR_ALL(&f, terms.seq_len, 0); /* a workload without sequences */
	expect_valid(&f, ITEM_SAME_WORKLOAD, ITEM_PASS, NULL);
}

static void contract_sizes_and_invariants(void **state)
{
	(void)state;
	f.candidate.terms.invariant_holds[0] = false;
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "invariant does not hold: micro_batch");
	f.candidate.terms.invariant_holds[0] = true;
	f.candidate.reported_global_batch = some(16);
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "global batch 16 against the contract's 32");
	f.candidate.reported_global_batch = some(32);
	f.candidate.reported_seq_len = some(64);
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "sequence length 64 against the contract's 128");
}

static void events_must_carry_the_nonce(void **state)
{
	(void)state;
	f.candidate.nonce_echoed = false;
	expect_rejected(&f, ITEM_SAME_WORKLOAD, ITEM_FAIL, "nonce");
	f.refs[0].nonce_echoed = false; /* a log reader cannot */
	expect_valid(&f, ITEM_SAME_WORKLOAD, ITEM_PASS, NULL);
}

static void data(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_SAME_DATA, ITEM_PASS, "equal at all 30");
	f.candidate.updates[21].data[31] ^= 1;
	expect_rejected(&f, ITEM_SAME_DATA, ITEM_FAIL, "differ from the reference's at update 22");
	f.candidate.updates[21].data[0] = '\0';
	expect_rejected(&f, ITEM_SAME_DATA, ITEM_FAIL, "no data digest at update 22");
	clear_data(&f.refs[0]);
	clear_data(&f.refs[1]);
	expect_valid(&f, ITEM_SAME_DATA, ITEM_UNCHECKED, "reports no data digest");
}

static void data_that_the_references_do_not_repeat(void **state)
{
	(void)state;
	f.refs[0].updates[2].data[0] = 'f';
	expect_valid(&f, ITEM_SAME_DATA, ITEM_UNCHECKED, "differ from each other at update 3");
}

static void model(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_SAME_MODEL, ITEM_PASS, "same digest, 1000000 trainable parameters");
	f.candidate.params = some(999999);
	expect_rejected(&f, ITEM_SAME_MODEL, ITEM_FAIL, "trainable parameters 999999 against 1000000");
	f.candidate.params = none;
	expect_rejected(&f, ITEM_SAME_MODEL, ITEM_FAIL, "trainable parameters not reported");
	f.candidate.params = some(1e6);
	f.candidate.active_params = some(5e5);
	expect_rejected(&f, ITEM_SAME_MODEL, ITEM_FAIL, "active parameters");
	f.candidate.active_params = some(1e6);
	f.candidate.model_digest = "00";
	expect_rejected(&f, ITEM_SAME_MODEL, ITEM_FAIL, "parameters differ");
	f.candidate.model_digest = "";
	expect_rejected(&f, ITEM_SAME_MODEL, ITEM_FAIL, "no model digest reported");
	f.refs[0].model_digest = f.refs[1].model_digest = "";
	expect_valid(&f, ITEM_SAME_MODEL, ITEM_PASS, "no digest");
}

static void model_of_which_nothing_is_known(void **state)
{
	(void)state;
	FOR_ALL(&f, params, none);
	FOR_ALL(&f, active_params, none);
	FOR_ALL(&f, layers, none);
	FOR_ALL(&f, d_attn, none);
	FOR_ALL(&f, model_digest, "");
	expect_valid(&f, ITEM_SAME_MODEL, ITEM_UNCHECKED, "nothing about its model");
}

static void frozen_files(void **state)
{
	(void)state;
	struct receipt_file *file = &f.candidate.files[1];
	expect_valid(&f, ITEM_FROZEN_FILES, ITEM_PASS, "2 files unchanged");
	file->after[0] ^= 1;
	expect_rejected(&f, ITEM_FROZEN_FILES, ITEM_FAIL, "eval.py was changed by the run");
	file->after[0] = '\0';
	expect_rejected(&f, ITEM_FROZEN_FILES, ITEM_FAIL, "eval.py was removed by the run");
	memset(file->before, 'a', 64);
	memset(file->after, 'a', 64); /* unchanged, but not the reference's */
	expect_rejected(&f, ITEM_FROZEN_FILES, ITEM_FAIL, "eval.py is not the reference's");
	file->before[0] = file->after[0] = '\0';
	expect_rejected(&f, ITEM_FROZEN_FILES, ITEM_FAIL, "absent before the run");
	f.candidate.n_files = 1;
	expect_rejected(&f, ITEM_FROZEN_FILES, ITEM_FAIL, "eval.py was not hashed");
	FOR_ALL(&f, n_files, 0);
	expect_valid(&f, ITEM_FROZEN_FILES, ITEM_NA, NULL);
}

static void optimizer_steps_by_counter(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_OPTIMIZER_STEPS, ITEM_PASS, "all 30");
	f.candidate.updates[29].opt_step = some(29);
	expect_rejected(&f, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "step counter 29 against 30 at update 30");
	f.candidate.updates[29].opt_step = none;
	expect_rejected(&f, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "not reported at update 30");
	f.candidate.updates[29].opt_step = some(30);
	f.candidate.updates[11].lr = some(2e-4); /* the steps are there, the schedule is another */
	expect_rejected(
		&f, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "learning rate 0.0002 against 0.00012 at update 12");
}

static void optimizer_steps_by_learning_rate(void **state)
{
	(void)state;
	clear_everywhere(no_steps);
	expect_valid(&f, ITEM_OPTIMIZER_STEPS, ITEM_UNCHECKED, "schedule is equal at all 30");
	f.candidate.updates[11].lr.value *= 1 + 1e-9; /* another order of operations */
	expect_valid(&f, ITEM_OPTIMIZER_STEPS, ITEM_UNCHECKED, "schedule is equal");
	f.candidate.updates[11].lr.value *= 1 + 1e-5;
	expect_rejected(&f, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "learning rate");
	f.candidate.updates[11].lr = none;
	expect_rejected(&f, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "learning rate not reported at update 12");
	clear_everywhere(no_lr);
	expect_valid(&f, ITEM_OPTIMIZER_STEPS, ITEM_UNCHECKED, "no step counter");
}

/* A run that stopped early is compared where it ran. */
static void early_stop_is_compared_where_it_ran(void **state)
{
	(void)state;
	f.candidate.n_updates = 15;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, NULL);
	expect_item(&f, ITEM_SAME_WORKLOAD, ITEM_PASS, "all 15");
	expect_item(&f, ITEM_SAME_DATA, ITEM_PASS, "all 15");
	expect_item(&f, ITEM_OPTIMIZER_STEPS, ITEM_PASS, "all 15");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tokens_at_every_update),
		TEST(workload_that_cannot_be_checked_rejects),
		TEST(references_must_agree),
		TEST(varying_workload_may_vary_alike),
		TEST(sequence_length),
		TEST(contract_sizes_and_invariants),
		TEST(events_must_carry_the_nonce),
		TEST(data),
		TEST(data_that_the_references_do_not_repeat),
		TEST(model),
		TEST(model_of_which_nothing_is_known),
		TEST(frozen_files),
		TEST(optimizer_steps_by_counter),
		TEST(optimizer_steps_by_learning_rate),
		TEST(early_stop_is_compared_where_it_ran),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
