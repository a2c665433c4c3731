/*
 * Same ledger, same seed, same next candidate: made-up campaigns of every kind of task, as by default and
 * with everything that a campaign may have beside, proposers apart, and the candidates that they led to when
 * this was written.
 * A compiler, an optimisation level or a machine that changes one of them breaks the promise that a campaign
 * can be replayed; a change to the models changes them on purpose, and then the table below is written anew
 * from what the test prints.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "campaigns.h"

static const struct {
	enum made_up_kind kind;
	unsigned extras;
	const char *candidates; /* MADE_UP_TRIALS times MADE_UP_LEVERS digits */
} recorded[] = {
	{MADE_UP_CATEGORIES, 0,
		"213130020422001310101100130102201010310300031231023103102311310233031023103112110310"},
	{MADE_UP_ORDERED, 0,
		"234202222313212221311123122122312111331311222122111312412231222123121212311121231312"},
	{MADE_UP_NUMBERS, 0,
		"121123020300100002311233104200112100011202021121200110121011012131101210110321011031"},
	{MADE_UP_MIXED, 0,
		"123010022321101231301113110112312111211101122110112213111241101120110122411012341101"},
	{MADE_UP_UNFIT, 0,
		"034000020412000302030200031103401000340002004213003012200002142034031003403002341231"},
	{MADE_UP_CATEGORIES, MADE_UP_EVERYTHING,
		"230000021000002010200213120021200001342310233201023420101340110234001013003101340310"},
	{MADE_UP_ORDERED, MADE_UP_EVERYTHING,
		"000103000000302000000233202221200020241220023102212221100221210024101202412100201210"},
	{MADE_UP_NUMBERS, MADE_UP_EVERYTHING,
		"012113001201300100120120023020013300301132100223000013302001112230133023011302302130"},
	{MADE_UP_MIXED, MADE_UP_EVERYTHING,
		"230000021000002010200123210021200002311201231100123112002312201233220123422011330301"},
	{MADE_UP_UNFIT, MADE_UP_EVERYTHING,
		"000103000000301040100114131000412100041010004001000410000341010034001002410100341030"},
	{MADE_UP_CATEGORIES, MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
		"230000021000002010200232100021200001342310234201023320101312110131031013023101340310"},
	{MADE_UP_ORDERED, MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
		"000103000000302000000224222021200021242320022121002412101242110023121002410120241220"},
	{MADE_UP_NUMBERS, MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
		"012113001201301100220212033000303401002230100023011022301301230100123010112301101230"},
	{MADE_UP_MIXED, MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
		"230000021000002010200030200021200002311201231100123112001311101231020123412011311301"},
	{MADE_UP_UNFIT, MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
		"000103000000300040000014101000410100341010004001003400100241010024001003410000041000"},
};

static void the_same_ledger_leads_to_the_same_candidates(void **state)
{
	(void)state;
	bool same = true;
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		struct made_up_campaign c;
		struct err e = ERR_INIT;
		if (made_up_play(recorded[i].kind, 0, recorded[i].extras, strategy_find("controller"), &c,
			    &e) != OK)
			fail_msg("%s", e.message);
		if (strcmp(c.candidates, recorded[i].candidates) != 0) {
			print_message(
				"task %zu:\n%s, expected\n%s\n", i, c.candidates, recorded[i].candidates);
			same = false;
		}
	}
	assert_true(same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_ledger_leads_to_the_same_candidates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
