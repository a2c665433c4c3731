#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "codemod/c_tables.h"
#include "codemod/rewrite.h"

static const struct codemod *const table[] = {
	&codemod_py_fused_optimizer,
	&codemod_py_foreach_optimizer,
	&codemod_py_set_to_none,
	&codemod_py_clip_foreach,
	&codemod_py_grad_norm,
	&codemod_py_bucket_view,
	&codemod_py_static_graph,
	&codemod_py_pin_memory,
	&codemod_py_attention,
	&codemod_py_gelu,
	&codemod_py_channels_last,
	&codemod_py_compile,
	&codemod_py_item_sync,
	&codemod_py_chunked_loss,
	&codemod_c_restrict,
	&codemod_c_omp_schedule,
	&codemod_c_short_loops,
	&codemod_c_omp_parallel,
	&codemod_c_simd_reduction,
	&codemod_c_simd_loops,
	&codemod_c_loop_order,
	&codemod_c_blocking,
	&codemod_c_hoist,
};

const struct codemod_info *codemod_list(size_t index)
{
	return index < ARRAY_LEN(table) ? &table[index]->info : NULL;
}

const struct codemod_info *codemod_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i]->info.name, name) == 0)
			return &table[i]->info;
	return NULL;
}

struct parsed {
	const struct codemod_file *file;
	enum language language;
	TSTree *tree; /* NULL: left alone */
};

struct program { /* the files of one language */
	struct arena *arena;
	struct source *sources;
	size_t n;
};

/* What one codemod makes of one file, added to its diff and to the refusals. */
static void run_on(const struct codemod *mod, const struct program *program, size_t index,
	struct strbuf *diff, struct codemod_proposal *proposal, struct codemod_result *result)
{
	const struct source *p = &program->sources[index];
	struct rewrite r = {.arena = program->arena,
		.sources = program->sources,
		.n_sources = program->n,
		.file = p->file,
		.root = p->root};
	mod->run(&r);
	const char *part = rewrite_diff(&r);
	if (part)
		strbuf_addstr(diff, part);
	proposal->n_places += r.n_places;
	if (r.refusal)
		result->refusals[result->n_refusals++] =
			(struct codemod_refusal){&mod->info, p->file->path, r.refusal, r.refusal_line};
	free(r.edits);
}

static void run_codemod(
	const struct codemod *mod, const struct program *program, struct codemod_result *result)
{
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct codemod_proposal proposal = {.info = &mod->info};
	for (size_t i = 0; i < program->n; i++)
		run_on(mod, program, i, &diff, &proposal, result);
	if (!diff.len)
		return;
	proposal.diff = arena_strdup(program->arena, diff.buf);
	result->proposals[result->n_proposals++] = proposal;
}

static struct program program_of(
	const struct parsed *parsed, size_t n_files, enum language language, struct arena *arena)
{
	struct program p = {.arena = arena, .sources = arena_array(arena, n_files, sizeof(*p.sources))};
	for (size_t i = 0; i < n_files; i++)
		if (parsed[i].tree && parsed[i].language == language)
			p.sources[p.n++] = (struct source){parsed[i].file, ts_tree_root_node(parsed[i].tree)};
	return p;
}

/* Once more without the lines that stand in the way of a table, where these are all that does. */
static enum err_code parse_tables(
	const struct codemod_file *file, struct parsed *ret_parsed, struct err *reterr)
{
	CLEANUP(free_ptr) char *text = c_text_of_tables(ret_parsed->tree, file->text, file->length);
	syntax_free(&ret_parsed->tree);
	if (text)
		TRY(syntax_parse(LANGUAGE_C, file->path, text, file->length, &ret_parsed->tree, reterr));
	return OK;
}

static enum err_code parse_file(
	const struct codemod_file *file, struct parsed *ret_parsed, struct err *reterr)
{
	*ret_parsed = (struct parsed){.file = file, .language = syntax_language(file->path)};
	if (ret_parsed->language == LANGUAGE_NONE || file->length > SYNTAX_CAP_BYTES ||
		memchr(file->text, '\0', file->length))
		return OK;
	TRY(syntax_parse(
		ret_parsed->language, file->path, file->text, file->length, &ret_parsed->tree, reterr));
	if (syntax_error_count(ret_parsed->tree) && ret_parsed->language == LANGUAGE_C)
		TRY(parse_tables(file, ret_parsed, reterr));
	if (ret_parsed->tree && syntax_error_count(ret_parsed->tree))
		syntax_free(&ret_parsed->tree);
	return OK;
}

enum err_code codemod_run(const struct codemod_file *files, size_t n_files, struct arena *arena,
	struct codemod_result *ret_result, struct err *reterr)
{
	CLEANUP(free_ptr) struct parsed *parsed = xcalloc(n_files + 1, sizeof(*parsed));
	enum err_code code = OK;
	for (size_t i = 0; i < n_files && code == OK; i++)
		code = parse_file(&files[i], &parsed[i], reterr);
	if (code == OK) {
		*ret_result = (struct codemod_result){
			.proposals = arena_array(arena, ARRAY_LEN(table), sizeof(struct codemod_proposal)),
			.refusals = arena_array(
				arena, ARRAY_LEN(table) * n_files, sizeof(struct codemod_refusal))};
		const struct program python = program_of(parsed, n_files, LANGUAGE_PYTHON, arena);
		const struct program c = program_of(parsed, n_files, LANGUAGE_C, arena);
		for (size_t i = 0; i < ARRAY_LEN(table); i++)
			run_codemod(
				table[i], table[i]->info.language == LANGUAGE_C ? &c : &python, ret_result);
	}
	for (size_t i = 0; i < n_files; i++)
		syntax_free(&parsed[i].tree);
	return code;
}
