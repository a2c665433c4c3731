/*
 * The training text, made by a seeded grammar instead of read from a file.
 *
 * Words are common or rare as in language (Zipf-like).  Three times out of four the next word is one of a few followers
 * of the last two words, otherwise any word.  Row r of update u is the same whatever the micro-batch size.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <stdint.h>

struct corpus {
	uint64_t seed;
	int vocab, rows; /* per update */
};

/* Writes count ids of row number row (from 0) of update number update (from 1). */
void corpus_row(const struct corpus *corpus, int update, int row, int *ids, int count);

#endif
