/* Two reference runs in which nothing is wrong and a candidate twice as fast, to be spoilt one way at a time.
 */
#ifndef INFRARSI_TEST_VERIFY_FIXTURE_H
#define INFRARSI_TEST_VERIFY_FIXTURE_H

#include "event/receipt.h"
#include "stats/noise.h"
#include "verify/verify.h"

enum { N_REFS = 2 };

struct verify_fixture {
	struct receipt refs[N_REFS], candidate;
	const struct duel_result *duel;
	struct verdict verdict;
};

void fixture_init(struct verify_fixture *f);
void fixture_release(struct verify_fixture *f);
/* Judges the candidate into f->verdict. */
void fixture_judge(struct verify_fixture *f);

/* Judges and fails the test unless the item has this result and its reason contains `says` (NULL = any). */
void expect_item(struct verify_fixture *f, enum item item, enum item_result result, const char *says);
/* The same; the run must be invalid because of this item. */
void expect_rejected(struct verify_fixture *f, enum item item, enum item_result result, const char *says);
/* The same; the run must be valid. */
void expect_valid(struct verify_fixture *f, enum item item, enum item_result result, const char *says);
/* Judges; a review that contains `says` must be there (NULL: none at all). */
void expect_review(struct verify_fixture *f, const char *says);

struct opt_number some(double value);
extern const struct opt_number none;
/* One column of all three receipts. */
#define FOR_ALL(f, member, value)                                                                            \
	do {                                                                                                 \
		(f)->refs[0].member = (f)->refs[1].member = (f)->candidate.member = (value);                 \
	} while (0)
#define EVERY_UPDATE(r, member, value)                                                                       \
	do {                                                                                                 \
		for (size_t u_ = 0; u_ < (r)->n_updates; u_++)                                               \
			(r)->updates[u_].member = (value);                                                   \
	} while (0)
void clear_data(struct receipt *r);

#endif
