/* The readers of the init stage: the input is a Makefile when it begins with 'm', a Python file with
 * 'p', a script that may start a program with 's', a document that may with 'd', else a C file. */
#include "base/base.h"

#include <string.h>

#include "init/c_tokens.h"
#include "init/init_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_makefile(struct repo *repo, const char *text)
{
	struct make_facts facts;
	inspect_make_text(repo, "Makefile", text, &facts);
	for (size_t i = 0; i < facts.n_variables; i++)
		make_expand(&facts, facts.variables[i].value, "train");
}

static void read_source(struct arena *arena, const char *text, size_t length)
{
	struct c_tokens tokens;
	struct c_file file = {.path = "train.c", .tokens = &tokens};
	struct source_facts facts = {.arena = arena, .files = &file, .n_files = 1};
	c_tokenise(arena, text, length, &tokens);
	facts.index = c_index_build(&facts);
	c_find_options(&facts);
}

static void read_python(struct arena *arena, const char *text, size_t length)
{
	struct source_facts facts;
	inspect_python_text(arena, text, length, &facts);
}

static void read_start(struct arena *arena, const char *path, const char *text)
{
	struct make_facts make = {.arena = arena};
	struct source_facts facts = {.arena = arena, .is_python = true};
	if (python_start_in_text(path, text, "src/train.py", &make, &facts) &&
		make.run_script >= make.n_run_words)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	const char *files[] = {"Makefile", "train.c"};
	struct repo repo = {
		.arena = &arena, .dir = "/nonexistent", .files = files, .n_files = ARRAY_LEN(files)};
	if (size > 0 && data[0] == 'm')
		read_makefile(&repo, arena_strndup(&arena, (const char *)data + 1, size - 1));
	else if (size > 0 && data[0] == 'p')
		read_python(&arena, arena_strndup(&arena, (const char *)data + 1, size - 1), size - 1);
	else if (size > 0 && (data[0] == 's' || data[0] == 'd'))
		read_start(&arena, data[0] == 's' ? "run.sh" : "README.md",
			arena_strndup(&arena, (const char *)data + 1, size - 1));
	else if (size > 0)
		read_source(&arena, arena_strndup(&arena, (const char *)data + 1, size - 1), size - 1);
	arena_release(&arena);
	return 0;
}
