/* A job's output as events. Expected events are worked out from the lines by hand. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/log_events.h"
#include "event/event.h"

static void assert_number(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.17g, expected %.17g", got, wanted);
}

struct taken {
	struct event events[16];
	double arrived_s[16];
	size_t n;
};

static void take(void *context, const char *line, size_t length, double arrived_s)
{
	struct taken *t = context;
	struct err e = ERR_INIT;
	assert_true(t->n < ARRAY_LEN(t->events));
	if (event_parse(line, length, &t->events[t->n], &e) != OK)
		fail_msg("%s: %.*s", e.message, (int)length, line);
	t->arrived_s[t->n++] = arrived_s;
}

/* Each line arrives a second after the one before it, the first at 100. */
static void run(const char *format, const char *const *lines, size_t n, struct taken *t)
{
	memset(t, 0, sizeof(*t));
	struct log_events *e = log_events_new(format, take, t);
	for (size_t i = 0; i < n; i++) {
		log_events_feed(e, lines[i], strlen(lines[i]), 100.0 + (double)i);
		log_events_feed(e, "\n", 1, 100.0 + (double)i);
	}
	log_events_finish(e);
}
#define RUN(format, lines, t) run(format, lines, ARRAY_LEN(lines), t)

static void test_key_value_lines(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"loading",
		"step=1 loss=5.000000 grad_norm=1.500000 lr=1.000e-04 dt=0.500000 tokens=8192",
		"step=2 loss=nan grad_norm=1.000000 lr=1.000e-04 dt=0.250000 tokens=4096",
		"done",
	};
	struct taken t;
	RUN("ddp", lines, &t);
	assert_int_equal(t.events[0].kind, EVENT_START);
	assert_number(t.arrived_s[0], 100, 0);
	const struct event *one = &t.events[1], *two = &t.events[2];
	assert_int_equal(one->kind, EVENT_UPDATE);
	assert_int_equal(one->update, 1);
	assert_number(one->loss.value, 5, 0);
	assert_number(one->grad_norm.value, 1.5, 0);
	assert_number(one->lr.value, 1e-4, 0);
	assert_number(one->step_s.value, 0.5, 0);
	assert_number(one->tokens.value, 8192, 0);
	assert_number(t.arrived_s[1], 101, 0);
	assert_int_equal(two->update, 2);
	assert_true(two->loss.has && isnan(two->loss.value));
	assert_number(two->tokens.value, 4096, 0); /* as printed, not the first line's */
	assert_number(t.arrived_s[2], 102, 0);
}

/* Counts from 0; the header says the tokens of every iteration. */
static void test_nanogpt(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"tokens per iteration will be: 491,520",
		"iter 0: loss 10.9886, time 41022.10ms, mfu -100.00%",
		"iter 1: loss 10.9801, time 512.00ms, mfu -100.00%",
	};
	struct taken t;
	RUN("nanogpt", lines, &t);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.events[1].update, 1);
	assert_int_equal(t.events[2].update, 2);
	assert_number(t.events[1].tokens.value, 491520, 0);
	assert_number(t.events[2].loss.value, 10.9801, 0);
	assert_false(t.events[2].grad_norm.has);
	assert_false(t.events[2].opt_step.has);
}

/* Global batch and sequence length of the header: 8 x 8192 tokens, by hand 65536. */
static void test_torchtitan(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"[rank0]:[titan] 2025-03-12 11:10:04,500 - root - INFO - Training starts at step 1, with "
		"local "
		"batch size 1, global batch size 8, sequence length 8192, total steps 4 (warmup 2)",
		"[rank0]:[titan] 2025-03-12 11:10:18,511 - root - INFO - step:  1  loss: 12.2500  memory: "
		"47.46GiB(60.00%)  tps: 612  tflops: 35.44  mfu: 3.58%",
		"[rank0]:[titan] 2025-03-12 11:10:19,600 - root - INFO - step:  2  loss: 11.8703  memory: "
		"55.37GiB(70.00%)  tps: 7,529  tflops: 435.76  mfu: 44.06%",
	};
	struct taken t;
	RUN("torchtitan", lines, &t);
	assert_int_equal(t.n, 3);
	assert_number(t.events[1].tokens.value, 65536, 0);
	assert_number(t.events[1].seq_len.value, 8192, 0);
	assert_number(t.events[2].mem_bytes.value, 55.37 * 1073741824.0, 1);
}

