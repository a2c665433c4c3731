/* POST {base}/v1/messages. The schema is held by a tool that the model must use; its input is the answer. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "propose/provider.h"

static const char *const headers[] = {"anthropic-version: 2023-06-01", NULL};

static json_t *request(const struct chat_question *q)
{
	json_t *messages = json_array();
	for (size_t i = 0; i < q->n_messages; i++)
		json_array_append_new(messages,
			json_pack("{s:s, s:o}", "role", q->messages[i].from_model ? "assistant" : "user",
				"content", json_from_text(q->messages[i].text)));
	json_t *body = json_pack("{s:o, s:o, s:o, s:i, s:b}", "model", json_from_text(q->model), "system",
		json_from_text(q->system), "messages", messages, "max_tokens", q->max_output_tokens, "stream",
		1);
	if (q->schema) {
		json_object_set_new(body, "tools",
			json_pack("[{s:s, s:s, s:o}]", "name", "answer", "description", "Gives the answer.",
				"input_schema", json_loads(q->schema, 0, NULL)));
		json_object_set_new(
			body, "tool_choice", json_pack("{s:s, s:s}", "type", "tool", "name", "answer"));
	}
	return body;
}

static void read_usage(const json_t *usage, struct chat_reply *reply)
{
	double in = json_number_of(usage, "input_tokens"), out = json_number_of(usage, "output_tokens");
	if (!isnan(in))
		reply->tokens_in = in;
	if (!isnan(out))
		reply->tokens_out = out; /* cumulative: the last one counts */
}

static void read_block(const json_t *block, struct chat_reply *reply)
{
	const json_t *input = json_object_get(block, "input");
	strbuf_addstr(&reply->text, json_text_of(block, "text"));
	strbuf_addstr(&reply->text, json_text_of(block, "partial_json"));
	if (json_object_size(input)) {
		char *text = json_dumps(input, JSON_COMPACT);
		strbuf_addstr(&reply->text, text ? text : "");
		free(text);
	}
}

static void event(const json_t *event, struct chat_reply *reply)
{
	const json_t *error = json_object_get(event, "error"), *blocks = json_object_get(event, "content");
	const json_t *delta = json_object_get(event, "delta");
	const char *stop = json_text_of(delta, "stop_reason");
	for (size_t i = 0; i < json_array_size(blocks); i++) /* a reply that is not streamed */
		read_block(json_array_get(blocks, i), reply);
	read_block(delta, reply);
	read_usage(json_object_get(json_object_get(event, "message"), "usage"), reply);
	read_usage(json_object_get(event, "usage"), reply);
	if (!*stop)
		stop = json_text_of(event, "stop_reason");
	reply->finished |= *stop || strcmp(json_text_of(event, "type"), "message_stop") == 0;
	reply->cut |= strcmp(stop, "max_tokens") == 0;
	if (error && !json_is_null(error))
		chat_reply_set_fault(reply, json_text_of(error, "message"));
}

const struct provider provider_anthropic = {.name = "anthropic",
	.path = "/v1/messages",
	.key_header = "x-api-key: ",
	.headers = headers,
	.request = request,
	.event = event};
