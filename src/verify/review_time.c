/* Improbable speed: more than the changes, the devices or the clock allow. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/receipt.h"
#include "stats/noise.h"
#include "verify/verify_int.h"

static double pair_noise(const struct receipt *r)
{
	return r->sigma_pair.has && r->sigma_pair.value > 0 ? r->sigma_pair.value : 0;
}

/* Seconds between the first update event and the contract's last; NAN where a stamp is missing. Updates
 * behind that one are outside: nobody asked for them, and work can be put off to them as to any other time.
 */
static double inside_s(const struct receipt *r)
{
	double sum = 0;
	for (size_t i = 1; i < r->n_updates && r->updates[i].update <= r->terms.updates; i++)
		sum += r->updates[i].harness_s;
	return r->n_updates > 1 ? sum : NAN;
}

/* Work moved from the updates to before the first or behind the last one. At least half a second and a
 * twentieth of the reference's time, and at least half of what the updates seem to have won. */
void review_wall_time(const struct judge *j)
{
	double mine = inside_s(j->r), outside = j->r->wall_s - mine, ref_outside = NAN, won = NAN, wall = NAN;
	for (size_t i = 0; i < j->n_refs; i++) {
		double theirs = inside_s(j->refs[i]);
		ref_outside = fmax(ref_outside, j->refs[i]->wall_s - theirs);
		won = fmax(won, theirs - mine);
		wall = fmax(wall, j->refs[i]->wall_s);
	}
	double extra = outside - ref_outside;
	if (all_updates_ran(j->r) && won > 0 && extra > fmax(0.5, 0.05 * wall) && extra > 0.5 * won)
		review_add(j->verdict, REVIEW_WALL_TIME,
			"%.1f s of %.1f s lie outside the updates, %.1f s more than in any reference run, "
			"while the updates won %.1f s",
			outside, j->r->wall_s, extra, won);
}

/* Share of the references' step that the declared phases take; NAN where a phase was not measured. */
static double declared_share(const struct judge *j)
{
	double touched = 0, step_s = 0;
	const struct receipt *r = j->r;
	for (size_t i = 0; i < r->n_declared_phases; i++)
		for (int p = 0; p < N_PHASES; p++)
			if (strcmp(r->declared_phases[i], phase_names[p]) == 0)
				touched += r->reference_phase_s[p].has ? r->reference_phase_s[p].value : NAN;
	for (size_t i = 0; i < j->n_refs; i++) {
		struct window_stats stats;
		receipt_window(j->refs[i], &stats);
		step_s += stats.mean_s / (double)j->n_refs;
	}
	return touched / step_s;
}

static void review_phases(const struct judge *j)
{
	double share = declared_share(j), mean_gain, median_gain;
	harness_gains_ln(j, &mean_gain, &median_gain);
	/* Stalls that are cured show in the mean alone: they are no part of the profiled phases. */
	double gain = fmin(mean_gain, median_gain);
	if (j->r->n_declared_phases == 0 || !(share >= 0 && share < 1))
		return;
	double bound = -log1p(-share), with_noise = bound + 2 * pair_noise(j->r);
	if (gain > with_noise && !is_within(gain, with_noise))
		review_add(j->verdict, REVIEW_BEYOND_PHASES,
			"%.3fx, the declared phases are %.1f%% of the time and allow at most %.3fx, %.3fx "
			"with noise",
			exp(gain), 100 * share, exp(bound), exp(with_noise));
}

/* Model FLOPs of an update (DESIGN section 10) against what the devices can do in its time; NAN = unknown. */
static double utilisation_of(const struct receipt *r, double peak_flops)
{
	struct window_stats stats;
	receipt_window(r, &stats);
	if (!stats.has_time || !r->active_params.has || !r->n_updates)
		return NAN;
	struct opt_number tokens = r->updates[r->n_updates - 1].tokens;
	double per_token = 6 * r->active_params.value;
	if (r->layers.has && r->d_attn.has && r->reported_seq_len.has)
		per_token += 12 * r->layers.value * r->d_attn.value * r->reported_seq_len.value;
	return tokens.has ? per_token * tokens.value / (peak_flops * stats.mean_s) : NAN;
}

