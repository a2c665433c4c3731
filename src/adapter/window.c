#include "base/base.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "adapter/window_int.h"
#include "base/memory.h"

/* What is in every log: windows from it are poor ones. */
static const char typical[] =
	"[rank0]: Traceback (most recent call last): File "
	"\"/opt/venv/lib/python3.10/site-packages/torch/_tensor.py\", "
	"line 525, in backward torch.autograd.backward( loss.backward() return self._call_impl(*args, "
	"**kwargs) [2025-02-11 09:30:21,552] [INFO] [logging.py:128:log_dist] [Rank 0] step=10, skipped=0, "
	"lr=[9.0e-05] | loss: 2.1 "
	"iteration 10/ 500 | consumed samples: 2560 | consumed tokens: elapsed time per iteration (ms): "
	"5120.0 | learning "
	"rate: 7.5E-07 | global batch size: 256 | lm loss: 1.0E+01 | loss scale: 1.0 | grad norm: 21.4 | "
	"number of skipped iterations: number of nan iterations: training epoch: {'loss': 2.119, "
	"'grad_norm': 37.6, "
	"'learning_rate': 4e-05, 'epoch': 0.2} step 1 loss 2.5 train_loss=5.0 memory: 55.37GiB(70.00%) tps: "
	"tflops: mfu: allocated reserved node-a:22740:22740 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via "
	"P2P/IPC WARNING: Error error "
	"distributed/elastic/multiprocessing/api.py: metric_logger.py: completed step: ***** Running "
	"training ***** ----- "
	"=====     Loading checkpoint shards: saving model global process optimizer backend runtime "
	"███████▏▎▍▌▋▊▉ ####### ------- INFO - root - 00000000 ..... ..... data workers network GPU memory "
	"space sequence length values conditions ";

struct window_counts *window_counts_new(void)
{
	struct window_counts *counts = xcalloc(1, sizeof(*counts));
	for (size_t i = 0; i + WINDOW < sizeof(typical); i++)
		counts->of[hash_of(typical + i)]++;
	return counts;
}

/* How often a byte is met, roughly: where the sample says nothing. */
static unsigned commonness(char c)
{
	if (c == ' ' || strchr("etaoinsr", c))
		return 4;
	return isalpha((unsigned char)c) ? 3 : isdigit((unsigned char)c) ? 2 : 1;
}

size_t rarest_window(const struct window_counts *counts, const char *literal, size_t length)
{
	unsigned best = UINT_MAX;
	size_t best_at = 0;
	for (size_t i = 0; i + WINDOW <= length; i++) {
		unsigned score = 32u * counts->of[hash_of(literal + i)];
		for (size_t k = i; k < i + WINDOW; k++)
			score += commonness(literal[k]);
		if (score < best) {
			best = score;
			best_at = i;
		}
	}
	return best_at;
}
