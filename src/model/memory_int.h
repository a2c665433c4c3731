/*
 * The two forms of the memory ledger behind models.h. Where no knob is numeric it is additive in bytes (rule
 * R3, memory_additive.c). Where one is, it is additive in ln bytes over the knobs' axes, and declared bytes
 * enter as its mean and, linearised, as R3's deviations from it (memory_log.c).
 */
#ifndef INFRARSI_MODEL_MEMORY_INT_H
#define INFRARSI_MODEL_MEMORY_INT_H

#include "base/base.h"
#include "model/axes.h"
#include "model/models.h"

struct memory_belief { /* of one configuration */
	double peak_bytes, sd_bytes, p_fits;
};

struct memory_additive;
enum err_code memory_additive_fit(
	const struct model_input *in, struct memory_additive **ret_model, struct err *reterr) MUST_CHECK;
void memory_additive_free(struct memory_additive *m);
struct memory_belief memory_additive_predict(struct memory_additive *m, const int *setting);
struct memory_belief memory_additive_setting(const struct memory_additive *m, int lever, int setting);

struct memory_log;
/* Takes the axes over, also on failure. */
enum err_code memory_log_fit_take(const struct model_input *in, struct axes *axes,
	struct memory_log **ret_model, struct err *reterr) MUST_CHECK;
void memory_log_free(struct memory_log *m);
struct memory_belief memory_log_predict(struct memory_log *m, const int *setting);
struct memory_belief memory_log_setting(struct memory_log *m, int lever, int setting);

/* What an end says of a peak, in units in which the capacity is 1. False: nothing. */
struct memory_reading {
	bool known, is_bound, is_range; /* a bound: at least `low`; a range: between `low` and 1 */
	double low;
};
struct memory_reading memory_reading_of(const struct observation *o, double unit_bytes);
struct memory_reading memory_out_of_memory(double shortfall_bytes, double unit_bytes);
/* Prior sd of a setting's own bytes. */
double memory_prior_sd_bytes(const struct lever_prior *prior, double unit_bytes);

#endif
