#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"

static bool has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && strcmp(text + n - m, suffix) == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* A word of a recipe that starts a program of this repository: ./train, or a target of the Makefile. */
static bool is_program_word(const struct make_facts *facts, const char *word, bool is_first)
{
	if (strncmp(word, "./", 2) == 0 && word[2])
		return true;
	return is_first && make_find_rule(facts, word) != NULL;
}

/* Looks through one shell command (no ; && | in it) for the program that it starts. */
static bool find_program_in(struct make_facts *facts, const char *command)
{
	size_t count;
	const char **words = make_words(facts->arena, command, &count);
	bool is_first = true;
	for (size_t i = 0; i < count; i++) {
		if (is_first && strchr(words[i], '=') && words[i][0] != '-')
			continue; /* NAME=value in front of the command */
		if (is_program_word(facts, words[i], is_first)) {
			facts->program = strncmp(words[i], "./", 2) == 0 ? words[i] + 2 : words[i];
			facts->run_line = command;
			return true;
		}
		is_first = false;
	}
	return false;
}

/* A recipe line, expanded, may hold several commands; redirections and pipes are the recipe's own affair. */
static bool find_program_in_line(struct make_facts *facts, const struct make_rule *rule, size_t line)
{
	const char *text = make_expand(facts, rule->recipe[line], rule->target);
	for (const char *p = text + strspn(text, "@-+ \t"); *p;) {
		size_t n = strcspn(p, ";|&><\n");
		bool is_descriptor =
			p[n] == '>' && n >= 2 && isdigit((unsigned char)p[n - 1]) && p[n - 2] == ' '; /* 2> */
		if (find_program_in(facts, arena_strndup(facts->arena, p, is_descriptor ? n - 1 : n))) {
			facts->run_at = (struct found_at){rule->at.file, rule->recipe_lines[line]};
			facts->run_target = rule->target;
			return true;
		}
		p += n;
		p += strspn(p, ";|&><\n");
	}
	return false;
}

static void find_run_rule(struct make_facts *facts)
{
	static const char *const names[] = {
		"run", "start", "launch", "run-train", "run_train", "train-run", "demo"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct make_rule *rule = make_find_rule(facts, names[i]);
		for (size_t line = 0; rule && line < rule->n_recipe; line++)
			if (find_program_in_line(facts, rule, line))
				return;
	}
}

static bool is_side_program(const char *target)
{
	static const char *const words[] = {"test", "check", "bench", "prepro", "convert", "clean", "gen"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(target, words[i]))
			return true;
	return false;
}

/* Links a program: "-o" with no "-c", or no recipe at all with objects as prerequisites (make's own rule). */
static bool is_link_rule(const struct make_facts *facts, const struct make_rule *rule)
{
	if (strpbrk(rule->target, "%.") || rule->target[0] == '-')
		return false;
	for (size_t i = 0; i < rule->n_recipe; i++) {
		const char *line = rule->recipe[i];
		bool compiles = strstr(line, "$(CC)") || strstr(line, "cc ") || strstr(line, "clang");
		if (compiles && strstr(line, "-o") && !strstr(line, " -c"))
			return true;
	}
	return !rule->n_recipe && strstr(make_expand(facts, rule->prerequisites, rule->target), ".o") != NULL;
}

static void find_link_rule(struct make_facts *facts)
{
	const struct make_rule *best = NULL;
	int best_rank = 0;
	for (size_t i = 0; i < facts->n_rules; i++) {
		const struct make_rule *rule = &facts->rules[i];
		bool is_candidate = facts->program ? strcmp(rule->target, facts->program) == 0
						   : is_link_rule(facts, rule);
		int rank =
			1 + 2 * (strstr(rule->target, "train") != NULL) - 2 * is_side_program(rule->target);
		if (is_candidate && (!best || rank > best_rank)) {
			best = rule;
			best_rank = rank;
		}
	}
	if (!best)
		return;
	if (!facts->program)
		facts->program = best->target;
	facts->target = best->target;
	facts->program_at = best->at;
}

static const char *find_source(const struct repo *repo, const char *path)
{
	if (repo_has(repo, path))
		return path;
	for (size_t i = 0; i < repo->n_files; i++)
		if (strcmp(base_name(repo->files[i]), base_name(path)) == 0)
			return repo->files[i];
	return NULL;
}

static void add_source(struct make_facts *facts, size_t *capacity, const char *path)
{
	for (size_t i = 0; i < facts->n_sources; i++)
		if (strcmp(facts->sources[i], path) == 0)
			return;
	facts->sources =
		init_grow(facts->arena, facts->sources, facts->n_sources, capacity, sizeof(*facts->sources));
	facts->sources[facts->n_sources++] = path;
}

/* Objects become the sources of their names, libraries and phony groups are looked into. */
static void collect_sources(struct make_facts *facts, size_t *capacity, const char *words_text, int depth)
{
	size_t count;
	const char **words = make_words(facts->arena, words_text, &count);
	for (size_t i = 0; i < count && facts->n_sources < 1024 && --*facts->steps_left > 0; i++) {
		const char *word = strncmp(words[i], "./", 2) == 0 ? words[i] + 2 : words[i];
		const char *path = NULL;
		if (has_suffix(word, ".c"))
			path = word;
		else if (has_suffix(word, ".o"))
			path = arena_printf(facts->arena, "%.*s.c", (int)strlen(word) - 2, word);
		const char *source = path ? find_source(facts->repo, path) : NULL;
		if (source) {
			add_source(facts, capacity, source);
			continue;
		}
		const struct make_rule *rule = depth < 4 && *word != '-' ? make_find_rule(facts, word) : NULL;
		if (rule)
			collect_sources(
				facts, capacity, make_expand(facts, rule->prerequisites, word), depth + 1);
	}
}

static void find_sources(struct make_facts *facts)
{
	size_t capacity = 0;
	const struct make_rule *rule = facts->target ? make_find_rule(facts, facts->target) : NULL;
	if (rule) {
		collect_sources(facts, &capacity, make_expand(facts, rule->prerequisites, rule->target), 0);
		for (size_t i = 0; i < rule->n_recipe; i++)
			collect_sources(
				facts, &capacity, make_expand(facts, rule->recipe[i], rule->target), 4);
	}
	if (facts->n_sources || !facts->program)
		return;
	const char *own = arena_printf(facts->arena, "%s.c", base_name(facts->program));
	if (repo_has(facts->repo, own))
		add_source(facts, &capacity, own);
}

void make_find_program(struct make_facts *facts)
{
	find_run_rule(facts);
	find_link_rule(facts);
	find_sources(facts);
}
