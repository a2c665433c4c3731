/*
 * The line in a script, a Makefile or a README that starts a Python program, as the words that a shell would
 * hand it. A line whose words depend on a shell (variables, patterns, pipes) is not taken.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "init/init_int.h"

enum start { START_NONE, START_NEEDS_SHELL, START_FOUND };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* One word, its quotes taken off; false = it would need a shell, or is not text that a file can hold. */
static bool read_word(const char **p, struct strbuf *word)
{
	const char *begin = *p;
	for (; **p && !isspace((unsigned char)**p); (*p)++) {
		char c = **p;
		if (c == '\'' || c == '"') {
			const char *close = strchr(*p + 1, c);
			size_t n = close ? (size_t)(close - *p - 1) : 0;
			if (!close || (c == '"' && strcspn(*p + 1, "$`\\") < n))
				return false;
			strbuf_add(word, *p + 1, n);
			*p = close;
		} else if (strchr("$`\\|;&<>(){}*?", c) || (c == '~' && *p == begin)) {
			return false;
		} else {
			strbuf_addch(word, c);
		}
	}
	return word->len > 0 && is_clean_text(word->buf);
}

/* NULL = the line needs a shell. */
static const char **shell_words(struct arena *arena, const char *line, size_t *ret_count)
{
	const char **words = arena_array(arena, strlen(line) / 2 + 2, sizeof(*words));
	size_t n = 0;
	for (const char *p = line + strspn(line, " \t\r"); *p && *p != '#'; p += strspn(p, " \t\r\n\v\f")) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT;
		if (!read_word(&p, &word))
			return NULL;
		words[n++] = arena_strdup(arena, word.buf);
	}
	*ret_count = n;
	return words;
}

static bool is_start_word(const char *word)
{
	static const char *const starters[] = {"python", "python3", "torchrun", "accelerate", "deepspeed"};
	for (size_t i = 0; i < ARRAY_LEN(starters); i++)
		if (strcmp(word, starters[i]) == 0)
			return true;
	return false;
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

/* A prompt, make's @ and exec stand before what is started. */
static const char *after_prompt(const char *line)
{
	static const char *const before[] = {"$ ", "@", "exec "};
	line += strspn(line, " \t");
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (strncmp(line, before[i], strlen(before[i])) == 0) {
			line += strlen(before[i]);
			line += strspn(line, " \t");
		}
	return line;
}

static enum start start_in_line(
	struct arena *arena, const char *line, const char *script, struct make_facts *make)
{
	size_t n = 0, program = 0;
	line = after_prompt(line);
	const char **words = shell_words(arena, line, &n);
	if (!words)
		return names_start(arena, line, script) ? START_NEEDS_SHELL : START_NONE;
	while (program < n && strchr(words[program], '=') && words[program][0] != '-')
		program++;
	struct started found = {0};
	if (program < n && is_start_word(words[program]))
		found = find_started(arena, words + program, n - program, script);
	if (!found.script || asks_for_help(words, n))
		return START_NONE;
	set_start(arena, words, n, program + found.script, make);
	make->module_folder = found.folder;
	return START_FOUND;
}

bool python_start_in_line(struct arena *arena, const char *line, const char *script, struct make_facts *make)
{
	return start_in_line(arena, line, script, make) == START_FOUND;
}

void python_add_note(struct source_facts *facts, const char *text)
{
	if (facts->n_notes < ARRAY_LEN(facts->notes))
		facts->notes[facts->n_notes++] = text;
}

/* Lines that end with a backslash go on. */
static bool find_start_in(struct repo *repo, const char *path, const char *script, struct make_facts *make,
	struct source_facts *facts)
{
	size_t length;
	const char *text = repo_read(repo, path, &length);
	int line = 1;
	for (const char *p = text; p && *p;) {
		CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT;
		struct found_at at = {path, line};
		for (bool more = true; more;) {
			size_t n = strcspn(p, "\n");
			more = n > 0 && p[n - 1] == '\\' && p[n];
			strbuf_add(&whole, p, n - more);
			strbuf_addch(&whole, ' ');
			p += n + (p[n] == '\n');
			line++;
		}
		enum start start = start_in_line(repo->arena, whole.buf, script, make);
		if (start == START_FOUND) {
			make->run_at = at;
			return true;
		}
		if (start == START_NEEDS_SHELL)
			python_add_note(facts,
				arena_printf(repo->arena,
					"%s starts the program, but with words that need a shell: not taken",
					place_text(repo->arena, at)));
	}
	return false;
}

/* Scripts for something else than training start the same program with other options. */
static bool is_for_something_else(const char *path)
{
	static const char *const words[] = {"eval", "test", "bench", "infer", "generate", "export"};
	const char *name = base_name(path);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (const char *at = name; (at = strcasestr(at, words[i])) != NULL; at++)
			if (at == name || !isalnum((unsigned char)at[-1]))
				return true;
	return false;
}

/* A file that imports from its own package (from .model import Net) starts as a module only. */
static bool is_in_package(struct repo *repo, const char *script)
{
	size_t length;
	const char *text = repo_read(repo, script, &length);
	return text && strchr(script, '/') && (strncmp(text, "from .", 6) == 0 || strstr(text, "\nfrom ."));
}

static bool has_file(const struct repo *repo, const char *path)
{
	for (size_t i = 0; i < repo->n_files; i++)
		if (strcmp(repo->files[i], path) == 0)
			return true;
	return false;
}

/* The folder above the outermost package that holds the script; its own name's start where none says
 * __init__. */
static size_t package_start(struct repo *repo, const char *script)
{
	size_t start = (size_t)(strrchr(script, '/') - script);
	bool is_any = false;
	while (start > 0) {
		const char *init = arena_printf(repo->arena, "%.*s/__init__.py", (int)start, script);
		if (!has_file(repo, init))
			return is_any ? start + 1 : 0;
		is_any = true;
		while (start > 0 && script[start - 1] != '/')
			start--;
		start -= start > 0;
	}
	return 0;
}

/* A word of a module's name: no v1.0. */
static bool is_module_name(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '/')
			return false;
	return true;
}

static void start_by_itself(struct repo *repo, const char *script, struct make_facts *make)
{
	size_t start = is_in_package(repo, script) ? package_start(repo, script) : 0, n = 0;
	char *module = arena_strndup(repo->arena, script + start, strlen(script + start) - strlen(".py"));
	const char **words = arena_array(repo->arena, 3, sizeof(*words));
	words[n++] = "python3";
	if (is_in_package(repo, script) && is_module_name(module)) {
		for (char *c = module; *c; c++)
			*c = *c == '/' ? '.' : *c;
		words[n++] = "-m";
		words[n++] = module;
		make->module_folder = arena_strndup(repo->arena, script, start ? start - 1 : 0);
	} else {
		words[n++] = script;
	}
	set_start(repo->arena, words, n, n - 1, make);
}

void python_find_start(
	struct repo *repo, const char *script, struct make_facts *make, struct source_facts *facts)
{
	static const char *const kinds[] = {".sh", "Makefile", ".md", ".rst", ".txt"};
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < repo->n_files; i++) {
			const char *path = repo->files[i];
			size_t n = strlen(path), m = strlen(kinds[k]);
			bool is_it = n >= m && strcmp(path + n - m, kinds[k]) == 0;
			if (is_it && is_clean_text(path) && !is_for_something_else(path) &&
				find_start_in(repo, path, script, make, facts))
				return;
		}
	start_by_itself(repo, script, make);
}
