#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"

bool field_is(const struct field *field, const char *key)
{
	/* Mostly it is another key, which the first two bytes tell. */
	if (*field->key != *key || (field->key_length > 1 && field->key[1] != key[1]))
		return false;
	return strncmp(field->key, key, field->key_length) == 0 && key[field->key_length] == '\0';
}

static bool is_separator(const char *p, const struct field_syntax *syntax)
{
	return *p == *syntax->separator && begins_with(p, syntax->separator);
}

/* The first separator of the text, or where the text ends. */
static const char *find_separator(const char *text, const struct field_syntax *syntax)
{
	if (!syntax->separator[1])
		return strchrnul(text, *syntax->separator);
	while (*text && !is_separator(text, syntax))
		text++;
	return text;
}

/* The assigning character of the next pair; a piece without it is no pair, and the key begins behind the last
 * separator before it. NULL = no more pairs. */
static const char *find_assign(const char **key, const struct field_syntax *syntax)
{
	const char *p = *key;
	if (!syntax->separator[1]) {
		const char *assign = strchr(p, syntax->assign);
		const char *last = assign ? memrchr(p, *syntax->separator, (size_t)(assign - p)) : NULL;
		*key = last ? skip_blanks(last + 1) : p;
		return assign;
	}
	while (*p != syntax->assign) {
		if (!*p)
			return NULL;
		if (is_separator(p, syntax))
			p = *key = skip_blanks(p + strlen(syntax->separator));
		else
			p++;
	}
	return p;
}

bool field_next(const char **position, const struct field_syntax *syntax, struct field *ret_field)
{
	const char *key = skip_blanks(*position);
	const char *assign = find_assign(&key, syntax);
	if (!assign)
		return false;
	const char *key_end = assign;
	while (key_end > key && key_end[-1] == ' ')
		key_end--;
	*ret_field = (struct field){key, skip_blanks(assign + 1), (size_t)(key_end - key)};
	const char *end = find_separator(ret_field->value, syntax);
	*position = *end ? end + strlen(syntax->separator) : end;
	return true;
}

/* What can stand directly behind a number: its unit is never glued to it but for these. */
static bool can_follow_number(const char *p, enum field_form form)
{
	static const bool ends[256] = {['\0'] = true,
		[' '] = true,
		['\t'] = true,
		[','] = true,
		['|'] = true,
		[')'] = true,
		['('] = true,
		['%'] = true,
		[']'] = true,
		['}'] = true,
		[';'] = true,
		['/'] = true,
		['\''] = true,
		['"'] = true};
	if (ends[(unsigned char)*p])
		return true;
	return form == FORM_NUMBER && *p == 's' && (p[1] == '\0' || p[1] == ' ' || p[1] == ',');
}

size_t field_value(const char *text, enum field_form form, int power, double *ret_value, bool *ret_torn)
{
	double value = NAN;
	size_t length = 0;
	switch (form) {
	case FORM_NUMBER:
		length = power ? read_number_scaled(text, power, &value) : read_number(text, &value);
		break;
	case FORM_HUMAN:
		length = read_scaled(text, &value);
		value = power < 0 ? value / pow(10.0, -power) : value * pow(10.0, power);
		break;
	case FORM_RECIPROCAL:
		length = read_number(text, &value);
		length = value > 0.0 ? length : 0;
		value = 1.0 / value;
		break;
	case FORM_MEMORY_GIB:
		length = read_memory(text, true, &value);
		break;
	case FORM_GIB:
		length = read_number(text, &value);
		value *= 1073741824.0;
		break;
	case FORM_GB:
		length = read_number_scaled(text, 9, &value);
		break;
	}
	if (!length)
		return 0;
	*ret_torn = !can_follow_number(text + length, form);
	*ret_value = value;
	return length;
}

