/* Between the files of the receipt matrix. Internal to matrix/. */
#ifndef INFRARSI_MATRIX_MATRIX_INT_H
#define INFRARSI_MATRIX_MATRIX_INT_H

#include <jansson.h>

#include "base/base.h"
#include "base/err.h"
#include "matrix/matrix.h"

/* Whose receipt a line is about. */
enum who { WHO_CANDIDATE, WHO_REFERENCES, WHO_TRIALS, WHO_ALL };

enum verb {
	/* change fields of payloads */
	VERB_SET,
	VERB_DROP,
	VERB_ADD,
	VERB_NOISE,
	VERB_ROUND,
	VERB_LINE,
	VERB_HASH,
	VERB_COPY,
	VERB_SWAP,
	VERB_REMOVE,
	VERB_INSERT,
	/* change payloads as a whole */
	VERB_RAN,
	VERB_PATCH,
	/* change what becomes of them */
	VERB_EDIT,
	VERB_UNSIGN,
	VERB_SIGN,
	VERB_CUT,
	VERB_TWICE,
	VERB_OMIT,
	VERB_WHOLE,
	VERB_JUDGE,
	VERB_DUEL,
	N_VERBS
};

struct matrix_op {
	enum verb verb;
	const char *file;
	int line;
	enum who who;
	int index;         /* of a reference or trial, from 1; 0 = each */
	const char *path;  /* field below the payload; "" = none */
	const char *value; /* the rest of the line; "" = none */
};

enum err_code op_error(struct err *reterr, const struct matrix_op *op, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* A receipt before it is sealed. */
struct doc {
	enum who who;
	int index;
	json_t *payload;
	bool prev_given, digests_given; /* not filled in when the chain is made */
};

struct docs {
	struct doc all[MATRIX_MAX_RECEIPTS];
	size_t n;
};

bool op_is_about(const struct matrix_op *op, const struct doc *doc);
struct doc *docs_find(struct docs *docs, enum who who, int index); /* NULL = none */

/* A place for a value: in an object (key) or in an array (index). */
struct slot {
	json_t *container;
	const char *key; /* NULL for an array */
	size_t index;
	int update; /* 0 = not in a column of the updates */
};
json_t *slot_get(const struct slot *slot); /* borrowed */
void slot_set(const struct slot *slot, json_t *value_take);

/* Calls `visit` for each place in the payload that op->path names; an error where there is none. */
typedef enum err_code (*slot_fn)(void *context, const struct slot *slot, struct err *reterr);
enum err_code path_visit(json_t *payload, const struct matrix_op *op, slot_fn visit, void *context,
	struct err *reterr) MUST_CHECK;

/* One line of a case on all the receipts that it is about. */
enum err_code edit_apply(const struct matrix_op *op, struct docs *docs, struct err *reterr) MUST_CHECK;
enum err_code edit_apply_to(
	const struct matrix_op *op, struct docs *docs, struct doc *doc, struct err *reterr) MUST_CHECK;

/* Good runs of nothing: every key of the schema, numbers unknown. */
void docs_init(const struct matrix_case *c, struct docs *ret_docs);
void docs_release(struct docs *docs);
/* With everything that the case says about payloads. */
enum err_code docs_build(const struct matrix_case *c, struct docs *ret_docs, struct err *reterr) MUST_CHECK;
enum { UPDATES_BY_DEFAULT = 30 };
/* The run has `n` updates: cut off, or added without values. */
void doc_set_updates(struct doc *doc, int n);

struct receipt_keys;
struct seal_wishes { /* about the candidate's file and the set */
	bool twice, whole, stranger;
	const char *unsign;                /* key of the envelope; NULL = none */
	const struct matrix_op *cut;       /* NULL = whole */
	bool omit[MATRIX_MAX_RECEIPTS];    /* by place in docs */
	const struct matrix_op *edits[16]; /* after signing */
	size_t n_edits;
	size_t judged; /* place in docs */
	const struct matrix_op *duel;
};
enum err_code wishes_read(const struct matrix_case *c, struct docs *docs, struct seal_wishes *ret_wishes,
	struct err *reterr) MUST_CHECK;
/* Chains, signs and opens. *ret_judged: place in the set of the receipt that the case is about; of a file
 * that is given twice, the second. */
enum err_code set_build(struct docs *docs, const struct seal_wishes *wishes, const struct receipt_keys *keys,
	struct receipt_set *set, size_t *ret_judged, struct err *reterr) MUST_CHECK;

#endif
