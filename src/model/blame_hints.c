#include "base/base.h"

#include <math.h>

#include "model/blame_hints.h"

static const double prior_right = 2, prior_wrong = 2;

double hint_trust(const struct hint_record *r, enum hint_source source)
{
	double right = prior_right + r->right[source];
	return right / (right + prior_wrong + r->wrong[source]);
}

static int rank_by_text(const struct hint *hint, const struct suspicion *h)
{
	int n_named = 0;
	for (int i = 0; i < h->n; i++)
		n_named += hint->named[h->lever[i]];
	if (h->n > 2 || n_named == 0)
		return 0;
	/* One of two: what is named has met something that is not. */
	return n_named == h->n ? 1 : 2;
}

static int rank_by_pair(const struct lever_pair *pair, const struct suspicion *h)
{
	bool a = false, b = false;
	for (int i = 0; i < h->n; i++) {
		a |= h->lever[i] == pair->lever_a && h->setting[i] == pair->setting_a;
		b |= h->lever[i] == pair->lever_b && h->setting[i] == pair->setting_b;
	}
	return a && b && h->n == (pair->lever_a == pair->lever_b ? 1 : 2);
}

int hint_rank(const struct hint *hint, const struct suspicion *h)
{
	return hint->source == HINT_TEXT ? rank_by_text(hint, h) : rank_by_pair(&hint->pair, h);
}

/* The best rank that is left, and how many have it; 0 = none is left. */
static int best_rank(const struct hint *hint, const struct suspicion *left, size_t n_left, size_t *ret_count)
{
	size_t count[3] = {0};
	for (size_t i = 0; i < n_left; i++)
		count[hint_rank(hint, &left[i])]++;
	int rank = count[1] ? 1 : count[2] ? 2 : 0;
	*ret_count = rank ? count[rank] : 0;
	return rank;
}

void hint_judge(struct hint_record *r, const struct hint *hint, const struct suspicion *left, size_t n_left)
{
	size_t count;
	if (n_left == 0)
		return;
	if (best_rank(hint, left, n_left, &count) == 0)
		r->wrong[hint->source]++;
	else if (count == n_left)
		r->right[hint->source]++;
}

void hint_apply(const struct hint_record *r, const struct hint *hint, struct suspicion *left, size_t n_left)
{
	size_t count;
	int rank = best_rank(hint, left, n_left, &count);
	if (rank == 0)
		return;
	double each = -expm1(log1p(-hint_trust(r, hint->source)) / (double)count);
	for (size_t i = 0; i < n_left; i++) {
		if (hint_rank(hint, &left[i]) != rank)
			continue;
		left[i].q = fmax(left[i].q, each);
		left[i].hinted = true;
	}
}
