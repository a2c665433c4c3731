/* The matcher against a search that is plainly right. */
#include "base/base.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/matcher.h"
#include "base/memory.h"
#include "base/random.h"

static bool is_in(const char *literal, const char *text, size_t length)
{
	size_t n = strlen(literal);
	for (size_t i = 0; i + n <= length; i++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[i + k]) == (unsigned char)literal[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static uint64_t owners_of(size_t i)
{
	return i % 5 == 4 ? 0 : (uint64_t)1 << i * 4 % 64;
}

static uint64_t notes_of(size_t i)
{
	return i % 3 == 0 || i % 5 == 4 ? (uint64_t)1 << i : 0;
}

static void agrees_with_a_plain_search(void **state)
{
	(void)state;
	static const char *const literals[] = {"loss=", "loss ", "step", "aaaa", "aaab", "baaa", "abab", "%|",
		" =a", "a[b_", "[rank", "tokens per iteration will be:", "b%|a"};
	static const char alphabet[] = "aAbB=% |[]_{\x7f\xe2Ss";
	struct matcher *m = matcher_new();
	struct random r;
	/* Some with notes, some of owners that share a group, some that nobody owns. */
	for (size_t i = 0; i < ARRAY_LEN(literals); i++)
		matcher_add(m, literals[i], owners_of(i), notes_of(i));
	matcher_compile(m);
	random_init(&r, 3, "matcher", 0);
	for (int round = 0; round < 20000; round++) {
		size_t length = random_below(&r, 40);
		/* Exactly so many bytes, so that a sanitizer sees a read behind them. */
		char *text = xmalloc(length + 1);
		for (size_t i = 0; i < length; i++)
			text[i] = alphabet[random_below(&r, sizeof(alphabet) - 1)];
		if (length > 8 && round % 3 == 0) {
			const char *planted = literals[random_below(&r, ARRAY_LEN(literals))];
			size_t n = MIN_OF(strlen(planted), length);
			memcpy(text + random_below(&r, length - n + 1), planted, n);
		}
		char *exact = xmalloc(MAX_OF(length, (size_t)1));
		memcpy(exact, text, length);
		uint64_t owners = 0, notes = 0, wanted = round % 2 ? ~(uint64_t)0 : random_u64(&r);
		for (size_t i = 0; i < ARRAY_LEN(literals); i++)
			if (is_in(literals[i], text, length)) {
				owners |= owners_of(i) & wanted;
				notes |= notes_of(i);
			}
		struct matcher_hits hits = matcher_find(m, wanted, exact, length);
		assert_int_equal(hits.owners, owners);
		assert_int_equal(hits.notes, notes);
		free(exact);
		free(text);
	}
	matcher_free(m);
}

static uint64_t found(const struct matcher *m, uint64_t wanted, const char *text)
{
	return matcher_find(m, wanted, text, strlen(text)).owners;
}

static void owners_of_one_literal_add_up(void **state)
{
	(void)state;
	struct matcher *m = matcher_new();
	matcher_add(m, "grad norm", 1, 0);
	matcher_add(m, "grad norm", 4, 0);
	matcher_add(m, "norm", (uint64_t)1 << 63, 0);
	matcher_compile(m);
	assert_int_equal(found(m, ~(uint64_t)0, "GRAD NORM: 1"), 5 | (uint64_t)1 << 63);
	assert_int_equal(found(m, 4, "GRAD NORM: 1"), 4);
	assert_int_equal(found(m, ~(uint64_t)0, "grad-norm"), (uint64_t)1 << 63);
	assert_int_equal(found(m, ~(uint64_t)0, ""), 0);
	assert_int_equal(found(m, ~(uint64_t)0, "grad nor"), 0);
	matcher_free(m);
}

static void nothing_to_look_for_finds_nothing(void **state)
{
	(void)state;
	struct matcher *m = matcher_new();
	matcher_compile(m);
	assert_int_equal(found(m, ~(uint64_t)0, "anything at all"), 0);
	matcher_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_plain_search),
		cmocka_unit_test(owners_of_one_literal_add_up),
		cmocka_unit_test(nothing_to_look_for_finds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
