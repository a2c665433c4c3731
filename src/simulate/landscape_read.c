/* From JSON to a simulated job: strict, one function for each kind of thing in the file. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "simulate/json_cursor.h"
#include "simulate/landscape.h"
#include "simulate/landscape_int.h"

enum { LEVERS_MAX = 1000, SETTINGS_MAX = 1000, LISTED_MAX = 100000, TERMS_MAX = 16, NAME_MAX_BYTES = 64 };
static const double ln_max = 10, gib_max = 1e5;

/* What the rules of experience make of a sibling's figures (docs/simulate.md). */
static const double experience_trust = 0.7, experience_sd_ln = 0.02, experience_sd_share = 0.5,
		    experience_capacity_sd = 0.02, experience_bytes_share = 0.3;

struct reading {
	struct simulated_job *job;
	struct landscape *landscape;
	struct lever *levers;
	int *position; /* of each knob of the file among the levers: patches come last */
};

/* ---- knobs ---- */

static const char *const knob_keys[] = {"name", "settings", "ref", "ordered", "patch", "phase", "true_log",
	"true_gib", "prior_log", "prior_gib", "amdahl_cap"};

static enum err_code read_settings(struct cursor *knob, struct lever *lever, struct err *reterr)
{
	struct cursor settings;
	size_t n;
	TRY(cursor_member(knob, "settings", &settings, reterr));
	TRY(cursor_array(&settings, 1, SETTINGS_MAX, &n, reterr));
	const char **names = arena_array(knob->arena, n, sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		struct cursor name = cursor_element(&settings, i);
		TRY(cursor_text(&name, NAME_MAX_BYTES, &names[i], reterr));
		for (size_t k = 0; k < i; k++)
			if (strcmp(names[k], names[i]) == 0)
				return cursor_fail(
					&name, reterr, "a setting that is not in the list already");
	}
	lever->setting_names = names;
	lever->n_settings = (int)n;
	lever->prior = arena_array(knob->arena, n, sizeof(*lever->prior));
	return OK;
}

/* One number for each setting. */
static enum err_code read_numbers(
	struct cursor *knob, const char *key, int n, double limit, double *ret_values, struct err *reterr)
{
	struct cursor array;
	size_t ignored;
	TRY(cursor_member(knob, key, &array, reterr));
	TRY(cursor_array(&array, (size_t)n, (size_t)n, &ignored, reterr));
	for (int i = 0; i < n; i++) {
		struct cursor element = cursor_element(&array, (size_t)i);
		TRY(cursor_number(&element, -limit, limit, &ret_values[i], reterr));
	}
	return OK;
}

static enum err_code check_reference_is_zero(struct cursor *knob, const struct lever *lever,
	const double *gain_ln, const double *gib, struct err *reterr)
{
	if (gain_ln[lever->reference] != 0 || gib[lever->reference] != 0)
		return cursor_fail(knob, reterr, "true_log and true_gib of 0 at the reference setting");
	return OK;
}

static enum err_code read_effects(
	struct reading *r, struct cursor *knob, struct lever *lever, int first_id, struct err *reterr)
{
	int n = lever->n_settings;
	double *gain_ln = r->landscape->gain_ln + first_id, *gib = r->landscape->bytes + first_id;
	double *prior_ln = arena_array(knob->arena, (size_t)n, sizeof(double));
	double *prior_gib = arena_array(knob->arena, (size_t)n, sizeof(double));
	double cap;
	TRY(read_numbers(knob, "true_log", n, ln_max, gain_ln, reterr));
	TRY(read_numbers(knob, "true_gib", n, gib_max, gib, reterr));
	TRY(read_numbers(knob, "prior_log", n, ln_max, prior_ln, reterr));
	TRY(read_numbers(knob, "prior_gib", n, gib_max, prior_gib, reterr));
	TRY(cursor_number_of(knob, "amdahl_cap", 0, ln_max, &cap, reterr));
	TRY(check_reference_is_zero(knob, lever, gain_ln, gib, reterr));
	for (int i = 0; i < n; i++) {
		gib[i] *= LANDSCAPE_GIB;
		lever->prior[i] = (struct lever_prior){.predicted_gain_ln = prior_ln[i],
			.amdahl_cap_ln = cap,
			.declared_bytes = prior_gib[i] * LANDSCAPE_GIB};
	}
	return OK;
}

