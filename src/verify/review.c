/* Improbable results: neither in nor out without a second look (DESIGN section 9). */
#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "event/receipt.h"
#include "verify/verify_int.h"

/* Settings cannot forge events, source changes can. Text that cannot be read is taken for a change. */
static bool is_patched(const struct receipt *r)
{
	if (!r->candidate_json)
		return false;
	CLEANUP(json_decref_ptr)
	json_t *candidate = json_loads(r->candidate_json, JSON_REJECT_DUPLICATES, NULL);
	const json_t *patches = json_object_get(candidate, "patches");
	return !json_is_array(patches) || json_array_size(patches) > 0;
}

/* Seconds between the first update event and the last; NAN where a stamp is missing. */
static double inside_s(const struct receipt *r)
{
	double sum = 0;
	for (size_t i = 1; i < r->n_updates; i++)
		sum += r->updates[i].harness_s;
	return r->n_updates > 1 ? sum : NAN;
}

/* Work moved from the updates to before the first or behind the last one. At least half a second and a
 * twentieth of the reference's time, and at least half of what the updates seem to have won. */
static void review_wall_time(const struct judge *j)
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
		review_add(j->verdict,
			"wall time: %.1f s of %.1f s lie outside the updates, %.1f s more than in any "
			"reference "
			"run, while the updates won %.1f s",
			outside, j->r->wall_s, extra, won);
}

static void review_bad_lines(const struct judge *j)
{
	int theirs = 0;
	for (size_t i = 0; i < j->n_refs; i++)
		theirs = MAX_OF(theirs, j->refs[i]->bad_event_lines);
	if (j->r->bad_event_lines > theirs)
		review_add(j->verdict,
			"events: %d lines malformed, repeated or out of order, in the reference runs at most "
			"%d",
			j->r->bad_event_lines, theirs);
}

/* Rounded output repeats by chance: a value counts as measured in full where 6 digits do not give it back. */
static bool is_full_precision(double x)
{
	char text[32];
	snprintf(text, sizeof(text), "%.6g", x);
	return strtod(text, NULL) != x;
}

/* Updates whose loss equals the other's `lag` updates before to the last bit; 0 where one differs or where
 * fewer than 3 can be compared. */
static int equal_losses(const struct receipt *a, const struct receipt *b, int lag)
{
	int equal = 0;
	bool full = false;
	for (size_t i = 0; i < a->n_updates; i++) {
		const struct receipt_update *u = &a->updates[i], *v = update_of(b, u->update - lag);
		if (!v)
			continue;
		if (!u->loss.has || !v->loss.has || u->loss.value != v->loss.value)
			return 0;
		full = full || is_full_precision(u->loss.value);
		equal++;
	}
	return full && equal >= 3 ? equal : 0;
}

static bool numerics_changed(const struct receipt *a, const struct receipt *b)
{
	return strcmp(a->compute_precision, b->compute_precision) != 0 ||
	       strcmp(a->storage_precision, b->storage_precision) != 0;
}

/* Two references that differ in a bit: this job does not repeat its losses. */
static bool references_vary(const struct judge *j)
{
	for (size_t i = 1; i < j->n_refs; i++)
		if (!equal_losses(j->refs[0], j->refs[i], 0))
			return true;
	return false;
}

static void review_losses(const struct judge *j)
{
	for (size_t i = 0; i < j->n_refs; i++) {
		int equal = equal_losses(j->r, j->refs[i], 0);
		int lagging = equal_losses(j->r, j->refs[i], 1);
		if (equal && (numerics_changed(j->r, j->refs[i]) || references_vary(j))) {
			review_add(j->verdict,
				"loss: equal to a reference run's to the last bit at all %d updates, "
				"although %s",
				equal,
				numerics_changed(j->r, j->refs[i]) ? "the precision changed"
								   : "the reference runs differ");
			return;
		}
		if (lagging && !equal) {
			review_add(j->verdict,
				"loss: equal to a reference run's one update before at all %d updates",
				lagging);
			return;
		}
	}
}

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

static void review_amdahl(const struct judge *j, double gain)
{
	double share = declared_share(j);
	if (j->r->n_declared_phases == 0 || !(share >= 0 && share < 1))
		return;
	double sigma = j->r->sigma_pair.has && j->r->sigma_pair.value > 0 ? j->r->sigma_pair.value : 0;
	double bound = -log1p(-share);
	if (gain > bound + 2 * sigma)
		review_add(j->verdict,
			"gain: %.3fx, the declared phases are %.1f%% of the time and allow at most %.3fx",
			exp(gain), 100 * share, exp(bound));
}

/* Model FLOPs of an update (DESIGN section 10) against what the devices can do in its time. */
static void review_roofline(const struct judge *j)
{
	const struct receipt *r = j->r;
	struct window_stats stats;
	receipt_window(r, &stats);
	if (!stats.has_time || !r->device_peak_flops.has || !r->active_params.has || !r->n_updates)
		return;
	struct opt_number tokens = r->updates[r->n_updates - 1].tokens;
	double per_token = 6 * r->active_params.value;
	if (r->layers.has && r->d_attn.has && r->reported_seq_len.has)
		per_token += 12 * r->layers.value * r->d_attn.value * r->reported_seq_len.value;
	double utilisation = per_token * tokens.value / (r->device_peak_flops.value * stats.mean_s);
	if (tokens.has && utilisation > 1)
		review_add(j->verdict, "gain: %.0f%% of the devices' peak, more than there is",
			100 * utilisation);
}

void find_reviews(const struct judge *j)
{
	if (j->alone)
		return;
	if (is_patched(j->r)) {
		review_wall_time(j);
		review_bad_lines(j);
	}
	review_losses(j);
	double gain = harness_gain_ln(j);
	if (isfinite(gain))
		review_amdahl(j, gain);
	review_roofline(j);
}
