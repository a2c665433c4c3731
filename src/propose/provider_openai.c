/* POST {base}/chat/completions, as OpenAI and the many servers that follow it (vLLM, SGLang, llama.cpp, ...)
 * take it. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "propose/provider.h"

static json_t *message_json(const char *role, const char *text)
{
	return json_pack("{s:s, s:o}", "role", role, "content", json_from_text(text));
}

static json_t *request(const struct chat_question *q)
{
	json_t *messages = json_array();
	json_array_append_new(messages, message_json("system", q->system));
	for (size_t i = 0; i < q->n_messages; i++)
		json_array_append_new(messages,
			message_json(q->messages[i].from_model ? "assistant" : "user", q->messages[i].text));
	json_t *body = json_pack("{s:o, s:o, s:i, s:b, s:{s:b}}", "model", json_from_text(q->model),
		"messages", messages, q->limits_completion ? "max_completion_tokens" : "max_tokens",
		q->max_output_tokens, "stream", 1, "stream_options", "include_usage", 1);
	if (q->schema)
		json_object_set_new(body, "response_format",
			json_pack("{s:s, s:{s:s, s:o}}", "type", "json_schema", "json_schema", "name",
				"answer", "schema", json_loads(q->schema, 0, NULL)));
	return body;
}

static void read_fault(const json_t *event, struct chat_reply *reply)
{
	const json_t *error = json_object_get(event, "error");
	const char *message =
		json_is_string(error) ? json_string_value(error) : json_text_of(error, "message");
	if (error && !json_is_null(error))
		chat_reply_set_fault(reply, message);
}

static void event(const json_t *event, struct chat_reply *reply)
{
	const json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
	const json_t *part = json_object_get(choice, "delta");
	const json_t *usage = json_object_get(event, "usage");
	strbuf_addstr(
		&reply->text, json_text_of(part ? part : json_object_get(choice, "message"), "content"));
	const char *why = json_text_of(choice, "finish_reason");
	reply->finished |= *why != '\0';
	reply->cut |= strcmp(why, "length") == 0;
	if (json_is_object(usage)) {
		reply->tokens_in = json_number_of(usage, "prompt_tokens");
		reply->tokens_out = json_number_of(usage, "completion_tokens");
	}
	read_fault(event, reply);
}

const struct provider provider_openai = {.name = "openai",
	.path = "/chat/completions",
	.key_header = "Authorization: Bearer ",
	.request = request,
	.event = event};