static enum err_code read_shape(struct cursor *knob, struct lever *lever, struct err *reterr)
{
	struct cursor name, reference, ordered, phase;
	const char *ignored;
	TRY(cursor_only(knob, knob_keys, ARRAY_LEN(knob_keys), reterr));
	TRY(cursor_member(knob, "name", &name, reterr));
	TRY(cursor_text(&name, NAME_MAX_BYTES, &lever->name, reterr));
	TRY(read_settings(knob, lever, reterr));
	TRY(cursor_member(knob, "ref", &reference, reterr));
	TRY(cursor_integer(&reference, 0, lever->n_settings - 1, &lever->reference, reterr));
	TRY(cursor_member(knob, "ordered", &ordered, reterr));
	TRY(cursor_bool(&ordered, &lever->ordered, reterr));
	TRY(cursor_member(knob, "phase", &phase, reterr));
	TRY(cursor_text(&phase, NAME_MAX_BYTES, &ignored, reterr));
	if (lever->is_patch && (lever->n_settings != 2 || lever->reference != 0))
		return cursor_fail(knob, reterr, "a patch to have two settings, off and on, and ref 0");
	return OK;
}

/* Patches behind knobs, each in the order of the file: as a campaign numbers them. */
static enum err_code place_levers(
	struct reading *r, struct cursor *knobs, size_t n, bool *is_patch, struct err *reterr)
{
	int n_patches = 0, next_patch;
	for (size_t i = 0; i < n; i++) {
		struct cursor knob = cursor_element(knobs, i), patch;
		if (!json_is_object(knob.value))
			return cursor_fail(&knob, reterr, "an object");
		TRY(cursor_member(&knob, "patch", &patch, reterr));
		TRY(cursor_bool(&patch, &is_patch[i], reterr));
		n_patches += is_patch[i];
	}
	r->job->n_levers = (int)n;
	r->job->n_knobs = next_patch = (int)n - n_patches;
	for (size_t i = 0, next_knob = 0; i < n; i++)
		r->position[i] = is_patch[i] ? next_patch++ : (int)next_knob++;
	return OK;
}

static enum err_code check_names(struct reading *r, struct cursor *knobs, struct err *reterr)
{
	for (int i = 0; i < r->job->n_levers; i++)
		for (int k = 0; k < i; k++)
			if (strcmp(r->levers[i].name, r->levers[k].name) == 0)
				return cursor_fail(knobs, reterr, "every name once, but '%s' is twice",
					r->levers[i].name);
	return OK;
}

static enum err_code read_knobs(struct reading *r, struct cursor *root, struct err *reterr)
{
	struct arena *arena = root->arena;
	struct landscape *l = r->landscape;
	struct cursor knobs;
	size_t n;
	int ids = 0;
	TRY(cursor_member(root, "knobs", &knobs, reterr));
	TRY(cursor_array(&knobs, 1, LEVERS_MAX, &n, reterr));
	bool *is_patch = arena_array(arena, n, sizeof(bool));
	r->position = arena_array(arena, n, sizeof(int));
	r->levers = arena_array(arena, n, sizeof(*r->levers));
	TRY(place_levers(r, &knobs, n, is_patch, reterr));
	for (size_t i = 0; i < n; i++) {
		struct cursor knob = cursor_element(&knobs, i);
		struct lever *lever = &r->levers[r->position[i]];
		lever->is_patch = is_patch[i];
		TRY(read_shape(&knob, lever, reterr));
		ids += lever->n_settings;
	}
	TRY(check_names(r, &knobs, reterr));
	l->first_id = arena_array(arena, n, sizeof(int));
	l->gain_ln = arena_array(arena, (size_t)ids, sizeof(double));
	l->bytes = arena_array(arena, (size_t)ids, sizeof(double));
	for (size_t k = 0, id = 0; k < n; id += (size_t)r->levers[k++].n_settings)
		l->first_id[k] = (int)id;
	for (size_t i = 0; i < n; i++) {
		struct cursor knob = cursor_element(&knobs, i);
		int at = r->position[i];
		TRY(read_effects(r, &knob, &r->levers[at], l->first_id[at], reterr));
	}
	r->job->levers = r->levers;
	return OK;
}

/* ---- what refers to knobs by number ---- */

static enum err_code read_term(
	struct reading *r, struct cursor *pair, struct term *ret_term, struct err *reterr)
{
	size_t ignored;
	int knob;
	TRY(cursor_array(pair, 2, 2, &ignored, reterr));
	struct cursor first = cursor_element(pair, 0), second = cursor_element(pair, 1);
	TRY(cursor_integer(&first, 0, r->job->n_levers - 1, &knob, reterr));
	ret_term->lever = r->position[knob];
	return cursor_integer(
		&second, 0, r->levers[ret_term->lever].n_settings - 1, &ret_term->setting, reterr);
}

