#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "init/init_int.h"

enum { DEPTH_MAX = 16 };

struct expansion {
	const struct make_facts *facts;
	const char *target;
	int depth;
};

static const char *expand(struct expansion *x, const char *text);

const struct make_variable *make_find(const struct make_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->n_variables; i++)
		if (strcmp(facts->variables[i].name, name) == 0)
			return &facts->variables[i];
	return NULL;
}

/* The rule that says how: a later one with a recipe wins over an earlier one that only adds prerequisites. */
const struct make_rule *make_find_rule(const struct make_facts *facts, const char *target)
{
	const struct make_rule *found = NULL;
	for (size_t i = 0; i < facts->n_rules; i++)
		if (strcmp(facts->rules[i].target, target) == 0 &&
			(!found || (!found->n_recipe && facts->rules[i].n_recipe)))
			found = &facts->rules[i];
	return found;
}

const char **make_words(struct arena *arena, const char *text, size_t *ret_count)
{
	size_t count = 0, capacity = 0;
	const char **words = NULL;
	for (const char *p = text + strspn(text, " \t\n"); *p;) {
		size_t n = strcspn(p, " \t\n");
		words = init_grow(arena, words, count, &capacity, sizeof(*words));
		words[count++] = arena_strndup(arena, p, n);
		p += n;
		p += strspn(p, " \t\n");
	}
	*ret_count = count;
	return words;
}

static const char *do_wildcard(struct expansion *x, const char *arguments)
{
	struct repo *repo = x->facts->repo;
	size_t count;
	CLEANUP(strbuf_release) struct strbuf found = STRBUF_INIT;
	const char **patterns = make_words(x->facts->arena, arguments, &count);
	for (size_t i = 0; i < count && i < 16; i++)
		for (size_t f = 0; f < repo->n_files && found.len < INIT_TEXT_MAX; f++)
			if (glob_match(patterns[i], repo->files[f]))
				strbuf_addf(&found, "%s%s", found.len ? " " : "", repo->files[f]);
	return arena_strdup(x->facts->arena, found.buf);
}

/* One word against a pattern with one '%': the stem's place and length, or false. */
static bool match_percent(const char *pattern, const char *word, const char **ret_stem, size_t *ret_length)
{
	const char *percent = strchr(pattern, '%');
	size_t length = strlen(word);
	if (!percent)
		return strcmp(pattern, word) == 0 ? (*ret_stem = word, *ret_length = 0, true) : false;
	size_t head = (size_t)(percent - pattern), tail = strlen(percent + 1);
	if (length < head + tail || memcmp(word, pattern, head) != 0 ||
		memcmp(word + length - tail, percent + 1, tail) != 0)
		return false;
	*ret_stem = word + head;
	*ret_length = length - head - tail;
	return true;
}

static const char *substitute(struct expansion *x, const char *from, const char *to, const char *text)
{
	size_t count;
	CLEANUP(strbuf_release) struct strbuf result = STRBUF_INIT;
	const char **words = make_words(x->facts->arena, text, &count);
	const char *percent = strchr(to, '%');
	for (size_t i = 0; i < count && result.len < INIT_TEXT_MAX; i++) {
		const char *stem;
		size_t length;
		strbuf_addstr(&result, i ? " " : "");
		if (!match_percent(from, words[i], &stem, &length))
			strbuf_addstr(&result, words[i]);
		else if (percent)
			strbuf_addf(&result, "%.*s%.*s%s", (int)(percent - to), to, (int)length, stem,
				percent + 1);
		else
			strbuf_addstr(&result, to);
	}
	return arena_strdup(x->facts->arena, result.buf);
}

/* Cuts the next argument off at a comma outside brackets; NULL after the last. */
static const char *next_argument(struct arena *arena, const char **p)
{
	if (!*p)
		return NULL;
	int depth = 0;
	const char *begin = *p, *end = begin;
	for (; *end && !(*end == ',' && depth == 0); end++)
		depth += (*end == '(') - (*end == ')');
	*p = *end ? end + 1 : NULL;
	return arena_strndup(arena, begin, (size_t)(end - begin));
}

static const char *do_patsubst(struct expansion *x, const char *arguments)
{
	const char *from = next_argument(x->facts->arena, &arguments);
	const char *to = next_argument(x->facts->arena, &arguments);
	return to && arguments ? substitute(x, expand(x, from), expand(x, to), expand(x, arguments)) : "";
}

static const char *do_addprefix(struct expansion *x, const char *arguments)
{
	const char *prefix = next_argument(x->facts->arena, &arguments);
	if (!arguments)
		return "";
	const char *to = arena_printf(x->facts->arena, "%s%%", expand(x, prefix));
	return substitute(x, "%", to, expand(x, arguments));
}

