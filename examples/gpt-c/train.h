/* The training loop. */
#ifndef TRAIN_H
#define TRAIN_H

#include "model.h"
#include "report.h"

void train(const struct config *config, const struct settings *settings, struct arena *arena, struct report *report);

#endif
