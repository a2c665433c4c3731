/* Formats whose record is JSON or several lines, and fairseq's, which has both. Texts follow the files named.
 */
#include "base/base.h"

#include "reader_check.h"

/* fairseq/logging/progress_bar.py: JsonProgressBar, SimpleProgressBar, TqdmProgressBar */
static const struct reader_case fairseq[] = {
	{.about = "fairseq 0.12: simple bar; the line of the epoch is no step",
		.framework = "fairseq",
		.text = "2023-05-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 487 loss=9.8, "
			"nll_loss=9.6, ppl=891.44, "
			"wps=10000.5, ups=1.02, wpb=9804.1, bsz=32, num_updates=100, lr=1.25e-05, gnorm=2.5, "
			"loss_scale=64, "
			"train_wall=98, gb_free=20.1, wall=120\n"
			"2023-05-01 10:08:00 | INFO | train | epoch 001 | loss 8.1 | nll_loss 7.9 | ppl 240 "
			"| wps 10100 | "
			"num_updates 487 | lr 6e-05 | gnorm 1.5\n"
			"2023-05-01 10:08:10 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 7.5 "
			"| num_updates 487\n"
			"2023-05-01 10:08:20 | INFO | fairseq_cli.train | done training in 500.5 seconds\n",
		.steps = {{.step = 100,
			.loss = V(9.8),
			.grad_norm = V(2.5),
			.lr = V(1.25e-5),
			.tokens_per_s = V(10000.5)}},
		.n_steps = 1,
		.end = END_COMPLETED,
		.scope = LOG_SCOPE_GLOBAL,
		.train_runtime_s = V(500.5)},
	{.about = "fairseq 0.8: bars at the start of the line",
		.framework = "fairseq",
		.text = "| epoch 001:    200 / 1000 loss=8.5, nll_loss=8.2, ppl=300.1, wps=9000, ups=2, "
			"wpb=4500, bsz=16, "
			"num_updates=200, lr=2.5e-05, gnorm=1.75, clip=0.000, oom=0.000, wall=100, "
			"train_wall=90\n",
		.steps = {{.step = 200,
			.loss = V(8.5),
			.grad_norm = V(1.75),
			.lr = V(2.5e-5),
			.tokens_per_s = V(9000)}},
		.n_steps = 1,
		.scope = LOG_SCOPE_GLOBAL},
	{.about = "metaseq: JSON with more keys; resumed; keys of the epoch are prefixed",
		.framework = "fairseq",
		.text = "2022-06-01 10:00:00 | INFO | metaseq.trainer | Loaded checkpoint /proj/last.pt "
			"(epoch 2 @ 1000 updates)\n"
			"2022-06-01 10:01:00 | INFO | train_inner | {\"epoch\": 2, \"actv_norm\": \"1.5\", "
			"\"update\": 1.5, \"loss\": "
			"\"nan\", \"ppl\": \"nan\", \"wps\": \"50000\", \"num_updates\": \"1010\", \"lr\": "
			"\"0.0001\", \"gnorm\": "
			"\"inf\", \"loss_scale\": \"4\"}\n"
			"2022-06-01 10:02:00 | INFO | train | {\"epoch\": 2, \"train_loss\": \"2.5\", "
			"\"train_num_updates\": \"1200\"}\n",
		.steps = {{.step = 1010,
			.loss = V(NAN),
			.grad_norm = V(INFINITY),
			.lr = V(1e-4),
			.tokens_per_s = V(50000)}},
		.n_steps = 1,
		.flags = FLAG(RESUMED),
		.scope = LOG_SCOPE_GLOBAL},
	{.about = "fairseq 0.10: tqdm, drawn twice",
		.framework = "fairseq",
		.text = "epoch 001:  10%|#   | 100/1000 [01:40<15:00,  1.0it/s, loss=9.8, wps=10000, "
			"num_updates=100, lr=1e-05, "
			"gnorm=2.5]\repoch 001:  10%|#   | 101/1000 [01:41<15:00,  1.0it/s, loss=9.8, "
			"wps=10000, num_updates=100, "
			"lr=1e-05, gnorm=2.5]\n",
		.steps = {{.step = 100,
			.loss = V(9.8),
			.grad_norm = V(2.5),
			.lr = V(1e-5),
			.tokens_per_s = V(10000)}},
		.n_steps = 1,
		.scope = LOG_SCOPE_GLOBAL},
};

/* mlcommons training_results: mllog/mllog.py prints the line, each submission its own keys */
#define MLLOG(key, value, metadata)                                                                          \
	":::MLLOG {\"namespace\": \"\", \"time_ms\": 1715848254167, \"event_type\": \"POINT_IN_TIME\", "     \
	"\"key\": \"" key "\", \"value\": " value                                                            \
	", \"metadata\": {\"file\": \"/workspace/train.py\", \"lineno\": 161" metadata "}}\n"
