/* Formats with a line a step: variants of what the frameworks' own sources print, named by file and version.
 * Right values are those that stand in the text, and where a unit is converted, calculated beside it. */
#include "base/base.h"

#include "reader_check.h"

/* torchtitan/components/metrics.py, train.py */
static const struct reader_case torchtitan[] = {
	{.about = "torchtitan, June 2024: GPU time and wps without thousands separators",
		.framework = "torchtitan",
		.text = "2024-06-01 10:00:00,001 - root - INFO - Training starts at step 1\n"
			"2024-06-01 10:00:30,511 - root - INFO - \033[36mstep:  1  \033[32mloss: 10.8990  "
			"\033[33mmemory:"
			"  9.53GiB(10.03%)  \033[34mGPU time: 1.250ms  CPU wall time: 1.302ms  wps: "
			"12298\033[39m \n",
		.steps = {{.step = 1,
			.loss = V(10.8990),
			.mem_bytes = V(9.53 * GIB),
			.tokens_per_s = V(12298)}},
		.n_steps = 1,
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "reserved"},
	{.about = "torchtitan 0.3: no peak known for the device, so no MFU; a large step number; nan",
		.framework = "torchtitan",
		.text = "[rank0]:[titan] 2026-08-01 10:00:00,001 - root - INFO - step: 1000  loss:  2.50001  "
			"grad_norm:  "
			"0.5000  memory: 66.91GiB(37.51%)  tps: 10,001  tflops: 1,313.18  mfu: N/A\n"
			"[rank0]:[titan] 2026-08-01 10:00:10,001 - root - INFO - step: 1010  loss:      nan  "
			"grad_norm:     "
			"nan  memory: 66.91GiB(37.51%)  tps: 10,002  tflops: 1,313.20  mfu: N/A\n",
		.steps = {{.step = 1000,
				  .loss = V(2.50001),
				  .grad_norm = V(0.5),
				  .mem_bytes = V(66.91 * GIB),
				  .tokens_per_s = V(10001),
				  .tflops_per_device = V(1313.18)},
			{.step = 1010,
				.loss = V(NAN),
				.grad_norm = V(NAN),
				.mem_bytes = V(66.91 * GIB),
				.tokens_per_s = V(10002),
				.tflops_per_device = V(1313.20)}},
		.n_steps = 2,
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "reserved"},
	{.about = "torchtitan 0.2 with LOG_RANK=0,7: the last stage knows the loss, the first prints -4",
		.framework = "torchtitan",
		.text = "[rank0]:[titan] 2025-09-01 07:00:20,001 - root - INFO - step:  1  loss: -4.0000  "
			"grad_norm: 12.5000  "
			"memory: 20.55GiB(25.98%)  tps: 900  tflops: 13.02  mfu: 1.32%\n"
			"[rank7]:[titan] 2025-09-01 07:00:20,002 - root - INFO - step:  1  loss: 12.1234  "
			"grad_norm: 12.5000  "
			"memory: 25.55GiB(32.30%)  tps: 901  tflops: 13.02  mfu: 1.32%\n",
		.steps = {{.step = 1,
			.loss = V(12.1234),
			.grad_norm = V(12.5),
			.mem_bytes = V(25.55 * GIB),
			.tokens_per_s = V(900),
			.tflops_per_device = V(13.02),
			.mfu_percent = V(1.32)}},
		.n_steps = 1,
		.flags = FLAG(DUPLICATE_STEPS),
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "reserved"},
	{.about = "torchtitan: resumed; another rank wrote into the line of step 502",
		.framework = "torchtitan",
		.text = "[titan] 2025-09-01 07:00:00,001 - root - INFO - Training starts at step 501, with "
			"local batch size 2, "
			"global batch size 16, sequence length 4096, total steps 1000 (warmup 20)\n"
			"[titan] 2025-09-01 07:00:20,001 - root - INFO - step: 501  loss:  4.0000  memory: "
			"20.00GiB(25.00%)  "
			"tps: 900  mfu: 1.32%\n"
			"[titan] 2025-09-01 07:00:21,001 - root - INFO - step: 502  loss:  3.9[rank1]: "
			"warning\n"
			"000  memory: 20.00GiB(25.00%)  tps: 900  mfu: 1.32%\n"
			"[titan] 2025-09-01 07:00:25,001 - root - INFO - Training completed\n",
		.steps = {{.step = 501,
			.loss = V(4),
			.mem_bytes = V(20 * GIB),
			.tokens_per_s = V(900),
			.mfu_percent = V(1.32)}},
		.n_steps = 1,
		.end = END_COMPLETED,
		.flags = FLAG(RESUMED) | FLAG(TORN_RECORD),
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "reserved",
		.damaged = 502},
};

