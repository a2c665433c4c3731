/*
 * How fast logs are read, and in how much memory: text made of a corpus (tests/logs), over and over, through
 * a pipe.
 *
 *     bench-logs [CORPUS [MEGABYTES [REPEATS [NAME]]]]        NAME: of one row
 *
 * - the logs that end well, which is what long logs are like, and all of them, of which half are tracebacks;
 * - of each format the logs that end well, as they stand; and nothing but the lines from which a step is
 *   read, behind one whole log: no log of that format can be denser.
 *
 * The time is CPU time of the reading process: other work on the machine does not count, but for what it
 * takes of caches and of a core's other half. So everything is measured several times, in rounds; the median
 * is shown, and the slowest and the fastest.
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

enum { MAX_FORMATS = 64, MAX_TEXTS = 2 + 2 * MAX_FORMATS, MAX_REPEATS = 99 };

/* A log to be made: the head once, the body over and over. */
struct text {
	char name[64];
	struct strbuf head, body;
	double mb_per_s[MAX_REPEATS];
	double peak_mib;
};

struct texts {
	struct log_literals *literals; /* shared: making them takes longer than reading a small log */
	struct text items[MAX_TEXTS];
	size_t count;
};

static struct text *text_named(struct texts *texts, const char *name)
{
	for (size_t i = 0; i < texts->count; i++)
		if (strcmp(texts->items[i].name, name) == 0)
			return &texts->items[i];
	struct text *text = &texts->items[texts->count++];
	*text = (struct text){.head = STRBUF_INIT, .body = STRBUF_INIT};
	snprintf(text->name, sizeof(text->name), "%s", name);
	return text;
}

/* ---- the corpus ---- */

static void note_step(void *context, const struct log_step *step)
{
	(void)step;
	*(bool *)context = true;
}

/* The lines of which a step is made. */
static void add_step_lines(
	const struct strbuf *log, const struct log_literals *literals, struct strbuf *lines)
{
	bool step = false;
	struct log_summary summary;
	struct log_options options = {.literals = literals};
	struct log_scan *scan = log_scan_new(&options, note_step, &step);
	for (const char *p = log->buf, *end = log->buf + log->len; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *next = newline ? newline + 1 : end;
		step = false;
		log_scan_feed(scan, p, (size_t)(next - p));
		if (step)
			strbuf_add(lines, p, (size_t)(next - p));
		p = next;
	}
	log_scan_finish(scan, &summary);
	log_summary_release(&summary);
}

static void add_log(struct texts *texts, const struct strbuf *log, const json_t *expected)
{
	const char *format = json_string_value(json_object_get(expected, "framework"));
	bool ends_well = json_is_null(json_object_get(expected, "failure"));
	char name[64];
	strbuf_add(&text_named(texts, "all logs")->body, log->buf, log->len);
	if (!ends_well)
		return;
	strbuf_add(&text_named(texts, "logs that end well")->body, log->buf, log->len);
	if (!format || !log_format_known(format))
		return;
	strbuf_add(&text_named(texts, format)->body, log->buf, log->len);
	snprintf(name, sizeof(name), "%s, steps only", format);
	struct text *steps = text_named(texts, name);
	if (!steps->head.len)
		strbuf_add(&steps->head, log->buf, log->len);
	add_step_lines(log, texts->literals, &steps->body);
}

static enum err_code collect(const char *folder, struct texts *texts, struct err *reterr)
{
	char **names = NULL;
	size_t count = 0;
	TRY(glob_files(folder, "**.log", &names, &count, reterr));
	text_named(texts, "logs that end well");
	text_named(texts, "all logs");
	enum err_code code = count ? OK : err_set(reterr, ERR_NOT_FOUND, "no *.log below %s", folder);
	for (size_t i = 0; i < count && code == OK; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, names[i]);
		CLEANUP(free_ptr)
		char *expected_path = xasprintf("%.*s.expected.json", (int)(strlen(path) - 4), path);
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT, json = STRBUF_INIT;
		CLEANUP(json_decref_ptr) json_t *expected = NULL;
		code = file_read(path, FILE_CAP_DEFAULT, &log, reterr);
		if (code == OK)
			code = file_read(expected_path, FILE_CAP_DEFAULT, &json, reterr);
		if (code == OK)
			code = json_object_parse(json.buf, expected_path, &expected, reterr);
		if (code == OK) {
			if (log.len && log.buf[log.len - 1] != '\n')
				strbuf_addch(&log, '\n');
			add_log(texts, &log, expected);
		}
	}
	free_strings(names, count);
	return code;
}

