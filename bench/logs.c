/*
 * How fast logs are read, and in how much memory: the lines of a corpus (tests/logs), over and over, through
 * a pipe, as a log of one gigabyte.
 *
 *     bench-logs [CORPUS [MEGABYTES]]
 *
 * Twice: with the logs that end well, which is what long logs are like, and with all of them, of which half
 * are tracebacks. The time is CPU time of the reading process: other work on the machine does not count.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter/log.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"

static bool ends_well(const char *log_path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%.*s.expected.json", (int)(strlen(log_path) - 4), log_path);
	CLEANUP(json_decref_ptr) json_t *expected = NULL;
	if (file_read(path, FILE_CAP_DEFAULT, &text, NULL) != OK ||
		json_object_parse(text.buf, path, &expected, NULL) != OK)
		return false;
	return json_is_null(json_object_get(expected, "failure"));
}

static enum err_code collect(const char *folder, bool all, struct strbuf *lines, struct err *reterr)
{
	char **names = NULL;
	size_t count = 0;
	TRY(glob_files(folder, "**.log", &names, &count, reterr));
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, names[i]);
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		if (!all && !ends_well(path))
			continue;
		TRY(file_read(path, FILE_CAP_DEFAULT, &log, reterr));
		strbuf_add(lines, log.buf, log.len);
		strbuf_addch(lines, '\n');
	}
	free_strings(names, count);
	return lines->len ? OK : err_set(reterr, ERR_NOT_FOUND, "no *.log below %s", folder);
}

/* The writer: never comes back. */
static void pour(int fd, const struct strbuf *lines, double bytes)
{
	for (double left = bytes; left > 0.0; left -= (double)lines->len)
		if (write_all(fd, lines->buf, lines->len, NULL) != OK)
			_exit(1);
	_exit(0);
}

static double cpu_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Resets the peak of resident memory, so that it is the scan's own. */
static void forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");
	if (!file)
		return;
	fputs("5", file);
	fclose(file);
}

static long peak_kib(void)
{
	char line[128];
	long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static int measure(const char *what, struct strbuf *lines, double bytes)
{
	int ends[2];
	if (pipe(ends) != 0)
		return 1;
	pid_t writer = fork();
	if (writer == 0) {
		close(ends[0]);
		pour(ends[1], lines, bytes);
	}
	close(ends[1]);
	strbuf_release(lines);
	forget_peak();
	enum { CHUNK = 1 << 16 };
	CLEANUP(free_ptr) char *chunk = xmalloc(CHUNK);
	struct log_summary summary;
	double start_s = cpu_s(), read_bytes = 0.0;
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	for (ssize_t n; (n = read(ends[0], chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR);)
		if (n > 0) {
			log_scan_feed(scan, chunk, (size_t)n);
			read_bytes += (double)n;
		}
	log_scan_finish(scan, &summary);
	double spent_s = cpu_s() - start_s;
	int status;
	waitpid(writer, &status, 0);
	close(ends[0]);
	printf("%-22s %6.0f MB in %6.2f s CPU: %4.0f MB/s, peak memory %.1f MiB, %ld lines\n", what,
		read_bytes * 1e-6, spent_s, read_bytes * 1e-6 / spent_s, (double)peak_kib() / 1024.0,
		summary.n_lines);
	log_summary_release(&summary);
	return 0;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "tests/logs";
	double bytes = (argc > 2 ? atof(argv[2]) : 1000.0) * 1e6;
	struct err e = ERR_INIT;
	for (int all = 0; all <= 1; all++) {
		CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT;
		if (collect(folder, all, &lines, &e) != OK) {
			fprintf(stderr, "bench-logs: %s\n", e.message);
			return 1;
		}
		if (measure(all ? "all logs" : "logs that end well", &lines, bytes) != 0)
			return 1;
	}
	return 0;
}
