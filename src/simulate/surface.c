#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "simulate/json_cursor.h"
#include "simulate/surface.h"
#include "simulate/surface_int.h"

/* A run of a surface is 30 updates of its time; starting costs as much as ten updates of the reference. The
 * tables say nothing of either, nor of noise. */
enum { UPDATES = 30, WARMUP = 10, STARTUP_UPDATES = 10 };
static const double sigma_pair = 0.005;
static const double gib = 1073741824.0;
enum { SURFACE_CAP_BYTES = 256 * 1024 * 1024, KNOBS_MAX = 64, TEXT_MAX = 64 };

/* Memory of the devices that surfaces with memory readings come from, by a part of the file's name. */
static const struct {
	const char *part;
	double gib;
} capacities[] = {{"h100", 80}, {"a100", 80}, {"h200", 141}, {"b200", 180}};

/* ---- defaults ---- */

static enum err_code read_default(
	struct cursor *list, const char ***ret_values, size_t *ret_count, struct err *reterr)
{
	TRY(cursor_array(list, 1, KNOBS_MAX, ret_count, reterr));
	*ret_values = arena_array(list->arena, *ret_count, sizeof(char *));
	for (size_t i = 0; i < *ret_count; i++) {
		struct cursor value = cursor_element(list, i);
		TRY(cursor_text(&value, TEXT_MAX, &(*ret_values)[i], reterr));
	}
	return OK;
}

static enum err_code read_defaults(struct cursor *root, struct surface_defaults *d, struct err *reterr)
{
	const char *key;
	json_t *value;
	if (!json_is_object(root->value))
		return cursor_fail(root, reterr, "an object: surface name to its reference's values");
	size_t n = json_object_size(root->value);
	d->names = arena_array(root->arena, n, sizeof(*d->names));
	d->values = arena_array(root->arena, n, sizeof(*d->values));
	d->n_values = arena_array(root->arena, n, sizeof(*d->n_values));
	json_object_foreach((json_t *)root->value, key, value)
	{
		CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
		strbuf_add_escaped(&safe, key, strnlen(key, 128));
		struct cursor list = {root->file, root->arena, arena_strdup(root->arena, safe.buf), value};
		d->names[d->n] = arena_strdup(root->arena, key);
		TRY(read_default(&list, &d->values[d->n], &d->n_values[d->n], reterr));
		d->n++;
	}
	return OK;
}

enum err_code surface_defaults_parse(const char *path, const char *text, size_t length,
	struct surface_defaults **ret_defaults, struct err *reterr)
{
	json_error_t e;
	CLEANUP(json_decref_ptr) json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &e);
	if (!json) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, e.text, strlen(e.text));
		return err_set_at(reterr, ERR_INPUT, path, e.line, e.column, "expected JSON: %s", shown.buf);
	}
	struct surface_defaults *d = xcalloc(1, sizeof(*d));
	struct cursor root = {path, &d->arena, "", json};
	enum err_code code = read_defaults(&root, d, reterr);
	if (code != OK)
		surface_defaults_free(d);
	else
		*ret_defaults = d;
	return code;
}

enum err_code surface_defaults_load(
	const char *path, struct surface_defaults **ret_defaults, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
	return surface_defaults_parse(path, text.buf, text.len, ret_defaults, reterr);
}

void surface_defaults_free(struct surface_defaults *d)
{
	if (!d)
		return;
	arena_release(&d->arena);
	free(d);
}

/* ---- the job ---- */

static struct truth evaluate(const struct simulated_job *job, const int *setting)
{
	const struct surface *s = job->data;
	const struct surface_row *row = surface_find(s, setting);
	struct truth t = {.end = JOB_CRASHES, .peak_bytes = NAN, .excess_bytes = NAN};
	if (!row)
		return t;
	t.peak_bytes = row->peak_bytes;
	t.gain_ln = isnan(row->time_s) ? 0 : log(s->reference_time_s / row->time_s);
	t.end = row->status == ROW_OK ? JOB_RUNS : row->status == ROW_OOM ? JOB_OOM : JOB_CRASHES;
	return t;
}

static bool is_legal(const struct simulated_job *job, const int *setting)
{
	return surface_find(job->data, setting) != NULL;
}

const struct job_kind surface_kind = {"surface", evaluate, is_legal, NULL};

/* The file's name without its folder and ending. */
static const char *stem_of(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	if (length > 4 && strcmp(name + length - 4, ".csv") == 0)
		length -= 4;
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, name, MIN_OF(length, (size_t)TEXT_MAX));
	return arena_strdup(arena, safe.buf);
}

static bool lower_is_part(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t i = 0;
		while (part[i] && tolower((unsigned char)text[i]) == part[i])
			i++;
		if (!part[i])
			return true;
	}
	return false;
}

/* `<family>__<nodes>x<devices><SKU>`: memory and number of devices, as far as the name says. */
static void read_device(struct simulated_job *job, bool has_memory)
{
	const char *device = strstr(job->name, "__");
	char *end;
	job->devices = 1;
	job->capacity_bytes = INFINITY;
	if (!device)
		return;
	long nodes = strtol(device + 2, &end, 10);
	if (nodes > 0 && nodes <= 100000 && *end == 'x') {
		long each = strtol(end + 1, NULL, 10);
		if (each > 0 && each <= 1000)
			job->devices = (int)(nodes * each);
	}
	for (size_t i = 0; i < ARRAY_LEN(capacities) && has_memory; i++)
		if (lower_is_part(device, capacities[i].part))
			job->capacity_bytes = capacities[i].gib * gib;
}

