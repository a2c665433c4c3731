#include "base/base.h"

#include "adapter/reader_hf_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {
	"'loss'", "\"loss\"", "train_runtime", "%|", "loss/policy_avg", HF_NOTICES, NULL};
static const char *const notices[] = {HF_NOTICES, HF_FURTHER_NOTICES, NULL};

/* What the trainers of TRL add: SFT the first three, DPO and its kin rewards and logps, GRPO and the online
 * ones the rest. */
static const char *const keys[] = {"num_tokens", "mean_token_accuracy", "entropy", "rewards/", "logps/",
	"logits/", "reward", "reward_std", "frac_reward_zero_std", "completion_length", "completions/",
	"clip_ratio", "clip_ratio/", "sampling/", "kl", "objective/", "policy/", NULL};
static const struct hf_dialect dialect = {keys, NULL, 20};

static void line(struct reader *reader, const struct log_line *line)
{
	hf_line(reader, &dialect, line);
}

const struct reader_ops reader_trl = {
	"trl", anchors, notices, sizeof(struct hf_state), line, hf_finish, READER_DIALECT};
