#include "train.h"

void averages_update(struct averages *a, const struct model *model)
{
	for (size_t i = 0; i < a->n; i++)
		a->shadow[i] += (1.0f - EMA_DECAY) * (model->params[i] - a->shadow[i]);
}