static const char *do_if(struct expansion *x, const char *arguments)
{
	const char *condition = next_argument(x->facts->arena, &arguments);
	const char *yes = next_argument(x->facts->arena, &arguments);
	const char *chosen = expand(x, condition)[0] ? yes : arguments;
	return chosen ? expand(x, chosen) : "";
}

static const char *do_filter(struct expansion *x, const char *arguments)
{
	const char *wanted = expand(x, next_argument(x->facts->arena, &arguments));
	const char *text = arguments ? expand(x, arguments) : "";
	return *text && strcmp(wanted, text) == 0 ? text : "";
}

static const char *do_expand(struct expansion *x, const char *arguments)
{
	return expand(x, arguments);
}

static const struct {
	const char *name;
	const char *(*call)(struct expansion *x, const char *arguments);
} functions[] = {
	{"wildcard", do_wildcard},
	{"patsubst", do_patsubst},
	{"addprefix", do_addprefix},
	{"if", do_if},
	{"filter", do_filter},
	{"strip", do_expand},
	{"sort", do_expand},
};

/* The inside of $(...): a function call, a substitution $(SRC:.c=.o) or a name, which may itself be computed.
 */
static const char *expand_reference(struct expansion *x, const char *inside)
{
	struct arena *arena = x->facts->arena;
	size_t word = strcspn(inside, " \t");
	if (inside[word]) {
		const char *arguments = inside + word + strspn(inside + word, " \t");
		for (size_t i = 0; i < ARRAY_LEN(functions); i++)
			if (strlen(functions[i].name) == word &&
				strncmp(inside, functions[i].name, word) == 0)
				return functions[i].call(x, arguments);
		return "";
	}
	const char *colon = strchr(inside, ':'), *equals = colon ? strchr(colon, '=') : NULL;
	const char *name = equals ? arena_strndup(arena, inside, (size_t)(colon - inside)) : inside;
	const struct make_variable *v = make_find(x->facts, expand(x, name));
	const char *value = v ? expand(x, v->value) : "";
	if (!equals)
		return value;
	const char *from = arena_strndup(arena, colon + 1, (size_t)(equals - colon - 1));
	bool is_suffix = !strchr(from, '%');
	return substitute(x, is_suffix ? arena_printf(arena, "%%%s", from) : from,
		is_suffix ? arena_printf(arena, "%%%s", equals + 1) : equals + 1, value);
}

/* The bracket that closes the one at `open`, not too far away; NULL = none. */
static const char *closing_bracket(const char *open)
{
	char close = *open == '(' ? ')' : '}';
	int depth = 0;
	for (const char *p = open; *p && p - open < INIT_TEXT_MAX; p++) {
		depth += (*p == *open) - (*p == close);
		if (depth == 0)
			return p;
	}
	return NULL;
}

static const char *expand_automatic(struct expansion *x, char which)
{
	const struct make_rule *rule = make_find_rule(x->facts, x->target);
	if (which == '@')
		return x->target;
	if ((which == '^' || which == '<') && rule)
		return expand(x, rule->prerequisites);
	const char name[2] = {which, '\0'};
	return expand_reference(x, name);
}

static const char *expand(struct expansion *x, const char *text)
{
	/* A = $(A)$(A) would otherwise take for ever. */
	if (x->depth >= DEPTH_MAX || *x->facts->steps_left <= 0 || !text)
		return "";
	--*x->facts->steps_left;
	x->depth++;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	for (const char *p = text; *p && out.len<INIT_TEXT_MAX && * x->facts->steps_left> 0; p++) {
		const char *close =
			p[0] == '$' && (p[1] == '(' || p[1] == '{') ? closing_bracket(p + 1) : NULL;
		if (p[0] != '$' || !p[1]) {
			strbuf_addch(&out, *p);
		} else if (close) {
			const char *inside = arena_strndup(x->facts->arena, p + 2, (size_t)(close - p - 2));
			strbuf_addstr(&out, expand_reference(x, inside));
			p = close;
		} else if (p[1] == '$') {
			strbuf_addch(&out, '$');
			p++;
		} else {
			strbuf_addstr(&out, expand_automatic(x, p[1]));
			p++;
		}
	}
	x->depth--;
	return arena_strndup(x->facts->arena, out.buf, MIN_OF(out.len, (size_t)INIT_TEXT_MAX));
}

const char *make_expand(const struct make_facts *facts, const char *text, const char *target)
{
	struct expansion x = {.facts = facts, .target = target};
	return expand(&x, text);
}

const char **make_run_words(const struct make_facts *facts, struct arena *arena, size_t *ret_count)
{
	*ret_count = facts->n_run_words;
	return facts->run_words  ? facts->run_words
	       : facts->run_line ? make_words(arena, facts->run_line, ret_count)
				 : NULL;
}