void field_read(
	const struct field *field, const struct field_rule *rules, size_t n_rules, struct field_set *set)
{
	for (size_t i = 0; i < n_rules; i++) {
		const struct field_rule *rule = &rules[i];
		/* Most rules differ in their first letter. */
		if (*rule->key != *field->key || !field_is(field, rule->key))
			continue;
		double value;
		bool torn;
		if (set->rank[rule->slot] && set->rank[rule->slot] <= i + 1)
			return;
		if (!field_value(field->value, rule->form, rule->power, &value, &torn))
			return;
		set->torn |= torn;
		set->values[rule->slot] = (struct opt_number){true, value};
		set->rank[rule->slot] = (unsigned char)(i + 1);
		return;
	}
}

void fields_take(const char *text, const struct field_syntax *syntax, const struct field_rule *rules,
	size_t n_rules, struct field_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	struct field field;
	for (const char *p = text; field_next(&p, syntax, &field);)
		field_read(&field, rules, n_rules, ret_set);
}

static struct opt_number *step_slot(struct log_step *step, enum field_slot slot)
{
	static const size_t offsets[N_FIELDS_OF_STEP] = {
		[FIELD_LOSS] = offsetof(struct log_step, loss),
		[FIELD_GRAD_NORM] = offsetof(struct log_step, grad_norm),
		[FIELD_STEP_TIME_S] = offsetof(struct log_step, step_time_s),
		[FIELD_TOKENS_PER_S] = offsetof(struct log_step, tokens_per_s),
		[FIELD_MEM_BYTES] = offsetof(struct log_step, mem_bytes),
		[FIELD_LR] = offsetof(struct log_step, lr),
		[FIELD_SAMPLES_PER_S] = offsetof(struct log_step, samples_per_s),
		[FIELD_TOKENS_SEEN] = offsetof(struct log_step, tokens_seen),
		[FIELD_TFLOPS] = offsetof(struct log_step, tflops_per_device),
		[FIELD_MFU_PERCENT] = offsetof(struct log_step, mfu_percent),
	};
	return (struct opt_number *)((char *)step + offsets[slot]);
}

void fields_store(const struct field_set *set, struct log_step *step)
{
	for (int slot = 0; slot < N_FIELDS_OF_STEP; slot++) {
		const struct opt_number *value = &set->values[slot];
		if (!value->has)
			continue;
		if (slot == FIELD_MEM_BYTES)
			fill_largest(step_slot(step, slot), value->value);
		else
			fill_number(step_slot(step, slot), *value);
	}
}

void fields_replace(const struct field_set *set, struct log_step *step)
{
	for (int slot = 0; slot < N_FIELDS_OF_STEP; slot++)
		if (set->values[slot].has)
			*step_slot(step, slot) = set->values[slot];
}

void fields_choose_memory(struct field_set *set, struct log_summary *facts)
{
	static const char reserved[] = "reserved", allocated[] = "allocated";
	if (set->values[FIELD_MEM_BYTES].has) {
		facts->mem_kind = reserved;
	} else if (set->values[FIELD_MEM_ALLOCATED_BYTES].has &&
		   (!facts->mem_kind || strcmp(facts->mem_kind, allocated) == 0)) {
		set->values[FIELD_MEM_BYTES] = set->values[FIELD_MEM_ALLOCATED_BYTES];
		facts->mem_kind = allocated;
	}
}

static const double step_max = 1e15;

long step_sum(long a, long b, long c)
{
	double sum = (double)a + (double)b * (double)c;
	return sum < step_max && sum > -step_max ? a + b * c : (long)step_max;
}

bool number_to_step(double number, long *ret_step)
{
	if (!(number >= 0.0 && number <= step_max) || number != (double)(long)number)
		return false;
	*ret_step = (long)number;
	return true;
}

bool fields_step(const struct field_set *set, long *ret_step)
{
	return set->values[FIELD_STEP].has && number_to_step(set->values[FIELD_STEP].value, ret_step);
}