static const struct reader_case mllog[] = {
	{.about = "MLPerf training v5: loss with the samples it was reached at; aborted",
		.framework = "mllog",
		.text = MLLOG("global_batch_size", "16", "")
			MLLOG("train_loss", "11.846", ", \"samples_count\": 0, \"lr\": 3.125e-06")
				MLLOG("train_loss", "11.5", ", \"samples_count\": 512, \"lr\": 1e-04")
					MLLOG("run_stop", "null", ", \"status\": \"aborted\""),
		.steps = {{.step = 0, .loss = V(11.846), .lr = V(3.125e-6)},
			{.step = 32, .loss = V(11.5), .lr = V(1e-4)}},
		.n_steps = 2, /* 512 samples / 16 */
		.end = END_NOT_COMPLETED},
	{.about = "MLPerf training v3.1: tracked_stats with the loss; the samples are no whole number of "
		  "updates once",
		.framework = "mllog",
		.text = MLLOG("global_batch_size", "8", "") MLLOG("tracked_stats",
			"{\"throughput\": 1.5, \"train_loss\": 2.25}",
			", \"step\": 80") MLLOG("train_loss", "2.0", ", \"samples_count\": 430")
			MLLOG("run_stop", "0.92", ", \"status\": \"success\", \"samples_count\": 800"),
		.steps = {{.step = 10, .loss = V(2.25), .samples_per_s = V(1.5)}},
		.n_steps = 1,
		.end = END_COMPLETED},
	{.about = "MLPerf training: without a batch size samples are no steps",
		.framework = "mllog",
		.text = MLLOG("train_loss", "2.0", ", \"samples_count\": 432") "0: " MLLOG(
			"eval_accuracy", "0.9", ""),
		.n_steps = 0},
};

/* composer/loggers/console_logger.py, callbacks/{speed,memory,lr}_monitor.py */
static const struct reader_case composer[] = {
	{.about = "Composer 0.21: epochs; rates over all devices and of one",
		.framework = "composer",
		.text = "[epoch=2][batch=5/20]:\n"
			"\t Train time/batch: 24\n"
			"\t Train loss/train/total: 8.4213\n"
			"\t Train metrics/train/LanguageCrossEntropy: 8.4620\n"
			"\t Train throughput/batches_per_sec: 0.2500\n"
			"\t Train throughput/samples_per_sec: 2.7330\n"
			"\t Train throughput/device/samples_per_sec: 0.1708\n"
			"\t Train throughput/tokens_per_sec: 20082.8418\n"
			"\t Train throughput/device/tokens_per_sec: 1255.1776\n"
			"\t Train throughput/device/mfu: 0.4100\n"
			"\t Train lr-DecoupledAdamW/group0: 0.0001\n"
			"[Eval batch=1/10] Eval on eval data:\n"
			"\t Eval metrics/eval/LanguageCrossEntropy: 8.5\n",
		.steps = {{.step = 25,
			.loss = V(8.4213),
			.step_time_s = V(4),
			.samples_per_s = V(2.733),
			.tokens_per_s = V(20082.8418),
			.mfu_percent = V(41),
			.lr = V(0.0001)}},
		.n_steps = 1, /* the 5th of the second epoch of 20 */
		.scope = LOG_SCOPE_GLOBAL},
	{.about = "Composer with max_duration in tokens: the number of the batch is among the metrics",
		.framework = "composer",
		.text = "[token=65536/1000000]:\n\t Train time/batch: 7\n\t Train memory/reserved_mem: "
			"20.9650\n"
			"\t Train loss/train/total: nan\n",
		.steps = {{.step = 8, .loss = V(NAN), .mem_bytes = V(9997.0 * 2097152.0)}},
		.n_steps = 1, /* 20.9650e9 bytes are 9996.9 blocks of 2 MiB */
		.mem_kind = "reserved"},
	{.about = "Composer 0.13 under srun: a prefix before every line, the metrics without folders",
		.framework = "composer",
		.text = "0: [batch=1/100]:\n0:          Train LanguageCrossEntropy: 10.9736\n0:          "
			"Train Perplexity: 58312.0586\n"
			"0:          Train loss/train/total: 10.9736\n0: [batch=2/100]:\n0:          Train "
			"loss/train/total: 10.9724\n",
		.steps = {{.step = 1, .loss = V(10.9736)}, {.step = 2, .loss = V(10.9724)}},
		.n_steps = 2},
};

static void test_fairseq(void **state)
{
	(void)state;
	check_cases(fairseq, ARRAY_LEN(fairseq));
}

static void test_mllog(void **state)
{
	(void)state;
	check_cases(mllog, ARRAY_LEN(mllog));
}

static void test_composer(void **state)
{
	(void)state;
	check_cases(composer, ARRAY_LEN(composer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fairseq),
		cmocka_unit_test(test_mllog),
		cmocka_unit_test(test_composer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
