#include "base/base.h"

#include <string.h>

#include "init/init_int.h"
#include "init/launch.h"

/* A name as argparse takes it: "--name", "--name=value"; "-nvalue" where letters are asked for. */
static bool is_spelling(const char *word, const char *name, bool is_letter, const char **ret_value)
{
	size_t n = strlen(name);
	if (strncmp(word, name, n) != 0 || (is_letter && (n != 2 || name[1] == '-')) ||
		(!is_letter && word[n] && word[n] != '='))
		return false;
	*ret_value = word[n] ? word + n + (word[n] == '=') : NULL;
	return true;
}

static bool has_spelling(const struct job_option *o, const char *word, bool is_letter, const char **ret_value)
{
	bool is_it = is_spelling(word, o->flag, is_letter, ret_value);
	for (size_t i = 0; i < o->n_aliases && !is_it; i++)
		is_it = is_spelling(word, o->aliases[i], is_letter, ret_value);
	return is_it;
}

/* argparse takes the beginning of a long name for the name. */
static bool begins_name(const struct job_option *o, const char *word)
{
	size_t n = strcspn(word, "=");
	bool is_it = strncmp(word, o->flag, n) == 0;
	for (size_t i = 0; i < o->n_aliases && !is_it; i++)
		is_it = strncmp(word, o->aliases[i], n) == 0;
	return is_it && n > 2 && strncmp(word, "--", 2) == 0;
}

/* The option that a word stands for and the value written into the same word, NULL = none. What is exact goes
 * before letters with a value, and these before beginnings. */
static const struct job_option *find_option(const struct launch *l, const char *word, const char **ret_value)
{
	const struct job_option *options = l->c->options, *begun = NULL;
	size_t n = l->c->n_options, n_begun = 0;
	for (size_t i = 0; i < n; i++)
		if (has_spelling(&options[i], word, false, ret_value))
			return &options[i];
	for (size_t i = 0; i < n; i++) {
		if (!options[i].is_declared)
			continue;
		if (has_spelling(&options[i], word, true, ret_value))
			return &options[i];
		bool begins = begins_name(&options[i], word);
		begun = begins ? &options[i] : begun;
		n_begun += begins;
	}
	*ret_value = strchr(word, '=') ? strchr(word, '=') + 1 : NULL;
	return n_begun == 1 ? begun : NULL;
}

void launch_read_python_line(struct launch *l)
{
	struct arena *arena = l->p->arena;
	l->site = arena_array(arena, l->n_words + 1, sizeof(*l->site));
	l->n_covered = arena_array(arena, l->n_words + 1, sizeof(*l->n_covered));
	for (size_t w = l->script + 1; w < l->n_words; w++) {
		const char *value = NULL;
		const struct job_option *o =
			python_is_option_word(l->words[w]) ? find_option(l, l->words[w], &value) : NULL;
		if (!o || o->is_left_alone || (o->is_switch && value) || (o->is_joined && !value))
			continue;
		bool is_next = !value && !o->is_switch;
		if (is_next && (w + 1 == l->n_words || python_is_option_word(l->words[w + 1])))
			continue;
		size_t i = (size_t)(o - l->c->options);
		l->site[w] = i + 1;
		l->n_covered[w] = 1 + is_next;
		l->given[i] = is_next ? l->words[w + 1] : value ? value : "";
		w += is_next;
	}
}

static void add_words(struct proposal *p, const struct proposed_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		proposal_add_word(p, &p->command, words->items[i].text, words->items[i].starts_line);
}

static bool is_again(const struct launch *l, size_t w)
{
	for (size_t later = w + 1; later < l->n_words; later++)
		if (l->site[later] == l->site[w])
			return true;
	return false;
}

void launch_add_python_command(struct launch *l, struct proposed_words *words)
{
	struct proposal *p = l->p;
	for (size_t w = 0; w < l->n_words; w++) {
		struct proposed_words *own = l->site[w] ? &words[l->site[w] - 1] : NULL;
		if (!own || !own->count) {
			bool starts_line = w > l->script && python_is_option_word(l->words[w]);
			proposal_add_word(
				p, &p->command, proposal_literal(p->arena, l->words[w]), starts_line);
			continue;
		}
		if (!is_again(l, w)) {
			add_words(p, own);
			own->count = 0;
		}
		w += l->n_covered[w] - 1;
	}
	for (size_t i = 0; i < l->c->n_options; i++)
		add_words(p, &words[i]);
}
