/* A small decoder-only transformer trained on the CPU, with every choice of speed or memory on the command line. */
#include "arena.h"
#include "options.h"
#include "report.h"
#include "train.h"

#include <stdio.h>
#include <stdlib.h>

static void end_for_lack_of_memory(void *context, const struct arena_shortage *shortage)
{
	report_shortage(context, shortage);
	fflush(stdout);
	fprintf(stderr,
		"out of device memory: requested %zu bytes, free %zu bytes, capacity %zu bytes (while allocating %s)\n",
		shortage->requested, shortage->available, shortage->capacity, shortage->name);
	exit(3);
}

int main(int argc, char **argv)
{
	struct settings settings = options_parse(argc, argv);
	struct config config = default_config;
	struct report *report = report_open();
	struct arena arena;

	config.seq_len = settings.seq_len;
	if (arena_init(&arena, (size_t)settings.capacity_mib << 20, end_for_lack_of_memory, report) < 0) {
		fprintf(stderr, "error: this machine cannot give %d MiB\n", settings.capacity_mib);
		return 1;
	}
	train(&config, &settings, &arena, report);
	arena_release_all(&arena);
	return 0;
}
