/* Device memory, the host's memory and input data: what ends a job for want of them. */
#include "base/base.h"

#include "failure_case.h"

#define U EXIT_UNKNOWN
#define TRACE "Traceback (most recent call last):\n  File \"/p/train.py\", line 9, in <module>\n    main()\n"

static const struct failure_case cases[] = {
	/* PyTorch */
	{"PyTorch 0.3",
		TRACE "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/THCStorage.cu:58\n",
		U, FAILURE_OOM, 4, NULL},
	{"PyTorch 1.0",
		TRACE "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total "
		      "capacity; 7.10 "
		      "GiB already allocated; 7.94 MiB free; 87.00 MiB cached)\n",
		1, FAILURE_OOM, 4, NULL},
	{"PyTorch 2.1",
		TRACE "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 "
		      "has a total capacty "
		      "of 15.00 GiB of which 1.00 MiB is free.\n",
		U, FAILURE_OOM, 4, NULL},
	{"PyTorch 2.6 without a traceback, from a C++ thread",
		"step 1\nwhat():  CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity "
		"of 79.10 GiB of "
		"which 1.00 GiB is free.\n",
		-SIGABRT, FAILURE_OOM, 2, NULL},
	{"PyTorch 2.8 AcceleratorError", TRACE "torch.AcceleratorError: CUDA error: out of memory\n", U,
		FAILURE_OOM, 4, NULL},
	{"PyTorch expandable segments", TRACE "RuntimeError: CUDA driver error: out of memory\n", 1,
		FAILURE_OOM, 4, NULL},
	{"PyTorch ROCm", TRACE "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB.\n", U,
		FAILURE_OOM, 4, NULL},
	{"PyTorch ROCm, run-time library", TRACE "RuntimeError: HIP error: out of memory\n", U, FAILURE_OOM,
		4, NULL},
	{"PyTorch XPU",
		TRACE "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 192.00 MiB.\nGPU 3 has a "
		      "total capacity "
		      "of 31.89 GiB of which 13.22 GiB is free.\n",
		U, FAILURE_OOM, 4, NULL},
	{"torch_npu",
		TRACE
		"RuntimeError: NPU out of memory. Tried to allocate 260.00 MiB (NPU 0; 28.50 GiB total "
		"capacity; 10.24 GiB already allocated; 149.57 MiB free; 10.28 GiB reserved in total)\n",
		U, FAILURE_OOM, 4, NULL},
	{"PyTorch MPS",
		TRACE
		"RuntimeError: MPS backend out of memory (MPS allocated: 17.99 GB, other allocations: 1.00 "
		"GB, max allowed: 18.13 GB). Tried to allocate 96.00 MB on private pool.\n",
		U, FAILURE_OOM, 4, NULL},
	{"cuBLAS",
		TRACE
		"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n",
		U, FAILURE_OOM, 4, NULL},
	{"cuDNN", TRACE "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED\n", U, FAILURE_OOM, 4, NULL},
	{"cuSOLVER", TRACE "RuntimeError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `x`\n",
		U, FAILURE_OOM, 4, NULL},
	{"cuFFT", TRACE "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED\n", U, FAILURE_OOM, 4, NULL},
	{"inductor's autotuner raises it",
		TRACE "torch._inductor.exc.InductorError: OutOfMemoryError: CUDA out of memory. Tried to "
		      "allocate 1.00 GiB. "
		      "GPU 0 has a total capacity of 79.10 GiB of which 0.50 GiB is free.\n",
		U, FAILURE_OOM, 4, NULL},
	{"dynamo wraps it",
		TRACE "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' "
		      "raised:\nOutOfMemoryError: CUDA out of "
		      "memory. Tried to allocate 1.00 GiB.\n",
		U, FAILURE_OOM, 5, NULL},
	{"hydra wraps it",
		TRACE "hydra.errors.InstantiationException: Error in call to target "
		      "'m.f':\nOutOfMemoryError('CUDA out of "
		      "memory. Tried to allocate 96.00 MiB.')\n",
		U, FAILURE_OOM, 5, NULL},
	{"accelerate", TRACE "RuntimeError: No executable batch size found, reached zero.\n", U, FAILURE_OOM,
		4, NULL},
	{"rich's traceback (torchtune, typer)",
		"\xe2\x95\xad\xe2\x94\x80 Traceback (most recent call last) "
		"\xe2\x94\x80\xe2\x95\xae\n\xe2\x94\x82 "
		"/p/a.py:3 in f \xe2\x94\x82\n\xe2\x94\x82 \xe2\x9d\xb1 3 raise RuntimeError(\"CUDA out of "
		"memory\") "
		"\xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x95\xaf\nOutOfMemoryError: CUDA out of memory. "
		"Tried to allocate "
		"1.00 GiB.\n",
		U, FAILURE_OOM, 5, NULL},
	{"the handler of an OOM fails",
		TRACE "torch.OutOfMemoryError: CUDA out of memory.\n\nDuring handling of the above "
		      "exception, another "
		      "exception occurred:\n\n" TRACE "KeyError: 'x'\n",
		U, FAILURE_OOM, 4, NULL},
	{"NCCL hides it",
		TRACE "torch.distributed.DistBackendError: NCCL error in: /p/ProcessGroupNCCL.cpp:1, "
		      "unhandled cuda error (run "
		      "with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclUnhandledCudaError: Call "
		      "to CUDA function "
		      "failed.\nLast error:\nCuda failure 2 'out of memory'\n",
		U, FAILURE_OOM, 7, NULL},
	{"NCCL_DEBUG=WARN shows it", "n:1:2 [0] transport.cc:1 NCCL WARN Cuda failure 2 'out of memory'\n", 1,
		FAILURE_OOM, 1, NULL},
	{"spawned process",
		TRACE
		"torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the "
		"following error:\n" TRACE "torch.OutOfMemoryError: CUDA out of memory.\n",
		U, FAILURE_OOM, 10, NULL},
	{"Ray",
		TRACE
		"ray.exceptions.RayTaskError(OutOfMemoryError): ray::W.f() (pid=1, ip=192.0.2.1)\n  File "
		"\"/p/a.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: CUDA out of memory.\n",
		U, FAILURE_OOM, 7, NULL},
	/* others */
	{"llm.c", "[CUDA ERROR] at file llmc/x.cuh:221:\nout of memory\n", 1, FAILURE_OOM, 1, NULL},
	{"gpuAssert() of many CUDA programs", "GPUassert: out of memory a.cu 12\n", 2, FAILURE_OOM, 1, NULL},
	{"a C++ job", "CUDA error 2 at a.cu:12: out of memory\n", 1, FAILURE_OOM, 1, NULL},
	{"ggml", "ggml_cuda_init: cudaMalloc failed: out of memory\n", 1, FAILURE_OOM, 1, NULL},
	{"Caffe",
		"F0101 10:00:00.000000 1 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out "
		"of memory\n",
		-SIGABRT, FAILURE_OOM, 1, NULL},
	{"HIP run-time", "hipErrorOutOfMemory returned by hipMalloc\n", 1, FAILURE_OOM, 1, NULL},
	{"ROCm's queue",
		":0:rocdevice.cpp:2660: Callback: Queue 0x7f aborting with error : "
		"HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate\n",
		-SIGABRT, FAILURE_OOM, 1, NULL},
	{"Level Zero",
		TRACE "RuntimeError: level_zero backend failed with error: 39 "
		      "(UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n",
		U, FAILURE_OOM, 4, NULL},
	{"numba",
		TRACE "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in "
		      "CUDA_ERROR_OUT_OF_MEMORY\n",
		U, FAILURE_OOM, 4, NULL},
	{"CuPy",
		TRACE "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,147,483,648 bytes "
		      "(allocated so far: "
		      "1,024 bytes).\n",
		U, FAILURE_OOM, 4, NULL},
	{"JAX GPU",
		TRACE "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying "
		      "to allocate "
		      "1073741824 bytes.\n",
		U, FAILURE_OOM, 4, NULL},
	{"JAX TPU, loading",
		TRACE
		"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_f': Attempting "
		"to reserve 29.49G at the bottom of memory. That was not possible. There are 147.64M "
		"free, 0B reserved, and 147.64M reservable.\n",
		U, FAILURE_OOM, 4, NULL},
	{"JAX TPU, compiling",
		"Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by "
		"6.47G.\n",
		1, FAILURE_OOM, 1, NULL},
	{"TensorFlow",
		TRACE
		"tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor "
		"with "
		"shape[8,512] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator "
		"GPU_0_bfc\n",
		U, FAILURE_OOM, 4, NULL},
	{"Paddle",
		TRACE "SystemError: ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot "
		      "allocate 1.0GB memory "
		      "on GPU 0, 15.7GB memory has been allocated and available memory is only 300.0MB.\n",
		U, FAILURE_OOM, 6, NULL},
	{"infrarsi's example", "out of device memory: requested 9 bytes, free 4 bytes, capacity 40 bytes\n",
		1, FAILURE_OOM, 1, NULL},

	/* the host's memory */
	{"Linux", "Out of memory: Killed process 7 (python3) total-vm:9kB, anon-rss:8kB\n", -SIGKILL,
		FAILURE_KILLED, 1, "host_oom"},
	{"Linux 4.x", "[1.0] Out of memory: Kill process 7 (python3) score 900 or sacrifice child\n", U,
		FAILURE_KILLED, 1, "host_oom"},
	{"Linux, cgroup",
		"[1.0] python3 invoked oom-killer: gfp_mask=0x1\n[1.1] Memory cgroup out of memory: Killed "
		"process 7 (python3) anon-rss:1048576kB\nKilled\n",
		137, FAILURE_KILLED, 1, "host_oom"},
	{"Slurm",
		"slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have "
		"been OOM Killed.\n",
		U, FAILURE_KILLED, 1, "host_oom"},
	{"Slurm 17", "slurmstepd: error: Job 1 exceeded memory limit (9 > 8), being killed\n", U,
		FAILURE_KILLED, 1, "host_oom"},
	{"srun", "srun: error: node-a: task 3: Out Of Memory\n", 1, FAILURE_KILLED, 1, "host_oom"},
	{"LSF", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n", U, FAILURE_KILLED, 1,
		"host_oom"},
	{"Kubernetes", "Last State: Terminated  Reason: OOMKilled  Exit Code: 137\n", U, FAILURE_KILLED, 1,
		"host_oom"},
	{"Ray",
		TRACE
		"ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
		U, FAILURE_KILLED, 4, "host_oom"},
	{"bash, explained by Slurm",
		"x: line 2:  8 Killed                  python3 m.py\nslurmstepd: error: Detected 1 oom-kill "
		"event(s) in StepId=1.batch cgroup.\n",
		U, FAILURE_KILLED, 1, "host_oom"},
	{"PyTorch",
		TRACE "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: not enough "
		      "memory: you tried "
		      "to allocate 1024 bytes.\n",
		U, FAILURE_CRASH, 4, "host_oom"},
	{"libstdc++",
		"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
		"std::bad_alloc\n",
		-SIGABRT, FAILURE_CRASH, 1, "host_oom"},
	{"NumPy",
		TRACE "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 1.50 GiB for an array "
		      "with shape (9,)\n",
		U, FAILURE_CRASH, 4, "host_oom"},
	{"CPython", TRACE "MemoryError\n", U, FAILURE_CRASH, 4, "host_oom"},
	{"CPython, fork", TRACE "OSError: [Errno 12] Cannot allocate memory\n", U, FAILURE_CRASH, 4,
		"host_oom"},

	/* input data */
	{"PyTorch, shared memory",
		"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
		"shared memory "
		"(shm).\n" TRACE "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n",
		U, FAILURE_DATA, 1, "shm"},
	{"PyTorch", TRACE "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n", U,
		FAILURE_DATA, 4, "worker_killed"},
	{"PyTorch",
		TRACE "RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault.\n", U,
		FAILURE_DATA, 4, "worker_segfault"},
	{"PyTorch", TRACE "RuntimeError: DataLoader worker (pid(s) 7, 8) exited unexpectedly\n", U,
		FAILURE_DATA, 4, "worker_exited"},
	{"PyTorch", TRACE "RuntimeError: DataLoader timed out after 120 seconds\n", U, FAILURE_DATA, 4,
		"loader_timeout"},
	{"PyTorch, a dataset's own exception",
		TRACE "KeyError: Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most "
		      "recent call last):\n  "
		      "File \"/p/d.py\", line 3, in __getitem__\n    x\nKeyError: 'image'\n",
		U, FAILURE_DATA, 8, "worker_exception"},
	{"PyTorch, a broken file in a worker",
		TRACE "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback "
		      "(most recent call "
		      "last):\n  File \"/p/d.py\", line 3, in f\njson.decoder.JSONDecodeError: Expecting "
		      "value: line 1\n",
		U, FAILURE_DATA, 7, "corrupt_input"},
	{"PyTorch, sharing tensors",
		TRACE "RuntimeError: unable to open shared memory object </torch_1> in read-write mode: No "
		      "space left on device (28)\n",
		U, FAILURE_DATA, 4, "shm"},
	{"pickle", TRACE "_pickle.UnpicklingError: invalid load key, '<'.\n", U, FAILURE_DATA, 4,
		"corrupt_input"},
	{"pickle", TRACE "EOFError: Ran out of input\n", U, FAILURE_DATA, 4, "corrupt_input"},
	{"pyarrow", TRACE "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.\n", U,
		FAILURE_DATA, 4, "corrupt_input"},
	{"datasets, direct cause",
		TRACE "pyarrow.lib.ArrowInvalid: JSON parse error: Invalid value. in row 0\n\nThe above "
		      "exception was the direct "
		      "cause of the following exception:\n\n" TRACE
		      "datasets.exceptions.DatasetGenerationError: An error occurred while generating the "
		      "dataset\n",
		U, FAILURE_DATA, 4, "corrupt_input"},
	{"webdataset", TRACE "tarfile.ReadError: unexpected end of data\n", U, FAILURE_DATA, 4,
		"corrupt_input"},
	{"PIL", TRACE "PIL.UnidentifiedImageError: cannot identify image file 'a.jpg'\n", U, FAILURE_DATA, 4,
		"corrupt_input"},
	{"PIL", TRACE "OSError: image file is truncated (7 bytes not processed)\n", U, FAILURE_DATA, 4,
		"corrupt_input"},
	{"zlib", TRACE "zlib.error: Error -3 while decompressing data: invalid block type\n", U, FAILURE_DATA,
		4, "corrupt_input"},
	{"codecs",
		TRACE "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start "
		      "byte\n",
		U, FAILURE_DATA, 4, "corrupt_input"},
	{"h5py", TRACE "OSError: Unable to open file (truncated file: eof = 96, sblock->base_addr = 0)\n", U,
		FAILURE_DATA, 4, "corrupt_input"},
	{"Megatron", TRACE "ValueError: mmap length is greater than file size\n", U, FAILURE_DATA, 4,
		"corrupt_input"},
};

