#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/url.h"
#include "propose/chat.h"
#include "propose/http.h"
#include "propose/reply_stream.h"
#include "propose/secret.h"

enum { DEFAULT_ATTEMPTS = 4, REPLY_CAP_BYTES = 8 << 20, BYTES_PER_TOKEN = 4, MAX_HEADERS = 8 };
static const double stall_s = 120, longest_wait_s = 60, default_first_wait_s = 1;

struct call {
	const struct chat_endpoint *endpoint;
	struct chat_question question; /* its schema is given up where the server does not know it */
	char *body;
	struct chat_reply *reply;
	struct chat_cost *cost;
};

static bool is_worth_waiting(int status)
{
	static const int statuses[] = {408, 409, 425, 429, 500, 502, 503, 504, 529};
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (status == statuses[i])
			return true;
	return false;
}

static void reply_clear(struct chat_reply *reply)
{
	strbuf_clear(&reply->text);
	reply->tokens_in = reply->tokens_out = NAN;
	reply->finished = reply->cut = false;
	reply->fault[0] = '\0';
}

/* What the server reported, safe to show. */
static void add_fault(const struct call *call, struct strbuf *text)
{
	char fault[sizeof(call->reply->fault)];
	memcpy(fault, call->reply->fault, sizeof(fault));
	size_t length = strlen(fault);
	secret_hide(fault, length, call->endpoint->key, length == sizeof(fault) - 1);
	strbuf_add_escaped(text, fault, length);
}

static enum err_code status_error(
	const struct call *call, const struct http_result *result, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	add_fault(call, &said);
	const char *hint = "";
	if (result->status >= 300 && result->status < 400)
		hint = " (redirects are not followed: give the final address)";
	else if (result->status == 401 || result->status == 403)
		hint = " (is the key right?)";
	else if (result->status == 404)
		hint = " (is base_url right, and the model's name?)";
	return err_set(reterr, is_worth_waiting(result->status) ? ERR_FAILED : ERR_INPUT, "HTTP %d%s%s%s",
		result->status, said.len ? ": " : "", said.buf, hint);
}

static bool on_bytes(void *context, const char *bytes, size_t length)
{
	return reply_stream_feed(context, bytes, length);
}

static double tokens_of(size_t bytes)
{
	return (double)bytes / BYTES_PER_TOKEN;
}

static void count(struct call *call, const struct reply_stream *stream)
{
	const struct chat_endpoint *e = call->endpoint;
	const struct chat_reply *reply = call->reply;
	double in = reply->tokens_in, out = reply->tokens_out;
	if (!cost_tokens_are_meant(in)) {
		in = tokens_of(strlen(call->body));
		call->cost->estimated = true;
	}
	/* Output that is not shown (thoughts, calls of tools) has its events, a token or more each. Until a
	 * reply has ended a server's figure is one of its beginning. */
	double came = fmax(tokens_of(reply->text.len), stream->events);
	if (!cost_tokens_are_meant(out) || (!reply->finished && !stream->done && out < came)) {
		out = came;
		call->cost->estimated = true;
	}
	call->cost->tokens_in += in;
	call->cost->tokens_out += out;
	call->cost->usd += in * e->usd_per_token_in + out * e->usd_per_token_out;
}

static bool is_good(const struct http_result *result)
{
	return result->status >= 200 && result->status < 300;
}

/* sent, read: how the exchange ended, and the reading of what came. */
static enum err_code judge(const struct call *call, const struct http_result *result, const struct err *sent,
	const struct err *read, struct err *reterr)
{
	if (sent->code != OK && sent->code != ERR_FAILED)
		return err_set(reterr, sent->code, "%s", sent->message);
	if (result->status && !is_good(result))
		return status_error(call, result, reterr);
	if (*call->reply->fault) {
		CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
		add_fault(call, &said);
		return err_set(reterr, ERR_FAILED, "the server reports: %s", said.buf);
	}
	/* A connection that breaks after the last word takes nothing away. */
	if (read->code == OK)
		return OK;
	if (sent->code != OK)
		return err_set(reterr, sent->code, "%s", sent->message);
	return err_set(reterr, read->code, "%s", read->message);
}

static enum err_code exchange(struct call *call, const char *url, const char *const *headers,
	struct http_result *ret_result, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	struct reply_stream stream;
	reply_stream_init(&stream, e->provider, call->reply, e->key);
	const struct http_post post = {.url = url,
		.headers = headers,
		.body = call->body,
		.length = strlen(call->body),
		.timeout_s = e->timeout_s,
		.stall_s = stall_s,
		.cap_bytes = REPLY_CAP_BYTES,
		.stop_fd = e->stop_fd,
		.on_bytes = on_bytes,
		.context = &stream};
	struct err sent = ERR_INIT, read = ERR_INIT;
	(void)!http_send(&post, ret_result, &sent);
	(void)!reply_stream_end(&stream, &read);
	if (is_good(ret_result) || (!ret_result->status && ret_result->was_sent))
		count(call, &stream);
	enum err_code code = judge(call, ret_result, &sent, &read, reterr);
	reply_stream_release(&stream);
	secret_hide(call->reply->text.buf, call->reply->text.len, e->key, true);
	return code;
}

