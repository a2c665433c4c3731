#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"
#include "mech/native.h"

static bool has_mechanism(const struct proposal *p, const char *mechanism)
{
	for (size_t i = 0; i < p->n_knobs; i++)
		if (p->knobs[i].mechanism && strcmp(p->knobs[i].mechanism, mechanism) == 0)
			return true;
	return false;
}

/* Keeps a knob that has a choice to offer, and hands it to make; takes it away again otherwise. */
static void finish_knob(struct proposal *p, struct proposed_knob *knob, const struct native_build *row,
	const char *word, const char *comment)
{
	if (knob->n_settings < 2) {
		p->n_knobs--;
		return;
	}
	knob->mechanism = row->mechanism;
	knob->phases = row->phases;
	knob->ordered = row->ordered;
	knob->comment = row->caution ? arena_printf(p->arena, "%s; %s", comment, row->caution) : comment;
	proposal_set_priors(p, knob);
	if (word)
		proposal_add_word(p, &p->build, word, false);
}

/* The settings that the catalogue would try, from what the variable holds today. */
static void add_usual_settings(struct proposed_knob *knob, const struct native_build *row, const char *today)
{
	bool is_usual = false;
	for (size_t i = 0; i < ARRAY_LEN(row->settings) && row->settings[i]; i++)
		is_usual |= row->ordered && strcmp(row->settings[i], today) == 0;
	if (!is_usual)
		proposal_add_setting(knob, today);
	for (size_t i = 0; i < ARRAY_LEN(row->settings) && row->settings[i]; i++)
		if (row->settings[i][0])
			proposal_add_setting(knob, row->settings[i]);
	proposal_set_reference(knob, today);
}

static const char *variable_word(struct proposal *p, const char *variable, const struct proposed_knob *knob)
{
	return arena_printf(p->arena, "%s={%s}", proposal_literal(p->arena, variable), knob->name);
}

static bool is_choice_variable(const struct make_facts *make, const char *name)
{
	for (size_t i = 0; i < make->n_choices; i++)
		if (strcmp(make->choices[i].variable, name) == 0)
			return true;
	return false;
}

/* OPT ?= -O2: the variable holds the flag itself. */
static void propose_direct(const struct make_facts *make, struct proposal *p, const struct make_variable *v)
{
	const struct native_build *row = NULL;
	if (!*v->value && !is_choice_variable(make, v->name))
		row = native_build_find_variable(v->name);
	else if (v->value[0] == '-' && !strpbrk(v->value, " \t$"))
		row = native_build_find_flag(v->value);
	bool is_opt_as_math =
		row && strcmp(v->value, "-Ofast") == 0 && strcmp(row->mechanism, "cc_opt_level") != 0;
	if (!row || is_opt_as_math || has_mechanism(p, row->mechanism))
		return;
	struct proposed_knob *knob = proposal_add_knob(p, row->knob);
	add_usual_settings(knob, row, v->value);
	finish_knob(p, knob, row, variable_word(p, v->name, knob),
		arena_printf(p->arena, "make variable %s, %s", v->name, place_text(p->arena, v->at)));
}

static const struct native_build *mechanism_of_text(struct arena *arena, const char *text)
{
	size_t count;
	const char **words = make_words(arena, text, &count);
	for (size_t i = 0; i < count; i++) {
		const char *flag = strchr(words[i], '-');
		const struct native_build *row = flag ? native_build_find_flag(flag) : NULL;
		if (row)
			return row;
	}
	return NULL;
}

/* $(LTO_$(LTO)): every variable LTO_x says that x is a setting and what it does. */
static const struct native_build *add_computed_settings(
	const struct make_facts *make, struct proposed_knob *knob, const char *prefix)
{
	const struct native_build *row = NULL;
	size_t n = strlen(prefix);
	for (size_t i = 0; i < make->n_variables; i++) {
		const struct make_variable *v = &make->variables[i];
		if (strncmp(v->name, prefix, n) != 0 || !v->name[n])
			continue;
		proposal_add_setting(knob, v->name + n);
		if (!row)
			row = mechanism_of_text(make->arena, v->value);
	}
	return row;
}

