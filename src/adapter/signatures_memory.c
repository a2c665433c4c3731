/* Memory, the device's and the host's. Only the device's is an OOM. The host's rows come first: they hold the
 * words of the others. */
#include "base/base.h"

#include <signal.h>

#include "adapter/signatures_int.h"

#define DEVICE(pattern, flags)                                                                               \
	{                                                                                                    \
		pattern, FAILURE_OOM, STRENGTH_CAUSE, flags, NULL, ACT_OOM, 0, 0                             \
	}
#define HOST_KILLS(pattern, strength, flags, act)                                                            \
	{                                                                                                    \
		pattern, FAILURE_KILLED, strength, flags, "host_oom", act, SIGKILL, 0                        \
	}
#define HOST_REFUSES(pattern, flags, act)                                                                    \
	{                                                                                                    \
		pattern, FAILURE_CRASH, STRENGTH_CAUSE, flags, "host_oom", act, 0, 0                         \
	}
#define HANDLED(pattern, flags)                                                                              \
	{                                                                                                    \
		pattern, FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_NONE, 0, flags                         \
	}

static const struct signature rows[] = {
	/* Linux: mm/oom_kill.c, dump_header() and __oom_kill_process() */
	HOST_KILLS("memory cgroup out of memory: kill", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_KERNEL_KILL),
	HOST_KILLS("out of memory: kill", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_KERNEL_KILL),
	HOST_KILLS("invoked oom-killer", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_KERNEL_KILL),
	HOST_KILLS("oom-kill:constraint", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_KERNEL_KILL),
	/* Slurm: slurmstepd and srun; 17.x to 24.x */
	HOST_KILLS("oom-kill event", STRENGTH_LAUNCHER, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("oom_kill event", STRENGTH_LAUNCHER, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("exceeded*memory limit*being killed", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("exceeded job memory limit", STRENGTH_LAUNCHER, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("exceeded step memory limit", STRENGTH_LAUNCHER, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("srun: error:*: out of memory", STRENGTH_LAUNCHER, 0, ACT_SRUN),
	/* LSF, PBS, Kubernetes, systemd */
	HOST_KILLS("term_memlimit", STRENGTH_CAUSE, 0, ACT_NONE),
	HOST_KILLS("pbs: job killed: mem", STRENGTH_CAUSE, 0, ACT_NONE),
	HOST_KILLS("pbs: job killed: vmem", STRENGTH_CAUSE, 0, ACT_NONE),
	HOST_KILLS("oomkilled", STRENGTH_LAUNCHER, SIG_WORD | SIG_PROSE, ACT_NONE),
	HOST_KILLS("systemd-oomd killed", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_NONE),
	/* Ray: the memory monitor, ray/_private/memory_monitor.py and the raylet */
	HOST_KILLS("ray.exceptions.outofmemoryerror", STRENGTH_CAUSE, 0, ACT_NONE),
	HOST_KILLS("killed due to the node running low on memory", STRENGTH_CAUSE, SIG_ANY_LEVEL, ACT_NONE),
	HOST_KILLS("killed due to memory pressure (oom)", STRENGTH_LAUNCHER, SIG_ANY_LEVEL, ACT_NONE),
	/* Allocators that say no: c10/core/impl/alloc_cpu.cpp, libstdc++, NumPy 1.17+, CPython, git, glibc */
	HOST_REFUSES("defaultcpuallocator:", 0, ACT_HOST_REQUEST),
	HOST_REFUSES("std::bad_alloc", SIG_PROSE, ACT_NONE),
	HOST_REFUSES("_arraymemoryerror", 0, ACT_HOST_REQUEST),
	HOST_REFUSES("memoryerror", SIG_RAISED | SIG_WORD, ACT_HOST_REQUEST),
	HOST_REFUSES("cannot allocate memory", SIG_RAISED, ACT_HOST_REQUEST),
	HOST_REFUSES("fork: cannot allocate memory", 0, ACT_NONE),
	HOST_REFUSES("java.lang.outofmemoryerror", 0, ACT_NONE),
	HOST_REFUSES("out of memory, malloc failed", 0, ACT_HOST_REQUEST),
	{"cc1plus: out of memory", FAILURE_COMPILE, STRENGTH_CAUSE, 0, "host_oom", ACT_HOST_REQUEST, 0, 0},
	{"virtual memory exhausted", FAILURE_COMPILE, STRENGTH_CAUSE, SIG_BUILD, "host_oom", ACT_NONE, 0, 0},

	/* memory on the chip that a kernel's compiler hands out, not the device's */
	{"ran out of memory in memory space vmem", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_NONE, 0, 0},
	{"ran out of memory in memory space smem", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_NONE, 0, 0},

	/* infrarsi's own hook and examples */
	DEVICE("out of device memory:", 0),
	/* PyTorch: c10/cuda/CUDACachingAllocator.cpp and its HIP, XPU, NPU, MPS, MUSA, MLU relatives, 0.4 on
	 */
	DEVICE("cuda out of memory", SIG_PROSE), DEVICE("hip out of memory", SIG_PROSE),
	DEVICE("xpu out of memory", SIG_PROSE), DEVICE("npu out of memory", SIG_PROSE),
	DEVICE("mps backend out of memory", SIG_PROSE), DEVICE("out of memory. tried to allocate", 0),
	DEVICE("torch.outofmemoryerror", SIG_PROSE), DEVICE("torch.cuda.outofmemoryerror", SIG_PROSE),
	DEVICE("outofmemoryerror: out of memory", SIG_PROSE),
	/* the driver's and run-time library's own words */
	DEVICE("cuda error*out of memory", SIG_PROSE), DEVICE("hip error*out of memory", SIG_PROSE),
	DEVICE("cuda driver error*out of memory", SIG_PROSE),
	DEVICE("cuda runtime error*out of memory", SIG_PROSE),
	DEVICE("cuda failure*out of memory", SIG_ANY_LEVEL | SIG_PROSE),
	DEVICE("hip failure*out of memory", SIG_ANY_LEVEL | SIG_PROSE),
	DEVICE("cudamalloc*out of memory", SIG_PROSE), DEVICE("hipmalloc*out of memory", SIG_PROSE),
	DEVICE("gpuassert: out of memory", 0), DEVICE("check failed:*out of memory", 0),
	DEVICE("cudaerrormemoryallocation", SIG_PROSE), DEVICE("cuda_error_out_of_memory", SIG_PROSE),
	DEVICE("hiperroroutofmemory", SIG_PROSE), DEVICE("hsa_status_error_out_of_resources", 0),
	DEVICE("out_of_device_memory", SIG_PROSE), DEVICE("cl_mem_object_allocation_failure", 0),
	DEVICE("callbackerroroutofmemory", 0), DEVICE("pt_devmem allocation failed", 0),
	/* libraries without room for a workspace */
	DEVICE("_status_alloc_failed", SIG_PROSE), DEVICE("cufft_alloc_failed", 0),
	DEVICE("rocblas_status_memory_error", 0), DEVICE("miopenstatusallocfailed", 0),
	/* XLA on GPU and TPU, TensorFlow, Paddle */
	DEVICE("ran out of memory in memory space hbm", 0),
	DEVICE("ran out of memory trying to allocate", SIG_ANY_LEVEL | SIG_PROSE),
	DEVICE("resource_exhausted:*out of memory", SIG_PROSE),
	DEVICE("resource_exhausted:*failed to allocate", SIG_PROSE),
	DEVICE("attempting to allocate*that was not possible", 0),
	DEVICE("attempting to reserve*that was not possible", 0),
	DEVICE("out of memory while trying to allocate", SIG_PROSE),
	DEVICE("out of memory allocating", SIG_PROSE), DEVICE("oom when allocating tensor", SIG_PROSE),
	DEVICE("out of memory error on gpu", SIG_PROSE),
	/* accelerate: find_executable_batch_size() */
	{"no executable batch size found", FAILURE_OOM, STRENGTH_CAUSE, SIG_RAISED, NULL, ACT_NONE, 0, 0},
	/* C programs that print file and line first, what went wrong on a line of its own (llm.c) */
	{"[cuda error] at file", FAILURE_CRASH, STRENGTH_CAUSE, 0, NULL, ACT_NEXT_LINE, 0, 0},
	{"[cublas error]", FAILURE_CRASH, STRENGTH_CAUSE, 0, NULL, ACT_NEXT_LINE, 0, 0},
	{"[cudnn error] at file", FAILURE_CRASH, STRENGTH_CAUSE, 0, NULL, ACT_NEXT_LINE, 0, 0},

	/* provoked and caught: Lightning, accelerate, fairseq, detectron2 */
	HANDLED("failed, trying batch size", 1u << LOG_OOM_HANDLED | 1u << LOG_BATCH_SIZE_CHANGED),
	HANDLED("decreasing batch size to", 1u << LOG_OOM_HANDLED | 1u << LOG_BATCH_SIZE_CHANGED),
	HANDLED("attempting to recover from oom", 1u << LOG_OOM_HANDLED),
	HANDLED("ran out of memory, skipping", 1u << LOG_OOM_HANDLED),
	HANDLED("oom in all workers, skipping", 1u << LOG_OOM_HANDLED),
	HANDLED("to cpu due to cuda oom", 1u << LOG_OOM_HANDLED),
	HANDLED(" oom errors thrown.", 1u << LOG_OOM_HANDLED), /* TorchTitan: since the last line */
};

const struct signature_table signatures_memory = {rows, ARRAY_LEN(rows)};
