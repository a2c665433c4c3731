#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "propose/answer.h"
#include "propose/answer_text.h"
#include "spec/task.h"

static const double bytes_per_gib = 1024.0 * 1024 * 1024;
/* Beyond these a prediction is a slip of units ("112" for 12%), not a belief. */
static const double speedup_least = 0.01, speedup_most = 100, gib_most = 1e6;
static const double largest_sd_ln = 3;
enum { TEXT_CUT = 400, NAME_CUT = 48, PROBLEMS_SHOWN = 5 };

struct reading {
	const struct space *space;
	struct arena *arena;
	struct answer *answer;
	size_t room; /* for dropped items */
};

static void drop(struct reading *r, const char *list, size_t index, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void drop(struct reading *r, const char *list, size_t index, const char *fmt, ...)
{
	char reason[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	if (r->answer->n_dropped + 1 == r->room) /* one is for the end of an answer that is cut */
		return;
	r->answer->dropped[r->answer->n_dropped++] = (struct dropped_item){
		arena_printf(r->arena, "%s[%zu]", list, index), arena_strdup(r->arena, reason)};
}

/* Text from outside, short and safe to show. */
static const char *shown(struct reading *r, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strnlen(text, TEXT_CUT));
	return arena_strdup(r->arena, safe.buf);
}

static const char *text_member(struct reading *r, const json_t *item, const char *key)
{
	return shown(r, json_text_of(item, key));
}

/* false: a number that cannot be meant. */
static bool gib_member(const json_t *item, const char *key, double *ret_bytes)
{
	double gib = json_number_of(item, key);
	*ret_bytes = gib * bytes_per_gib;
	return isnan(gib) || fabs(gib) <= gib_most;
}

/* false: a number that cannot be meant. */
static bool speedup_member(const json_t *item, const char *key, double *ret_ln)
{
	double ratio = json_number_of(item, key);
	*ret_ln = NAN;
	if (isnan(ratio))
		return true;
	if (ratio < speedup_least || ratio > speedup_most)
		return false;
	*ret_ln = log(ratio);
	return true;
}

static const char *lever_name(const struct space *space, size_t lever)
{
	const struct task *task = space->task;
	return lever < task->n_knobs ? task->knobs[lever].name : space->patches[lever - task->n_knobs].name;
}

static int find_lever(const struct space *space, const char *name)
{
	/* The latest of several versions of a patch. */
	for (size_t l = space->n_levers; l-- > 0;)
		if (strcmp(lever_name(space, l), name) == 0)
			return (int)l;
	return -1;
}

static const char *suggestion(struct reading *r, const char *name)
{
	const char **names = arena_array(r->arena, r->space->n_levers, sizeof(*names));
	for (size_t l = 0; l < r->space->n_levers; l++)
		names[l] = lever_name(r->space, l);
	const char *close = closest_name(name, names, r->space->n_levers);
	return close ? arena_printf(r->arena, " (did you mean '%s'?)", close) : "";
}

/* A setting as its text; a number or a boolean counts as it would be written. */
static int find_setting(const struct space *space, int lever, const json_t *value)
{
	const struct task *task = space->task;
	bool is_patch = (size_t)lever >= task->n_knobs;
	if (is_patch) {
		if (json_is_boolean(value))
			return json_is_true(value);
		const char *word = json_is_string(value) ? json_string_value(value) : "";
		return strcmp(word, "on") == 0 ? 1 : strcmp(word, "off") == 0 ? 0 : -1;
	}
	const struct knob *knob = &task->knobs[lever];
	for (size_t i = 0; i < knob->n_settings; i++) {
		const struct setting *s = &knob->settings[i];
		if (json_is_string(value) && strcmp(json_string_value(value), s->text) == 0)
			return (int)i;
		if (json_is_number(value) && s->is_number && json_number_value(value) == s->number)
			return (int)i;
		if (json_is_boolean(value) && strcmp(s->text, json_is_true(value) ? "true" : "false") == 0)
			return (int)i;
	}
	return -1;
}

static const char *settings_of(struct reading *r, int lever)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const struct task *task = r->space->task;
	if ((size_t)lever >= task->n_knobs)
		return "off, on";
	for (size_t i = 0; i < task->knobs[lever].n_settings; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", task->knobs[lever].settings[i].text);
	return shown(r, text.buf);
}

static bool read_lever(struct reading *r, const char *list, size_t index, const char *name,
	const json_t *value, int *ret_lever, int *ret_setting)
{
	*ret_lever = find_lever(r->space, name);
	if (*ret_lever < 0) {
		drop(r, list, index, "there is no knob or patch '%s'%s", shown(r, name), suggestion(r, name));
		return false;
	}
	*ret_setting = find_setting(r->space, *ret_lever, value);
	if (*ret_setting < 0) {
		CLEANUP(free_ptr) char *given = json_dumps(value, JSON_ENCODE_ANY);
		drop(r, list, index, "%s has no setting %s; it has %s", name, shown(r, given ? given : "?"),
			settings_of(r, *ret_lever));
		return false;
	}
	return true;
}

static void read_configuration(struct reading *r, const char *list, size_t index, const json_t *item)
{
	const json_t *settings = json_object_get(item, "settings");
	int *setting = arena_array(r->arena, r->space->n_levers, sizeof(*setting));
	struct proposed_configuration c = {.setting = setting, .reason = text_member(r, item, "reason")};
	const char *name;
	json_t *value;
	if (!json_is_object(settings)) {
		drop(r, list, index, "needs 'settings', an object of knob: setting");
		return;
	}
	for (size_t l = 0; l < r->space->n_levers; l++)
		setting[l] = (int)r->space->reference[l];
	json_object_foreach((json_t *)settings, name, value)
	{
		int lever, to;
		if (!read_lever(r, list, index, name, value, &lever, &to))
			return;
		setting[lever] = to;
	}
	bool legal = false;
	CLEANUP(strbuf_release) struct strbuf why = STRBUF_INIT;
	struct err err = ERR_INIT;
	if (space_is_legal(r->space, setting, &legal, &why, &err) != OK || !legal) {
		drop(r, list, index, "not allowed: %s", shown(r, err.code == OK ? why.buf : err.message));
		return;
	}
	if (!speedup_member(item, "speedup", &c.predicted_ln)) {
		drop(r, list, index, "'speedup' is a ratio (1.12 = 12%% faster) between 0.01 and 100");
		return;
	}
	if (!gib_member(item, "peak_gib", &c.predicted_bytes) || c.predicted_bytes <= 0) {
		drop(r, list, index, "'peak_gib' is the memory of a device, above 0");
		return;
	}
	r->answer->configurations[r->answer->n_configurations++] = c;
}

static void read_prior(struct reading *r, const char *list, size_t index, const json_t *item)
{
	struct proposed_prior p = {.reason = text_member(r, item, "reason")};
	if (!read_lever(r, list, index, json_text_of(item, "knob"), json_object_get(item, "setting"),
		    &p.lever, &p.setting))
		return;
	if ((size_t)p.setting == r->space->reference[p.lever]) {
		drop(r, list, index, "is the reference's own setting, of which nothing can be expected");
		return;
	}
	if (!speedup_member(item, "speedup", &p.gain_ln)) {
		drop(r, list, index, "'speedup' is a ratio (1.12 = 12%% faster) between 0.01 and 100");
		return;
	}
	/* Of a ratio, so of its logarithm the relative one. */
	p.gain_sd_ln = json_number_of(item, "speedup_sd") / (isnan(p.gain_ln) ? 1 : exp(p.gain_ln));
	if (!gib_member(item, "memory_gib", &p.memory_bytes) ||
		!gib_member(item, "memory_sd_gib", &p.memory_sd_bytes)) {
		drop(r, list, index, "'memory_gib' and 'memory_sd_gib' are memory of a device");
		return;
	}
	if (isnan(p.gain_ln) && isnan(p.memory_bytes)) {
		drop(r, list, index, "needs 'speedup' or 'memory_gib'");
		return;
	}
	if (p.gain_sd_ln <= 0 || p.memory_sd_bytes <= 0) {
		drop(r, list, index, "an uncertainty must be above 0");
		return;
	}
	if (p.gain_sd_ln > largest_sd_ln) {
		drop(r, list, index,
			"'speedup_sd' is the uncertainty of a ratio: above %g times it says nothing",
			largest_sd_ln);
		return;
	}
	r->answer->priors[r->answer->n_priors++] = p;
}

static bool is_taken(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->n_patches; i++)
		if (strcmp(a->patches[i].name, name) == 0)
			return true;
	return false;
}

