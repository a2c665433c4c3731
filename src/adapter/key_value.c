#include "base/base.h"

#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/key_value_int.h"

enum {
	CLASS_WORD = 1,   /* letters, digits, underscore */
	CLASS_NUMBER = 2, /* a number can begin with it */
	CLASS_END = 4,    /* it can stand directly behind a number */
};
static const uint8_t classes[256] = {
	['A' ... 'H'] = CLASS_WORD,
	['J' ... 'M'] = CLASS_WORD,
	['O' ... 'Z'] = CLASS_WORD,
	['a' ... 'h'] = CLASS_WORD,
	['k' ... 'm'] = CLASS_WORD,
	['o' ... 's'] = CLASS_WORD,
	['u' ... 'z'] = CLASS_WORD,
	['0' ... '9'] = CLASS_WORD | CLASS_NUMBER,
	['_'] = CLASS_WORD,
	/* nan, inf, tensor(, jnp., np., numpy. */
	['I'] = CLASS_WORD | CLASS_NUMBER,
	['N'] = CLASS_WORD | CLASS_NUMBER,
	['i'] = CLASS_WORD | CLASS_NUMBER,
	['j'] = CLASS_WORD | CLASS_NUMBER,
	['n'] = CLASS_WORD | CLASS_NUMBER,
	['t'] = CLASS_WORD | CLASS_NUMBER,
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

static bool begins_word(char c)
{
	return is_word_byte(c) && !is_digit(c);
}

/* Few words are as long as one of those, and fewer begin as one. */
static bool may_be_evaluation(struct word w)
{
	char first = to_lower(*w.text);
	return (first == 'v' || first == 'e' || first == 't') && (w.length <= 5 || w.length == 10);
}

/* ---- units and what may follow a number ---- */

/* "(ms)" or "(s)" between a name and its value. */
static const char *take_unit_in_brackets(const char *p, enum unit_kind *unit)
{
	if (*p != '(')
		return p;
	if (begins_with(p, "(ms)")) {
		*unit = UNIT_MILLI;
		return p + 4;
	}
	return begins_with(p, "(s)") ? p + 3 : p;
}

static bool unit_is(const char *p, const char *unit)
{
	if (*p != *unit)
		return false;
	size_t n = strlen(unit);
	return strncmp(p, unit, n) == 0 && !is_word_byte(p[n]);
}

/* True when what stands directly behind a number belongs to it or ends it. */
static bool can_follow(const char *p)
{
	static const char *const units[] = {"s", "ms", "us", "sec", "secs", "x", "K", "M", "B", "k", "G", "T",
		"GB", "GiB", "MB", "MiB", "KB", "KiB", "it", "tok", "tokens", "m", "h"};
	if (classes[(unsigned char)*p] & CLASS_END)
		return true;
	if (*p == '/')
		return is_digit(p[1]) || p[1] == 's' || p[1] == ' ';
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

/* A key with its number. */
struct pair {
	struct key_form form;
	const char *text; /* of the number */
	size_t length;
	double number;
};

static struct opt_number take_value(
	const struct pair *pair, enum key_value_slot slot, enum unit_kind unit, const char **ret_end)
{
	struct opt_number value = {true, pair->number};
	const char *p = pair->text, *behind = p + pair->length;
	*ret_end = behind;
	while (*behind == ' ')
		behind++;
	if (slot == KEY_STEP_TIME_S)
		value.value = time_value(p, value.value, unit, behind);
	else if (slot == KEY_MEM_BYTES)
		value = memory_value(p, value.value, unit);
	else if (slot == KEY_TOKENS_PER_S || slot == KEY_TOKENS_SEEN || slot == KEY_TOKENS)
		*ret_end += read_scale(*ret_end, &value.value);
	else if (slot == KEY_MFU_PERCENT)
		value.has = *behind == '%' && value.value >= 0.0;
	return value;
}

/* ---- pairs ---- */

/* Returns where to go on. */
static const char *store(struct key_value_line *line, const struct pair *pair)
{
	const struct known_key *key = pair->form.key;
	enum key_value_slot slot = key->slot;
	enum unit_kind unit = pair->form.unit == UNIT_NONE ? key->unit : pair->form.unit;
	const char *end;
	struct opt_number value = take_value(pair, slot, unit, &end);
	line->step_equals |= slot == KEY_STEP && pair->form.equals;
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
	line->n_assigned += pair->form.assigned;
	line->values[slot] = value;
	if (slot == KEY_MEM_BYTES && value.has)
		line->mem_kind = key->mem_kind;
	return end;
}

/* Most words are followed by none: a look at the first byte saves the trouble. */
static bool may_be_number(const char *p)
{
	return classes[(unsigned char)*p] & CLASS_NUMBER;
}

static bool read_value(struct pair *pair, const char *text)
{
	if (!may_be_number(text))
		return false;
	pair->text = text;
	pair->length = read_number(text, &pair->number);
	return pair->length > 0;
}

/* The word with its separator and value, where it has them. before: the word directly before it. */
static bool take_pair(struct word before, struct word w, struct pair *ret_pair)
{
	const char *behind = w.text + w.length, *p = behind;
	struct key_form *form = &ret_pair->form;
	form->unit = UNIT_NONE;
	p += (*p == '"' || *p == '\'') && p[1] == ':'; /* JSON */
	while (*p == ' ')
		p++;
	p = take_unit_in_brackets(p, &form->unit);
	form->equals = *p == '=';
	form->assigned = *p == '=' || *p == ':';
	p += form->assigned;
	while (*p == ' ')
		p++;
	if ((!form->assigned && p == behind) || !may_be_number(p))
		return false;
	form->key = key_of(before, w, form->equals);
	return form->key && read_value(ret_pair, p);
}

/* ---- the form of the line before ---- */

/* The text goes on as that line did: the same up to the number of pair i. What stands there was taken apart
 * with nothing pending, and all that this depends on is in it but for one dash (remember()). */
static bool follow(const struct line_form *form, size_t i, const char *text, struct pair *ret_pair)
{
	if (i >= LINE_FORM_MAX || !form->pairs[i].length || !begins_with(text, form->pairs[i].lead))
		return false;
	ret_pair->form = form->pairs[i].form;
	return read_value(ret_pair, text + form->pairs[i].length);
}

/* What a bracket belongs to may be decided behind the number ("tensor(5 loss=2)"). */
static bool leaves_bracket_open(const char *lead, size_t length)
{
	int open = 0;
	for (size_t i = 0; i < length; i++)
		open += (lead[i] == '(') - (lead[i] == ')' && open > 0);
	return open > 0;
}

/* lead: from the end of the pair before to the number. */
static void remember(
	struct line_form *form, size_t i, const char *lead, bool evaluation, const struct pair *pair)
{
	size_t length = (size_t)(pair->text - lead);
	if (i >= LINE_FORM_MAX)
		return;
	form->pairs[i].length = 0;
	/* Whether a dash joins two words depends on what stands before it (is_joined()). */
	if (length >= LEAD_SIZE || *lead == '-' || leaves_bracket_open(lead, length))
		return;
	form->pairs[i].form = pair->form;
	form->pairs[i].evaluation = evaluation;
	form->pairs[i].length = length;
	memcpy(form->pairs[i].lead, lead, length);
	form->pairs[i].lead[length] = '\0';
}

/* ---- the line ---- */

/* "00000 grad_norm=1.0": the rest of a number, then pairs. */
static bool begins_with_rest(const char *text)
{
	const char *p = text;
	while (is_digit(*p) || *p == '.' || *p == 'e' || *p == '-' || *p == '+')
		p++;
	return p > text && *p == ' ' && is_letter(p[1]);
}

/* Behind a byte that begins no word, or behind a number: no word begins within one, nor directly behind it.
 */
static const char *behind_other(const char *p)
{
	if (!is_digit(*p))
		return p + 1;
	p = skip_digits(p);
	return is_word_byte(*p) ? p + 1 : p;
}

void key_value_read(const char *text, struct line_form *form, struct key_value_line *ret_line)
{
	struct key_value_line *line = ret_line;
	*line = (struct key_value_line){.continues = begins_with_rest(text)};
	struct word before = {"", 0};
	struct pair pair;
	size_t n_pairs = 0;
	bool evaluation = false; /* since the pair before */
	for (const char *p = text, *lead = text; *p;) {
		if (p == lead && follow(form, n_pairs, p, &pair)) {
			line->evaluation |= form->pairs[n_pairs++].evaluation;
			p = lead = store(line, &pair);
			continue;
		}
		if (!begins_word(*p)) {
			if (*p != ' ' || p == text || !is_word_byte(p[-1]))
				before.length = 0;
			p = behind_other(p);
			continue;
		}
		struct word w = take_word(p);
		if (may_be_evaluation(w) && is_evaluation_word(w))
			line->evaluation = evaluation = true;
		if (is_joined(text, w.text) || !take_pair(before, w, &pair)) {
			p = w.text + w.length;
			before = w;
			continue;
		}
		remember(form, n_pairs++, lead, evaluation, &pair);
		p = lead = store(line, &pair);
		before.length = 0;
		evaluation = false;
	}
}
