/*
 * The receipt matrix: cases whose right verdict is known, written as what differs from a good run
 * (docs/verify.md has the format). A case is built into receipts, sealed with throw-away keys, opened and
 * judged by the code that opens and judges stored ones.
 *
 *     struct matrix matrix;
 *     TRY(matrix_load("tests/matrix", &matrix, reterr));
 *     TRY(matrix_run(&matrix, reterr));
 *     matrix_tally(&matrix, &tally);
 *     matrix_release(&matrix);
 *
 * On disk: DIR/base/NAME says what a good run is and what is expected of it; every DIR/...NAME.case is a
 * case.
 */
#ifndef INFRARSI_MATRIX_MATRIX_H
#define INFRARSI_MATRIX_MATRIX_H

#include "base/base.h"
#include "base/memory.h"
#include "verify/set.h"
#include "verify/verify.h"

enum { MATRIX_FILE_CAP = 64 * 1024, MATRIX_MAX_RECEIPTS = 16, MATRIX_MAX_UPDATES = 1000 };

enum matrix_paper { PAPER_NOT, PAPER_ACCEPTED, PAPER_REJECTED }; /* which of the paper's kinds it is one of */

enum matrix_outcome { OUTCOME_VALID, OUTCOME_INVALID, OUTCOME_REFUSED };
extern const char *const matrix_outcome_names[3];

/* What is expected, and what was found. */
struct matrix_answer {
	enum matrix_outcome outcome;
	int primary;              /* of an invalid one */
	enum set_refusal refusal; /* of a refused one */
	int items[N_ITEMS];       /* enum item_result; -1 = not told (a refused one) */
	bool reviews[N_REVIEW_KINDS];
};

struct matrix_op;
struct matrix_case {
	const char *file, *name; /* name: below DIR, without .case */
	const char *about;       /* the # lines at its top, in one */
	enum matrix_paper paper;
	int n_references, n_trials;
	struct matrix_op *ops;
	size_t n_ops, ops_capacity; /* ops come from malloc */
	struct matrix_answer expected;
	bool has_outcome;
	/* after matrix_run() */
	bool has_run, agrees;
	struct matrix_answer found;
	struct verdict verdict;   /* of what was judged */
	const char *disagreement; /* one line each, "" = none */
};

struct matrix {
	struct arena arena;
	struct matrix_case *cases;
	size_t n, capacity;
};

struct matrix_tally {
	size_t cases, agree;
	size_t accepted, accepted_right, rejected, rejected_right; /* of the paper's */
};

enum err_code matrix_load(const char *dir, struct matrix *ret_matrix, struct err *reterr) MUST_CHECK;
void matrix_release(struct matrix *matrix);
/* A case that cannot be built is an error with its file and line. */
enum err_code matrix_run(struct matrix *matrix, struct err *reterr) MUST_CHECK;
void matrix_tally(const struct matrix *matrix, struct matrix_tally *ret_tally);

/* One text; a base is read from `bases` (a folder). Release with matrix_case_release(); texts live in
 * `arena`. */
enum err_code matrix_case_parse(const char *file, const char *text, size_t length, const char *bases,
	struct arena *arena, struct matrix_case *ret_case, struct err *reterr) MUST_CHECK;
void matrix_case_release(struct matrix_case *c);
/* Builds the payloads and lets go of them: all that can be wrong in a case is found. */
enum err_code matrix_case_check(const struct matrix_case *c, struct err *reterr) MUST_CHECK;
enum err_code matrix_case_run(struct matrix_case *c, struct arena *arena, struct err *reterr) MUST_CHECK;

#endif
