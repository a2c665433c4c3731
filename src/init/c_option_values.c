#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "init/c_tokens.h"
#include "init/init_int.h"

bool c_is_option_word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
	return n > 0 && n <= 32 && !s[n] && s[0] != '-';
}

void c_add_option_word(struct source_facts *facts, struct job_option *o, const char *value)
{
	for (size_t i = 0; i < o->n_values; i++)
		if (strcmp(o->values[i], value) == 0)
			return;
	if (!o->n_values)
		o->values = arena_array(facts->arena, INIT_VALUES_MAX, sizeof(char *));
	if (o->n_values == INIT_VALUES_MAX || !c_is_option_word(value))
		return;
	o->values[o->n_values++] = value;
}

/* ---- values when the option is not given ---- */

/* RECOMPUTE_OFF stands for "off": the words after an underscore, whatever the case. */
static bool symbol_means(const char *symbol, const char *word)
{
	size_t n = strlen(symbol), m = strlen(word);
	if (n < m || (n > m && symbol[n - m - 1] != '_'))
		return false;
	for (size_t i = 0; i < m; i++) {
		int a = tolower((unsigned char)symbol[n - m + i]), b = tolower((unsigned char)word[i]);
		if (a != b && !(a == '_' && !isalnum(b)))
			return false;
	}
	return true;
}

static const char *word_for(const struct job_option *o, const char *value)
{
	int64_t index;
	for (size_t i = 0; i < o->n_values; i++)
		if (strcmp(o->values[i], value) == 0)
			return o->values[i];
	for (size_t i = 0; i < o->n_values; i++)
		if (symbol_means(value, o->values[i]))
			return o->values[i];
	if (parse_integer(value, &index) && index >= 0 && (size_t)index < o->n_values)
		return o->values[index];
	return NULL;
}

/* 8U, 1e-3f: as a person would type it; NULL when it is no number. */
static const char *plain_number(struct arena *arena, const char *text)
{
	double value;
	size_t n = strlen(text);
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	while (!is_hex && n > 1 && strchr("uUlLfF", text[n - 1]))
		n--;
	const char *number = arena_strndup(arena, text, n);
	return parse_number(number, &value) ? number : NULL;
}

static const char *name_of_flag(struct arena *arena, const char *flag)
{
	char *name = arena_strdup(arena, flag + strspn(flag, "-"));
	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return name;
}

/* What the source gives the option's variable. A number found in another file is no index into the words:
 * names such as "loss" are common. */
static const struct c_initial *find_initial(const struct source_facts *facts, const struct job_option *o)
{
	const struct c_initial *found =
		o->member ? c_index_initial_value(facts->index, o->member, o->at.file) : NULL;
	double number;
	if (!found)
		found = c_index_initial_value(facts->index, name_of_flag(facts->arena, o->flag), o->at.file);
	bool is_elsewhere = found && strcmp(found->at.file, o->at.file) != 0;
	return is_elsewhere && o->n_values && parse_number(found->value, &number) ? NULL : found;
}

static void find_value(struct source_facts *facts, struct job_option *o)
{
	const struct c_initial *initial = o->value ? NULL : find_initial(facts, o);
	const char *found = initial ? initial->value : o->value;
	const char *value = !found        ? NULL
			    : o->n_values ? word_for(o, found)
					  : plain_number(facts->arena, found);
	if (!value && o->n_values) {
		value = o->values[0];
		o->value_is_assumed = true;
	} else if (initial) {
		o->value_at = initial->at;
	}
	o->value = value;
}

/* settings = {.steps = 30}: C sets the members that are not named to zero, so the option of an enum among
 * them has its first word. */
static void settle_zeroed(struct source_facts *facts)
{
	struct found_at at = {NULL, 0};
	for (size_t i = 0; i < facts->n_options && !at.file; i++) {
		const struct job_option *o = &facts->options[i];
		const struct c_initial *initial =
			o->member && !o->value_is_assumed
				? c_index_initial_value(facts->index, o->member, o->at.file)
				: NULL;
		if (initial && initial->rank == 0 && strcmp(initial->at.file, o->at.file) == 0)
			at = initial->at;
	}
	for (size_t i = 0; i < facts->n_options && at.file; i++) {
		struct job_option *o = &facts->options[i];
		if (!o->value_is_assumed || !o->is_enum || strcmp(o->at.file, at.file) != 0)
			continue;
		o->value_is_assumed = false;
		o->value_at = at;
	}
}

/* ---- help texts ---- */

static struct job_option *find_option(struct source_facts *facts, const char *flag, size_t length)
{
	for (size_t i = 0; i < facts->n_options; i++)
		if (strlen(facts->options[i].flag) == length &&
			strncmp(facts->options[i].flag, flag, length) == 0)
			return &facts->options[i];
	return NULL;
}

/* "--recompute full|off": the words, when nothing better said what they are. */
static void read_help_values(struct source_facts *facts, struct job_option *o, const char *p)
{
	p += strspn(p, " =<{[(");
	size_t n = strcspn(p, " \t\n>}])");
	if (o->n_values || !memchr(p, '|', n))
		return;
	for (size_t used = 0; used < n;) {
		size_t word = strcspn(p + used, "|");
		word = MIN_OF(word, n - used);
		const char *text = arena_strndup(facts->arena, p + used, word);
		if (!c_is_option_word(text)) {
			o->n_values = 0;
			return;
		}
		c_add_option_word(facts, o, text);
		used += word + 1;
	}
}

static void read_help_text(struct source_facts *facts, const char *text)
{
	for (const char *p = strchr(text, '-'); p; p = strchr(p, '-')) {
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
		bool is_start = p == text || strchr(" \t\n[(,|", p[-1]);
		struct job_option *o = is_start ? find_option(facts, p, n) : NULL;
		if (o)
			read_help_values(facts, o, p + n);
		p += MAX_OF(n, (size_t)1);
	}
}

static void read_help(struct source_facts *facts)
{
	for (size_t n = 0; n < facts->n_files && facts->n_options; n++)
		for (size_t i = 0; i < facts->files[n].tokens->count; i++)
			if (facts->files[n].tokens->items[i].kind == C_STRING)
				read_help_text(facts, facts->files[n].tokens->items[i].text);
}

void c_find_option_values(struct source_facts *facts)
{
	read_help(facts);
	for (size_t i = 0; i < facts->n_options; i++)
		find_value(facts, &facts->options[i]);
	settle_zeroed(facts);
}
