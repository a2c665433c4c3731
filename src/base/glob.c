/* Paths as text: containment, patterns, and the files below a folder that a pattern names. */
#include "base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

bool path_is_contained(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7F)
			return false;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (*p == '/' && !*++p)
			return false;
	}
	return true;
}

/* Past the ']' of a set, or NULL where the set is not closed (then '[' is a plain character). */
static const char *match_set(const char *set, unsigned char c, bool *ret_match)
{
	bool negated = *set == '!' || *set == '^';
	bool found = false;
	const unsigned char *p = (const unsigned char *)set + (negated ? 1 : 0);
	for (bool first = true; *p && (first || *p != ']'); first = false) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			found |= c >= p[0] && c <= p[2];
			p += 3;
		} else {
			found |= c == *p++;
		}
	}
	if (*p != ']')
		return NULL;
	*ret_match = found != negated && c != '/';
	return (const char *)p + 1;
}

/* One pattern unit other than a star against one byte: the next pattern position, or NULL for no match. */
static const char *match_one(const char *pattern, char c)
{
	if (*pattern == '?')
		return c != '/' ? pattern + 1 : NULL;
	if (*pattern == '[') {
		bool matches = false;
		const char *next = match_set(pattern + 1, (unsigned char)c, &matches);
		if (next)
			return matches ? next : NULL;
	}
	return *pattern == c ? pattern + 1 : NULL;
}

/* Two points to come back to, one for the last `*` and one for the last double star: each star matches as
 * little as it can, so an earlier one never has to be reconsidered, and matching stays polynomial. */
struct glob {
	const char *start, *pattern, *path;
	const char *star_pattern, *star_path;
	const char *deep_pattern, *deep_path;
	bool deep_by_folder; /* the double star stands for whole folders; else for any bytes */
};

static void enter_star(struct glob *g)
{
	if (g->pattern[1] != '*') {
		g->star_pattern = ++g->pattern;
		g->star_path = g->path;
		return;
	}
	bool whole = g->pattern == g->start || g->pattern[-1] == '/';
	while (*g->pattern == '*')
		g->pattern++;
	g->deep_by_folder = whole && *g->pattern == '/';
	if (g->deep_by_folder)
		g->pattern++; /* "**" and its slash may also stand for no folder at all */
	g->deep_pattern = g->pattern;
	g->deep_path = g->path;
	g->star_pattern = NULL;
}

/* Lets the last star take one step more; false when none can. */
static bool widen_star(struct glob *g)
{
	if (g->star_pattern && *g->star_path && *g->star_path != '/') {
		g->path = ++g->star_path;
		g->pattern = g->star_pattern;
		return true;
	}
	if (!g->deep_pattern || !*g->deep_path)
		return false;
	const char *next = g->deep_by_folder ? strchr(g->deep_path, '/') : g->deep_path;
	if (!next)
		return false;
	g->path = g->deep_path = next + 1;
	g->pattern = g->deep_pattern;
	g->star_pattern = NULL;
	return true;
}

bool glob_match(const char *pattern, const char *path)
{
	struct glob g = {.start = pattern, .pattern = pattern, .path = path};
	for (;;) {
		if (*g.pattern == '*') {
			enter_star(&g);
			continue;
		}
		if (!*g.pattern && (!*g.path || (g.deep_pattern == g.pattern && !g.deep_by_folder)))
			return true;
		const char *next = *g.path && *g.pattern ? match_one(g.pattern, *g.path) : NULL;
		if (next) {
			g.pattern = next;
			g.path++;
		} else if (!widen_star(&g)) {
			return false;
		}
	}
}

/* False when no path below this folder can match: its name contradicts what the pattern begins with, or lies
 * deeper than the pattern. */
static bool may_match_below(const char *pattern, const char *folder)
{
	size_t literal = strcspn(pattern, "*?["), n = strlen(folder);
	for (size_t i = 0; i < literal && i <= n; i++)
		if (pattern[i] != (i < n ? folder[i] : '/'))
			return false;
	if (strstr(pattern, "**"))
		return true;
	int spare = -1; /* a path below has a slash behind the folder too */
	for (const char *p = pattern; *p; p++)
		spare += *p == '/';
	for (const char *p = folder; *p; p++)
		spare -= *p == '/';
	return spare >= 0;
}

struct glob_walk {
	const char *root, *pattern;
	char **paths;
	size_t count, capacity;
};

static bool is_skipped(const char *name)
{
	static const char *const names[] = {".", "..", ".git", ".infrarsi"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum err_code glob_walk_folder(struct glob_walk *walk, const char *relative, struct err *reterr);

static enum err_code glob_walk_entry(struct glob_walk *walk, const char *path, struct err *reterr)
{
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", walk->root, path);
	struct stat st;
	if (lstat(full, &st) != 0)
		return OK; /* gone meanwhile */
	if (S_ISDIR(st.st_mode))
		return may_match_below(walk->pattern, path) ? glob_walk_folder(walk, path, reterr) : OK;
	if ((S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && glob_match(walk->pattern, path)) {
		grow_array(&walk->paths, &walk->capacity, walk->count + 1, sizeof(char *));
		walk->paths[walk->count++] = xstrdup(path);
	}
	return OK;
}

static enum err_code glob_walk_folder(struct glob_walk *walk, const char *relative, struct err *reterr)
{
	CLEANUP(free_ptr) char *folder = xasprintf("%s%s%s", walk->root, *relative ? "/" : "", relative);
	DIR *dir = opendir(folder);
	if (!dir)
		return err_errno(reterr, "cannot list folder %s", folder);
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir))) {
		if (is_skipped(entry->d_name))
			continue;
		CLEANUP(free_ptr)
		char *path = xasprintf("%s%s%s", relative, *relative ? "/" : "", entry->d_name);
		code = glob_walk_entry(walk, path, reterr);
	}
	closedir(dir);
	return code;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum err_code glob_files(
	const char *root, const char *pattern, char ***ret_paths, size_t *ret_count, struct err *reterr)
{
	struct glob_walk walk = {.root = root, .pattern = pattern};
	enum err_code code = glob_walk_folder(&walk, "", reterr);
	if (code != OK) {
		free_strings(walk.paths, walk.count);
		return code;
	}
	if (walk.count)
		qsort(walk.paths, walk.count, sizeof(char *), compare_strings);
	*ret_paths = walk.paths;
	*ret_count = walk.count;
	return OK;
}

void free_strings(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings[i]);
	free(strings);
}
