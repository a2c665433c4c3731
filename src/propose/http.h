/*
 * One HTTP POST (libcurl), the reply's bytes handed on as they come. Redirects are never followed: a key
 * that was meant for one server goes to no other. Nor does a question to this machine go to a proxy.
 */
#ifndef INFRARSI_PROPOSE_HTTP_H
#define INFRARSI_PROPOSE_HTTP_H

#include "base/base.h"

struct http_post {
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *body;
	size_t length;
	double timeout_s, stall_s; /* whole exchange; without a byte; above 0 */
	size_t cap_bytes;          /* of the reply */
	int stop_fd;               /* readable = stop; -1 = none */
	/* false = enough was read. */
	bool (*on_bytes)(void *context, const char *bytes, size_t length);
	void *context;
};

struct http_result {
	int status;           /* HTTP; any; 0 = none came */
	bool was_sent;        /* the whole question went out */
	double retry_after_s; /* as the server asks; NAN = it does not */
};

/*
 * OK for any HTTP status; *ret_result is filled in any case, as far as it is known. ERR_FAILED: no reply, or
 * one that broke off; ERR_LIMIT: larger than cap_bytes; ERR_INTERRUPTED: stop_fd; ERR_INPUT: not an http or
 * https address. Messages never hold headers.
 */
enum err_code http_send(
	const struct http_post *post, struct http_result *ret_result, struct err *reterr) MUST_CHECK;

/* Waits; ERR_INTERRUPTED when stop_fd becomes readable. */
enum err_code http_wait(double seconds, int stop_fd, struct err *reterr) MUST_CHECK;

#endif
