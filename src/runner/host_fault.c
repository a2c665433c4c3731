#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "runner/host_fault.h"
#include "runner/lines.h"

enum { LINE_MAX_BYTES = 4096 };

/* Lower case. What libc, shells, make, gcc, clang, ld, nvcc, ninja and Python print. */
static const char *const signatures[] = {
	"no space left on device",
	"disk quota exceeded",
	"resource temporarily unavailable", /* fork */
	"cannot allocate memory",
	"virtual memory exhausted",
	"memory exhausted",
	"out of memory allocating",
	"llvm error: out of memory",
	"too many open files",
	"input/output error",
	"stale file handle",
	/* killed by the kernel, as the drivers and make pass it on */
	"killed signal terminated program",
	"internal compiler error: killed",
	"terminated with signal 9",
	"died due to signal 9",
	"unable to execute command: killed",
	"] killed",
};

/* Compilers quote the source behind "12 |" and "|", and text in it says nothing of the machine. */
static bool is_quoted_source(const char *line)
{
	line += strspn(line, " \t");
	line += strspn(line, "0123456789");
	line += strspn(line, " \t");
	return *line == '|';
}

bool host_fault_in_line(const char *line, size_t length)
{
	char lower[LINE_MAX_BYTES + 1];
	length = MIN_OF(length, (size_t)LINE_MAX_BYTES);
	for (size_t i = 0; i < length; i++)
		lower[i] = line[i] ? (char)tolower((unsigned char)line[i]) : ' ';
	lower[length] = '\0';
	if (is_quoted_source(lower))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++)
		if (strstr(lower, signatures[i]))
			return true;
	return false;
}

struct search {
	bool found;
	char *evidence;
};

static void look_at(void *context, const char *line, size_t length, bool overlong)
{
	struct search *search = context;
	(void)overlong;
	if (search->found || !host_fault_in_line(line, length))
		return;
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, line, MIN_OF(length, (size_t)HOST_FAULT_SIZE));
	snprintf(search->evidence, HOST_FAULT_SIZE, "%s", shown.buf);
	search->found = true;
}

bool host_fault_find(const char *log_path, char ret_evidence[HOST_FAULT_SIZE])
{
	CLEANUP(close_fd) int fd = open(log_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct search search = {.evidence = ret_evidence};
	struct line_splitter lines;
	char bytes[1 << 14];
	ssize_t n;
	if (fd < 0)
		return false;
	line_splitter_init(&lines, LINE_MAX_BYTES, look_at, &search);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			line_splitter_feed(&lines, bytes, (size_t)n);
	line_splitter_finish(&lines);
	line_splitter_release(&lines);
	return search.found;
}
