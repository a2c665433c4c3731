/* The toolchain's versions without starting every tool for every trial (50 ms of CPU time). */
#ifndef INFRARSI_RUNNER_TOOLCHAIN_H
#define INFRARSI_RUNNER_TOOLCHAIN_H

#include "base/base.h"

struct strbuf;

/* The text of toolchain_text(), with what each tool said last time kept in the file cache_path. A tool is
 * asked again when its file is another one (path, inode, size, time), and always when it is a script, which
 * may choose between versions. Without a usable cache every tool is asked. */
void toolchain_text_cached(const char *cache_path, struct strbuf *text);

#endif
