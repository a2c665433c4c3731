#include "base/base.h"

#include "adapter/reader_hf_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"llamafactory", "llmtuner", "'loss'", "\"loss\"", "train_runtime", "%|",
	"total optimization steps", "continuing training from", "trainoutput(", "***** train metrics",
	"***** running training", "training completed. do not forget", "logging_steps", NULL};

static const char *const words[] = {"llamafactory", "llmtuner", NULL}; /* llmtuner: until 2024 */
static const struct hf_dialect dialect = {NULL, words, 1000};

static void line(struct reader *reader, const struct log_line *line)
{
	hf_line(reader, &dialect, line);
}

/* Its preference training prints TRL's keys as well. */
const struct reader_ops reader_llama_factory = {
	"llama-factory", anchors, sizeof(struct hf_state), line, hf_finish, READER_DIALECT + 1};