static enum err_code read_terms(struct reading *r, struct cursor *owner, struct term **ret_terms,
	size_t *ret_count, struct err *reterr)
{
	struct cursor terms;
	TRY(cursor_member(owner, "terms", &terms, reterr));
	TRY(cursor_array(&terms, 1, TERMS_MAX, ret_count, reterr));
	*ret_terms = arena_array(owner->arena, *ret_count, sizeof(struct term));
	for (size_t i = 0; i < *ret_count; i++) {
		struct cursor pair = cursor_element(&terms, i);
		TRY(read_term(r, &pair, &(*ret_terms)[i], reterr));
	}
	return OK;
}

static enum err_code read_interactions(struct reading *r, struct cursor *root, struct err *reterr)
{
	static const char *const keys[] = {"terms", "dlog", "dgib"};
	struct landscape *l = r->landscape;
	struct cursor list;
	TRY(cursor_member(root, "interactions", &list, reterr));
	TRY(cursor_array(&list, 0, LISTED_MAX, &l->n_interactions, reterr));
	l->interactions = arena_array(root->arena, l->n_interactions, sizeof(*l->interactions));
	for (size_t i = 0; i < l->n_interactions; i++) {
		struct cursor element = cursor_element(&list, i);
		struct interaction *x = &l->interactions[i];
		TRY(cursor_only(&element, keys, ARRAY_LEN(keys), reterr));
		TRY(read_terms(r, &element, &x->terms, &x->n_terms, reterr));
		TRY(cursor_number_of(&element, "dlog", -ln_max, ln_max, &x->gain_ln, reterr));
		if (cursor_has(&element, "dgib"))
			TRY(cursor_number_of(&element, "dgib", -gib_max, gib_max, &x->bytes, reterr));
		x->bytes *= LANDSCAPE_GIB;
	}
	return OK;
}

static enum err_code read_kind(struct cursor *conflict, enum job_end *ret_end, struct err *reterr)
{
	struct cursor kind;
	const char *text;
	TRY(cursor_member(conflict, "kind", &kind, reterr));
	TRY(cursor_text(&kind, NAME_MAX_BYTES, &text, reterr));
	for (int end = JOB_CRASHES; end <= JOB_CHEATS; end++)
		if (strcmp(text, job_end_names[end]) == 0) {
			*ret_end = (enum job_end)end;
			return OK;
		}
	return cursor_fail(&kind, reterr, "crash, hang, loss or hack");
}

static bool reference_has(const struct reading *r, const struct conflict *c)
{
	for (size_t i = 0; i < c->n_terms; i++)
		if (r->levers[c->terms[i].lever].reference != c->terms[i].setting)
			return false;
	return true;
}

static enum err_code read_conflicts(struct reading *r, struct cursor *root, struct err *reterr)
{
	static const char *const keys[] = {"terms", "kind"};
	struct landscape *l = r->landscape;
	struct cursor list;
	TRY(cursor_member(root, "conflicts", &list, reterr));
	TRY(cursor_array(&list, 0, LISTED_MAX, &l->n_conflicts, reterr));
	l->conflicts = arena_array(root->arena, l->n_conflicts, sizeof(*l->conflicts));
	for (size_t i = 0; i < l->n_conflicts; i++) {
		struct cursor element = cursor_element(&list, i);
		struct conflict *c = &l->conflicts[i];
		TRY(cursor_only(&element, keys, ARRAY_LEN(keys), reterr));
		TRY(read_terms(r, &element, &c->terms, &c->n_terms, reterr));
		TRY(read_kind(&element, &c->end, reterr));
		if (reference_has(r, c))
			return cursor_fail(&element, reterr, "a conflict that the reference does not have");
	}
	return OK;
}

