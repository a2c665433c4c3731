/* Step lines of loops of one's own, in the spellings that people use. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/key_value_int.h"
#include "base/random.h"

static void read_alone(const char *text, struct key_value_line *ret_line)
{
	struct line_form form = {0};
	key_value_read(text, &form, ret_line);
}

static void every_key_is_known(void **state)
{
	(void)state;
	static const struct {
		enum key_value_slot slot;
		const char *keys[20];
	} rows[] = {
		{KEY_STEP,
			{"step", "global_step", "iter", "iteration", "update", "num_updates", "Step", NULL}},
		{KEY_LOSS, {"loss", "lm_loss", "train_loss", "train/loss", "training_loss", "Loss", NULL}},
		{KEY_GRAD_NORM,
			{"grad_norm", "grad-norm", "gradnorm", "gradient_norm", "gnorm", "norm", NULL}},
		{KEY_LR, {"lr", "learning_rate", "train/lr", "LR", NULL}},
		{KEY_STEP_TIME_S,
			{"dt", "time", "step_time", "step_time_s", "iter_time", "time_per_step", NULL}},
		{KEY_TOKENS, {"tokens", "ntokens", "num_tokens", "tokens_per_step", NULL}},
		{KEY_TOKENS_SEEN, {"tokens_seen", "total_tokens", NULL}},
		{KEY_TOKENS_PER_S, {"tokens/s", "tokens/sec", "tok/s", "tok/sec", "toks/s", "tokens_per_sec",
					   "tokens_per_second", "tokens_per_s", "tok_per_sec", "tps", NULL}},
		{KEY_SAMPLES_PER_S,
			{"samples/s", "samples/sec", "samples_per_sec", "samples_per_second", NULL}},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t k = 0; rows[i].keys[k]; k++) {
			char text[64];
			struct key_value_line line;
			snprintf(text, sizeof(text), "%s=2.5", rows[i].keys[k]);
			read_alone(text, &line);
			if (!line.values[rows[i].slot].has || line.values[rows[i].slot].value != 2.5)
				fail_msg("%s", text);
		}
}

static void values_with_their_units(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum key_value_slot slot;
		double value;
	} rows[] = {
		{"dt: 338.32ms", KEY_STEP_TIME_S, 0.33832},
		{"time: 0.771 s", KEY_STEP_TIME_S, 0.771},
		{"step_time_ms=41.5", KEY_STEP_TIME_S, 0.0415},
		{"iter time (ms): 41.5", KEY_STEP_TIME_S, 0.0415},
		{"mem=10.5GiB", KEY_MEM_BYTES, 10.5 * 1073741824.0},
		{"mem 512 MiB", KEY_MEM_BYTES, 512.0 * 1048576.0},
		{"peak_mem_gb: 2", KEY_MEM_BYTES, 2147483648.0},
		{"tok/sec: 424,000 |", KEY_TOKENS_PER_S, 424000.0},
		{"tokens/s=42.5K", KEY_TOKENS_PER_S, 42500.0},
		{"mfu: 33.91%", KEY_MFU_PERCENT, 33.91},
		{"learning rate: 1e-4", KEY_LR, 1e-4},
		{"grad norm: 0.5", KEY_GRAD_NORM, 0.5},
		{"INFO step: 7", KEY_STEP, 7.0},
		{"\"loss\": 2.5", KEY_LOSS, 2.5},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct key_value_line line;
		read_alone(rows[i].text, &line);
		if (!line.values[rows[i].slot].has || line.values[rows[i].slot].value != rows[i].value ||
			line.torn)
			fail_msg("%s: %.17g", rows[i].text, line.values[rows[i].slot].value);
	}
}

static void other_names_are_other_things(void **state)
{
	(void)state;
	static const char *const rows[] = {"aux loss: 1", "total_loss: 5.01 loss_cls: 2.1",
		"best_train_loss: inf", "loss_scale=65536", "params norm: 612", "train_time:500ms", "mfu=0.5",
		"mem=12", "loss = high", ""};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct key_value_line line;
		read_alone(rows[i], &line);
		for (int slot = 0; slot < N_KEY_SLOTS; slot++)
			if (line.values[slot].has)
				fail_msg("%s: slot %d", rows[i], slot);
	}
}

static void torn_records(void **state)
{
	(void)state;
	static const char *const torn[] = {"step=2 loss=4.9[rank1]: x", "step=2 loss=4.9/opt/venv/x.py",
		"loss=4.9.5", "step=2 loss=4.9step=3 loss=4.8", "loss=4.9Warning"};
	static const char *const whole[] = {"step 2/100, loss 4.9", "step: 2 (50%) loss: 4.9.",
		"loss=4.9s 2x", "dt=5ms; loss=4.9|", "lr=1e-4]"};
	struct key_value_line line;
	for (size_t i = 0; i < ARRAY_LEN(torn); i++) {
		read_alone(torn[i], &line);
		if (!line.torn)
			fail_msg("%s is whole", torn[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		read_alone(whole[i], &line);
		if (line.torn)
			fail_msg("%s is torn", whole[i]);
	}
	read_alone("00000 grad_norm=1.0 lr=0.1", &line);
	assert_true(line.continues);
	read_alone("grad_norm=1.0 lr=0.1", &line);
	assert_false(line.continues);
}

static void evaluations(void **state)
{
	(void)state;
	struct key_value_line line;
	read_alone("step 0: train loss 10.9, val loss 10.8", &line);
	assert_true(line.evaluation);
	read_alone("[eval] step=5 loss=2.0", &line);
	assert_true(line.evaluation);
	read_alone("step=5 loss=2.0 val_loss=2.1", &line);
	assert_false(line.evaluation);
}

static bool same_lines(const struct key_value_line *a, const struct key_value_line *b)
{
	for (int slot = 0; slot < N_KEY_SLOTS; slot++) {
		const struct opt_number *left = &a->values[slot], *right = &b->values[slot];
		bool nan = left->value != left->value && right->value != right->value;
		if (left->has != right->has || (left->has && left->value != right->value && !nan))
			return false;
	}
	return a->known == b->known && a->n_known == b->n_known && a->n_assigned == b->n_assigned &&
	       a->mem_kind == b->mem_kind && a->step_equals == b->step_equals &&
	       a->evaluation == b->evaluation && a->torn == b->torn && a->continues == b->continues;
}

static void change(struct random *r, char *text, size_t length)
{
	static const char bytes[] = "=: -_|,.0159einfatplsK%(/\"'";
	for (uint64_t n = random_below(r, 3); n > 0 && length > 0; n--) {
		char *at = text + random_below(r, length);
		if (random_below(r, 4) == 0)
			memmove(at, at + 1, strlen(at));
		else
			*at = bytes[random_below(r, sizeof(bytes) - 1)];
		length = strlen(text);
	}
}

/* How the line before was written must not change what a line says. */
static void the_line_before_does_not_matter(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"step=1 loss=5.545177 grad_norm=1.000000 lr=1.000e-03 dt=0.062 tokens=8192",
		"step=2 loss=nan grad_norm=inf lr=1e-3 dt=31ms tokens=8K",
		"step: 10/100 | loss: 2.31 | grad norm: 0.8 | lr: 3e-04 | dt: 412.5ms | tok/s: 1,271",
		"step 0: train loss 10.9, val loss 10.8",
		"[eval] step=5 loss=2.0",
		"step=5 loss=2.0 test accuracy 0.5 lr=0.1",
		"{\"step\": 1, \"train/loss\": 2.5, \"mem_gb\": 10.5}",
		"epoch=1-step=100-loss=2.31.pt",
		"step=7-lr=0.1 dt=5",
		"step=7.-lr=0.1 dt=5",
		"iter time (ms): 41.5 loss tensor(0.5) mem 512 MiB",
		"00000 grad_norm=1.0 lr=0.1",
		"INFO step 3 ppl=12.5 loss -0.25 mfu: 33% update 9",
		"step=1 norm=tensor(5 loss=2.5 dt=0.4",
		"step=1 norm=tensor(5 loss=2.5) dt=0.4",
	};
	struct random r;
	struct line_form form = {0};
	random_init(&r, 11, "key_value", 0);
	for (int round = 0; round < 50000; round++) {
		char text[128];
		struct key_value_line alone, behind;
		snprintf(text, sizeof(text), "%s", lines[random_below(&r, ARRAY_LEN(lines))]);
		change(&r, text, strlen(text));
		read_alone(text, &alone);
		/* Twice: behind any other line, and behind itself. */
		for (int k = 0; k < 2; k++) {
			key_value_read(text, &form, &behind);
			if (!same_lines(&alone, &behind))
				fail_msg("%s", text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_known),
		cmocka_unit_test(values_with_their_units),
		cmocka_unit_test(other_names_are_other_things),
		cmocka_unit_test(torn_records),
		cmocka_unit_test(evaluations),
		cmocka_unit_test(the_line_before_does_not_matter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
