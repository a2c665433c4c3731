#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "init/c_tokens.h"
#include "init/init_int.h"

enum { REGION_TOKENS_MAX = 400, BODY_TOKENS_MAX = 2000, OCCURRENCES_MAX = 1024, ROWS_MAX = 1024 };

/* A place where the program recognises an option, and the code that it leads to. */
struct occurrence {
	const struct c_file *file;
	size_t at, region, end; /* tokens: the recognition, the code behind it and where that ends */
	size_t option;
};

struct finder {
	struct source_facts *facts;
	struct occurrence *occurrences;
	size_t n_occurrences, capacity;
};

static bool is_option_text(const char *s)
{
	size_t dashes = strspn(s, "-");
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	return (dashes == 1 || dashes == 2) && isalpha((unsigned char)s[dashes]) && n <= 48 &&
	       (!s[n] || (s[n] == '=' && !s[n + 1]));
}

/* The option of that name; made when it is new. Its index, or -1 when there are too many. */
static long option_index(struct source_facts *facts, const char *text, struct found_at at)
{
	size_t n = strcspn(text, "=");
	for (size_t i = 0; i < facts->n_options; i++)
		if (strlen(facts->options[i].flag) == n && strncmp(facts->options[i].flag, text, n) == 0)
			return (long)i;
	if (facts->n_options == INIT_C_OPTIONS_MAX)
		return -1;
	facts->options = init_grow(facts->arena, facts->options, facts->n_options, &facts->options_capacity,
		sizeof(*facts->options));
	facts->options[facts->n_options] = (struct job_option){
		.flag = arena_strndup(facts->arena, text, n), .at = at, .is_joined = text[n] == '='};
	return (long)facts->n_options++;
}

static void add_table(struct source_facts *facts, struct job_option *o, const struct c_table *table)
{
	o->is_enum = o->n_values == 0;
	for (size_t i = 0; i < table->n_words; i++)
		c_add_option_word(facts, o, table->words[i]);
}

static struct found_at place_of(const struct c_file *file, size_t i)
{
	return (struct found_at){file->path, c_token_at(file->tokens, i)->line};
}

