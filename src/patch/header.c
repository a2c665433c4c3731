#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "patch/header.h"

/* Of a value; a list of bases may name many. */
enum { VALUE_CAP_BYTES = 200, BASES_CAP_BYTES = 100000 };

struct place {
	const char *name;
	int line;
	struct arena *arena;
	struct err *reterr;
};

static enum err_code set_title(struct patch_header *h, const char *value, const struct place *p)
{
	h->title = arena_strdup(p->arena, value);
	return OK;
}

static enum err_code set_mechanism(struct patch_header *h, const char *value, const struct place *p)
{
	if (strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(value))
		return err_set_at(p->reterr, ERR_INPUT, p->name, p->line, 0,
			"expected a mechanism id (lower-case letters, digits, _), got '%s'", value);
	h->mechanism = arena_strdup(p->arena, value);
	return OK;
}

static bool is_listed(const char *const *items, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(items[i], word) == 0)
			return true;
	return false;
}

/* The words of a list, each once. */
static void split_words(const char *value, struct arena *arena, const char ***ret_items, size_t *ret_count)
{
	char *list = arena_strdup(arena, value), *rest = NULL;
	const char **items = arena_array(arena, strlen(value) / 2 + 1, sizeof(*items));
	size_t n = 0;
	for (char *word = strtok_r(list, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest))
		if (!is_listed(items, n, word))
			items[n++] = word;
	*ret_items = items;
	*ret_count = n;
}

static enum err_code set_phases(struct patch_header *h, const char *value, const struct place *p)
{
	static const char *const known[] = {"forward", "backward", "optimizer", "data", "collective"};
	const char **phases;
	size_t n;
	split_words(value, p->arena, &phases, &n);
	for (size_t i = 0; i < n; i++)
		if (!is_listed(known, ARRAY_LEN(known), phases[i]))
			return err_set_at(p->reterr, ERR_INPUT, p->name, p->line, 0,
				"unknown phase '%s': expected forward, backward, optimizer, data or "
				"collective",
				phases[i]);
	h->phases = phases;
	h->n_phases = n;
	return OK;
}

static enum err_code set_predicted(struct patch_header *h, const char *value, const struct place *p)
{
	double gain;
	if (!parse_fraction(value[0] == '+' ? value + 1 : value, &gain) || !(gain > -1 && gain <= 100))
		return err_set_at(p->reterr, ERR_INPUT, p->name, p->line, 0,
			"expected a predicted speed-up such as 5%%, got '%s'", value);
	h->has_predicted = true;
	h->predicted_gain_ln = log1p(gain);
	return OK;
}

static enum err_code set_bases(struct patch_header *h, const char *value, const struct place *p)
{
	split_words(value, p->arena, &h->bases, &h->n_bases);
	return OK;
}

static const struct {
	const char *key;
	enum err_code (*set)(struct patch_header *h, const char *value, const struct place *p);
	size_t cap_bytes;
	bool in_message; /* read from a commit's message too */
} keys[] = {
	{"title", set_title, VALUE_CAP_BYTES, false},
	{"mechanism", set_mechanism, VALUE_CAP_BYTES, true},
	{"phases", set_phases, VALUE_CAP_BYTES, true},
	{"predicted", set_predicted, VALUE_CAP_BYTES, true},
	{"base", set_bases, BASES_CAP_BYTES, false},
};

const char *header_key_name(size_t index)
{
	return index < ARRAY_LEN(keys) ? keys[index].key : NULL;
}

/* ARRAY_LEN(keys) = none of them. */
static size_t find_key(const char *key)
{
	size_t i = 0;
	while (i < ARRAY_LEN(keys) && strcasecmp(key, keys[i].key) != 0)
		i++;
	return i;
}

enum err_code header_set(struct patch_header *header, const char *key, const char *value, const char *name,
	int line, struct arena *arena, struct err *reterr)
{
	const struct place place = {name, line, arena, reterr};
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	size_t i = find_key(key), length = strlen(value);
	if (i == ARRAY_LEN(keys))
		return err_set_at(reterr, ERR_INPUT, name, line, 0, "unknown key '%s'", key);
	if (length > keys[i].cap_bytes)
		return err_set_at(reterr, ERR_INPUT, name, line, 0,
			"the value of %s has %zu bytes, more than the %zu allowed", keys[i].key, length,
			keys[i].cap_bytes);
	strbuf_add_escaped(&shown, value, length);
	return keys[i].set(header, shown.buf, &place);
}

static const char *meant_key(const char *key)
{
	const char *names[ARRAY_LEN(keys)];
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		names[i] = keys[i].key;
	return strlen(key) < 32 ? closest_name(key, names, ARRAY_LEN(names)) : NULL;
}

/* Cuts "key: value" in two; false when there is no colon. */
static bool cut(char *text, char **ret_key, char **ret_value)
{
	char *colon = strchr(text, ':');
	if (!colon)
		return false;
	*colon = '\0';
	*ret_key = text + strspn(text, "# \t");
	*ret_value = colon + 1 + strspn(colon + 1, " \t");
	return true;
}

static enum err_code read_line(struct patch_header *header, char *text, const struct place *p)
{
	char *key, *value;
	if (!cut(text, &key, &value))
		return OK;
	if (find_key(key) < ARRAY_LEN(keys))
		return header_set(header, key, value, p->name, p->line, p->arena, p->reterr);
	const char *meant = meant_key(key);
	if (meant)
		return err_set_at(p->reterr, ERR_INPUT, p->name, p->line, 0,
			"unknown key '%s' (did you mean '%s'?)", key, meant);
	return OK;
}

enum err_code header_read(struct patch_header *header, const char *text, size_t length, int end_line,
	const char *name, struct arena *arena, struct err *reterr)
{
	const char *at = text, *end = text + length;
	for (int line = 1; at < end && line < end_line; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		size_t width = (size_t)(stop - at);
		while (width && isspace((unsigned char)at[width - 1]))
			width--;
		if (width && at[0] == '#' && !memchr(at, '\0', width)) {
			const struct place place = {name, line, arena, reterr};
			TRY(read_line(header, arena_strndup(arena, at, width), &place));
		}
		at = stop < end ? stop + 1 : end;
	}
	return OK;
}

enum err_code header_read_message(struct patch_header *header, const char *message, const char *name,
	struct arena *arena, struct err *reterr)
{
	char *rest = NULL, *copy = arena_strdup(arena, message);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *key, *value;
		if (!cut(line, &key, &value))
			continue;
		size_t i = find_key(key);
		if (i < ARRAY_LEN(keys) && keys[i].in_message)
			TRY(header_set(header, key, value, name, 0, arena, reterr));
	}
	return OK;
}
