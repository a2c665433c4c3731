/* Improbable curves: losses and norms that are somebody else's. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/receipt.h"
#include "verify/verify_int.h"

/* A coincidence less likely than this is none. */
#define IMPROBABLE 1e-6

enum { MAX_LAG = 8, MIN_COMPARED = 3, FULL_DIGITS = 7 };

#define LOSS offsetof(struct receipt_update, loss)
#define NORM offsetof(struct receipt_update, grad_norm)

static double value_of(const struct receipt *r, int update, size_t offset)
{
	const struct receipt_update *u = update_of(r, update);
	const struct opt_number *n = u ? (const struct opt_number *)((const char *)u + offset) : NULL;
	return n && n->has ? n->value : NAN;
}

/* Significant digits of the longest value of the curve, at most 9: rounded output repeats by chance. Values
 * that were computed with and are a last bit beside a decimal count as that decimal. */
static int digits_of(const struct receipt *r, size_t offset)
{
	int digits = 1;
	for (size_t i = 0; i < r->n_updates && digits < 9; i++) {
		double x = value_of(r, r->updates[i].update, offset);
		char text[32];
		for (; isfinite(x) && digits < 9; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, x);
			if (fabs(strtod(text, NULL) - x) <= 1e-12 * fabs(x))
				break;
		}
	}
	return digits;
}

struct match {
	int compared, equal;
};

/* a's values against b's of `lag` updates before (after, where negative); gives up where more than a fifth
 * differs. */
static struct match match_curves(const struct receipt *a, const struct receipt *b, size_t offset, int lag)
{
	struct match m = {0, 0};
	int allowed = (int)a->n_updates / 5;
	for (size_t i = 0; i < a->n_updates && m.compared - m.equal <= allowed; i++) {
		double x = value_of(a, a->updates[i].update, offset);
		double y = value_of(b, a->updates[i].update - lag, offset);
		if (!isfinite(x) || !isfinite(y))
			continue;
		m.compared++;
		m.equal += x == y;
	}
	return m;
}

static bool is_whole(const struct match *m)
{
	return m->compared >= MIN_COMPARED && m->equal == m->compared;
}

/* How often values of reference runs meet at this lag by themselves: rounding, plateaus, deterministic jobs.
 */
static struct match meetings(const struct judge *j, size_t offset, int lag)
{
	struct match m = {0, 0};
	for (size_t i = 0; i < j->n_refs; i++) {
		for (size_t k = 0; k < j->n_refs; k++) {
			if (lag == 0 && k <= i)
				continue;
			const struct receipt *a = j->refs[i], *b = j->refs[k];
			for (size_t u = 0; u < a->n_updates; u++) {
				double x = value_of(a, a->updates[u].update, offset);
				double y = value_of(b, a->updates[u].update - lag, offset);
				m.compared += isfinite(x) && isfinite(y);
				m.equal += x == y;
			}
		}
	}
	return m;
}

/* Laplace's rule, so that a few updates never give a certainty. */
static double rate_of(const struct match *m)
{
	return (m->equal + 1.0) / (m->compared + 2.0);
}

/* m.equal of m.compared meetings at this rate are no coincidence. 2^n bounds the ways to choose which. */
static bool is_improbable(const struct match *m, double rate)
{
	double ln_chance = m->equal * log(rate) + (m->equal < m->compared ? m->compared * log(2) : 0);
	return m->compared >= MIN_COMPARED && ln_chance < log(IMPROBABLE);
}

/* No two references are one: this job does not repeat its losses. */
static bool references_vary(const struct judge *j)
{
	for (size_t i = 0; i < j->n_refs; i++) {
		for (size_t k = i + 1; k < j->n_refs; k++) {
			struct match m = match_curves(j->refs[i], j->refs[k], LOSS, 0);
			if (m.compared == 0 || is_whole(&m))
				return false;
		}
	}
	return j->n_refs > 1;
}

/* Another precision moves a loss by 1e-4 of it or more: so often do values of that many digits meet all the
 * same. */