static void memory_and_data(void **state)
{
	check_failure_cases(*state, cases, ARRAY_LEN(cases));
}

/* ---- the numbers ---- */

#define GIB 1073741824.0
#define MIB 1048576.0
#define NONE (-1.0)

static const struct {
	const char *log;
	double requested, free_bytes, capacity, shortfall;
	uint32_t flags;
} sizes[] = {
	/* 230 - 192 MiB */
	{"out of device memory: requested 241172480 bytes, free 201326592 bytes, capacity 402653184 bytes "
	 "(attention)\n",
		241172480, 201326592, 402653184, 39845888, 0},
	{"RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 3; 11.5 GiB total capacity; "
	 "10.75 GiB already "
	 "allocated; 16.00 MiB free; 11.25 GiB reserved in total by PyTorch)\n",
		64 * MIB, 16 * MIB, 11.5 * GIB, 48 * MIB, 0},
	/* "cached" is amount_cached - amount_allocated (c10/cuda/CUDACachingAllocator.cpp, 1.0): 6.75 are
	   ours. */
	{"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; 6.50 "
	 "GiB already "
	 "allocated; 0.50 GiB free; 0.25 GiB cached)\n",
		1 * GIB, 0.5 * GIB, 8 * GIB, 0.5 * GIB, 0},
	{"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 16.00 GiB total capacity; "
	 "6.50 "
	 "GiB already "
	 "allocated; 0.50 GiB free; 0.25 GiB cached)\n",
		1 * GIB, 0.5 * GIB, 16 * GIB, 0.5 * GIB, 1u << LOG_FOREIGN_MEMORY},
	/* Held 38.5 + 0.5, allowed 40: 2 - 1 are missing. */
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
	 "of 139.50 GiB of "
	 "which 98.00 GiB is free. 40.00 GiB allowed; Of the allocated memory 38.50 GiB is allocated by "
	 "PyTorch, and 512.00 "
	 "MiB is reserved by PyTorch but unallocated.\n",
		2 * GIB, 98 * GIB, 139.5 * GIB, 1 * GIB, 0},
	{"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 16.00 GiB total capacity; "
	 "7.00 GiB already "
	 "allocated; 8.00 GiB free; 8.00 GiB allowed; 7.50 GiB reserved in total by PyTorch)\n",
		2 * GIB, 8 * GIB, 16 * GIB, 1.5 * GIB, 0},
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity "
	 "of 6.00 GiB of "
	 "which 3.00 GiB is free. Including non-PyTorch memory, this process has 3.00 GiB memory in use.\n",
		1 * GIB, 3 * GIB, 6 * GIB, 0, 1u << LOG_FREE_EXCEEDS_REQUEST},
	{"RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 1.00 GB, max "
	 "allowed: 18.00 GB). "
	 "Tried to allocate 2.00 GB on private pool.\n",
		2 * GIB, NONE, NONE, 1 * GIB, 0},
	{"RESOURCE_EXHAUSTED: Attempting to reserve 12.00G at the bottom of memory. That was not possible. "
	 "There are 11.50G "
	 "free, 0B reserved, and 11.50G reservable.\n",
		12 * GIB, 11.5 * GIB, NONE, 0.5 * GIB, 0},
	{"RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 50.00M. That was not "
	 "possible. There are "
	 "27.00M free.; (0x0x0_HBM0)\n",
		50 * MIB, 27 * MIB, NONE, 23 * MIB, 0},
	{"Ran out of memory in memory space hbm. Used 21.95G of 15.50G hbm. Exceeded hbm capacity by "
	 "6.50G.\n",
		NONE, NONE, 15.5 * GIB, 6.5 * GIB, 0},
	/* broken by a collector behind blanks, and by a terminal in the middle of a word */
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. \nGPU 1 has a total "
	 "capacity of \n8.00 GiB of "
	 "which 1.00 GiB is free. \n",
		3 * GIB, 1 * GIB, 8 * GIB, 2 * GIB, 0},
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to alloc\nate 3.00 GiB. GPU 1 has a total "
	 "capac\nity of 8.00 GiB of "
	 "which 1.00 GiB is fr\nee. \n",
		3 * GIB, 1 * GIB, 8 * GIB, 2 * GIB, 0},
	{"CUDA error: out of memory\n", NONE, NONE, NONE, NONE, 0},
	{"CUDA out of memory. Tried to allocate more than 1EB memory.\n", NONE, NONE, NONE, NONE, 0},
	{"CUDA out of memory. Tried to allocate 99999999999999999999999999999999999 GiB\n", NONE, NONE, NONE,
		NONE, 0},
	{"CUDA out of memory. Tried to allocate -3.00 GiB\n", NONE, NONE, NONE, NONE, 0},
};

