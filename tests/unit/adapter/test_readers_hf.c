/* The Trainer of transformers and what is built on it: dictionaries over tqdm bars. Texts follow
 * transformers/trainer_callback.py (ProgressCallback, PrinterCallback) of the versions named. */
#include "base/base.h"

#include "reader_check.h"

#define CLEARED "\r                                        \r"

static const struct reader_case trainer[] = {
	{.about = "transformers 4.46: bars are drawn less often than steps are made; tqdm.write() draws them "
		  "anew",
		.framework = "hf-trainer",
		.text = "[INFO|trainer.py:2141] 2025-01-15 10:00:00,101 >>   Total optimization steps = 50\n"
			"  0%|          | 0/50 [00:00<?, ?it/s]\r 18%|##        | 9/50 [00:01<00:04,  "
			"9.0it/s]" CLEARED
			"{'loss': 2.119, 'grad_norm': 37.65, 'learning_rate': 4e-05, 'epoch': 0.2}\n"
			"\r 20%|##        | 10/50 [00:01<00:04,  9.0it/s]\r\r  0%|          | 0/2 [00:00<?, "
			"?it/s]\r 50%|#####     | "
			"1/2 [00:00<00:00,  9.9it/s]" CLEARED
			"{'eval_loss': 1.9, 'eval_runtime': 0.2, 'eval_samples_per_second': 80.0, 'epoch': "
			"0.2}\n"
			"\r 20%|##        | 10/50 [00:02<00:04,  9.0it/s]\r 40%|####      | 20/50 "
			"[00:03<00:03,  9.0it/s]" CLEARED
			"{'loss': 2.0, 'grad_norm': 30.5, 'learning_rate': 3e-05, 'epoch': 0.4}\n"
			"\r 40%|####      | 20/50 [00:03<00:03,  9.0it/s]",
		.steps = {{.step = 10, .loss = V(2.119), .grad_norm = V(37.65), .lr = V(4e-5)},
			{.step = 20, .loss = V(2.0), .grad_norm = V(30.5), .lr = V(3e-5)}},
		.n_steps = 2,
		.logging_steps = V(10)},
	{.about = "transformers 5.0: values are strings of four digits",
		.framework = "hf-trainer",
		.text = "{'loss': '2.119', 'grad_norm': '37.66', 'learning_rate': '4e-05', 'epoch': '0.2'}\n"
			"{'loss': 'nan', 'grad_norm': 'inf', 'learning_rate': '3e-05', 'epoch': '0.4'}\n"
			"{'loss': '1.9', 'grad_norm': '12', 'learning_rate': '2e-05', 'epoch': '0.6'}\n"
			"{'train_runtime': '11.2', 'train_samples_per_second': '14.29', 'train_loss': "
			"'1.633', 'epoch': '1'}\n",
		.steps = {{.step = 1, .loss = V(2.119), .grad_norm = V(37.66), .lr = V(4e-5)},
			{.step = 2, .loss = V(NAN), .grad_norm = V(INFINITY), .lr = V(3e-5)},
			{.step = 3, .loss = V(1.9), .grad_norm = V(12), .lr = V(2e-5)}},
		.n_steps = 3,
		.step_inferred = true,
		.logging_steps = V(1),
		.train_runtime_s = V(11.2)},
	{.about = "transformers 3.0: JSON with the step in it",
		.framework = "hf-trainer",
		.text = "{\"loss\": 2.5, \"learning_rate\": 4.5e-05, \"epoch\": 0.1, \"step\": 500}\n"
			"{\"loss\": 2.25, \"learning_rate\": 4e-05, \"epoch\": 0.2, \"step\": 1000}\n",
		.steps = {{.step = 500, .loss = V(2.5), .lr = V(4.5e-5)},
			{.step = 1000, .loss = V(2.25), .lr = V(4e-5)}},
		.n_steps = 2,
		.logging_steps = V(500)},
	{.about = "transformers 4.57: token counts, so that each record has the time and rate since the "
		  "start",
		.framework = "hf-trainer",
		.text = "{'loss': 1.75, 'grad_norm': 0.9375, 'learning_rate': 1e-05, 'epoch': 0.1, "
			"'num_input_tokens_seen': 65536, "
			"'train_runtime': 8.192, 'train_tokens_per_second': 8000.0}\n"
			"{'loss': 1.5, 'grad_norm': 0.9, 'learning_rate': 9e-06, 'epoch': 0.2, "
			"'num_input_tokens_seen': 131072, "
			"'train_runtime': 16.384, 'train_tokens_per_second': 8000.0}\n"
			"{'loss': 1.25, 'grad_norm': 0.8, 'learning_rate': 8e-06, 'epoch': 0.3, "
			"'num_input_tokens_seen': 196608, "
			"'train_runtime': 24.576, 'train_tokens_per_second': 8000.0}\n",
		.steps = {{.step = 1,
				  .loss = V(1.75),
				  .grad_norm = V(0.9375),
				  .lr = V(1e-5),
				  .tokens_seen = V(65536),
				  .tokens_per_s = V(8000)},
			{.step = 2,
				.loss = V(1.5),
				.grad_norm = V(0.9),
				.lr = V(9e-6),
				.tokens_seen = V(131072),
				.tokens_per_s = V(8000)},
			{.step = 3,
				.loss = V(1.25),
				.grad_norm = V(0.8),
				.lr = V(8e-6),
				.tokens_seen = V(196608),
				.tokens_per_s = V(8000)}},
		.n_steps = 3,
		.scope = LOG_SCOPE_GLOBAL,
		.step_inferred = true,
		.logging_steps = V(1),
		.tokens_per_update = V(65536)},
	{.about = "transformers 4.3: printed behind a bar that nothing cleared",
		.framework = "hf-trainer",
		.text = "Map: 100%|##########| 1000/1000 [00:00<00:00, 9000.00 examples/s]\n"
			"  1%|          | 10/1000 [00:10<15:00,  1.10it/s]{'loss': 2.1, 'learning_rate': "
			"1e-05, 'epoch': 0.01}\n"
			"  2%|          | 20/1000 [00:20<15:00,  1.10it/s]{'loss': 2.0, 'learning_rate': "
			"9e-06, 'epoch': 0.02}\n",
		.steps = {{.step = 10, .loss = V(2.1), .lr = V(1e-5)},
			{.step = 20, .loss = V(2.0), .lr = V(9e-6)}},
		.n_steps = 2,
		.logging_steps = V(10)},
	{.about = "no bars, resumed: counting begins at the step of the checkpoint",
		.framework = "hf-trainer",
		.text = "[INFO|trainer.py:2231] 2025-03-03 03:00:00,500 >>   Continuing training from global "
			"step 500\n"
			"{'loss': 0.9, 'grad_norm': 0.75, 'learning_rate': 3e-06, 'epoch': 1.0}\n"
			"{'loss': 0.8, 'grad_norm': 0.75, 'learning_rate': 2e-06, 'epoch': 1.0}\n",
		.steps = {{.step = 501, .loss = V(0.9), .grad_norm = V(0.75), .lr = V(3e-6)},
			{.step = 502, .loss = V(0.8), .grad_norm = V(0.75), .lr = V(2e-6)}},
		.n_steps = 2,
		.flags = FLAG(RESUMED),
		.step_inferred = true,
		.logging_steps = V(1)},
	{.about = "no bars: the number of steps at the end tells the distance of records",
		.framework = "hf-trainer",
		.text = "{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 3e-05, 'epoch': 0.33}\n"
			"{'loss': 2.25, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': 0.67}\n"
			"{'loss': 2.0, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 1.0}\n"
			"TrainOutput(global_step=30, training_loss=2.25, metrics={'train_runtime': 60.0})\n",
		.steps = {{.step = 10, .loss = V(2.5), .grad_norm = V(1), .lr = V(3e-5)},
			{.step = 20, .loss = V(2.25), .grad_norm = V(1), .lr = V(2e-5)},
			{.step = 30, .loss = V(2.0), .grad_norm = V(1), .lr = V(1e-5)}},
		.n_steps = 3,
		.end = END_COMPLETED,
		.step_inferred = true,
		.logging_steps = V(10),
		.train_runtime_s = V(60)},
	{.about = "another process wrote into the second record",
		.framework = "hf-trainer",
		.text = "{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 3e-05, 'epoch': 0.1}\n"
			"{'loss': 2.4, 'grad_norm': 1.W0101 warning\n0, 'learning_rate': 2e-05, 'epoch': "
			"0.2}\n"
			"{'loss': 2.3, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.3}\n",
		.steps = {{.step = 1, .loss = V(2.5), .grad_norm = V(1), .lr = V(3e-5)},
			{.step = 3, .loss = V(2.3), .grad_norm = V(1.5), .lr = V(1e-5)}},
		.n_steps = 2,
		.flags = FLAG(TORN_RECORD),
		.step_inferred = true,
		.logging_steps = V(1),
		.damaged = 2},
	{.about = "python > log 2>&1: the bars are unbuffered, the records come when training has ended",
		.framework = "hf-trainer",
		.text = "  0%|          | 0/6 [00:00<?, ?it/s]\r 50%|#####     | 3/6 [00:03<00:03,  "
			"1.0it/s]\r"
			"100%|##########| 6/6 [00:06<00:00,  1.0it/s]\n"
			"{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 3e-05, 'epoch': 0.33}\n"
			"{'loss': 2.4, 'grad_norm': 1.5, 'learning_rate': 2e-05, 'epoch': 0.67}\n"
			"{'loss': 2.3, 'grad_norm': 2.0, 'learning_rate': 1e-05, 'epoch': 1.0}\n"
			"{'train_runtime': 6.5, 'train_samples_per_second': 14.286, 'train_loss': 2.4, "
			"'epoch': 1.0}\n",
		.steps = {{.step = 2, .loss = V(2.5), .grad_norm = V(1), .lr = V(3e-5)},
			{.step = 4, .loss = V(2.4), .grad_norm = V(1.5), .lr = V(2e-5)},
			{.step = 6, .loss = V(2.3), .grad_norm = V(2), .lr = V(1e-5)}},
		.n_steps = 3,
		.end = END_COMPLETED,
		.step_inferred = true,
		.logging_steps = V(2),
		.train_runtime_s = V(6.5)},
	{.about = "the log stops in a record",
		.framework = "hf-trainer",
		.text = "{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 3e-05, 'epoch': 0.1}\n"
			"{'loss': 2.4, 'grad_norm': 1.",
		.steps = {{.step = 1, .loss = V(2.5), .grad_norm = V(1), .lr = V(3e-5)}},
		.n_steps = 1,
		.step_inferred = true,
		.logging_steps = V(1)},
	{.about = "ms-swift 3: the step in the dictionary",
		.framework = "hf-trainer",
		.text = "{'loss': 1.2, 'token_acc': 0.7, 'grad_norm': 1.1, 'learning_rate': 1e-05, "
			"'memory(GiB)': 20.1, "
			"'train_speed(iter/s)': 0.5, 'epoch': 0.1, 'global_step/max_steps': '5/50', "
			"'percentage': '10.00%', "
			"'elapsed_time': '10s', 'remaining_time': '1m 30s'}\n"
			"{'loss': 1.1, 'token_acc': 0.7, 'grad_norm': 1.0, 'learning_rate': 9e-06, "
			"'memory(GiB)': 20.1, "
			"'train_speed(iter/s)': 0.5, 'epoch': 0.2, 'global_step/max_steps': '10/50', "
			"'percentage': '20.00%'}\n",
		.steps = {{.step = 5, .loss = V(1.2), .grad_norm = V(1.1), .lr = V(1e-5)},
			{.step = 10, .loss = V(1.1), .grad_norm = V(1.0), .lr = V(9e-6)}},
		.n_steps = 2,
		.logging_steps = V(5)},
};

