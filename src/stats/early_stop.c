#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "stats/early_stop.h"

static const double error_allowed = 0.005;

/* Beyond that many updates only every 16th is looked at: a median costs a sort. */
enum { LOOKED_AT_ALL = 64, LOOK_EVERY = 16 };

void early_stop_calibrate(const struct run_times *runs, size_t n_runs, struct early_stop_terms *terms)
{
	double squares = 0, differences = 0;
	for (size_t r = 0; r < n_runs; r++) {
		if (runs[r].n < 3)
			continue;
		double sd = white_noise_ln(runs[r].step_s, runs[r].n), count = (double)(runs[r].n - 1);
		squares += sd * sd * count;
		differences += count;
	}
	terms->step_sd_ln = differences > 0 ? sqrt(squares / differences) : INFINITY;
	/* The variance of the estimate from m differences is that of 2m/3 degrees of freedom (von Neumann
	 * 1941). */
	terms->step_dof = 2 * differences / 3;
}

void early_stop_init(struct early_stop *test, const struct early_stop_terms *terms)
{
	*test = (struct early_stop){.terms = *terms};
}

void early_stop_release(struct early_stop *test)
{
	free(test->step_s);
	*test = (struct early_stop){.step_s = NULL};
}

double early_stop_slower_ln(const struct early_stop *test)
{
	if (test->n == 0)
		return NAN;
	double mean_ln = test->sum_ln / (double)test->n;
	return fmin(mean_ln, log(median_of(test->step_s, test->n))) - log(test->terms.incumbent_s);
}

double early_stop_bound_ln(const struct early_stop *test)
{
	const struct early_stop_terms *t = &test->terms;
	if (test->unreadable || test->n < EARLY_STOP_UPDATES_MIN || t->reference_runs < 2 ||
		!(t->step_dof > 0))
		return INFINITY;
	double sd = fmax(t->step_sd_ln, white_noise_ln(test->step_s, test->n));
	double between = t->sigma_pair * t->sigma_pair, within = sd * sd / EARLY_STOP_UPDATES_MIN;
	double variance = between + within;
	if (variance == 0)
		return t->gate_ln;
	double dof = variance * variance /
		     (between * between / (t->reference_runs - 1) + within * within / t->step_dof);
	return t->gate_ln + student_t_quantile(1 - error_allowed / 2, dof) * sqrt(variance);
}

/* Its line was read together with the one before, so the interval before ended too late. */
static void leave_out_last(struct early_stop *test)
{
	if (test->last_counts)
		test->sum_ln -= log(test->step_s[--test->n]);
	test->last_counts = false;
}

bool early_stop_add(struct early_stop *test, double step_s)
{
	test->unreadable |= !isfinite(step_s);
	if (test->unreadable)
		return false;
	if (step_s <= 0) {
		leave_out_last(test);
		return false;
	}
	test->last_counts = true;
	grow_array(&test->step_s, &test->capacity, test->n + 1, sizeof(*test->step_s));
	test->step_s[test->n++] = step_s;
	test->sum_ln += log(step_s);
	if (test->n > LOOKED_AT_ALL && test->n % LOOK_EVERY != 0)
		return false;
	return early_stop_slower_ln(test) > early_stop_bound_ln(test);
}
