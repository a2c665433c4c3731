/* The names of values in step lines of loops of one's own. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "adapter/ascii_int.h"
#include "adapter/key_value_int.h"

enum { KEY_MAX = 32, HEAD_SIZE = sizeof(uint64_t) };

/* By their length: most words of a line are none of them, which few comparisons tell. */
static const struct known_key keys_of_2[] = {
	{"dt", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"lr", KEY_LR, UNIT_NONE, NULL},
};
static const struct known_key keys_of_3[] = {
	{"mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"mfu", KEY_MFU_PERCENT, UNIT_NONE, NULL},
	{"tps", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_4[] = {
	{"iter", KEY_STEP, UNIT_NONE, NULL},
	{"loss", KEY_LOSS, UNIT_NONE, NULL},
	{"norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"step", KEY_STEP, UNIT_NONE, NULL},
	{"time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_5[] = {
	{"dt_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"gnorm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"tok/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_6[] = {
	{"mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"mem_mb", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"tokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"toks/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"update", KEY_STEP, UNIT_NONE, NULL},
};
static const struct known_key keys_of_7[] = {
	{"gpu_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"lm_loss", KEY_LOSS, UNIT_NONE, NULL},
	{"max_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"mem_gib", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"mem_mib", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"ntokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"step_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"tok/sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_8[] = {
	{"gradnorm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"peak_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"tokens/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_9[] = {
	{"grad_norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"iter_time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"iteration", KEY_STEP, UNIT_NONE, NULL},
	{"memory_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"samples/s", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"step_time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_10[] = {
	{"max_mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"max_memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"num_tokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"tokens/sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_11[] = {
	{"global_step", KEY_STEP, UNIT_NONE, NULL},
	{"num_updates", KEY_STEP, UNIT_NONE, NULL},
	{"peak_mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"peak_mem_mb", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"peak_memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"samples/sec", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"step_time_s", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"tok_per_sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens_seen", KEY_TOKENS_SEEN, UNIT_NONE, NULL},
};
static const struct known_key keys_of_12[] = {
	{"iter_time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"mem_reserved", KEY_MEM_BYTES, UNIT_NONE, "reserved"},
	{"peak_mem_gib", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"peak_mem_mib", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"step_time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"tokens_per_s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"total_tokens", KEY_TOKENS_SEEN, UNIT_NONE, NULL},
};
static const struct known_key keys_of_13[] = {
	{"gradient_norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"learning_rate", KEY_LR, UNIT_NONE, NULL},
	{"mem_allocated", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"time_per_step", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"training_loss", KEY_LOSS, UNIT_NONE, NULL},
};
static const struct known_key keys_of_14[] = {
	{"peak_memory_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"tokens_per_sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_15[] = {
	{"samples_per_sec", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"tokens_per_step", KEY_TOKENS, UNIT_NONE, NULL},
};
static const struct known_key keys_of_17[] = {
	{"tokens_per_second", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_18[] = {
	{"samples_per_second", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
};
static const struct known_key keys_of_19[] = {
	{"max_memory_reserved", KEY_MEM_BYTES, UNIT_NONE, "reserved"},
};
static const struct known_key keys_of_20[] = {
	{"max_memory_allocated", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
};
static const struct {
	const struct known_key *rows;
	size_t count;
} keys[KEY_SIZE] = {
	[2] = {keys_of_2, ARRAY_LEN(keys_of_2)},
	[3] = {keys_of_3, ARRAY_LEN(keys_of_3)},
	[4] = {keys_of_4, ARRAY_LEN(keys_of_4)},
	[5] = {keys_of_5, ARRAY_LEN(keys_of_5)},
	[6] = {keys_of_6, ARRAY_LEN(keys_of_6)},
	[7] = {keys_of_7, ARRAY_LEN(keys_of_7)},
	[8] = {keys_of_8, ARRAY_LEN(keys_of_8)},
	[9] = {keys_of_9, ARRAY_LEN(keys_of_9)},
	[10] = {keys_of_10, ARRAY_LEN(keys_of_10)},
	[11] = {keys_of_11, ARRAY_LEN(keys_of_11)},
	[12] = {keys_of_12, ARRAY_LEN(keys_of_12)},
	[13] = {keys_of_13, ARRAY_LEN(keys_of_13)},
	[14] = {keys_of_14, ARRAY_LEN(keys_of_14)},
	[15] = {keys_of_15, ARRAY_LEN(keys_of_15)},
	[17] = {keys_of_17, ARRAY_LEN(keys_of_17)},
	[18] = {keys_of_18, ARRAY_LEN(keys_of_18)},
	[19] = {keys_of_19, ARRAY_LEN(keys_of_19)},
	[20] = {keys_of_20, ARRAY_LEN(keys_of_20)},
};

/* Of a word before a name that says nothing about it: "INFO step: 1", "train loss 2.1". */
static const char *const neutral_words[] = {"info", "debug", "train", "training", "root", "main", "rank",
	"log", "current", "at", "trainer", NULL};
static const char *const evaluation_words[] = {
	"val", "eval", "valid", "validation", "test", "evaluation", NULL};

static bool is_one_of(struct word w, const char *const *words)
{
	char first = to_lower(*w.text);
	for (; *words; words++)
		if (**words == first && strlen(*words) == w.length &&
			strncasecmp(w.text, *words, w.length) == 0)
			return true;
	return false;
}

bool is_evaluation_word(struct word w)
{
	return is_one_of(w, evaluation_words);
}

/* The first bytes of a text that has as many. */
static uint64_t head_of(const char *text)
{
	uint64_t head;
	memcpy(&head, text, sizeof(head));
	return head;
}

/* name: padded with NUL to HEAD_SIZE at least. */
static const struct known_key *key_named(const char *name, size_t length)
{
	if (length >= KEY_SIZE)
		return NULL;
	uint64_t head = head_of(name);
	for (size_t i = 0; i < keys[length].count; i++) {
		const struct known_key *row = &keys[length].rows[i];
		if (head_of(row->key) == head && (length <= HEAD_SIZE || memcmp(row->key, name, length) == 0))
			return row;
	}
	return NULL;
}

static const struct known_key *find_key(struct word before, struct word w)
{
	char name[KEY_MAX + HEAD_SIZE] = {0};
	static const char phase[] = "train/", loss[] = "train_loss";
	size_t n = 0, phase_length = sizeof(phase) - 1;
	if (before.length + w.length + 1 > KEY_MAX)
		return NULL;
	for (size_t i = 0; i < before.length; i++)
		name[n++] = to_lower(before.text[i]);
	if (before.length)
		name[n++] = '_';
	for (size_t i = 0; i < w.length; i++)
		name[n++] = w.text[i] == '-' ? '_' : to_lower(w.text[i]);
	/* "train_time" is the whole training's in loops that have a step's time, too. */
	bool train = *name == 't' && (memcmp(name, phase, phase_length) == 0 || strcmp(name, loss) == 0);
	return train ? key_named(name + phase_length, n - phase_length) : key_named(name, n);
}

/* As most are written: nothing to fold. */
static const struct known_key *key_as_written(struct word w)
{
	if (w.length >= KEY_SIZE)
		return NULL;
	for (size_t i = 0; i < keys[w.length].count; i++) {
		const struct known_key *row = &keys[w.length].rows[i];
		size_t n = 0;
		while (n < w.length && row->key[n] == w.text[n])
			n++;
		if (n == w.length)
			return row;
	}
	return NULL;
}

/* Whether find_key() would look for anything else than the word as it is written. */
static bool can_be_folded(struct word w)
{
	for (size_t i = 0; i < w.length; i++)
		if ((w.text[i] >= 'A' && w.text[i] <= 'Z') || w.text[i] == '-')
			return true;
	return *w.text == 't'; /* train/loss */
}

const struct known_key *key_of(struct word before, struct word w, bool equals)
{
	struct word none = {"", 0};
	if (before.length && !equals) {
		const struct known_key *both = find_key(before, w);
		if (both || !is_one_of(before, neutral_words))
			return both;
	}
	const struct known_key *key = key_as_written(w);
	return key || !can_be_folded(w) ? key : find_key(none, w);
}
