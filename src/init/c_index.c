#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "init/c_tokens.h"
#include "init/init_int.h"

enum { PARAMETER_TOKENS_MAX = 512 };

/* At an identifier: the symbol; a member (config.seq_len gives "seq_len"); a call with one string (find("x")
 * gives "x"). *ret_next is behind it. */
static const char *symbol_value(const struct c_tokens *tokens, size_t i, size_t *ret_next)
{
	const char *value = c_token_at(tokens, i)->text;
	size_t next = i + 1;
	while ((c_token_is(tokens, next, ".") || c_token_is(tokens, next, "->")) &&
		c_token_at(tokens, next + 1)->kind == C_IDENTIFIER) {
		value = c_token_at(tokens, next + 1)->text;
		next += 2;
	}
	if (c_token_is(tokens, next, "(") && c_token_at(tokens, next + 1)->kind == C_STRING &&
		c_token_is(tokens, next + 2, ")")) {
		value = c_token_at(tokens, next + 1)->text;
		next += 3;
	}
	*ret_next = next;
	return value;
}

/* The value of the initialiser that begins at token i when it is one thing that can be shown, else NULL. */
static const char *simple_value(struct arena *arena, const struct c_tokens *tokens, size_t i)
{
	bool is_negative = c_token_is(tokens, i, "-");
	const struct c_token *t = c_token_at(tokens, i + is_negative);
	size_t next = i + is_negative + 1;
	const char *value = NULL;
	if (t->kind == C_NUMBER)
		value = is_negative ? arena_printf(arena, "-%s", t->text) : t->text;
	else if (!is_negative && t->kind == C_STRING)
		value = t->text;
	else if (!is_negative && t->kind == C_IDENTIFIER)
		value = symbol_value(tokens, i, &next);
	bool ends = c_token_is(tokens, next, ",") || c_token_is(tokens, next, ";") ||
		    c_token_is(tokens, next, "}");
	return ends ? value : NULL;
}

static void add_initial(struct arena *arena, struct c_index *index, const struct c_initial *initial)
{
	if (index->n_initials == INIT_C_INITIALS_MAX)
		return;
	index->initials = init_grow(arena, index->initials, index->n_initials, &index->initials_capacity,
		sizeof(*index->initials));
	index->initials[index->n_initials++] = *initial;
}

/* At '='. */
static void index_initial(struct arena *arena, struct c_index *index, const struct c_file *file, size_t i)
{
	const struct c_tokens *tokens = file->tokens;
	if (i < 2 || c_token_at(tokens, i - 1)->kind != C_IDENTIFIER)
		return;
	const char *value = simple_value(arena, tokens, i + 1);
	if (!value)
		return;
	bool is_member = c_token_is(tokens, i - 2, ".") || c_token_is(tokens, i - 2, "->");
	bool is_designated =
		is_member && i >= 3 && (c_token_is(tokens, i - 3, ",") || c_token_is(tokens, i - 3, "{"));
	bool is_declared = c_token_at(tokens, i - 2)->kind == C_IDENTIFIER || c_token_is(tokens, i - 2, "*");
	struct c_initial initial = {.name = c_token_at(tokens, i - 1)->text,
		.value = value,
		.rank = is_designated ? 0
			: is_declared ? 1
				      : 2,
		.at = {file->path, c_token_at(tokens, i)->line}};
	add_initial(arena, index, &initial);
}

/* #define NAME value, with one word or number as the value. */
static void index_define(
	struct arena *arena, struct c_index *index, const struct c_file *file, const struct c_token *t)
{
	const char *p = t->text + 1 + strspn(t->text + 1, " \t");
	if (strncmp(p, "define", 6) != 0 || !isspace((unsigned char)p[6]))
		return;
	p += 6;
	p += strspn(p, " \t");
	size_t name = strcspn(p, " \t("), value = strspn(p + name, " \t");
	const char *text = p + name + value;
	size_t length = strcspn(text, " \t");
	if (!name || p[name] == '(' || !length || text[length + strspn(text + length, " \t")])
		return;
	bool is_quoted = length > 2 && text[0] == '"' && text[length - 1] == '"';
	struct c_initial initial = {.name = arena_strndup(arena, p, name),
		.value = is_quoted ? arena_strndup(arena, text + 1, length - 2)
				   : arena_strndup(arena, text, length),
		.rank = 1,
		.at = {file->path, t->line}};
	add_initial(arena, index, &initial);
}

/* The word that an element of an array begins with: "word", {"word", ...}, {.name = "word"}, [INDEX] =
 * "word". */
static const char *element_word(const struct c_tokens *tokens, size_t i)
{
	if (c_token_is(tokens, i, "["))
		i = c_token_closing(tokens, i) + 2;
	if (c_token_is(tokens, i, "{"))
		i++;
	if (c_token_is(tokens, i, ".") && c_token_is(tokens, i + 2, "="))
		i += 3;
	const struct c_token *t = c_token_at(tokens, i);
	return t->kind == C_STRING ? t->text : NULL;
}

/* Behind the ',' that ends the element at i, or `end`. */
static size_t next_element(const struct c_tokens *tokens, size_t i, size_t end)
{
	while (i < end && !c_token_is(tokens, i, ",")) {
		size_t closing = c_token_closing(tokens, i);
		i = closing < end ? closing + 1 : i + 1;
	}
	return i < end ? i + 1 : end;
}

