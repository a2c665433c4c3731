c#include "options.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const recompute_names[] = {"full", "attention", "off", NULL};
static const char *const loss_names[] = {"full", "chunked", NULL};
static const char *const storage_names[] = {"fp32", "bf16", NULL};

static const struct option {
	const char *flag;
	size_t offset;
	const char *const *names;
	int low, high;
} options[] = {
	{"--micro-batch", offsetof(struct settings, micro_batch), NULL, 1, 4},
	{"--grad-accum", offsetof(struct settings, grad_accum), NULL, 1, 64},
	{"--seq-len", offsetof(struct settings, seq_len), NULL, 8, 4096},
	{"--steps", offsetof(struct settings, steps), NULL, 1, 1000000},
	{"--memory-mib", offsetof(struct settings, memory_mib), NULL, 1, 65536},
	{"--recompute", offsetof(struct settings, recompute), recompute_names, 0, 0},
	{"--loss", offsetof(struct settings, loss), loss_names, 0, 0},
	{"--storage", offsetof(struct settings, storage), storage_names, 0, 0},
	/* {"--commented-out", offsetof(struct settings, loss), loss_names, 0, 0}, */
};

static void parse_one(struct settings *settings, const char *flag, const char *value)
{
	if (!strcmp(flag, "--seed"))
		settings->seed = atoi(value);
	else if (!strcmp(flag, "--matmul"))
		settings->kernel = kernel_find(value);
}

struct settings options_parse(int argc, char **argv)
{
	struct settings settings = {
		.micro_batch = 2,
		.grad_accum = 6,
		.seq_len = default_config.seq_len,
		.steps = 100,
		.memory_mib = 48,
		.loss = LOSS_CHUNKED,
		.kernel = kernel_find("plain"),
	};
	for (int i = 1; i < argc; i += 2)
		parse_one(&settings, argv[i], argv[i + 1]);
	return settings;
}
