#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "search/explain.h"
#include "search/seeds.h"

enum { CHANGES_SHOWN = 6 };

void decision_release(struct decision *d)
{
	free(d->setting);
	d->setting = NULL;
	d->found = false;
}

/* Cut to fit, never inside a UTF-8 character. */
static void copy_cut(char *to, size_t size, const char *text)
{
	size_t n = strlen(text);
	if (n >= size) {
		n = size - 1;
		while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
			n--;
	}
	memcpy(to, text, n);
	to[n] = '\0';
}

static void add_name(struct strbuf *text, const char *name)
{
	if (text->len)
		strbuf_addch(text, '+');
	strbuf_addstr(text, name);
}

/* A kind of change that an operator of that name has not named already. */
static void add_kind(
	struct strbuf *text, const struct candidate *c, enum search_operator namesake, const char *label)
{
	if (label || !(c->operators >> namesake & 1))
		add_name(text, operator_names[namesake]);
}

/* Predicted to lose time, never seen to run. */
static bool is_contrarian(const struct scores *s, int lever, int setting)
{
	const struct model_input *in = &s->in->model;
	return in->levers[lever].prior[setting].predicted_gain_ln < 0 &&
	       !setting_was_timed(s->in, lever, setting);
}

/* The names of what the change does, whichever operator proposed it. */
static void add_kinds_of_change(struct strbuf *text, const struct scores *s, const struct candidate *c,
	const char *label, const int *from)
{
	const int *to = c->setting;
	int patches = 0;
	bool contrarian = false;
	for (int l = 0; l < s->n_levers; l++) {
		const struct lever *lever = &s->in->model.levers[l];
		if (from[l] == to[l] || to[l] == lever->reference)
			continue;
		patches += lever->is_patch;
		contrarian |= is_contrarian(s, l, to[l]);
	}
	if (contrarian)
		add_kind(text, c, OPERATOR_CONTRARIAN, label);
	if (patches)
		add_kind(text, c, OPERATOR_PATCH, label);
	if (patches >= 2)
		add_kind(text, c, OPERATOR_STACK, label);
}

static void fill_operators(
	struct scores *s, const struct candidate *c, const char *label, const int *base, struct decision *d)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (label)
		add_name(&text, label);
	for (int i = 0; !label && i < N_OPERATORS; i++)
		if (c->operators >> i & 1)
			add_name(&text, operator_names[i]);
	add_kinds_of_change(&text, s, c, label, base);
	copy_cut(d->operators, sizeof(d->operators), text.buf);
}

static void add_change(struct strbuf *text, const struct lever *lever, int setting)
{
	strbuf_add_escaped(text, lever->name, strlen(lever->name));
	if (lever->setting_names) {
		const char *name = lever->setting_names[setting];
		strbuf_addch(text, '=');
		strbuf_add_escaped(text, name, strlen(name));
	} else {
		strbuf_addf(text, "=#%d", setting);
	}
}

static void add_changes(struct strbuf *text, const struct scores *s, const int *base, const int *setting)
{
	int shown = 0, more = 0;
	for (int l = 0; l < s->n_levers; l++) {
		if (base[l] == setting[l])
			continue;
		if (shown == CHANGES_SHOWN) {
			more++;
			continue;
		}
		strbuf_addstr(text, shown++ ? ", " : " + ");
		add_change(text, &s->in->model.levers[l], setting[l]);
	}
	if (more)
		strbuf_addf(text, " and %d more", more);
}

static double percent(double gain_ln)
{
	return 100 * expm1(gain_ln);
}

static void fill_reason(
	struct scores *s, const struct candidate *c, const char *from, const int *base, struct decision *d)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, from);
	add_changes(&text, s, base, c->setting);
	if (s->time)
		strbuf_addf(&text, ": expected %+.1f%% (up to %+.1f%%), fits %.2f, runs %.2f",
			percent(c->mean_ln), percent(c->mean_ln + 2 * c->sd_ln), c->p_fits, c->p_ok);
	if (s->nothing_fits_yet)
		strbuf_addstr(&text, "; nothing has fitted yet, so what fits comes first");
	copy_cut(d->reason, sizeof(d->reason), text.buf);
}

void decision_fill(
	struct scores *s, struct candidate *c, const char *label, const char *from, struct decision *d)
{
	const struct origin start = {s->reference, -1, from, 0};
	const struct origin *origin = from || !c->origin ? &start : c->origin;
	if (s->time)
		candidate_predict(s, c);
	else
		c->score = c->mean_ln = c->sd_ln = c->p_fits = c->p_ok = c->predicted_peak_bytes = NAN;
	*d = (struct decision){
		.found = true,
		.base_observation = origin->observation,
		.score = c->score,
		.mean_ln = c->mean_ln,
		.sd_ln = c->sd_ln,
		.p_fits = c->p_fits,
		.p_ok = c->p_ok,
		.predicted_peak_bytes = c->predicted_peak_bytes,
		.incumbent_ln = s->incumbent_ln,
	};
	d->setting = xcalloc((size_t)s->n_levers + 1, sizeof(*d->setting));
	if (s->n_levers)
		memcpy(d->setting, c->setting, (size_t)s->n_levers * sizeof(*d->setting));
	fill_operators(s, c, label, origin->setting, d);
	fill_reason(s, c, origin->name, origin->setting, d);
}
