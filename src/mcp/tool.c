#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/units.h"
#include "mcp/tool.h"

static bool is_object(const json_t *value)
{
	return json_is_object(value);
}

static bool is_array(const json_t *value)
{
	return json_is_array(value);
}

static bool is_text(const json_t *value)
{
	return json_is_string(value);
}

static bool is_number(const json_t *value)
{
	return json_is_number(value);
}

/* JSON Schema: 3.0 is an integer, too. */
static bool is_integer(const json_t *value)
{
	return json_is_integer(value) ||
	       (json_is_real(value) && json_real_value(value) == floor(json_real_value(value)));
}

static bool is_boolean(const json_t *value)
{
	return json_is_boolean(value);
}

static const struct {
	const char *name, *with_article;
	bool (*is)(const json_t *value);
} types[] = {
	[MCP_STRING] = {"string", "a string", is_text},
	[MCP_INTEGER] = {"integer", "an integer", is_integer},
	[MCP_NUMBER] = {"number", "a number", is_number},
	[MCP_BOOLEAN] = {"boolean", "true or false", is_boolean},
	[MCP_OBJECT] = {"object", "an object", is_object},
	[MCP_ARRAY] = {"array", "a list", is_array},
};

void mcp_result_release(struct mcp_result *result)
{
	strbuf_release(&result->text);
	json_decref(result->data);
	result->data = NULL;
}

/* ---- schema ---- */

static bool has_range(const struct mcp_argument *a)
{
	return a->least != 0 || a->most != 0;
}

static json_t *bound_to_json(double value)
{
	return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *argument_to_json(const struct mcp_argument *a)
{
	json_t *schema = json_object();
	json_object_set_new(schema, "type", json_string(types[a->type].name));
	json_object_set_new(schema, "description", json_string(a->description));
	if (has_range(a)) {
		json_object_set_new(schema, "minimum", bound_to_json(a->least));
		json_object_set_new(schema, "maximum", bound_to_json(a->most));
	}
	if (a->more) {
		CLEANUP(json_decref_ptr) json_t *more = json_loads(a->more, 0, NULL);
		json_object_update(schema, more);
	}
	return schema;
}

static json_t *arguments_to_json(const struct mcp_tool *tool)
{
	json_t *schema = json_object(), *properties = json_object(), *required = json_array();
	for (size_t i = 0; i < tool->n_arguments; i++) {
		const struct mcp_argument *a = &tool->arguments[i];
		json_object_set_new(properties, a->name, argument_to_json(a));
		if (a->is_required)
			json_array_append_new(required, json_string(a->name));
	}
	json_object_set_new(schema, "type", json_string("object"));
	json_object_set_new(schema, "properties", properties);
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	json_decref(required);
	json_object_set_new(schema, "additionalProperties", json_false());
	return schema;
}

json_t *mcp_tool_to_json(const struct mcp_tool *tool)
{
	json_t *json = json_object(), *annotations = json_object();
	json_object_set_new(annotations, "readOnlyHint", json_boolean(tool->only_reads));
	json_object_set_new(annotations, "destructiveHint", json_false());
	json_object_set_new(annotations, "openWorldHint", json_false());
	json_object_set_new(json, "name", json_string(tool->name));
	json_object_set_new(json, "title", json_string(tool->title));
	json_object_set_new(json, "description", json_string(tool->description));
	json_object_set_new(json, "inputSchema", arguments_to_json(tool));
	json_object_set_new(json, "annotations", annotations);
	return json;
}

/* ---- check ---- */

static const struct mcp_argument *find_argument(const struct mcp_tool *tool, const char *name)
{
	for (size_t i = 0; i < tool->n_arguments; i++)
		if (strcmp(tool->arguments[i].name, name) == 0)
			return &tool->arguments[i];
	return NULL;
}

static enum err_code unknown_argument(const struct mcp_tool *tool, const char *name, struct err *reterr)
{
	enum { NAMES_MOST = 16 };
	const char *names[NAMES_MOST];
	size_t n = MIN_OF(tool->n_arguments, (size_t)NAMES_MOST);
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT, list = STRBUF_INIT;
	for (size_t i = 0; i < n; i++) {
		names[i] = tool->arguments[i].name;
		strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	strbuf_add_escaped(&shown, name, strlen(name));
	const char *close = closest_name(name, names, n);
	if (close)
		return err_set(reterr, ERR_INPUT, "%s has no argument '%.60s' (did you mean '%s'?)",
			tool->name, shown.buf, close);
	return err_set(reterr, ERR_INPUT, "%s has no argument '%.60s'; it has %s", tool->name, shown.buf,
		n ? list.buf : "none");
}

static enum err_code check_value(
	const struct mcp_tool *tool, const struct mcp_argument *a, const json_t *value, struct err *reterr)
{
	if (!types[a->type].is(value))
		return err_set(reterr, ERR_INPUT, "%s: '%s' is %s", tool->name, a->name,
			types[a->type].with_article);
	if (has_range(a) && !(json_number_value(value) >= a->least && json_number_value(value) <= a->most))
		return err_set(reterr, ERR_INPUT, "%s: '%s' is %s from %g to %g", tool->name, a->name,
			types[a->type].with_article, a->least, a->most);
	return OK;
}

enum err_code mcp_tool_check(const struct mcp_tool *tool, const json_t *arguments, struct err *reterr)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)arguments, name, value)
	{
		const struct mcp_argument *a = find_argument(tool, name);
		if (!a)
			return unknown_argument(tool, name, reterr);
		/* Some clients write null for what they leave out. */
		if (!json_is_null(value))
			TRY(check_value(tool, a, value, reterr));
	}
	for (size_t i = 0; i < tool->n_arguments; i++) {
		const struct mcp_argument *a = &tool->arguments[i];
		const json_t *given = json_object_get(arguments, a->name);
		if (a->is_required && (!given || json_is_null(given)))
			return err_set(
				reterr, ERR_INPUT, "%s needs '%s': %s", tool->name, a->name, a->description);
	}
	return OK;
}

/* ---- result ---- */

json_t *mcp_result_to_json(const struct mcp_result *result)
{
	json_t *json = json_object(), *block = json_object(), *content = json_array();
	json_object_set_new(block, "type", json_string("text"));
	json_object_set_new(block, "text", json_from_text(result->text.buf));
	json_array_append_new(content, block);
	json_object_set_new(json, "content", content);
	if (result->data)
		json_object_set(json, "structuredContent", result->data);
	json_object_set_new(json, "isError", json_boolean(result->is_error));
	return json;
}
