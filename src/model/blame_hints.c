#include "base/base.h"

#include <math.h>

#include "model/blame_hints.h"

static const double prior_right = 2, prior_wrong = 2;

double hint_trust(const struct hint_record *r, enum hint_source source)
{
	double right = prior_right + r->right[source];
	return right / (right + prior_wrong + r->wrong[source]);
}

static enum hint_rank rank_by_text(const struct hint *hint, const struct suspicion *h)
{
	int n_named = 0;
	for (int i = 0; i < h->n; i++)
		n_named += hint->named[h->lever[i]];
	if (n_named == 0 || (h->n > 2 && n_named < h->n))
		return RANK_NOT_NAMED;
	if (n_named == h->n)
		return n_named == hint->n_named ? RANK_ALL : RANK_SOME;
	/* What is named has met something that is not. */
	return RANK_HALF;
}

static enum hint_rank rank_by_pair(const struct lever_pair *pair, const struct suspicion *h)
{
	bool a = false, b = false;
	for (int i = 0; i < h->n; i++) {
		a |= h->lever[i] == pair->lever_a && h->setting[i] == pair->setting_a;
		b |= h->lever[i] == pair->lever_b && h->setting[i] == pair->setting_b;
	}
	bool is_it = a && b && h->n == (pair->lever_a == pair->lever_b ? 1 : 2);
	return is_it ? RANK_ALL : RANK_NOT_NAMED;
}

enum hint_rank hint_rank_of(const struct hint *hint, const struct suspicion *h)
{
	return hint->source == HINT_TEXT ? rank_by_text(hint, h) : rank_by_pair(&hint->pair, h);
}

static void count_ranks(
	const struct hint *hint, const struct suspicion *left, size_t n_left, size_t count[N_HINT_RANKS])
{
	for (int rank = 0; rank < N_HINT_RANKS; rank++)
		count[rank] = 0;
	for (size_t i = 0; i < n_left; i++)
		count[hint_rank_of(hint, &left[i])]++;
}

void hint_judge(struct hint_record *r, const struct hint *hint, const struct suspicion *left, size_t n_left)
{
	size_t count[N_HINT_RANKS];
	if (n_left == 0)
		return;
	count_ranks(hint, left, n_left, count);
	if (count[RANK_NOT_NAMED] == n_left)
		r->wrong[hint->source]++;
	else if (count[RANK_ALL] + count[RANK_SOME] == n_left)
		r->right[hint->source]++;
}

void hint_apply(const struct hint_record *r, const struct hint *hint, struct suspicion *left, size_t n_left)
{
	size_t count[N_HINT_RANKS];
	enum hint_rank rank = RANK_ALL;
	count_ranks(hint, left, n_left, count);
	while (rank < N_HINT_RANKS && count[rank] == 0)
		rank++;
	if (rank == N_HINT_RANKS)
		return;
	double each = -expm1(log1p(-hint_trust(r, hint->source)) / (double)count[rank]);
	for (size_t i = 0; i < n_left; i++) {
		if (hint_rank_of(hint, &left[i]) != rank)
			continue;
		left[i].q = fmax(left[i].q, each);
		left[i].hinted = true;
	}
}