static void review_roofline(const struct judge *j)
{
	if (!j->r->device_peak_flops.has)
		return;
	double peak = j->r->device_peak_flops.value, mine = utilisation_of(j->r, peak);
	/* Where the reference is beyond the peak too, the count or the peak is wrong, not the run. */
	for (size_t i = 0; i < j->n_refs; i++)
		if (utilisation_of(j->refs[i], peak) > 1)
			return;
	if (mine > 1 && !is_within(mine, 1))
		review_add(j->verdict, REVIEW_BEYOND_DEVICE,
			"%.0f%% of the devices' peak, more than there is", 100 * mine);
}

void review_gain(const struct judge *j)
{
	review_phases(j);
	review_roofline(j);
}

/* Median interval of updates first .. last; NAN where fewer than two have one. */
static double median_interval(const struct receipt *r, int first, int last)
{
	CLEANUP(free_ptr) double *s = xcalloc(r->n_updates + 1, sizeof(*s));
	size_t n = 0;
	for (size_t i = 0; i < r->n_updates; i++)
		if (r->updates[i].update >= first && r->updates[i].update <= last &&
			r->updates[i].harness_s > 0)
			s[n++] = r->updates[i].harness_s;
	return n >= 2 ? median_of(s, n) : NAN;
}

enum { MIN_WARM_UPDATES = 3 };

/* First update of the second half of the warm-up: compilation and tuning are over by then. */
static int warm_from(const struct receipt *r)
{
	return MAX_OF(2, r->terms.warmup / 2 + 1); /* the first update is never like the others */
}

/* ln of how much slower the second half of the warm-up is than the window; NAN where it is too short to tell.
 */
static double warmup_excess_ln(const struct receipt *r)
{
	int first = warm_from(r), last = r->terms.warmup;
	if (last - first + 1 < MIN_WARM_UPDATES)
		return NAN;
	return log(median_interval(r, first, last) / median_interval(r, last + 1, r->terms.updates));
}

/* All updates first .. last on one side of a time; with exceptions where the run is that long. */
static bool all_beside(const struct receipt *r, int first, int last, double s, bool above)
{
	int beyond = 0;
	for (int u = first; u <= last; u++) {
		const struct receipt_update *update = update_of(r, u);
		beyond += !update || (above ? update->harness_s < s : update->harness_s > s);
	}
	return beyond <= (last - first + 1) / 10;
}

/* What is slow until the measuring begins is slow because it is not measured. Other work on the machine makes
 * updates slow too, but does not end between just these two. */
static void review_warmup(const struct judge *j)
{
	const struct receipt *r = j->r;
	int first = warm_from(r), last = r->terms.warmup;
	double mine = warmup_excess_ln(r), theirs = NAN, mean_gain, median_gain;
	for (size_t i = 0; i < j->n_refs; i++)
		theirs = fmax(theirs, warmup_excess_ln(j->refs[i]));
	harness_gains_ln(j, &mean_gain, &median_gain);
	double excess = mine - theirs, limit = fmax(0.05, 3 * pair_noise(r));
	if (!(excess > limit && mean_gain > 0 && excess > 0.5 * mean_gain))
		return;
	double between_s = median_interval(r, last + 1, r->terms.updates) * exp(0.5 * mine);
	if (all_beside(r, first, last, between_s, true) &&
		all_beside(r, last + 1, r->terms.updates, between_s, false) &&
		all_beside(r, last + 1, last + 2, between_s, false))
		review_add(j->verdict, REVIEW_UNEVEN_PACE,
			"updates %d to %d, not measured, are %.2fx slower than the window (%.2fx in the "
			"reference runs), and the gain is %.2fx",
			first, last, exp(mine), exp(theirs), exp(mean_gain));
}

