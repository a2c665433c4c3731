#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "init/init_int.h"

enum { CONDITIONS_MAX = 32 };

struct reader {
	struct make_facts *facts;
	const char *file;
	int line;                        /* of the logical line */
	size_t rule;                     /* whose recipe may follow: index + 1, 0 = none */
	size_t n_rules_of_line;          /* one line can name several targets */
	long conditions[CONDITIONS_MAX]; /* index of the choice, -1 = not understood */
	size_t n_conditions;
	bool in_define;
};

static void read_file(struct reader *r, const char *path);

static struct found_at here(const struct reader *r)
{
	return (struct found_at){r->file, r->line};
}

static struct make_variable *find_variable(struct make_facts *facts, const char *name)
{
	return (struct make_variable *)make_find(facts, name);
}

static void join_value(struct make_facts *facts, struct make_variable *v, const char *value)
{
	v->is_added_to = true;
	if (strlen(v->value) + strlen(value) < INIT_TEXT_MAX / 2)
		v->value = arena_printf(facts->arena, "%s%s%s", v->value, *v->value ? " " : "", value);
}

static void assign(struct reader *r, const char *name, char operator, const char * value, bool is_locked)
{
	struct make_facts *facts = r->facts;
	bool is_conditional = r->n_conditions > 0;
	struct make_variable *v = find_variable(facts, name);
	if (operator== '!')
		value = "";
	if (v) {
		v->is_locked |= is_locked;
		v->is_conditional |= is_conditional;
		if (operator== '+' && !is_conditional)
			join_value(facts, v, value);
		else if (operator!= '?' && operator!= '+' && !is_conditional)
			v->value = value;
		return;
	}
	if (facts->n_variables == INIT_MAKE_VARIABLES_MAX) {
		facts->truncated = true;
		return;
	}
	facts->variables = init_grow(facts->arena, facts->variables, facts->n_variables,
		&facts->variables_capacity, sizeof(*facts->variables));
	facts->variables[facts->n_variables++] = (struct make_variable){
		name, value, here(r), is_conditional || operator== '!', is_locked, operator== '+' };
}

static const char *trimmed(struct arena *arena, const char *begin, const char *end)
{
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return arena_strndup(arena, begin, (size_t)(end - begin));
}

/* NAME = value, NAME ?= value, NAME := value, NAME += value; false when the line is something else. */
static bool parse_assignment(struct reader *r, const char *line)
{
	bool is_locked = false;
	for (bool again = true; again;) {
		again = false;
		if (strncmp(line, "override ", 9) == 0)
			is_locked = again = true, line += 9;
		else if (strncmp(line, "export ", 7) == 0)
			again = true, line += 7;
		line += strspn(line, " \t");
	}
	const char *name_end = line + strcspn(line, " \t:=?+!");
	const char *p = name_end + strspn(name_end, " \t");
	char operator= '=';
	if (*p && strchr("?+!", *p))
		operator= * p++;
	else
		p += strspn(p, ":");
	if (*p != '=' || name_end == line || memchr(line, '$', (size_t)(name_end - line)))
		return false;
	struct arena *arena = r->facts->arena;
	assign(r, trimmed(arena, line, name_end), operator, trimmed(arena, p + 1, p + strlen(p)), is_locked);
	return true;
}

static void add_recipe(struct reader *r, const char *line)
{
	for (size_t i = 0; i < r->n_rules_of_line; i++) {
		struct make_rule *rule = &r->facts->rules[r->rule - 1 + i];
		size_t lines_capacity = rule->recipe_capacity;
		rule->recipe_lines = init_grow(
			r->facts->arena, rule->recipe_lines, rule->n_recipe, &lines_capacity, sizeof(int));
		rule->recipe = init_grow(r->facts->arena, rule->recipe, rule->n_recipe,
			&rule->recipe_capacity, sizeof(char *));
		rule->recipe_lines[rule->n_recipe] = r->line;
		rule->recipe[rule->n_recipe++] = arena_strdup(r->facts->arena, line);
	}
}

static void parse_rule(struct reader *r, const char *line)
{
	struct make_facts *facts = r->facts;
	const char *colon = strchr(line, ':');
	r->rule = 0;
	if (!colon || strchr(colon, '='))
		return;
	const char *after = colon + strspn(colon, ":");
	const char *inline_recipe = strchr(after, ';');
	const char *end = inline_recipe ? inline_recipe : after + strlen(after);
	const char *prerequisites = trimmed(facts->arena, after, end);
	size_t n_targets;
	const char *names = make_expand(facts, trimmed(facts->arena, line, colon), "");
	const char **targets = make_words(facts->arena, names, &n_targets);
	r->rule = facts->n_rules + 1;
	r->n_rules_of_line = 0;
	for (size_t i = 0; i < n_targets && i < 64; i++) {
		if (facts->n_rules == INIT_MAKE_RULES_MAX) {
			facts->truncated = true;
			break;
		}
		facts->rules = init_grow(facts->arena, facts->rules, facts->n_rules, &facts->rules_capacity,
			sizeof(*facts->rules));
		facts->rules[facts->n_rules++] = (struct make_rule){
			.target = targets[i], .prerequisites = prerequisites, .at = here(r)};
		r->n_rules_of_line++;
	}
	if (inline_recipe)
		add_recipe(
			r, trimmed(facts->arena, inline_recipe + 1, inline_recipe + strlen(inline_recipe)));
}

