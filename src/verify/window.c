#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "event/receipt.h"
#include "stats/noise.h"
#include "verify/verify.h"
#include "verify/verify_int.h"

static bool in_window(const struct receipt *r, const struct receipt_update *u)
{
	return u->update > r->terms.warmup && u->update <= r->terms.updates;
}

static bool is_time(double s)
{
	return isfinite(s) && s > 0;
}

/* Window columns in order; each array has room for n_updates. */
struct columns {
	double *harness_s, *reported_s, *loss;
	size_t n, n_harness, n_reported, n_loss;
};

static void collect(const struct receipt *r, struct columns *c)
{
	for (size_t i = 0; i < r->n_updates; i++) {
		const struct receipt_update *u = &r->updates[i];
		if (!in_window(r, u))
			continue;
		c->n++;
		if (is_time(u->harness_s))
			c->harness_s[c->n_harness++] = u->harness_s;
		if (u->step_s.has && is_time(u->step_s.value))
			c->reported_s[c->n_reported++] = u->step_s.value;
		if (u->loss.has)
			c->loss[c->n_loss++] = u->loss.value;
	}
}

static void time_stats(const struct columns *c, struct window_stats *stats)
{
	size_t half = c->n / 2;
	stats->has_time = c->n > 0 && c->n_harness == c->n;
	if (!stats->has_time)
		return;
	stats->mean_s = mean_of(c->harness_s, c->n);
	stats->median_s = median_of(c->harness_s, c->n);
	stats->white_sd_ln = white_noise_ln(c->harness_s, c->n);
	stats->first_half_ln = log(half ? mean_of(c->harness_s, half) : stats->mean_s);
	stats->second_half_ln = log(mean_of(c->harness_s + half, c->n - half));
}

void receipt_window(const struct receipt *r, struct window_stats *ret_stats)
{
	CLEANUP(free_ptr) double *buffer = xcalloc(3 * r->n_updates, sizeof(*buffer));
	struct columns c = {buffer, buffer + r->n_updates, buffer + 2 * r->n_updates, 0, 0, 0, 0};
	struct window_stats stats = {.mean_s = NAN,
		.median_s = NAN,
		.white_sd_ln = NAN,
		.first_half_ln = NAN,
		.second_half_ln = NAN,
		.loss_mean = NAN,
		.reported_mean_s = NAN};
	collect(r, &c);
	stats.n = c.n;
	time_stats(&c, &stats);
	stats.has_loss = c.n > 0 && c.n_loss == c.n;
	if (stats.has_loss)
		stats.loss_mean = mean_of(c.loss, c.n);
	/* A job cannot time its first update; where the window begins with it, one value may be missing. */
	stats.has_reported_time = c.n_reported > 0 && c.n_reported + 1 >= c.n;
	if (stats.has_reported_time)
		stats.reported_mean_s = mean_of(c.reported_s, c.n_reported);
	*ret_stats = stats;
}

size_t paired_means(const struct receipt *r, double *ret_harness_s, double *ret_reported_s)
{
	double harness = 0, reported = 0;
	size_t n = 0, both = 0;
	for (size_t i = 0; i < r->n_updates; i++) {
		const struct receipt_update *u = &r->updates[i];
		if (!in_window(r, u))
			continue;
		n++;
		if (!is_time(u->harness_s) || !u->step_s.has || !is_time(u->step_s.value))
			continue;
		both++;
		harness += u->harness_s;
		reported += u->step_s.value;
	}
	*ret_harness_s = both ? harness / (double)both : NAN;
	*ret_reported_s = both ? reported / (double)both : NAN;
	return n - both;
}

void harness_gains_ln(const struct judge *j, double *ret_mean, double *ret_median)
{
	struct window_stats stats;
	double mean = 0, median = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->n_refs; i++) {
		receipt_window(j->refs[i], &stats);
		if (stats.has_time) {
			mean += log(stats.mean_s);
			median += log(stats.median_s);
			n++;
		}
	}
	receipt_window(j->r, &stats);
	bool known = n > 0 && stats.has_time;
	*ret_mean = known ? mean / (double)n - log(stats.mean_s) : NAN;
	*ret_median = known ? median / (double)n - log(stats.median_s) : NAN;
}

double receipt_peak_bytes(const struct receipt *r)
{
	double peak = NAN; /* fmax() ignores a NaN beside a number */
	for (size_t i = 0; i < r->n_updates; i++)
		if (r->updates[i].mem_bytes.has)
			peak = fmax(peak, r->updates[i].mem_bytes.value);
	if (r->peak_reported_bytes.has)
		peak = fmax(peak, r->peak_reported_bytes.value);
	if (r->peak_observed_bytes.has && r->observed_is_device)
		peak = fmax(peak, r->peak_observed_bytes.value);
	return peak;
}

double receipt_shortfall_bytes(const struct receipt *r)
{
	if (!r->oom_requested_bytes.has || !r->oom_free_bytes.has)
		return NAN;
	double shortfall = r->oom_requested_bytes.value - r->oom_free_bytes.value;
	return shortfall >= 0 ? shortfall : NAN;
}
