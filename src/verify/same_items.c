/* Layers 2 and 3: is it still the same training. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "event/receipt.h"
#include "verify/verify_int.h"

#define U(member) offsetof(struct receipt_update, member)

/* A job that did not carry this execution's nonce where the references carried theirs: its events may be
 * those of another run. */
static bool nonce_dropped(const struct judge *j)
{
	if (j->r->nonce_echoed || j->r->n_updates == 0)
		return false;
	for (size_t i = 0; i < j->n_refs; i++)
		if (!j->refs[i]->nonce_echoed)
			return false;
	return !j->alone;
}

static bool judge_static(const struct judge *j)
{
	const struct receipt_terms *terms = &j->r->terms;
	const struct {
		const char *name;
		double declared;
		struct opt_number reported;
	} sizes[] = {
		{"sequence length", terms->seq_len, j->r->reported_seq_len},
		{"global batch", terms->global_batch, j->r->reported_global_batch},
	};
	char buf[SHOWN_SIZE];
	for (size_t i = 0; i < terms->n_invariants; i++) {
		if (!terms->invariant_holds[i]) {
			item_set(j, ITEM_SAME_WORKLOAD, ITEM_FAIL, "invariant does not hold: %s",
				shown_text(terms->invariants[i], buf));
			return false;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (sizes[i].declared > 0 && sizes[i].reported.has &&
			sizes[i].reported.value != sizes[i].declared) {
			item_set(j, ITEM_SAME_WORKLOAD, ITEM_FAIL, "%s %.0f against the contract's %.0f",
				sizes[i].name, sizes[i].reported.value, sizes[i].declared);
			return false;
		}
	}
	if (nonce_dropped(j)) {
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_FAIL,
			"the events do not carry this execution's nonce, those of the references do");
		return false;
	}
	return true;
}

/* True where the numbers are the same; else the item is set. */
static bool judge_amount(const struct judge *j, const char *name, const struct comparison *c)
{
	switch (c->agreement) {
	case AGREE_SAME:
		return true;
	case AGREE_DIFFERENT:
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_FAIL, "%s %.0f against %.0f at update %d", name,
			c->mine.value, c->theirs.value, c->update);
		return false;
	case AGREE_MISSING:
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_FAIL,
			"%s not reported at update %d, by the reference it is", name, c->update);
		return false;
	case AGREE_REFS_DIFFER:
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED,
			"the references differ from each other in %s at update %d", name, c->update);
		return false;
	case AGREE_NOT_REPORTED:
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED,
			"%s not reported by the reference at update %d", name, c->update);
		return false;
	case AGREE_NOTHING_RAN:
		item_set(j, ITEM_SAME_WORKLOAD, ITEM_UNCHECKED, "no update ran");
		return false;
	}
	return false;
}

void judge_same_workload(const struct judge *j)
{
	if (!judge_static(j))
		return;
	struct comparison tokens = compare_numbers(j, U(tokens), 0);
	if (!judge_amount(j, "tokens", &tokens))
		return;
	struct comparison seq_len = compare_numbers(j, U(seq_len), 0);
	/* A workload without sequences declares none and reports none. */
	bool has_sequences = j->r->terms.seq_len > 0 || seq_len.agreement != AGREE_NOT_REPORTED;
	if (has_sequences && !judge_amount(j, "sequence length", &seq_len))
		return;
	item_set(j, ITEM_SAME_WORKLOAD, ITEM_PASS, "%.0f tokens an update at all %d updates",
		tokens.mine.value, tokens.compared);
}

