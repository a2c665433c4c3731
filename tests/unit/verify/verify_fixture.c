#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "event/synthetic.h"
#include "verify_fixture.h"

const struct opt_number none = {false, NAN};

struct opt_number some(double value)
{
	return (struct opt_number){true, value};
}

void fixture_init(struct verify_fixture *f)
{
	memset(f, 0, sizeof(*f));
	synthetic_receipt(&f->refs[0], ROLE_REFERENCE, 1, 0.2);
	synthetic_receipt(&f->refs[1], ROLE_REFERENCE, 2, 0.2);
	synthetic_receipt(&f->candidate, ROLE_SEARCH, 3, 0.1);
}

void fixture_release(struct verify_fixture *f)
{
	receipt_release(&f->refs[0]);
	receipt_release(&f->refs[1]);
	receipt_release(&f->candidate);
}

void fixture_judge(struct verify_fixture *f)
{
	const struct receipt *const refs[] = {&f->refs[0], &f->refs[1]};
	struct err err = ERR_INIT;
	if (verify_receipt(&f->candidate, refs, N_REFS, f->duel, &f->verdict, &err) != OK)
		fail_msg("%s", err.message);
}

static void check_item(const struct verdict *v, enum item item, enum item_result result, const char *says)
{
	const struct item_verdict *i = &v->items[item];
	if (i->result != result || (says && !strstr(i->reason, says)))
		fail_msg("%s is %s '%s', expected %s '%s'", item_infos[item].name,
			item_result_names[i->result], i->reason, item_result_names[result], says ? says : "");
}

void expect_item(struct verify_fixture *f, enum item item, enum item_result result, const char *says)
{
	fixture_judge(f);
	check_item(&f->verdict, item, result, says);
}

void expect_rejected(struct verify_fixture *f, enum item item, enum item_result result, const char *says)
{
	expect_item(f, item, result, says);
	const struct verdict *v = &f->verdict;
	if (v->valid || v->primary != (int)item)
		fail_msg("expected rejection by %s, got %s", item_infos[item].name,
			v->primary < 0 ? "valid" : item_infos[v->primary].name);
}

void expect_valid(struct verify_fixture *f, enum item item, enum item_result result, const char *says)
{
	expect_item(f, item, result, says);
	const struct verdict *v = &f->verdict;
	if (!v->valid || v->primary != -1)
		fail_msg("rejected by %s: %s", item_infos[v->primary].name, v->items[v->primary].reason);
}

void expect_review(struct verify_fixture *f, const char *says)
{
	fixture_judge(f);
	for (int i = 0; says && i < f->verdict.n_reviews; i++)
		if (strstr(f->verdict.reviews[i], says))
			return;
	if (says)
		fail_msg("no review says '%s'", says);
	if (f->verdict.n_reviews)
		fail_msg("unexpected review: %s", f->verdict.reviews[0]);
}

void clear_data(struct receipt *r)
{
	for (size_t i = 0; i < r->n_updates; i++)
		r->updates[i].data[0] = '\0';
}