/* The arguments that Megatron prints say the sequence length; each line says its samples. */
static void test_megatron(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"  global_batch_size ............................... 32",
		"  seq_length ...................................... 4096",
		" iteration        1/  500000 | consumed samples:           32 | elapsed time per iteration "
		"(ms): "
		"4120.7 | learning rate: 1.000E-07 | global batch size:    32 | lm loss: 1.087765E+01 | loss "
		"scale: 1.0 | grad norm: 14.902 | number of skipped iterations:   0 | number of nan "
		"iterations: "
		"  0 |",
		" iteration        2/  500000 | consumed samples:           64 | elapsed time per iteration "
		"(ms): "
		"1034.2 | learning rate: 2.000E-07 | global batch size:    32 | lm loss: 1.087541E+01 | loss "
		"scale: 1.0 | grad norm: 15.077 | number of skipped iterations:   1 | number of nan "
		"iterations: "
		"  0 |",
	};
	struct taken t;
	RUN("megatron", lines, &t);
	assert_int_equal(t.n, 3);
	for (int i = 1; i <= 2; i++) {
		assert_number(t.events[i].tokens.value, 32 * 4096, 0);
		assert_number(t.events[i].seq_len.value, 4096, 0);
		assert_number(t.events[i].opt_step.value, 1, 0); /* the second one was skipped */
	}
}

/* The table at the start: 524288 tokens of sequences of 1024. */
static void test_llmc(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"| sequence length T     | 1024                                               |",
		"| total batch size      | 524288                                             |",
		("step    1/19560 | loss 11.009160 (+nanz)| norm 15.3711 (+nanz)| lr 8.57e-07 | 2621.44 ms | "
		 "53.4% bf16 MFU | 200000 tok/s"),
	};
	struct taken t;
	RUN("llm.c", lines, &t);
	assert_int_equal(t.n, 2);
	assert_number(t.events[1].tokens.value, 524288, 0);
	assert_number(t.events[1].seq_len.value, 1024, 0);
	assert_number(t.events[1].step_s.value, 2.62144, 1e-12);
}

/* Goes on from update 500: update 1 is the first one of this run. */
static void test_resumed(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"[INFO|trainer.py:2231] 2025-03-03 03:00:00,500 >>   Continuing training from global step "
		"500",
		" 99%|#########9| 501/503 [00:02<00:00, 210.11it/s]",
		"{'loss': 0.9121, 'grad_norm': 0.75, 'learning_rate': 3e-06, 'epoch': 1.0, "
		"'num_input_tokens_seen': 65536}",
		" 99%|#########9| 502/503 [00:04<00:00, 201.10it/s]",
		"{'loss': 0.9098, 'grad_norm': 0.74, 'learning_rate': 2e-06, 'epoch': 1.0, "
		"'num_input_tokens_seen': 131072}",
	};
	struct taken t;
	RUN("hf-trainer", lines, &t);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.events[1].update, 1);
	assert_int_equal(t.events[2].update, 2);
	assert_number(t.events[2].tokens.value, 65536, 0);
}

static void test_nothing_understood(void **state)
{
	(void)state;
	static const char *const lines[] = {"hello", "world"};
	struct taken t;
	RUN("megatron", lines, &t);
	assert_int_equal(t.n, 1); /* it has started; nothing else is known */
	memset(&t, 0, sizeof(t));
	log_events_finish(log_events_new("ddp", take, &t));
	assert_int_equal(t.n, 0);
}

static void ignore(void *context, const char *line, size_t length, double arrived_s)
{
	(void)context;
	(void)line;
	(void)length;
	(void)arrived_s;
}

/* A step whose event is still held back has been seen, when its line came; what cannot be sent has not. */
static void test_steps_are_seen_before_their_events(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		long seen;
		double at_s;
	} steps[] = {
		{"loading\n", 0, 0},
		{"step=1 loss=5.0\n", 1, 101},
		{"step=2 loss=4.5\n", 2, 102},
		{"saving\n", 2, 102},
		{"step=2 loss=4.5\n", 2, 102},
		{"step=10 loss=3.5\n", 10, 105},
		{"step=9 loss=3.6\n", 10, 105},
	};
	struct log_events *e = log_events_new("ddp", ignore, NULL);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		double at_s = -1;
		log_events_feed(e, steps[i].line, strlen(steps[i].line), 100.0 + (double)i);
		assert_int_equal(log_events_seen(e, &at_s), steps[i].seen);
		assert_number(at_s, steps[i].at_s, 0);
	}
	log_events_finish(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_value_lines),
		cmocka_unit_test(test_nanogpt),
		cmocka_unit_test(test_torchtitan),
		cmocka_unit_test(test_megatron),
		cmocka_unit_test(test_llmc),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_nothing_understood),
		cmocka_unit_test(test_steps_are_seen_before_their_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