/* An event that was read late makes its update long and the next one short. */
static bool is_read_late(const struct receipt *r, const struct receipt_update *u, double typical_s)
{
	const struct receipt_update *before = update_of(r, u->update - 1);
	return before && before->harness_s + u->harness_s >= 1.5 * typical_s &&
	       before->harness_s > typical_s * 1.2;
}

/* How many updates at the window's beginning take less than a share of both what follows and what came
 * before. */
static int rushed_updates(const struct receipt *r, double share, double *ret_typical_s)
{
	int first = r->terms.warmup + 1, n = 0;
	double warm_s = median_interval(r, warm_from(r), r->terms.warmup);
	double window_s = median_interval(r, first, r->terms.updates);
	double typical_s = fmin(warm_s, window_s);
	while (n < (r->terms.updates - r->terms.warmup) / 2) {
		const struct receipt_update *u = update_of(r, first + n);
		if (!u || !(u->harness_s > 0 && u->harness_s < share * typical_s) ||
			is_read_late(r, u, typical_s))
			break;
		n++;
	}
	*ret_typical_s = typical_s;
	return n;
}

/* How many updates at the window's end take less than a share of the usual time: a run that reports each
 * update when a later one is done has nothing left to do for the last ones. Events that were read late are
 * paid for by the update before them. */
static int hurried_updates(const struct receipt *r, double share, double *ret_typical_s)
{
	int last = r->terms.updates, most = (last - r->terms.warmup) / 2, n = 0;
	double typical_s = median_interval(r, r->terms.warmup + 1, last), sum_s = 0;
	const struct receipt_update *u = update_of(r, last);
	for (; n < most && u && u->harness_s >= 0 && u->harness_s < share * typical_s; n++) {
		sum_s += u->harness_s;
		u = update_of(r, last - n - 1);
	}
	*ret_typical_s = typical_s;
	return u && sum_s + u->harness_s < 0.75 * (n + 1) * typical_s ? n : 0;
}

/* White noise of ln step time from successive differences over the window, blind to jumps: they are what is
 * looked for. 1.4826: from a median absolute value to a standard deviation; sqrt(2): a difference has twice
 * the variance. */
static double jumpless_noise_ln(const struct receipt *r)
{
	CLEANUP(free_ptr) double *steps = xcalloc(r->n_updates + 1, sizeof(*steps));
	size_t n = 0;
	for (size_t i = 1; i < r->n_updates; i++) {
		double before_s = r->updates[i - 1].harness_s, s = r->updates[i].harness_s;
		if (r->updates[i].update > r->terms.warmup && before_s > 0 && s > 0)
			steps[n++] = fabs(log(s / before_s));
	}
	return n > 0 ? 1.4826 * median_of(steps, n) / sqrt(2) : 0;
}

/* The largest among the run and its references. */
static double step_noise_ln(const struct judge *j)
{
	double noise = jumpless_noise_ln(j->r);
	for (size_t i = 0; i < j->n_refs; i++)
		noise = fmax(noise, jumpless_noise_ln(j->refs[i]));
	return noise;
}

/* Updates at the window's beginning whose work was done before it. Where steps vary widely by themselves,
 * less than half of the usual time says little. */
static void review_rushed(const struct judge *j)
{
	const struct receipt *r = j->r;
	double typical_s, theirs_s, share = fmin(0.5, exp(-6 * step_noise_ln(j)));
	int mine = rushed_updates(r, share, &typical_s);
	for (size_t i = 0; i < j->n_refs && mine > 0; i++)
		if (rushed_updates(j->refs[i], fmin(1, 2 * share), &theirs_s) >= mine)
			return;
	if (mine > 0)
		review_add(j->verdict, REVIEW_UNEVEN_PACE,
			"the window's first %d updates take less than %.0f%% of the %.4f s that this run "
			"takes before and after, in no reference run",
			mine, 100 * share, typical_s);
}

