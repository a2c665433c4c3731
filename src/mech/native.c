#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "mech/native.h"

#define COMPUTE "forward,backward"
#define ALL_WORK "forward,backward,optimizer"

/* The first row whose words all occur in the name is taken, so the more particular rows stand first. */
static const struct native_option options[] = {
	{"activation checkpoint", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"activation checkpointing", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"gradient checkpoint", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"gradient checkpointing", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"grad checkpoint", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"recompute", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"recomputation", NATIVE_LEVER, "activation_recompute", COMPUTE},
	{"remat", NATIVE_LEVER, "activation_recompute", COMPUTE},
	/* These say when something happens beside the training: before "steps" and "batch". */
	{"warmup", NATIVE_FIXED, NULL, NULL},
	{"eval", NATIVE_FIXED, NULL, NULL},
	{"val", NATIVE_FIXED, NULL, NULL},
	{"validation", NATIVE_FIXED, NULL, NULL},
	{"save", NATIVE_FIXED, NULL, NULL},
	{"checkpoint", NATIVE_FIXED, NULL, NULL},
	{"log", NATIVE_FIXED, NULL, NULL},
	{"sample", NATIVE_FIXED, NULL, NULL},
	{"schedule", NATIVE_FIXED, NULL, NULL},
	{"scheduler", NATIVE_FIXED, NULL, NULL},
	{"micro batch", NATIVE_MICRO_BATCH, "micro_batch_size", COMPUTE},
	{"microbatch", NATIVE_MICRO_BATCH, "micro_batch_size", COMPUTE},
	{"mbs", NATIVE_MICRO_BATCH, "micro_batch_size", COMPUTE},
	{"device batch", NATIVE_MICRO_BATCH, "micro_batch_size", COMPUTE},
	{"grad accum", NATIVE_GRAD_ACCUM, "grad_accum_steps", COMPUTE},
	{"accum", NATIVE_GRAD_ACCUM, "grad_accum_steps", COMPUTE},
	{"accumulate", NATIVE_GRAD_ACCUM, "grad_accum_steps", COMPUTE},
	{"accumulation", NATIVE_GRAD_ACCUM, "grad_accum_steps", COMPUTE},
	{"global batch", NATIVE_GLOBAL_BATCH, NULL, NULL},
	{"total batch", NATIVE_GLOBAL_BATCH, NULL, NULL},
	{"effective batch", NATIVE_GLOBAL_BATCH, NULL, NULL},
	{"batch", NATIVE_BATCH, NULL, NULL},
	{"seq", NATIVE_SEQ_LEN, NULL, NULL},
	{"seqlen", NATIVE_SEQ_LEN, NULL, NULL},
	{"sequence", NATIVE_SEQ_LEN, NULL, NULL},
	{"context", NATIVE_SEQ_LEN, NULL, NULL},
	{"ctx", NATIVE_SEQ_LEN, NULL, NULL},
	{"steps", NATIVE_UPDATES, NULL, NULL},
	{"updates", NATIVE_UPDATES, NULL, NULL},
	{"iters", NATIVE_UPDATES, NULL, NULL},
	{"iterations", NATIVE_UPDATES, NULL, NULL},
	{"capacity", NATIVE_MEMORY, NULL, NULL},
	{"memory", NATIVE_MEMORY, NULL, NULL},
	{"mem", NATIVE_MEMORY, NULL, NULL},
	{"threads", NATIVE_THREADS, "omp_num_threads", "forward,backward,data"},
	{"nthreads", NATIVE_THREADS, "omp_num_threads", "forward,backward,data"},
	{"lr", NATIVE_FIXED, NULL, NULL},
	{"learning", NATIVE_FIXED, NULL, NULL},
	{"decay", NATIVE_FIXED, NULL, NULL},
	{"dropout", NATIVE_FIXED, NULL, NULL},
	{"seed", NATIVE_FIXED, NULL, NULL},
	{"momentum", NATIVE_FIXED, NULL, NULL},
	{"clip", NATIVE_FIXED, NULL, NULL},
	{"init", NATIVE_FIXED, NULL, NULL},
	{"model", NATIVE_FIXED, NULL, NULL},
	{"arch", NATIVE_FIXED, NULL, NULL},
	{"size", NATIVE_FIXED, NULL, NULL},
	{"width", NATIVE_FIXED, NULL, NULL},
	{"layers", NATIVE_FIXED, NULL, NULL},
	{"heads", NATIVE_FIXED, NULL, NULL},
	{"vocab", NATIVE_FIXED, NULL, NULL},
	{"hidden", NATIVE_FIXED, NULL, NULL},
	{"activation", NATIVE_FIXED, NULL, NULL},
	{"data", NATIVE_FIXED, NULL, NULL},
	{"dataset", NATIVE_FIXED, NULL, NULL},
	{"corpus", NATIVE_FIXED, NULL, NULL},
	{"tokenizer", NATIVE_FIXED, NULL, NULL},
	{"file", NATIVE_FIXED, NULL, NULL},
	{"path", NATIVE_FIXED, NULL, NULL},
	{"dir", NATIVE_FIXED, NULL, NULL},
	{"output", NATIVE_FIXED, NULL, NULL},
	{"input", NATIVE_FIXED, NULL, NULL},
	{"resume", NATIVE_FIXED, NULL, NULL},
	{"epochs", NATIVE_FIXED, NULL, NULL},
	{"verbose", NATIVE_FIXED, NULL, NULL},
	{"help", NATIVE_FIXED, NULL, NULL},
	{"version", NATIVE_FIXED, NULL, NULL},
	{"dispatch", NATIVE_LEVER, "moe_grouped_gemm", COMPUTE},
	{"dispatcher", NATIVE_LEVER, "moe_grouped_gemm", COMPUTE},
	{"moe kernel", NATIVE_LEVER, "moe_grouped_gemm", COMPUTE},
	{"moe", NATIVE_FIXED, NULL, NULL},
	{"experts", NATIVE_FIXED, NULL, NULL},
	{"attention", NATIVE_LEVER, "attention_backend", COMPUTE},
	{"attn", NATIVE_LEVER, "attention_backend", COMPUTE},
	{"flash", NATIVE_LEVER, "attention_backend", COMPUTE},
	{"cross entropy", NATIVE_LEVER, "cross_entropy_kernel", COMPUTE},
	{"loss", NATIVE_LEVER, "cross_entropy_kernel", COMPUTE},
	{"logits", NATIVE_LEVER, "cross_entropy_kernel", COMPUTE},
	{"optimizer", NATIVE_LEVER, "fused_optimizer", "optimizer"},
	{"optim", NATIVE_LEVER, "fused_optimizer", "optimizer"},
	{"adamw", NATIVE_LEVER, "fused_optimizer", "optimizer"},
	{"adam", NATIVE_LEVER, "fused_optimizer", "optimizer"},
	{"matmul", NATIVE_LEVER, "blas_backend", COMPUTE},
	{"gemm", NATIVE_LEVER, "blas_backend", COMPUTE},
	{"blas", NATIVE_LEVER, "blas_backend", COMPUTE},
	{"storage", NATIVE_NUMERICS, "compute_dtype", COMPUTE},
	{"dtype", NATIVE_NUMERICS, "compute_dtype", COMPUTE},
	{"precision", NATIVE_NUMERICS, "compute_dtype", COMPUTE},
	{"tile", NATIVE_LEVER, "tile_size", COMPUTE},
	{"unroll", NATIVE_LEVER, "tile_size", COMPUTE},
	{"workers", NATIVE_LEVER, "dataloader_workers", "data"},
	{"prefetch", NATIVE_LEVER, "dataloader_prefetch", "data"},
	{"hugepages", NATIVE_LEVER, "huge_pages", COMPUTE},
	{"huge pages", NATIVE_LEVER, "huge_pages", COMPUTE},
};

