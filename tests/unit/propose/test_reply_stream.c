/* Streams as the two families of servers send them (their documented formats), cut at every byte. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "propose/reply_stream.h"

static const char openai_stream[] =
	": keep-alive\r\n\r\n"
	"data: "
	"{\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}"
	"\r\n\r\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"a\\\"\"}}]}\n\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\": 1}\"}}]}\n\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}\n\n"
	"data: [DONE]\n\n";
static const char openai_whole[] = "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"{"
				   "\\\"a\\\": 1}\"},\"finish_reason\":\"length\"}],\n"
				   " \"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}";
static const char anthropic_stream[] =
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":12,"
	"\"output_tokens\":1}}}\n\n"
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
	"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"answer\",\"input\":{}}}\n\n"
	"event: ping\ndata: {\"type\": \"ping\"}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
	"{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\"\"}}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
	"{\"type\":\"input_json_delta\",\"partial_json\":\": 1}\"}}\n\n"
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},"
	"\"usage\":{\"output_tokens\":5}}\n\n"
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/* As the standard allows it: a mark, lines that end with CR, data over several lines, and blanks behind the
 * end. */
static const char openai_returns[] =
	"\xEF\xBB\xBF: hello\rdata: {\"choices\":[{\"index\":0,\rdata: \"delta\":{\"content\":\"{\\\"a\\\": "
	"1}\"}}]}\r\r"
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}\r\rdata: [DONE] "
	"\r\r";
/* No empty lines between events. */
static const char openai_dense[] = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\"\"}}]}\n"
				   "data: {\"choices\":[{\"delta\":{\"content\":\": "
				   "1}\"}}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}\n"
				   "data: [DONE]\n";

static const struct sample {
	const struct provider *provider;
	const char *bytes;
	bool cut;
} samples[] = {
	{&provider_openai, openai_stream, false},
	{&provider_openai, openai_whole, true},
	{&provider_openai, openai_returns, false},
	{&provider_openai, openai_dense, false},
	{&provider_anthropic, anthropic_stream, false},
};

static void read_in_two(const struct sample *sample, size_t cut_at)
{
	struct chat_reply reply = {.text = STRBUF_INIT, .tokens_in = NAN, .tokens_out = NAN};
	struct reply_stream s;
	reply_stream_init(&s, sample->provider, &reply, NULL);
	struct err err = ERR_INIT;
	size_t length = strlen(sample->bytes);
	if (reply_stream_feed(&s, sample->bytes, cut_at))
		reply_stream_feed(&s, sample->bytes + cut_at, length - cut_at);
	assert_int_equal(reply_stream_end(&s, &err), OK);
	assert_string_equal(reply.text.buf, "{\"a\": 1}");
	assert_true(reply.tokens_in == 12 && reply.tokens_out == 5);
	assert_int_equal(reply.cut, sample->cut);
	assert_string_equal(reply.fault, "");
	assert_int_equal(s.bad_events, 0);
	reply_stream_release(&s);
	strbuf_release(&reply.text);
}

static void joins_what_was_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		for (size_t at = 0; at <= strlen(samples[i].bytes); at++)
			read_in_two(&samples[i], at);
}

static void names_what_is_no_reply(void **state)
{
	(void)state;
	static const char *const bodies[] = {"<html>\x1b[31m502</html>", "", "[1]",
		"{\"detail\":\"Not found\"}", "data: {\n\n", "\xff\xfe"};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct chat_reply reply = {.text = STRBUF_INIT};
		struct reply_stream s;
		reply_stream_init(&s, &provider_openai, &reply, NULL);
		struct err err = ERR_INIT;
		reply_stream_feed(&s, bodies[i], strlen(bodies[i]));
		assert_int_equal(reply_stream_end(&s, &err), ERR_FAILED);
		assert_null(strchr(err.message, '\x1b'));
		reply_stream_release(&s);
		strbuf_release(&reply.text);
	}
}

/* A text that is not one JSON object is whole only where the server says so. */
static void names_what_broke_off(void **state)
{
	(void)state;
#define PIECE(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
	static const struct {
		const char *bytes, *message; /* NULL = whole */
	} rows[] = {
		{PIECE("{\\\"a\\\"") PIECE(": 1"), "the reply broke off after 7 bytes of text"},
		{PIECE("{\\\"a\\\"") PIECE(": 1} "), NULL},
		{PIECE("see {\\\"a\\\": 1}"), "the reply broke off after 12 bytes of text"},
		{PIECE("see {\\\"a\\\": 1}") "data: [DONE]\n", NULL},
		{PIECE("[1]") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n", NULL},
		{PIECE("{\\\"a") "data: {\n\n" PIECE("b") "data: [DONE]\n",
			"1 of 3 events of the reply are not JSON"},
		{"data: x\n\ndata: y\n\n", "2 of 2 events of the reply are not JSON"},
		{"data: [DONE]\n", "the server's reply is not one: ''"},
	};
#undef PIECE
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct chat_reply reply = {.text = STRBUF_INIT};
		struct reply_stream s;
		reply_stream_init(&s, &provider_openai, &reply, NULL);
		struct err err = ERR_INIT;
		reply_stream_feed(&s, rows[i].bytes, strlen(rows[i].bytes));
		assert_int_equal(reply_stream_end(&s, &err), rows[i].message ? ERR_FAILED : OK);
		assert_string_equal(err.message, rows[i].message ? rows[i].message : "");
		reply_stream_release(&s);
		strbuf_release(&reply.text);
	}
}

static void passes_on_a_reported_fault(void **state)
{
	(void)state;
	static const char body[] = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"x\"}}\n\n";
	for (size_t i = 0; i < 2; i++) {
		struct chat_reply reply = {.text = STRBUF_INIT};
		struct reply_stream s;
		reply_stream_init(&s, i ? &provider_anthropic : &provider_openai, &reply, NULL);
		reply_stream_feed(&s, body, strlen(body));
		assert_int_equal(reply_stream_end(&s, NULL), OK);
		assert_string_equal(reply.fault, "overloaded");
		reply_stream_release(&s);
		strbuf_release(&reply.text);
	}
}

static void asks_as_the_servers_want(void **state)
{
	(void)state;
	const struct chat_message messages[] = {{false, "q"}, {true, "a"}, {false, "again"}};
	const struct chat_question q = {
		.model = "m", .system = "s", .messages = messages, .n_messages = 3, .max_output_tokens = 9};
	char *openai = json_dump_take(provider_openai.request(&q));
	char *anthropic = json_dump_take(provider_anthropic.request(&q));
	assert_string_equal(openai,
		"{\"max_tokens\":9,\"messages\":[{\"content\":\"s\",\"role\":\"system\"},{\"content\":\"q\","
		"\"role\":"
		"\"user\"},{\"content\":\"a\",\"role\":\"assistant\"},{\"content\":\"again\",\"role\":"
		"\"user\"}],"
		"\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
	assert_string_equal(anthropic,
		"{\"max_tokens\":9,\"messages\":[{\"content\":\"q\",\"role\":\"user\"},{\"content\":\"a\","
		"\"role\":"
		"\"assistant\"},{\"content\":\"again\",\"role\":\"user\"}],\"model\":\"m\",\"stream\":true,"
		"\"system\":\"s\"}");
	free(openai);
	free(anthropic);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_what_was_cut),
		cmocka_unit_test(names_what_is_no_reply),
		cmocka_unit_test(names_what_broke_off),
		cmocka_unit_test(passes_on_a_reported_fault),
		cmocka_unit_test(asks_as_the_servers_want),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
