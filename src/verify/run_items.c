/* Layer 1: did it run. */
#include "base/base.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "event/receipt.h"
#include "verify/verify_int.h"

static size_t requested_that_ran(const struct receipt *r)
{
	size_t n = 0;
	while (n < r->n_updates && r->updates[n].update <= r->terms.updates)
		n++;
	return n;
}

/* Ended well, but some updates are not there: who reports only every tenth, or counts on from elsewhere, has
 * to be told so, and not that the job ended early. */
static void too_few_updates(const struct judge *j, size_t ran)
{
	const struct receipt *r = j->r;
	size_t present = 0;
	while (present < r->n_updates && r->updates[present].update == (int)present + 1)
		present++;
	if (present < r->n_updates)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL,
			"exit 0, but %zu of %d updates reported: number %zu is missing, the next one there "
			"is %d; each has to be reported",
			ran, r->terms.updates, present + 1, r->updates[present].update);
	else
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "exit 0 after %zu of %d updates", ran,
			r->terms.updates);
}

void judge_completes(const struct judge *j)
{
	const struct receipt *r = j->r;
	size_t ran = requested_that_ran(r);
	char evidence[SHOWN_SIZE];
	if (r->failure == FAILURE_STOPPED_SLOW)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "stopped early as too slow, %zu of %d updates (%s)",
			ran, r->terms.updates, shown_text(r->failure_evidence, evidence));
	else if (r->timed_out)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "stopped at a time limit (%s), %zu of %d updates",
			failure_class_names[r->failure], ran, r->terms.updates);
	else if (r->exit_signal)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "ended by signal %d, %zu of %d updates",
			r->exit_signal, ran, r->terms.updates);
	else if (r->exit_status < 0)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "did not run to its end, %zu of %d updates", ran,
			r->terms.updates);
	else if (r->exit_status > 0)
		item_set(j, ITEM_COMPLETES, ITEM_FAIL, "exit %d, %zu of %d updates", r->exit_status, ran,
			r->terms.updates);
	else if (!all_updates_ran(r))
		too_few_updates(j, ran);
	else
		item_set(j, ITEM_COMPLETES, ITEM_PASS, "exit 0, %d updates", r->terms.updates);
}

#define U(member) offsetof(struct receipt_update, member)

static struct opt_number at(const struct receipt *r, size_t i, size_t offset)
{
	return *(const struct opt_number *)((const char *)&r->updates[i] + offset);
}

/* Updates in the longest run of one and the same value. */
static int longest_run(const struct receipt *r, size_t offset, int *ret_last)
{
	int longest = 0, length = 0;
	*ret_last = 0;
	for (size_t i = 0; i < r->n_updates; i++) {
		struct opt_number n = at(r, i, offset);
		bool repeats = length > 0 && n.has && n.value == at(r, i - 1, offset).value;
		length = !n.has ? 0 : repeats ? length + 1 : 1;
		if (length > longest) {
			longest = length;
			*ret_last = r->updates[i].update;
		}
	}
	return longest;
}

/* Frozen: one value over at least 5 updates (over all, in a run of 3 or 4) and more than twice as long as in
 * any reference, where rounded output or clipped norms repeat honestly. */
static bool is_frozen(const struct judge *j, size_t offset, int *ret_length, int *ret_last)
{
	int theirs = 1;
	for (size_t i = 0; !j->alone && i < j->n_refs; i++) {
		int last, run = longest_run(j->refs[i], offset, &last);
		theirs = MAX_OF(theirs, run);
	}
	int needed = (int)MIN_OF(j->r->n_updates, (size_t)5);
	*ret_length = longest_run(j->r, offset, ret_last);
	return *ret_length >= 3 && *ret_length >= needed && *ret_length > 2 * theirs;
}

static const struct receipt_update *first_non_finite(const struct receipt *r, size_t offset)
{
	for (size_t i = 0; i < r->n_updates; i++) {
		struct opt_number n = at(r, i, offset);
		if (n.has && !isfinite(n.value))
			return &r->updates[i];
	}
	return NULL;
}

/* Loss scaling overflows show as infinite norms in honest fp16 runs, the reference's too: as long as its
 * losses are numbers, its norms are what this job's are. */