/* Becomes a file's stem and a lever's name: letters, digits and hyphens, whatever was given. */
static const char *patch_name(struct reading *r, const char *given, size_t index)
{
	char name[NAME_CUT + 1];
	size_t n = 0;
	for (const char *p = given; *p && n < NAME_CUT; p++) {
		unsigned char c = (unsigned char)*p;
		if (isalnum(c) && c < 128)
			name[n++] = (char)tolower(c);
		else if (n && name[n - 1] != '-')
			name[n++] = '-';
	}
	while (n && name[n - 1] == '-')
		n--;
	name[n] = '\0';
	const char *base = n ? arena_strdup(r->arena, name) : arena_printf(r->arena, "patch-%zu", index + 1);
	const char *unique = base;
	for (size_t k = 2; is_taken(r->answer, unique); k++)
		unique = arena_printf(r->arena, "%s-%zu", base, k);
	return unique;
}

static void read_phases(struct reading *r, const json_t *list, struct proposed_patch *p)
{
	size_t n = json_array_size(list);
	p->phases = arena_array(r->arena, n, sizeof(*p->phases));
	for (size_t i = 0; i < n; i++) {
		const char *phase = json_string_value(json_array_get(list, i));
		if (phase)
			p->phases[p->n_phases++] = shown(r, phase);
	}
}

