/* Layer 4: does it learn the same. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "event/receipt.h"
#include "verify/verify_int.h"

/* The loss rule of DESIGN section 9 over the window updates that the run has. */
struct loss_measure {
	int updates;      /* k: compared */
	int last_update;  /* last update of the window that ran */
	int missing, bad; /* first update without a loss, with a non-finite one; 0 = none */
	double sum, ref_sum;
	double largest; /* relative per-update deviation */
	int largest_at;
	double squares; /* of the repeats' relative deviations from their mean */
	double dof;
	double repeats_largest;
};

/* Mean over the repeats that report a finite loss; false where none does. */
static bool reference_loss(const struct judge *j, int update, double *ret_mean, size_t *ret_n)
{
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->n_refs; i++) {
		const struct receipt_update *u = update_of(j->refs[i], update);
		if (u && u->loss.has && isfinite(u->loss.value)) {
			sum += u->loss.value;
			n++;
		}
	}
	*ret_mean = n ? sum / (double)n : NAN;
	*ret_n = n;
	return n > 0;
}

static double relative(double x, double reference)
{
	/* A reference of exactly 0 has no scale: any other value is infinitely far. */
	return x == reference ? 0 : fabs(x - reference) / fabs(reference);
}

static void add_repeats(const struct judge *j, int update, double mean, size_t n, struct loss_measure *m)
{
	for (size_t i = 0; i < j->n_refs; i++) {
		const struct receipt_update *u = update_of(j->refs[i], update);
		if (!u || !u->loss.has || !isfinite(u->loss.value))
			continue;
		double deviation = relative(u->loss.value, mean);
		m->squares += deviation * deviation;
		m->repeats_largest = fmax(m->repeats_largest, deviation);
	}
	m->dof += (double)(n - 1);
}

static void measure_loss(const struct judge *j, struct loss_measure *m)
{
	const struct receipt *r = j->r;
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < r->n_updates; i++) {
		const struct receipt_update *u = &r->updates[i];
		double mean;
		size_t n;
		if (u->update <= r->terms.warmup || u->update > r->terms.updates)
			continue;
		m->last_update = u->update;
		if (!reference_loss(j, u->update, &mean, &n))
			continue;
		if (!u->loss.has || !isfinite(u->loss.value)) {
			int *first = u->loss.has ? &m->bad : &m->missing;
			*first = *first ? *first : u->update;
			continue;
		}
		add_repeats(j, u->update, mean, n, m);
		m->updates++;
		m->sum += u->loss.value;
		m->ref_sum += mean;
		double deviation = relative(u->loss.value, mean);
		if (deviation > m->largest || m->updates == 1) {
			m->largest = deviation;
			m->largest_at = u->update;
		}
	}
}

static void judge_per_update(const struct judge *j, const struct loss_measure *m, double sigma, double tau)
{
	double limit = is_within(m->repeats_largest, tau) ? tau : fmax(tau, 3 * sqrt(2) * sigma);
	char percent[32];
	item_set(j, ITEM_LOSS, is_within(m->largest, limit) ? ITEM_PASS : ITEM_FAIL,
		"largest deviation %s at update %d of %d compared (limit %.3g%%%s)",
		percent_text(m->largest, percent), m->largest_at, m->updates, 100 * limit,
		limit > tau ? ", widened: repeats differ" : "");
}

static void judge_window_mean(const struct judge *j, const struct loss_measure *m, double sigma, double tau)
{
	char a[32], b[32], percent[32];
	double k = m->updates, mine = m->sum / k, theirs = m->ref_sum / k;
	bool stopped = m->last_update < j->r->terms.updates;
	bool widened = stopped || !is_within(m->repeats_largest, tau);
	double limit = widened ? fmax(tau, 3 * sigma * sqrt(2 / k)) : tau;
	double difference = relative(mine, theirs);
	item_set(j, ITEM_LOSS, is_within(difference, limit) ? ITEM_PASS : ITEM_FAIL,
		"window mean %s against %s: %s over %d updates (limit %.3g%%%s)", number_text(mine, a),
		number_text(theirs, b), percent_text(difference, percent), m->updates, 100 * limit,
		limit > tau ? ", widened" : "");
}

void judge_loss(const struct judge *j)
{
	struct loss_measure m;
	measure_loss(j, &m);
	double tau = j->r->terms.loss_tolerance;
	double sigma = m.dof > 0 ? sqrt(m.squares / m.dof) : 0;
	if (m.bad)
		item_set(j, ITEM_LOSS, ITEM_FAIL, "not a finite number at update %d", m.bad);
	else if (m.missing)
		item_set(j, ITEM_LOSS, ITEM_FAIL, "not reported at update %d, by the reference it is",
			m.missing);
	else if (!m.updates)
		item_set(j, ITEM_LOSS, ITEM_UNCHECKED, "%s",
			m.last_update ? "the reference reports no loss" : "no update of the window ran");
	else if (j->r->terms.loss_per_update || j->verdict->items[ITEM_SAME_DATA].result == ITEM_PASS)
		judge_per_update(j, &m, sigma, tau);
	else
		judge_window_mean(j, &m, sigma, tau);
}

