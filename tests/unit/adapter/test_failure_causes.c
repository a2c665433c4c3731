/* What else ends a job: faults, exceptions, numbers, compilers, collectives, and being ended. */
#include "base/base.h"

#include "failure_case.h"

#define U EXIT_UNKNOWN
#define TRACE "Traceback (most recent call last):\n  File \"/p/train.py\", line 9, in <module>\n    main()\n"
#define STEP(n) "step=" #n " loss=2.000000 grad_norm=1.000000 lr=1.000e-04 dt=0.500000 tokens=8192\n"
#define ELASTIC(code)                                                                                        \
	"E0901 07:40:25.000000 429 torch/distributed/elastic/multiprocessing/api.py:874] failed "            \
	"(exitcode: " #code ") local_rank: 0 (pid: 430) of binary: /usr/bin/python3\n"

static const struct failure_case crashes[] = {
	{"glibc", "step 1\nfree(): invalid next size (normal)\n", -SIGABRT, FAILURE_CRASH, 2, NULL},
	{"glibc, then the shell", "double free or corruption (out)\nKilled\n", -SIGABRT, FAILURE_CRASH, 1,
		NULL},
	{"glibc", "corrupted size vs. prev_size\nAborted (core dumped)\n", 134, FAILURE_CRASH, 1, NULL},
	{"glibc", "*** stack smashing detected ***: terminated\n", -SIGABRT, FAILURE_CRASH, 1, NULL},
	{"assert()", "a.out: a.c:4: f: Assertion `x > 0' failed.\n", -SIGABRT, FAILURE_CRASH, 1, NULL},
	{"AddressSanitizer", "==7==ERROR: AddressSanitizer: heap-buffer-overflow\n", 1, FAILURE_CRASH, 1,
		NULL},
	{"bash", "./run.sh: line 3: 77 Segmentation fault ./train\n", 139, FAILURE_CRASH, 1, NULL},
	{"bash", "Segmentation fault (core dumped)\n", U, FAILURE_CRASH, 1, NULL},
	{"bash", "./run.sh: line 3: 77 Aborted                 (core dumped) ./train\n", U, FAILURE_CRASH, 1,
		NULL},
	{"faulthandler",
		"Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n", U,
		FAILURE_CRASH, 1, NULL},
	{"UCX",
		"[n:1:0:1] Caught signal 11 (Segmentation fault: address not mapped to object at address "
		"(nil))\n",
		U, FAILURE_CRASH, 1, NULL},
	{"absl", "*** SIGSEGV received at time=1 on cpu 3 ***\n", U, FAILURE_CRASH, 1, NULL},
	{"PyTorch", TRACE "RuntimeError: CUDA error: device-side assert triggered\n", U, FAILURE_CRASH, 4,
		"device_assert"},
	{"PyTorch's kernels",
		"/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [1,0,0], "
		"thread: [0,0,0] "
		"Assertion `srcIndex < srcSelectDimSize` failed.\n" TRACE
		"RuntimeError: CUDA error: device-side assert triggered\n",
		U, FAILURE_CRASH, 1, "device_assert"},
	{"PyTorch", TRACE "RuntimeError: CUDA error: an illegal memory access was encountered\n", 1,
		FAILURE_CRASH, 4, "illegal_memory_access"},
	{"PyTorch",
		TRACE "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
		1, FAILURE_CRASH, 4, NULL},
	{"PyTorch", TRACE "RuntimeError: CUDA error: uncorrectable ECC error encountered\n", 1, FAILURE_CRASH,
		4, "hardware"},
	{"PyTorch, not short of memory",
		TRACE "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `x`\n", U,
		FAILURE_CRASH, 4, NULL},
	{"ROCm", "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2. Reason: Unknown.\n",
		U, FAILURE_CRASH, 1, "illegal_memory_access"},
	{"NVIDIA's driver", "[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n", U,
		FAILURE_CRASH, 1, "hardware"},
	{"libstdc++", "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad\n",
		-SIGABRT, FAILURE_CRASH, 1, NULL},
	{"Rust", "thread 'main' panicked at src/main.rs:3:5:\n", 101, FAILURE_CRASH, 1, NULL},
	{"CPython", TRACE "ValueError: bad\nmore\n", 1, FAILURE_CRASH, 4, NULL},
	{"CPython, exit unknown", TRACE "KeyError: 'x'\n", U, FAILURE_CRASH, 4, NULL},
	{"CPython, the job exits 0 after it", TRACE "KeyError: 'x'\n", 0, FAILURE_CRASH, 4, NULL},
	{"CPython, cut before the exception",
		"start\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n", U,
		FAILURE_CRASH, 2, NULL},
	{"CPython, heading lost", "  File \"a.py\", line 1, in f\n    g()\nRuntimeError: shapes differ\n", U,
		FAILURE_CRASH, 3, NULL},
	{"CPython", "  File \"a.py\", line 1\n    x = = 2\n        ^\nSyntaxError: invalid syntax\n", 1,
		FAILURE_CRASH, 4, NULL},
	{"CPython", "python: can't open file '/p/train.py': [Errno 2] No such file or directory\n", 2,
		FAILURE_CRASH, 1, NULL},
	{"CPython", "/usr/bin/python3: No module named torch.distributed.run\n", 1, FAILURE_CRASH, 1,
		"import"},
	{"CPython", TRACE "ImportError: a.so: undefined symbol: _ZN2at4_ops\n", U, FAILURE_CRASH, 4,
		"import"},
	{"ld.so", "./train: error while loading shared libraries: libmpi.so.40: cannot open\n", 127,
		FAILURE_CRASH, 1, "import"},
	{"argparse", "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --x\n", 2, FAILURE_CRASH,
		2, "usage"},
	{"handled, then fatal",
		TRACE "FileNotFoundError: a\n\nDuring handling of the above exception, another exception "
		      "occurred:\n\n" TRACE "RuntimeError: b\n",
		1, FAILURE_CRASH, 11, NULL},
	{"wrapped",
		TRACE "KeyError: 'a'\n\nThe above exception was the direct cause of the following "
		      "exception:\n\n" TRACE "RuntimeError: b\n",
		1, FAILURE_CRASH, 4, NULL},
	{"two ranks, interleaved",
		"[rank1]: Traceback (most recent call last):\n[rank0]: Traceback (most recent call "
		"last):\n[rank1]:   File "
		"\"a.py\", line 1, in f\n[rank0]:   File \"a.py\", line 2, in g\n[rank1]: ValueError: "
		"x\n[rank0]: KeyError: "
		"1\n",
		1, FAILURE_CRASH, 5, NULL},
	{"another process writes into it",
		"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nEpoch: "
		"[0][415/1736]\tLoss 0.5\n    g()\n"
		"ValueError: x\n",
		1, FAILURE_CRASH, 5, NULL},
	{"the file system", TRACE "OSError: [Errno 28] No space left on device\n", 1, FAILURE_CRASH, 4,
		"disk_full"},
	{"torchrun",
		"[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - "
		"Address already "
		"in use).\n[E socket.cpp:462] [c10d] The server socket has failed to listen on any local "
		"network "
		"address.\n",
		1, FAILURE_CRASH, 2, "port_in_use"},
	{"torchrun 2.4",
		TRACE
		"torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
		"network "
		"address. port: 29500, useIpv6: 0, code: -98, name: EADDRINUSE, message: address already in "
		"use\n",
		1, FAILURE_CRASH, 4, "port_in_use"},
	{"the last words, where nothing is known", "step 1\nout of luck\n\n", 1, FAILURE_CRASH, 2, NULL},
	{"a launcher's report is an echo", ELASTIC(1) "free(): invalid pointer\n", 1, FAILURE_CRASH, 2, NULL},
	{"only the launcher reports", STEP(1) ELASTIC(1), U, FAILURE_CRASH, 2, NULL},
	{"accelerate launch",
		TRACE
		"subprocess.CalledProcessError: Command '['python', 't.py']' returned non-zero exit status "
		"1.\n",
		1, FAILURE_CRASH, 4, NULL},
	{"Open MPI",
		"mpirun noticed that process rank 1 with PID 0 on node a exited on signal 11 (Segmentation "
		"fault).\n",
		U, FAILURE_CRASH, 1, NULL},
	{"Open MPI", "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n", 1,
		FAILURE_CRASH, 1, NULL},
	{"srun", "srun: error: node-a: task 3: Exited with exit code 1\n", 1, FAILURE_CRASH, 1, NULL},
	{"a progress bar", "10%\r20%\rcuda error: an illegal memory access was encountered\r30%\nend\n", 1,
		FAILURE_CRASH, 1, "illegal_memory_access"},
	{"rank 1's error, rank 0 feels it",
		"[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1, in "
		"f\n[rank0]: RuntimeError: "
		"[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
		"[127.0.0.1]:1\n[rank1]: Traceback "
		"(most recent call last):\n[rank1]:   File \"a.py\", line 1, in f\n[rank1]: ValueError: "
		"x\n" ELASTIC(1),
		U, FAILURE_CRASH, 6, NULL},
	{"a fault that the watchdog notices",
		"[rank2]:[E ProcessGroupNCCL.cpp:1182] [PG 0 Rank 2] Process group watchdog thread "
		"terminated with exception: CUDA "
		"error: an illegal memory access was encountered\n" ELASTIC(-6),
		U, FAILURE_CRASH, 1, "illegal_memory_access"},
};

