#include "corpus.h"

#include "random.h"

#define FOLLOWERS 4
#define GRAMMAR_SEED 0x6772616d6d6172ULL /* the language is the same for every seed; the text is not */

/* Rank of a word, skewed a little more than Zipf's law so that thirty updates are enough to learn something. */
static int any_word(const struct corpus *corpus, uint64_t *random)
{
	uint64_t u = random_fraction(random);
	uint64_t cube = (u * u / RANDOM_ONE) * u / RANDOM_ONE;

	return (int)(cube * cube / RANDOM_ONE * (uint64_t)corpus->vocab / RANDOM_ONE);
}

static int follower(const struct corpus *corpus, int before, int last, uint64_t *random)
{
	int choice = (int)(random_next(random) % FOLLOWERS);
	/* What follows depends on the last word and on the class of the one before it. */
	uint64_t word = random_stream(GRAMMAR_SEED + (uint64_t)(before % 4), (uint64_t)(last * FOLLOWERS + choice));

	return any_word(corpus, &word);
}

void corpus_row(const struct corpus *corpus, int update, int row, int *ids, int count)
{
	uint64_t random = random_stream(corpus->seed, (uint64_t)(update - 1) * corpus->rows + row);
	int before = any_word(corpus, &random), last = any_word(corpus, &random), i;

	for (i = 0; i < count; i++) {
		int next = random_next(&random) % 4 ? follower(corpus, before, last, &random)
						    : any_word(corpus, &random);

		ids[i] = next;
		before = last;
		last = next;
	}
}
