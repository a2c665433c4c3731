/* Logs of jobs that trained and ended, with lines that look like the end of one. */
#include "base/base.h"

#include "failure_case.h"

#define STEP(n) "step=" #n " loss=2." #n "00000 grad_norm=1.000000 lr=1.000e-04 dt=0.500000 tokens=8192\n"
#define STEPS STEP(1) STEP(2) STEP(3)
#define TRACE "Traceback (most recent call last):\n  File \"/p/train.py\", line 9, in <module>\n    main()\n"
#define DONE "done\n"

static const struct {
	const char *source, *log;
	uint32_t flags; /* of those below */
} cases[] = {
	/* memory */
	{"torch.cuda.memory_summary()",
		STEP(1) "|            CUDA OOMs: 0            |        cudaMalloc retries: 0         "
			"|\n" STEP(2) DONE,
		0},
	{"advice", "If you run into CUDA out of memory, try a smaller batch.\n" STEPS DONE, 0},
	{"advice", "Set PYTORCH_CUDA_ALLOC_CONF to avoid CUDA out of memory errors.\n" STEPS DONE, 0},
	{"a warning",
		STEP(1) "/p/a.py:3: UserWarning: CUDA out of memory was caught; running on the CPU\n" STEP(2)
			DONE,
		0},
	{"Lightning's batch size finder", "Batch size 8 failed, trying batch size 4\n" STEPS DONE,
		1u << LOG_OOM_HANDLED | 1u << LOG_BATCH_SIZE_CHANGED},
	{"accelerate", "Decreasing batch size to: 4.\n" STEPS DONE,
		1u << LOG_OOM_HANDLED | 1u << LOG_BATCH_SIZE_CHANGED},
	{"fairseq",
		STEP(1) "OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 2.00 "
			"GiB (GPU 0; 8.00 GiB "
			"total capacity; 7.00 GiB already allocated; 1.00 GiB free; 7.00 GiB reserved in "
			"total by PyTorch)\n"
			"2023-01-01 10:00:00 | WARNING | fairseq.trainer | attempting to recover from OOM in "
			"forward/backward pass\n" STEP(2) STEP(3) DONE,
		1u << LOG_OOM_HANDLED},
	{"TensorFlow's allocator",
		"W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of "
		"memory "
		"trying to allocate 2.20GiB with freed_by_count=0. The caller indicates that this is not a "
		"failure, but this may "
		"mean that there could be performance gains if more memory were available.\n" STEPS DONE,
		0},
	{"an OOM that the job caught and printed",
		STEP(1) "caught CUDA out of memory, skipping batch 7\n" STEP(2) DONE, 0},
	{"an OOM that the job logged",
		STEP(1) TRACE
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n" STEP(2) STEP(3)
			DONE,
		1u << LOG_OOM_HANDLED},
	{"ptxas -v", "ptxas info    : Used 32 registers, 4096 bytes smem\n" STEPS DONE, 0},
	{"a word with oom", "Zooming into room 3\n" STEPS DONE, 0},
	/* compilers */
	{"inductor's autotuner",
		"E0306 14:40:16.1 1 torch/_inductor/select_algorithm.py:2000] Runtime error during "
		"autotuning: \n"
		"E0306 14:40:16.1 1 torch/_inductor/select_algorithm.py:2000] No valid triton configs. "
		"OutOfResources: out of "
		"resource: shared memory, Required: 264192, Hardware limit: 232448.\nE0306 14:40:16.1 1 "
		"torch/_inductor/select_algorithm.py:2000] Ignoring this choice.\n" STEPS DONE,
		0},
	{"dynamo, suppress_errors",
		STEP(1) "W0711 17:08:34.3 7 torch/_dynamo/convert_frame.py:1280] WON'T CONVERT f /p/m.py "
			"line 2\n"
			"W0711 17:08:34.3 7 torch/_dynamo/convert_frame.py:1280] Traceback (most recent call "
			"last):\n"
			"W0711 17:08:34.3 7 torch/_dynamo/convert_frame.py:1280]   File \"/p/x.py\", line 2, "
			"in g\n"
			"W0711 17:08:34.3 7 torch/_dynamo/convert_frame.py:1280] "
			"torch._dynamo.exc.BackendCompilerFailed: "
			"backend='inductor' raised:\nW0711 17:08:34.3 7 torch/_dynamo/convert_frame.py:1280] "
			"RuntimeError: x\n" STEP(2) DONE,
		1u << LOG_COMPILE_FALLBACK},
	{"dynamo's limit",
		"W0110 12:27:06.3 1 torch/_dynamo/convert_frame.py:1551] [2/8] torch._dynamo hit "
		"config.recompile_limit (8)\n" STEPS DONE,
		1u << LOG_COMPILE_FALLBACK},
	{"dynamo's graph breaks",
		"V0110 12:27:06.3 1 torch/_dynamo/symbolic_convert.py:444] [0/0] Graph break in user code at "
		"/p/a.py:3\nReason: Unsupported: call_function print\n" STEPS DONE,
		0},
	{"gcc's warnings", "a.c:3:5: warning: unused variable 'error' [-Wunused]\n" STEPS DONE, 0},
	{"cpp_extension",
		"Emitting ninja build file build.ninja...\nninja: no work to do.\nLoading extension module "
		"x...\n" STEPS DONE,
		0},
	{"DeepSpeed",
		" [WARNING]  using untested triton version (2.0.0), only 1.0.0 is known to be "
		"compatible\n" STEPS DONE,
		0},
	/* Python */
	{"CPython",
		STEP(1) "Exception ignored in: <function D.__del__ at 0x1>\n" TRACE
			"AssertionError: can only test a child process\n" STEP(2) DONE,
		0},
	{"CPython, at exit",
		STEPS DONE "Exception ignored in atexit callback: <function f at 0x1>\n" TRACE
			   "RuntimeError: x\n",
		0},
	{"logging",
		STEP(1) "--- Logging error ---\n" TRACE
			"OSError: [Errno 28] No space left on device\n" STEP(2) DONE,
		0},
	{"a thread of a tracker",
		STEP(1) "Exception in thread Thread-3:\n" TRACE
			"ConnectionResetError: [Errno 104] reset\n" STEP(2) DONE,
		0},
	{"asyncio", STEP(1) "Task exception was never retrieved\n" TRACE "ValueError: x\n" STEP(2) DONE, 0},
	{"logger.exception()",
		STEP(1) "ERROR:root:upload failed\n" TRACE "requests.exceptions.ConnectionError: x\n" STEP(2)
			STEP(3) DONE,
		0},
	{"an import that is optional", TRACE "ModuleNotFoundError: No module named 'apex'\n" STEPS DONE, 0},
	{"a warning with a traceback",
		"WARNING:root:Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: "
		"1\n" STEPS DONE,
		0},
	{"anomaly mode's second stack",
		STEP(1) "/p/a.py:3: UserWarning: Error detected in MulBackward0. No forward pass "
			"information\n" STEP(2) DONE,
		0},
	{"a deprecation", "DeprecationWarning: ImportError: will be raised in a later release\n" STEPS DONE,
		0},
	{"a format", "errors: 0, failed: 0, retries: 3\n" STEPS DONE, 0},
	{"a config dump",
		"{'ignore_errors': True, 'on_error': 'raise', 'loss_nan_check': 'RuntimeError'}\n" STEPS DONE,
		0},
	/* collectives */
	{"NCCL",
		"n:1:1 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No "
		"such file or directory\n"
		"n:1:2 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_open_device failed\n" STEPS DONE,
		0},
	{"NCCL after the run",
		STEPS
		"n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Abort COMPLETE\n" DONE,
		1u << LOG_POST_RUN_COLLECTIVE_NOISE},
	{"TCPStore after the run",
		STEPS DONE
		"[rank1]:[W901 07:40:19.9 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=86): "
		"Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown "
		"or crash?\n",
		1u << LOG_POST_RUN_COLLECTIVE_NOISE},
	{"heartbeat after the run",
		STEPS DONE
		"[rank1]:[E901 07:40:19.9 ProcessGroupNCCL.cpp:1] [PG 0 Rank 1] Heartbeat monitor timed "
		"out!\n",
		1u << LOG_POST_RUN_COLLECTIVE_NOISE},
	{"gloo after the run",
		STEPS DONE
		"RuntimeError: [x/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1\n",
		1u << LOG_POST_RUN_COLLECTIVE_NOISE},
	{"PyTorch",
		"[rank0]:[W1017 11:33:02.1 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 0]  using GPU "
		"0 to perform barrier as "
		"devices used by this process are currently unknown. This can potentially cause a "
		"hang\n" STEPS DONE,
		0},
	{"PyTorch",
		STEPS "[rank0]:[W1004 15:16:15.5 ProcessGroupNCCL.cpp:1479] Warning: WARNING: "
		      "destroy_process_group() was not called "
		      "before program exit, which can leak resources.\n" DONE,
		0},
	{"gloo",
		"[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : "
		"1\n" STEPS DONE,
		0},
	{"c10d",
		"[W socket.cpp:697] [c10d] The client socket has failed to connect to [localhost]:29500 "
		"(errno: 97 - Address family not "
		"supported by protocol).\n" STEPS DONE,
		0},
	{"c10d, one of two",
		"[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - "
		"Address already in "
		"use).\n" STEPS DONE,
		0},
	{"NCCL at start", "n:1:2 [0] NCCL WARN Call to bind failed : Address already in use\n" STEPS DONE, 0},
	{"a retry", "ncclInternalError while connecting, retrying in 5 s\n" STEPS DONE, 0},
	/* the end */
	{"torchrun",
		STEPS DONE "W0825 10:00:00.0 20 torch/distributed/elastic/multiprocessing/api.py:900] "
			   "Sending process 33 closing signal "
			   "SIGTERM\n",
		1u << LOG_POST_RUN_NOISE},
	{"CPython",
		STEPS DONE "/usr/lib/python3.10/multiprocessing/resource_tracker.py:224: UserWarning: "
			   "resource_tracker: There appear to be "
			   "1 leaked shared_memory objects to clean up at shutdown\n",
		1u << LOG_POST_RUN_NOISE},
	{"torchrun, a late signal",
		STEPS DONE "W0616 00:44:57.7 4 torch/distributed/elastic/agent/server/api.py:719] Received "
			   "Signals.SIGTERM "
			   "death signal, shutting down workers\n",
		1u << LOG_POST_RUN_NOISE},
	{"DeepSpeed",
		"[2025-04-01 00:00:00,000] [INFO] [launch.py:253:main] process 8864 spawned with command: "
		"['train.py']\n" STEPS
		"[2025-04-01 00:00:09,000] [INFO] [launch.py:351:main] Process 8864 exits successfully.\n",
		0},
	{"a sentence", STEP(1) "3 stale workers were killed, 2 terminated\n" STEP(2) DONE, 0},
	{"a sentence", STEP(1) "The previous job 8156 was killed by the user\n" STEP(2) DONE, 0},
	{"wandb",
		STEPS "wandb: ERROR Error while calling W&B API: context deadline exceeded (<Response "
		      "[504]>)\nwandb: Run summary:\n" DONE,
		0},
	{"wandb", STEPS DONE "wandb: train/loss nan\n", 0},
	/* numbers */
	{"llm.c's outlier detector",
		"step    1/19560 | loss 11.009160 (+nanz)| norm 15.3711 (+nanz)| lr 8.57e-07 | 2621.44 ms | "
		"53.4% bf16 MFU | "
		"200000 tok/s\n",
		0},
	{"a best-so-far",
		"{'best_train_loss': inf, 'best_valid_loss': inf}\n" STEP(
			1) "new best loss: inf -> 2.1\n" STEP(2) DONE,
		0},
	{"a best-so-far", "best_loss=inf\n" STEPS DONE, 0},
	{"nanoseconds", "loss: nanoseconds per token 12\n" STEPS DONE, 0},
	{"no validation", STEP(1) "val_loss: nan (no validation data)\n" STEP(2) DONE, 0},
	{"n/a", STEP(1) "loss train: 2.1, val: n/a\n" STEP(2) DONE, 0},
	{"Megatron",
		" iteration        1/      10 | consumed samples:           64 | elapsed time per iteration "
		"(ms): 8044.0 | learning rate: "
		"1.000000E-06 | global batch size:    64 | lm loss: 9.871102E+00 | loss scale: 1.0 | grad "
		"norm: 12.008 | number of skipped "
		"iterations:   0 | number of nan iterations:   0 |\n",
		0},
	{"DeepSpeed fp16",
		STEP(1) "[2025-04-01 00:00:01,000] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] "
			"OVERFLOW! Rank 0 Skipping step. "
			"Attempted loss scale: 65536, reducing to 32768\n" STEP(2) DONE,
		0},
	{"ESPnet", STEP(1) "WARNING: The grad norm is nan. Skipping updating the model.\n" STEP(2) DONE, 0},
	{"a check's name", "check_for_nan_in_loss_and_grad ............ True\n" STEPS DONE, 0},
	{"a paper's title", "Avoiding NaN loss in large models\n" STEPS DONE, 0},
	/* data */
	{"PyTorch",
		"/p/dataloader.py:557: UserWarning: This DataLoader will create 64 worker processes in "
		"total. Our suggested max number of "
		"worker in current system is 8\n" STEPS DONE,
		0},
	{"a skipped record", STEP(1) "skipping record 7: JSONDecodeError: Expecting value\n" STEP(2) DONE, 0},
	{"a truncated image that was read",
		STEP(1) "/p/PIL/TiffImagePlugin.py:850: UserWarning: Truncated File Read\n" STEP(2) DONE, 0},
};