static const struct reader_case trl[] = {
	{.about = "TRL 0.20: SFT",
		.framework = "trl",
		.text = "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'num_tokens': 8192.0, "
			"'mean_token_accuracy': 0.65, "
			"'epoch': 0.01}\n"
			"{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'num_tokens': 16384.0, "
			"'mean_token_accuracy': "
			"0.7, 'epoch': 0.02}\n",
		.steps = {{.step = 1,
				  .loss = V(1.5),
				  .grad_norm = V(0.5),
				  .lr = V(2e-5),
				  .tokens_seen = V(8192)},
			{.step = 2,
				.loss = V(1.25),
				.grad_norm = V(0.5),
				.lr = V(1e-5),
				.tokens_seen = V(16384)}},
		.n_steps = 2,
		.step_inferred = true,
		.logging_steps = V(1)},
	{.about = "TRL 0.15: DPO over a bar",
		.framework = "trl",
		.text = "\r 50%|#####     | 10/20 [00:10<00:10,  1.0s/it]" CLEARED
			"{'loss': 0.6931, 'grad_norm': 12.5, 'learning_rate': 5e-07, 'rewards/chosen': 0.0, "
			"'rewards/rejected': 0.0, "
			"'rewards/accuracies': 0.0, 'rewards/margins': 0.0, 'logps/rejected': -300.1, "
			"'logps/chosen': -200.2, "
			"'logits/rejected': -1.5, 'logits/chosen': -1.4, 'epoch': 0.5}\n",
		.steps = {{.step = 10, .loss = V(0.6931), .grad_norm = V(12.5), .lr = V(5e-7)}},
		.n_steps = 1,
		.logging_steps = V(10)},
	{.about = "TRL 0.15: PPO has the loss of the policy and no bar of its own",
		.framework = "trl",
		.text = "{'eps': 1, 'objective/kl': 0.0, 'objective/entropy': 40.1, 'loss/policy_avg': "
			"-0.0123, 'loss/value_avg': "
			"0.5, 'lr': 3e-06, 'episode': 64, 'epoch': 0.01}\n",
		.steps = {{.step = 1, .loss = V(-0.0123), .lr = V(3e-6)}},
		.n_steps = 1,
		.step_inferred = true,
		.logging_steps = V(1)},
	{.about = "TRL 1.0 over transformers 5: GRPO in strings",
		.framework = "trl",
		.text = "{'loss': '0', 'grad_norm': '0.4141', 'learning_rate': '1e-06', 'num_tokens': "
			"'2.458e+04', "
			"'completions/mean_length': '212.5', 'reward': '0.25', 'reward_std': '0.433', "
			"'frac_reward_zero_std': '0', "
			"'epoch': '0.01'}\n",
		.steps = {{.step = 1,
			.loss = V(0),
			.grad_norm = V(0.4141),
			.lr = V(1e-6),
			.tokens_seen = V(24580)}},
		.n_steps = 1,
		.step_inferred = true,
		.logging_steps = V(1)},
};

