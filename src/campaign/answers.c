#include "base/base.h"

#include <glob.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/answers.h"
#include "spec/task.h"

char *answers_patch_folder(const struct campaign *c, const char *proposer)
{
	return xasprintf("%s/proposed/%s", c->dir, proposer);
}

/* ---- patches as files ---- */

static bool name_is_taken(const struct state *s, const char *name)
{
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (strcmp(s->space.patches[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < s->n_refusals; i++)
		if (strcmp(s->refusals[i].name, name) == 0)
			return true;
	return false;
}

enum { FILES_MAX = 500 };

/* Of all proposers: the names of their patches are in one space. */
static bool file_exists(const struct campaign *c, const char *name)
{
	CLEANUP(free_ptr) char *pattern = xasprintf("%s/proposed/*/%s.*", c->dir, name);
	glob_t found;
	bool exists = glob(pattern, 0, NULL, &found) == 0;
	if (exists)
		globfree(&found);
	return exists;
}

static size_t count_files(const char *folder)
{
	CLEANUP(free_ptr) char *pattern = xasprintf("%s/*", folder);
	glob_t found;
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	size_t n = found.gl_pathc;
	globfree(&found);
	return n;
}

static char *file_of(const char *folder, const char *name, bool is_edits)
{
	return xasprintf("%s/%s%s", folder, name, is_edits ? ".edits.json" : ".diff");
}

static bool holds(const char *path, const struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf there = STRBUF_INIT;
	struct err ignored = ERR_INIT;
	return file_read(path, FILE_CAP_DEFAULT, &there, &ignored) == OK && there.len == text->len &&
	       memcmp(there.buf, text->buf, text->len) == 0;
}

/* A patch of the same name would be taken for an earlier version of this one. NULL = it was given before,
 * word for word. By malloc. */
static char *free_name(const struct campaign *c, const char *folder, const struct proposed_patch *patch,
	const struct strbuf *text)
{
	for (int i = 1;; i++) {
		char *name = i == 1 ? xstrdup(patch->name) : xasprintf("%s-%d", patch->name, i);
		CLEANUP(free_ptr) char *path = file_of(folder, name, patch->is_edits);
		bool is_repeated = holds(path, text);
		if (!is_repeated && !name_is_taken(&c->state, name) && !file_exists(c, name))
			return name;
		free_ptr(&name);
		if (is_repeated)
			return NULL;
	}
}

static void add_header(struct strbuf *text, const char *key, const char *value)
{
	if (value && *value)
		strbuf_addf(text, "# %s: %s\n", key, value);
}

static void write_diff(const struct proposed_patch *patch, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf phases = STRBUF_INIT;
	for (size_t i = 0; i < patch->n_phases; i++)
		strbuf_addf(&phases, "%s%s", i ? ", " : "", patch->phases[i]);
	add_header(text, "title", patch->title);
	add_header(text, "mechanism", patch->mechanism);
	add_header(text, "phases", phases.buf);
	if (isfinite(patch->predicted_ln))
		strbuf_addf(text, "# predicted: %.6g%%\n", 100 * expm1(patch->predicted_ln));
	strbuf_addstr(text, patch->text);
}

static void write_edits(const struct proposed_patch *patch, struct strbuf *text)
{
	json_t *object = json_object(), *phases = json_array();
	for (size_t i = 0; i < patch->n_phases; i++)
		json_array_append_new(phases, json_from_text(patch->phases[i]));
	if (patch->title && *patch->title)
		json_object_set_new(object, "title", json_from_text(patch->title));
	if (patch->mechanism)
		json_object_set_new(object, "mechanism", json_from_text(patch->mechanism));
	if (patch->n_phases)
		json_object_set(object, "phases", phases);
	json_decref(phases);
	if (isfinite(patch->predicted_ln)) {
		CLEANUP(free_ptr) char *gain = xasprintf("%.6g%%", 100 * expm1(patch->predicted_ln));
		json_object_set_new(object, "predicted", json_string(gain));
	}
	json_object_set_new(object, "edits", json_loads(patch->text, 0, NULL));
	CLEANUP(free_ptr) char *json = json_dump_pretty_take(object);
	strbuf_addf(text, "%s\n", json);
}

static enum err_code write_patches(
	struct campaign *c, const struct given_answer *given, json_t *names, struct err *reterr)
{
	CLEANUP(free_ptr) char *folder = answers_patch_folder(c, given->proposer);
	for (size_t i = 0; given->answer && i < given->answer->n_patches; i++) {
		const struct proposed_patch *patch = &given->answer->patches[i];
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		if (patch->is_edits)
			write_edits(patch, &text);
		else
			write_diff(patch, &text);
		CLEANUP(free_ptr) char *name = free_name(c, folder, patch, &text);
		if (!name || count_files(folder) >= FILES_MAX)
			continue;
		CLEANUP(free_ptr) char *path = file_of(folder, name, patch->is_edits);
		TRY(make_dirs(folder, 0755, reterr));
		TRY(file_write_atomic(path, text.buf, text.len, 0644, reterr));
		json_array_append_new(names, json_string(name));
	}
	return OK;
}

/* ---- the entry ---- */

static json_t *lever_json(const struct state *s, int lever, int setting)
{
	json_t *json = json_object();
	size_t n_knobs = s->task->n_knobs;
	if ((size_t)lever < n_knobs) {
		const struct knob *knob = &s->task->knobs[lever];
		json_object_set_new(json, "knob", json_string(knob->name));
		json_object_set_new(json, "setting", json_from_text(knob->settings[setting].text));
	} else {
		json_object_set_new(
			json, "patch", json_string(s->space.patches[(size_t)lever - n_knobs].digest));
	}
	return json;
}

static json_t *configurations_json(const struct state *s, const struct given_answer *given)
{
	json_t *list = json_array();
	for (size_t i = 0; i < given->answer->n_configurations; i++) {
		const struct proposed_configuration *p = &given->answer->configurations[i];
		const struct candidate candidate = {s->space.n_levers, (int *)p->setting};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		candidate_to_json(&candidate, &s->space, &text);
		json_t *item = json_object();
		json_object_set_new(item, "candidate", json_loads(text.buf, 0, NULL));
		json_object_set_new(item, "predicted_ln", json_from_number(p->predicted_ln));
		json_object_set_new(item, "predicted_bytes", json_from_number(p->predicted_bytes));
		json_object_set_new(item, "measure", json_boolean(given->measure));
		json_object_set_new(item, "reason", json_from_text(p->reason ? p->reason : ""));
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *priors_json(const struct state *s, const struct answer *answer)
{
	json_t *list = json_array();
	for (size_t i = 0; i < answer->n_priors; i++) {
		const struct proposed_prior *p = &answer->priors[i];
		json_t *item = lever_json(s, p->lever, p->setting);
		json_object_set_new(item, "gain_ln", json_from_number(p->gain_ln));
		json_object_set_new(item, "gain_sd_ln", json_from_number(p->gain_sd_ln));
		json_object_set_new(item, "memory_bytes", json_from_number(p->memory_bytes));
		json_object_set_new(item, "memory_sd_bytes", json_from_number(p->memory_sd_bytes));
		json_object_set_new(item, "reason", json_from_text(p->reason ? p->reason : ""));
		json_array_append_new(list, item);
	}
	return list;
}

/* A name stands for the latest patch that has it. */
static const char *digest_of(const struct space *space, const char *name)
{
	for (size_t i = space->n_patches; i-- > 0;)
		if (strcmp(space->patches[i].name, name) == 0)
			return space->patches[i].digest;
	return "";
}

/* What it was shown is what it speaks of, where the name is the same. */
static json_t *reviews_json(const struct state *s, const struct given_answer *given)
{
	const struct answer *answer = given->answer;
	const char *shown = given->shown_patch ? given->shown_patch : "", *shown_name = "";
	json_t *list = json_array();
	for (size_t i = 0; i < s->space.n_patches && *shown; i++)
		if (strcmp(s->space.patches[i].digest, shown) == 0)
			shown_name = s->space.patches[i].name;
	for (size_t i = 0; i < answer->n_reviews; i++) {
		const struct proposed_review *r = &answer->reviews[i];
		bool was_shown = *shown && strcmp(r->patch, shown_name) == 0;
		json_t *item = json_object();
		json_object_set_new(
			item, "patch", json_string(was_shown ? shown : digest_of(&s->space, r->patch)));
		json_object_set_new(item, "shown", json_boolean(was_shown));
		json_object_set_new(item, "accept", json_boolean(r->accept));
		json_object_set_new(item, "reason", json_from_text(r->reason ? r->reason : ""));
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *dropped_json(const struct answer *answer)
{
	json_t *list = json_array();
	for (size_t i = 0; i < answer->n_dropped; i++) {
		json_t *item = json_object();
		json_object_set_new(item, "where", json_from_text(answer->dropped[i].where));
		json_object_set_new(item, "reason", json_from_text(answer->dropped[i].reason));
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *conflicts_json(const struct state *s, const struct given_answer *given)
{
	json_t *list = json_array();
	for (size_t i = 0; i < given->n_conflicts; i++) {
		const struct known_conflict *k = &given->conflicts[i];
		json_t *item = json_object();
		json_object_set_new(item, "first", lever_json(s, k->lever_a, k->setting_a));
		json_object_set_new(item, "second", lever_json(s, k->lever_b, k->setting_b));
		json_object_set_new(item, "reason", json_from_text(k->reason));
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *cost_json(const struct chat_cost *cost)
{
	json_t *json = json_object();
	json_object_set_new(json, "tokens", json_from_number(cost->tokens_in + cost->tokens_out));
	json_object_set_new(json, "tokens_in", json_from_number(cost->tokens_in));
	json_object_set_new(json, "tokens_out", json_from_number(cost->tokens_out));
	json_object_set_new(json, "usd", json_from_number(cost->usd));
	json_object_set_new(json, "seconds", json_from_number(cost->seconds));
	json_object_set_new(json, "attempts", json_integer(cost->attempts));
	json_object_set_new(json, "estimated", json_boolean(cost->estimated));
	return json;
}

static json_t *body_of(const struct campaign *c, const struct given_answer *given)
{
	const struct state *s = &c->state;
	json_t *body = json_object();
	json_object_set_new(body, "kind", json_string("answer"));
	json_object_set_new(body, "proposer", json_string(given->proposer));
	json_object_set_new(body, "after", json_integer(s->n_counted));
	json_object_set_new(body, "ok", json_boolean(given->answer != NULL));
	json_object_set_new(body, "error", json_from_text(given->answer ? "" : given->failure));
	if (given->cost)
		json_object_set_new(body, "cost", cost_json(given->cost));
	if (given->is_outsider)
		json_object_set_new(body, "unasked", json_true());
	if (given->n_conflicts)
		json_object_set_new(body, "conflicts", conflicts_json(s, given));
	if (!given->answer)
		return body;
	json_object_set_new(body, "configurations", configurations_json(s, given));
	json_object_set_new(body, "priors", priors_json(s, given->answer));
	json_object_set_new(body, "reviews", reviews_json(s, given));
	json_object_set_new(body, "dropped", dropped_json(given->answer));
	return body;
}

enum err_code answers_record(struct campaign *c, const struct given_answer *given, struct err *reterr)
{
	json_t *names = json_array();
	enum err_code code = write_patches(c, given, names, reterr);
	if (code == OK) {
		json_t *body = body_of(c, given);
		json_object_set(body, "patches", names);
		code = campaign_append(c, ENTRY_PROPOSAL, 0, NULL, json_dump_take(body), NULL, reterr);
	}
	json_decref(names);
	TRY(code);
	return campaign_refresh(c, reterr);
}

/* ---- for people ---- */

static void add_count(struct strbuf *text, size_t n, const char *one, const char *many)
{
	if (n)
		strbuf_addf(text, "%s%zu %s", text->len ? ", " : "", n, n == 1 ? one : many);
}

void answers_describe(const struct answer *answer, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf counts = STRBUF_INIT;
	add_count(&counts, answer->n_configurations, "configuration", "configurations");
	add_count(&counts, answer->n_patches, "patch", "patches");
	add_count(&counts, answer->n_priors, "prior", "priors");
	add_count(&counts, answer->n_reviews, "review", "reviews");
	strbuf_addstr(text, counts.len ? counts.buf : "nothing to propose");
	if (!answer->n_dropped)
		return;
	strbuf_addf(text, "; %zu dropped: ", answer->n_dropped);
	for (size_t i = 0; i < answer->n_dropped && i < 2; i++)
		strbuf_addf(
			text, "%s%s %s", i ? "; " : "", answer->dropped[i].where, answer->dropped[i].reason);
	if (answer->n_dropped > 2)
		strbuf_addstr(text, "; ...");
}
