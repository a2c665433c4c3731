/* Contradictions among receipts, and none where there is none. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/chain.h"
#include "event/synthetic.h"

enum { LENGTH = 5 };

struct fixture {
	struct receipt receipts[LENGTH];
	struct chain_file files[LENGTH];
	struct arena arena;
	struct chain_problem *problems;
};

/* 1 <- 2 <- 3 <- 4 <- 5, digests 11..., 22..., and so on. */
static void make_chain(struct fixture *f)
{
	static const char *const paths[] = {"0001.json", "0002.json", "0003.json", "0004.json", "0005.json"};
	memset(f, 0, sizeof(*f));
	for (int i = 0; i < LENGTH; i++) {
		synthetic_receipt(&f->receipts[i], ROLE_SEARCH, i + 1, 0.1);
		memset(f->receipts[i].payload_digest, '1' + i, 64);
		if (i > 0)
			memset(f->receipts[i].prev, '0' + i, 64);
		f->files[i] = (struct chain_file){paths[i], &f->receipts[i]};
	}
}

static void drop_chain(struct fixture *f)
{
	for (int i = 0; i < LENGTH; i++)
		receipt_release(&f->receipts[i]);
	arena_release(&f->arena);
}

static size_t check(struct fixture *f, size_t n)
{
	return receipt_chain_check(f->files, n, &f->arena, &f->problems);
}

static void whole_chain_in_any_order(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	struct chain_file swap = f.files[0];
	f.files[0] = f.files[4];
	f.files[4] = swap;
	assert_int_equal(check(&f, LENGTH), 0);
	assert_int_equal(check(&f, 0), 0);
	drop_chain(&f);
}

static void gaps_are_allowed(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	f.files[1] = f.files[4]; /* 1, 5, 3 */
	assert_int_equal(check(&f, 3), 0);
	drop_chain(&f);
}

static void duplicate_is_named(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	f.files[3] = (struct chain_file){"copy.json", &f.receipts[1]};
	assert_int_equal(check(&f, 4), 1);
	assert_int_equal(f.problems[0].kind, CHAIN_DUPLICATE);
	assert_string_equal(f.problems[0].text, "duplicate: 0002.json and copy.json are the same receipt");
	assert_int_equal(f.problems[0].file, 3); /* the one given later, wherever it stands */
	struct chain_file first = f.files[1];
	f.files[1] = f.files[3];
	f.files[3] = first;
	assert_int_equal(check(&f, 4), 1);
	assert_int_equal(f.problems[0].file, 3);
	drop_chain(&f);
}

static void replays_are_named(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	f.receipts[4].nonce = f.receipts[1].nonce;
	assert_int_equal(check(&f, LENGTH), 1);
	assert_int_equal(f.problems[0].kind, CHAIN_REPLAYED);
	assert_string_equal(f.problems[0].text, "replayed: 0002.json and 0005.json have the same nonce");
	assert_int_equal(f.problems[0].file, 4);
	f.receipts[4].nonce = "fresh";
	f.receipts[4].seq = 3; /* a place taken twice: receipt 4 names whose it is */
	assert_int_equal(check(&f, LENGTH), 1);
	assert_int_equal(f.problems[0].kind, CHAIN_REPLAYED);
	assert_string_equal(
		f.problems[0].text, "replayed: 0003.json and 0005.json are both receipt 3 of campaign c1");
	assert_int_equal(f.problems[0].file, 4);
	memset(f.receipts[3].prev, '5', 64); /* and now the other's */
	assert_int_equal(check(&f, LENGTH), 1);
	assert_int_equal(f.problems[0].file, 2);
	drop_chain(&f);
}

static void broken_chains_are_named(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	memset(f.receipts[3].prev, 'e', 64);
	assert_int_equal(check(&f, LENGTH), 1);
	assert_int_equal(f.problems[0].kind, CHAIN_BROKEN);
	assert_string_equal(f.problems[0].text,
		"broken chain: 0004.json does not name 0003.json as the receipt before it");
	assert_int_equal(f.problems[0].file, 3);
	assert_int_equal(f.problems[0].other, 2);
	memset(f.receipts[3].prev, '3', 64);
	f.receipts[2].prev[0] = '\0';
	memset(f.receipts[0].prev, 'a', 64);
	assert_int_equal(check(&f, LENGTH), 2);
	assert_non_null(strstr(f.problems[0].text, "0001.json is the first receipt"));
	assert_non_null(strstr(f.problems[1].text, "0003.json is receipt 3 but names none"));
	drop_chain(&f);
}

static void campaigns_have_their_own_chains(void **state)
{
	(void)state;
	struct fixture f;
	make_chain(&f);
	f.receipts[4].campaign = "c2";
	f.receipts[4].seq = 1;
	f.receipts[4].prev[0] = '\0';
	assert_int_equal(check(&f, LENGTH), 0);
	drop_chain(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chain_in_any_order),
		cmocka_unit_test(gaps_are_allowed),
		cmocka_unit_test(duplicate_is_named),
		cmocka_unit_test(replays_are_named),
		cmocka_unit_test(broken_chains_are_named),
		cmocka_unit_test(campaigns_have_their_own_chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
