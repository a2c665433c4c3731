/* The schema as servers take it for structured output: no optional members where a server wants all of them
 * to be required would be too strict for the rest, so only what makes an item usable is. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "propose/answer.h"

#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"number\"}"
#define LIST(items) "{\"type\":\"array\",\"items\":" items "}"
#define OBJECT(members, required)                                                                            \
	"{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]}"

/* clang-format off */
const char answer_schema[] = OBJECT(
	"\"configurations\":" LIST(OBJECT(
		"\"settings\":{\"type\":\"object\",\"additionalProperties\":" TEXT "},"
		"\"speedup\":" NUMBER ",\"peak_gib\":" NUMBER ",\"reason\":" TEXT, "\"settings\"")) ","
	"\"priors\":" LIST(OBJECT(
		"\"knob\":" TEXT ",\"setting\":" TEXT ",\"speedup\":" NUMBER ",\"speedup_sd\":" NUMBER ","
		"\"memory_gib\":" NUMBER ",\"memory_sd_gib\":" NUMBER ",\"reason\":" TEXT,
		"\"knob\",\"setting\"")) ","
	"\"patches\":" LIST(OBJECT(
		"\"name\":" TEXT ",\"title\":" TEXT ",\"mechanism\":" TEXT ",\"phases\":" LIST(TEXT) ","
		"\"speedup\":" NUMBER ",\"diff\":" TEXT ",\"edits\":" LIST(OBJECT(
			"\"file\":" TEXT ",\"old\":" TEXT ",\"new\":" TEXT, "\"file\",\"old\",\"new\"")),
		"\"name\"")) ","
	"\"reviews\":" LIST(OBJECT(
		"\"patch\":" TEXT ",\"verdict\":{\"type\":\"string\",\"enum\":[\"accept\",\"reject\"]},"
		"\"reason\":" TEXT, "\"patch\",\"verdict\"")), "");
/* clang-format on */

static json_t *text_of(json_t *choices)
{
	return json_pack("{s:s, s:o}", "type", "string", "enum", choices);
}

static json_t *names_of(const json_t *knobs, const json_t *patches)
{
	json_t *names = json_array();
	size_t i;
	const json_t *item;
	json_array_foreach(knobs, i, item) json_array_append(names, json_object_get(item, "name"));
	json_array_foreach(patches, i, item) json_array_append(names, json_object_get(item, "name"));
	return names;
}

static json_t *settings_of(const json_t *knobs, const json_t *patches)
{
	json_t *settings = json_object();
	size_t i;
	const json_t *item;
	json_array_foreach(knobs, i, item) json_object_set_new(
		settings, json_text_of(item, "name"), text_of(json_copy(json_object_get(item, "settings"))));
	json_array_foreach(patches, i, item) json_object_set_new(
		settings, json_text_of(item, "name"), text_of(json_pack("[s, s]", "off", "on")));
	return json_pack(
		"{s:s, s:o, s:b}", "type", "object", "properties", settings, "additionalProperties", 0);
}

/* Of a list: at most so many items, or none of it at all where it is not wanted. */
static json_t *limit(json_t *lists, const char *name, const json_t *wanted)
{
	json_t *list = json_object_get(lists, name);
	if (json_is_integer(wanted) && json_integer_value(wanted) > 0)
		json_object_set(list, "maxItems", (json_t *)wanted);
	else if (!json_is_true(wanted) && !json_is_object(wanted))
		json_object_del(lists, name);
	return json_object_get(json_object_get(json_object_get(lists, name), "items"), "properties");
}

/* Servers limit schemas; one of thousands of settings is left at the general one. */
enum { SCHEMA_BYTES = 32 << 10 };

char *answer_schema_for(const json_t *request)
{
	const json_t *wanted = json_object_get(request, "wanted");
	const json_t *knobs = json_object_get(request, "knobs"),
		     *patches = json_object_get(request, "patches");
	const json_t *review = json_object_get(wanted, "review");
	json_t *schema = json_loads(answer_schema, 0, NULL);
	json_t *lists = json_object_get(schema, "properties"), *of;
	if ((of = limit(lists, "configurations", json_object_get(wanted, "configurations"))))
		json_object_set_new(of, "settings", settings_of(knobs, patches));
	if ((of = limit(lists, "priors", json_object_get(wanted, "priors"))))
		json_object_set_new(of, "knob", text_of(names_of(knobs, patches)));
	limit(lists, "patches", json_object_get(wanted, "patches"));
	if ((of = limit(lists, "reviews", review)))
		json_object_set_new(of, "patch", text_of(json_pack("[s]", json_text_of(review, "patch"))));
	if (json_object_get(lists, "configurations"))
		json_object_set_new(schema, "required", json_pack("[s]", "configurations"));
	char *text = json_dump_take(schema);
	if (strlen(text) <= SCHEMA_BYTES)
		return text;
	free(text);
	return xstrdup(answer_schema);
}
