#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"
#include "mech/native.h"
#include "spec/names.h"

struct proposed_knob *proposal_add_knob(struct proposal *p, const char *name)
{
	char clean[48] = "";
	size_t n = 0;
	for (const char *c = name; *c && n < sizeof(clean) - 4; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9' && n))
			clean[n++] = *c;
		else if (*c >= 'A' && *c <= 'Z')
			clean[n++] = (char)(*c - 'A' + 'a');
		else if (n)
			clean[n++] = '_';
	const char *knob_name = n ? clean : "setting";
	bool is_taken = name_reserved(knob_name) != NULL || strcmp(knob_name, "grad_accum") == 0;
	for (size_t i = 0; i < p->n_knobs; i++)
		is_taken |= strcmp(p->knobs[i].name, knob_name) == 0;
	p->knobs = init_grow(p->arena, p->knobs, p->n_knobs, &p->knobs_capacity, sizeof(*p->knobs));
	struct proposed_knob *knob = &p->knobs[p->n_knobs++];
	*knob = (struct proposed_knob){0};
	knob->name = is_taken ? arena_printf(p->arena, "%s_%zu", knob_name, p->n_knobs)
			      : arena_strdup(p->arena, knob_name);
	return knob;
}

void proposal_add_setting(struct proposed_knob *knob, const char *text)
{
	for (size_t i = 0; i < knob->n_settings; i++)
		if (strcmp(knob->settings[i].text, text) == 0)
			return;
	if (knob->n_settings < INIT_VALUES_MAX && is_clean_text(text))
		knob->settings[knob->n_settings++].text = text;
}

bool proposal_set_reference(struct proposed_knob *knob, const char *text)
{
	proposal_add_setting(knob, text);
	for (size_t i = 0; i < knob->n_settings; i++)
		if (strcmp(knob->settings[i].text, text) == 0) {
			knob->reference = i;
			return true;
		}
	return false;
}

void proposal_add_word(struct proposal *p, struct proposed_words *words, const char *text, bool starts_line)
{
	words->items =
		init_grow(p->arena, words->items, words->count, &words->capacity, sizeof(*words->items));
	words->items[words->count++] = (struct proposed_word){text, starts_line};
}

void proposal_add_env(struct proposal *p, const char *name, const char *value, const char *comment)
{
	for (size_t i = 0; i < p->n_env; i++)
		if (strcmp(p->env[i].name, name) == 0)
			return;
	if (p->n_env < ARRAY_LEN(p->env) && name_is_environment(name) && is_clean_text(value))
		p->env[p->n_env++] = (struct proposed_env){name, value, comment};
}

void proposal_add_note(struct proposal *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->n_notes < ARRAY_LEN(p->notes))
		p->notes[p->n_notes++] = arena_strdup(p->arena, text);
}

void proposal_add_threads(struct proposal *p, struct proposed_knob *knob, int cpus, int64_t today)
{
	int64_t counts[INIT_VALUES_MAX];
	size_t n = 0;
	for (int64_t c = 1; c < cpus && n < INIT_VALUES_MAX - 3; c *= 2)
		counts[n++] = c;
	counts[n++] = cpus;
	for (size_t i = 0; i <= n; i++) {
		if (today > 0 && (i == n || today < counts[i]) && (i == 0 || today > counts[i - 1]))
			proposal_add_setting(knob, arena_printf(p->arena, "%lld", (long long)today));
		if (i < n)
			proposal_add_setting(knob, arena_printf(p->arena, "%lld", (long long)counts[i]));
	}
	proposal_set_reference(knob, arena_printf(p->arena, "%lld", (long long)today));
	knob->ordered = true;
}

void proposal_set_priors(struct proposal *p, struct proposed_knob *knob)
{
	const char *reference = knob->settings[knob->reference].text;
	for (size_t i = 0; knob->mechanism && i < knob->n_settings; i++) {
		double ln;
		if (i == knob->reference || !native_prior(knob->mechanism, reference, knob->settings[i].text,
						    &ln, &knob->prior_source))
			continue;
		knob->settings[i].prior = arena_printf(p->arena, "%.0f%%", 100 * expm1(ln));
	}
}

const char *proposal_literal(struct arena *arena, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	for (; *text; text++) {
		strbuf_addch(&out, *text);
		if (*text == '{' || *text == '}')
			strbuf_addch(&out, *text);
	}
	return arena_strdup(arena, out.buf);
}

const char *place_text(struct arena *arena, struct found_at at)
{
	return arena_printf(arena, "%s:%d", at.file ? at.file : "?", at.line);
}

bool is_clean_text(const char *text)
{
	CLEANUP(strbuf_release) struct strbuf escaped = STRBUF_INIT;
	strbuf_add_escaped(&escaped, text, strlen(text));
	return strcmp(escaped.buf, text) == 0;
}

static void describe_stack(const struct make_facts *make, const struct source_facts *c, struct proposal *p)
{
	p->stack = c->stack ? c->stack : "native";
	if (c->is_python) {
		p->needs_hook = !c->hook_at.file && strncmp(p->stack, "log:", 4) != 0;
		p->stack_text = arena_printf(p->arena, "%s (%s%s)", c->stack_name, make->program,
			c->hook_at.file ? ", reports through the hook" : "");
		p->stack_where = make->program;
		return;
	}
	bool has_openmp = make->has_openmp || c->openmp_at.file;
	const char *openmp = make->has_openmp    ? place_text(p->arena, make->openmp_at)
			     : c->openmp_at.file ? place_text(p->arena, c->openmp_at)
						 : NULL;
	p->stack_text = arena_printf(p->arena, "native C (Makefile%s)", has_openmp ? ", OpenMP" : "");
	p->stack_where = make->program_at.file ? place_text(p->arena, make->program_at) : make->file;
	if (openmp)
		p->stack_where = arena_printf(p->arena, "%s, %s", p->stack_where, openmp);
}

static void note_what_was_skipped(const struct repo *repo, const struct make_facts *make, struct proposal *p)
{
	for (size_t i = 0; i < repo->n_skipped; i++)
		proposal_add_note(p, "%s", repo->skipped[i]);
	if (repo->truncated)
		proposal_add_note(
			p, "only the first %d files of the repository were looked at", INIT_FILES_MAX);
	if (make->truncated)
		proposal_add_note(p, "only the first %d variables and rules of the Makefile were looked at",
			INIT_MAKE_VARIABLES_MAX);
}

void propose(struct repo *repo, const struct make_facts *make, const struct source_facts *c,
	const struct init_host *host, struct proposal *ret_proposal)
{
	struct proposal p = {.arena = repo->arena};
	const char *slash = strrchr(repo->dir, '/');
	p.name = slash && slash[1] && is_clean_text(slash + 1) ? slash + 1 : "job";
	describe_stack(make, c, &p);
	for (size_t i = 0; i < c->n_notes; i++)
		proposal_add_note(&p, "%s", c->notes[i]);
	if (!c->is_python)
		propose_build(make, host, &p);
	p.n_build_knobs = (int)p.n_knobs;
	propose_environment(make, c, host, &p);
	p.n_env_knobs = (int)p.n_knobs - p.n_build_knobs;
	propose_launch(make, c, host, &p);
	p.n_flag_knobs = (int)p.n_knobs - p.n_build_knobs - p.n_env_knobs;
	propose_files(repo, make, c, &p);
	note_what_was_skipped(repo, make, &p);
	*ret_proposal = p;
}