void judge_same_data(const struct judge *j)
{
	struct comparison c = compare_data(j);
	switch (c.agreement) {
	case AGREE_SAME:
		item_set(j, ITEM_SAME_DATA, ITEM_PASS, "digests equal at all %d updates", c.compared);
		break;
	case AGREE_DIFFERENT:
		item_set(j, ITEM_SAME_DATA, ITEM_FAIL, "data differ from the reference's at update %d",
			c.update);
		break;
	case AGREE_MISSING:
		/* Some updates with a digest and some without are not equal at every update. */
		item_set(j, ITEM_SAME_DATA, c.reported ? ITEM_FAIL : ITEM_UNCHECKED,
			"no data digest at update %d, the reference has one", c.update);
		break;
	case AGREE_REFS_DIFFER:
		item_set(j, ITEM_SAME_DATA, ITEM_UNCHECKED,
			"the references differ from each other at update %d", c.update);
		break;
	case AGREE_NOT_REPORTED:
		item_set(j, ITEM_SAME_DATA, ITEM_UNCHECKED, "the job reports no data digest (update %d)",
			c.update);
		break;
	case AGREE_NOTHING_RAN:
		item_set(j, ITEM_SAME_DATA, ITEM_UNCHECKED, "no update ran");
		break;
	}
}

/* True where the references that report the text or number at the offset report the same one. */
static bool references_agree(const struct judge *j, size_t offset, bool is_text)
{
	const void *first = NULL;
	for (size_t i = 0; i < j->n_refs; i++) {
		const void *at = (const char *)j->refs[i] + offset;
		bool has = is_text ? **(const char *const *)at : ((const struct opt_number *)at)->has;
		if (has && first) {
			if (is_text ? strcmp(*(const char *const *)first, *(const char *const *)at) != 0
				    : ((const struct opt_number *)first)->value !=
						((const struct opt_number *)at)->value)
				return false;
		} else if (has) {
			first = at;
		}
	}
	return true;
}

/* False where it differs or is missing; the item is then set. */
static bool judge_model_digest(const struct judge *j, int *compared)
{
	for (size_t i = 0; i < j->n_refs; i++) {
		const char *theirs = j->refs[i]->model_digest, *mine = j->r->model_digest;
		if (!*theirs)
			continue;
		if (!*mine || strcmp(mine, theirs) != 0) {
			item_set(j, ITEM_SAME_MODEL, ITEM_FAIL,
				*mine ? "the model's parameters differ (names, shapes or types)"
				      : "no model digest reported, the reference has one");
			return false;
		}
		++*compared;
	}
	return true;
}

static bool judge_model_number(const struct judge *j, const char *name, size_t offset, int *compared)
{
	struct opt_number mine = *(const struct opt_number *)((const char *)j->r + offset);
	for (size_t i = 0; i < j->n_refs; i++) {
		struct opt_number theirs = *(const struct opt_number *)((const char *)j->refs[i] + offset);
		if (!theirs.has)
			continue;
		if (!mine.has) {
			item_set(j, ITEM_SAME_MODEL, ITEM_FAIL, "%s not reported, by the reference it is",
				name);
			return false;
		}
		if (mine.value != theirs.value) {
			item_set(j, ITEM_SAME_MODEL, ITEM_FAIL, "%s %.0f against %.0f", name, mine.value,
				theirs.value);
			return false;
		}
		++*compared;
	}
	return true;
}

void judge_same_model(const struct judge *j)
{
	static const struct {
		const char *name;
		size_t offset;
	} numbers[] = {
		{"trainable parameters", offsetof(struct receipt, params)},
		{"active parameters", offsetof(struct receipt, active_params)},
		{"layers", offsetof(struct receipt, layers)},
		{"attention width", offsetof(struct receipt, d_attn)},
	};
	int compared = 0;
	bool agree = references_agree(j, offsetof(struct receipt, model_digest), true);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		agree = agree && references_agree(j, numbers[i].offset, false);
	if (!agree) {
		item_set(j, ITEM_SAME_MODEL, ITEM_UNCHECKED,
			"the references differ from each other in what they say about the model");
		return;
	}
	if (!j->r->start_seen && j->r->n_updates == 0) {
		item_set(j, ITEM_SAME_MODEL, ITEM_UNCHECKED, "the run ended before it reported its model");
		return;
	}
	if (!judge_model_digest(j, &compared))
		return;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!judge_model_number(j, numbers[i].name, numbers[i].offset, &compared))
			return;
	if (!compared)
		item_set(j, ITEM_SAME_MODEL, ITEM_UNCHECKED, "the job reports nothing about its model");
	else if (j->r->params.has)
		item_set(j, ITEM_SAME_MODEL, ITEM_PASS, "%s, %.0f trainable parameters",
			*j->r->model_digest ? "same digest" : "no digest", j->r->params.value);
	else
		item_set(j, ITEM_SAME_MODEL, ITEM_PASS, "everything the reference reports is the same");
}

