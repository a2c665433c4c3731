#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_bar_int.h"

/* "00:02<?, 2.1it/s, loss=2]" or "00:02, 2.1it/s, loss=2]": the values. */
static const char *values_of_bar(const char *inside)
{
	const char *comma = strpbrk(inside, ",]");
	if (!comma || *comma == ']')
		return "";
	const char *slash = strchr(comma, '/');
	const char *equals = strchr(comma, '=');
	if (slash && (!equals || slash < equals))
		comma = strpbrk(slash, ",]");
	if (!comma || *comma == ']')
		return "";
	comma++;
	return comma + strspn(comma, " ");
}

static bool open_bar_at(const char *text, const char *bracket, struct progress_bar *ret_bar)
{
	if (!is_digit(bracket[1]) || !is_digit(bracket[2]) || bracket[3] != ':')
		return false;
	const char *end = bracket;
	while (end > text && end[-1] == ' ')
		end--;
	if (end - text >= 2 && begins_with(end - 2, "/?"))
		end -= 2;
	else if (end - text >= 2 && begins_with(end - 2, "it"))
		end -= 2;
	else
		return false;
	const char *digits = end;
	while (digits > text && is_digit(digits[-1]))
		digits--;
	double done;
	if (digits == end || end - digits > 12 || !read_number(digits, &done))
		return false;
	*ret_bar = (struct progress_bar){.done = (long)done, .elapsed_s = NAN};
	ret_bar->postfix = values_of_bar(bracket + 1);
	return true;
}

bool bar_read_open(const char *text, struct progress_bar *ret_bar)
{
	for (const char *at = text; (at = strchr(at, '[')) != NULL; at++)
		if (open_bar_at(text, at, ret_bar))
			return true;
	return false;
}

bool bar_next_value(const char **position, struct field *ret_field)
{
	const char *key = *position;
	while (*key == ' ')
		key++;
	const char *equals = key;
	while (*equals != '=') {
		if (!*equals || *equals == ']')
			return false;
		equals++;
	}
	const char *end = equals + 1;
	/* ", " and not ",": a value may hold commas of its own. */
	while (*end && *end != ']' && !(end[0] == ',' && end[1] == ' '))
		end++;
	if (*end == '\0')
		return false;
	*ret_field = (struct field){key, equals + 1, (size_t)(equals - key)};
	*position = *end == ']' ? end : end + 2;
	return true;
}

/* Which letters a key has, in any case, as a set: most parts can be ruled out by it. */
static uint32_t letter(char c)
{
	return (uint32_t)1 << (c & 31);
}

struct key {
	const struct field *field;
	uint32_t letters;
};

static struct key key_of(const struct field *field)
{
	struct key key = {field, 0};
	for (size_t i = 0; i < field->key_length; i++)
		key.letters |= letter(field->key[i]);
	return key;
}

static bool has_part(const struct key *key, const char *part)
{
	size_t length = 0;
	for (; part[length]; length++)
		if (!(key->letters & letter(part[length])))
			return false;
	const char *end = key->field->key + key->field->key_length;
	for (const char *p = key->field->key; p + length <= end; p++) {
		size_t i = 0;
		while (i < length && to_lower(p[i]) == part[i])
			i++;
		if (i == length)
			return true;
	}
	return false;
}

/* The lower the better; 0 = no loss of a training step. */
static unsigned loss_rank(const struct key *key)
{
	static const char *const names[] = {"train_loss_step", "train/loss_step", "training_loss_step",
		"loss_step", "step_loss", "train_loss", "train/loss", "training_loss", "loss/train",
		"loss_train", "loss"};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (field_is(key->field, names[i]))
			return i + 1;
	if (!has_part(key, "train") || has_part(key, "epoch"))
		return 0;
	return ARRAY_LEN(names) + (has_part(key, "step") ? 1 : 2);
}

static bool is_other_phase(const struct key *key)
{
	return has_part(key, "val") || has_part(key, "test") || has_part(key, "best");
}

static enum field_slot slot_of(const struct field *field, unsigned *ret_rank)
{
	const struct key key = key_of(field);
	enum field_slot slot = N_FIELDS;
	*ret_rank = 1;
	if (has_part(&key, "loss"))
		slot = FIELD_LOSS;
	else if (has_part(&key, "grad_norm") || has_part(&key, "gradient_norm") || field_is(field, "gnorm"))
		slot = FIELD_GRAD_NORM;
	else if (field_is(field, "lr") || field_is(field, "learning_rate") || field_is(field, "train/lr") ||
		 (field->key_length > 3 && begins_with(field->key, "lr-")))
		slot = FIELD_LR;
	if (slot == N_FIELDS || is_other_phase(&key))
		return N_FIELDS;
	if (slot == FIELD_LOSS)
		*ret_rank = loss_rank(&key);
	return *ret_rank ? slot : N_FIELDS;
}

/* As slot_of(), from the keys that have been met last where they have this one. */
static enum field_slot known_slot_of(struct bar_keys *keys, const struct field *field, unsigned *ret_rank)
{
	size_t length = field->key_length;
	if (length == 0 || length > sizeof(keys->items[0].text))
		return slot_of(field, ret_rank);
	size_t at = length + (unsigned char)field->key[0] + (unsigned char)field->key[length - 1];
	struct bar_key *key = &keys->items[at % ARRAY_LEN(keys->items)];
	if (key->length != length || memcmp(key->text, field->key, length) != 0) {
		key->length = length;
		memcpy(key->text, field->key, length);
		key->slot = slot_of(field, &key->rank);
	}
	*ret_rank = key->rank;
	return key->slot;
}

void bar_values(const char *postfix, struct bar_keys *keys, struct field_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	struct field field;
	for (const char *p = postfix; bar_next_value(&p, &field);) {
		unsigned rank;
		enum field_slot slot = known_slot_of(keys, &field, &rank);
		double value;
		bool torn;
		if (slot == N_FIELDS || (ret_set->rank[slot] && ret_set->rank[slot] <= rank))
			continue;
		if (!field_value(field.value, FORM_NUMBER, 0, &value, &torn) || torn)
			continue;
		ret_set->values[slot] = (struct opt_number){true, value};
		ret_set->rank[slot] = (unsigned char)rank;
	}
}

/* FNV-1a over the values up to the bracket that closes the bar; what another writer put behind it is none of
 * them. */
static uint64_t hash_values(const char *values)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *values && *values != ']'; values++)
		h = (h ^ (unsigned char)*values) * 0x100000001b3u;
	return h;
}

enum bar_change bar_advance(struct bar_progress *progress, long done, const char *values)
{
	uint64_t hash = hash_values(values);
	if (progress->begun && done == progress->done) {
		bool news = !progress->settled && hash != progress->before;
		progress->settled |= news;
		progress->shown = hash;
		progress->drawings++;
		return news ? BAR_VALUES : BAR_SAME;
	}
	bool back = progress->begun && done < progress->done;
	progress->first = !progress->begun;
	progress->before = progress->begun ? progress->shown : hash_values("");
	progress->settled = progress->begun && hash != progress->before;
	progress->one_draw |= progress->settled;
	progress->done = done;
	progress->shown = hash;
	progress->drawings = 1;
	progress->begun = true;
	return back ? BAR_BACK : BAR_FORWARD;
}

bool bar_is_stale(const struct bar_progress *progress)
{
	return progress->begun && !progress->settled && !progress->one_draw && !progress->first &&
	       progress->drawings == 1;
}
