/*
 * The line in a script, a Makefile or a README that starts a Python program, as the words that a shell would
 * hand it. A line whose words depend on a shell (variables, patterns, pipes) is not taken.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "init/command_lines.h"
#include "init/init_int.h"

enum start { START_NONE, START_NEEDS_SHELL, START_UNKNOWN_LAUNCHER, START_ELSEWHERE, START_FOUND };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_start_word(const char *word)
{
	static const char *const starters[] = {
		"python", "python3", "torchrun", "accelerate", "deepspeed", "uv", "poetry"};
	for (size_t i = 0; i < ARRAY_LEN(starters); i++)
		if (strcmp(word, starters[i]) == 0)
			return true;
	return strncmp(word, "python3.", 8) == 0 && strspn(word + 8, "0123456789") == strlen(word + 8);
}

static bool ends_with_py(const char *word)
{
	size_t n = strlen(word);
	return n > 3 && strcmp(word + n - 3, ".py") == 0;
}

static bool is_script(const char *word, const char *script)
{
	return strcmp(word + (strncmp(word, "./", 2) == 0 ? 2 : 0), script) == 0;
}

/* `pkg.train` is pkg/train.py or pkg/train/__main__.py, below the folder where modules are found: "" is the
 * repository itself. NULL = it is another program. */
static const char *folder_of_module(struct arena *arena, const char *module, const char *script)
{
	char *path = arena_strdup(arena, module);
	for (char *c = path; *c; c++)
		*c = *c == '.' ? '/' : *c;
	const char *const files[] = {
		arena_printf(arena, "%s.py", path), arena_printf(arena, "%s/__main__.py", path)};
	size_t length = strlen(script);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		size_t n = strlen(files[i]);
		if (n > length || strcmp(script + length - n, files[i]) != 0)
			continue;
		if (n == length)
			return "";
		if (script[length - n - 1] == '/')
			return arena_strndup(arena, script, length - n - 1);
	}
	return NULL;
}

/* python -m torch.distributed.run ... starts what comes after it. */
static bool is_launcher(const char *module)
{
	static const char *const launchers[] = {"torch.distributed.", "accelerate.", "deepspeed."};
	for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
		if (strncmp(module, launchers[i], strlen(launchers[i])) == 0)
			return true;
	return false;
}

/* -m, --module, and python's -mpkg.train and -um: the module in the same word, "" = it is the next one; NULL
 * = none of these. */
static const char *after_module_option(const char *word)
{
	static const char flags[] = "bBdEiIOPqsSuvx"; /* python's, that take no value */
	if (strcmp(word, "--module") == 0)
		return "";
	if (word[0] != '-' || word[1] == '-')
		return NULL;
	const char *p = word + 1 + strspn(word + 1, flags);
	return *p == 'm' ? p + 1 : NULL;
}

struct started {
	size_t script; /* where the script or its module stands; 0 = it is another one, or there is none */
	const char *folder; /* that modules are found below; NULL = a script is named by its path */
};

/* The first script or module that is named. */
static struct started find_started(
	struct arena *arena, const char *const *words, size_t n, const char *script)
{
	const struct started none = {0};
	for (size_t i = 1; i < n; i++) {
		if (ends_with_py(words[i]))
			return is_script(words[i], script) ? (struct started){i, NULL} : none;
		const char *module = after_module_option(words[i]);
		if (module && !*module)
			module = i + 1 < n ? words[++i] : NULL;
		if (!module || is_launcher(module))
			continue;
		const char *folder = folder_of_module(arena, module, script);
		return folder ? (struct started){i, folder} : none;
	}
	return none;
}

static bool names_start(struct arena *arena, const char *line, const char *script)
{
	size_t n;
	const char **words = make_words(arena, line, &n);
	for (size_t i = 0; i < n && words[i][0] != '#'; i++)
		if (is_start_word(words[i]))
			return find_started(arena, words + i, n - i, script).script > 0;
	return false;
}

static bool asks_for_help(const char *const *words, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
			return true;
	return false;
}

static const char *joined(struct arena *arena, const char *const *words, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", words[i]);
	return arena_strdup(arena, text.buf);
}

static void set_start(struct arena *arena, const char **words, size_t n, size_t script, struct make_facts *m)
{
	m->run_words = words;
	m->n_run_words = n;
	m->run_script = script;
	m->run_line = joined(arena, words, n);
}

/* A prompt, make's @, and what changes nothing of it stand before what is started. */
static const char *after_prompt(const char *line)
{
	static const char *const before[] = {"$ ", "@", "exec ", "env ", "nohup ", "time "};
	line += strspn(line, " \t");
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (strncmp(line, before[i], strlen(before[i])) == 0) {
			line += strlen(before[i]);
			line += strspn(line, " \t");
		}
	return line;
}

/* srun python train.py: which processes there are, it says and init does not know. */
static enum start start_behind(struct arena *arena, const char *const *words, size_t n, const char *script)
{
	bool is_shown = strcmp(words[0], "echo") == 0 || strcmp(words[0], "printf") == 0;
	for (size_t i = 1; i < n && !is_shown; i++)
		if (is_start_word(words[i]))
			return find_started(arena, words + i, n - i, script).script ? START_UNKNOWN_LAUNCHER
										    : START_NONE;
	return START_NONE;
}

