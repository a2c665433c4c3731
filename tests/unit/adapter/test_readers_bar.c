/* Formats whose record is a progress bar: what is drawn several times must be read once, with its own values.
 */
#include "base/base.h"

#include "reader_check.h"

/* diffusers/examples, transformers/examples/pytorch (the scripts named no_trainer) */
static const struct reader_case accelerate[] = {
	{.about = "diffusers: two micro-batches a step; the count moves with the values of the one before",
		.framework = "accelerate",
		.text = "03/06/2024 17:32:14 - INFO - __main__ -   Total optimization steps = 2\n"
			"\rSteps:   0%|          | 0/2 [00:00<?, ?it/s]"
			"\rSteps:   0%|          | 0/2 [00:03<?, ?it/s, lr=1e-5, step_loss=0.0799]"
			"\rSteps:  50%|#####     | 1/2 [00:04<00:04,  4.81s/it, lr=1e-5, step_loss=0.0799]"
			"\rSteps:  50%|#####     | 1/2 [00:04<00:04,  4.81s/it, lr=1e-5, step_loss=0.0223]"
			"\rSteps:  50%|#####     | 1/2 [00:05<00:04,  4.81s/it, lr=1e-5, step_loss=0.0609]"
			"\rSteps: 100%|##########| 2/2 [00:06<00:00,  3.20s/it, lr=1e-5, step_loss=0.0609]"
			"\rSteps: 100%|##########| 2/2 [00:06<00:00,  3.20s/it, lr=9e-6, step_loss=0.0512]\n",
		.steps = {{.step = 1, .loss = V(0.0223), .lr = V(1e-5)},
			{.step = 2, .loss = V(0.0512), .lr = V(9e-6)}},
		.n_steps = 2,
		.end = END_COMPLETED},
	{.about = "a loop of one's own without a description; validation has a bar, too",
		.framework = "accelerate",
		.text = " 33%|###       | 1/3 [00:01<00:02,  1.00it/s, loss=2.31, lr=0.001]\n"
			" 67%|######    | 2/3 [00:02<00:01,  1.00it/s, loss=nan, lr=0.001]\n"
			"Validation:  50%|#####     | 1/2 [00:00<00:00,  9.0it/s, loss=2.5]\n"
			"100%|##########| 3/3 [00:03<00:00,  1.00it/s, loss=2.2, lr=0.001]\n",
		.steps = {{.step = 1, .loss = V(2.31), .lr = V(0.001)},
			{.step = 2, .loss = V(NAN), .lr = V(0.001)},
			{.step = 3, .loss = V(2.2), .lr = V(0.001)}},
		.n_steps = 3},
	{.about = "a bar for each epoch: steps go on; the terminal's width cuts the last value",
		.framework = "accelerate",
		.text = "Epoch 1/2:  50%|#####     | 1/2 [00:01<00:01,  1.00it/s, loss=2.31]\n"
			"Epoch 1/2: 100%|##########| 2/2 [00:02<00:00,  1.00it/s, loss=2.25]\n"
			"Epoch 2/2:  50%|#####     | 1/2 [00:01<00:01,  1.00it/s, loss=2.1, lr=0.00\n"
			"Epoch 2/2: 100%|##########| 2/2 [00:02<00:00,  1.00it/s, loss=2.05, lr=0.001]\n",
		.steps = {{.step = 1, .loss = V(2.31)}, {.step = 2, .loss = V(2.25)},
			{.step = 3, .loss = V(2.1)}, {.step = 4, .loss = V(2.05), .lr = V(0.001)}},
		.n_steps = 4},
};

