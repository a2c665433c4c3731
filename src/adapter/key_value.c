#include "base/base.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "adapter/key_value_int.h"

enum {
	KEY_SIZE = 24, /* of the longest known */
	KEY_MAX = 40,
};

enum unit_kind { UNIT_NONE, UNIT_MILLI, UNIT_MEGA, UNIT_GIGA };

/* Lower case, with _ for blanks and dashes; "train/" before a name is taken off, "train_" before the loss. In
 * the order of strcmp(). */
static const struct {
	char key[KEY_SIZE];
	enum key_value_slot slot;
	enum unit_kind unit; /* that the name says */
	const char *mem_kind;
} keys[] = {
	{"dt", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"dt_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"global_step", KEY_STEP, UNIT_NONE, NULL},
	{"gnorm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"gpu_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"grad_norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"gradient_norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"gradnorm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"iter", KEY_STEP, UNIT_NONE, NULL},
	{"iter_time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"iter_time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"iteration", KEY_STEP, UNIT_NONE, NULL},
	{"learning_rate", KEY_LR, UNIT_NONE, NULL},
	{"lm_loss", KEY_LOSS, UNIT_NONE, NULL},
	{"loss", KEY_LOSS, UNIT_NONE, NULL},
	{"lr", KEY_LR, UNIT_NONE, NULL},
	{"max_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"max_mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"max_memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"max_memory_allocated", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"max_memory_reserved", KEY_MEM_BYTES, UNIT_NONE, "reserved"},
	{"mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"mem_allocated", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"mem_gib", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"mem_mb", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"mem_mib", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"mem_reserved", KEY_MEM_BYTES, UNIT_NONE, "reserved"},
	{"memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"memory_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"mfu", KEY_MFU_PERCENT, UNIT_NONE, NULL},
	{"norm", KEY_GRAD_NORM, UNIT_NONE, NULL},
	{"ntokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"num_tokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"num_updates", KEY_STEP, UNIT_NONE, NULL},
	{"peak_mem", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"peak_mem_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"peak_mem_gib", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"peak_mem_mb", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"peak_mem_mib", KEY_MEM_BYTES, UNIT_MEGA, "allocated"},
	{"peak_memory", KEY_MEM_BYTES, UNIT_NONE, "allocated"},
	{"peak_memory_gb", KEY_MEM_BYTES, UNIT_GIGA, "allocated"},
	{"samples/s", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"samples/sec", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"samples_per_sec", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"samples_per_second", KEY_SAMPLES_PER_S, UNIT_NONE, NULL},
	{"step", KEY_STEP, UNIT_NONE, NULL},
	{"step_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"step_time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"step_time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"step_time_s", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"time", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"time_ms", KEY_STEP_TIME_S, UNIT_MILLI, NULL},
	{"time_per_step", KEY_STEP_TIME_S, UNIT_NONE, NULL},
	{"tok/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tok/sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tok_per_sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens", KEY_TOKENS, UNIT_NONE, NULL},
	{"tokens/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens/sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens_per_s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens_per_sec", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens_per_second", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"tokens_per_step", KEY_TOKENS, UNIT_NONE, NULL},
	{"tokens_seen", KEY_TOKENS_SEEN, UNIT_NONE, NULL},
	{"toks/s", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"total_tokens", KEY_TOKENS_SEEN, UNIT_NONE, NULL},
	{"tps", KEY_TOKENS_PER_S, UNIT_NONE, NULL},
	{"training_loss", KEY_LOSS, UNIT_NONE, NULL},
	{"update", KEY_STEP, UNIT_NONE, NULL},
};

/* Of a word before a name that says nothing about it: "INFO step: 1", "train loss 2.1". */
static const char *const neutral_words[] = {"info", "debug", "train", "training", "root", "main", "rank",
	"log", "current", "at", "trainer", NULL};
static const char *const evaluation_words[] = {
	"val", "eval", "valid", "validation", "test", "evaluation", NULL};

struct word {
	const char *text;
	size_t length;
};

enum {
	CLASS_LETTER = 1,
	CLASS_WORD = 2,   /* letters, digits, underscore */
	CLASS_NUMBER = 4, /* a number can begin with it */
	CLASS_END = 8,    /* it can stand directly behind a number */
};
static const uint8_t classes[256] = {
	['A' ... 'H'] = CLASS_LETTER | CLASS_WORD,
	['J' ... 'M'] = CLASS_LETTER | CLASS_WORD,
	['O' ... 'Z'] = CLASS_LETTER | CLASS_WORD,
	['a' ... 'h'] = CLASS_LETTER | CLASS_WORD,
	['k' ... 'm'] = CLASS_LETTER | CLASS_WORD,
	['o' ... 's'] = CLASS_LETTER | CLASS_WORD,
	['u' ... 'z'] = CLASS_LETTER | CLASS_WORD,
	['0' ... '9'] = CLASS_WORD | CLASS_NUMBER,
	['_'] = CLASS_WORD,
	/* nan, inf, tensor(, jnp., np., numpy. */
	['I'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['N'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['i'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['j'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['n'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['t'] = CLASS_LETTER | CLASS_WORD | CLASS_NUMBER,
	['+'] = CLASS_NUMBER,
	['-'] = CLASS_NUMBER,
	['.'] = CLASS_NUMBER,
	['\0'] = CLASS_END,
	[' '] = CLASS_END,
	['\t'] = CLASS_END,
	[','] = CLASS_END,
	[';'] = CLASS_END,
	['|'] = CLASS_END,
	[')'] = CLASS_END,
	[']'] = CLASS_END,
	['}'] = CLASS_END,
	['%'] = CLASS_END,
	['!'] = CLASS_END,
	['?'] = CLASS_END,
	['"'] = CLASS_END,
	['\''] = CLASS_END,
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_one_of(struct word w, const char *const *words)
{
	for (; *words; words++)
		if (**words == lower(*w.text) && strlen(*words) == w.length &&
			strncasecmp(w.text, *words, w.length) == 0)
			return true;
	return false;
}

/* The first eight bytes, in the order of strcmp(); behind the end there must be as many. */
static uint64_t head_of(const char *key)
{
	uint64_t head;
	memcpy(&head, key, sizeof(head));
	return be64toh(head);
}

static int find_key(struct word before, struct word w)
{
	char name[KEY_MAX + 1] = {0};
	size_t n = 0;
	if (before.length + w.length + 1 > KEY_MAX - sizeof(uint64_t))
		return -1;
	for (size_t i = 0; i < before.length; i++)
		name[n++] = lower(before.text[i]);
	if (before.length)
		name[n++] = '_';
	for (size_t i = 0; i < w.length; i++)
		name[n++] = w.text[i] == '-' ? '_' : lower(w.text[i]);
	/* "train_time" is the whole training's in loops that have a step's time, too. */
	bool train = *name == 't' && (strncmp(name, "train/", 6) == 0 || strcmp(name, "train_loss") == 0);
	const char *start = train ? name + 6 : name;
	uint64_t head = head_of(start);
	size_t low = 0, high = ARRAY_LEN(keys);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		uint64_t other = head_of(keys[middle].key);
		bool below = other < head || (other == head && strcmp(keys[middle].key, start) <= 0);
		low = below ? middle : low;
		high = below ? high : middle;
	}
	return strcmp(keys[low].key, start) == 0 ? (int)low : -1;
}

/* Which key the word is; before: the word directly before it. -1 = none. */
static int key_of(struct word before, struct word w, bool equals)
{
	struct word none = {"", 0};
	if (!before.length || equals)
		return find_key(none, w);
	int both = find_key(before, w);
	if (both >= 0)
		return both;
	return is_one_of(before, neutral_words) ? find_key(none, w) : -1;
}

static bool is_letter(char c)
{
	return classes[(unsigned char)c] & CLASS_LETTER;
}

static bool is_word_byte(char c)
{
	return classes[(unsigned char)c] & CLASS_WORD;
}

/* The word goes on what stands before it: "epoch=1-step". */
static bool is_joined(const char *text, const char *word)
{
	return word - text >= 2 && word[-1] == '-' && is_word_byte(word[-2]);
}

/* A name from p on: letters first, then also digits, and dashes, slashes and dots inside. */
static struct word take_word(const char *p)
{
	const char *end = p;
	while (is_word_byte(*end) ||
		((*end == '/' || *end == '-' || *end == '.') && end > p && is_letter(end[1])))
		end++;
	return (struct word){p, (size_t)(end - p)};
}

/* ---- units and what may follow a number ---- */

/* "(ms)" or "(s)" between a name and its value. */
static const char *take_unit_in_brackets(const char *p, enum unit_kind *unit)
{
	if (*p != '(')
		return p;
	if (strncmp(p, "(ms)", 4) == 0) {
		*unit = UNIT_MILLI;
		return p + 4;
	}
	return strncmp(p, "(s)", 3) == 0 ? p + 3 : p;
}

static bool unit_is(const char *p, const char *unit)
{
	size_t n = strlen(unit);
	return *p == *unit && strncmp(p, unit, n) == 0 && !is_word_byte(p[n]);
}

/* True when what stands directly behind a number belongs to it or ends it. */
static bool can_follow(const char *p)
{
	static const char *const units[] = {"s", "ms", "us", "sec", "secs", "x", "K", "M", "B", "k", "G", "T",
		"GB", "GiB", "MB", "MiB", "KB", "KiB", "it", "tok", "tokens", "m", "h"};
	if (classes[(unsigned char)*p] & CLASS_END)
		return true;
	if (*p == '/')
		return isdigit((unsigned char)p[1]) || p[1] == 's' || p[1] == ' ';
	if (*p == '.' || *p == ':' || *p == '-' || *p == '(')
		return !is_word_byte(p[1]) || *p == '(';
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (unit_is(p, units[i]))
			return true;
	return false;
}

static double time_value(const char *p, double value, enum unit_kind unit, const char *behind)
{
	if (unit == UNIT_MILLI || unit_is(behind, "ms"))
		read_number_scaled(p, -3, &value);
	else if (unit_is(behind, "us"))
		read_number_scaled(p, -6, &value);
	return value;
}

static struct opt_number memory_value(const char *p, double value, enum unit_kind unit)
{
	struct opt_number bytes = {true, value * (unit == UNIT_GIGA ? 1073741824.0 : 1048576.0)};
	if (unit == UNIT_NONE)
		bytes.has = read_memory(p, true, &bytes.value) > 0;
	return bytes;
}

/* A number with its place in the text. */
struct read_value {
	const char *text;
	size_t length;
	double value;
};

static struct opt_number take_value(
	const struct read_value *number, enum key_value_slot slot, enum unit_kind unit, const char **ret_end)
{
	struct opt_number value = {true, number->value};
	const char *p = number->text, *behind = p + number->length;
	*ret_end = behind;
	while (*behind == ' ')
		behind++;
	if (slot == KEY_STEP_TIME_S)
		value.value = time_value(p, value.value, unit, behind);
	else if (slot == KEY_MEM_BYTES)
		value = memory_value(p, value.value, unit);
	else if (slot == KEY_TOKENS_PER_S || slot == KEY_TOKENS_SEEN || slot == KEY_TOKENS)
		*ret_end = p + read_scaled(p, &value.value);
	else if (slot == KEY_MFU_PERCENT)
		value.has = *behind == '%' && value.value >= 0.0;
	return value;
}

/* ---- the line ---- */

static const char *store(struct key_value_line *line, int key, enum unit_kind unit,
	const struct read_value *number, bool assigned)
{
	enum key_value_slot slot = keys[key].slot;
	const char *end;
	unit = unit == UNIT_NONE ? keys[key].unit : unit;
	struct opt_number value = take_value(number, slot, unit, &end);
	/* "step=100-loss=2.31.pt" is the name of a file. */
	if (*end == '-' && is_letter(end[1]))
		return end;
	if (!can_follow(end))
		line->torn = true;
	if (line->known & 1u << slot) {
		line->torn |= slot == KEY_STEP && line->values[KEY_STEP].value != value.value;
		return end;
	}
	line->known |= 1u << slot;
	line->n_known++;
	line->n_assigned += assigned;
	line->values[slot] = value;
	if (slot == KEY_MEM_BYTES && value.has)
		line->mem_kind = keys[key].mem_kind;
	return end;
}

/* Most words are followed by none: a look at the first byte saves the trouble. */
static bool may_be_number(const char *p)
{
	return classes[(unsigned char)*p] & CLASS_NUMBER;
}

/* Behind the word: its separator and value, where it has them. Returns where to go on. */
static const char *take_pair(struct key_value_line *line, struct word before, struct word w)
{
	const char *behind = w.text + w.length, *p = behind;
	enum unit_kind unit = UNIT_NONE;
	p += (*p == '"' || *p == '\'') && p[1] == ':'; /* JSON */
	while (*p == ' ')
		p++;
	p = take_unit_in_brackets(p, &unit);
	bool assigned = *p == '=' || *p == ':', equals = *p == '=';
	p += assigned;
	while (*p == ' ')
		p++;
	if ((!assigned && p == behind) || !may_be_number(p))
		return behind;
	int key = key_of(before, w, equals);
	struct read_value number = {.text = p};
	if (key >= 0)
		number.length = read_number(p, &number.value);
	if (!number.length)
		return behind;
	line->step_equals |= keys[key].slot == KEY_STEP && equals;
	return store(line, key, unit, &number, assigned);
}

/* "00000 grad_norm=1.0": the rest of a number, then pairs. */
static bool begins_with_rest(const char *text)
{
	const char *p = text;
	while (isdigit((unsigned char)*p) || *p == '.' || *p == 'e' || *p == '-' || *p == '+')
		p++;
	return p > text && *p == ' ' && is_letter(p[1]);
}

void key_value_read(const char *text, struct key_value_line *ret_line)
{
	struct key_value_line line = {.continues = begins_with_rest(text)};
	struct word before = {"", 0};
	const char *p = text;
	while (*p) {
		if (!is_letter(*p) && *p != '_') {
			if (*p != ' ' || p == text || !is_word_byte(p[-1]))
				before.length = 0;
			p++;
			while (isdigit((unsigned char)p[-1]) && is_word_byte(*p))
				p++;
			continue;
		}
		struct word w = take_word(p);
		if (!w.length)
			w = (struct word){p, 1};
		if (is_one_of(w, evaluation_words))
			line.evaluation = true;
		p = is_joined(text, w.text) ? w.text + w.length : take_pair(&line, before, w);
		before = p == w.text + w.length ? w : (struct word){"", 0};
	}
	*ret_line = line;
}