static const char **with_exports(
	struct arena *arena, const struct command_lines *lines, const char **words, size_t n)
{
	const char **all = arena_array(arena, lines->n_exports + n + 1, sizeof(*all));
	memcpy(all, lines->exports, lines->n_exports * sizeof(*all));
	memcpy(all + lines->n_exports, words, n * sizeof(*all));
	return all;
}

/* The program as it is called in the folder that was changed to; NULL = it does not lie there. */
static const char *name_in(const char *folder, const char *script)
{
	size_t n = strlen(folder);
	if (!n)
		return script;
	return strncmp(script, folder, n) == 0 && script[n] == '/' ? script + n + 1 : NULL;
}

/* Words of a command, from the program on those of `program`. */
static enum start start_of(const struct command_lines *lines, const char **words, size_t n, size_t program,
	const char *name, struct make_facts *make)
{
	struct arena *arena = lines->arena;
	if (!is_start_word(words[program]))
		return start_behind(arena, words + program, n - program, name);
	struct started found = find_started(arena, words + program, n - program, name);
	if (!found.script)
		return START_NONE;
	if (!found.folder && *lines->folder)
		return START_ELSEWHERE;
	set_start(arena, with_exports(arena, lines, words, n), lines->n_exports + n,
		lines->n_exports + program + found.script, make);
	make->module_folder = found.folder && *lines->folder ? arena_printf(arena, "%s%s%s", lines->folder,
								       *found.folder ? "/" : "", found.folder)
							     : found.folder;
	return START_FOUND;
}

static enum start start_in_line(
	const struct command_lines *lines, const char *line, const char *script, struct make_facts *make)
{
	size_t n = 0, program = 0;
	const char *name = name_in(lines->folder, script);
	line = after_prompt(line);
	const char **words = command_words(lines->arena, line, &n);
	if (!name)
		return START_NONE;
	if (!words)
		return names_start(lines->arena, line, name) ? START_NEEDS_SHELL : START_NONE;
	while (program < n && strchr(words[program], '=') && words[program][0] != '-')
		program++;
	bool is_one = program < n && !asks_for_help(words, n);
	return is_one ? start_of(lines, words, n, program, name, make) : START_NONE;
}

void python_add_note(struct source_facts *facts, const char *text)
{
	if (facts->n_notes < ARRAY_LEN(facts->notes))
		facts->notes[facts->n_notes++] = text;
}

bool python_start_in_text(const char *path, const char *text, const char *script, struct make_facts *make,
	struct source_facts *facts)
{
	static const char *const reasons[] = {
		[START_NEEDS_SHELL] = "with words that need a shell",
		[START_UNKNOWN_LAUNCHER] = "behind something that init does not know",
		[START_ELSEWHERE] = "in another folder",
		[START_FOUND] = NULL,
	};
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	struct command_lines lines = command_lines_of(make->arena, path, text);
	while (command_lines_next(&lines, &line)) {
		struct found_at at = {path, lines.number};
		enum start start = start_in_line(&lines, line.buf, script, make);
		if (start == START_FOUND) {
			make->run_at = at;
			return true;
		}
		if (reasons[start])
			python_add_note(
				facts, arena_printf(make->arena, "%s starts the program, but %s: not taken",
					       place_text(make->arena, at), reasons[start]));
	}
	return false;
}

static bool find_start_in(struct repo *repo, const char *path, const char *script, struct make_facts *make,
	struct source_facts *facts)
{
	size_t length;
	const char *text = repo_read(repo, path, &length);
	return text && python_start_in_text(path, text, script, make, facts);
}

/* Scripts for something else than training start the same program with other options. */
static bool is_for_something_else(const char *path)
{
	static const char *const words[] = {"eval", "test", "bench", "infer", "generate", "export"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (const char *at = path; (at = strcasestr(at, words[i])) != NULL; at++)
			if (at == path || !isalnum((unsigned char)at[-1]))
				return true;
	return false;
}

void python_find_start(
	struct repo *repo, const char *script, struct make_facts *make, struct source_facts *facts)
{
	static const char *const kinds[] = {".sh", "Makefile", ".md", ".rst", ".txt"};
	/* Names that say what it is for go first. */
	for (size_t k = 0; k < 2 * ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < repo->n_files; i++) {
			const char *path = repo->files[i], *kind = kinds[k / 2];
			size_t n = strlen(path), m = strlen(kind);
			bool is_it = n >= m && strcmp(path + n - m, kind) == 0 &&
				     (strcasestr(base_name(path), "train") != NULL) == (k % 2 == 0);
			if (is_it && is_clean_text(path) && !is_for_something_else(path) &&
				find_start_in(repo, path, script, make, facts))
				return;
		}
	size_t n = 0, at = 0;
	const char **words = python_start_of(repo, script, &n, &at, &make->module_folder);
	set_start(repo->arena, words, n, at, make);
}
