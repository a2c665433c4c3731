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
#include "propose/chat.h"
#include "propose/http.h"
#include "propose/reply_stream.h"

enum { DEFAULT_ATTEMPTS = 4, REPLY_CAP_BYTES = 8 << 20, BYTES_PER_TOKEN = 4, MAX_HEADERS = 8 };
static const double stall_s = 120, longest_wait_s = 60, default_first_wait_s = 1;

struct call {
	const struct chat_endpoint *endpoint;
	struct chat_question question; /* its schema is given up where the server does not know it */
	char *body;
	struct chat_reply *reply;
	struct chat_cost *cost;
	double retry_after_s;
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
	reply->cut = false;
	reply->fault[0] = '\0';
}

/* A server may put the key it was sent into its error message. */
static void hide_key(char *text, const char *key)
{
	size_t n = key ? strlen(key) : 0;
	for (char *p = text; n && (p = strstr(p, key)); p += n)
		memset(p, '*', n);
}

static enum err_code status_error(
	const struct call *call, const struct http_result *result, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	char fault[sizeof(call->reply->fault)];
	memcpy(fault, call->reply->fault, sizeof(fault));
	hide_key(fault, call->endpoint->key);
	strbuf_add_escaped(&said, fault, strlen(fault));
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

static void count(struct call *call, bool answered)
{
	const struct chat_endpoint *e = call->endpoint;
	struct chat_reply *reply = call->reply;
	double in = reply->tokens_in, out = reply->tokens_out;
	if (!answered)
		return;
	if (isnan(in) || isnan(out) || in < 0 || out < 0) {
		in = (double)strlen(call->body) / BYTES_PER_TOKEN;
		out = (double)reply->text.len / BYTES_PER_TOKEN;
		call->cost->estimated = true;
	}
	call->cost->tokens_in += in;
	call->cost->tokens_out += out;
	call->cost->usd += in * e->usd_per_token_in + out * e->usd_per_token_out;
}

static enum err_code exchange(struct call *call, const char *url, const char *const *headers,
	struct http_result *ret_result, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	struct reply_stream stream = {
		.provider = e->provider, .reply = call->reply, .line = STRBUF_INIT, .whole = STRBUF_INIT};
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
	enum err_code code = http_send(&post, ret_result, reterr);
	if (code == OK) {
		bool good = ret_result->status >= 200 && ret_result->status < 300;
		code = reply_stream_end(&stream, good ? reterr : NULL);
		count(call, good);
		if (!good)
			code = status_error(call, ret_result, reterr);
		else if (code == OK && *call->reply->fault)
			code = err_set(reterr, ERR_FAILED, "the server reports: %s", call->reply->fault);
	} else {
		count(call, stream.events > 0);
	}
	reply_stream_release(&stream);
	return code;
}

static enum err_code attempt(struct call *call, struct http_result *ret_result, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	const char *headers[MAX_HEADERS] = {"Content-Type: application/json", "Accept: text/event-stream"};
	size_t n = 2;
	CLEANUP(free_ptr) char *url = xasprintf("%s%s", e->base_url, e->provider->path);
	CLEANUP(free_ptr) char *key = e->key ? xasprintf("%s%s", e->provider->key_header, e->key) : NULL;
	for (size_t i = 0; e->provider->headers && e->provider->headers[i]; i++)
		headers[n++] = e->provider->headers[i];
	headers[n] = key;
	reply_clear(call->reply);
	free(call->body);
	call->body = json_dump_take(e->provider->request(&call->question));
	enum err_code code = exchange(call, url, headers, ret_result, reterr);
	if (key)
		explicit_bzero(key, strlen(key));
	return code;
}

static enum err_code check_budget(
	const struct call *call, const struct chat_budget *budget, struct err *reterr)
{
	const struct chat_question *q = &call->question;
	double in = (double)strlen(q->system), out = q->max_output_tokens;
	for (size_t i = 0; i < q->n_messages; i++)
		in += (double)strlen(q->messages[i].text);
	in /= BYTES_PER_TOKEN;
	double usd = in * call->endpoint->usd_per_token_in + out * call->endpoint->usd_per_token_out;
	const struct chat_cost *spent = call->cost;
	if (spent->tokens_in + spent->tokens_out + in + out > budget->tokens)
		return err_set(reterr, ERR_LIMIT,
			"a question of up to %.0f tokens is beyond the %.0f that are left", in + out,
			fmax(budget->tokens - spent->tokens_in - spent->tokens_out, 0));
	if (spent->usd + usd > budget->usd)
		return err_set(reterr, ERR_LIMIT,
			"a question of up to %.4f USD is beyond the %.4f that are left", usd,
			fmax(budget->usd - spent->usd, 0));
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

static enum err_code ask(struct call *call, const struct chat_budget *budget, struct err *reterr)
{
	const struct chat_endpoint *e = call->endpoint;
	int most = e->attempts > 0 ? e->attempts : DEFAULT_ATTEMPTS;
	struct err fault = ERR_INIT;
	for (int tries = 0; tries < most;) {
		struct http_result result = {.retry_after_s = NAN};
		TRY(check_budget(call, budget, reterr));
		if (tries > 0)
			TRY(http_wait(wait_before(e, tries, call->retry_after_s), e->stop_fd, reterr));
		call->cost->attempts = ++tries;
		fault = (struct err)ERR_INIT;
		enum err_code code = attempt(call, &result, &fault);
		call->retry_after_s = result.retry_after_s;
		if (code == OK)
			return OK;
		/* Not every server knows structured output: the words of the question ask for it too. */
		bool may_drop_schema = code == ERR_INPUT && call->question.schema &&
				       (result.status == 400 || result.status == 422);
		if (may_drop_schema) {
			call->question.schema = NULL;
			call->retry_after_s = 0;
		} else if (code != ERR_FAILED) {
			return err_set(reterr, code, "%s", fault.message);
		}
	}
	return err_set(reterr, ERR_FAILED, "%s (tried %d times)", fault.message, call->cost->attempts);
}

static enum err_code check_endpoint(const struct chat_endpoint *e, struct err *reterr)
{
	if (e->key && strncasecmp(e->base_url, "https://", 8) != 0 && !http_url_is_local(e->base_url))
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
	struct call call = {.endpoint = endpoint,
		.question = *question,
		.reply = ret_reply,
		.cost = ret_cost,
		.retry_after_s = NAN};
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
