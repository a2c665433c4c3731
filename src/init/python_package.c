/* How a Python program starts that nobody was seen to start: as a script, or as a module of its package. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "init/init_int.h"

static bool has_file(const struct repo *repo, const char *path)
{
	for (size_t i = 0; i < repo->n_files; i++)
		if (strcmp(repo->files[i], path) == 0)
			return true;
	return false;
}

static size_t folder_before(const char *path, size_t end)
{
	while (end > 0 && path[end - 1] != '/')
		end--;
	return end;
}

/* Where the outermost package that holds the script begins in its path; `levels` up where no __init__.py says
 * so. */
static size_t package_start(struct repo *repo, const char *script, size_t levels)
{
	size_t start = folder_before(script, strlen(script)), found = strlen(script);
	while (start > 0) {
		size_t before = folder_before(script, start - 1);
		const char *init = arena_printf(repo->arena, "%.*s__init__.py", (int)start, script);
		if (!has_file(repo, init))
			break;
		found = start = before;
	}
	if (found < strlen(script))
		return found;
	start = folder_before(script, strlen(script));
	for (size_t i = 0; i < levels && start > 0; i++)
		start = folder_before(script, start - 1);
	return start;
}

struct imports {
	size_t levels;    /* the most dots of `from ..a import b` */
	bool of_own_name; /* `from pkg.net import Net` */
};

static void read_import(const char *line, const char *package, size_t length, struct imports *i)
{
	bool is_from = strncmp(line, "from ", 5) == 0, is_import = strncmp(line, "import ", 7) == 0;
	const char *name = line + (is_from ? 5 : 7);
	if (!is_from && !is_import)
		return;
	name += strspn(name, " ");
	size_t dots = strspn(name, ".");
	i->levels = is_from && dots > i->levels ? dots : i->levels;
	i->of_own_name |= strncmp(name, package, length) == 0 && (name[length] == '.' || name[length] == ' ');
}

/* Anywhere in the file: imports may stand in functions. */
static struct imports imports_of(struct repo *repo, const char *script, const char *package, size_t length)
{
	struct imports found = {0};
	size_t n;
	for (const char *p = repo_read(repo, script, &n); p && *p; p += *p == '\n') {
		p += strspn(p, " \t");
		read_import(p, package, length, &found);
		p += strcspn(p, "\n");
	}
	return found;
}

/* Words of a module's name: no v1.0, no my-code. */
static bool is_module_name(const char *path)
{
	for (const char *p = path; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '/')
			return false;
	return true;
}

const char **python_start_of(
	struct repo *repo, const char *script, size_t *ret_count, size_t *ret_script, const char **ret_folder)
{
	const char **words = arena_array(repo->arena, 3, sizeof(*words));
	size_t named = package_start(repo, script, 1), n = 0;
	struct imports imports = imports_of(repo, script, script + named, strcspn(script + named, "/"));
	size_t start = package_start(repo, script, imports.levels ? imports.levels : 1);
	char *module = arena_strndup(repo->arena, script + start, strlen(script + start) - strlen(".py"));
	bool is_module =
		strchr(module, '/') && (imports.levels || imports.of_own_name) && is_module_name(module);
	words[n++] = "python3";
	if (is_module) {
		for (char *c = module; *c; c++)
			*c = *c == '/' ? '.' : *c;
		words[n++] = "-m";
		*ret_folder = arena_strndup(repo->arena, script, start ? start - 1 : 0);
	}
	words[n++] = is_module ? module : script;
	*ret_count = n;
	*ret_script = n - 1;
	return words;
}
