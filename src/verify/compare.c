#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "event/receipt.h"
#include "verify/verify_int.h"

bool is_within(double x, double limit)
{
	/* 1e-12: far above the rounding of a quotient of doubles, far below any tolerance. */
	return x <= limit + 1e-12;
}

const struct receipt_update *update_of(const struct receipt *r, int update)
{
	size_t low = 0, high = r->n_updates;
	/* Runs without a gap are the rule. */
	if (update >= 1 && (size_t)update <= high && r->updates[update - 1].update == update)
		return &r->updates[update - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->updates[middle].update < update)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->n_updates && r->updates[low].update == update ? &r->updates[low] : NULL;
}

bool all_updates_ran(const struct receipt *r)
{
	/* Update numbers are distinct and increasing. */
	size_t wanted = (size_t)r->terms.updates;
	return r->n_updates >= wanted && r->updates[wanted - 1].update == r->terms.updates;
}

static struct opt_number number_at(const struct receipt_update *u, size_t offset)
{
	struct opt_number none = {false, NAN};
	return u ? *(const struct opt_number *)((const char *)u + offset) : none;
}

static bool numbers_agree(double a, double b, double tolerance)
{
	/* An infinity is within any share of itself. */
	bool finite = isfinite(a) && isfinite(b);
	return a == b || (finite && fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b)));
}

/* Worse findings replace better ones; of equal ones the first stays. */
static void note(struct comparison *c, enum agreement agreement, int update, struct opt_number mine,
	struct opt_number theirs)
{
	static const int weight[] = {
		[AGREE_SAME] = 1,
		[AGREE_NOTHING_RAN] = 0,
		[AGREE_NOT_REPORTED] = 2,
		[AGREE_REFS_DIFFER] = 3,
		[AGREE_MISSING] = 4,
		[AGREE_DIFFERENT] = 5,
	};
	if (weight[agreement] > weight[c->agreement])
		*c = (struct comparison){agreement, update, mine, theirs, c->compared, c->reported};
}

/* What the references agree on at an update; false where they do not. */
static bool agreed_number(
	const struct judge *j, int update, size_t offset, double tolerance, struct opt_number *ret_number)
{
	*ret_number = (struct opt_number){false, NAN};
	for (size_t i = 0; i < j->n_refs; i++) {
		struct opt_number n = number_at(update_of(j->refs[i], update), offset);
		if (n.has && ret_number->has && !numbers_agree(n.value, ret_number->value, tolerance))
			return false;
		if (n.has && !ret_number->has)
			*ret_number = n;
	}
	return true;
}

struct comparison compare_numbers(const struct judge *j, size_t offset, double tolerance)
{
	struct opt_number none = {false, NAN};
	struct comparison c = {AGREE_NOTHING_RAN, 0, none, none, 0, 0};
	for (size_t i = 0; i < j->r->n_updates; i++) {
		int update = j->r->updates[i].update;
		struct opt_number mine = number_at(&j->r->updates[i], offset), theirs;
		if (update > j->r->terms.updates)
			break;
		c.reported += mine.has;
		if (!agreed_number(j, update, offset, tolerance, &theirs))
			note(&c, AGREE_REFS_DIFFER, update, mine, theirs);
		else if (!theirs.has)
			note(&c, AGREE_NOT_REPORTED, update, mine, theirs);
		else if (!mine.has)
			note(&c, AGREE_MISSING, update, mine, theirs);
		else if (!numbers_agree(mine.value, theirs.value, tolerance))
			note(&c, AGREE_DIFFERENT, update, mine, theirs);
		else {
			note(&c, AGREE_SAME, update, mine, theirs);
			c.compared++;
		}
	}
	return c;
}

static bool agreed_data(const struct judge *j, int update, const char **ret_data)
{
	*ret_data = "";
	for (size_t i = 0; i < j->n_refs; i++) {
		const struct receipt_update *u = update_of(j->refs[i], update);
		if (!u || !u->data[0])
			continue;
		if (**ret_data && strcmp(*ret_data, u->data) != 0)
			return false;
		*ret_data = u->data;
	}
	return true;
}

struct comparison compare_data(const struct judge *j)
{
	struct opt_number none = {false, NAN};
	struct comparison c = {AGREE_NOTHING_RAN, 0, none, none, 0, 0};
	for (size_t i = 0; i < j->r->n_updates; i++) {
		const struct receipt_update *u = &j->r->updates[i];
		const char *theirs;
		if (u->update > j->r->terms.updates)
			break;
		c.reported += u->data[0] != '\0';
		if (!agreed_data(j, u->update, &theirs))
			note(&c, AGREE_REFS_DIFFER, u->update, none, none);
		else if (!*theirs)
			note(&c, AGREE_NOT_REPORTED, u->update, none, none);
		else if (!u->data[0])
			note(&c, AGREE_MISSING, u->update, none, none);
		else if (strcmp(u->data, theirs) != 0)
			note(&c, AGREE_DIFFERENT, u->update, none, none);
		else {
			note(&c, AGREE_SAME, u->update, none, none);
			c.compared++;
		}
	}
	return c;
}

const char *percent_text(double fraction, char buf[32])
{
	/* 5 digits: what is just beyond a limit must not read as the limit. */
	snprintf(buf, 32, "%.5g%%", 100 * fraction);
	return buf;
}

/* One name for the spellings of a precision; others stand for themselves. */
static const char *precision_name(const char *text)
{
	static const char *const aliases[][2] = {
		{"float32", "fp32"},
		{"f32", "fp32"},
		{"float", "fp32"},
		{"bfloat16", "bf16"},
		{"float16", "fp16"},
		{"f16", "fp16"},
		{"half", "fp16"},
		{"float64", "fp64"},
		{"f64", "fp64"},
		{"double", "fp64"},
	};
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(text, aliases[i][0]) == 0)
			return aliases[i][1];
	return text;
}

bool same_precision(const char *a, const char *b)
{
	return strcmp(precision_name(a), precision_name(b)) == 0;
}

bool reports_precision(const struct receipt *r)
{
	return *r->storage_precision && *r->compute_precision;
}

bool precision_differs(const struct receipt *a, const struct receipt *b)
{
	return reports_precision(a) && reports_precision(b) &&
	       (!same_precision(a->storage_precision, b->storage_precision) ||
		       !same_precision(a->compute_precision, b->compute_precision));
}

const char *shown_text(const char *text, char buf[SHOWN_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strlen(text));
	snprintf(buf, SHOWN_SIZE, "%s", safe.buf);
	if (safe.len >= SHOWN_SIZE) {
		/* Not through the middle of a UTF-8 sequence. */
		size_t cut = SHOWN_SIZE - 4;
		while (cut > 0 && ((unsigned char)buf[cut] & 0xC0) == 0x80)
			cut--;
		snprintf(buf + cut, SHOWN_SIZE - cut, "...");
	}
	return buf;
}

const char *number_text(double x, char buf[32])
{
	double size = fabs(x);
	if (isnan(x))
		snprintf(buf, 32, "nan");
	else if (isinf(x))
		snprintf(buf, 32, x > 0 ? "inf" : "-inf");
	else if (size >= 0.01 && size < 1e4)
		snprintf(buf, 32, "%.4f", x);
	else
		snprintf(buf, 32, "%.4g", x);
	return buf;
}
