#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "event/receipt.h"
#include "verify/verify.h"
#include "verify/verify_int.h"

const char *const item_result_names[4] = {
	[ITEM_PASS] = "pass",
	[ITEM_FAIL] = "fail",
	[ITEM_UNCHECKED] = "unchecked",
	[ITEM_NA] = "n/a",
};

const struct item_info item_infos[N_ITEMS] = {
	[ITEM_COMPLETES] = {"completes", 1, "always"},
	[ITEM_NO_ERRORS] = {"no_errors", 1, "always"},
	[ITEM_MEMORY_CAP] = {"memory_cap", 1, "always"},
	[ITEM_SAME_WORKLOAD] = {"same_workload", 2, "always, required"},
	[ITEM_SAME_DATA] = {"same_data", 2, "always"},
	[ITEM_SAME_MODEL] = {"same_model", 2, "always"},
	[ITEM_FROZEN_FILES] = {"frozen_files", 2, "always"},
	[ITEM_OPTIMIZER_STEPS] = {"optimizer_steps", 3, "always"},
	[ITEM_LOSS] = {"loss_within_tolerance", 4, "always"},
	[ITEM_GRAD_NORM] = {"grad_norm_within_tol", 4, "always"},
	[ITEM_EVAL] = {"eval_matches", 4, "if configured"},
	[ITEM_PRECISION] = {"precision", 4, "info"},
	[ITEM_TIMING] = {"timing_consistent", 5, "always"},
	[ITEM_SPEED] = {"speed_reproduces", 5, "promotion"},
	[ITEM_RESUME] = {"resume_continues", 5, "if configured"},
	[ITEM_TESTS] = {"user_tests", 5, "if configured"},
};

static const struct {
	void (*judge)(const struct judge *j);
	bool vetoes; /* unless the judge says otherwise */
	bool required;
} rules[N_ITEMS] = {
	[ITEM_COMPLETES] = {judge_completes, true, false},
	[ITEM_NO_ERRORS] = {judge_no_errors, true, false},
	[ITEM_MEMORY_CAP] = {judge_memory_cap, true, false},
	[ITEM_SAME_WORKLOAD] = {judge_same_workload, true, true},
	[ITEM_SAME_DATA] = {judge_same_data, true, false},
	[ITEM_SAME_MODEL] = {judge_same_model, true, false},
	[ITEM_FROZEN_FILES] = {judge_frozen_files, true, false},
	[ITEM_OPTIMIZER_STEPS] = {judge_optimizer_steps, true, false},
	[ITEM_LOSS] = {judge_loss, true, false},
	[ITEM_GRAD_NORM] = {judge_grad_norm, false, false},
	[ITEM_EVAL] = {judge_eval, true, true},
	[ITEM_PRECISION] = {judge_precision, false, false},
	[ITEM_TIMING] = {judge_timing, true, false},
	[ITEM_SPEED] = {judge_speed, true, false},
	[ITEM_RESUME] = {judge_resume, true, true},
	[ITEM_TESTS] = {judge_tests, true, true},
};

void item_set(const struct judge *j, enum item item, enum item_result result, const char *fmt, ...)
{
	struct item_verdict *v = &j->verdict->items[item];
	va_list ap;
	v->result = result;
	va_start(ap, fmt);
	vsnprintf(v->reason, sizeof(v->reason), fmt, ap);
	va_end(ap);
}

static bool rejects(const struct verdict *v, int item)
{
	const struct item_verdict *i = &v->items[item];
	return (i->result == ITEM_FAIL && i->vetoes) || (i->result == ITEM_UNCHECKED && rules[item].required);
}

static bool is_same_receipt(const struct receipt *a, const struct receipt *b)
{
	return a == b || (a->payload_digest[0] && strcmp(a->payload_digest, b->payload_digest) == 0);
}

static enum err_code check_references(
	const struct receipt *r, const struct receipt *const *refs, size_t n_refs, struct err *reterr)
{
	if (n_refs == 0)
		return err_set(reterr, ERR_INPUT,
			"no valid reference receipt to compare with; next: infrarsi doctor");
	for (size_t i = 0; i < n_refs; i++)
		if (refs[i]->terms.updates != r->terms.updates || refs[i]->terms.warmup != r->terms.warmup)
			return err_set(reterr, ERR_INPUT,
				"reference receipt %lld has the window %d..%d, this one %d..%d: they are of "
				"different contracts",
				(long long)refs[i]->seq, refs[i]->terms.warmup + 1, refs[i]->terms.updates,
				r->terms.warmup + 1, r->terms.updates);
	return OK;
}

enum err_code verify_receipt(const struct receipt *r, const struct receipt *const *refs, size_t n_refs,
	const struct duel_result *duel, struct verdict *ret_verdict, struct err *reterr)
{
	TRY(check_references(r, refs, n_refs, reterr));
	CLEANUP(free_ptr) const struct receipt **others = xcalloc(n_refs, sizeof(*others));
	struct judge j = {r, others, 0, false, duel, ret_verdict};
	for (size_t i = 0; i < n_refs; i++)
		if (!is_same_receipt(refs[i], r))
			others[j.n_refs++] = refs[i];
	if (j.n_refs == 0) {
		others[j.n_refs++] = r;
		j.alone = true;
	}
	memset(ret_verdict, 0, sizeof(*ret_verdict));
	ret_verdict->primary = -1;
	for (int i = 0; i < N_ITEMS; i++) {
		ret_verdict->items[i].vetoes = rules[i].vetoes;
		rules[i].judge(&j);
		if (ret_verdict->primary < 0 && rejects(ret_verdict, i))
			ret_verdict->primary = i;
	}
	ret_verdict->valid = ret_verdict->primary < 0;
	find_reviews(&j);
	return OK;
}
