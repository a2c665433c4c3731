#include "base/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum { HOST_SIZE = 256, HIGHEST_PORT = 65535 };

struct parts {
	char host[HOST_SIZE]; /* without the brackets of an address of version 6; "" = none that can be meant
			       */
	bool is_v6;
	bool has_user;
	const char *rest; /* behind the host and its port */
};

/* Behind the scheme; NULL where it is another one. */
static const char *after_scheme(const char *url)
{
	static const char *const schemes[] = {"https://", "http://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			return url + strlen(schemes[i]);
	return NULL;
}

static bool is_port(const char *text, const char *end)
{
	size_t length = (size_t)(end - text);
	if (length == 0)
		return true;
	return *text == ':' && length > 1 && length <= 6 && strspn(text + 1, DIGITS) == length - 1 &&
	       atol(text + 1) >= 1 && atol(text + 1) <= HIGHEST_PORT;
}

static void parse(const char *authority, struct parts *ret)
{
	const char *end = authority + strcspn(authority, "/?#");
	const char *at = memchr(authority, '@', (size_t)(end - authority));
	const char *host = at ? at + 1 : authority;
	*ret = (struct parts){.has_user = at != NULL, .rest = end};
	/* Some take \ for /: then the host ends there. */
	if (memchr(authority, '\\', (size_t)(end - authority)))
		return;
	ret->is_v6 = *host == '[';
	host += ret->is_v6;
	size_t length = strspn(host, ret->is_v6 ? DIGITS "abcdefABCDEF:." : LETTERS DIGITS "-._");
	const char *behind = host + length;
	if (ret->is_v6 && *behind++ != ']')
		return;
	if (length && length < HOST_SIZE && is_port(behind, end))
		memcpy(ret->host, host, length);
}

const char *url_base_fault(const char *url)
{
	struct parts parts;
	struct in6_addr address;
	const char *authority = after_scheme(url);
	if (!authority)
		return "must begin with http:// or https://";
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '\\')
			return "must not hold blanks or other characters that no address has";
	parse(authority, &parts);
	if (parts.has_user)
		return "must not hold a name or password";
	if (!*parts.host || (parts.is_v6 && inet_pton(AF_INET6, parts.host, &address) != 1))
		return "must name a host behind //, and perhaps a port (http://127.0.0.1:8000/v1)";
	if (strpbrk(parts.rest, "?#"))
		return "must not go on with ? or #: the path of the question is put behind it";
	return NULL;
}

bool url_is_encrypted(const char *url)
{
	return strncasecmp(url, "https://", strlen("https://")) == 0;
}

bool url_is_local(const char *url)
{
	struct parts parts;
	struct in_addr v4;
	struct in6_addr v6;
	const char *authority = after_scheme(url);
	if (!authority)
		return false;
	parse(authority, &parts);
	if (parts.is_v6)
		return inet_pton(AF_INET6, parts.host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
	if (inet_pton(AF_INET, parts.host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return strcasecmp(parts.host, "localhost") == 0;
}
