/*
 * Options of Python programs: the list of them, and those of the framework, which only the line that starts
 * the job shows.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "init/init_int.h"
#include "mech/catalogue.h"
#include "mech/native.h"

static bool ends_with(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n > m && strcmp(path + n - m, suffix) == 0;
}

void python_add_value(struct arena *arena, struct job_option *o, const char *text)
{
	if (!o->values)
		o->values = arena_array(arena, INIT_VALUES_MAX, sizeof(*o->values));
	for (size_t i = 0; i < o->n_values; i++)
		if (strcmp(o->values[i], text) == 0)
			return;
	if (o->n_values < INIT_VALUES_MAX && *text)
		o->values[o->n_values++] = text;
}

/* What is worth trying of a number whose range no program says. */
void python_add_usual_values(struct arena *arena, struct job_option *o)
{
	static const struct {
		const char *mechanism, *values[6];
	} usual[] = {
		{"dataloader_workers", {"0", "1", "2", "4", "8"}},
		{"dataloader_prefetch", {"1", "2", "4", "8"}},
	};
	const struct native_option *row = python_option_find(o->flag);
	for (size_t i = 0; row && row->mechanism && !o->n_values && i < ARRAY_LEN(usual); i++)
		for (size_t k = 0; strcmp(row->mechanism, usual[i].mechanism) == 0 && usual[i].values[k]; k++)
			python_add_value(arena, o, usual[i].values[k]);
}

bool python_has_name(const struct job_option *o, const char *name)
{
	bool is_it = strcmp(o->flag, name) == 0;
	for (size_t i = 0; i < o->n_aliases; i++)
		is_it |= strcmp(o->aliases[i], name) == 0;
	return is_it;
}

struct job_option *python_add_option(struct source_facts *facts, const char *flag, struct found_at at)
{
	for (size_t i = 0; i < facts->n_options; i++)
		if (python_has_name(&facts->options[i], flag))
			return NULL;
	if (facts->n_options == INIT_C_OPTIONS_MAX || !is_clean_text(flag))
		return NULL;
	facts->options = init_grow(facts->arena, facts->options, facts->n_options, &facts->options_capacity,
		sizeof(*facts->options));
	struct job_option *o = &facts->options[facts->n_options++];
	*o = (struct job_option){.flag = flag, .at = at, .value_at = at};
	return o;
}

static const struct mechanism_spelling *spelling_of(
	const struct catalogue *catalogue, const char *framework, const char *flag)
{
	for (size_t i = 0; catalogue && framework && i < catalogue->n_mechanisms; i++) {
		const struct mechanism *m = &catalogue->mechanisms[i];
		const struct mechanism_spelling *s = mechanism_spelling_find(m, framework, flag);
		/* The catalogue writes some keys without the dashes that the command line wants. */
		s = s ? s : mechanism_spelling_find(m, framework, flag + strspn(flag, "-"));
		if (s)
			return s;
	}
	return NULL;
}

/* Not a rule, a pattern, or a key that is there or is not. */
static bool is_word(const struct mechanism_value *v)
{
	return v->canonical[0] != '=' && strcmp(v->raw, "*") != 0 && strcmp(v->raw, "present") != 0 &&
	       strcmp(v->raw, "absent") != 0;
}

/* The catalogue's spellings, one for each thing that they stand for; today's own where it is one of them. */
static void add_spelled_values(
	struct arena *arena, const struct mechanism_spelling *spelling, struct job_option *o)
{
	const char *today = NULL;
	for (size_t i = 0; i < spelling->n_values; i++)
		if (strcmp(spelling->values[i].raw, o->value) == 0)
			today = spelling->values[i].canonical;
	for (size_t i = 0; i < spelling->n_values; i++) {
		const struct mechanism_value *v = &spelling->values[i];
		bool is_said = today && strcmp(v->canonical, today) == 0 && strcmp(v->raw, o->value) != 0;
		for (size_t k = 0; k < i; k++)
			is_said |= is_word(&spelling->values[k]) && strcmp(v->raw, o->value) != 0 &&
				   strcmp(v->canonical, spelling->values[k].canonical) == 0;
		if (is_word(v) && !is_said)
			python_add_value(arena, o, v->raw);
	}
}

static void take_line_option(const struct catalogue *catalogue, struct source_facts *facts, const char *word,
	const char *next, struct found_at at)
{
	const char *equals = strchr(word, '=');
	const char *flag = equals ? arena_strndup(facts->arena, word, (size_t)(equals - word)) : word;
	const struct mechanism_spelling *spelling = spelling_of(catalogue, facts->framework, flag);
	if (!spelling && !python_option_find(flag))
		return;
	struct job_option *o = python_add_option(facts, flag, at);
	if (!o)
		return;
	o->is_joined = equals != NULL;
	o->is_switch = !equals && (!next || python_is_option_word(next));
	o->value = equals ? equals + 1 : o->is_switch ? NULL : next;
	if (spelling && !o->is_switch)
		add_spelled_values(facts->arena, spelling, o);
	python_add_usual_values(facts->arena, o);
}

/* Words before the script are the launcher's. */
void python_read_line_options(
	const struct make_facts *make, const struct catalogue *catalogue, struct source_facts *facts)
{
	const char **words = make->run_words;
	for (size_t i = make->run_script + 1, n = make->n_run_words; i < n; i++)
		if (words[i][0] == '-' && words[i][1] == '-' && isalpha((unsigned char)words[i][2]))
			take_line_option(
				catalogue, facts, words[i], i + 1 < n ? words[i + 1] : NULL, make->run_at);
}

static bool is_settings_file(const char *word)
{
	return ends_with(word, ".py") || ends_with(word, ".yaml") || ends_with(word, ".yml") ||
	       ends_with(word, ".toml");
}

/* A file of settings on the line may say what any option is that the line does not have. */
void python_doubt_defaults(const struct make_facts *make, struct source_facts *facts)
{
	const char *file = NULL;
	for (size_t i = make->run_script + 1; i < make->n_run_words; i++)
		if (is_settings_file(make->run_words[i]))
			file = make->run_words[i];
	for (size_t i = 0; file && i < facts->n_options; i++) {
		facts->options[i].value = NULL;
		facts->options[i].is_left_alone |= facts->options[i].is_switch;
	}
	if (file)
		python_add_note(facts,
			arena_printf(facts->arena,
				"%s may set options, and init does not read it: no default of the program is "
				"taken for today's value",
				file));
}
