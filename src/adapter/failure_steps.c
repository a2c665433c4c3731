/* What the steps of a log say of its end. */
#include "base/base.h"

#include <math.h>

#include "adapter/failure_int.h"

static bool not_finite(struct opt_number n)
{
	return n.has && !isfinite(n.value);
}

static bool bad_loss(const struct log_step *s)
{
	return not_finite(s->loss);
}

/* A gradient norm that is not finite is what loss scaling looks for: the update is skipped. */
static bool bad_gradient(const struct log_step *s)
{
	return not_finite(s->grad_norm) && !(s->skipped_updates.has && s->skipped_updates.value > 0.0);
}

/* The run of bad gradients that leads up to a step; the loss follows a little later. */
static long run_start(const struct log_summary *summary, long at)
{
	while (at > 0 && bad_gradient(&summary->steps[at - 1]))
		at--;
	return at;
}

static bool prints_loss(const struct log_summary *summary)
{
	for (size_t i = 0; i < summary->n_steps; i++)
		if (summary->steps[i].loss.has)
			return true;
	return false;
}

long steps_not_finite(const struct log_summary *summary)
{
	long n = (long)summary->n_steps;
	for (long i = 0; i < n; i++)
		if (bad_loss(&summary->steps[i]))
			return run_start(summary, i);
	/* The HF Trainer prints 0 in place of a loss that is not finite, Megatron before core 0.17 leaves it
	 * out: then the gradients tell, when they do not recover. */
	long first = run_start(summary, n);
	bool left_out = n > first && !summary->steps[n - 1].loss.has && prints_loss(summary);
	return n - first >= 2 || left_out ? (first < n ? first : -1) : -1;
}

/* Steps stand in the order of their numbers, which is not the order of lines after a restart. */
long steps_behind(const struct log_summary *summary, long line)
{
	long count = 0;
	for (size_t i = 0; i < summary->n_steps; i++)
		count += summary->steps[i].line > line;
	return count;
}

void steps_last_good(const struct log_summary *summary, struct failure_report *report)
{
	const struct log_step *last = NULL;
	for (size_t i = 0; i < summary->n_steps; i++) {
		const struct log_step *s = &summary->steps[i];
		bool before = report->line == 0 || s->line < report->line;
		bool good = !bad_loss(s) && !(report->class == FAILURE_NAN && bad_gradient(s));
		if (before && good && (!last || s->line >= last->line))
			last = s;
	}
	/* Step 0 is where counting begins, not an update that went before. */
	if (last && last->step > 0)
		report->last_good_step = (struct opt_number){true, (double)last->step};
}