static bool same_first_batch(const struct judge *j)
{
	const struct receipt_update *mine = update_of(j->r, 1);
	for (size_t i = 0; i < j->n_refs; i++) {
		const struct receipt_update *theirs = update_of(j->refs[i], 1);
		if (!mine || !theirs || !mine->data[0] || strcmp(mine->data, theirs->data) != 0)
			return false;
	}
	return true;
}

static bool first_reference_norm(const struct judge *j, double *ret_mean)
{
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->n_refs; i++) {
		const struct receipt_update *u = update_of(j->refs[i], 1);
		if (u && u->grad_norm.has && isfinite(u->grad_norm.value)) {
			sum += u->grad_norm.value;
			n++;
		}
	}
	*ret_mean = sum / (double)n;
	return n > 0;
}

void judge_grad_norm(const struct judge *j)
{
	const struct receipt_update *u = update_of(j->r, 1);
	char a[32], b[32], percent[32];
	double theirs, tau = j->r->terms.grad_norm_tolerance;
	bool proven = same_first_batch(j);
	j->verdict->items[ITEM_GRAD_NORM].vetoes = proven;
	if (!u || !first_reference_norm(j, &theirs)) {
		item_set(j, ITEM_GRAD_NORM, ITEM_UNCHECKED, "%s",
			u ? "the reference reports none at update 1" : "update 1 did not run");
		return;
	}
	if (!u->grad_norm.has) {
		item_set(j, ITEM_GRAD_NORM, ITEM_UNCHECKED,
			"not reported at update 1, by the reference it is");
		return;
	}
	double difference = relative(u->grad_norm.value, theirs);
	item_set(j, ITEM_GRAD_NORM, is_within(difference, tau) ? ITEM_PASS : ITEM_FAIL,
		"update 1: %s against %s: %s (limit %.3g%%%s)", number_text(u->grad_norm.value, a),
		number_text(theirs, b), percent_text(difference, percent), 100 * tau,
		proven ? "" : "; a report, the first batch is not proven the same");
}

/* A conditional check that the harness ran, or not. */
static void judge_difference(
	const struct judge *j, enum item item, bool configured, struct opt_number difference, double limit)
{
	char percent[32];
	if (!configured)
		item_set(j, item, ITEM_NA, "not configured");
	else if (!difference.has)
		item_set(j, item, ITEM_UNCHECKED, "configured, not run");
	else
		item_set(j, item, is_within(fabs(difference.value), limit) ? ITEM_PASS : ITEM_FAIL,
			"differs by %s (limit %.3g%%)", percent_text(fabs(difference.value), percent),
			100 * limit);
}

void judge_eval(const struct judge *j)
{
	judge_difference(
		j, ITEM_EVAL, j->r->terms.eval_configured, j->r->eval_difference, j->r->terms.eval_tolerance);
}

void judge_resume(const struct judge *j)
{
	judge_difference(j, ITEM_RESUME, j->r->terms.checkpoint_configured, j->r->resume_difference,
		j->r->terms.loss_tolerance);
}

static bool in_menu(const struct receipt_terms *terms, const char *precision)
{
	for (size_t i = 0; i < terms->n_precision_menu; i++)
		if (same_precision(terms->precision_menu[i], precision))
			return true;
	return false;
}

static void judge_by_menu(const struct judge *j, const char *storage, const char *compute)
{
	const struct receipt *r = j->r;
	bool inside = in_menu(&r->terms, r->storage_precision) && in_menu(&r->terms, r->compute_precision);
	item_set(j, ITEM_PRECISION, inside ? ITEM_PASS : ITEM_FAIL,
		"storage %s, compute %s: %s the task's menu", storage, compute, inside ? "in" : "outside");
}

static bool as_in_references(const struct judge *j)
{
	for (size_t i = 0; i < j->n_refs; i++)
		if (reports_precision(j->refs[i]) && precision_differs(j->r, j->refs[i]))
			return false;
	return true;
}

static bool references_report_precision(const struct judge *j)
{
	for (size_t i = 0; i < j->n_refs; i++)
		if (reports_precision(j->refs[i]))
			return true;
	return false;
}

void judge_precision(const struct judge *j)
{
	const struct receipt *r = j->r;
	char a[SHOWN_SIZE], b[SHOWN_SIZE];
	bool has_menu = r->terms.n_precision_menu > 0, expected = references_report_precision(j);
	j->verdict->items[ITEM_PRECISION].vetoes = has_menu;
	shown_text(r->storage_precision, a);
	shown_text(r->compute_precision, b);
	if (!reports_precision(r)) {
		item_set(j, ITEM_PRECISION, ITEM_UNCHECKED, "not reported%s",
			expected ? ", by the reference it is" : "");
	} else if (has_menu) {
		judge_by_menu(j, a, b);
	} else if (!expected) {
		item_set(j, ITEM_PRECISION, ITEM_UNCHECKED, "the reference reports none");
	} else {
		bool same = as_in_references(j);
		item_set(j, ITEM_PRECISION, same ? ITEM_PASS : ITEM_FAIL, "storage %s, compute %s%s", a, b,
			same ? " as in the reference" : ": another than the reference's; no menu declared");
	}
}