static const struct failure_case numbers[] = {
	{"a C program", "step 3 loss nan lr 1\n", 1, FAILURE_NAN, 1, NULL},
	{"a C program that does not care", "step 3 loss: nan\n", 0, FAILURE_NAN, 1, NULL},
	{"key=value", "train_loss=NaN\n", 0, FAILURE_NAN, 1, NULL},
	{"key=value steps", STEP(1) "step=2 loss=-nan grad_norm=1 lr=1e-4 dt=0.5 tokens=8\n" STEP(3), U,
		FAILURE_NAN, 2, NULL},
	{"a tensor printed", "epoch 1 loss=tensor(nan, device='cuda:0')\n", 1, FAILURE_NAN, 1, NULL},
	{"Windows' C library", "iter 7: loss 1.#QNAN\n", 1, FAILURE_NAN, 1, NULL},
	{"DETR, MAE", "Loss is nan, stopping training\n{'loss_ce': tensor(nan)}\n", 1, FAILURE_NAN, 1, NULL},
	{"DeepSpeed",
		TRACE "Exception: Current loss scale already at minimum - cannot decrease scale anymore.\n",
		1, FAILURE_NAN, 4, NULL},
	{"fairseq",
		TRACE
		"FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.\n",
		1, FAILURE_NAN, 4, NULL},
	{"detectron2", TRACE "FloatingPointError: Loss became infinite or NaN at iteration=123!\n", 1,
		FAILURE_NAN, 4, NULL},
	{"JAX debug_nans", TRACE "FloatingPointError: invalid value (nan) encountered in jit(f)\n", 1,
		FAILURE_NAN, 4, NULL},
	{"Lightning", TRACE "ValueError: The loss returned in `training_step` is nan.\n", 1, FAILURE_NAN, 4,
		NULL},
	{"Megatron", TRACE "AssertionError: Rank 11: found NaN in local grad norm in backward pass\n", 1,
		FAILURE_NAN, 4, NULL},
	{"Megatron",
		TRACE "RuntimeError: Rank 2, node a, device 2, iteration 2: Unexpected result inf "
		      "(message='found Inf')\n",
		1, FAILURE_NAN, 4, NULL},
	{"PyTorch anomaly mode",
		TRACE "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.\n", 1,
		FAILURE_NAN, 4, NULL},
	{"PyTorch clip_grad_norm_",
		TRACE "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is "
		      "non-finite, so it cannot be clipped.\n",
		1, FAILURE_NAN, 4, NULL},
	{"PyTorch sampling",
		TRACE "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0\n", 1,
		FAILURE_NAN, 4, NULL},
	{"TensorFlow",
		TRACE
		"tensorflow.python.framework.errors_impl.InvalidArgumentError: x : Tensor had NaN values\n",
		1, FAILURE_NAN, 4, NULL},
	{"TensorFlow estimators", TRACE "NanLossDuringTrainingError: NaN loss during training.\n", 1,
		FAILURE_NAN, 4, NULL},
	{"Keras TerminateOnNaN", "Batch 3: Invalid loss, terminating training\n", 0, FAILURE_NAN, 1, NULL},
	{"Composer", TRACE "RuntimeError: Train loss contains a NaN.\n", 1, FAILURE_NAN, 4, NULL},
};

