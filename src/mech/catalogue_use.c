/* Questions to the catalogue. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "mech/catalogue.h"

static const char any_hardware[] = "any", any_value[] = "*";

const struct mechanism *catalogue_find(const struct catalogue *c, const char *id)
{
	for (size_t i = 0; i < c->n_mechanisms; i++)
		if (strcmp(c->mechanisms[i].id, id) == 0)
			return &c->mechanisms[i];
	return NULL;
}

/* A side of a contrast covers a value: by name, or "*" every value but the reference. Of a bundle ("a+b") no
 * part is known alone. */
static bool covers(const struct mechanism *m, const char *side, const char *value)
{
	if (strcmp(side, any_value) == 0)
		return !m->reference || strcmp(value, m->reference) != 0;
	return strcmp(side, value) == 0;
}

/* 1 = along the contrast, -1 = against it, 0 = another one. */
static int direction(
	const struct mechanism *m, const struct mechanism_prior *p, const char *from, const char *to)
{
	if (covers(m, p->from, from) && covers(m, p->to, to))
		return 1;
	return covers(m, p->from, to) && covers(m, p->to, from) ? -1 : 0;
}

struct gain_sum {
	double n, mean_ln, square, variance;
	const char *source;
};

/* Amdahl: the rest of the update takes as long as before. Holds for losses, too. *ret_slope: its derivative,
 * which carries the spread over. */
static double whole_gain_ln(double kernel_gain_ln, double kernel_share, double *ret_slope)
{
	double left = exp(-kernel_gain_ln), time = 1 + kernel_share * (left - 1);
	*ret_slope = kernel_share * left / time;
	return -log(time);
}

static void add_contrasts(struct gain_sum *sum, const struct mechanism *m, const char *hardware,
	const char *from, const char *to, double kernel_share)
{
	for (size_t i = 0; i < m->n_priors; i++) {
		const struct mechanism_prior *p = &m->priors[i];
		int sign = strcmp(p->hardware, hardware) == 0 ? direction(m, p, from, to) : 0;
		double gain_ln = sign * p->mean_ln, slope = 1;
		if (!sign || !p->n || (p->scope != PRIOR_END_TO_END && isnan(kernel_share)))
			continue;
		if (p->scope != PRIOR_END_TO_END)
			gain_ln = whole_gain_ln(gain_ln, kernel_share, &slope);
		sum->n += p->n;
		sum->mean_ln += p->n * gain_ln;
		sum->square += p->n * gain_ln * gain_ln;
		sum->variance += p->n * slope * slope * p->sd_ln * p->sd_ln;
		if (!sum->source)
			sum->source = p->source;
	}
}

bool mechanism_published_gain(const struct mechanism *m, const char *hardware, const char *from,
	const char *to, double kernel_share, double *ret_mean_ln, double *ret_sd_ln, const char **ret_source)
{
	struct gain_sum sum = {0};
	if (strcmp(from, to) == 0)
		return false;
	add_contrasts(&sum, m, hardware, from, to, kernel_share);
	if (!sum.n)
		add_contrasts(&sum, m, any_hardware, from, to, kernel_share);
	if (!sum.n)
		return false;
	*ret_mean_ln = sum.mean_ln / sum.n;
	/* Of a mixture: what each contrast is unsure of, and how far they are apart. */
	double apart = fmax(sum.square / sum.n - *ret_mean_ln * *ret_mean_ln, 0);
	*ret_sd_ln = sqrt(sum.variance / sum.n + apart);
	*ret_source = sum.source;
	return true;
}

const struct mechanism_spelling *mechanism_spelling_find(
	const struct mechanism *m, const char *framework, const char *flag)
{
	for (size_t i = 0; i < m->n_spellings; i++)
		if (strcmp(m->spellings[i].framework, framework) == 0 &&
			strcmp(m->spellings[i].flag, flag) == 0)
			return &m->spellings[i];
	return NULL;
}

const char *mechanism_spelling_value(const struct mechanism_spelling *s, const char *raw)
{
	const char *found = NULL;
	for (size_t i = 0; i < s->n_values; i++) {
		if (strcmp(s->values[i].raw, raw) == 0)
			found = s->values[i].canonical;
		else if (!found && strcmp(s->values[i].raw, any_value) == 0)
			found = s->values[i].canonical;
	}
	return found && found[0] == '=' ? NULL : found;
}

static bool names(const struct texts *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static bool value_is_meant(const struct mechanism *m, const struct texts *values, const char *value)
{
	if (values->n)
		return names(values, value);
	return !m->reference || strcmp(value, m->reference) != 0;
}

static const struct mechanism_conflict *conflict_of(const char *framework, const struct mechanism *a,
	const char *value_a, const struct mechanism *b, const char *value_b)
{
	for (size_t i = 0; i < a->n_conflicts; i++) {
		const struct mechanism_conflict *k = &a->conflicts[i];
		if (!k->with || strcmp(k->with, b->id) != 0 || k->condition)
			continue;
		if (k->frameworks.n && !names(&k->frameworks, framework))
			continue;
		if (value_is_meant(a, &k->self_values, value_a) &&
			value_is_meant(b, &k->other_values, value_b))
			return k;
	}
	return NULL;
}

const struct mechanism_conflict *mechanisms_conflict(const char *framework, const struct mechanism *a,
	const char *value_a, const struct mechanism *b, const char *value_b)
{
	const struct mechanism_conflict *found = conflict_of(framework, a, value_a, b, value_b);
	return found ? found : conflict_of(framework, b, value_b, a, value_a);
}