static const struct receipt_file *file_of(const struct receipt *r, const char *path)
{
	for (size_t i = 0; i < r->n_files; i++)
		if (strcmp(r->files[i].path, path) == 0)
			return &r->files[i];
	return NULL;
}

static bool judge_against_reference(const struct judge *j, const struct receipt *ref)
{
	char buf[SHOWN_SIZE];
	for (size_t i = 0; i < ref->n_files; i++) {
		const struct receipt_file *theirs = &ref->files[i];
		/* Lists are made in the same order by the same pattern. */
		const struct receipt_file *mine =
			i < j->r->n_files && strcmp(j->r->files[i].path, theirs->path) == 0
				? &j->r->files[i]
				: file_of(j->r, theirs->path);
		if (!mine || strcmp(mine->before, theirs->before) != 0) {
			item_set(j, ITEM_FROZEN_FILES, ITEM_FAIL, "%s %s", shown_text(theirs->path, buf),
				mine ? "is not the reference's" : "was not hashed");
			return false;
		}
	}
	return true;
}

void judge_frozen_files(const struct judge *j)
{
	const struct receipt *r = j->r;
	char buf[SHOWN_SIZE];
	for (size_t i = 0; i < r->n_files; i++) {
		const struct receipt_file *f = &r->files[i];
		if (strcmp(f->before, f->after) != 0 || !f->before[0]) {
			item_set(j, ITEM_FROZEN_FILES, ITEM_FAIL, "%s %s", shown_text(f->path, buf),
				!f->before[0]  ? "was absent before the run"
				: !f->after[0] ? "was removed by the run"
					       : "was changed by the run");
			return;
		}
	}
	for (size_t i = 0; i < j->n_refs; i++)
		if (!judge_against_reference(j, j->refs[i]))
			return;
	if (r->n_files)
		item_set(j, ITEM_FROZEN_FILES, ITEM_PASS, "%zu files unchanged", r->n_files);
	else
		item_set(j, ITEM_FROZEN_FILES, ITEM_NA, "no frozen file declared");
}

/* 1e-6: a schedule computed in another order of operations differs in the last bits, a changed one by more.
 */
#define LR_TOLERANCE 1e-6

static void judge_by_lr(const struct judge *j, const struct comparison *lr)
{
	char a[32], b[32];
	if (lr->agreement == AGREE_DIFFERENT)
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "learning rate %s against %s at update %d",
			number_text(lr->mine.value, a), number_text(lr->theirs.value, b), lr->update);
	else if (lr->agreement == AGREE_MISSING && lr->reported)
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_FAIL,
			"learning rate not reported at update %d, by the reference it is", lr->update);
	else if (lr->agreement == AGREE_SAME)
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_UNCHECKED,
			"no step counter; the learning-rate schedule is equal at all %d updates",
			lr->compared);
	else
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_UNCHECKED, "%s",
			lr->agreement == AGREE_NOTHING_RAN   ? "no update ran"
			: lr->agreement == AGREE_REFS_DIFFER ? "the references differ from each other"
							     : "the job reports no step counter");
}

void judge_optimizer_steps(const struct judge *j)
{
	struct comparison steps = compare_numbers(j, U(opt_step), 0);
	struct comparison lr = compare_numbers(j, U(lr), LR_TOLERANCE);
	if (steps.agreement == AGREE_DIFFERENT)
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_FAIL, "step counter %.0f against %.0f at update %d",
			steps.mine.value, steps.theirs.value, steps.update);
	else if (steps.agreement == AGREE_MISSING && steps.reported)
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_FAIL,
			"step counter not reported at update %d, by the reference it is", steps.update);
	else if (steps.agreement != AGREE_SAME || lr.agreement == AGREE_DIFFERENT ||
		 (lr.agreement == AGREE_MISSING && lr.reported))
		judge_by_lr(j, &lr);
	else
		item_set(j, ITEM_OPTIMIZER_STEPS, ITEM_PASS, "step counter equal at all %d updates",
			steps.compared);
}