static const struct failure_case compilers[] = {
	{"dynamo", TRACE "torch._dynamo.exc.Unsupported: call_function x\n", 1, FAILURE_COMPILE, 4, NULL},
	{"dynamo", TRACE "torch._dynamo.exc.InternalTorchDynamoError: x\n", 1, FAILURE_COMPILE, 4, NULL},
	{"inductor", TRACE "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n", 1,
		FAILURE_COMPILE, 4, NULL},
	{"Triton", TRACE "triton.compiler.errors.CompilationError: at 12:11:\n", 1, FAILURE_COMPILE, 4, NULL},
	{"Triton, shared memory of the chip",
		TRACE "triton.runtime.errors.OutOfResources: out of resource: shared memory, "
		      "Required: 1, Hardware limit: 0.\n",
		1, FAILURE_COMPILE, 4, NULL},
	{"Triton",
		TRACE
		"RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n",
		1, FAILURE_COMPILE, 4, NULL},
	{"ptxas", "ptxas fatal   : Unresolved extern function 'f'\n", 1, FAILURE_COMPILE, 1, NULL},
	{"nvcc", "nvcc fatal   : Unsupported gpu architecture 'compute_90'\n", 1, FAILURE_COMPILE, 1, NULL},
	{"cpp_extension",
		"[1/2] nvcc -c a.cu\nFAILED: a.cuda.o \na.cu(12): error: identifier \"x\" is "
		"undefined\nninja: build stopped: "
		"subcommand failed.\n" TRACE "subprocess.CalledProcessError: Command '['ninja', '-v']' "
		"returned non-zero exit status 1.\n\nThe above exception "
		"was the direct cause of the following exception:\n\n" TRACE
		"RuntimeError: Error building extension 'x'\n",
		1, FAILURE_COMPILE, 3, NULL},
	{"gcc, run by Triton",
		"/tmp/a/main.c:4:10: fatal error: Python.h: No such file or directory\n" TRACE
		"subprocess.CalledProcessError: Command '['/usr/bin/gcc', '-O3']' returned non-zero exit "
		"status "
		"1.\n",
		1, FAILURE_COMPILE, 1, NULL},
	{"ld", "/usr/bin/ld: cannot find -lcuda: No such file\ncollect2: error: ld returned 1 exit status\n",
		1, FAILURE_COMPILE, 1, NULL},
	{"DeepSpeed's op builder",
		TRACE "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder\n", 1,
		FAILURE_COMPILE, 4, NULL},
	{"XLA TPU, scratch memory",
		TRACE "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space "
		      "vmem while allocating on stack\n",
		1, FAILURE_COMPILE, 4, NULL},
};

