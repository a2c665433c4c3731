/*
 * Where a lever's settings lie. A knob with three or more settings that are all numbers (setting_names are
 * read: 4, 0.5, 25MiB) has a number axis; a knob that is declared ordered has at least a rank; a patch has
 * neither.
 *
 *     struct axes axes;
 *     axes_init(&axes, levers, n_levers);
 *     if (axes.axis[l].kind == AXIS_NUMBER)
 *             use axes.axis[l].u[setting]
 *     axes_release(&axes);
 */
#ifndef INFRARSI_MODEL_AXES_H
#define INFRARSI_MODEL_AXES_H

#include "base/base.h"
#include "model/models.h"

enum axis_kind { AXIS_NONE, AXIS_RANK, AXIS_NUMBER };

/* u = log2 v where min > 0 and max/min >= 4; log2(v + 1) where min = 0 and max >= 4; else linear, so that the
 * whole range is log2 of the number of settings (CONTROLLER section 10.1). */
enum axis_scale { SCALE_LOG2, SCALE_LOG2_PLUS_1, SCALE_LINEAR };

struct axis {
	enum axis_kind kind;
	enum axis_scale scale;
	double min, max;
	double *u;    /* of each setting, absolute; NULL unless the axis is a number */
	double range; /* of u */
	int n_settings;
};

struct axes {
	int n_levers;
	struct axis *axis;
	int n_numbers; /* axes that are numbers */
	int n_ordered; /* those, and ranks */
};

void axes_init(struct axes *axes, const struct lever *levers, int n_levers);
void axes_release(struct axes *axes);
/* u of any value, also one that is no setting here. */
double axis_place(const struct axis *axis, double value);

#endif