static void check_number(const char *log, const char *what, struct opt_number n, double expected)
{
	if (n.has != (expected != NONE) || (n.has && n.value != expected))
		fail_msg("%s: %s is %f, not %f", log, what, n.has ? n.value : NONE, expected);
}

static void sizes_are_read(void **state)
{
	struct log_options how = exited(1);
	const uint32_t about_memory = 1u << LOG_FOREIGN_MEMORY | 1u << LOG_FREE_EXCEEDS_REQUEST |
				      1u << LOG_ALLOCATED_EXCEEDS_CAPACITY | 1u << LOG_FRAGMENTATION_SUSPECT;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct log_summary s = summarise(*state, sizes[i].log, strlen(sizes[i].log), &how);
		const struct failure_report *r = &s.failure;
		assert_int_equal(r->class, FAILURE_OOM);
		assert_int_equal(r->line, 1);
		check_number(sizes[i].log, "request", r->requested_bytes, sizes[i].requested);
		check_number(sizes[i].log, "free", r->free_bytes, sizes[i].free_bytes);
		check_number(sizes[i].log, "capacity", r->capacity_bytes, sizes[i].capacity);
		check_number(sizes[i].log, "shortfall", r->shortfall_bytes, sizes[i].shortfall);
		if ((s.flags & about_memory) != sizes[i].flags)
			fail_msg("%s: flags %x, not %x", sizes[i].log, s.flags, sizes[i].flags);
		log_summary_release(&s);
	}
}