/* ---- measuring ---- */

/* The writer: never comes back. */
static void pour(int fd, const struct text *text, double bytes)
{
	bool failed = write_all(fd, text->head.buf, text->head.len, NULL) != OK;
	for (double left = bytes; left > 0.0 && !failed; left -= (double)text->body.len)
		failed = write_all(fd, text->body.buf, text->body.len, NULL) != OK;
	_exit(failed);
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

static bool measure(struct text *text, const struct log_literals *literals, double bytes, int round)
{
	int ends[2];
	if (pipe(ends) != 0)
		return false;
	pid_t writer = fork();
	if (writer == 0) {
		close(ends[0]);
		pour(ends[1], text, bytes);
	}
	close(ends[1]);
	forget_peak();
	enum { CHUNK = 1 << 16 };
	CLEANUP(free_ptr) char *chunk = xmalloc(CHUNK);
	struct log_options options = {.literals = literals};
	struct log_summary summary;
	double start_s = cpu_s(), read_bytes = 0.0;
	struct log_scan *scan = log_scan_new(&options, NULL, NULL);
	for (ssize_t n; (n = read(ends[0], chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR);)
		if (n > 0) {
			log_scan_feed(scan, chunk, (size_t)n);
			read_bytes += (double)n;
		}
	log_scan_finish(scan, &summary);
	text->mb_per_s[round] = read_bytes * 1e-6 / (cpu_s() - start_s);
	text->peak_mib = MAX_OF(text->peak_mib, (double)peak_kib() / 1024.0);
	log_summary_release(&summary);
	int status = 0;
	waitpid(writer, &status, 0);
	close(ends[0]);
	return writer > 0 && status == 0;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static int measure_all(struct texts *texts, double bytes, int repeats, const char *only)
{
	for (size_t i = 0; only && i < texts->count; i++)
		if (strcmp(texts->items[i].name, only) != 0)
			strbuf_clear(&texts->items[i].body);
	for (int round = 0; round < repeats; round++)
		for (size_t i = 0; i < texts->count; i++)
			if (texts->items[i].body.len &&
				!measure(&texts->items[i], texts->literals, bytes, round))
				return 1;
	for (size_t i = 0; i < texts->count; i++) {
		struct text *text = &texts->items[i];
		if (!text->body.len)
			continue;
		qsort(text->mb_per_s, (size_t)repeats, sizeof(text->mb_per_s[0]), by_value);
		printf("%-32s %5.0f MB/s CPU (%.0f to %.0f), peak memory %.1f MiB\n", text->name,
			text->mb_per_s[repeats / 2], text->mb_per_s[0], text->mb_per_s[repeats - 1],
			text->peak_mib);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "tests/logs";
	double bytes = (argc > 2 ? atof(argv[2]) : 100.0) * 1e6;
	int repeats = argc > 3 ? atoi(argv[3]) : 5;
	struct err e = ERR_INIT;
	struct texts *texts = xcalloc(1, sizeof(*texts));
	int status = 2;
	texts->literals = log_literals_new();
	if (!(bytes > 0.0) || repeats < 1 || repeats > MAX_REPEATS)
		fprintf(stderr, "bench-logs: [CORPUS [MEGABYTES [REPEATS [NAME]]]], 1 to %d repeats\n",
			MAX_REPEATS);
	else if (collect(folder, texts, &e) != OK)
		fprintf(stderr, "bench-logs: %s\n", e.message);
	else
		status = measure_all(texts, bytes, repeats, argc > 4 ? argv[4] : NULL);
	for (size_t i = 0; i < texts->count; i++) {
		strbuf_release(&texts->items[i].head);
		strbuf_release(&texts->items[i].body);
	}
	log_literals_free(texts->literals);
	free(texts);
	return status;
}