static void read_patch(struct reading *r, const char *list, size_t index, const json_t *item)
{
	struct proposed_patch p = {.title = text_member(r, item, "title")};
	const json_t *edits = json_object_get(item, "edits"), *diff = json_object_get(item, "diff");
	if (!json_is_string(diff) == !json_is_array(edits)) {
		drop(r, list, index,
			"needs either 'diff', a unified diff, or 'edits', a list of {file, old, new}");
		return;
	}
	if (!speedup_member(item, "speedup", &p.predicted_ln)) {
		drop(r, list, index, "'speedup' is a ratio (1.12 = 12%% faster) between 0.01 and 100");
		return;
	}
	p.is_edits = json_is_array(edits);
	CLEANUP(free_ptr) char *dumped = p.is_edits ? json_dumps(edits, JSON_COMPACT) : NULL;
	p.text = arena_strdup(r->arena, dumped ? dumped : json_string_value(diff));
	const char *given = json_text_of(item, "name");
	p.name = patch_name(r, *given ? given : p.title, index);
	if (*json_text_of(item, "mechanism"))
		p.mechanism = text_member(r, item, "mechanism");
	read_phases(r, json_object_get(item, "phases"), &p);
	r->answer->patches[r->answer->n_patches++] = p;
}

static void read_review(struct reading *r, const char *list, size_t index, const json_t *item)
{
	struct proposed_review v = {
		.patch = text_member(r, item, "patch"), .reason = text_member(r, item, "reason")};
	const char *verdict = json_text_of(item, "verdict");
	if (!*v.patch || find_lever(r->space, v.patch) < (int)r->space->task->n_knobs) {
		drop(r, list, index, "'patch' names none of the patches");
		return;
	}
	if (strcmp(verdict, "accept") != 0 && strcmp(verdict, "reject") != 0) {
		drop(r, list, index, "'verdict' must be accept or reject");
		return;
	}
	v.accept = strcmp(verdict, "accept") == 0;
	r->answer->reviews[r->answer->n_reviews++] = v;
}