static enum err_code read_pairs(struct reading *r, struct cursor *root, struct err *reterr)
{
	struct cursor list;
	size_t n, ignored;
	TRY(cursor_member(root, "declared_pairs", &list, reterr));
	TRY(cursor_array(&list, 0, LISTED_MAX, &n, reterr));
	struct lever_pair *pairs = arena_array(root->arena, n, sizeof(*pairs));
	for (size_t i = 0; i < n; i++) {
		struct cursor pair = cursor_element(&list, i);
		struct term a, b;
		TRY(cursor_array(&pair, 2, 2, &ignored, reterr));
		struct cursor first = cursor_element(&pair, 0), second = cursor_element(&pair, 1);
		TRY(read_term(r, &first, &a, reterr));
		TRY(read_term(r, &second, &b, reterr));
		pairs[i] = (struct lever_pair){a.lever, a.setting, b.lever, b.setting};
	}
	r->job->declared_pairs = pairs;
	r->job->n_declared_pairs = n;
	return OK;
}

/* A setting index for every knob of the file. */
static enum err_code read_configuration(
	struct reading *r, struct cursor *array, const int **ret_setting, struct err *reterr)
{
	size_t n = (size_t)r->job->n_levers, ignored;
	TRY(cursor_array(array, n, n, &ignored, reterr));
	int *setting = arena_array(array->arena, n, sizeof(*setting));
	for (size_t i = 0; i < n; i++) {
		struct cursor element = cursor_element(array, i);
		int lever = r->position[i];
		TRY(cursor_integer(&element, 0, r->levers[lever].n_settings - 1, &setting[lever], reterr));
	}
	*ret_setting = setting;
	return OK;
}

/* ---- experience ---- */

static struct lever *copy_levers(struct arena *arena, const struct lever *from, int n)
{
	struct lever *levers = arena_array(arena, (size_t)n, sizeof(*levers));
	memcpy(levers, from, (size_t)n * sizeof(*levers));
	for (int l = 0; l < n; l++) {
		size_t size = (size_t)from[l].n_settings;
		levers[l].prior = arena_array(arena, size, sizeof(*levers[l].prior));
		memcpy(levers[l].prior, from[l].prior, size * sizeof(*levers[l].prior));
	}
	return levers;
}

static enum err_code read_experienced_effect(
	struct reading *r, struct cursor *effect, struct lever *levers, struct err *reterr)
{
	size_t ignored;
	int knob, setting;
	double gain_ln, gib;
	TRY(cursor_array(effect, 4, 4, &ignored, reterr));
	struct cursor part[4];
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		part[i] = cursor_element(effect, i);
	TRY(cursor_integer(&part[0], 0, r->job->n_levers - 1, &knob, reterr));
	struct lever *lever = &levers[r->position[knob]];
	TRY(cursor_integer(&part[1], 0, lever->n_settings - 1, &setting, reterr));
	TRY(cursor_number(&part[2], -ln_max, ln_max, &gain_ln, reterr));
	TRY(cursor_number(&part[3], -gib_max, gib_max, &gib, reterr));
	if (setting == lever->reference)
		return cursor_fail(&part[1], reterr, "a setting that is not the reference");
	struct lever_prior *p = &lever->prior[setting];
	p->experienced = true;
	p->mean_ln = experience_trust * gain_ln;
	p->sd_ln = fmax(experience_sd_ln, experience_sd_share * fabs(gain_ln));
	p->declared_bytes = gib * LANDSCAPE_GIB;
	p->memory_sd_bytes = fmax(experience_capacity_sd * r->job->capacity_bytes,
		experience_bytes_share * fabs(p->declared_bytes));
	return OK;
}

static enum err_code read_experience(struct reading *r, struct cursor *root, struct err *reterr)
{
	static const char *const keys[] = {"config", "effects", "sku_factor"};
	struct cursor experience, configuration, effects;
	size_t n;
	if (!cursor_has(root, "experience"))
		return OK;
	TRY(cursor_member(root, "experience", &experience, reterr));
	TRY(cursor_only(&experience, keys, ARRAY_LEN(keys), reterr));
	TRY(cursor_member(&experience, "config", &configuration, reterr));
	TRY(read_configuration(r, &configuration, &r->job->experienced_start, reterr));
	TRY(cursor_member(&experience, "effects", &effects, reterr));
	TRY(cursor_array(&effects, 0, LISTED_MAX, &n, reterr));
	struct lever *levers = copy_levers(root->arena, r->levers, r->job->n_levers);
	for (size_t i = 0; i < n; i++) {
		struct cursor effect = cursor_element(&effects, i);
		TRY(read_experienced_effect(r, &effect, levers, reterr));
	}
	r->job->experienced_levers = levers;
	return OK;
}

/* ---- the document ---- */