/* pytorch_lightning/callbacks/progress/tqdm_progress.py */
static const struct reader_case lightning[] = {
	{.about = "Lightning 1.9: validation moves the bar of training on; two epochs",
		.framework = "lightning",
		.text = "GPU available: True (cuda), used: True\n"
			"\rEpoch 0:   0%|          | 0/3 [00:00<?, ?it/s]"
			"\rEpoch 0:  33%|###       | 1/3 [00:02<00:05,  2.50s/it]"
			"\rEpoch 0:  33%|###       | 1/3 [00:02<00:05,  2.50s/it, loss=4.12, v_num=0]"
			"\rEpoch 0:  67%|######    | 2/3 [00:04<00:02,  2.50s/it, loss=4.12, v_num=0]"
			"\rEpoch 0:  67%|######    | 2/3 [00:04<00:02,  2.50s/it, loss=4.01, v_num=0]\n"
			"\rValidation: 0it [00:00, ?it/s]\rValidation DataLoader 0:   0%|          | 0/1 "
			"[00:00<?, ?it/s]"
			"\rValidation DataLoader 0: 100%|##########| 1/1 [00:00<00:00,  9.0it/s]"
			"\rEpoch 0: 100%|##########| 3/3 [00:05<00:00,  2.00s/it, loss=4.01, v_num=0]"
			"\rEpoch 0: 100%|##########| 3/3 [00:05<00:00,  2.00s/it, loss=4.01, v_num=0, "
			"val_loss=4.100]\n"
			"\rEpoch 1:   0%|          | 0/3 [00:00<?, ?it/s, loss=4.01, v_num=0, val_loss=4.100]"
			"\rEpoch 1:  33%|###       | 1/3 [00:02<00:05,  2.50s/it, loss=4.01, v_num=0, "
			"val_loss=4.100]"
			"\rEpoch 1:  33%|###       | 1/3 [00:02<00:05,  2.50s/it, loss=3.9, v_num=0, "
			"val_loss=4.100]\n"
			"`Trainer.fit` stopped: `max_steps=3` reached.\n",
		.steps = {{.step = 1, .loss = V(4.12)}, {.step = 2, .loss = V(4.01)},
			{.step = 3, .loss = V(3.9)}},
		.n_steps = 3,
		.end = END_COMPLETED},
	{.about = "Lightning 2.5: drawn twice a batch; a second epoch; the metric of an epoch beside that of "
		  "a step",
		.framework = "lightning",
		.text = "\rEpoch 0:   0%|          | 0/2 [00:00<?, ?it/s]"
			"\rEpoch 0:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s]"
			"\rEpoch 0:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.310]"
			"\rEpoch 0: 100%|##########| 2/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.310]"
			"\rEpoch 0: 100%|##########| 2/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.200]"
			"\rEpoch 0: 100%|##########| 2/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.200, train_loss_epoch=2.250]"
			"\rEpoch 1:   0%|          | 0/2 [00:00<?, ?it/s, v_num=3, train_loss_step=2.200, "
			"train_loss_epoch=2.250]"
			"\rEpoch 1:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.200, train_loss_epoch=2.250]"
			"\rEpoch 1:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s, v_num=3, "
			"train_loss_step=2.100, train_loss_epoch=2.250]\n",
		.steps = {{.step = 1, .loss = V(2.31)}, {.step = 2, .loss = V(2.2)},
			{.step = 3, .loss = V(2.1)}},
		.n_steps = 3},
	{.about = "Lightning 2.2: a data set without a length, names of one's own, no logger",
		.framework = "lightning",
		.text = "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1]\n"
			"Epoch 0: |          | 1/? [00:20<00:00,  0.05it/s, loss/train=14.60, "
			"lr-AdamW=0.0001]\n"
			"Epoch 0: |          | 2/? [00:36<00:00,  0.06it/s, loss/train=13.90, "
			"lr-AdamW=0.0002]\n",
		.steps = {{.step = 1, .loss = V(14.6), .lr = V(0.0001)},
			{.step = 2, .loss = V(13.9), .lr = V(0.0002)}},
		.n_steps = 2},
	{.about = "Lightning 2: resumed in epoch 2; the log ends where the count has moved and the values "
		  "have not",
		.framework = "lightning",
		.text = "Restored all states from the checkpoint at /proj/last.ckpt\n"
			"\rEpoch 2:   0%|          | 0/10 [00:00<?, ?it/s, v_num=1]"
			"\rEpoch 2:  10%|#         | 1/10 [00:00<00:00,  5.00it/s, v_num=1]"
			"\rEpoch 2:  10%|#         | 1/10 [00:00<00:00,  5.00it/s, v_num=1, train/loss=1.500]"
			"\rEpoch 2:  20%|##        | 2/10 [00:00<00:00,  5.00it/s, v_num=1, "
			"train/loss=1.500]",
		.steps = {{.step = 21, .loss = V(1.5)}, {.step = 22}},
		.n_steps = 2,
		.flags = FLAG(RESUMED)},
};

