/* Replays a corpus folder through a fuzz target where no fuzzing engine is linked: ordinary CI. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	char **paths = NULL;
	size_t count = 0;
	if (argc != 2 || glob_files(argv[1], "**", &paths, &count, &e) != OK || count == 0) {
		fprintf(stderr, "usage: %s CORPUS (a folder with at least one file) %s\n", argv[0],
			e.message);
		return 2;
	}
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", argv[1], paths[i]);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		if (file_read(path, FILE_CAP_DEFAULT, &text, &e) != OK) {
			fprintf(stderr, "%s\n", e.message);
			return 1;
		}
		/* A copy of exactly this size, so that a sanitizer sees a read past the end. */
		uint8_t *copy = xmalloc(text.len);
		for (size_t k = 0; k < text.len; k++)
			copy[k] = (uint8_t)text.buf[k];
		LLVMFuzzerTestOneInput(copy, text.len);
		free(copy);
	}
	printf("%zu inputs replayed\n", count);
	free_strings(paths, count);
	return 0;
}
