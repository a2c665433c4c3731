#include "options.h"

#include "config.h"
#include "matmul.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const recompute_names[] = {"full", "attention", "off", NULL};
static const char *const attention_names[] = {"materialised", "tiled", NULL};
static const char *const loss_names[] = {"full", "chunked", NULL};
static const char *const optimizer_names[] = {"plain", "fused", NULL};
static const char *const dispatch_names[] = {"token", "grouped", NULL};
static const char *const storage_names[] = {"fp32", "bf16", NULL};

/* names is NULL for a number; the values of an enum follow the order of its names. */
static const struct option {
	const char *flag;
	size_t offset;
	const char *const *names;
	int low, high;
	const char *help;
} options[] = {
	{"--micro-batch", offsetof(struct settings, micro_batch), NULL, 1, 4096, "rows per forward and backward pass"},
	{"--grad-accum", offsetof(struct settings, grad_accum), NULL, 1, 4096, "micro-batches per update"},
	{"--global-batch", offsetof(struct settings, global_batch), NULL, 1, 4096, "rows per update (contract)"},
	{"--seq-len", offsetof(struct settings, seq_len), NULL, 8, 4096, "tokens per row (contract)"},
	{"--steps", offsetof(struct settings, steps), NULL, 1, 1000000, "updates (contract: sets the schedule)"},
	{"--capacity-mib", offsetof(struct settings, capacity_mib), NULL, 1, 65536, "device memory (contract)"},
	{"--recompute", offsetof(struct settings, recompute), recompute_names, 0, 0, "activations made twice, not kept"},
	{"--attention", offsetof(struct settings, attention), attention_names, 0, 0, "score matrix, or tiles of it"},
	{"--loss", offsetof(struct settings, loss), loss_names, 0, 0, "all logits at once, or in chunks of tokens"},
	{"--optimizer", offsetof(struct settings, optimizer), optimizer_names, 0, 0, "AdamW in passes, or in one"},
	{"--moe-dispatch", offsetof(struct settings, dispatch), dispatch_names, 0, 0, "experts by token, or by group"},
	{"--storage", offsetof(struct settings, storage), storage_names, 0, 0, "of parameters and activations"},
};

#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void reject(const char *flag, const char *value, const char *expected)
{
	fprintf(stderr, "error: %s %s: expected %s\n", flag, value ? value : "(nothing)", expected);
	exit(2);
}

static long long parse_number(const char *flag, const char *value, long long low, long long high)
{
	long long number;
	char *end, expected[64];

	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno || end == value || *end || number < low || number > high) {
		snprintf(expected, sizeof(expected), "a whole number from %lld to %lld", low, high);
		reject(flag, value, expected);
	}
	return number;
}

static void join_names(const char *const *names, char *ret_text, size_t size)
{
	size_t used = 0;
	int i;

	for (i = 0; names[i] && used < size; i++)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s", i ? "|" : "", names[i]);
}

static int parse_name(const char *flag, const char *value, const char *const *names)
{
	char expected[64];
	int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], value))
			return i;
	join_names(names, expected, sizeof(expected));
	reject(flag, value, expected);
	return -1;
}

static void matmul_names(char *ret_text, size_t size)
{
	const char *names[8] = {NULL};
	int i;

	for (i = 0; i < 7 && matmul_table[i].name; i++)
		names[i] = matmul_table[i].name;
	join_names(names, ret_text, size);
}

static void print_help(void)
{
	char values[64];
	size_t i;

	printf("usage: train [flags]\n\n");
	for (i = 0; i < OPTION_COUNT; i++) {
		if (options[i].names)
			join_names(options[i].names, values, sizeof(values));
		else
			strcpy(values, "N");
		printf("  %-16s %-20s %s\n", options[i].flag, values, options[i].help);
	}
	matmul_names(values, sizeof(values));
	printf("  %-16s %-20s %s\n", "--matmul", values, "kernel for dense products");
	printf("  %-16s %-20s %s\n", "--seed", "N", "of parameters and corpus (contract)");
	printf("\nThreads and binding: OMP_NUM_THREADS, OMP_PROC_BIND, OMP_PLACES.\n"
	       "Exit status: 0 trained, 1 failed, 2 bad flags, 3 out of device memory.\n");
	exit(0);
}

static void parse_one(struct settings *settings, const char *flag, const char *value)
{
	char expected[64];
	size_t i;

	if (!value)
		reject(flag, NULL, "a value");
	if (!strcmp(flag, "--seed")) {
		settings->seed = (uint64_t)parse_number(flag, value, 0, 1LL << 53);
		return;
	}
	if (!strcmp(flag, "--matmul")) {
		settings->matmul = matmul_find(value);
		matmul_names(expected, sizeof(expected));
		if (!settings->matmul)
			reject(flag, value, expected);
		return;
	}
	for (i = 0; i < OPTION_COUNT; i++) {
		const struct option *option = &options[i];
		int number;

		if (strcmp(option->flag, flag))
			continue;
		number = option->names ? parse_name(flag, value, option->names)
				       : (int)parse_number(flag, value, option->low, option->high);
		memcpy((char *)settings + option->offset, &number, sizeof(number));
		return;
	}
	reject(flag, value, "a known flag; see --help");
}

static void check_together(const struct settings *settings)
{
	if (settings->seq_len % settings->matmul->row_multiple != 0) {
		fprintf(stderr, "error: --matmul %s needs --seq-len to be a multiple of %d, not %d\n",
			settings->matmul->name, settings->matmul->row_multiple, settings->seq_len);
		exit(2);
	}
	if (settings->micro_batch * settings->grad_accum == settings->global_batch)
		return;
	fprintf(stderr, "error: --micro-batch %d * --grad-accum %d is %d rows, but --global-batch is %d\n",
		settings->micro_batch, settings->grad_accum, settings->micro_batch * settings->grad_accum,
		settings->global_batch);
	exit(2);
}

struct settings options_parse(int argc, char **argv)
{
	struct settings settings = {
		.micro_batch = 1,
		.grad_accum = 8,
		.global_batch = 8,
		.seq_len = default_config.seq_len,
		.steps = 30,
		.capacity_mib = 13,
		.seed = 1234,
		.matmul = matmul_find("textbook"),
	};
	int i;

	_Static_assert(sizeof(enum recompute_kind) == sizeof(int), "the table writes enums as int");
	for (i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "--help"))
			print_help();
		parse_one(&settings, argv[i], argv[i + 1]);
	}
	check_together(&settings);
	return settings;
}