/* LTO ?= 0 with ifeq ($(LTO),1): the Makefile compares the variable with its settings. */
static void propose_chosen(const struct make_facts *make, struct proposal *p, const struct make_variable *v)
{
	const struct native_build *row = NULL;
	struct proposed_knob *knob = NULL;
	for (size_t i = 0; i < make->n_choices; i++) {
		const struct make_choice *c = &make->choices[i];
		if (strcmp(c->variable, v->name) != 0)
			continue;
		if (!knob) {
			knob = proposal_add_knob(p, v->name);
			proposal_set_reference(knob, v->value);
		}
		const struct native_build *found = c->prefix ? add_computed_settings(make, knob, c->prefix)
							     : mechanism_of_text(make->arena, c->effect);
		row = row ? row : found;
		if (c->value)
			proposal_add_setting(knob, c->value);
		else if (!c->prefix && !*v->value)
			proposal_add_setting(knob, "1");
	}
	if (!knob)
		return;
	if (!row || strchr(v->value, '$') || has_mechanism(p, row->mechanism)) {
		p->n_knobs--;
		return;
	}
	finish_knob(p, knob, row, variable_word(p, v->name, knob),
		arena_printf(p->arena, "make variable %s, %s", v->name, place_text(p->arena, v->at)));
	knob->ordered = false; /* words, in the order in which the Makefile names them */
}

static bool is_opt_word(const char *word)
{
	return strncmp(word, "-O", 2) == 0 && strlen(word) == 3 && strchr("0123s", word[2]);
}

/* CFLAGS = -O2 -Wall: no variable of its own, so the whole of CFLAGS is handed over with the level as a hole
 * in it. */
static void propose_inside_flags(struct proposal *p, const struct make_variable *v)
{
	size_t count;
	const char **words = make_words(p->arena, v->value, &count), *level = NULL;
	bool has_arch = has_mechanism(p, "cc_march_native");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const struct native_build *row = native_build_find_flag("-O2"),
				  *arch_row = native_build_find_flag("-march=native");
	strbuf_addf(&text, "%s=", v->name);
	for (size_t i = 0; i < count; i++) {
		const char *literal = is_opt_word(words[i]) && !level ? "{opt_level}"
								      : proposal_literal(p->arena, words[i]);
		level = !level && is_opt_word(words[i]) ? words[i] : level;
		has_arch |= native_build_find_flag(words[i]) == arch_row;
		strbuf_addf(&text, "%s%s", i ? " " : "", literal);
	}
	if (!level || !is_clean_text(v->value))
		return;
	const char *comment = arena_printf(p->arena, "%s, %s", v->name, place_text(p->arena, v->at));
	struct proposed_knob *knob = proposal_add_knob(p, row->knob);
	add_usual_settings(knob, row, level);
	finish_knob(p, knob, row, NULL, comment);
	if (!has_arch) {
		knob = proposal_add_knob(p, arch_row->knob);
		add_usual_settings(knob, arch_row, "");
		finish_knob(p, knob, arch_row, NULL, comment);
		strbuf_addstr(&text, " {arch}");
	}
	proposal_add_word(p, &p->build, arena_strdup(p->arena, text.buf), false);
}

static void propose_flags(const struct make_facts *make, struct proposal *p)
{
	static const char *const names[] = {"CFLAGS", "CPPFLAGS", "OPTFLAGS", "COPTS", "CXXFLAGS"};
	for (size_t i = 0; i < ARRAY_LEN(names) && !has_mechanism(p, "cc_opt_level"); i++) {
		const struct make_variable *v = make_find(make, names[i]);
		if (v && v->is_conditional && strstr(v->value, "-O"))
			proposal_add_note(p,
				"%s depends on conditions (%s): give the optimisation level a variable of "
				"its own to make it a knob",
				v->name, place_text(p->arena, v->at));
		else if (v && !v->is_locked && !v->is_conditional)
			propose_inside_flags(p, v);
	}
}

void propose_build(const struct make_facts *make, const struct init_host *host, struct proposal *p)
{
	proposal_add_word(p, &p->build, "make", false);
	proposal_add_word(p, &p->build, "-j2", false);
	if (make->target && is_clean_text(make->target))
		proposal_add_word(p, &p->build, proposal_literal(p->arena, make->target), false);
	for (size_t i = 0; i < make->n_variables; i++) {
		const struct make_variable *v = &make->variables[i];
		if (v->is_locked || v->is_conditional || !is_clean_text(v->name))
			continue;
		propose_direct(make, p, v);
		propose_chosen(make, p, v);
	}
	propose_flags(make, p);
	const struct make_variable *cc = make_find(make, "CC");
	if (host->has_clang && !(cc && strstr(cc->value, "clang")))
		proposal_add_note(p,
			"CC: clang is installed; another compiler is a knob too: \"CC={compiler}\" in build");
}
