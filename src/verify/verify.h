/*
 * The verifier: five layers, 16 items (DESIGN section 9). Receipts in, verdict out; reads nothing else, so an
 * old receipt can be judged again on another machine. Improbable results are reported beside the items as
 * `review` notes.
 */
#ifndef INFRARSI_VERIFY_VERIFY_H
#define INFRARSI_VERIFY_VERIFY_H

#include "base/base.h"

struct receipt;
struct strbuf;

enum item_result { ITEM_PASS, ITEM_FAIL, ITEM_UNCHECKED, ITEM_NA };
extern const char *const item_result_names[4];

enum item {
	ITEM_COMPLETES,
	ITEM_NO_ERRORS,
	ITEM_MEMORY_CAP,
	ITEM_SAME_WORKLOAD,
	ITEM_SAME_DATA,
	ITEM_SAME_MODEL,
	ITEM_FROZEN_FILES,
	ITEM_OPTIMIZER_STEPS,
	ITEM_LOSS,
	ITEM_GRAD_NORM,
	ITEM_EVAL,
	ITEM_PRECISION,
	ITEM_TIMING,
	ITEM_SPEED,
	ITEM_RESUME,
	ITEM_TESTS,
	N_ITEMS
};

struct item_info {
	const char *name; /* "loss_within_tolerance" */
	int layer;        /* 1..5 */
	const char *mode; /* "always", "always, required", "if configured", "promotion", "info" */
};
extern const struct item_info item_infos[N_ITEMS];

/* Improbable results (docs/verify.md). A review's text begins with its kind's name and a colon. */
enum review {
	REVIEW_BEYOND_PHASES,    /* faster than removing the declared phases altogether would be */
	REVIEW_BEYOND_DEVICE,    /* more FLOP/s than the devices have */
	REVIEW_EQUAL_LOSS,       /* the reference's loss to the last digit, although numerics changed */
	REVIEW_LAGGING_LOSS,     /* the reference's loss, some updates late or early */
	REVIEW_SHIFTED_LOSS,     /* the reference's loss and a constant */
	REVIEW_REPLAYED_LOSS,    /* an earlier trial's loss */
	REVIEW_EQUAL_NORM,       /* the reference's gradient norms with other losses */
	REVIEW_WALL_TIME,        /* time outside the updates that nothing explains */
	REVIEW_UNEVEN_PACE,      /* updates of the window faster than what surrounds them allows */
	REVIEW_CONSTANT_STEPS,   /* one step time reported for steps that vary */
	REVIEW_EVENTS,           /* event lines that nobody understands */
	REVIEW_MISSING_EVIDENCE, /* what the references report and this run does not */
	N_REVIEW_KINDS
};
extern const char *const review_names[N_REVIEW_KINDS];

enum { REASON_SIZE = 256, MAX_REVIEWS = N_REVIEW_KINDS };

struct item_verdict {
	enum item_result result;
	bool vetoes;              /* a failure of this item in this run rejects */
	char reason[REASON_SIZE]; /* the numbers behind the result, for a person */
};

struct verdict {
	struct item_verdict items[N_ITEMS];
	bool valid;
	int primary; /* first failing vetoing item or unchecked required one; -1 = none */
	char reviews[MAX_REVIEWS][REASON_SIZE];
	int n_reviews;
};

/* Window statistics that verifier, noise and search share. Times in seconds by the harness's clock. */
struct window_stats {
	bool has_time;
	double mean_s, median_s; /* over warmup+1 .. updates */
	double white_sd_ln;      /* s_w: white noise of ln step time from successive differences */
	double first_half_ln, second_half_ln; /* ln of the mean of each half */
	size_t n;
	bool has_loss;
	double loss_mean;
	bool has_reported_time;
	double reported_mean_s;
};
void receipt_window(const struct receipt *r, struct window_stats *ret_stats);

/* Duel outcome for speed_reproduces; NULL = not a promoted run. */
struct duel_result;

/* refs: the valid reference receipts of the same campaign (at least one). A reference receipt is judged
 * against the others. */
enum err_code verify_receipt(const struct receipt *r, const struct receipt *const *refs, size_t n_refs,
	const struct duel_result *duel, struct verdict *ret_verdict, struct err *reterr) MUST_CHECK;

/* Adds what only the other trials of the campaign can show: a loss replayed from one of them. `refs` as
 * above; `trials` may hold r itself. */
void verify_against_trials(const struct receipt *r, const struct receipt *const *refs, size_t n_refs,
	const struct receipt *const *trials, size_t n_trials, struct verdict *verdict);

/* Which kind a review's text is of; N_REVIEW_KINDS for none. */
enum review review_kind_of(const char *text);

/* Peak memory: the larger of reported and observed; NAN when neither is known. */
double receipt_peak_bytes(const struct receipt *r);
/* What a failed trial lacked: requested - free, from the OOM event or its message; NAN when unknown, and when
 * more was free than asked for (fragmentation: no bound). */
double receipt_shortfall_bytes(const struct receipt *r);

void verdict_to_json(const struct verdict *v, struct strbuf *json);
enum err_code verdict_from_json(const char *json, struct verdict *ret_verdict, struct err *reterr) MUST_CHECK;

#endif
