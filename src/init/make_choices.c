#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "init/init_int.h"

static size_t name_length(const char *p)
{
	size_t n = 0;
	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.' || p[n] == '-')
		n++;
	return n;
}

/* The variable when the text is exactly $(NAME), ${NAME} or $(strip $(NAME)); `ret_end` is behind it. */
static const char *parse_reference(struct arena *arena, const char *p, const char **ret_end)
{
	p += strspn(p, " \t");
	bool is_stripped = strncmp(p, "$(strip ", 8) == 0;
	if (is_stripped)
		p += 8;
	if (p[0] != '$' || (p[1] != '(' && p[1] != '{'))
		return NULL;
	size_t n = name_length(p + 2);
	char close = p[1] == '(' ? ')' : '}';
	if (!n || p[2 + n] != close)
		return NULL;
	const char *end = p + 3 + n;
	if (is_stripped && *end++ != ')')
		return NULL;
	*ret_end = end + strspn(end, " \t");
	return arena_strndup(arena, p + 2, n);
}

/* $(filter a b,$(NAME)): the variable and the first of the words. */
static bool parse_filter(struct arena *arena, const char *p, struct make_choice *choice)
{
	p += strspn(p, " \t");
	if (strncmp(p, "$(filter ", 9) != 0)
		return false;
	p += 9;
	const char *comma = strchr(p, ','), *end;
	if (!comma)
		return false;
	choice->variable = parse_reference(arena, comma + 1, &end);
	choice->value = arena_strndup(arena, p, strcspn(p, " \t,"));
	return choice->variable && *end == ')';
}

/* A literal operand: no reference in it. An empty one asks whether the variable is empty. */
static bool parse_literal(struct arena *arena, const char *begin, size_t length, const char **ret_value)
{
	while (length && isspace((unsigned char)*begin))
		begin++, length--;
	while (length && isspace((unsigned char)begin[length - 1]))
		length--;
	if (memchr(begin, '$', length))
		return false;
	*ret_value = length ? arena_strndup(arena, begin, length) : NULL;
	return true;
}

static bool parse_operands(struct arena *arena, const char *left, size_t left_length, const char *right,
	size_t right_length, struct make_choice *choice)
{
	const char *end;
	const char *a = arena_strndup(arena, left, left_length),
		   *b = arena_strndup(arena, right, right_length);
	if (parse_filter(arena, a, choice) || parse_filter(arena, b, choice))
		return true;
	choice->variable = parse_reference(arena, a, &end);
	if (choice->variable && !*end)
		return parse_literal(arena, right, right_length, &choice->value);
	choice->variable = parse_reference(arena, b, &end);
	return choice->variable && !*end && parse_literal(arena, left, left_length, &choice->value);
}

static bool parse_quoted(struct arena *arena, const char *p, struct make_choice *choice)
{
	const char *left_end = strchr(p + 1, *p);
	const char *right = left_end ? left_end + 1 + strspn(left_end + 1, " \t") : NULL;
	if (!right || (*right != '"' && *right != '\''))
		return false;
	const char *right_end = strchr(right + 1, *right);
	return right_end && parse_operands(arena, p + 1, (size_t)(left_end - p - 1), right + 1,
				    (size_t)(right_end - right - 1), choice);
}

static bool parse_bracketed(struct arena *arena, const char *p, struct make_choice *choice)
{
	int depth = 0;
	const char *comma = NULL, *q = p;
	for (; *q && q - p < INIT_TEXT_MAX; q++) {
		depth += (*q == '(') - (*q == ')');
		if (depth == 0)
			break;
		if (*q == ',' && depth == 1 && !comma)
			comma = q;
	}
	return comma && *q == ')' &&
	       parse_operands(
		       arena, p + 1, (size_t)(comma - p - 1), comma + 1, (size_t)(q - comma - 1), choice);
}

bool make_parse_condition(struct arena *arena, const char *directive, struct make_choice *ret_choice)
{
	struct make_choice choice = *ret_choice;
	size_t word = strcspn(directive, " \t(");
	const char *p = directive + word + strspn(directive + word, " \t");
	bool is_ok = false;
	if (strncmp(directive, "ifdef", 5) == 0 || strncmp(directive, "ifndef", 6) == 0) {
		choice.variable = arena_strndup(arena, p, name_length(p));
		is_ok = *choice.variable != '\0';
	} else if (*p == '(') {
		is_ok = parse_bracketed(arena, p, &choice);
	} else if (*p == '"' || *p == '\'') {
		is_ok = parse_quoted(arena, p, &choice);
	}
	if (is_ok)
		*ret_choice = choice;
	return is_ok;
}

void make_add_choice(struct make_facts *facts, const struct make_choice *choice)
{
	if (facts->n_choices == INIT_MAKE_CHOICES_MAX)
		return;
	facts->choices = init_grow(facts->arena, facts->choices, facts->n_choices, &facts->choices_capacity,
		sizeof(*facts->choices));
	facts->choices[facts->n_choices++] = *choice;
}

/* At "$(if ": $(if $(NAME),yes,no) or $(if $(filter word,$(NAME)),yes,no). */
static void parse_if_function(struct make_facts *facts, const char *p, struct found_at at)
{
	struct make_choice choice = {.at = at};
	const char *condition = p + strlen("$(if "), *end;
	int depth = 1;
	const char *comma = condition;
	for (; *comma && comma - p < INIT_TEXT_MAX && !(*comma == ',' && depth == 1); comma++)
		depth += (*comma == '(') - (*comma == ')');
	const char *close = comma;
	for (; *close && close - p < INIT_TEXT_MAX && depth > 0; close++)
		depth += (*close == '(') - (*close == ')');
	const char *text = arena_strndup(facts->arena, condition, (size_t)(comma - condition));
	choice.effect = arena_strndup(facts->arena, comma, (size_t)(close - comma));
	if (!parse_filter(facts->arena, text, &choice)) {
		choice.value = NULL;
		choice.variable = parse_reference(facts->arena, text, &end);
		if (!choice.variable || *end)
			return;
	}
	make_add_choice(facts, &choice);
}

/* At "$(": a computed name $(PREFIX$(NAME)). */
static void parse_computed(struct make_facts *facts, const char *p, struct found_at at)
{
	const char *end;
	size_t n = name_length(p + 2);
	if (!n || p[2 + n] != '$')
		return;
	struct make_choice choice = {.prefix = arena_strndup(facts->arena, p + 2, n), .effect = "", .at = at};
	choice.variable = parse_reference(facts->arena, p + 2 + n, &end);
	if (choice.variable && *end == ')')
		make_add_choice(facts, &choice);
}

void make_find_inline_choices(struct make_facts *facts, const char *text, struct found_at at)
{
	for (const char *p = strstr(text, "$("); p && facts->n_choices < INIT_MAKE_CHOICES_MAX;
		p = strstr(p + 2, "$(")) {
		if (strncmp(p, "$(if ", 5) == 0)
			parse_if_function(facts, p, at);
		else
			parse_computed(facts, p, at);
	}
}