static bool name_has(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

/* strcmp(), streq(), get_option(), is_arg(): what a program calls on a word of its command line. */
static bool is_recogniser(const char *name)
{
	static const char *const wanted[] = {"cmp", "eq", "match", "opt", "arg", "flag", "is_"};
	static const char *const unwanted[] = {
		"print", "usage", "help", "die", "error", "puts", "add_option_help"};
	return name_has(name, wanted, ARRAY_LEN(wanted)) && !name_has(name, unwanted, ARRAY_LEN(unwanted));
}

/* ---- option tables ---- */

static bool is_getopt_row(const struct c_tokens *tokens, size_t string)
{
	const struct c_token *t = c_token_at(tokens, string + 2);
	return t->kind == C_IDENTIFIER && strlen(t->text) > 9 &&
	       strcmp(t->text + strlen(t->text) - 9, "_argument") == 0;
}

/* The field in `offsetof(struct s, field)` or `&settings.field` at token i, or NULL. */
static const char *row_member(const struct c_tokens *tokens, size_t i)
{
	if (c_token_is(tokens, i, "offsetof") && c_token_is(tokens, i + 1, "(")) {
		size_t close = c_token_closing(tokens, i + 1);
		const struct c_token *last =
			close > i + 2 ? c_token_at(tokens, close - 1) : c_token_at(tokens, SIZE_MAX);
		return last->kind == C_IDENTIFIER ? last->text : NULL;
	}
	if (!c_token_is(tokens, i, "&"))
		return NULL;
	const char *name = NULL;
	for (i++; c_token_at(tokens, i)->kind == C_IDENTIFIER; i += 2) {
		name = c_token_at(tokens, i)->text;
		if (!c_token_is(tokens, i + 1, ".") && !c_token_is(tokens, i + 1, "->"))
			break;
	}
	return name;
}

/* The last two plain numbers of a row are its limits. */
static void row_number(struct job_option *o, const char *text)
{
	double value;
	if (!parse_number(text, &value))
		return;
	o->low = o->high;
	o->high = value;
	o->has_range = o->low >= 0 && o->high > o->low;
}

static void read_row(struct source_facts *facts, const struct c_file *file, size_t brace)
{
	const struct c_tokens *tokens = file->tokens;
	const char *text = c_token_at(tokens, brace + 1)->text;
	bool is_getopt = is_getopt_row(tokens, brace + 1);
	if (is_getopt)
		text = arena_printf(facts->arena, "--%s", text);
	if (!is_option_text(text))
		return;
	long index = option_index(facts, text, place_of(file, brace));
	size_t end = c_token_closing(tokens, brace);
	for (size_t i = brace + 2; index >= 0 && i < end && i < brace + REGION_TOKENS_MAX; i++) {
		struct job_option *o = &facts->options[index];
		const struct c_token *t = c_token_at(tokens, i);
		const struct c_table *table =
			t->kind == C_IDENTIFIER ? c_find_table(facts->index, t->text) : NULL;
		if (!o->member)
			o->member = row_member(tokens, i);
		if (table)
			add_table(facts, o, table);
		else if (t->kind == C_NUMBER && !is_getopt)
			row_number(o, t->text);
		else if (c_token_is(tokens, i, "no_argument"))
			o->is_switch = true;
	}
}

/* ---- comparisons ---- */

static void add_occurrence(
	struct finder *f, const struct c_file *file, size_t at, size_t region, size_t end, const char *flag)
{
	long option =
		f->n_occurrences < OCCURRENCES_MAX ? option_index(f->facts, flag, place_of(file, at)) : -1;
	if (option < 0)
		return;
	f->occurrences = init_grow(
		f->facts->arena, f->occurrences, f->n_occurrences, &f->capacity, sizeof(*f->occurrences));
	f->occurrences[f->n_occurrences++] = (struct occurrence){file, at, region, end, (size_t)option};
}

/* get_int(argc, argv, "--steps", 30): the argument behind the name is what counts when the option is not
 * given. */
static void read_inline_default(
	struct source_facts *facts, const struct c_file *file, size_t string, const char *flag)
{
	const struct c_tokens *tokens = file->tokens;
	const struct c_token *t = c_token_at(tokens, string + 2);
	long index = option_index(facts, flag, place_of(file, string));
	if (index < 0 || !c_token_is(tokens, string + 1, ",") || !c_token_is(tokens, string + 3, ")") ||
		(t->kind != C_NUMBER && t->kind != C_STRING))
		return;
	facts->options[index].value = t->text;
	facts->options[index].value_at = place_of(file, string);
}

/* A call at token i that is handed the name of an option. */
static void read_call(struct finder *f, const struct c_file *file, size_t i, size_t function_end)
{
	const struct c_tokens *tokens = file->tokens;
	if (!is_recogniser(c_token_at(tokens, i)->text))
		return;
	size_t close = c_token_closing(tokens, i + 1);
	for (size_t k = i + 2; k < close && k < i + 32; k++) {
		const struct c_token *t = c_token_at(tokens, k);
		if (t->kind != C_STRING || !is_option_text(t->text))
			continue;
		add_occurrence(f, file, i, close + 1, function_end, t->text);
		if (!strstr(c_token_at(tokens, i)->text, "cmp"))
			read_inline_default(f->facts, file, k, t->text);
		return;
	}
}

/* argv[i][1] == 'b', or case 'b': in a function that calls getopt. */
static void read_letter(
	struct finder *f, const struct c_file *file, size_t i, size_t function_end, bool in_getopt)
{
	const struct c_tokens *tokens = file->tokens;
	const char *letter = c_token_at(tokens, i)->text;
	bool is_second = i >= 4 && c_token_is(tokens, i - 1, "==") && c_token_is(tokens, i - 2, "]") &&
			 strcmp(c_token_at(tokens, i - 3)->text, "1") == 0 && c_token_is(tokens, i - 4, "[");
	bool is_case =
		in_getopt && i >= 1 && c_token_is(tokens, i - 1, "case") && c_token_is(tokens, i + 1, ":");
	if ((is_second || is_case) && isalpha((unsigned char)letter[0]) && !letter[1])
		add_occurrence(f, file, i, i + 1, function_end, arena_printf(f->facts->arena, "-%s", letter));
}

static bool calls_getopt(const struct c_function *function)
{
	for (size_t i = function->begin; i < function->end && i < function->begin + BODY_TOKENS_MAX; i++)
		if (c_token_is(function->file->tokens, i, "getopt") ||
			c_token_is(function->file->tokens, i, "getopt_long"))
			return true;
	return false;
}

static void read_function(struct finder *f, const struct c_function *function)
{
	const struct c_tokens *tokens = function->file->tokens;
	bool in_getopt = calls_getopt(function);
	for (size_t i = function->begin; i < function->end; i++) {
		const struct c_token *t = c_token_at(tokens, i);
		if (t->kind == C_IDENTIFIER && c_token_is(tokens, i + 1, "("))
			read_call(f, function->file, i, function->end);
		else if (t->kind == C_CHARACTER)
			read_letter(f, function->file, i, function->end, in_getopt);
	}
}

/* ---- the code behind a comparison ---- */

/* The words that a function compares its argument with, or the table that it looks it up in. */
static void values_from_function(struct source_facts *facts, struct job_option *o, const char *name)
{
	static const char *const unwanted[] = {
		"print", "usage", "help", "die", "error", "fail", "reject", "abort"};
	const struct c_function *function = c_find_function(facts->index, name);
	if (!function || name_has(name, unwanted, ARRAY_LEN(unwanted)))
		return;
	const struct c_tokens *tokens = function->file->tokens;
	const char *words[INIT_VALUES_MAX];
	size_t n_words = 0;
	for (size_t i = function->begin; i < function->end && i < function->begin + BODY_TOKENS_MAX; i++) {
		const struct c_token *t = c_token_at(tokens, i);
		const struct c_table *table =
			t->kind == C_IDENTIFIER ? c_find_table(facts->index, t->text) : NULL;
		if (table) {
			add_table(facts, o, table);
			return;
		}
		bool is_compared = t->kind == C_STRING && i >= 4 && c_token_is(tokens, i + 1, ")") &&
				   c_token_is(tokens, i - 3, "(") &&
				   is_recogniser(c_token_at(tokens, i - 4)->text);
		if (is_compared && n_words < INIT_VALUES_MAX)
			words[n_words++] = t->text;
	}
	for (size_t i = 0; n_words >= 2 && i < n_words; i++)
		c_add_option_word(facts, o, words[i]);
}

static bool consumes_value(const char *identifier)
{
	static const char *const words[] = {"argv", "value", "val", "optarg", "arg", "next", "atoi", "atof",
		"atol", "strtol", "strtoul", "strtoll", "strtoull", "strtod", "strtof", "sscanf"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(identifier, words[i]) == 0)
			return true;
	return false;
}

/* if (!strcmp(a, "-b") || !strcmp(a, "--batch")): the longer name is kept for both. */
static bool is_alias_of_next(const struct finder *f, size_t n)
{
	const struct occurrence *o = &f->occurrences[n];
	bool has_or = false;
	for (size_t i = o->region; i < o->end; i++) {
		if (c_token_is(o->file->tokens, i, ";") || c_token_is(o->file->tokens, i, "{"))
			return false;
		has_or |= c_token_is(o->file->tokens, i, "||");
	}
	return has_or && n + 1 < f->n_occurrences && f->occurrences[n + 1].file == o->file &&
	       o->end == f->occurrences[n + 1].at;
}

static void merge_alias(struct finder *f, size_t n)
{
	struct job_option *alias = &f->facts->options[f->occurrences[n].option];
	struct job_option *next = &f->facts->options[f->occurrences[n + 1].option];
	if (strlen(alias->flag) > strlen(next->flag)) {
		const char *longer = alias->flag;
		alias->flag = next->flag;
		next->flag = longer;
	}
	alias->flag = "";
}

/* strcmp(value, "full"): the string is the last argument of a comparison that begins a few tokens earlier. */
static bool is_compared_word(const struct c_tokens *tokens, size_t i)
{
	const struct c_token *t = c_token_at(tokens, i);
	if (i == 0 || t->kind != C_STRING || !c_is_option_word(t->text) || !c_token_is(tokens, i + 1, ")"))
		return false;
	for (size_t back = i - 1; back + 12 > i && back > 0; back--)
		if (c_token_is(tokens, back, "(") && is_recogniser(c_token_at(tokens, back - 1)->text))
			return true;
	return false;
}

static void read_region_token(struct source_facts *facts, struct job_option *o, const struct c_file *file,
	size_t i, bool *ret_consumes)
{
	const struct c_tokens *tokens = file->tokens;
	const struct c_token *t = c_token_at(tokens, i);
	if (is_compared_word(tokens, i))
		c_add_option_word(facts, o, t->text);
	if (t->kind != C_IDENTIFIER)
		return;
	*ret_consumes |= consumes_value(t->text);
	if (!o->member && c_token_is(tokens, i + 1, "=") && !c_token_is(tokens, i - 1, "*"))
		o->member = t->text;
	const struct c_table *table = o->n_values < 2 ? c_find_table(facts->index, t->text) : NULL;
	if (table)
		add_table(facts, o, table);
	else if (o->n_values < 2 && c_token_is(tokens, i + 1, "("))
		values_from_function(facts, o, t->text);
}

static void read_region(struct finder *f, size_t n)
{
	struct occurrence *occurrence = &f->occurrences[n];
	struct job_option *o = &f->facts->options[occurrence->option];
	bool consumes = false;
	for (size_t i = occurrence->region; i < occurrence->end; i++)
		read_region_token(f->facts, o, occurrence->file, i, &consumes);
	if (o->n_values < 2)
		o->n_values = 0;
	/* `member = get(argc, argv, "--name", 4)`: the assignment stands in front. */
	const struct c_tokens *tokens = occurrence->file->tokens;
	if (o->value && occurrence->at >= 2 && c_token_is(tokens, occurrence->at - 1, "="))
		o->member = c_token_at(tokens, occurrence->at - 2)->text;
	o->is_switch = !consumes && !o->n_values && !o->value && !o->is_joined && o->member;
}

static void limit_regions(struct finder *f)
{
	for (size_t n = 0; n < f->n_occurrences; n++) {
		struct occurrence *o = &f->occurrences[n];
		o->end = MIN_OF(o->end, o->region + REGION_TOKENS_MAX);
		if (n + 1 < f->n_occurrences && f->occurrences[n + 1].file == o->file &&
			f->occurrences[n + 1].at > o->at)
			o->end = MIN_OF(o->end, f->occurrences[n + 1].at);
	}
}

static void read_rows(struct source_facts *facts)
{
	size_t n_rows = 0;
	for (size_t n = 0; n < facts->n_files; n++) {
		const struct c_file *file = &facts->files[n];
		for (size_t i = 1; i < file->tokens->count && n_rows < ROWS_MAX; i++) {
			const struct c_token *t = c_token_at(file->tokens, i);
			if (t->kind != C_STRING || !c_token_is(file->tokens, i - 1, "{") ||
				(t->text[0] != '-' && !is_getopt_row(file->tokens, i)))
				continue;
			n_rows++;
			read_row(facts, file, i - 1);
		}
	}
}

static void drop_merged(struct source_facts *facts)
{
	size_t kept = 0;
	for (size_t i = 0; i < facts->n_options; i++)
		if (facts->options[i].flag[0])
			facts->options[kept++] = facts->options[i];
	facts->n_options = kept;
}

void c_find_options(struct source_facts *facts)
{
	struct finder f = {.facts = facts};
	read_rows(facts);
	for (size_t i = 0; i < facts->index->n_functions; i++)
		read_function(&f, &facts->index->functions[i]);
	limit_regions(&f);
	for (size_t n = 0; n < f.n_occurrences; n++) {
		if (is_alias_of_next(&f, n))
			merge_alias(&f, n);
		else
			read_region(&f, n);
	}
	drop_merged(facts);
	c_find_option_values(facts);
}
