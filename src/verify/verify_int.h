/* What the files of the verifier share. Internal to verify/. */
#ifndef INFRARSI_VERIFY_VERIFY_INT_H
#define INFRARSI_VERIFY_VERIFY_INT_H

#include "base/base.h"
#include "event/receipt.h"
#include "verify/verify.h"

/* One judgement. The items are decided in their order, so a later one may look at an earlier one's result. */
struct judge {
	const struct receipt *r;
	const struct receipt *const *refs; /* without r itself, unless there is no other */
	size_t n_refs;
	bool alone; /* r is its own reference */
	const struct duel_result *duel;
	struct verdict *verdict;
};

void item_set(const struct judge *j, enum item item, enum item_result result, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* One of each kind is kept. */
void review_add(struct verdict *v, enum review kind, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* x <= limit, where a limit such as 0.01 is not exact in binary. */
bool is_within(double x, double limit);

const struct receipt_update *update_of(const struct receipt *r, int update); /* NULL = it did not run */
bool all_updates_ran(const struct receipt *r);

enum agreement {
	AGREE_SAME,
	AGREE_DIFFERENT,   /* from the references at `update` */
	AGREE_MISSING,     /* the references reported it at `update`, this run did not */
	AGREE_REFS_DIFFER, /* the references differ from each other at `update`: nothing to hold it against */
	AGREE_NOT_REPORTED, /* no reference reports it at `update` */
	AGREE_NOTHING_RAN,
};
struct comparison {
	enum agreement agreement;
	int update;
	struct opt_number mine, theirs;
	int compared; /* updates */
	int reported; /* updates at which this run says anything */
};
/* One number of struct receipt_update, by offset, at every update that r ran. tolerance: relative; 0 = exact.
 */
struct comparison compare_numbers(const struct judge *j, size_t offset, double tolerance);
struct comparison compare_data(const struct judge *j);

bool same_precision(const char *a, const char *b); /* "float32" is "fp32" */
bool reports_precision(const struct receipt *r);
bool precision_differs(const struct receipt *a, const struct receipt *b); /* false where one does not say */

enum { SHOWN_SIZE = 48 };
/* Text from the job made safe to show, cut to SHOWN_SIZE. */
const char *shown_text(const char *text, char buf[SHOWN_SIZE]);
/* 4 decimals at ordinary sizes, 4 digits else; "nan", "inf", "-inf". */
const char *number_text(double x, char buf[32]);
/* "0.15%", "25%", "150%" */
const char *percent_text(double fraction, char buf[32]);

/* Mean harness and reported step time over the window updates that have both (NAN: none has); returns how
 * many of those that ran have not. A job cannot time its first update, so one may be missing. */
size_t paired_means(const struct receipt *r, double *ret_harness_s, double *ret_reported_s);
/* ln gain of the window means and medians against the references, by the harness's clock; NAN = unknown. */
void harness_gains_ln(const struct judge *j, double *ret_mean, double *ret_median);

void judge_completes(const struct judge *j);
void judge_no_errors(const struct judge *j);
void judge_memory_cap(const struct judge *j);
void judge_same_workload(const struct judge *j);
void judge_same_data(const struct judge *j);
void judge_same_model(const struct judge *j);
void judge_frozen_files(const struct judge *j);
void judge_optimizer_steps(const struct judge *j);
void judge_loss(const struct judge *j);
void judge_grad_norm(const struct judge *j);
void judge_eval(const struct judge *j);
void judge_precision(const struct judge *j);
void judge_timing(const struct judge *j);
void judge_speed(const struct judge *j);
void judge_resume(const struct judge *j);
void judge_tests(const struct judge *j);

bool is_patched(const struct receipt *r);
void find_reviews(const struct judge *j);
void review_curves(const struct judge *j);
void review_pace(const struct judge *j);
void review_step_times(const struct judge *j);
void review_wall_time(const struct judge *j);
void review_gain(const struct judge *j);

#endif
