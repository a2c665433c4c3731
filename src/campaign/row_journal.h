/*
 * What the ledger row of an execution needs and its receipt does not hold: seconds of its build and of its
 * checks, the evaluation's value, what the harness itself wants reviewed. Written into the control folder
 * before the receipt and removed after the row, so that a crash in between loses nothing of it.
 */
#ifndef INFRARSI_CAMPAIGN_ROW_JOURNAL_H
#define INFRARSI_CAMPAIGN_ROW_JOURNAL_H

#include "base/base.h"

enum { ROW_REVIEW_SIZE = 256 };

struct row_journal {
	int64_t receipt_seq; /* 0 = that of the execution */
	double build_s, checks_s;
	double eval_value;            /* NAN = none */
	char review[ROW_REVIEW_SIZE]; /* "" = none */
};

enum err_code row_journal_write(const char *control_dir, int64_t seq, const char *nonce,
	const struct row_journal *row, struct err *reterr) MUST_CHECK;
/* False when there is none for this execution; *ret_row is then that of an execution that had none of it. */
bool row_journal_read(const char *control_dir, int64_t seq, const char *nonce, struct row_journal *ret_row);
void row_journal_remove(const char *control_dir);

#endif
