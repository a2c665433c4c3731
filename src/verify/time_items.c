/* Layer 5: is it really faster, and does it still do what the user tests. */
#include "base/base.h"

#include <math.h>

#include "event/receipt.h"
#include "stats/noise.h"
#include "verify/verify_int.h"

#define TIMING_LIMIT_LN 0.03

/* ln of the references' mean step times, harness and reported; false where no reference has the second. */
static bool reference_ln(const struct judge *j, bool *ret_has_time, double *ret_harness, double *ret_reported)
{
	double harness_sum = 0, reported_sum = 0;
	size_t n = 0;
	*ret_has_time = false;
	for (size_t i = 0; i < j->n_refs; i++) {
		struct window_stats stats;
		double harness_s, reported_s;
		receipt_window(j->refs[i], &stats);
		*ret_has_time = *ret_has_time || stats.has_time;
		if (paired_means(j->refs[i], &harness_s, &reported_s) <= 1 && isfinite(reported_s)) {
			harness_sum += log(harness_s);
			reported_sum += log(reported_s);
			n++;
		}
	}
	*ret_harness = harness_sum / (double)n;
	*ret_reported = reported_sum / (double)n;
	return n > 0;
}

static void judge_clocks(const struct judge *j, double ref_harness_ln, double ref_reported_ln)
{
	double harness_s, reported_s;
	size_t without = paired_means(j->r, &harness_s, &reported_s);
	if (!isfinite(reported_s)) {
		item_set(j, ITEM_TIMING, ITEM_UNCHECKED,
			"no step time reported, by the reference it is; the harness's clock stands alone");
		return;
	}
	if (without > 1) {
		item_set(j, ITEM_TIMING, ITEM_FAIL, "no step time at %zu updates of the window", without);
		return;
	}
	double gain = ref_harness_ln - log(harness_s), claimed = ref_reported_ln - log(reported_s);
	double difference = fabs(gain - claimed);
	item_set(j, ITEM_TIMING, is_within(difference, TIMING_LIMIT_LN) ? ITEM_PASS : ITEM_FAIL,
		"%.4fx by the harness's clock, %.4fx reported: ln differs by %.4f (limit %.2f)", exp(gain),
		exp(claimed), difference, TIMING_LIMIT_LN);
}

void judge_timing(const struct judge *j)
{
	struct window_stats stats;
	bool ref_has_time;
	double ref_harness, ref_reported;
	receipt_window(j->r, &stats);
	bool ref_has_reported = reference_ln(j, &ref_has_time, &ref_harness, &ref_reported);
	if (stats.n == 0)
		item_set(j, ITEM_TIMING, ITEM_UNCHECKED, "no update of the window ran");
	else if (!ref_has_time)
		item_set(j, ITEM_TIMING, ITEM_UNCHECKED, "the reference has no reliable time stamps");
	else if (!stats.has_time)
		item_set(j, ITEM_TIMING, ITEM_FAIL, "no reliable time stamps, the reference has them");
	else if (!ref_has_reported)
		item_set(j, ITEM_TIMING, ITEM_UNCHECKED, "the job reports no step time of its own");
	else
		judge_clocks(j, ref_harness, ref_reported);
}

void judge_speed(const struct judge *j)
{
	const struct duel_result *d = j->duel;
	if (!d && j->r->role == ROLE_PROMOTION)
		item_set(j, ITEM_SPEED, ITEM_UNCHECKED,
			"one run of a duel: the duel decides over all its pairs");
	else if (!d)
		item_set(j, ITEM_SPEED, ITEM_NA, "not promoted: no final duel");
	else
		item_set(j, ITEM_SPEED, d->delivered ? ITEM_PASS : ITEM_FAIL,
			"%.4fx in %d pairs (95%% interval %.4f to %.4f), needed more than %.4fx",
			exp(d->gain_ln), d->pairs, exp(d->low_ln), exp(d->high_ln), exp(d->threshold_ln));
}

void judge_tests(const struct judge *j)
{
	if (!j->r->terms.tests_configured)
		item_set(j, ITEM_TESTS, ITEM_NA, "not configured");
	else if (!j->r->tests_passed.has)
		item_set(j, ITEM_TESTS, ITEM_UNCHECKED, "configured, not run");
	else
		item_set(j, ITEM_TESTS, j->r->tests_passed.value == 1 ? ITEM_PASS : ITEM_FAIL, "%s",
			j->r->tests_passed.value == 1 ? "every test command exits 0"
						      : "a test command failed");
}