/* nanotron/logging/base.py human_format(), nanotron/trainer.py train_step_logs() */
static const struct reader_case nanotron[] = {
	{.about = "nanotron 0.4 (2024): elapsed_time, memory in human bytes",
		.framework = "nanotron",
		.text = "08/31/2024 14:37:31 [INFO|DP=0|PP=0|TP=0]:  Memory usage: 64.15MiB. Peak allocated "
			"309.29MiB. Peak "
			"reserved: 496.00MiB\n"
			"08/31/2024 14:37:31 [INFO|DP=0|PP=0|TP=0]: iteration: 1 / 15 | consumed_tokens: 512 "
			"| "
			"elapsed_time_per_iteration_ms: 4.71K | tokens_per_sec: 109 | "
			"tokens_per_sec_per_gpu: 109 | "
			"global_batch_size: 2 | lm_loss: 5.32 | lr: 0.00015 | model_tflops_per_gpu: 1.87e-05 "
			"| "
			"hardware_tflops_per_gpu: 1.87e-05 | grad_norm: 2.96 | cuda_memory_allocated: 67.4M "
			"| "
			"cuda_max_memory_reserved: 520M | hd_total_memory_tb: 2.13T\n",
		.steps = {{.step = 1,
			.loss = V(5.32),
			.grad_norm = V(2.96),
			.step_time_s = V(4.71),
			.tokens_per_s = V(109),
			.mem_bytes = V(520e6),
			.lr = V(0.00015)}},
		.n_steps = 1,
		.scope = LOG_SCOPE_GLOBAL,
		.mem_kind = "reserved",
		.peak_mem_bytes = V(496.0 * 1048576.0),
		.precision = V(3)},
	{.about = "nanotron 2023: fixed formats, consumed_samples",
		.framework = "nanotron",
		.text = "[INFO|DP=0|PP=0|TP=0]: iteration: 2 / 100 | consumed_samples:           64 | "
			"elapsed_time_per_iteration_ms: 819.2 | tokens_per_sec: 1.600000E+05 | "
			"tokens_per_sec_per_gpu: "
			"2.000000E+04 | global_batch_size:    32 | lm_loss: 1.110000E+01 | lr: 6.000E-06 | "
			"model_tflops_per_gpu: 183.00 | hardware_tflops_per_gpu: 183.00 | grad_norm: 3.090\n",
		.steps = {{.step = 2,
			.loss = V(11.1),
			.grad_norm = V(3.09),
			.step_time_s = V(0.8192),
			.tokens_per_s = V(160000),
			.lr = V(6e-6)}},
		.n_steps = 1,
		.scope = LOG_SCOPE_GLOBAL},
	{.about = "nanotron 0.5: resumed run, small numbers without a suffix, EP and CP in the prefix",
		.framework = "nanotron",
		.text = "04/02 10:00:00 [INFO|EP=0|CP=0|DP=0]: [Start training] datetime: 2026-04-02 "
			"10:00:00 | mbs: 4 | "
			"grad_accum: 2 | global_batch_size: 64 | sequence_length: 2048 | train_steps: 100 | "
			"start_iteration_step: 50 | consumed_tokens_total: 6553600\n"
			"04/02 10:00:21 [INFO|EP=0|CP=0|DP=0]: iteration: 51 / 100 | consumed_tokens: 6.68M "
			"| "
			"time_per_iteration_ms: 998 | tokens_per_sec: 131K | tokens_per_sec_per_gpu: 16.4K | "
			"global_batch_size: 131K | grad_norm: 0.985 | lm_loss: 0.98 | lr: 0 | eta: 0:01:19\n",
		.steps = {{.step = 51,
			.loss = V(0.98),
			.grad_norm = V(0.985),
			.step_time_s = V(0.998),
			.tokens_per_s = V(131000),
			.lr = V(0)}},
		.n_steps = 1,
		.flags = FLAG(RESUMED),
		.scope = LOG_SCOPE_GLOBAL,
		.precision = V(3)},
};

