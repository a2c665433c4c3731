/*
 * Where runs fail, as a probit Gaussian process over the knobs' axes (CONTROLLER section 10.5): for tasks in
 * which most knobs are numbers, a failure says something of its surroundings rather than of single settings.
 */
#ifndef INFRARSI_MODEL_FAILURE_FIELD_H
#define INFRARSI_MODEL_FAILURE_FIELD_H

#include "base/base.h"
#include "model/models.h"

struct failure_field;
/* NULL: not the kind of task. */
struct failure_field *failure_field_fit(const struct model_input *in);
void failure_field_free(struct failure_field *f);
double failure_field_p_ok(struct failure_field *f, const int *setting);

#endif