static bool comes_before(const struct surface *s, const struct surface_row *a, const struct surface_row *b)
{
	for (int k = 0; k < s->n_columns; k++)
		if (a->value[k] != b->value[k])
			return a->value[k] < b->value[k];
	return false;
}

static const struct surface_row *lowest_valid(const struct surface *s)
{
	const struct surface_row *lowest = NULL;
	for (size_t i = 0; i < s->n_rows; i++)
		if (s->rows[i].status == ROW_OK && (!lowest || comes_before(s, &s->rows[i], lowest)))
			lowest = &s->rows[i];
	return lowest;
}

static const struct surface_row *row_with(const struct surface *s, const char **values)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		bool same = true;
		for (int k = 0; k < s->n_columns && same; k++)
			same = strcmp(s->columns[k].text[s->rows[i].value[k]], values[k]) == 0;
		if (same)
			return &s->rows[i];
	}
	return NULL;
}

static enum err_code find_reference(const char *path, const char *name, const struct surface *s,
	const struct surface_defaults *defaults, const struct surface_row **ret_row, struct err *reterr)
{
	const struct surface_row *row = NULL;
	for (size_t i = 0; defaults && i < defaults->n; i++) {
		if (strcmp(defaults->names[i], name) != 0)
			continue;
		if (defaults->n_values[i] != (size_t)s->n_columns)
			return err_set_at(reterr, ERR_INPUT, path, 1, 1,
				"expected %zu knobs, as the default of %s has", defaults->n_values[i], name);
		row = row_with(s, defaults->values[i]);
		if (!row || row->status != ROW_OK)
			return err_set_at(reterr, ERR_INPUT, path, row ? row->line : 1, 1,
				"expected a row with status ok for the default of %s", name);
	}
	if (!row)
		row = lowest_valid(s);
	if (!row)
		return err_set_at(reterr, ERR_INPUT, path, 1, 1, "expected at least one row with status ok");
	*ret_row = row;
	return OK;
}

static const struct surface_row *fastest(const struct surface *s)
{
	const struct surface_row *best = NULL;
	for (size_t i = 0; i < s->n_rows; i++)
		if (s->rows[i].status == ROW_OK && (!best || s->rows[i].time_s < best->time_s))
			best = &s->rows[i];
	return best;
}

static void fill_levers(
	struct simulated_job *job, const struct surface *s, const struct surface_row *reference)
{
	struct lever *levers = arena_array(&job->arena, (size_t)s->n_levers, sizeof(*levers));
	for (int k = 0, l = 0; k < s->n_columns; k++) {
		const struct column *c = &s->columns[k];
		if (c->is_derived)
			continue;
		levers[l] = (struct lever){.name = c->name,
			.ordered = c->is_numeric && c->n_values > 2,
			.n_settings = c->n_values,
			.reference = reference->setting[l],
			.prior = arena_array(&job->arena, (size_t)c->n_values, sizeof(struct lever_prior)),
			.setting_names = c->text};
		for (int i = 0; i < c->n_values; i++)
			levers[l].prior[i].amdahl_cap_ln = INFINITY;
		l++;
	}
	job->levers = levers;
	job->n_levers = job->n_knobs = s->n_levers;
}

static void fill_job(struct simulated_job *job, struct surface *s, const struct surface_row *reference)
{
	const struct surface_row *best = fastest(s);
	bool has_memory = false;
	for (size_t i = 0; i < s->n_rows; i++)
		has_memory |= !isnan(s->rows[i].peak_bytes);
	s->reference_time_s = reference->time_s;
	fill_levers(job, s, reference);
	read_device(job, has_memory);
	job->is_measured = true;
	job->sigma_pair = sigma_pair;
	job->reference_step_s = reference->time_s;
	job->startup_s = STARTUP_UPDATES * reference->time_s;
	job->updates = UPDATES;
	job->warmup = WARMUP;
	job->optimum_ln = log(reference->time_s / best->time_s);
	job->optimum_setting = best->setting;
	job->data = s;
}

static enum err_code build(const char *path, const char *text, size_t length,
	const struct surface_defaults *defaults, struct simulated_job *job, struct err *reterr)
{
	struct surface *s = arena_alloc(&job->arena, sizeof(*s));
	const struct surface_row *reference = NULL;
	job->name = stem_of(path, &job->arena);
	TRY(surface_read_table(path, text, length, &job->arena, s, reterr));
	TRY(surface_build_levers(path, &job->arena, s, reterr));
	TRY(find_reference(path, job->name, s, defaults, &reference, reterr));
	fill_job(job, s, reference);
	return OK;
}

enum err_code surface_parse(const char *path, const char *text, size_t length,
	const struct surface_defaults *defaults, struct simulated_job *ret_job, struct err *reterr)
{
	struct simulated_job job = {.kind = &surface_kind};
	enum err_code code = build(path, text, length, defaults, &job, reterr);
	if (code != OK) {
		simulated_job_release(&job);
		return code;
	}
	*ret_job = job;
	return OK;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);
	return n >= m && strcmp(text + n - m, ending) == 0;
}

enum err_code surface_load(const char *path, const struct surface_defaults *defaults,
	struct simulated_job *ret_job, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (!ends_with(path, ".csv"))
		return err_set(reterr, ERR_INPUT,
			"%s: expected a .csv file; a compressed one has to be unpacked first", path);
	TRY(file_read(path, SURFACE_CAP_BYTES, &text, reterr));
	return surface_parse(path, text.buf, text.len, defaults, ret_job, reterr);
}