/* MaxText/train.py, maxtext/common/metric_logger.py */
static const struct reader_case maxtext[] = {
	{.about = "MaxText, October 2023: TFLOP/s not said to be of a device",
		.framework = "maxtext",
		.text = "completed step: 0, seconds: 8.693, TFLOP/s: 1.731, loss: 9.206\n"
			"completed step: 1, seconds: 0.206, TFLOP/s: 72.958, loss: 9.352\n",
		.steps = {{.step = 0, .loss = V(9.206), .step_time_s = V(8.693)},
			{.step = 1, .loss = V(9.352), .step_time_s = V(0.206)}},
		.n_steps = 2,
		.step_base = V(0)},
	{.about = "MaxText, March 2024",
		.framework = "maxtext",
		.text = "completed step: 2, seconds: 3.033, TFLOP/s/device: 340.650, loss: 1.989\n"
			"To see full metrics 'tensorboard --logdir=gs://bucket/tensorboard/'\n",
		.steps = {{.step = 2,
			.loss = V(1.989),
			.step_time_s = V(3.033),
			.tflops_per_device = V(340.65)}},
		.n_steps = 1,
		.step_base = V(0)},
	{.about = "MaxText, 2026: batch size ramp, profiler boundary, evaluation, mixture of experts",
		.framework = "maxtext",
		.text = "I0706 16:50:26.230209 1401 metric_logger.py:214] [Rampup Batch Size Phase], "
			"completed step: 0, seconds: "
			"25.600, total_weights: 32768, loss: 12.205, lm_loss: 12.205, perplexity: "
			"199785.586\n"
			"I0706 16:50:27.230209 1401 metric_logger.py:214] completed profiler "
			"activation/deactivation step: 1, "
			"total_weights: 32768, loss: 11.902, lm_loss: 11.902, perplexity: 147561.453\n"
			"I0706 16:50:28.000000 1401 metric_logger.py:258] Completed eval step: 1, seconds: "
			"0.100, running "
			"loss=11.210, running perplexity=73865.130, running total_weights=32768\n"
			"I0706 16:50:29.230209 1401 metric_logger.py:214] completed step: 2, seconds: 0.500, "
			"TFLOP/s/device: "
			"44.080, Tokens/s/device: 8192.000, total_weights: 32768, loss: 11.330, lm_loss: "
			"11.330, perplexity: "
			"83283.023, moe_lb_loss: 0.012\n",
		.steps = {{.step = 0, .loss = V(12.205), .step_time_s = V(25.6)},
			{.step = 1, .loss = V(11.902)},
			{.step = 2,
				.loss = V(11.33),
				.step_time_s = V(0.5),
				.tokens_per_s = V(8192),
				.tflops_per_device = V(44.08)}},
		.n_steps = 3,
		.scope = LOG_SCOPE_DEVICE,
		.step_base = V(0)},
};

/* verl/utils/logger/aggregate_logger.py concat_dict_to_str(); verl/trainer/fsdp_sft_trainer.py */
static const struct reader_case verl[] = {
	{.about = "verl 0.1: 3 decimals; PPO with a critic, whose norm and rate come first",
		.framework = "verl",
		.text = "(main_task pid=912) step:0 - val/test_score/openai/gsm8k:0.358\n"
			"(main_task pid=912) step:1 - global_seqlen/min:69484.000 - critic/vf_loss:7.003 - "
			"critic/grad_norm:42.702 - critic/lr:0.000 - actor/pg_loss:-0.001 - "
			"actor/grad_norm:3.804 - "
			"actor/lr:0.000 - timing_s/gen:4.230 - timing_s/step:56.935\n",
		.steps = {{.step = 1,
			.loss = V(-0.001),
			.grad_norm = V(3.804),
			.lr = V(0),
			.step_time_s = V(56.935)}},
		.n_steps = 1},
	{.about = "verl 0.4: SFT, printed over the bar; learning rate in thousandths",
		.framework = "verl",
		.text = "Total training steps: 2\n"
			"Epoch 1/1:   0%|          | 0/2 [00:00<?, ?it/s]step:1 - "
			"train/loss:1.1166926622390747 - "
			"train/lr(1e-3):0.0010000000000000002 - train/time(s):14.796027898788452\n"
			"Epoch 1/1:  50%|#####     | 1/2 [00:09<00:09,  9.45s/it]step:2 - "
			"train/loss:1.0605114698410034 - "
			"train/lr(1e-3):0.0002702702702702703 - train/time(s):7.293778896331787\n"
			"step:2 - val/loss:0.9\n",
		.steps = {{.step = 1,
				  .loss = V(1.1166926622390747),
				  .lr = V(0.0010000000000000002e-3),
				  .step_time_s = V(14.796027898788452)},
			{.step = 2,
				.loss = V(1.0605114698410034),
				.lr = V(0.0002702702702702703e-3),
				.step_time_s = V(7.293778896331787)}},
		.n_steps = 2},
	{.about = "verl 0.5: NumPy values; warm-up of the critic has no actor yet; the end",
		.framework = "verl",
		.text = "\033[36m(TaskRunner pid=3165)\033[0m Total training steps: 2\n"
			"\033[36m(TaskRunner pid=3165)\033[0m step:1 - critic/vf_loss:np.float64(0.007) - "
			"perf/max_memory_allocated_gb:np.float64(20.5) - training/global_step:1 - "
			"perf/time_per_step:56.5 - perf/throughput:1220.5\n"
			"\033[36m(TaskRunner pid=3165)\033[0m step:2 - actor/pg_loss:np.float64(nan) - "
			"actor/grad_norm:np.float64(inf) - perf/max_memory_allocated_gb:np.float64(21.5) - "
			"training/global_step:2 - perf/time_per_step:54.25 - perf/throughput:1248.5\n"
			"\033[36m(TaskRunner pid=3165)\033[0m Training Progress: 100%|##########| 2/2 "
			"[01:51<00:00, 55.4s/it]\n",
		.steps = {{.step = 1,
				  .step_time_s = V(56.5),
				  .tokens_per_s = V(1220.5),
				  .mem_bytes = V(20.5 * GIB)},
			{.step = 2,
				.loss = V(NAN),
				.grad_norm = V(INFINITY),
				.step_time_s = V(54.25),
				.tokens_per_s = V(1248.5),
				.mem_bytes = V(21.5 * GIB)}},
		.n_steps = 2,
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "allocated"},
};