static const struct failure_case collectives[] = {
	{"PyTorch 1.13",
		"[E ProcessGroupNCCL.cpp:821] [Rank 1] Watchdog caught collective operation timeout: "
		"WorkNCCL(SeqNum=1, "
		"OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800116 milliseconds before timing out.\n",
		U, FAILURE_COLLECTIVE, 1, "timeout"},
	{"PyTorch 2.5",
		"[rank3]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective "
		"operation "
		"timeout: WorkNCCL(SeqNum=1, Timeout(ms)=600000)\n" ELASTIC(-6),
		U, FAILURE_COLLECTIVE, 1, "timeout"},
	{"PyTorch",
		"NCCL INFO ok\n[rank0]: some NCCL operations have failed or timed out\n" TRACE
		"RuntimeError: y\n",
		1, FAILURE_COLLECTIVE, 2, NULL},
	{"PyTorch 2.4", "Heartbeat monitor timed out!\n", -SIGABRT, FAILURE_COLLECTIVE, 1, "hang"},
	{"PyTorch, system",
		TRACE
		"torch.distributed.DistBackendError: NCCL error in: /p/x.cpp:1691, unhandled system error "
		"(run "
		"with NCCL_DEBUG=INFO), NCCL version 2.19.3\nncclSystemError: System call (e.g. socket, "
		"malloc) or external library call failed or device error.\n",
		U, FAILURE_COLLECTIVE, 4, "system_error"},
	{"PyTorch, internal",
		TRACE "RuntimeError: NCCL error in: x.cpp:1, internal error, NCCL version 2.7.8\n", U,
		FAILURE_COLLECTIVE, 4, "internal_error"},
	{"a peer is gone",
		"[rank1]:[E ProcessGroupNCCL.cpp:1] NCCL error: remote process exited or there was a network "
		"error, "
		"NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error.\n",
		U, FAILURE_COLLECTIVE, 1, "network"},
	{"gloo",
		TRACE "RuntimeError: [x/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms "
		      "for send operation to "
		      "complete\n",
		U, FAILURE_COLLECTIVE, 4, "timeout"},
	{"gloo, nothing else known",
		TRACE "RuntimeError: [x/gloo/gloo/transport/tcp/pair.cc:575] Connection closed by peer "
		      "[127.0.0.1]:1\n",
		U, FAILURE_COLLECTIVE, 4, "network"},
	{"PyTorch, mismatch",
		TRACE "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running x\n",
		U, FAILURE_COLLECTIVE, 4, "desync"},
	{"TCPStore",
		TRACE "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. "
		      "1/8 clients "
		      "joined.\n",
		U, FAILURE_COLLECTIVE, 4, "rendezvous"},
	{"TCPStore 1.x",
		TRACE "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, "
		      "for key: "
		      "store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:30:00)\n",
		U, FAILURE_COLLECTIVE, 4, "rendezvous"},
	{"c10d's socket",
		TRACE "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms "
		      "while trying to "
		      "connect to (node-a, 29500).\n",
		U, FAILURE_COLLECTIVE, 4, "rendezvous"},
	{"torchrun", TRACE "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n", 1,
		FAILURE_COLLECTIVE, 4, "rendezvous"},
	{"torchrun",
		TRACE "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to "
		      "the C10d store "
		      "has failed. See inner exception for details.\n",
		1, FAILURE_COLLECTIVE, 4, "rendezvous"},
	{"monitoredBarrier", TRACE "RuntimeError: Rank 2 failed to pass monitoredBarrier in 30000 ms\n", 1,
		FAILURE_COLLECTIVE, 4, "timeout"},
	{"Open MPI",
		"*** An error occurred in MPI_Allreduce\n*** MPI_ERRORS_ARE_FATAL (processes will now "
		"abort)\n",
		1, FAILURE_COLLECTIVE, 1, NULL},
	{"nccl-tests", "a.cu:12 NCCL failure common.cu:958 'unhandled system error'\n", 1, FAILURE_COLLECTIVE,
		1, "system_error"},
};