/* nemo/collections/nlp/modules/common/megatron/..., MegatronProgressBar and ProgressPrinter */
static const struct reader_case nemo[] = {
	{.about = "NeMo 1.23: Lightning's bar, the values say which step they are of",
		.framework = "nemo",
		.text = "Epoch 0: :   0%|          | 0/15 [00:00<?]\n"
			"Epoch 0: :   7%|6         | 1/15 [00:50<11:40, reduced_train_loss=11.90, "
			"global_step=0.000, "
			"consumed_samples=2048.0, train_step_timing in s=50.10]\n"
			"Epoch 0: :  13%|#3        | 2/15 [01:40<10:50, reduced_train_loss=11.90, "
			"global_step=0.000, "
			"consumed_samples=2048.0, train_step_timing in s=50.10]\n"
			"Epoch 0: :  13%|#3        | 2/15 [01:40<10:50, reduced_train_loss=11.50, "
			"global_step=1.000, "
			"consumed_samples=4096.0, train_step_timing in s=49.50]\n",
		.steps = {{.step = 0, .loss = V(11.9), .step_time_s = V(50.1)},
			{.step = 1, .loss = V(11.5), .step_time_s = V(49.5)}},
		.n_steps = 2,
		.step_base = V(0),
		.precision = V(3)},
	{.about = "NeMo 1 beyond step 1000, which the bar rounds; v_num, validation in the values",
		.framework = "nemo",
		.text = "Epoch 0: :  20%|##        | 2000/10000 [43:24:54<9:00:00, v_num=0, "
			"reduced_train_loss=0.139, global_step=2e+3, "
			"consumed_samples=2.56e+5, train_step_timing in s=68.70, val_loss=0.212]\n"
			"Epoch 0: :  20%|##        | 2001/10000 [43:26:00<9:00:00, v_num=0, "
			"reduced_train_loss=0.138, global_step=2e+3, "
			"consumed_samples=2.56e+5, train_step_timing in s=68.60, val_loss=0.212]\n",
		.steps = {{.step = 1999, .loss = V(0.139), .step_time_s = V(68.7)},
			{.step = 2000, .loss = V(0.138), .step_time_s = V(68.6)}},
		.n_steps = 2,
		.step_base = V(0),
		.precision = V(3)},
	{.about = "NeMo on Trainium: Lightning 1.8 with its own loss, gradient_norm and lr",
		.framework = "nemo",
		.text = "Epoch 0:   5%|5         | 3/62 [02:59<58:44,  0.02it/s, v_num=8-06, "
			"reduced_train_loss=6.930, lr=2.73e-5, "
			"parameter_norm=1.95e+3, global_step=1.000, consumed_samples=32.00, "
			"throughput=0.108, gradient_norm=8.600]\n",
		.steps = {{.step = 1, .loss = V(6.93), .lr = V(2.73e-5), .grad_norm = V(8.6)}},
		.n_steps = 1,
		.step_base = V(0),
		.precision = V(3)},
	{.about = "NeMo 2.0: a second epoch, in which iteration begins anew; allocated memory only",
		.framework = "nemo",
		.text = "Training epoch 1, iteration 0/999 | lr: 2.999e-06 | global_batch_size: 512 | "
			"global_step: 19 | "
			"max_memory_allocated: 1073741824 | reduced_train_loss: 11.03 | train_step_timing in "
			"s: 46.86 | "
			"consumed_samples: 10240\n"
			"Validation: iteration 1/8\n"
			"Training epoch 1, iteration 10/999 | lr: 4.498e-06 | global_batch_size: 512 | "
			"global_step: 29 | "
			"max_memory_allocated: 2147483648 | reduced_train_loss: nan | grad_norm: 1.5 | "
			"train_step_timing in s: 47\n",
		.steps = {{.step = 19,
				  .loss = V(11.03),
				  .lr = V(2.999e-6),
				  .step_time_s = V(46.86),
				  .mem_bytes = V(GIB)},
			{.step = 29,
				.loss = V(NAN),
				.lr = V(4.498e-6),
				.grad_norm = V(1.5),
				.step_time_s = V(47),
				.mem_bytes = V(2 * GIB)}},
		.n_steps = 2,
		.mem_kind = "allocated",
		.step_base = V(0),
		.precision = V(4)},
};