static void open_condition(struct reader *r, const char *line)
{
	struct make_choice choice = {.effect = "", .at = here(r)};
	long index = -1;
	size_t before = r->facts->n_choices;
	if (make_parse_condition(r->facts->arena, line, &choice))
		make_add_choice(r->facts, &choice);
	if (r->facts->n_choices > before)
		index = (long)before;
	if (r->n_conditions < CONDITIONS_MAX)
		r->conditions[r->n_conditions] = index;
	r->n_conditions++;
}

/* What stands between ifeq and endif depends on the variable that the condition names. */
static void add_effect(struct reader *r, const char *line)
{
	for (size_t i = 0; i < r->n_conditions && i < CONDITIONS_MAX; i++) {
		if (r->conditions[i] < 0)
			continue;
		struct make_choice *c = &r->facts->choices[r->conditions[i]];
		if (strlen(c->effect) + strlen(line) < INIT_EFFECT_MAX)
			c->effect = arena_printf(r->facts->arena, "%s %s", c->effect, line);
	}
}

static void parse_include(struct reader *r, const char *line)
{
	size_t count;
	struct make_facts *facts = r->facts;
	const char *names = make_expand(facts, line + strcspn(line, " \t"), "");
	const char **words = make_words(r->facts->arena, names, &count);
	struct reader outer = *r;
	for (size_t i = 0; i < count && facts->n_included < INIT_MAKE_INCLUDES_MAX; i++) {
		if (!path_is_contained(words[i]) || !repo_has(r->facts->repo, words[i]))
			continue;
		facts->included[facts->n_included++] = words[i];
		read_file(r, words[i]);
	}
	r->file = outer.file;
	r->line = outer.line;
}

static bool starts_with_word(const char *line, const char *word)
{
	size_t n = strlen(word);
	return strncmp(line, word, n) == 0 && (!line[n] || isspace((unsigned char)line[n]) || line[n] == '(');
}

static void close_condition(struct reader *r, const char *line)
{
	(void)line;
	if (r->n_conditions)
		r->n_conditions--;
}

static void begin_define(struct reader *r, const char *line)
{
	(void)line;
	r->in_define = true;
}

static void parse_else(struct reader *r, const char *line)
{
	(void)r; /* both branches are the effect of the one choice */
	(void)line;
}

static const struct {
	const char *word;
	void (*parse)(struct reader *r, const char *line);
} directives[] = {
	{"ifeq", open_condition},
	{"ifneq", open_condition},
	{"ifdef", open_condition},
	{"ifndef", open_condition},
	{"else", parse_else},
	{"endif", close_condition},
	{"include", parse_include},
	{"-include", parse_include},
	{"sinclude", parse_include},
	{"define", begin_define},
};

static bool parse_directive(struct reader *r, const char *line)
{
	for (size_t i = 0; i < ARRAY_LEN(directives); i++)
		if (starts_with_word(line, directives[i].word)) {
			directives[i].parse(r, line);
			return true;
		}
	return false;
}

static void note_openmp(struct reader *r, const char *line)
{
	struct make_facts *facts = r->facts;
	if (!facts->has_openmp && (strstr(line, "-fopenmp") || strstr(line, "-qopenmp"))) {
		facts->has_openmp = true;
		facts->openmp_at = here(r);
	}
}

static void parse_line(struct reader *r, char *line)
{
	bool is_recipe = *line == '\t' && r->rule;
	if (r->in_define) {
		r->in_define = !starts_with_word(line + strspn(line, " \t"), "endef");
		return;
	}
	note_openmp(r, line);
	if (is_recipe) {
		make_find_inline_choices(r->facts, line, here(r));
		add_recipe(r, line + 1);
		return;
	}
	char *comment = strchr(line, '#');
	if (comment && (comment == line || comment[-1] != '\\'))
		*comment = '\0';
	const char *text = trimmed(r->facts->arena, line, line + strlen(line));
	if (!*text || parse_directive(r, text))
		return;
	make_find_inline_choices(r->facts, text, here(r));
	add_effect(r, text);
	if (parse_assignment(r, text))
		r->rule = 0;
	else
		parse_rule(r, text);
}

static void read_text(struct reader *r, const char *path, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	r->file = path;
	int physical = 0;
	bool continues = false;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		size_t kept = n && p[n - 1] == '\r' ? n - 1 : n;
		physical++;
		if (!continues) {
			strbuf_clear(&line);
			r->line = physical;
		}
		continues = kept && p[kept - 1] == '\\' && p[n];
		strbuf_add(&line, p, continues ? kept - 1 : kept);
		if (continues)
			strbuf_addch(&line, ' ');
		else
			parse_line(r, line.buf);
		p += n + (p[n] == '\n');
	}
}

static void read_file(struct reader *r, const char *path)
{
	size_t length = 0;
	const char *text = repo_read(r->facts->repo, path, &length);
	if (text)
		read_text(r, path, text);
}

void inspect_make_text(struct repo *repo, const char *file, const char *text, struct make_facts *ret_facts)
{
	*ret_facts = (struct make_facts){.arena = repo->arena, .repo = repo, .file = file};
	ret_facts->steps_left = arena_alloc(repo->arena, sizeof(long));
	*ret_facts->steps_left = INIT_EXPAND_STEPS_MAX;
	struct reader r = {.facts = ret_facts};
	read_text(&r, file, text);
	make_find_program(ret_facts);
}

void inspect_make(struct repo *repo, struct make_facts *ret_facts)
{
	/* The order in which GNU make looks. */
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	*ret_facts = (struct make_facts){.arena = repo->arena, .repo = repo};
	size_t length;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *text = repo_has(repo, names[i]) ? repo_read(repo, names[i], &length) : NULL;
		if (!text)
			continue;
		inspect_make_text(repo, names[i], text, ret_facts);
		return;
	}
}
