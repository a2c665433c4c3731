/*
 * What the same job's runs elsewhere say of how memory depends on the knobs: the shape, not the level, which
 * every sibling has of its own (CONTROLLER section 10.2).
 */
#ifndef INFRARSI_MODEL_MEMORY_SHAPE_H
#define INFRARSI_MODEL_MEMORY_SHAPE_H

#include "base/base.h"
#include "model/axes.h"
#include "model/models.h"

struct memory_shape;
/* NULL: there is nothing to learn from. The axes are borrowed. */
struct memory_shape *memory_shape_fit(const struct model_input *in, const struct axes *axes);
void memory_shape_free(struct memory_shape *s);
/* ln memory of a configuration against that of the reference. */
double memory_shape_ln(struct memory_shape *s, const int *setting);

#endif
