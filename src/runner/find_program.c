#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runner/find_program.h"

bool find_program(const char *name, char *ret_path, size_t size)
{
	const char *path = getenv("PATH");
	CLEANUP(free_ptr) char *folders = xstrdup(path ? path : "/usr/bin:/bin");
	char *rest = folders, *folder;
	while ((folder = strsep(&rest, ":"))) {
		int n = snprintf(ret_path, size, "%s/%s", folder, name);
		if (*folder == '/' && n > 0 && (size_t)n < size && access(ret_path, X_OK) == 0)
			return true;
	}
	return false;
}
