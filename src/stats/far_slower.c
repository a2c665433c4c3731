#include "base/base.h"

#include <math.h>

#include "stats/far_slower.h"

static const double patience_s = 60;

bool far_slower_update(struct far_slower *w, int update, double arrived_s)
{
	bool is_first = w->last_update == 0, follows = update == w->last_update + 1;
	double interval_s = !is_first && follows ? arrived_s - w->last_arrived_s : NAN,
	       before_s = w->interval_s;
	if (is_first) {
		w->first_arrived_s = arrived_s;
		before_s = NAN;
	}
	w->last_update = update;
	w->last_arrived_s = arrived_s;
	w->interval_s = interval_s;
	w->longest_s = fmax(w->longest_s, isfinite(interval_s) ? interval_s : 0);
	/* fmin() would take the one that is known */
	w->slow_s = isfinite(interval_s) && isfinite(before_s) ? fmin(interval_s, before_s) : NAN;
	if (!(w->factor > 0) || update >= w->updates || !(w->slow_s > w->factor * w->reference_s))
		return false;
	return arrived_s - w->first_arrived_s - w->longest_s >= fmax(patience_s, w->updates * w->reference_s);
}