static const struct list {
	const char *name;
	size_t most;
	void (*read)(struct reading *r, const char *list, size_t index, const json_t *item);
} lists[] = {
	{"configurations", ANSWER_CONFIGURATIONS, read_configuration},
	{"priors", ANSWER_PRIORS, read_prior},
	{"patches", ANSWER_PATCHES, read_patch},
	{"reviews", ANSWER_PATCHES, read_review},
};

static void read_list(struct reading *r, const struct list *list, const json_t *items)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		if (i >= list->most) {
			drop(r, list->name, i, "and what follows: at most %zu are read", list->most);
			return;
		}
		if (json_is_object(item))
			list->read(r, list->name, i, item);
		else
			drop(r, list->name, i, "must be an object");
	}
}

static void answer_init(struct reading *r)
{
	struct answer *a = r->answer;
	r->room = ANSWER_CONFIGURATIONS + ANSWER_PRIORS + 2 * ANSWER_PATCHES + 2 * ARRAY_LEN(lists) + 1;
	*a = (struct answer){
		.configurations = arena_array(r->arena, ANSWER_CONFIGURATIONS, sizeof(*a->configurations)),
		.priors = arena_array(r->arena, ANSWER_PRIORS, sizeof(*a->priors)),
		.patches = arena_array(r->arena, ANSWER_PATCHES, sizeof(*a->patches)),
		.reviews = arena_array(r->arena, ANSWER_PATCHES, sizeof(*a->reviews)),
		.dropped = arena_array(r->arena, r->room, sizeof(*a->dropped)),
	};
}

static size_t n_usable(const struct answer *a)
{
	return a->n_configurations + a->n_priors + a->n_patches + a->n_reviews;
}

static void add_problems(struct strbuf *text, const struct answer *a)
{
	for (size_t i = 0; i < MIN_OF(a->n_dropped, (size_t)PROBLEMS_SHOWN); i++)
		strbuf_addf(
			text, "%s%s %s", text->len ? "; " : "", a->dropped[i].where, a->dropped[i].reason);
}

/* Nothing usable, and not because nothing was said. */
static enum err_code check_usable(const struct answer *a, struct err *reterr)
{
	if (!a->n_dropped || n_usable(a))
		return OK;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	add_problems(&text, a);
	return err_set(reterr, ERR_INPUT, "%s", text.buf);
}

/* What came whole of an answer that is cut was thought of first, and is as good as it was; the end is an item
 * like any other that cannot be used. */
static enum err_code note_cut(struct reading *r, const struct err *cut, struct err *reterr)
{
	struct answer *a = r->answer;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (!n_usable(a)) {
		strbuf_addstr(&text, cut->message);
		add_problems(&text, a);
		return err_set(reterr, ERR_INPUT, "%s", text.buf);
	}
	memmove(a->dropped + 1, a->dropped, a->n_dropped++ * sizeof(*a->dropped));
	a->dropped[0] = (struct dropped_item){
		ANSWER_END, arena_printf(r->arena, "is missing (%s): what came whole is used", cut->message)};
	return OK;
}

enum err_code answer_parse(const char *text, size_t length, const struct space *space, struct arena *arena,
	struct answer *ret_answer, struct err *reterr)
{
	static const char *const keys[] = {"configurations", "priors", "patches", "reviews", NULL};
	CLEANUP(json_decref_ptr) json_t *object = NULL;
	struct answer answer;
	struct err cut = ERR_INIT;
	struct reading reading = {.space = space, .arena = arena, .answer = &answer};
	if (length > ANSWER_BYTES)
		return err_set(reterr, ERR_LIMIT, "the answer has %zu bytes, at most %d are read", length,
			ANSWER_BYTES);
	TRY(answer_find_object(text, length, keys, &object, &cut, reterr));
	answer_init(&reading);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const json_t *items = json_object_get(object, lists[i].name);
		if (items && !json_is_array(items) && !json_is_null(items))
			drop(&reading, lists[i].name, 0, "'%s' must be a list", lists[i].name);
		else
			read_list(&reading, &lists[i], items);
	}
	if (cut.code != OK)
		TRY(note_cut(&reading, &cut, reterr));
	TRY(check_usable(&answer, reterr));
	*ret_answer = answer;
	return OK;
}
