/* torch.cuda.memory_summary(): a table that any PyTorch job may print. */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_int.h"

/* "| GPU reserved memory   |  43008 MiB |  43008 MiB |  43008 MiB |      0 B   |": the second column is the
 * peak. */
static void memory_summary_line(struct reader *reader, const struct log_line *line)
{
	static const struct {
		const char *row, *kind;
	} rows[] = {{"| GPU reserved memory ", "reserved"}};
	double bytes;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *p = strstr(line->text, rows[i].row);
		p = p ? strchr(p + 1, '|') : NULL;
		p = p ? strchr(p + 1, '|') : NULL;
		if (p && read_memory(p + 1, true, &bytes))
			reader_peak_memory(reader, bytes, rows[i].kind);
	}
}

static const char *const anchors[] = {"| gpu reserved memory ", NULL};

const struct reader_ops reader_memory_summary = {
	"pytorch-memory-summary", anchors, NULL, 0, memory_summary_line, NULL, READER_AUXILIARY};