/* torchtune/recipes/full_finetune_distributed.py, torchtune/training/metric_logging.py StdoutLogger */
static const struct reader_case torchtune[] = {
	{.about = "torchtune 0.6: bar and logger on the terminal",
		.framework = "torchtune",
		.text = "INFO:torchtune.utils._logging:Memory stats after model init:\n"
			"\tGPU peak memory allocation: 0.50 GiB\n\tGPU peak memory reserved: 0.75 GiB\n\tGPU "
			"peak memory active: 0.50 GiB\n"
			"\r1|1|Loss: 2.2638285160064697:   0%|          | 0/2 [00:01<?, ?it/s]Step 1 | "
			"loss:2.2638285160064697 "
			"lr:2e-05 tokens_per_second_per_gpu:1500.5 peak_memory_active:4.5 "
			"peak_memory_alloc:4.5 "
			"peak_memory_reserved:5.0 grad_norm:1.25 \n"
			"\r1|1|Loss: 2.2638285160064697:  50%|#####     | 1/2 [00:01<00:01,  1.0s/it]\n"
			"Step 1 | val_loss:2.5 \n",
		.steps = {{.step = 1, .loss = V(2.2638285160064697)}},
		.n_steps = 1,
		.peak_mem_bytes = V(0.75 * GIB)},
	{.about = "torchtune: the logger alone, as DiskLogger writes it",
		.framework = "torchtune",
		.text = "Step 33 | loss:1.5400923490524292 lr:9.9e-05 tokens_per_second_per_gpu:101.25 \n"
			"Step 34 | loss:1.5 lr:9.8e-05 tokens_per_second_per_gpu:102.5 "
			"peak_memory_active:2.0 "
			"peak_memory_alloc:2.5 peak_memory_reserved:3.0 grad_norm:0.5 \n",
		.steps = {{.step = 33,
				  .loss = V(1.5400923490524292),
				  .lr = V(9.9e-5),
				  .tokens_per_s = V(101.25)},
			{.step = 34,
				.loss = V(1.5),
				.lr = V(9.8e-5),
				.tokens_per_s = V(102.5),
				.mem_bytes = V(3 * GIB),
				.grad_norm = V(0.5)}},
		.n_steps = 2,
		.scope = LOG_SCOPE_DEVICE,
		.mem_kind = "reserved"},
	{.about = "torchtune: second epoch, nan, a value that another writer cut",
		.framework = "torchtune",
		.text = "2|4|Loss: 1.5:  33%|###       | 1/3 [00:01<00:02,  1.0s/it]\n"
			"2|5|Loss: 1.4[rank1]: warning\n"
			"2|6|Loss: nan: 100%|##########| 3/3 [00:03<00:00,  1.0s/it]\n",
		.steps = {{.step = 4, .loss = V(1.5)}, {.step = 6, .loss = V(NAN)}},
		.n_steps = 2,
		.flags = FLAG(TORN_RECORD),
		.damaged = 5},
};

static void test_accelerate(void **state)
{
	(void)state;
	check_cases(accelerate, ARRAY_LEN(accelerate));
}

static void test_lightning(void **state)
{
	(void)state;
	check_cases(lightning, ARRAY_LEN(lightning));
}

static void test_nemo(void **state)
{
	(void)state;
	check_cases(nemo, ARRAY_LEN(nemo));
}

static void test_torchtune(void **state)
{
	(void)state;
	check_cases(torchtune, ARRAY_LEN(torchtune));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accelerate),
		cmocka_unit_test(test_lightning),
		cmocka_unit_test(test_nemo),
		cmocka_unit_test(test_torchtune),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