/* litgpt/pretrain.py, litgpt/finetune/lora.py; lit-gpt finetune/lora.py of 2023 */
static const struct reader_case litgpt[] = {
	{.about = "LitGPT 0.4: finetune, two micro-batches a step: no time of a step is printed",
		.framework = "litgpt",
		.text = "Epoch 1 | iter 1 step 0 | loss train: 1.646, val: n/a | iter time: 820.31 ms\n"
			"Epoch 1 | iter 2 step 1 | loss train: 1.660, val: n/a | iter time: 548.72 ms "
			"(step)\n"
			"Epoch 1 | iter 3 step 1 | loss train: 1.687, val: n/a | iter time: 300.07 ms\n"
			"Epoch 1 | iter 4 step 2 | loss train: 1.597, val: n/a | iter time: 595.27 ms "
			"(step)\n"
			"iter 4: val loss 1.5432, val time: 3000.00 ms\n"
			"Training time: 12.50s\nMemory used: 21.47 GB\n",
		.steps = {{.step = 1, .loss = V(1.66)}, {.step = 2, .loss = V(1.597)}},
		.n_steps = 2,
		.end = END_COMPLETED,
		.peak_mem_bytes = V(21.47e9),
		.train_runtime_s = V(12.5)},
	{.about = "LitGPT 0.5: pretrain with the time that remains; evaluation in the line",
		.framework = "litgpt",
		.text = "Measured TFLOPs: 12.34\n"
			"Epoch 1 | iter 10 step 10 | loss train: 9.876, val: 9.912 | iter time: 250.50 ms "
			"(step) remaining "
			"time: 1 day, 2:03:04\n",
		.steps = {{.step = 10, .loss = V(9.876), .step_time_s = V(0.2505)}},
		.n_steps = 1},
	{.about = "Lit-GPT 2023: iterations from 0, ms without a blank",
		.framework = "litgpt",
		.text = "iter 0 step 1: loss 2.3104, iter time: 1042.11ms (optimizer.step)\n"
			"iter 1 step 2: loss 2.1020, iter time: 240.02ms (optimizer.step)\n"
			"step 1: val loss 2.2000, val time: 100.00ms\n",
		.steps = {{.step = 1, .loss = V(2.3104), .step_time_s = V(1.04211)},
			{.step = 2, .loss = V(2.102), .step_time_s = V(0.24002)}},
		.n_steps = 2},
	{.about = "TinyLlama, 2023: four micro-batches a step",
		.framework = "litgpt",
		.text = "iter 3 step 0: loss 10.9812, iter time: 200.00ms remaining time: 1.00 hours.  or "
			"0.04 days. \n"
			"iter 4 step 1: loss 10.9712, iter time: 250.00ms (optimizer.step) remaining time: "
			"1.00 hours.  or "
			"0.04 days. \n",
		.steps = {{.step = 1, .loss = V(10.9712)}},
		.n_steps = 1},
};

static void test_torchtitan(void **state)
{
	(void)state;
	check_cases(torchtitan, ARRAY_LEN(torchtitan));
}

static void test_nanotron(void **state)
{
	(void)state;
	check_cases(nanotron, ARRAY_LEN(nanotron));
}

static void test_maxtext(void **state)
{
	(void)state;
	check_cases(maxtext, ARRAY_LEN(maxtext));
}

static void test_verl(void **state)
{
	(void)state;
	check_cases(verl, ARRAY_LEN(verl));
}

static void test_litgpt(void **state)
{
	(void)state;
	check_cases(litgpt, ARRAY_LEN(litgpt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torchtitan),
		cmocka_unit_test(test_nanotron),
		cmocka_unit_test(test_maxtext),
		cmocka_unit_test(test_verl),
		cmocka_unit_test(test_litgpt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