static enum err_code read_scales(struct reading *r, struct cursor *root, struct err *reterr)
{
	struct simulated_job *job = r->job;
	struct cursor name, member;
	double gib;
	TRY(cursor_member(root, "name", &name, reterr));
	TRY(cursor_text(&name, NAME_MAX_BYTES, &job->name, reterr));
	TRY(cursor_number_of(root, "capacity_gib", 1e-3, gib_max, &gib, reterr));
	job->capacity_bytes = gib * LANDSCAPE_GIB;
	TRY(cursor_number_of(root, "ref_peak_gib", 1e-6, gib, &gib, reterr));
	r->landscape->reference_peak_bytes = gib * LANDSCAPE_GIB;
	TRY(cursor_number_of(root, "sigma_pair", 0, 1, &job->sigma_pair, reterr));
	TRY(cursor_number_of(root, "thrash_log", 0, ln_max, &r->landscape->thrash_ln, reterr));
	TRY(cursor_number_of(root, "ref_step_s", 1e-6, 1e4, &job->reference_step_s, reterr));
	TRY(cursor_number_of(root, "startup_s", 0, 1e6, &job->startup_s, reterr));
	TRY(cursor_member(root, "ngpu", &member, reterr));
	TRY(cursor_integer(&member, 1, 1000000, &job->devices, reterr));
	TRY(cursor_member(root, "steps", &member, reterr));
	TRY(cursor_integer(&member, 2, 1000, &job->updates, reterr));
	TRY(cursor_member(root, "warmup", &member, reterr));
	TRY(cursor_integer(&member, 0, job->updates - 2, &job->warmup, reterr));
	/* Noise as the generator has it: slow outliers only where runs differ visibly. */
	job->has_outliers = job->sigma_pair > 0.01;
	job->peak_sd_bytes = 0.004 * job->capacity_bytes;
	return OK;
}

/* The file's figure is on the scale of its effects; a reference near the capacity is not at 0 there. */
static enum err_code read_optimum(struct reading *r, struct cursor *root, struct err *reterr)
{
	struct cursor configuration;
	int *reference = arena_array(root->arena, (size_t)r->job->n_levers, sizeof(int));
	r->job->data = r->landscape;
	job_reference(r->job, reference);
	r->job->reference_gain_ln = job_evaluate(r->job, reference).gain_ln;
	TRY(cursor_number_of(root, "opt_log", 0, ln_max, &r->job->optimum_ln, reterr));
	r->job->optimum_ln -= r->job->reference_gain_ln;
	TRY(cursor_member(root, "opt_config", &configuration, reterr));
	return read_configuration(r, &configuration, &r->job->optimum_setting, reterr);
}

static enum err_code read_document(struct reading *r, struct cursor *root, struct err *reterr)
{
	static const char *const keys[] = {"name", "seed", "capacity_gib", "ref_peak_gib", "sigma_pair",
		"thrash_log", "ngpu", "ref_step_s", "startup_s", "steps", "warmup", "knobs", "interactions",
		"conflicts", "declared_pairs", "prior_spearman", "opt_log", "opt_config", "experience"};
	TRY(cursor_only(root, keys, ARRAY_LEN(keys), reterr));
	TRY(read_scales(r, root, reterr));
	TRY(read_knobs(r, root, reterr));
	TRY(read_interactions(r, root, reterr));
	TRY(read_conflicts(r, root, reterr));
	TRY(read_pairs(r, root, reterr));
	TRY(read_optimum(r, root, reterr));
	return read_experience(r, root, reterr);
}

static enum err_code parse_json(
	const char *path, const char *text, size_t length, json_t **ret_json, struct err *reterr)
{
	json_error_t e;
	json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &e);
	if (!json) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT; /* it quotes the text */
		strbuf_add_escaped(&shown, e.text, strlen(e.text));
		return err_set_at(reterr, ERR_INPUT, path, e.line, e.column,
			"expected a landscape as JSON: %s", shown.buf);
	}
	*ret_json = json;
	return OK;
}

enum err_code landscape_parse(
	const char *path, const char *text, size_t length, struct simulated_job *ret_job, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *json = NULL;
	struct simulated_job job = {.kind = &landscape_kind};
	TRY(parse_json(path, text, length, &json, reterr));
	struct landscape *landscape = arena_alloc(&job.arena, sizeof(*landscape));
	struct reading r = {.job = &job, .landscape = landscape};
	struct cursor root = {path, &job.arena, "", json};
	enum err_code code = read_document(&r, &root, reterr);
	if (code != OK) {
		simulated_job_release(&job);
		return code;
	}
	*ret_job = job;
	return OK;
}
