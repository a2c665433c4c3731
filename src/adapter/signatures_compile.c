/* Compilers: of a build step, of kernels while the job runs, of extensions that it builds. */
#include "base/base.h"

#include "adapter/signatures_int.h"

#define COMPILE(pattern, flags)                                                                              \
	{                                                                                                    \
		pattern, FAILURE_COMPILE, STRENGTH_CAUSE, flags, NULL, ACT_NONE, 0, 0                        \
	}

static const struct signature rows[] = {
	/* torch._dynamo, torch._inductor, torch.export, Triton, XLA */
	COMPILE("backendcompilerfailed", SIG_GENERIC),
	COMPILE("torch._dynamo.exc.", SIG_GENERIC),
	COMPILE("torch._inductor.exc.", SIG_GENERIC),
	COMPILE("torch._inductor*error in subprocess", SIG_ERROR_ONLY),
	COMPILE("compile_worker*error in subprocess", SIG_ERROR_ONLY),
	COMPILE("loweringexception", SIG_RAISED | SIG_GENERIC),
	COMPILE("inductorerror", SIG_RAISED | SIG_GENERIC),
	COMPILE("cppcompileerror", 0),
	COMPILE("recompile_limit reached with", SIG_RAISED),
	COMPILE("torch.fx.experimental.symbolic_shapes.", SIG_RAISED),
	COMPILE("triton.compiler.errors.", 0),
	COMPILE("triton.runtime.errors.", 0),
	COMPILE("triton error [", SIG_RAISED),
	COMPILE("compilationerror: at ", SIG_RAISED),
	COMPILE("outofresources: out of resource", SIG_RAISED),
	COMPILE("passmanager::run failed", SIG_RAISED),
	COMPILE("internal triton ptx codegen error", 0),
	COMPILE("ptxas fatal", 0),
	COMPILE("ptxas error", 0),
	COMPILE("ptxas*returned non-zero exit status", 0),
	COMPILE("ptxas exited with non-zero error code", 0),
	COMPILE("failed to find c compiler", 0),
	COMPILE("cannot find a working triton installation", SIG_RAISED),
	COMPILE("nvrtc: error:", 0),
	COMPILE("nvrtc compilation failed", 0),
	COMPILE("nvrtc_error_compilation", 0),
	/* extensions: torch.utils.cpp_extension, DeepSpeed's op builder, setuptools, ninja, CMake */
	COMPILE("error building extension '", SIG_PROSE),
	COMPILE("error compiling objects for extension", 0),
	COMPILE("command '['ninja'*returned non-zero exit status", 0),
	COMPILE("command '['which', 'c++']'*returned non-zero exit status", 0),
	COMPILE("gcc'*returned non-zero exit status", 0),
	COMPILE("clang'*returned non-zero exit status", 0),
	COMPILE("nvcc'*returned non-zero exit status", 0),
	COMPILE("hipcc'*returned non-zero exit status", 0),
	COMPILE("installed cuda version*does not match the version torch was compiled with", SIG_RAISED),
	COMPILE("cudamismatchexception", SIG_RAISED),
	COMPILE("nvcc fatal", 0),
	COMPILE("cmake error", SIG_START),
	COMPILE("ninja: build stopped:", 0),
	COMPILE("errors detected in the compilation of", 0),
	COMPILE("error detected in the compilation of", 0),
	COMPILE("linker command failed with exit code", 0),
	COMPILE("collect2: error", 0),
	COMPILE("collect2: fatal error", 0),
	COMPILE("/ld: cannot find ", 0),
	COMPILE("ld: symbol(s) not found", 0),
	COMPILE("undefined reference to `", 0),
	COMPILE("undefined reference to", SIG_BUILD),
	COMPILE("no rule to make target", SIG_BUILD),
	{": error:", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_COMPILER, 0, 0},
	{": fatal error:", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_COMPILER, 0, 0},
	{"): error", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_COMPILER, 0, 0},
	{"): fatal error", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_COMPILER, 0, 0},
	{"): catastrophic error", FAILURE_COMPILE, STRENGTH_CAUSE, 0, NULL, ACT_COMPILER, 0, 0},
	COMPILE(": error: ", SIG_BUILD),
	COMPILE(": fatal error: ", SIG_BUILD),
	{"make*] error ", FAILURE_COMPILE, STRENGTH_WEAK, SIG_BUILD, NULL, ACT_NONE, 0, 0},

	/* the compiler gives up and the job goes on without it */
	{"won't convert", FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_NONE, 0, 1u << LOG_COMPILE_FALLBACK},
	{"torch._dynamo hit config.", FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_NONE, 0,
		1u << LOG_COMPILE_FALLBACK},
};

const struct signature_table signatures_compile = {rows, ARRAY_LEN(rows)};
