#include "base/base.h"

#include <curl/curl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/url.h"
#include "propose/http.h"

static const double connect_timeout_s = 20, longest_wait_s = 600;

struct exchange {
	const struct http_post *post;
	size_t received;
	double last_byte_s;
	bool too_large, stopped, stalled, enough;
};

static bool stop_is_wanted(int stop_fd)
{
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};
	return stop_fd >= 0 && poll(&p, 1, 0) > 0;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *e = context;
	size_t n = size * count;
	e->last_byte_s = clock_now_s();
	e->received += n;
	if (e->received > e->post->cap_bytes) {
		e->too_large = true;
		return CURL_WRITEFUNC_ERROR;
	}
	if (!e->post->on_bytes(e->post->context, bytes, n)) {
		e->enough = true;
		return CURL_WRITEFUNC_ERROR;
	}
	return n;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct exchange *e = context;
	(void)a, (void)b, (void)c, (void)d;
	e->stopped = stop_is_wanted(e->post->stop_fd);
	e->stalled = clock_now_s() - e->last_byte_s > e->post->stall_s;
	return e->stopped || e->stalled;
}

static void read_result(CURL *curl, size_t question_length, struct http_result *result)
{
	long status = 0;
	curl_off_t wait_s = 0, sent = 0;
	*result = (struct http_result){.retry_after_s = NAN};
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait_s);
	curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	result->status = status >= 200 ? (int)status : 0; /* 1xx: the reply has not begun */
	result->was_sent = (size_t)sent >= question_length;
	if (wait_s > 0)
		result->retry_after_s = (double)wait_s;
}

/* libcurl quotes addresses, also a proxy's, with the name and password in them. */
static void add_without_password(struct strbuf *shown, const char *text)
{
	for (const char *begin; (begin = strstr(text, "://"));) {
		begin += strlen("://");
		size_t host = strcspn(begin, "/ '\"");
		const char *at = memrchr(begin, '@', host);
		strbuf_add_escaped(shown, text, (size_t)(begin - text));
		if (at)
			strbuf_addstr(shown, "***");
		text = at ? at : begin;
	}
	strbuf_add_escaped(shown, text, strlen(text));
}

/* Which of the ways to end it was. */
static enum err_code judge(
	const struct exchange *e, CURLcode code, bool was_sent, const char *detail, struct err *reterr)
{
	if (e->stopped)
		return err_set(reterr, ERR_INTERRUPTED, "stopped");
	if (e->too_large)
		return err_set(reterr, ERR_LIMIT, "the reply is larger than %zu bytes", e->post->cap_bytes);
	if (e->stalled)
		return err_set(reterr, ERR_FAILED, "the server sent nothing for %.0f s", e->post->stall_s);
	if (code == CURLE_OK || e->enough)
		return OK;
	/* An unsupported protocol may also be what the server speaks. */
	if ((code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) && !was_sent)
		return err_set(reterr, ERR_INPUT, "not an http or https address");
	/* It may quote the server. */
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	add_without_password(&shown, *detail ? detail : curl_easy_strerror(code));
	return err_set(reterr, ERR_FAILED, "%s", shown.buf);
}

/* 0 would be no limit. */
static long milliseconds(double seconds)
{
	return (long)fmax(1, 1000 * seconds);
}

static enum err_code perform(CURL *curl, const struct http_post *post, struct curl_slist *headers,
	struct http_result *ret_result, struct err *reterr)
{
	char detail[CURL_ERROR_SIZE] = "";
	struct exchange exchange = {.post = post, .last_byte_s = clock_now_s()};
	curl_easy_setopt(curl, CURLOPT_URL, post->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->length);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
	curl_easy_setopt(
		curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(fmin(connect_timeout_s, post->timeout_s)));
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(post->timeout_s));
	/* A name server that does not answer is not waited for at the end. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "infrarsi/" INFRARSI_VERSION);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	if (url_is_local(post->url))
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
	CURLcode code = curl_easy_perform(curl);
	read_result(curl, post->length, ret_result);
	return judge(&exchange, code, ret_result->was_sent, detail, reterr);
}

/* A server that hangs up under TLS raises SIGPIPE here, which would end the program. */
static bool hold_pipe_signal(sigset_t *ret_before)
{
	sigset_t pipe_signal;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, ret_before);
	return sigismember(ret_before, SIGPIPE) == 1;
}

static void let_pipe_signal(const sigset_t *before)
{
	static const struct timespec at_once = {0, 0};
	sigset_t pipe_signal;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	while (sigtimedwait(&pipe_signal, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

enum err_code http_send(const struct http_post *post, struct http_result *ret_result, struct err *reterr)
{
	struct curl_slist *headers = NULL;
	CURL *curl = curl_easy_init();
	*ret_result = (struct http_result){.retry_after_s = NAN};
	if (!curl)
		return err_set(reterr, ERR_FAILED, "libcurl cannot be used");
	for (size_t i = 0; post->headers && post->headers[i]; i++)
		headers = curl_slist_append(headers, post->headers[i]);
	/* Without this libcurl asks first and waits a second where the server does not know the question. */
	headers = curl_slist_append(headers, "Expect:");
	sigset_t before;
	bool was_blocked = hold_pipe_signal(&before);
	enum err_code code = perform(curl, post, headers, ret_result, reterr);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	if (!was_blocked)
		let_pipe_signal(&before);
	return code;
}

enum err_code http_wait(double seconds, int stop_fd, struct err *reterr)
{
	double until_s = clock_now_s() + fmin(seconds, longest_wait_s);
	for (double left_s; (left_s = until_s - clock_now_s()) > 0;) {
		struct pollfd p = {.fd = stop_fd, .events = POLLIN};
		if (poll(&p, 1, (int)ceil(1000 * left_s)) > 0)
			return err_set(reterr, ERR_INTERRUPTED, "stopped");
	}
	return OK;
}