/* Updates at the window's end that were reported when their work was long done, as were those before them.
 * Two that come in one instant share the time of one: half of the usual each, so the limit lies above. */
static void review_hurried(const struct judge *j)
{
	const struct receipt *r = j->r;
	double typical_s, theirs_s, share = fmin(0.6, exp(-6 * step_noise_ln(j)));
	int mine = hurried_updates(r, share, &typical_s);
	for (size_t i = 0; i < j->n_refs && mine > 0; i++)
		if (hurried_updates(j->refs[i], fmin(1, 1.5 * share), &theirs_s) >= mine)
			return;
	if (mine > 0)
		review_add(j->verdict, REVIEW_UNEVEN_PACE,
			"the window's last %d updates take less than %.0f%% of the usual %.4f s and nothing "
			"before them took longer for it, in no reference run",
			mine, 100 * share, typical_s);
}

void review_pace(const struct judge *j)
{
	if (!all_updates_ran(j->r))
		return;
	review_warmup(j);
	review_rushed(j);
	review_hurried(j);
}

/* Decimals that give x back, at most 6. */
static int decimals_of(double x)
{
	char text[64];
	for (int d = 0; d < 6; d++) {
		snprintf(text, sizeof(text), "%.*f", d, x);
		if (fabs(strtod(text, NULL) - x) <= 1e-12 * fabs(x))
			return d;
	}
	return 6;
}

static bool in_window(const struct receipt *r, const struct receipt_update *u)
{
	return u->update > r->terms.warmup && u->update <= r->terms.updates;
}

struct reported { /* step times over the window */
	int n;
	bool constant;
	double spread_s; /* standard deviation of the harness's intervals */
};

static struct reported reported_of(const struct receipt *r)
{
	struct reported t = {0, true, NAN};
	double first = NAN, sum = 0, squares = 0;
	for (size_t i = 0; i < r->n_updates; i++) {
		const struct receipt_update *u = &r->updates[i];
		if (!in_window(r, u) || !u->step_s.has)
			continue;
		first = t.n++ ? first : u->step_s.value;
		t.constant = t.constant && fabs(u->step_s.value - first) <= 1e-9 * fabs(first);
		sum += u->harness_s;
		squares += u->harness_s * u->harness_s;
	}
	if (t.n > 1)
		t.spread_s = sqrt(fmax(0, (squares - sum * sum / t.n) / (t.n - 1)));
	return t;
}

static int reported_decimals(const struct receipt *r)
{
	int decimals = 0;
	for (size_t i = 0; i < r->n_updates; i++)
		if (in_window(r, &r->updates[i]) && r->updates[i].step_s.has)
			decimals = MAX_OF(decimals, decimals_of(r->updates[i].step_s.value));
	return decimals;
}

/* One and the same claim for steps that differ by the harness's clock, where the reference's claims differ
 * too and are not written more finely than the steps differ. */
void review_step_times(const struct judge *j)
{
	struct reported mine = reported_of(j->r);
	if (mine.n < 5 || !mine.constant)
		return;
	int decimals = reported_decimals(j->r);
	for (size_t i = 0; i < j->n_refs; i++) {
		struct reported theirs = reported_of(j->refs[i]);
		if (theirs.n == 0 || theirs.constant)
			return;
		decimals = MAX_OF(decimals, reported_decimals(j->refs[i]));
	}
	double mean_s, reported_s;
	(void)paired_means(j->r, &mean_s, &reported_s);
	if (mine.spread_s > 0.01 * mean_s && mine.spread_s > 2 * pow(10, -decimals))
		review_add(j->verdict, REVIEW_CONSTANT_STEPS,
			"%.6g s reported for each of %d steps that vary by %.1f%% on the harness's clock",
			reported_s, mine.n, 100 * mine.spread_s / mean_s);
}
