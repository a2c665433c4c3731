#include "base/base.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "runner/find_program.h"
#include "runner/toolchain.h"
#include "runner/workspace.h"

enum { CACHE_CAP_BYTES = 1 << 16 };

/* What turns sources into a job: another version means another build. */
static const char *const tools[] = {
	"cc", "c++", "ld", "make", "cmake", "ninja", "nvcc", "hipcc", "rustc", "python3"};

static void ask(const char *tool, struct strbuf *line)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	const char *argv[] = {tool, "--version", NULL};
	struct process_run run = {.argv = argv, .timeout_s = 20};
	int status = -1;
	if (process_run(&run, &output, NULL, &status, NULL) != OK || status != 0)
		return; /* not installed: then the build does not use it */
	strbuf_addf(line, "%s: ", tool);
	strbuf_add_escaped(line, output.buf, strcspn(output.buf, "\n"));
	strbuf_addch(line, '\n');
}

void toolchain_text(struct strbuf *text)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		ask(tools[i], text);
}

static bool is_script(const char *path)
{
	char start[2];
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || read(fd, start, 2) != 2 || memcmp(start, "#!", 2) == 0;
}

/* "" when it must be asked each time. */
static void identify(const char *tool, struct strbuf *identity)
{
	char path[PATH_MAX];
	struct stat st;
	if (!find_program(tool, path, sizeof(path))) {
		strbuf_addstr(identity, "absent");
		return;
	}
	CLEANUP(free_ptr) char *real = realpath(path, NULL);
	if (!real || stat(real, &st) != 0 || is_script(real))
		return;
	strbuf_add_escaped(identity, real, strlen(real));
	strbuf_addf(identity, " %llu %lld %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* True when the cache had to be changed. */
static bool recall_or_ask(json_t *cache, const char *tool, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf identity = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	identify(tool, &identity);
	const json_t *entry = json_object_get(cache, tool);
	const char *known = json_string_value(json_array_get(entry, 0));
	const char *said = json_string_value(json_array_get(entry, 1));
	if (identity.len && known && said && strcmp(known, identity.buf) == 0) {
		strbuf_addstr(text, said);
		return false;
	}
	ask(tool, &line);
	strbuf_add(text, line.buf, line.len);
	return json_object_set_new(cache, tool, json_pack("[s, s]", identity.buf, line.buf)) == 0 &&
	       identity.len > 0;
}

void toolchain_text_cached(const char *cache_path, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf stored = STRBUF_INIT;
	json_t *cache = NULL;
	if (file_read(cache_path, CACHE_CAP_BYTES, &stored, NULL) == OK)
		cache = json_loadb(stored.buf, stored.len, 0, NULL);
	if (!json_is_object(cache)) {
		json_decref(cache);
		cache = json_object();
	}
	bool changed = false;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		changed |= recall_or_ask(cache, tools[i], text);
	char *dumped = changed ? json_dumps(cache, JSON_INDENT(1)) : NULL;
	if (dumped && file_write_atomic(cache_path, dumped, strlen(dumped), 0644, NULL) != OK)
		unlink(cache_path); /* then the next one asks again */
	free(dumped);
	json_decref(cache);
}
