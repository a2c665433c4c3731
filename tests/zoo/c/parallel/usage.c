#include <sys/resource.h>

#include "train.h"

/* Largest resident set so far. */
long peak_bytes(void)
{
	struct rusage usage;
	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return 0;
	return usage.ru_maxrss * 1024L;
}

float evaluate(struct model *model, struct loader *loader, int n_batches)
{
	int tokens[BATCH * SEQ_LEN], targets[BATCH * SEQ_LEN];
	double loss = 0;
	for (int i = 0; i < n_batches; i++) {
		loader_next(loader, tokens, targets, BATCH, SEQ_LEN);
		loss += model_forward(model, tokens, targets, BATCH, SEQ_LEN);
	}
	return loss / n_batches;
}
