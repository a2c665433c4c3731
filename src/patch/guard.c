#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "patch/guard.h"
#include "spec/task.h"

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

const char *guard_path(const struct contract *contract, const char *path)
{
	if (!path_is_contained(path))
		return "the path leaves the task's folder";
	if (has_component(path, ".git") || has_component(path, ".gitattributes") ||
		has_component(path, ".gitmodules"))
		return "git's own files may not be changed";
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
