#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "patch/guard.h"
#include "spec/task.h"

/* As the kernel has them (limits.h). */
enum { PATH_CAP_BYTES = 4000, NAME_CAP_BYTES = 255 };

static bool has_component(const char *path, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (strncasecmp(at, name, length) == 0 && (at[length] == '/' || at[length] == '\0'))
			return true;
	return false;
}

static bool matches_any(const struct string_list *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (glob_match(patterns->items[i], path))
			return true;
	return false;
}

static bool is_harness_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return strcasecmp(base, "infrarsi.yaml") == 0 || strcasecmp(base, "infrarsi.lock") == 0 ||
	       strncasecmp(base, "infrarsi_hook", 13) == 0 || has_component(path, ".infrarsi");
}

/* Length of the code point at `at` if HFS+ ignores it in names (git's utf8.c: U+200C to 200F, 202A to 202E,
 * 206A to 206F, FEFF); 0 = it does not. */
static size_t ignored_length(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;
	if (c[0] == 0xe2 && c[1] == 0x80)
		return (c[2] >= 0x8c && c[2] <= 0x8f) || (c[2] >= 0xaa && c[2] <= 0xae) ? 3 : 0;
	if (c[0] == 0xe2 && c[1] == 0x81)
		return c[2] >= 0xaa && c[2] <= 0xaf ? 3 : 0;
	return c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf ? 3 : 0;
}

/* Names that git takes for its own on some file system: HFS+ ignores code points; NTFS ignores case, dots and
 * blanks at the end and what follows a colon, and gives short names. */
static bool is_git_name(const char *name, size_t length)
{
	static const char *const own[] = {".git", ".gitattributes", ".gitmodules"};
	static const char *const short_names[] = {"git~", "gitatt~", "gitmod~", "gi7d29~", "gi7eba~"};
	char plain[NAME_CAP_BYTES + 1];
	size_t n = 0;
	for (size_t i = 0; i < length && name[i] != ':' && n < NAME_CAP_BYTES;) {
		size_t ignored = ignored_length(name + i);
		if (!ignored)
			plain[n++] = name[i];
		i += ignored ? ignored : 1;
	}
	while (n && (plain[n - 1] == '.' || plain[n - 1] == ' '))
		n--;
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcasecmp(plain, own[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(short_names); i++)
		if (strncasecmp(plain, short_names[i], strlen(short_names[i])) == 0)
			return true;
	return false;
}

/* A path is the same string to all who read it: guard, git, and those who read git's diffs. */
static const char *check_names(const char *path)
{
	if (strlen(path) > PATH_CAP_BYTES)
		return "the path is too long (more than 4000 bytes)";
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\')
			return "names with control characters, double quotes or backslashes are not accepted";
	for (const char *name = path; *name;) {
		size_t length = strcspn(name, "/");
		if (length > NAME_CAP_BYTES)
			return "a name in the path is too long (more than 255 bytes)";
		if (length && (name[0] == ' ' || name[length - 1] == ' '))
			return "names that begin or end with a blank are not accepted";
		name += length + (name[length] == '/');
	}
	return NULL;
}

static bool has_git_name(const char *path)
{
	for (const char *name = path; *name;) {
		size_t length = strcspn(name, "/");
		if (is_git_name(name, length))
			return true;
		name += length + (name[length] == '/');
	}
	return false;
}

const char *guard_path(const struct contract *contract, const char *path)
{
	/* before the rest, which would say less of what is wrong with `.git ` */
	if (has_git_name(path))
		return "git's own files may not be changed";
	const char *reason = check_names(path);
	if (reason)
		return reason;
	if (!path_is_contained(path))
		return "the path leaves the task's folder";
	if (is_harness_file(path))
		return "files of the harness may not be changed";
	if (matches_any(&contract->frozen_files, path))
		return "this file is frozen (contract.frozen_files)";
	if (!matches_any(&contract->editable_files, path))
		return "this file is not editable: contract.editable_files has no pattern that matches it";
	return NULL;
}

const char *guard_kind(enum scratch_kind kind)
{
	static const char *const reasons[] = {
		[SCRATCH_NOTHING] = NULL,
		[SCRATCH_FILE] = NULL,
		[SCRATCH_FOLDER] = "this is a folder",
		[SCRATCH_LINK] =
			"the path is or leads through a symbolic link: only ordinary files may change",
		[SCRATCH_SUBMODULE] = "the path is or leads into a submodule: only ordinary files may change",
		[SCRATCH_FILE_ON_WAY] = "the path leads through a file",
	};
	return reasons[kind];
}