/* At '[' of NAME[...] = {...}. A table of words ends at NULL, 0 or an empty row. */
static void index_table(struct arena *arena, struct c_index *index, const struct c_file *file, size_t bracket)
{
	const struct c_tokens *tokens = file->tokens;
	size_t equals = c_token_closing(tokens, bracket) + 1;
	if (index->n_tables == INIT_C_TABLES_MAX || c_token_at(tokens, bracket - 1)->kind != C_IDENTIFIER ||
		!c_token_is(tokens, equals, "=") || !c_token_is(tokens, equals + 1, "{"))
		return;
	size_t end = c_token_closing(tokens, equals + 1);
	struct c_table table = {.name = c_token_at(tokens, bracket - 1)->text,
		.words = arena_array(arena, INIT_VALUES_MAX, sizeof(char *)),
		.at = {file->path, c_token_at(tokens, bracket)->line}};
	for (size_t i = equals + 2; i < end && table.n_words < INIT_VALUES_MAX;
		i = next_element(tokens, i, end)) {
		while (c_token_at(tokens, i)->kind == C_DIRECTIVE)
			i++;
		const char *word = element_word(tokens, i);
		if (!word || !*word || *word == '-')
			break;
		table.words[table.n_words++] = word;
	}
	if (table.n_words < 2)
		return;
	index->tables = init_grow(
		arena, index->tables, index->n_tables, &index->tables_capacity, sizeof(*index->tables));
	index->tables[index->n_tables++] = table;
}

/* At '{' behind ')' outside every other brace: the body of a function. Returns its closing brace. */
static size_t index_function(
	struct arena *arena, struct c_index *index, const struct c_file *file, size_t brace)
{
	const struct c_tokens *tokens = file->tokens;
	size_t close = c_token_closing(tokens, brace), open = brace - 1, depth = 0;
	size_t lowest = brace > PARAMETER_TOKENS_MAX ? brace - PARAMETER_TOKENS_MAX : 0;
	for (;; open--) {
		depth += c_token_is(tokens, open, ")");
		depth -= c_token_is(tokens, open, "(");
		if (depth == 0 || open == lowest)
			break;
	}
	if (open == lowest || c_token_at(tokens, open - 1)->kind != C_IDENTIFIER ||
		index->n_functions == INIT_C_FUNCTIONS_MAX)
		return close;
	index->functions = init_grow(arena, index->functions, index->n_functions, &index->functions_capacity,
		sizeof(*index->functions));
	index->functions[index->n_functions++] =
		(struct c_function){c_token_at(tokens, open - 1)->text, file, brace, close};
	return close;
}

static void index_file(struct arena *arena, struct c_index *index, const struct c_file *file)
{
	const struct c_tokens *tokens = file->tokens;
	size_t outside = 0; /* the first token behind the function body that is being walked */
	for (size_t i = 0; i < tokens->count; i++) {
		const struct c_token *t = &tokens->items[i];
		if (t->kind == C_DIRECTIVE)
			index_define(arena, index, file, t);
		else if (i > 0 && c_token_is(tokens, i, "="))
			index_initial(arena, index, file, i);
		else if (i > 0 && c_token_is(tokens, i, "["))
			index_table(arena, index, file, i);
		else if (i > outside && i > 1 && c_token_is(tokens, i, "{") && c_token_is(tokens, i - 1, ")"))
			outside = index_function(arena, index, file, i);
	}
}

struct c_index *c_index_build(const struct source_facts *facts)
{
	struct c_index *index = arena_alloc(facts->arena, sizeof(*index));
	for (size_t i = 0; i < facts->n_files; i++)
		index_file(facts->arena, index, &facts->files[i]);
	return index;
}

const struct c_table *c_find_table(const struct c_index *index, const char *name)
{
	for (size_t i = 0; i < index->n_tables; i++)
		if (strcmp(index->tables[i].name, name) == 0)
			return &index->tables[i];
	return NULL;
}

const struct c_function *c_find_function(const struct c_index *index, const char *name)
{
	for (size_t i = 0; i < index->n_functions; i++)
		if (strcmp(index->functions[i].name, name) == 0)
			return &index->functions[i];
	return NULL;
}

static const struct c_initial *best_initial(
	const struct c_index *index, const char *name, const char *prefer_file)
{
	const struct c_initial *best = NULL;
	int best_rank = 0;
	for (size_t i = 0; i < index->n_initials; i++) {
		const struct c_initial *c = &index->initials[i];
		if (strcmp(c->name, name) != 0)
			continue;
		int rank = c->rank + (prefer_file && strcmp(c->at.file, prefer_file) == 0 ? 0 : 3);
		if (strcmp(c->value, name) == 0)
			continue; /* x = other.x: look for where the other one gets it */
		if (!best || rank < best_rank) {
			best = c;
			best_rank = rank;
		}
	}
	return best;
}

const struct c_initial *c_index_initial_value(
	const struct c_index *index, const char *name, const char *prefer_file)
{
	const struct c_initial *found = NULL;
	const char *wanted = name;
	for (int hops = 0; hops < 4; hops++) {
		const struct c_initial *c = best_initial(index, wanted, prefer_file);
		if (!c)
			break;
		found = c;
		wanted = c->value;
	}
	return found;
}
