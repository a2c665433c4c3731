/* Processes that die of themselves: faults of kernels and of the host's code, exceptions with a name of their
 * own, a launch that cannot work. */
#include "base/base.h"

#include <signal.h>

#include "adapter/signatures_int.h"

#define CRASH(pattern, flags, subkind)                                                                       \
	{                                                                                                    \
		pattern, FAILURE_CRASH, STRENGTH_CAUSE, flags, subkind, ACT_NONE, 0, 0                       \
	}
#define CRASH_BY(pattern, flags, signal_number)                                                              \
	{                                                                                                    \
		pattern, FAILURE_CRASH, STRENGTH_CAUSE, flags, NULL, ACT_NONE, signal_number, 0              \
	}

static const struct signature rows[] = {
	/* a compiler that dies is the compiler's failure, whatever of */
	{"internal compiler error", FAILURE_COMPILE, STRENGTH_CAUSE, SIG_PROSE, NULL, ACT_NONE, 0, 0},
	/* CUDA and HIP run-time errors, as cudaGetErrorString() words them */
	CRASH("an illegal memory access was encountered", SIG_PROSE, "illegal_memory_access"),
	CRASH("cuda_error_illegal_address", SIG_PROSE, "illegal_memory_access"),
	CRASH("memory access fault by gpu", 0, "illegal_memory_access"), /* ROCm */
	CRASH("misaligned address", SIG_PROSE, "illegal_memory_access"),
	CRASH("device-side assert triggered", SIG_PROSE, "device_assert"),
	CRASH("block: [*thread: [*assertion", 0, "device_assert"),
	CRASH("an illegal instruction was encountered", 0, NULL),
	CRASH("unspecified launch failure", SIG_PROSE, NULL),
	CRASH("uncorrectable ecc error", SIG_PROSE, "hardware"),
	CRASH("uncorrectable nvlink error", SIG_PROSE, "hardware"),
	CRASH("gpu has fallen off the bus", 0, "hardware"),
	CRASH("hw exception by gpu", 0, "hardware"),
	CRASH("nvrm: xid", SIG_ANY_LEVEL, "hardware"),
	CRASH("no kernel image is available", SIG_PROSE, NULL),
	CRASH("unsupported ptx version", SIG_PROSE, NULL),
	CRASH("unsupported toolchain", SIG_PROSE, NULL),
	CRASH("cuda error: ", SIG_PROSE | SIG_GENERIC, NULL),
	CRASH("hip error: ", SIG_PROSE | SIG_GENERIC, NULL),
	CRASH("cuda driver error: ", SIG_PROSE | SIG_GENERIC, NULL),
	CRASH("cuda runtime error (", SIG_PROSE | SIG_GENERIC, NULL),
	CRASH("cudnn error: ", SIG_PROSE | SIG_GENERIC, NULL),

	/* CPython */
	{"fatal python error: aborted", FAILURE_CRASH, STRENGTH_ECHO, 0, NULL, ACT_NONE, SIGABRT, 0},
	CRASH_BY("fatal python error: segmentation fault", 0, 0),
	CRASH_BY("fatal python error: bus error", 0, 0),
	CRASH("fatal python error: ", 0, NULL),
	/* glibc: malloc/malloc.c, debug/fortify_fail.c, assert/assert.c */
	CRASH("free(): ", SIG_PROSE, NULL),
	CRASH("malloc(): ", SIG_PROSE, NULL),
	CRASH("malloc_consolidate(): ", 0, NULL),
	CRASH("realloc(): ", SIG_PROSE, NULL),
	CRASH("munmap_chunk(): ", 0, NULL),
	CRASH("tcache_thread_shutdown(): ", 0, NULL),
	CRASH("double free or corruption", SIG_PROSE, NULL),
	CRASH("corrupted size vs. prev_size", 0, NULL),
	CRASH("corrupted double-linked list", 0, NULL),
	CRASH("stack smashing detected", 0, NULL),
	CRASH("buffer overflow detected", 0, NULL),
	CRASH(": assertion `*' failed", 0, NULL),
	CRASH("assertion failed: ", SIG_PROSE, NULL),
	CRASH("error: addresssanitizer", 0, NULL),
	CRASH("error: leaksanitizer", 0, NULL),
	CRASH("warning: memorysanitizer", SIG_ANY_LEVEL, NULL),
	CRASH("warning: threadsanitizer", SIG_ANY_LEVEL, NULL),
	/* UBSan goes on unless told otherwise */
	{": runtime error: ", FAILURE_CRASH, STRENGTH_WEAK, 0, NULL, ACT_NONE, 0, 0},
	/* signals, as shells, Open MPI, UCX, absl and faulthandler report them */
	CRASH_BY("segmentation fault", SIG_PROSE, SIGSEGV),
	CRASH_BY("bus error", SIG_WORD | SIG_PROSE, SIGBUS),
	CRASH_BY("floating point exception", SIG_PROSE, SIGFPE),
	CRASH_BY("illegal instruction", SIG_PROSE, SIGILL),
	CRASH_BY("caught signal 11", 0, SIGSEGV),
	CRASH_BY("caught signal 7", SIG_END, SIGBUS),
	CRASH_BY("sigsegv received at", 0, SIGSEGV),
	CRASH_BY("sigsegv (@0x", 0, SIGSEGV),
	CRASH_BY("sigbus received at", 0, SIGBUS),
	CRASH_BY("segfault encountered", 0, SIGSEGV),
	{"sigabrt received at", FAILURE_CRASH, STRENGTH_ECHO, 0, NULL, ACT_NONE, SIGABRT, 0},
	{"aborted (core dumped)", FAILURE_CRASH, STRENGTH_ECHO, 0, NULL, ACT_NONE, SIGABRT, 0},
	{"aborted", FAILURE_CRASH, STRENGTH_ECHO, SIG_WORD, NULL, ACT_SHELL_KILLED, SIGABRT, 0},
	{"signal: aborted (", FAILURE_CRASH, STRENGTH_ECHO, 0, NULL, ACT_NONE, SIGABRT, 0},
	{"terminate called", FAILURE_CRASH, STRENGTH_ECHO, SIG_GENERIC, NULL, ACT_NONE, 0, 0},
	CRASH("check failure stack trace", 0, NULL),
	CRASH("panicked at", SIG_PROSE, NULL),

	/* a launch that cannot work */
	CRASH("modulenotfounderror", SIG_RAISED, "import"),
	CRASH("importerror", SIG_RAISED, "import"),
	CRASH(": no module named ", SIG_START, "import"),
	CRASH("python: no module named ", 0, "import"),
	CRASH("python3: no module named ", 0, "import"),
	CRASH("error while loading shared libraries", 0, "import"),
	CRASH("symbol lookup error: ", 0, "import"),
	CRASH("can't open file*[errno 2]", 0, NULL),
	CRASH("syntaxerror: ", SIG_START, NULL),
	CRASH("indentationerror: ", SIG_START, NULL),
	CRASH("taberror: ", SIG_START, NULL),
	CRASH("error: unrecognized arguments", 0, "usage"),
	CRASH("error: the following arguments are required", 0, "usage"),
	CRASH("error: argument *invalid ", 0, "usage"),
	CRASH("error: ambiguous option", 0, "usage"),
	CRASH("server socket has failed to listen", 0, "port_in_use"),
	{"address already in use", FAILURE_CRASH, STRENGTH_CAUSE, SIG_PROSE, "port_in_use", ACT_PORT, 0, 0},
	{"eaddrinuse", FAILURE_CRASH, STRENGTH_CAUSE, SIG_PROSE, "port_in_use", ACT_PORT, 0, 0},
	CRASH("no space left on device", SIG_PROSE, "disk_full"),
	CRASH("disk quota exceeded", SIG_PROSE, "disk_full"),
	{"command not found", FAILURE_CRASH, STRENGTH_WEAK, 0, NULL, ACT_NONE, 0, 0},
};

const struct signature_table signatures_crash = {rows, ARRAY_LEN(rows)};