static void messages_of_several_ranks(void **state)
{
	/* Interleaved and wrapped; the worst shortfall is rank 1's: 4 - 1. */
	static const char log[] =
		"[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. \n"
		"[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
		"a total capacity of "
		"8.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 7.00 GiB "
		"memory in use.\n"
		"[rank1]: GPU 1 has a total capacity of 8.00 GiB of which 1.00 GiB is free.\n"
		"[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
		"a total capacity of "
		"8.00 GiB of which 1.00 GiB is free.\n";
	struct log_options how = exited(1);
	struct log_summary s = summarise(*state, log, strlen(log), &how);
	assert_int_equal(s.failure.line, 1);
	assert_true(s.failure.rank.value == 1);
	assert_true(s.failure.requested_bytes.value == 4 * GIB);
	assert_true(s.failure.device_index.has == false || s.failure.device_index.value == 1);
	assert_true(s.failure.oom_count.has && s.failure.oom_count.value == 2);
	assert_int_equal(s.failure.n_ranks, 2);
	log_summary_release(&s);
}

int main(void)
{
	struct log_literals *literals = log_literals_new();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(memory_and_data, literals),
		cmocka_unit_test_prestate(sizes_are_read, literals),
		cmocka_unit_test_prestate(messages_of_several_ranks, literals),
	};
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	log_literals_free(literals);
	return result;
}
