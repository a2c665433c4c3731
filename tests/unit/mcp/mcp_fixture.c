#include "mcp_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

static enum err_code echo(
	void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
{
	struct fixture *f = context;
	(void)reterr;
	f->calls++;
	strbuf_addf(&result->text, "heard %s", json_text_of(call->arguments, "word"));
	result->data = json_object();
	json_object_set_new(result->data, "word", json_from_text(json_text_of(call->arguments, "word")));
	return OK;
}

static enum err_code stumble(
	void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
{
	(void)context;
	(void)call;
	strbuf_addstr(&result->text, "half an answer");
	result->data = json_object();
	return err_set_at(reterr, ERR_INPUT, "a.yaml", 3, 4, "not like this");
}

static enum err_code later(
	void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
{
	struct fixture *f = context;
	(void)reterr;
	f->ticket = call->ticket;
	f->may_wait = call->may_wait;
	result->is_later = call->may_wait;
	if (!call->may_wait)
		strbuf_addstr(&result->text, "now");
	return OK;
}

static const struct mcp_argument echo_arguments[] = {
	{"word", MCP_STRING, "what to say", .is_required = true},
	{"loud", MCP_BOOLEAN, "how"},
	{"times", MCP_INTEGER, "how often", .least = 1, .most = 3},
};
static const struct mcp_tool tools[] = {
	{.name = "echo",
		.title = "Echo",
		.description = "says it again",
		.arguments = echo_arguments,
		.n_arguments = ARRAY_LEN(echo_arguments),
		.only_reads = true,
		.call = echo},
	{.name = "fail", .title = "Fail", .description = "fails", .call = stumble},
	{.name = "later", .title = "Later", .description = "answers later", .call = later},
};

static enum err_code keep(void *context, const char *line, size_t length, struct err *reterr)
{
	struct fixture *f = context;
	if (f->is_broken)
		return err_set(reterr, ERR_IO, "the client is gone");
	strbuf_add(&f->written, line, length);
	return OK;
}

void set_up(struct fixture *f)
{
	*f = (struct fixture){.written = STRBUF_INIT};
	f->server = (struct mcp_server){.name = "fixture",
		.title = "Fixture",
		.version = "7",
		.instructions = "use echo",
		.tools = tools,
		.n_tools = ARRAY_LEN(tools),
		.tool_context = f,
		.write = keep,
		.write_context = f};
	f->session = mcp_session_new(&f->server);
}

void tear_down(struct fixture *f)
{
	mcp_session_free(f->session);
	strbuf_release(&f->written);
}

json_t *send_line(struct fixture *f, const char *line)
{
	CLEANUP(free_ptr) char *with_end = xasprintf("%s\n", line);
	assert_int_equal(mcp_session_feed(f->session, with_end, strlen(with_end), NULL), OK);
	if (!f->written.len)
		return NULL;
	const char *newline = strchr(f->written.buf, '\n');
	assert_ptr_equal(newline, f->written.buf + f->written.len - 1);
	json_error_t error;
	json_t *json = json_loadb(f->written.buf, f->written.len, 0, &error);
	if (!json)
		fail_msg("%s: %s", error.text, f->written.buf);
	strbuf_clear(&f->written);
	return json;
}

void expect_error(struct fixture *f, const char *line, int code, const char *id)
{
	CLEANUP(json_decref_ptr) json_t *reply = send_line(f, line);
	CLEANUP(json_decref_ptr) json_t *wanted = json_loads(id, JSON_DECODE_ANY, NULL);
	assert_non_null(reply);
	assert_string_equal(text_at(reply, "jsonrpc"), "2.0");
	assert_int_equal(json_integer_value(at(reply, "error.code")), code);
	assert_true(*text_at(reply, "error.message") != '\0');
	assert_true(json_equal(at(reply, "id"), wanted));
	assert_null(json_object_get(reply, "result"));
}

void expect_nothing(struct fixture *f, const char *line)
{
	assert_null(send_line(f, line));
}

void initialize(struct fixture *f, const char *revision)
{
	CLEANUP(free_ptr)
	char *line =
		xasprintf("{\"jsonrpc\": \"2.0\", \"id\": \"first\", \"method\": \"initialize\", \"params\": "
			  "{\"protocolVersion\": \"%s\", \"capabilities\": {}, \"clientInfo\": {\"name\": "
			  "\"t\", \"version\": \"1\"}}}",
			revision);
	CLEANUP(json_decref_ptr) json_t *reply = send_line(f, line);
	assert_string_equal(text_at(reply, "result.protocolVersion"), revision);
	expect_nothing(f, "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}");
}

const json_t *at(const json_t *json, const char *path)
{
	CLEANUP(free_ptr) char *copy = xstrdup(path);
	char *rest = NULL;
	for (char *name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
		char *index = strchr(name, '[');
		if (index)
			*index++ = '\0';
		json = json_object_get(json, name);
		if (index)
			json = json_array_get(json, strtoul(index, NULL, 10));
		if (!json)
			fail_msg("there is no %s", path);
	}
	return json;
}

const char *text_at(const json_t *json, const char *path)
{
	const char *text = json_string_value(at(json, path));
	if (!text)
		fail_msg("%s is no text", path);
	return text;
}
