#include "base/base.h"

#include "adapter/reader_hf_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"'loss'", "\"loss\"", "train_runtime", "%|", "total optimization steps",
	"continuing training from", "trainoutput(", "***** train metrics", "***** running training",
	"training completed. do not forget", "logging_steps", "[info|trainer.py:", "[deepspeed]", NULL};

static const struct hf_dialect dialect = {NULL, NULL, 0};

static void line(struct reader *reader, const struct log_line *line)
{
	hf_line(reader, &dialect, line);
}

const struct reader_ops reader_hf_trainer = {
	"hf-trainer", anchors, sizeof(struct hf_state), line, hf_finish, READER_TRAINER};
