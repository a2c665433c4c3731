#include "base/base.h"

#include "adapter/reader_hf_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {
	"'loss'", "\"loss\"", "train_runtime", "%|", "[deepspeed]", "[info|trainer.py:", HF_NOTICES, NULL};
static const char *const notices[] = {HF_NOTICES, HF_FURTHER_NOTICES, NULL};

static const struct hf_dialect dialect = {NULL, NULL, 0};

static void line(struct reader *reader, const struct log_line *line)
{
	hf_line(reader, &dialect, line);
}

const struct reader_ops reader_hf_trainer = {
	"hf-trainer", anchors, notices, sizeof(struct hf_state), line, hf_finish, READER_TRAINER};