static bool may_overflow(const struct judge *j)
{
	if (role_is_reference(j->r->role))
		return true;
	for (size_t i = 0; !j->alone && i < j->n_refs; i++)
		if (first_non_finite(j->refs[i], U(grad_norm)))
			return true;
	return false;
}

static bool judge_values(const struct judge *j)
{
	static const struct {
		const char *name;
		size_t offset;
	} columns[] = {{"loss", U(loss)}, {"gradient norm", U(grad_norm)}};
	char buf[32];
	for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
		size_t offset = columns[c].offset;
		int length, last;
		const struct receipt_update *u = first_non_finite(j->r, offset);
		if (u && !(offset == U(grad_norm) && may_overflow(j))) {
			double value = at(j->r, (size_t)(u - j->r->updates), offset).value;
			item_set(j, ITEM_NO_ERRORS, ITEM_FAIL, "%s is %s at update %d", columns[c].name,
				number_text(value, buf), u->update);
			return false;
		}
		if (is_frozen(j, offset, &length, &last)) {
			item_set(j, ITEM_NO_ERRORS, ITEM_FAIL, "%s frozen: the same over %d updates up to %d",
				columns[c].name, length, last);
			return false;
		}
	}
	return true;
}

/* Updates that the job had reported when the line came: "log:883 after update 12"; as many as there can be
 * where nobody counted. */
static long updates_before_failure(const struct receipt *r)
{
	static const char mark[] = " after update ";
	const char *at = strstr(r->failure_source, mark);
	int64_t n = 0;
	return at && parse_integer(at + sizeof(mark) - 1, &n) ? (long)n : LONG_MAX;
}

void judge_no_errors(const struct judge *j)
{
	const struct receipt *r = j->r;
	char evidence[SHOWN_SIZE], source[SHOWN_SIZE];
	bool after_end = r->exit_status == 0 && !r->exit_signal && !r->timed_out && all_updates_ran(r) &&
			 updates_before_failure(r) >= r->terms.updates;
	shown_text(r->failure_evidence, evidence);
	shown_text(r->failure_source, source);
	switch (r->failure) {
	case FAILURE_NONE:
	case FAILURE_TIMEOUT: /* these four are what `completes` is about */
	case FAILURE_STALL:
	case FAILURE_KILLED:
	case FAILURE_STOPPED_SLOW:
		break;
	case FAILURE_COLLECTIVE:
		if (after_end)
			break;
		/* fall through */
	default:
		item_set(j, ITEM_NO_ERRORS, ITEM_FAIL, "%s: %s (%s)", failure_class_names[r->failure],
			evidence, source);
		return;
	}
	if (!judge_values(j))
		return;
	if (r->failure == FAILURE_COLLECTIVE)
		item_set(j, ITEM_NO_ERRORS, ITEM_PASS, "after a clean exit only: %s (%s)", evidence, source);
	else
		item_set(j, ITEM_NO_ERRORS, ITEM_PASS, "none found");
}

static bool reference_reports_memory(const struct judge *j)
{
	for (size_t i = 0; i < j->n_refs; i++)
		if (isfinite(receipt_peak_bytes(j->refs[i])))
			return true;
	return false;
}

void judge_memory_cap(const struct judge *j)
{
	double cap = j->r->terms.memory_cap_bytes, peak = receipt_peak_bytes(j->r);
	char a[UNIT_TEXT_SIZE], b[UNIT_TEXT_SIZE];
	if (!(cap > 0))
		item_set(j, ITEM_MEMORY_CAP, ITEM_NA, "no cap declared, peak %s",
			isnan(peak) ? "not reported" : format_bytes(peak, a));
	else if (isnan(peak))
		item_set(j, ITEM_MEMORY_CAP, ITEM_UNCHECKED, "peak memory not reported%s (cap %s)",
			reference_reports_memory(j) ? ", by the reference it is" : "", format_bytes(cap, b));
	else
		item_set(j, ITEM_MEMORY_CAP, peak <= cap ? ITEM_PASS : ITEM_FAIL, "peak %s (cap %s)",
			format_bytes(peak, a), format_bytes(cap, b));
}
