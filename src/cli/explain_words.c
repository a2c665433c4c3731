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
#include "spec/task.h"

const double explain_interval_sd = 1.96;

/* What a label says of the change itself, whoever proposed it. */
static const struct {
	const char *name, *meaning;
	int least_patches_on; /* else it can only be the operator of that name */
} kinds[] = {
	{"patch", "a patch goes on", 1},
	{"stack", "two or more patches go on", 2},
};

static const char *kind_meaning(const char *name, int n_patches_on)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0 && n_patches_on >= kinds[i].least_patches_on)
			return kinds[i].meaning;
	return NULL;
}

/* `names_operators`: labels are those of operators, which also reach what lies near what they look for. */
static const char *contrarian_meaning(bool names_operators)
{
	return names_operators
		       ? "at or near a setting that was predicted to gain at most 2% and was never timed"
		       : "a setting that was predicted to lose and was never timed";
}

static const char *operator_meaning(const char *name)
{
	int index = switch_index(operator_names, name);
	return index < 0 ? NULL : search_operator_part((enum search_operator)index).summary;
}

/* What a strategy calls the rule that it followed; its own name where it has only one. */
static const char *rule_meaning(const struct strategy *strategy, const char *name)
{
	bool is_random = strcmp(name, "random") == 0;
	if (is_random && strategy_has_models(strategy))
		return "no operator had anything left: any configuration that may run";
	if (is_random && strcmp(strategy->name, name) != 0)
		return "the strategy had nothing left: any configuration that may run";
	return strategy_has_models(strategy) ? NULL : strategy->summary;
}

void explain_add_operators(
	struct strbuf *text, const char *strategy_name, const char *operators, int n_patches_on)
{
	const struct strategy *strategy = strategy_find(strategy_name);
	bool names_operators = false;
	if (!strategy)
		strategy = strategy_find("controller");
	for (const char *p = operators; *p;) {
		size_t length = strcspn(p, "+");
		bool is_first = p == operators;
		CLEANUP(free_ptr) char *name = xasprintf("%.*s", (int)length, p);
		const char *meaning = NULL;
		if (is_first && strcmp(name, "start") == 0)
			meaning = "a configuration to begin with, not chosen by its score";
		else if (is_first)
			meaning = rule_meaning(strategy, name);
		names_operators |= is_first && !meaning;
		if (!meaning && strcmp(name, "contrarian") == 0)
			meaning = contrarian_meaning(names_operators);
		if (!meaning)
			meaning = kind_meaning(name, n_patches_on);
		if (!meaning)
			meaning = operator_meaning(name);
		strbuf_addstr(text, is_first ? "" : "           ");
		strbuf_add_escaped(text, name, length);
		strbuf_addf(text, "%s%s\n", meaning ? ": " : "", meaning ? meaning : "");
		p += length + (p[length] == '+');
	}
}

int explain_patches_on(const struct state *s, const int *base, const int *setting)
{
	int n = 0;
	for (size_t l = s->task->n_knobs; l < s->space.n_levers; l++) {
		int off = (int)s->space.reference[l], from = base ? base[l] : off;
		n += setting[l] != off && setting[l] != from;
	}
	return n;
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

const struct observation *explain_observation_of(const struct state *s, const struct trial *t)
{
	for (size_t i = 0; i < s->search.model.n_observations; i++)
		if (&s->trials[s->observation_trial[i]] == t)
			return &s->search.model.observations[i];
	return NULL;
}

double explain_off_sd(const struct state *s, const struct trial *t)
{
	const struct observation *o = explain_observation_of(s, t);
	if (!o || !o->has_gain)
		return NAN;
	double run_variance = s->noise.sigma_pair * s->noise.sigma_pair / 2;
	double variance = t->predicted_sd_ln * t->predicted_sd_ln + run_variance +
			  run_variance / MAX_OF(s->noise.runs, 1) + o->extra_sd_ln * o->extra_sd_ln;
	return (o->gain_ln - t->predicted_ln) / sqrt(variance);
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
