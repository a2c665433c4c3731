/*
 * What the options of Python training programs mean by their names. A name counts only as a whole: in Python
 * programs a word in common (logging_steps, diffusion_steps, val_batch) says nothing.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "init/init_int.h"
#include "mech/native.h"

#define COMPUTE "forward,backward"

static const struct {
	const char *names[20];
	struct native_option row;
} rows[] = {
	{{"max_steps", "steps", "num_steps", "n_steps", "train_steps", "max_train_steps", "total_steps",
		 "train_iters", "max_iters", "num_iters", "iters", "iterations", "num_iterations", "updates",
		 "max_updates", "num_updates"},
		{"updates", NATIVE_UPDATES, NULL, NULL}},
	{{"seq_len", "seqlen", "seq_length", "sequence_length", "max_seq_len", "max_seq_length", "block_size",
		 "context_length", "ctx_len"},
		{"seq_len", NATIVE_SEQ_LEN, NULL, NULL}},
	{{"micro_batch", "micro_batch_size", "microbatch", "microbatch_size", "mbs", "device_batch",
		 "device_batch_size", "per_device_batch_size", "per_device_train_batch_size",
		 "per_gpu_batch_size", "per_gpu_train_batch_size", "train_micro_batch_size",
		 "train_micro_batch_size_per_gpu"},
		{"micro_batch", NATIVE_MICRO_BATCH, "micro_batch_size", COMPUTE}},
	{{"grad_accum", "grad_accum_steps", "grad_accumulation", "grad_accumulation_steps",
		 "gradient_accumulation", "gradient_accumulation_steps", "accum", "accum_steps",
		 "accumulate_steps", "accumulation_steps", "accumulate_grad_batches", "grad_acc_steps"},
		{"grad_accum", NATIVE_GRAD_ACCUM, "grad_accum_steps", COMPUTE}},
	{{"global_batch", "global_batch_size", "total_batch_size", "effective_batch_size", "gbs"},
		{"global_batch", NATIVE_GLOBAL_BATCH, NULL, NULL}},
	{{"batch_size", "batch", "bs", "train_batch_size"}, {"batch", NATIVE_BATCH, NULL, NULL}},
	{{"compile", "torch_compile"}, {"compile", NATIVE_LEVER, "torch_compile", COMPUTE}},
	{{"gradient_checkpointing", "activation_checkpointing", "grad_checkpoint", "grad_checkpointing",
		 "activation_recompute", "recompute"},
		{"recompute", NATIVE_LEVER, "activation_recompute", COMPUTE}},
	{{"attention", "attn", "attn_impl", "attention_impl", "attention_backend", "attn_backend",
		 "attn_implementation"},
		{"attention", NATIVE_LEVER, "attention_backend", COMPUTE}},
	{{"num_workers", "workers", "dataloader_num_workers", "data_workers"},
		{"workers", NATIVE_LEVER, "dataloader_workers", "data"}},
	{{"prefetch_factor", "dataloader_prefetch_factor"},
		{"prefetch", NATIVE_UNKNOWN, "dataloader_prefetch", "data"}},
	{{"dtype", "precision", "mixed_precision", "torch_dtype", "compute_dtype", "amp_dtype"},
		{"dtype", NATIVE_NUMERICS, "compute_dtype", COMPUTE}},
};

static bool is_name(const char *flag, const char *name)
{
	flag += strspn(flag, "-");
	for (; *flag && *name; flag++, name++)
		if ((*flag == '-' ? '_' : tolower((unsigned char)*flag)) != *name)
			return false;
	return *flag == *name;
}

const struct native_option *python_option_find(const char *flag)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t k = 0; k < ARRAY_LEN(rows[i].names) && rows[i].names[k]; k++)
			if (is_name(flag, rows[i].names[k]))
				return &rows[i].row;
	return NULL;
}

/* Implementations of the same attention, and the two words of a switch: what may vary without a question. */
bool python_value_is_harmless(const struct native_option *row, const char *value)
{
	static const struct {
		const char *mechanism, *values[16];
	} known[] = {
		{"attention_backend",
			{"eager", "naive", "math", "manual", "sdpa", "flash", "flash2", "flash_attn",
				"flash_attention_2", "mem_efficient", "xformers", "fa2", "fa3", "torch"}},
		{"torch_compile", {"True", "False", "true", "false"}},
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].mechanism, row->mechanism) != 0)
			continue;
		for (size_t k = 0; known[i].values[k]; k++)
			if (strcmp(known[i].values[k], value) == 0)
				return true;
		return false;
	}
	return !native_value_is_algorithm(value);
}

bool python_is_option_word(const char *word)
{
	double number;
	return word[0] == '-' && word[1] && !parse_number(word, &number);
}

/* TOKENIZERS_PARALLELISM is no secret. */
bool python_is_secret_name(const char *name)
{
	static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (const char *at = name; (at = strcasestr(at, words[i])) != NULL; at++)
			if (strncasecmp(at, "TOKENIZER", strlen("TOKENIZER")) != 0)
				return true;
	return false;
}