static void healthy_jobs_have_no_failure(void **state)
{
	const uint32_t judged = 1u << LOG_OOM_HANDLED | 1u << LOG_BATCH_SIZE_CHANGED |
				1u << LOG_COMPILE_FALLBACK | 1u << LOG_POST_RUN_NOISE |
				1u << LOG_POST_RUN_COLLECTIVE_NOISE;
	static const int exits[] = {EXIT_UNKNOWN, 0};
	int wrong = 0;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const char *log = cases[i / 2].log;
		struct log_options how = exited(exits[i % 2]);
		struct log_summary s = summarise(*state, log, strlen(log), &how);
		if (s.failure.class != FAILURE_NONE || s.failure.line ||
			(s.flags & judged) != cases[i / 2].flags) {
			print_error("%s, exit %d: %s at %ld, flags %x\n%s\n", cases[i / 2].source,
				exits[i % 2], failure_class_names[s.failure.class], s.failure.line,
				s.flags & judged, log);
			wrong++;
		}
		log_summary_release(&s);
	}
	assert_int_equal(wrong, 0);
}

/* The same words where the job did not live on. */
static const struct failure_case fatal[] = {
	{"an OOM without further steps",
		STEP(1) TRACE "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n",
		EXIT_UNKNOWN, FAILURE_OOM, 5, NULL},
	{"steps of other ranks behind it",
		STEP(1) "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 1, in "
			"f\n[rank1]: "
			"ValueError: x\n" STEP(2),
		EXIT_UNKNOWN, FAILURE_CRASH, 4, NULL},
	{"output that was kept back until the end", TRACE "ValueError: x\n" STEPS STEP(4), 1, FAILURE_CRASH,
		4, NULL},
	{"handled at first, killed much later", TRACE "ValueError: x\n" STEPS STEP(4) "Killed\n",
		EXIT_UNKNOWN, FAILURE_KILLED, 9, NULL},
	{"the same store noise, but the job ended early",
		STEP(1) STEP(
			2) "[rank1]:[W901 07:40:19.9 TCPStore.cpp:125] [c10d] recvValue failed on "
			   "SocketImpl(fd=86): Connection was likely closed.\nE0901 07:40:25.0 429 "
			   "torch/distributed/elastic/multiprocessing/"
			   "api.py:874] failed (exitcode: 1) local_rank: 0 (pid: 430) of binary: python\n",
		EXIT_UNKNOWN, FAILURE_CRASH, 4, NULL},
	{"heartbeat in the middle",
		STEPS "[rank1]:[E901 07:40:19.9 ProcessGroupNCCL.cpp:1] [PG 0 Rank 1] Heartbeat monitor "
		      "timed out!\n",
		1, FAILURE_COLLECTIVE, 4, "hang"},
	{"gradients that do not recover",
		"{'loss': 1.8, 'grad_norm': 2.1, 'learning_rate': 0.1, 'epoch': 0.01}\n{'loss': 0.0, "
		"'grad_norm': nan, "
		"'learning_rate': 0.1, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.1, "
		"'epoch': 0.03}\n",
		EXIT_UNKNOWN, FAILURE_NAN, 2, NULL},
	{"gradients that recover",
		"{'loss': 1.8, 'grad_norm': 2.1, 'learning_rate': 0.1, 'epoch': 0.01}\n{'loss': 0.0, "
		"'grad_norm': nan, "
		"'learning_rate': 0.1, 'epoch': 0.02}\n{'loss': 1.7, 'grad_norm': 2.0, 'learning_rate': 0.1, "
		"'epoch': 0.03}\n",
		EXIT_UNKNOWN, FAILURE_NONE, 0, NULL},
	{"NaN and then done",
		STEP(1) "step=2 loss=inf grad_norm=inf lr=1e-4 dt=0.5 tokens=8\nstep=3 loss=nan "
			"grad_norm=nan lr=1e-4 dt=0.5 "
			"tokens=8\n" DONE,
		EXIT_UNKNOWN, FAILURE_NAN, 2, NULL},
};

static void the_same_words_can_be_fatal(void **state)
{
	check_failure_cases(*state, fatal, ARRAY_LEN(fatal));
}

int main(void)
{
	struct log_literals *literals = log_literals_new();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(healthy_jobs_have_no_failure, literals),
		cmocka_unit_test_prestate(the_same_words_can_be_fatal, literals),
	};
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	log_literals_free(literals);
	return result;
}