/* Cuts the next word (letters and digits; a capital after a small letter begins a new one) out of a name and
 * makes it lower-case. False at the end. */
static bool next_word(const char **p, char word[32])
{
	size_t n = 0;
	while (**p && !isalnum((unsigned char)**p))
		(*p)++;
	while (isalnum((unsigned char)**p)) {
		if (n && isupper((unsigned char)**p) && islower((unsigned char)(*p)[-1]))
			break;
		if (n < 31)
			word[n++] = (char)tolower((unsigned char)**p);
		(*p)++;
	}
	word[n] = '\0';
	return n > 0;
}

static bool has_word(const char *name, const char *wanted)
{
	char word[32];
	while (next_word(&name, word))
		if (strcmp(word, wanted) == 0)
			return true;
	return false;
}

const struct native_option *native_option_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const char *p = options[i].words;
		char word[32];
		bool all = true;
		while (all && next_word(&p, word))
			all = has_word(name, word);
		if (all)
			return &options[i];
	}
	return NULL;
}

bool native_value_is_algorithm(const char *value)
{
	static const char *const names[] = {"sgd", "adam", "adamw", "lion", "adagrad", "adafactor", "rmsprop",
		"muon", "lamb", "momentum", "mse", "mae", "l1", "l2", "huber", "bce", "ce", "hinge", "kl",
		"relu", "gelu", "silu", "swiglu", "tanh", "cosine", "mha", "mqa", "gqa", "causal", "sliding",
		"xavier", "kaiming"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(value, names[i]) == 0)
			return true;
	return false;
}

