/*
 * JSON-RPC 2.0 as MCP uses it: one line of text -> requests and notifications, and the replies to them.
 * Nothing here knows a method.
 */
#ifndef INFRARSI_MCP_MESSAGE_H
#define INFRARSI_MCP_MESSAGE_H

#include <jansson.h>

#include "base/base.h"

/* Codes of JSON-RPC 2.0, section 5.1, and of MCP 2026-07-28 ("Error Codes"). */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_UNKNOWN_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_UNSUPPORTED_VERSION = -32022,
};

struct rpc_message {      /* borrowed from the JSON that it was read from */
	const json_t *id; /* a string or an integer; NULL = a notification: it is never answered */
	const char *method;
	const json_t *params; /* an object; NULL = none given */
};

enum rpc_kind {
	RPC_MESSAGE,
	RPC_IGNORED, /* a reply, though we ask nothing, or a notification that cannot be meant */
	RPC_BROKEN   /* *ret_error says why: an answer that is ready to be sent */
};
enum rpc_kind rpc_read_message(const json_t *json, struct rpc_message *ret_message, json_t **ret_error);

/* Any JSON value. NULL where it is none (*ret_error as above). */
json_t *rpc_parse(const char *text, size_t length, json_t **ret_error);

/* New objects. id NULL becomes null: the request's own could not be read. data may be NULL; taken. */
json_t *rpc_result(const json_t *id, json_t *result_take);
json_t *rpc_error(const json_t *id, enum rpc_code code, json_t *data_take, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
json_t *rpc_notification(const char *method, json_t *params_take);

#endif
