/* Improbable results: neither in nor out without a second look (DESIGN section 9). */
#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "verify/verify_int.h"

const char *const review_names[N_REVIEW_KINDS] = {
	[REVIEW_BEYOND_PHASES] = "beyond-phases",
	[REVIEW_BEYOND_DEVICE] = "beyond-device",
	[REVIEW_EQUAL_LOSS] = "equal-loss",
	[REVIEW_LAGGING_LOSS] = "lagging-loss",
	[REVIEW_SHIFTED_LOSS] = "shifted-loss",
	[REVIEW_REPLAYED_LOSS] = "replayed-loss",
	[REVIEW_EQUAL_NORM] = "equal-norm",
	[REVIEW_WALL_TIME] = "wall-time",
	[REVIEW_UNEVEN_PACE] = "uneven-pace",
	[REVIEW_CONSTANT_STEPS] = "constant-steps",
	[REVIEW_EVENTS] = "events",
	[REVIEW_MISSING_EVIDENCE] = "missing-evidence",
};

enum review review_kind_of(const char *text)
{
	for (int kind = 0; kind < N_REVIEW_KINDS; kind++) {
		size_t length = strlen(review_names[kind]);
		if (strncmp(text, review_names[kind], length) == 0 && text[length] == ':')
			return (enum review)kind;
	}
	return N_REVIEW_KINDS;
}

void review_add(struct verdict *v, enum review kind, const char *fmt, ...)
{
	va_list ap;
	for (int i = 0; i < v->n_reviews; i++)
		if (review_kind_of(v->reviews[i]) == kind)
			return;
	char *text = v->reviews[v->n_reviews++];
	int used = snprintf(text, REASON_SIZE, "%s: ", review_names[kind]);
	va_start(ap, fmt);
	vsnprintf(text + used, (size_t)(REASON_SIZE - used), fmt, ap);
	va_end(ap);
}

/* Settings cannot forge events, source changes can. Text that cannot be read is taken for a change. */
bool is_patched(const struct receipt *r)
{
	static const char nothing[] = "{\"patches\":[],";
	if (!r->candidate_json || strncmp(r->candidate_json, nothing, sizeof(nothing) - 1) == 0)
		return false;
	CLEANUP(json_decref_ptr)
	json_t *candidate = json_loads(r->candidate_json, JSON_REJECT_DUPLICATES, NULL);
	const json_t *patches = json_object_get(candidate, "patches");
	return !json_is_array(patches) || json_array_size(patches) > 0;
}

static void review_bad_lines(const struct judge *j)
{
	int theirs = 0;
	for (size_t i = 0; i < j->n_refs; i++)
		theirs = MAX_OF(theirs, j->refs[i]->bad_event_lines);
	if (j->r->bad_event_lines > theirs)
		review_add(j->verdict, REVIEW_EVENTS,
			"%d lines malformed, repeated or out of order, in the reference runs at most %d",
			j->r->bad_event_lines, theirs);
}

/* At update `from` or any later one. */
static bool has_number(const struct receipt *r, size_t offset, size_t from)
{
	for (size_t i = from; i < r->n_updates; i++)
		if (((const struct opt_number *)((const char *)&r->updates[i] + offset))->has)
			return true;
	return false;
}

static bool has_data(const struct receipt *r)
{
	for (size_t i = 0; i < r->n_updates; i++)
		if (r->updates[i].data[0])
			return true;
	return false;
}

static bool has_steps(const struct receipt *r)
{
	return has_number(r, offsetof(struct receipt_update, opt_step), 0);
}

static bool has_lr(const struct receipt *r)
{
	return has_number(r, offsetof(struct receipt_update, lr), 0);
}

/* The one that is held against the reference's. */
static bool has_first_norm(const struct receipt *r)
{
	return r->n_updates > 0 && r->updates[0].grad_norm.has;
}

static bool has_later_norms(const struct receipt *r)
{
	return has_number(r, offsetof(struct receipt_update, grad_norm), 1);
}

static bool has_global_batch(const struct receipt *r)
{
	return r->reported_global_batch.has;
}

static bool has_step_times(const struct receipt *r)
{
	double harness_s, reported_s;
	(void)paired_means(r, &harness_s, &reported_s);
	return isfinite(reported_s);
}

static bool has_memory(const struct receipt *r)
{
	return isfinite(receipt_peak_bytes(r));
}

/* A candidate that stops saying what the unchanged job says leaves its item unchecked: honest where a faster
 * path has no norm to report, and the easiest way past the item, for a setting as for a patch. What only adds
 * to an item that has something else to go by is asked of patches alone. */
static void review_missing_evidence(const struct judge *j)
{
	static const struct {
		const char *name;
		bool (*has)(const struct receipt *r);
		bool of_patches;
	} all[] = {
		{"data digests", has_data, false},
		{"step counter", has_steps, false},
		{"learning rate", has_lr, true},
		{"first gradient norm", has_first_norm, false},
		{"later gradient norms", has_later_norms, false},
		{"peak memory", has_memory, false},
		{"precision", reports_precision, false},
		{"global batch", has_global_batch, true},
		{"step times", has_step_times, false},
	};
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		bool missing = !all[k].has(j->r) && (!all[k].of_patches || is_patched(j->r));
		for (size_t i = 0; i < j->n_refs && missing; i++)
			missing = all[k].has(j->refs[i]);
		if (missing)
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", all[k].name);
	}
	if (names.len)
		review_add(j->verdict, REVIEW_MISSING_EVIDENCE,
			"reported by every reference run and not by this one: %s", names.buf);
}

void find_reviews(const struct judge *j)
{
	if (j->alone)
		return;
	review_gain(j);
	review_curves(j);
	if (all_updates_ran(j->r))
		review_missing_evidence(j);
	if (!is_patched(j->r))
		return;
	review_wall_time(j);
	review_pace(j);
	review_step_times(j);
	review_bad_lines(j);
}