static enum err_code attempt(struct call *call, struct http_result *ret_result, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	const char *headers[MAX_HEADERS] = {"Content-Type: application/json", "Accept: text/event-stream"};
	size_t n = 2;
	size_t base_length = strlen(e->base_url);
	while (base_length && e->base_url[base_length - 1] == '/')
		base_length--;
	CLEANUP(free_ptr) char *url = xasprintf("%.*s%s", (int)base_length, e->base_url, e->provider->path);
	CLEANUP(free_ptr) char *key = e->key ? xasprintf("%s%s", e->provider->key_header, e->key) : NULL;
	for (size_t i = 0; e->provider->headers && e->provider->headers[i]; i++)
		headers[n++] = e->provider->headers[i];
	headers[n] = key;
	reply_clear(call->reply);
	enum err_code code = exchange(call, url, headers, ret_result, reterr);
	if (key)
		explicit_bzero(key, strlen(key));
	return code;
}

static void write_body(struct call *call)
{
	free(call->body);
	call->body = json_dump_take(call->endpoint->provider->request(&call->question));
}

/* before: what became of the attempt before; "" = this is the first. */
static enum err_code check_budget(
	const struct call *call, const struct chat_budget *budget, const char *before, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	const struct chat_cost *spent = call->cost;
	double in = tokens_of(strlen(call->body)), out = call->question.max_output_tokens;
	double usd = in * e->usd_per_token_in + out * e->usd_per_token_out;
	const char *separator = *before ? "; the last attempt: " : "";
	if (!(spent->tokens_in + spent->tokens_out + in + out <= budget->tokens))
		return err_set(reterr, ERR_LIMIT,
			"a question of up to %.0f tokens is beyond the %.0f that are left%s%s", in + out,
			fmax(budget->tokens - spent->tokens_in - spent->tokens_out, 0), separator, before);
	if (!(spent->usd + usd <= budget->usd))
		return err_set(reterr, ERR_LIMIT,
			"a question of up to %.4f USD is beyond the %.4f that are left%s%s", usd,
			fmax(budget->usd - spent->usd, 0), separator, before);
	return OK;
}

static double wait_before(const struct chat_endpoint *e, int tries, double retry_after_s)
{
	struct random random;
	random_init(&random, e->seed, "retry", (uint64_t)tries);
	double first_s = e->first_wait_s > 0 ? e->first_wait_s : default_first_wait_s;
	double wait_s = ldexp(first_s, tries - 1) * (1 + 0.25 * random_uniform(&random));
	return fmin(isnan(retry_after_s) ? wait_s : fmax(retry_after_s, wait_s), longest_wait_s);
}

/* Newer servers want the output's limit by another name, and say so. Not every server knows structured
 * output: the words of the question ask for it, too. Each is changed once. */
static bool change_question(struct call *call, enum err_code code, int status)
{
	struct chat_question *q = &call->question;
	if (code != ERR_INPUT || (status != 400 && status != 422))
		return false;
	if (!q->limits_completion && strstr(call->reply->fault, "max_completion_tokens")) {
		q->limits_completion = true;
		return true;
	}
	if (!q->schema)
		return false;
	q->schema = NULL;
	return true;
}

static enum err_code ask(struct call *call, const struct chat_budget *budget, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	int most = e->attempts > 0 ? e->attempts : DEFAULT_ATTEMPTS;
	struct err fault = ERR_INIT;
	double wait_s = 0;
	for (int tries = 0;;) {
		struct http_result result;
		write_body(call);
		TRY(check_budget(call, budget, fault.message, reterr));
		if (wait_s > 0)
			TRY(http_wait(wait_s, e->stop_fd, reterr));
		call->cost->attempts = ++tries;
		fault = (struct err)ERR_INIT;
		enum err_code code = attempt(call, &result, &fault);
		bool may_change = change_question(call, code, result.status);
		if (code == OK)
			return OK;
		if (!may_change && (tries >= most || code != ERR_FAILED))
			return tries == 1 ? err_set(reterr, code, "%s", fault.message)
					  : err_set(reterr, code, "%s (attempt %d)", fault.message, tries);
		wait_s = may_change ? 0 : wait_before(e, tries, result.retry_after_s);
	}
}

static enum err_code check_endpoint(const struct chat_endpoint *e, struct err *reterr)
{
	if (strncasecmp(e->base_url, "https://", 8) != 0 && strncasecmp(e->base_url, "http://", 7) != 0)
		return err_set(reterr, ERR_INPUT, "the address must begin with http:// or https://");
	if (!e->key)
		return OK;
	if (!*e->key)
		return err_set(reterr, ERR_INPUT, "the key is empty");
	for (const char *p = e->key; *p; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(reterr, ERR_INPUT,
				"the key holds a blank, a line's end or another character that no key has");
	if (!url_is_encrypted(e->base_url) && !url_is_local(e->base_url))
		return err_set(reterr, ERR_INPUT,
			"the key would cross the network unencrypted: use https, or a server without a key");
	return OK;
}

enum err_code chat_ask(const struct chat_endpoint *endpoint, const struct chat_question *question,
	const struct chat_budget *budget, struct chat_reply *ret_reply, struct chat_cost *ret_cost,
	struct err *reterr)
{
	double begun_s = clock_now_s();
	*ret_reply = (struct chat_reply){.text = STRBUF_INIT};
	*ret_cost = (struct chat_cost){0};
	struct call call = {
		.endpoint = endpoint, .question = *question, .reply = ret_reply, .cost = ret_cost};
	TRY(check_endpoint(endpoint, reterr));
	enum err_code code = ask(&call, budget, reterr);
	free(call.body);
	ret_cost->seconds = clock_now_s() - begun_s;
	return code;
}

void chat_reply_release(struct chat_reply *reply)
{
	strbuf_release(&reply->text);
}