static double rate_across_precisions(int digits)
{
	return fmin(1, pow(10, 1 - digits) / 1e-4);
}

/* Another gradient norm, by more than another order of adding up would make: other parameters, another loss.
 */
static bool norms_differ(const struct receipt *a, const struct receipt *b)
{
	int compared = 0, different = 0;
	for (size_t i = 0; i < a->n_updates; i++) {
		double x = value_of(a, a->updates[i].update, NORM),
		       y = value_of(b, a->updates[i].update, NORM);
		if (!isfinite(x) || !isfinite(y))
			continue;
		compared++;
		different += fabs(x - y) > 1e-4 * fmax(fabs(x), fabs(y));
	}
	return compared >= MIN_COMPARED && 2 * different > compared;
}

static void review_equal_loss(const struct judge *j, const struct receipt *ref)
{
	struct match m = match_curves(j->r, ref, LOSS, 0);
	if (!is_whole(&m))
		return;
	double rate = 1;
	const char *although = "";
	if (precision_differs(j->r, ref)) {
		rate = rate_across_precisions(digits_of(j->r, LOSS));
		although = "the precision changed";
	} else if (references_vary(j)) {
		struct match own = meetings(j, LOSS, 0);
		rate = rate_of(&own);
		although = "the reference runs differ";
	} else if (is_patched(j->r) && norms_differ(j->r, ref)) {
		rate = rate_across_precisions(digits_of(j->r, LOSS));
		although = "the gradient norms differ";
	}
	/* Settings forge nothing: there, only what was written in full is worth a second look. */
	bool telling = is_patched(j->r) || digits_of(j->r, LOSS) >= FULL_DIGITS;
	if (telling && is_improbable(&m, rate))
		review_add(j->verdict, REVIEW_EQUAL_LOSS,
			"equal to a reference run's to the last digit at all %d updates, although %s",
			m.compared, although);
}

/* The lag at which a's curve is b's and should not be; 0 = none. */
static int improbable_lag(
	const struct judge *j, const struct receipt *b, size_t offset, struct match *ret_match)
{
	for (int size = 1; size <= MAX_LAG; size++) {
		for (int sign = 1; sign >= -1; sign -= 2) {
			int lag = sign * size;
			struct match m = match_curves(j->r, b, offset, lag);
			if (m.compared < MIN_COMPARED || 5 * m.equal < 4 * m.compared)
				continue;
			struct match own = meetings(j, offset, lag);
			double rate = rate_of(&own);
			/* Values written in full do not meet by chance, however few there are. */
			if (own.equal == 0 && digits_of(j->r, offset) >= FULL_DIGITS)
				rate = fmin(rate, 1e-3);
			if (is_improbable(&m, rate)) {
				*ret_match = m;
				return lag;
			}
		}
	}
	return 0;
}

static void review_lagging_loss(const struct judge *j, const struct receipt *ref)
{
	struct match m = match_curves(j->r, ref, LOSS, 0);
	int lag = is_whole(&m) ? 0 : improbable_lag(j, ref, LOSS, &m);
	if (lag)
		review_add(j->verdict, REVIEW_LAGGING_LOSS,
			"equal to a reference run's %d update%s %s at %d of %d updates", abs(lag),
			abs(lag) == 1 ? "" : "s", lag > 0 ? "before" : "later", m.equal, m.compared);
}

/* A loss that keeps its distance: the difference, or the ratio, is the same at every update to a thousandth
 * of itself. */
static bool is_shifted(const struct receipt *a, const struct receipt *b, bool by_ratio, double *ret_shift)
{
	double sum = 0, low = INFINITY, high = -INFINITY, size = 0;
	int n = 0;
	for (size_t i = 0; i < a->n_updates; i++) {
		double x = value_of(a, a->updates[i].update, LOSS),
		       y = value_of(b, a->updates[i].update, LOSS);
		if (!isfinite(x) || !isfinite(y) || y == 0)
			continue;
		double shift = by_ratio ? x / y - 1 : x - y;
		n++;
		sum += shift;
		low = fmin(low, shift);
		high = fmax(high, shift);
		size = fmax(size, by_ratio ? 1 : fabs(y));
	}
	double mean = sum / n;
	*ret_shift = mean;
	return n >= 5 && fabs(mean) > 1e-5 * size && high - low <= 1e-3 * fabs(mean);
}

