/* GPT-NeoX: samples/sec comes first, the loss is lm_loss. */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_iteration_int.h"

struct gpt_neox {
	struct iteration_lines lines;
};

static void neox_line(struct reader *reader, const struct log_line *line)
{
	struct gpt_neox *n = reader->state;
	struct iteration_line iteration;
	long torn;
	if (reader->noticed && iteration_memory_line(reader, line->text))
		return;
	const char *rate = strstr(line->text, "samples/sec:");
	const char *head = strstr(line->text, "iteration");
	if (!rate || !head || rate > head)
		return;
	if (iteration_line_read(line->text, &iteration, &torn)) {
		iteration_step(reader, &n->lines, &iteration, line);
		reader_recognise(reader, READER_CERTAIN);
	} else if (torn >= 0) {
		reader_damaged(reader, torn);
	}
}

static void neox_finish(struct reader *reader)
{
	struct gpt_neox *n = reader->state;
	if (!n->lines.any)
		return;
	reader->facts->log_interval = (struct opt_number){true, (double)iteration_interval(&n->lines)};
	iteration_settle_skipped(reader, &n->lines);
}

static const char *const anchors[] = {"samples/sec:", "memory (mb)", NULL};
static const char *const notices[] = {"memory (mb)", NULL};

const struct reader_ops reader_gpt_neox = {
	"gpt-neox", anchors, notices, sizeof(struct gpt_neox), neox_line, neox_finish, READER_DIALECT};
