#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/names.h"
#include "spec/space.h"
#include "spec/task.h"
#include "spec/template.h"

struct word_list {
	const char **items; /* malloc */
	size_t count, capacity;
};

static void add_word(struct word_list *words, const char *word)
{
	grow_array(&words->items, &words->capacity, words->count + 1, sizeof(*words->items));
	words->items[words->count++] = word;
}

/* NULL-terminated, in the arena; releases the list. */
static const char **finish_words(struct word_list *words, struct arena *arena)
{
	const char **items = arena_array(arena, words->count + 1, sizeof(*items));
	for (size_t i = 0; i < words->count; i++)
		items[i] = words->items[i];
	free(words->items);
	*words = (struct word_list){0};
	return items;
}

static void release_words(struct word_list *words)
{
	free(words->items);
}

static bool is_one_name(const char *text)
{
	return text[0] == '{' && text[1] != '{' && strchr(text, '}') == text + strlen(text) - 1;
}

/* "{recompute_flag}" alone may become no argument or several; inside a longer argument it is just text. */
static enum err_code add_argument(const struct template_values *values, const char *text,
	struct word_list *words, struct arena *arena, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf expanded = STRBUF_INIT;
	bool only_flags;
	TRY(template_expand(values, text, &expanded, &only_flags, reterr));
	if (only_flags && !expanded.len)
		return OK;
	if (!only_flags || !is_one_name(text)) {
		add_word(words, arena_strdup(arena, expanded.buf));
		return OK;
	}
	for (const char *p = expanded.buf + strspn(expanded.buf, " \t"); *p;) {
		size_t length = strcspn(p, " \t");
		add_word(words, arena_strndup(arena, p, length));
		p += length;
		p += strspn(p, " \t");
	}
	return OK;
}

static enum err_code expand_command(const struct template_values *values, const struct string_list *command,
	const char *what, struct arena *arena, const char ***ret_argv, struct err *reterr)
{
	CLEANUP(release_words) struct word_list words = {0};
	for (size_t i = 0; i < command->count; i++)
		TRY(add_argument(values, command->items[i], &words, arena, reterr));
	if (!words.count || !*words.items[0])
		return err_set(reterr, ERR_INPUT, "%s names no program for these settings", what);
	*ret_argv = finish_words(&words, arena);
	return OK;
}

static enum err_code expand_environment(const struct template_values *values, const struct env_template *env,
	size_t count, struct arena *arena, const char ***ret_env, struct err *reterr)
{
	const char **lines = arena_array(arena, count + 1, sizeof(*lines));
	for (size_t i = 0; i < count; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%s=", env[i].name);
		TRY(template_expand(values, env[i].value, &text, NULL, reterr));
		lines[i] = arena_strdup(arena, text.buf);
	}
	*ret_env = lines;
	return OK;
}

static double number_named(
	const struct task *task, const int *setting, const double *derived_numbers, const char *name)
{
	struct name found = task_lookup(task, name);
	double value = 0;
	if (found.kind == NAME_KNOB) {
		const struct setting *s = &task->knobs[found.index].settings[setting[found.index]];
		value = s->is_number ? s->number : 0;
	} else if (found.kind == NAME_DERIVED) {
		value = derived_numbers[found.index];
	}
	return isnan(value) ? 0 : value;
}

static const char **derived_lines(const struct task *task, const char *const *texts, struct arena *arena)
{
	const char **lines = arena_array(arena, task->n_derived + 1, sizeof(*lines));
	for (size_t i = 0; i < task->n_derived; i++)
		lines[i] = arena_printf(arena, "%s=%s", task->derived[i].name, texts[i]);
	return lines;
}

static enum err_code expand_all(
	const struct template_values *values, struct arena *arena, struct resolved *r, struct err *reterr)
{
	const struct task *task = values->task;
	if (task->build.count)
		TRY(expand_command(values, &task->build, "build", arena, &r->build_argv, reterr));
	TRY(expand_environment(values, task->build_env, task->n_build_env, arena, &r->build_env, reterr));
	TRY(expand_command(values, &task->launch.command, "launch.command", arena, &r->argv, reterr));
	return expand_environment(values, task->launch.env, task->launch.n_env, arena, &r->env, reterr);
}

enum err_code space_resolve(const struct space *space, const struct candidate *c, struct arena *arena,
	struct resolved *ret_resolved, struct err *reterr)
{
	const struct task *task = space->task;
	struct resolved r = {0};
	int *setting = arena_array(arena, task->n_knobs, sizeof(*setting));
	for (size_t k = 0; k < task->n_knobs; k++)
		setting[k] = k < c->n_levers ? c->setting[k] : (int)task->knobs[k].reference;
	const char **derived;
	double *numbers;
	TRY(expression_set_derive(space->expressions, setting, arena, &derived, &numbers, reterr));
	const struct template_values values = {task, setting, derived};
	TRY(expand_all(&values, arena, &r, reterr));
	r.derived = derived_lines(task, derived, arena);
	r.micro_batch = number_named(task, setting, numbers, "micro_batch");
	r.grad_accum = number_named(task, setting, numbers, "grad_accum");
	*ret_resolved = r;
	return OK;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Words ended by NUL, lists by an extra empty marker, so that no two different inputs give the same bytes. */
static void add_list(struct strbuf *bytes, const char *const *words)
{
	size_t count = 0;
	while (words && words[count])
		count++;
	strbuf_addf(bytes, "%zu\n", count);
	for (size_t i = 0; i < count; i++)
		strbuf_add(bytes, words[i], strlen(words[i]) + 1);
}

void resolved_build_key(const struct resolved *r, char ret_hex[65])
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT;
	size_t count = 0;
	while (r->build_env && r->build_env[count])
		count++;
	CLEANUP(free_ptr) const char **sorted = xcalloc(count + 1, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = r->build_env[i];
	qsort(sorted, count, sizeof(*sorted), compare_words);
	add_list(&bytes, r->build_argv);
	add_list(&bytes, sorted);
	sha256_hex(bytes.buf, bytes.len, ret_hex);
}