static void review_shifted_loss(const struct judge *j, const struct receipt *ref)
{
	double shift;
	/* Where a digit is a thousandth of the shift, rounding alone can make it seem the same. */
	if (digits_of(ref, LOSS) < FULL_DIGITS)
		return;
	if (is_shifted(j->r, ref, false, &shift))
		review_add(j->verdict, REVIEW_SHIFTED_LOSS, "a reference run's %+.6g at every update", shift);
	else if (is_shifted(j->r, ref, true, &shift))
		review_add(j->verdict, REVIEW_SHIFTED_LOSS, "a reference run's times %.6f at every update",
			1 + shift);
}

/* Losses that differ by more than another way to add them up. */
static bool losses_differ(const struct receipt *a, const struct receipt *b)
{
	int compared = 0, different = 0;
	for (size_t i = 0; i < a->n_updates; i++) {
		double x = value_of(a, a->updates[i].update, LOSS),
		       y = value_of(b, a->updates[i].update, LOSS);
		if (!isfinite(x) || !isfinite(y))
			continue;
		compared++;
		different += fabs(x - y) > 1e-5 * fabs(y);
	}
	return compared >= MIN_COMPARED && 2 * different > compared;
}

static void review_norms(const struct judge *j, const struct receipt *ref)
{
	struct match m = match_curves(j->r, ref, NORM, 0);
	if (is_whole(&m)) {
		if (losses_differ(j->r, ref) && digits_of(j->r, NORM) >= FULL_DIGITS)
			review_add(j->verdict, REVIEW_EQUAL_NORM,
				"gradient norms equal a reference run's to the last digit at all %d updates, "
				"the losses do not",
				m.compared);
		return;
	}
	int lag = improbable_lag(j, ref, NORM, &m);
	if (lag)
		review_add(j->verdict, REVIEW_EQUAL_NORM,
			"gradient norms equal a reference run's %d updates %s at %d of %d updates", abs(lag),
			lag > 0 ? "before" : "later", m.equal, m.compared);
}

void review_curves(const struct judge *j)
{
	bool patched = is_patched(j->r);
	for (size_t i = 0; i < j->n_refs; i++) {
		review_equal_loss(j, j->refs[i]);
		review_lagging_loss(j, j->refs[i]);
		if (patched) {
			review_shifted_loss(j, j->refs[i]);
			review_norms(j, j->refs[i]);
		}
	}
}

void verify_against_trials(const struct receipt *r, const struct receipt *const *refs, size_t n_refs,
	const struct receipt *const *trials, size_t n_trials, struct verdict *verdict)
{
	struct judge j = {r, refs, n_refs, false, NULL, verdict};
	if (n_refs == 0 || !is_patched(r))
		return;
	for (size_t i = 0; i < n_trials; i++) {
		const struct receipt *other = trials[i];
		if (role_is_reference(other->role) || other->seq >= r->seq ||
			strcmp(other->campaign, r->campaign) != 0)
			continue;
		struct match m = match_curves(r, other, LOSS, 0);
		int lag = is_whole(&m) ? 0 : improbable_lag(&j, other, LOSS, &m);
		/* Two trials that share a deterministic setting are equal honestly; of two precisions, or
		 * late, they are not. */
		bool replayed = lag || (is_whole(&m) && precision_differs(r, other) &&
					       is_improbable(&m, rate_across_precisions(digits_of(r, LOSS))));
		if (replayed)
			review_add(verdict, REVIEW_REPLAYED_LOSS,
				"equal to that of receipt %lld%s at %d of %d updates", (long long)other->seq,
				lag ? ", some updates apart," : ", of another precision,", m.equal,
				m.compared);
	}
}
