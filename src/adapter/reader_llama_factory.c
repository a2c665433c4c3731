#include "base/base.h"

#include "adapter/reader_hf_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {
	"'loss'", "\"loss\"", "train_runtime", "%|", "llamafactory", "llmtuner", HF_NOTICES, NULL};
static const char *const notices[] = {HF_NOTICES, HF_FURTHER_NOTICES, "llamafactory", "llmtuner", NULL};

static const char *const words[] = {"llamafactory", "llmtuner", NULL}; /* llmtuner: until 2024 */
static const struct hf_dialect dialect = {NULL, words, 1000};

static void line(struct reader *reader, const struct log_line *line)
{
	hf_line(reader, &dialect, line);
}

/* Its preference training prints TRL's keys as well. */
const struct reader_ops reader_llama_factory = {
	"llama-factory", anchors, notices, sizeof(struct hf_state), line, hf_finish, READER_DIALECT + 1};
