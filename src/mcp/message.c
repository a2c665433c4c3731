#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "mcp/message.h"

static json_t *envelope(void)
{
	json_t *message = json_object();
	json_object_set_new(message, "jsonrpc", json_string("2.0"));
	return message;
}

static void set_id(json_t *message, const json_t *id)
{
	json_object_set_new(message, "id", id ? json_copy((json_t *)id) : json_null());
}

json_t *rpc_result(const json_t *id, json_t *result_take)
{
	json_t *message = envelope();
	set_id(message, id);
	json_object_set_new(message, "result", result_take);
	return message;
}

json_t *rpc_error(const json_t *id, enum rpc_code code, json_t *data_take, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_t *error = json_object(), *message = envelope();
	json_object_set_new(error, "code", json_integer(code));
	json_object_set_new(error, "message", json_from_text(text));
	if (data_take)
		json_object_set_new(error, "data", data_take);
	set_id(message, id);
	json_object_set_new(message, "error", error);
	return message;
}

json_t *rpc_notification(const char *method, json_t *params_take)
{
	json_t *message = envelope();
	json_object_set_new(message, "method", json_string(method));
	json_object_set_new(message, "params", params_take);
	return message;
}

json_t *rpc_parse(const char *text, size_t length, json_t **ret_error)
{
	json_error_t error;
	json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!json) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT; /* it quotes the text */
		strbuf_add_escaped(&shown, error.text, strlen(error.text));
		*ret_error =
			rpc_error(NULL, RPC_PARSE_ERROR, NULL, "a line that is no JSON text: %s", shown.buf);
	}
	return json;
}

/* MCP: a string or an integer, and not null. */
static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

static json_t *invalid(const json_t *json, const char *why)
{
	const json_t *id = json_object_get(json, "id");
	return rpc_error(is_id(id) ? id : NULL, RPC_INVALID_REQUEST, NULL, "%s", why);
}

enum rpc_kind rpc_read_message(const json_t *json, struct rpc_message *ret_message, json_t **ret_error)
{
	const json_t *id = json_object_get(json, "id"), *params = json_object_get(json, "params");
	const char *method = json_string_value(json_object_get(json, "method"));
	const char *why = NULL;
	if (!json_is_object(json))
		why = "a message is an object";
	else if (strcmp(json_text_of(json, "jsonrpc"), "2.0") != 0)
		why = "a message has \"jsonrpc\": \"2.0\"";
	else if (!json_object_get(json, "method") &&
		 (json_object_get(json, "result") || json_object_get(json, "error")))
		return RPC_IGNORED;
	else if (!method)
		why = "a message has a \"method\", which is a string";
	else if (id && !is_id(id))
		why = "an \"id\" is a string or an integer";
	if (why) {
		*ret_error = invalid(json, why);
		return RPC_BROKEN;
	}
	if (json_is_null(params))
		params = NULL;
	if (params && !json_is_object(params)) {
		if (!id)
			return RPC_IGNORED;
		*ret_error = rpc_error(id, RPC_INVALID_PARAMS, NULL, "\"params\" is an object");
		return RPC_BROKEN;
	}
	*ret_message = (struct rpc_message){.id = id, .method = method, .params = params};
	return RPC_MESSAGE;
}
