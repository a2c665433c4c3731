/* The words and numbers that both forms of `infrarsi explain` share. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/explain_print.h"
#include "search/search.h"

const double explain_interval_sd = 1.96;

/* Labels of a decision that name no operator, or that say of a change what kind it is. */
static const struct {
	const char *name, *meaning;
} labels[] = {
	{"start", "a configuration to begin with, not chosen by its score"},
	{"random", "no neighbour was left: any configuration that may run"},
	{"patch", "a patch goes on"},
	{"stack", "two or more patches go on"},
	{"contrarian", "a setting that was predicted to lose and has not run"},
};

static const char *meaning_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(labels); i++)
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].meaning;
	int operator_index = switch_index(operator_names, name);
	if (operator_index >= 0)
		return search_operator_part((enum search_operator)operator_index).summary;
	const struct strategy *strategy = strategy_find(name);
	return strategy ? strategy->summary : NULL;
}

void explain_add_operators(struct strbuf *text, const char *operators)
{
	for (const char *p = operators; *p;) {
		size_t length = strcspn(p, "+");
		CLEANUP(free_ptr) char *name = xasprintf("%.*s", (int)length, p);
		const char *meaning = meaning_of(name);
		strbuf_addstr(text, p > operators ? "           " : "");
		strbuf_add_escaped(text, name, length);
		strbuf_addf(text, "%s%s\n", meaning ? ": " : "", meaning ? meaning : "");
		p += length + (p[length] == '+');
	}
}

int explain_trial_of(const struct state *s, int observation)
{
	return observation < 0 ? 0 : s->trials[s->observation_trial[observation]].number;
}

const char *explain_gain(double gain_ln, char buf[GAIN_TEXT_SIZE])
{
	double percent = 100 * expm1(gain_ln);
	if (fabs(percent) < 0.05)
		snprintf(buf, GAIN_TEXT_SIZE, "0%%");
	else if (percent >= 999.5)
		snprintf(buf, GAIN_TEXT_SIZE, "%.3gx", exp(gain_ln));
	else
		snprintf(buf, GAIN_TEXT_SIZE, fabs(percent) < 9.95 ? "%+.1f%%" : "%+.0f%%", percent);
	return buf;
}

void explain_add_speedup(struct strbuf *text, double mean_ln, double sd_ln)
{
	double half = explain_interval_sd * sd_ln;
	strbuf_addf(
		text, "%.2fx (95%% %.2f to %.2f)", exp(mean_ln), exp(mean_ln - half), exp(mean_ln + half));
}

/* Columns of so many bytes of UTF-8. */
static size_t columns_of_bytes(const char *text, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xC0) != 0x80;
	return n;
}

void explain_add_wrapped(struct strbuf *text, const char *value, size_t indent)
{
	size_t at = indent;
	for (const char *p = value; *p;) {
		size_t length = strcspn(p, " "), columns = columns_of_bytes(p, length);
		if (at > indent && at + 1 + columns > EXPLAIN_COLUMNS) {
			strbuf_addf(text, "\n%*s", (int)indent, "");
			at = indent;
		} else if (p > value) {
			strbuf_addch(text, ' ');
			at++;
		}
		strbuf_add(text, p, length);
		at += columns;
		p += length + (p[length] == ' ');
	}
	strbuf_addch(text, '\n');
}

size_t explain_add_cut(struct strbuf *text, const char *value, size_t columns)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	size_t shown = 0, at = 0, cut = 0;
	strbuf_add_escaped(&safe, value, strlen(value));
	while (at < safe.len && shown <= columns) {
		if (shown + 3 <= columns)
			cut = at;
		at++;
		while (at < safe.len && ((unsigned char)safe.buf[at] & 0xC0) == 0x80)
			at++;
		shown++;
	}
	if (shown <= columns) {
		strbuf_addstr(text, safe.buf);
		return shown;
	}
	strbuf_addf(text, "%.*s...", (int)cut, safe.buf);
	return columns;
}

void explain_add_setting(struct strbuf *text, const struct state *s, int lever, int setting)
{
	const struct lever *l = &s->search.model.levers[lever];
	bool is_on = l->is_patch && setting != l->reference;
	if (l->is_patch)
		strbuf_addch(text, is_on ? '+' : '-');
	strbuf_add_escaped(text, l->name, strlen(l->name));
	if (!l->is_patch && l->setting_names) {
		strbuf_addch(text, '=');
		strbuf_add_escaped(text, l->setting_names[setting], strlen(l->setting_names[setting]));
	}
}

/* What the models add for a run whose time says less. */
static double extra_sd_ln(const struct state *s, const struct trial *t)
{
	for (size_t i = 0; i < s->search.model.n_observations; i++)
		if (&s->trials[s->observation_trial[i]] == t)
			return s->search.model.observations[i].extra_sd_ln;
	return 0;
}

double explain_off_sd(const struct state *s, const struct trial *t)
{
	double run_variance = s->noise.sigma_pair * s->noise.sigma_pair / 2, extra = extra_sd_ln(s, t);
	double variance = t->predicted_sd_ln * t->predicted_sd_ln + run_variance +
			  run_variance / MAX_OF(s->noise.runs, 1) + extra * extra;
	return t->run.has_time ? (t->run.gain_ln - t->predicted_ln) / sqrt(variance) : NAN;
}

bool explain_score_terms(const struct state *s, const struct trial *t, struct score_terms *ret_terms)
{
	/* What had been observed when it was decided, where trials run one after another. */
	struct model_input before = s->search.model;
	before.n_observations = 0;
	while (before.n_observations < s->search.model.n_observations &&
		explain_trial_of(s, (int)before.n_observations) < t->number)
		before.n_observations++;
	struct score_terms terms = {.mean_ln = t->predicted_ln,
		.sd_ln = t->predicted_sd_ln,
		.incumbent_ln = t->incumbent_ln,
		.p_fits = t->p_fits,
		.p_ok = t->p_ok,
		.caution = score_caution(&before)};
	/* A score is recorded rounded to 1e-9 of itself. */
	if (!(fabs(score_formula(&terms) - t->score) <= 1e-6 * fabs(t->score)))
		return false;
	*ret_terms = terms;
	return true;
}

void explain_add_score(struct strbuf *text, double score, const struct score_terms *terms)
{
	struct score_terms sure = {.mean_ln = terms->mean_ln,
		.sd_ln = terms->sd_ln,
		.incumbent_ln = terms->incumbent_ln,
		.p_fits = 1,
		.p_ok = 1,
		.caution = 1};
	strbuf_addf(text, "%.3g = %.3g upper gain x %.2f", score, score_formula(&sure), terms->p_fits);
	if (terms->caution > 1)
		strbuf_addf(text, "^%d", terms->caution);
	strbuf_addf(text,
		" fits x %.2f runs\n           (upper gain: ln at mean + 2 sd, over the incumbent's",
		terms->p_ok);
	if (terms->caution > 1)
		strbuf_addf(
			text, "; ^%d: caution after %d out of memory", terms->caution, terms->caution - 1);
	strbuf_addstr(text, ")\n");
}
