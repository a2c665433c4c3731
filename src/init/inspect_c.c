#include "base/base.h"

#include <string.h>

#include "init/c_tokens.h"
#include "init/init_int.h"

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n > m && strcmp(path + n - m, suffix) == 0;
}

static bool is_in_program(const struct make_facts *make, const char *path)
{
	for (size_t i = 0; i < make->n_sources; i++)
		if (strcmp(make->sources[i], path) == 0)
			return true;
	return false;
}

static void add_file(struct repo *repo, struct source_facts *facts, size_t *capacity, const char *path)
{
	size_t length;
	const char *text = repo_read(repo, path, &length);
	if (!text)
		return;
	struct c_tokens *tokens = arena_alloc(repo->arena, sizeof(*tokens));
	c_tokenise(repo->arena, text, length, tokens);
	facts->files = init_grow(repo->arena, facts->files, facts->n_files, capacity, sizeof(*facts->files));
	facts->files[facts->n_files++] = (struct c_file){.path = path, .tokens = tokens};
}

static void note(struct found_at *place, const struct c_file *file, const struct c_token *t)
{
	if (!place->file)
		*place = (struct found_at){file->path, t->line};
}

static void scan_file(struct source_facts *facts, struct c_file *file)
{
	const struct c_tokens *tokens = file->tokens;
	for (size_t i = 0; i < tokens->count; i++) {
		const struct c_token *t = &tokens->items[i];
		if (t->kind == C_DIRECTIVE && strstr(t->text, "pragma") && strstr(t->text, "omp ")) {
			note(&facts->openmp_at, file, t);
			if (strstr(t->text, "schedule(runtime)"))
				note(&facts->runtime_schedule_at, file, t);
		} else if (t->kind == C_DIRECTIVE && strstr(t->text, "infrarsi_hook")) {
			note(&facts->hook_at, file, t);
		} else if (t->kind == C_IDENTIFIER && strcmp(t->text, "main") == 0 &&
			   c_token_is(tokens, i + 1, "(")) {
			file->has_main = true;
		}
	}
}

/* Where make did not say what the program is made of, every file with another main() is left out when one of
 * them has the program's name. */
static void drop_other_programs(const struct make_facts *make, struct source_facts *facts)
{
	const char *name = make->program ? make->program : "train";
	const char *slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	size_t n = strlen(name);
	bool has_own = false;
	for (size_t pass = 0; pass < 2; pass++) {
		size_t kept = 0;
		for (size_t i = 0; i < facts->n_files; i++) {
			const char *base = strrchr(facts->files[i].path, '/');
			base = base ? base + 1 : facts->files[i].path;
			bool is_own = strncmp(base, name, n) == 0 && strcmp(base + n, ".c") == 0;
			has_own |= facts->files[i].has_main && is_own;
			if (pass == 0 || !facts->files[i].has_main || is_own)
				facts->files[kept++] = facts->files[i];
		}
		if (!has_own)
			return;
		facts->n_files = kept;
	}
}

void inspect_c(struct repo *repo, const struct make_facts *make, struct source_facts *ret_facts)
{
	struct source_facts facts = {.arena = repo->arena};
	size_t capacity = 0;
	for (size_t i = 0; i < repo->n_files; i++) {
		const char *path = repo->files[i];
		bool is_source = has_suffix(path, ".c"), is_header = has_suffix(path, ".h");
		if (is_header || (is_source && (!make->n_sources || is_in_program(make, path))))
			add_file(repo, &facts, &capacity, path);
	}
	for (size_t i = 0; i < facts.n_files; i++)
		scan_file(&facts, &facts.files[i]);
	if (!make->n_sources)
		drop_other_programs(make, &facts);
	facts.index = c_index_build(&facts);
	c_find_options(&facts);
	*ret_facts = facts;
}