static const struct native_build builds[] = {
	{"cc_opt_level", "opt_level", {"-O"},
		{"OPT", "OPTLEVEL", "OPT_LEVEL", "OPTIMIZE", "OPTIMIZATION", "O"}, {"-O2", "-O3"}, true,
		ALL_WORK},
	{"cc_march_native", "arch", {"-march=", "-mcpu=", "-mtune=", "-mavx"},
		{"ARCH", "MARCH", "NATIVE", "ARCHFLAGS", "ARCH_FLAGS", "SIMD"}, {"", "-march=native"}, false,
		ALL_WORK, "the program then runs on processors like this one only"},
	{"cc_fast_math", "fast_math", {"-ffast-math", "-Ofast", "-funsafe-math", "-fassociative-math"},
		{"FAST", "FASTMATH", "FAST_MATH", "MATH"}, {"", "-ffast-math"}, false, ALL_WORK,
		"with it the job's own checks for NaN stop working"},
	{"cc_lto", "lto", {"-flto"}, {"LTO", "USE_LTO", "ENABLE_LTO"}, {"", "-flto"}, false, ALL_WORK},
	{"blas_backend", "blas", {"-lopenblas", "-lblas", "-lmkl", "-lblis", "-lcblas"}, {"BLAS", "USE_BLAS"},
		{NULL}, false, COMPUTE},
	{"tile_size", "tile", {"-DTILE", "-DBLOCK", "-DUNROLL"}, {NULL}, {NULL}, false, COMPUTE},
};

const struct native_build *native_build_find_flag(const char *flag)
{
	/* -Ofast is -O3 with fast-math: the mathematics is what matters about it. */
	if (strcmp(flag, "-Ofast") == 0)
		flag = "-ffast-math";
	for (size_t i = 0; i < ARRAY_LEN(builds); i++)
		for (size_t k = 0; k < ARRAY_LEN(builds[i].markers) && builds[i].markers[k]; k++)
			if (strncmp(flag, builds[i].markers[k], strlen(builds[i].markers[k])) == 0)
				return &builds[i];
	return NULL;
}

const struct native_build *native_build_find_variable(const char *variable)
{
	for (size_t i = 0; i < ARRAY_LEN(builds); i++)
		for (size_t k = 0; k < ARRAY_LEN(builds[i].variables) && builds[i].variables[k]; k++)
			if (strcmp(variable, builds[i].variables[k]) == 0)
				return &builds[i];
	return NULL;
}

/* What libgomp does when the variable is not set: threads are not bound; places are hardware threads once
 * they are; schedule(runtime) means dynamic with chunk 1 (GCC manual, "OpenMP Environment Variables").
 * OMP_WAIT_POLICY is left out: no value of it reproduces the unset behaviour, which spins for a while and
 * then sleeps. */
static const struct native_env environment[] = {
	{"OMP_PROC_BIND", "bind", {"false", "close", "spread"}, "omp_proc_bind", COMPUTE, false},
	{"OMP_PLACES", "places", {"threads", "cores"}, "omp_proc_bind", COMPUTE, false},
	{"OMP_SCHEDULE", "schedule", {"dynamic", "static", "guided"}, "omp_schedule", COMPUTE, true},
};

const struct native_env *native_env_table(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(environment);
	return environment;
}

/* Contrasts of data/mechanisms.yaml whose hardware class is cpu or any and whose scope is the whole step.
 * They are given at face value: the search shrinks every prediction itself. `from` and `to` are words any of
 * which may occur in the job's spelling, separated by '|'; a star matches everything. */
static const struct contrast {
	const char *mechanism, *from, *to;
	double log_speedup;
	const char *source;
} contrasts[] = {
	{"activation_recompute", "full", "off|none|no", 0.2624,
		"Megatron-LM and Megatron-Bridge performance guides"},
	{"activation_recompute", "off|none|no", "full", -0.2624,
		"Megatron-LM and Megatron-Bridge performance guides"},
	{"blas_backend", "textbook|naive|loop|loops|plain|reference|simple", "blas|openblas|cblas|mkl|blis",
		0.9674, "karpathy/llm.c PR#840"},
	{"blas_backend", "textbook|naive|loop|loops|plain|reference|simple", "blocked|tiled", 0.3219,
		"karpathy/llm.c PR#411"},
	{"fused_optimizer", "loop|plain|naive|simple", "fused", 0.1175, "pytorch/pytorch#71274"},
	{"fused_optimizer", "foreach", "fused", 0.0369, "PrimeIntellect-ai/prime-rl#3305"},
	{"moe_grouped_gemm", "token|loop|naive", "grouped|group", 0.6774, "OpenSparseLLMs/Linear-MoE PR#6"},
	{"cc_march_native", "*", "native", 0.331, "karpathy/llm.c PR#142"},
};

static bool has_any_word(const char *spelling, const char *words)
{
	char word[32];
	if (strcmp(words, "*") == 0)
		return true;
	while (next_word(&words, word))
		if (has_word(spelling, word))
			return true;
	return false;
}

bool native_prior(
	const char *mechanism, const char *from, const char *to, double *ret_ln, const char **ret_source)
{
	for (size_t i = 0; i < ARRAY_LEN(contrasts); i++) {
		const struct contrast *c = &contrasts[i];
		if (strcmp(c->mechanism, mechanism) != 0 || !has_any_word(from, c->from) ||
			!has_any_word(to, c->to))
			continue;
		if (strcmp(c->from, "*") == 0 && has_any_word(from, c->to))
			continue; /* already there */
		*ret_ln = c->log_speedup;
		*ret_source = c->source;
		return true;
	}
	return false;
}
