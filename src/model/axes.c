#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "model/axes.h"

enum { FEWEST_SETTINGS = 3 };
static const double wide = 4; /* max/min from which on a knob counts in doublings */

static bool read_number(const char *text, double *ret_value)
{
	return parse_number(text, ret_value) || (parse_bytes(text, ret_value) && isfinite(*ret_value));
}

static bool read_values(const struct lever *lever, double *ret_value)
{
	if (lever->is_patch || lever->n_settings < FEWEST_SETTINGS || !lever->setting_names)
		return false;
	for (int s = 0; s < lever->n_settings; s++)
		if (!read_number(lever->setting_names[s], &ret_value[s]))
			return false;
	return true;
}

double axis_place(const struct axis *axis, double value)
{
	switch (axis->scale) {
	case SCALE_LOG2:
		return log2(value);
	case SCALE_LOG2_PLUS_1:
		return log2(value + 1);
	default:
		return (value - axis->min) / (axis->max - axis->min) * log2(axis->n_settings);
	}
}

static void place(struct axis *axis)
{
	axis->min = axis->max = axis->u[0];
	for (int s = 1; s < axis->n_settings; s++) {
		axis->min = fmin(axis->min, axis->u[s]);
		axis->max = fmax(axis->max, axis->u[s]);
	}
	if (axis->min > 0 && axis->max / axis->min >= wide)
		axis->scale = SCALE_LOG2;
	else if (axis->min == 0 && axis->max >= wide)
		axis->scale = SCALE_LOG2_PLUS_1;
	else
		axis->scale = SCALE_LINEAR;
	for (int s = 0; s < axis->n_settings; s++)
		axis->u[s] = axis_place(axis, axis->u[s]);
	axis->range = axis_place(axis, axis->max) - axis_place(axis, axis->min);
}

static void axis_init(struct axis *axis, const struct lever *lever)
{
	*axis = (struct axis){.n_settings = lever->n_settings};
	axis->u = xcalloc((size_t)lever->n_settings + 1, sizeof(*axis->u));
	if (read_values(lever, axis->u)) {
		axis->kind = AXIS_NUMBER;
		place(axis);
	}
	/* "1" and "1.0" are two settings of one value: no axis. */
	if (axis->kind == AXIS_NUMBER && axis->min < axis->max)
		return;
	free(axis->u);
	axis->u = NULL;
	axis->kind = lever->ordered && lever->n_settings >= FEWEST_SETTINGS ? AXIS_RANK : AXIS_NONE;
}

void axes_init(struct axes *axes, const struct lever *levers, int n_levers)
{
	*axes = (struct axes){.n_levers = n_levers};
	axes->axis = xcalloc((size_t)n_levers + 1, sizeof(*axes->axis));
	for (int l = 0; l < n_levers; l++) {
		axis_init(&axes->axis[l], &levers[l]);
		axes->n_numbers += axes->axis[l].kind == AXIS_NUMBER;
		axes->n_ordered += axes->axis[l].kind != AXIS_NONE;
	}
}

void axes_release(struct axes *axes)
{
	for (int l = 0; l < axes->n_levers; l++)
		free(axes->axis[l].u);
	free(axes->axis);
	*axes = (struct axes){0};
}