static const struct reader_case llama_factory[] = {
	{.about = "LLaMA-Factory 0.9 without its web page: the Trainer's records alone",
		.framework = "llama-factory",
		.text = "[INFO|2025-02-16 11:00:00] llamafactory.model.loader:143 >> trainable params: "
			"20,185,088\n"
			"\r 10%|#         | 5/50 [00:10<01:30,  2.0s/it]" CLEARED
			"{'loss': 1.2345, 'grad_norm': 1.5625, 'learning_rate': 5e-05, 'epoch': 0.1}\n"
			"\r 20%|##        | 10/50 [00:20<01:20,  2.0s/it]" CLEARED
			"{'loss': 1.1, 'grad_norm': 1.5, 'learning_rate': 4e-05, 'epoch': 0.2}\n",
		.steps = {{.step = 5, .loss = V(1.2345), .grad_norm = V(1.5625), .lr = V(5e-5)},
			{.step = 10, .loss = V(1.1), .grad_norm = V(1.5), .lr = V(4e-5)}},
		.n_steps = 2,
		.logging_steps = V(5)},
	{.about = "LLaMA-Factory 0.8 with its web page: twice, over a bar",
		.framework = "llama-factory",
		.text = "\r 10%|#         | 5/50 [00:10<01:30,  2.0s/it]\r[INFO|callbacks.py:310] 2024-11-03 "
			"10:00:00,000 >> {'loss': "
			"1.2346, 'learning_rate': 5.0000e-05, 'epoch': 0.10, 'throughput': 2048.50}\n" CLEARED
			"{'loss': 1.2346, 'grad_norm': 1.5625, 'learning_rate': 5e-05, 'epoch': 0.1}\n"
			"[INFO|2024-11-03 10:00:10] llamafactory.train.callbacks:157 >> done\n",
		.steps = {{.step = 5,
			.loss = V(1.2346),
			.grad_norm = V(1.5625),
			.lr = V(5e-5),
			.tokens_per_s = V(2048.5)}},
		.n_steps = 1,
		.flags = FLAG(DUPLICATE_STEPS),
		.scope = LOG_SCOPE_GLOBAL,
		.logging_steps = V(5)},
	{.about = "LLaMA-Factory of early 2024, under its old name: preference training prints TRL's keys",
		.framework = "llama-factory",
		.text = "02/16/2024 11:00:00 - INFO - llmtuner.hparams.parser - Process rank: 0, device: "
			"cuda:0\n"
			"{'loss': 0.6931, 'learning_rate': 5e-05, 'rewards/chosen': 0.0, 'rewards/rejected': "
			"0.0, 'logps/chosen': "
			"-200.2, 'epoch': 0.1}\n",
		.steps = {{.step = 1, .loss = V(0.6931), .lr = V(5e-5)}},
		.n_steps = 1,
		.step_inferred = true,
		.logging_steps = V(1)},
};

static void test_trainer(void **state)
{
	(void)state;
	check_cases(trainer, ARRAY_LEN(trainer));
}

static void test_trl(void **state)
{
	(void)state;
	check_cases(trl, ARRAY_LEN(trl));
}

static void test_llama_factory(void **state)
{
	(void)state;
	check_cases(llama_factory, ARRAY_LEN(llama_factory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trainer),
		cmocka_unit_test(test_trl),
		cmocka_unit_test(test_llama_factory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