static const struct failure_case endings[] = {
	{"sh", "a\nb\n/bin/sh: 8156 Killed   python3\n", 1, FAILURE_KILLED, 3, NULL},
	{"bash", STEP(1) "Killed\n", U, FAILURE_KILLED, 2, NULL},
	{"bash", "Terminated\n", U, FAILURE_KILLED, 1, NULL},
	{"torchrun",
		"W0616 00:44:57.731000 1 torch/distributed/elastic/agent/server/api.py:719] Received "
		"Signals.SIGTERM death "
		"signal, shutting down workers\n" TRACE
		"torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15\n",
		1, FAILURE_KILLED, 1, NULL},
	{"torchrun", STEP(1) ELASTIC(-9), U, FAILURE_KILLED, 2, NULL},
	{"torchrun, a peer felt it",
		"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 1, in "
		"f\n[rank1]: RuntimeError: "
		"[x/gloo/gloo/transport/tcp/pair.cc:575] Connection closed by peer [127.0.1.1]:1\n" ELASTIC(
			-9),
		U, FAILURE_KILLED, 4, NULL},
	{"DeepSpeed",
		"[2023-04-14] [ERROR] [launch.py:434:sigkill_handler] ['python', '--local_rank=1'] exits "
		"with return code = "
		"-9\n",
		U, FAILURE_KILLED, 1, NULL},
	{"mp.spawn",
		TRACE "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal "
		      "SIGKILL\n",
		1, FAILURE_KILLED, 4, NULL},
	{"accelerate launch",
		TRACE "subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.\n",
		1, FAILURE_KILLED, 4, NULL},
	{"MPICH",
		"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 31 PID 1 RUNNING AT a\n= "
		"  KILLED BY SIGNAL: 9 "
		"(Killed)\n",
		1, FAILURE_KILLED, 1, NULL},
	{"srun", "srun: error: node-a: tasks 0-7: Terminated\n", 1, FAILURE_KILLED, 1, NULL},
	{"Slurm",
		"slurmstepd: error: *** STEP 1.0 ON a CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT "
		"***\n",
		U, FAILURE_TIMEOUT, 1, "time_limit"},
	{"Slurm, the job hears of it first",
		"W0616 00:44:57.731000 1 torch/x.py:719] Received Signals.SIGTERM death signal, shutting "
		"down workers\nslurmstepd: "
		"error: *** JOB 1 ON a CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
		U, FAILURE_TIMEOUT, 2, "time_limit"},
	{"Slurm",
		"slurmstepd: error: *** JOB 1 ON a CANCELLED AT 2025-01-01T00:00:00 DUE TO PREEMPTION ***\n",
		U, FAILURE_KILLED, 1, "preempted"},
	{"Slurm",
		"slurmstepd: error: *** JOB 1 ON a CANCELLED AT 2025-01-01T00:00:00 DUE TO NODE FAILURE, SEE "
		"SLURMCTLD LOG ***\n",
		U, FAILURE_KILLED, 1, "node_fail"},
	{"scancel", "slurmstepd: error: *** JOB 1 ON a CANCELLED AT 2025-01-01T00:00:00 ***\n", U,
		FAILURE_KILLED, 1, NULL},
	{"PBS", "=>> PBS: job killed: walltime 3612 exceeded limit 3600\n", U, FAILURE_TIMEOUT, 1,
		"time_limit"},
	{"LSF", "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", U, FAILURE_TIMEOUT, 1,
		"time_limit"},
	{"Megatron", "[exiting program after 230.0 minutes] datetime: 2025-06-03 18:00:01 \n", 0,
		FAILURE_TIMEOUT, 1, "exit_duration"},
	{"Ctrl-C", TRACE "KeyboardInterrupt\n", 130, FAILURE_KILLED, 4, NULL},
	/* by the exit alone */
	{"a signal", "", -SIGKILL, FAILURE_KILLED, 0, NULL},
	{"a signal", "", -SIGSEGV, FAILURE_CRASH, 0, NULL},
	{"a shell", "", 137, FAILURE_KILLED, 0, NULL},
	{"timeout(1)", STEP(1), 124, FAILURE_TIMEOUT, 0, NULL},
	{"a status", "", 3, FAILURE_CRASH, 0, NULL},
	{"a signal after a word", "x\n", -SIGKILL, FAILURE_KILLED, 0, NULL},
};

static void crashes_by_their_first_cause(void **state)
{
	check_failure_cases(*state, crashes, ARRAY_LEN(crashes));
}

static void values_that_are_not_numbers(void **state)
{
	check_failure_cases(*state, numbers, ARRAY_LEN(numbers));
}

static void compilers_that_fail(void **state)
{
	check_failure_cases(*state, compilers, ARRAY_LEN(compilers));
}

static void collectives_that_fail(void **state)
{
	check_failure_cases(*state, collectives, ARRAY_LEN(collectives));
}

static void jobs_that_are_ended(void **state)
{
	check_failure_cases(*state, endings, ARRAY_LEN(endings));
}

int main(void)
{
	struct log_literals *literals = log_literals_new();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(crashes_by_their_first_cause, literals),
		cmocka_unit_test_prestate(values_that_are_not_numbers, literals),
		cmocka_unit_test_prestate(compilers_that_fail, literals),
		cmocka_unit_test_prestate(collectives_that_fail, literals),
		cmocka_unit_test_prestate(jobs_that_are_ended, literals),
	};
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	log_literals_free(literals);
	return result;
}
