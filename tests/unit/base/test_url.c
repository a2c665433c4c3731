/* Parts of an address are those of RFC 3986, section 3.2; what is of this machine is 127.0.0.0/8 (RFC 1122,
 * 3.2.1.3), ::1 (RFC 4291, 2.5.3) and localhost (RFC 6761, 6.3). */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/url.h"

static const struct {
	const char *url;
	bool local;
} bases[] = {
	{"https://api.example.org", false},
	{"https://api.example.org/v1/", false},
	{"HTTPS://API.example.org:8443/v1", false},
	{"http://gpu_box-3.lan:8000/v1", false},
	{"http://10.0.0.7:8000", false},
	{"https://[2001:db8::7]:8000/v1", false},
	{"https://example.org/a@b/c", false},
	{"http://localhost", true},
	{"http://LocalHost:11434/v1", true},
	{"http://127.0.0.1:8000/v1", true},
	{"https://127.255.3.4", true},
	{"http://[::1]:8080/v1", true},
	{"http://[0:0:0:0:0:0:0:1]", true},
	{"http://localhost.example.org", false},
	{"http://127.0.0.1.example.org", false},
	{"http://128.0.0.1", false},
	{"http://[::2]", false},
	{"http://0.0.0.0:8000", false},
	/* Shorter and other spellings of 127.0.0.1 that only some readers know. */
	{"http://127.1", false},
	{"http://0x7f.0.0.1", false},
	{"http://2130706433", false},
};

static void test_bases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
		const char *fault = url_base_fault(bases[i].url);
		if (fault)
			fail_msg("%s %s", bases[i].url, fault);
		if (url_is_local(bases[i].url) != bases[i].local)
			fail_msg("%s is taken for %s", bases[i].url,
				bases[i].local ? "another machine" : "this one");
	}
}

static const struct {
	const char *url, *fault;
} faulty[] = {
	{"", "must begin with http:// or https://"},
	{"example.org/v1", "must begin with http:// or https://"},
	{"localhost:8000", "must begin with http:// or https://"},
	{"ftp://127.0.0.1/", "must begin with http:// or https://"},
	{"file:///etc/passwd", "must begin with http:// or https://"},
	{"http:/127.0.0.1", "must begin with http:// or https://"},
	{" http://127.0.0.1", "must begin with http:// or https://"},
	{"https://", "must name a host"},
	{"https:///v1", "must name a host"},
	{"https://:8000/v1", "must name a host"},
	{"https://example.org:", "must name a host"},
	{"https://example.org:0/", "must name a host"},
	{"https://example.org:65536/", "must name a host"},
	{"https://example.org:80a/", "must name a host"},
	{"https://exa%6dple.org/", "must name a host"},
	{"https://[::1/", "must name a host"},
	{"https://[1:2]/", "must name a host"},
	{"https://[::1]8/", "must name a host"},
	{"https://me:word@example.org/", "must not hold a name or password"},
	{"http://me@localhost/", "must not hold a name or password"},
	{"https://@example.org/", "must not hold a name or password"},
	{"https://example.org/v1?key=abc", "must not go on with ? or #"},
	{"https://example.org?key=a@b", "must not go on with ? or #"},
	{"https://example.org/#x", "must not go on with ? or #"},
	{"http://evil.example\\@127.0.0.1/", "must not hold blanks or other characters"},
	{"http://127.0.0.1 /", "must not hold blanks or other characters"},
	{"https://ex\xc3\xa4mple.org", "must not hold blanks or other characters"},
	{"https://example.org/\x01", "must not hold blanks or other characters"},
};

static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faulty); i++) {
		const char *fault = url_base_fault(faulty[i].url);
		if (!fault || strncmp(fault, faulty[i].fault, strlen(faulty[i].fault)) != 0)
			fail_msg("%s: '%s' instead of '%s'", faulty[i].url, fault ? fault : "no fault",
				faulty[i].fault);
	}
}

/* What several readers take for several machines is not taken for this one. */
static void test_doubtful_is_not_local(void **state)
{
	(void)state;
	static const char *const doubtful[] = {"", "localhost", "http:localhost",
		"http://evil.example\\@localhost", "http://evil.example/@localhost",
		"http://evil.example?@localhost", "http://evil.example#@localhost",
		"http://localhost@evil.example/", "http://a@localhost@evil.example/", "http://local%68ost/",
		"http://localhost\\.evil.example/", "http://127.0.0.1:x/", "http://[::1].evil.example/",
		"ftp://localhost/"};
	for (size_t i = 0; i < ARRAY_LEN(doubtful); i++)
		if (url_is_local(doubtful[i]))
			fail_msg("%s is taken for this machine", doubtful[i]);
	assert_true(url_is_local("http://me:word@localhost:8000/v1?x"));
}

static void test_a_long_host_is_cut_nowhere(void **state)
{
	(void)state;
	char url[600] = "http://";
	memset(url + strlen(url), 'a', 400);
	assert_non_null(url_base_fault(url));
	assert_false(url_is_local(url));
}

static void test_encrypted(void **state)
{
	(void)state;
	assert_true(url_is_encrypted("https://x") && url_is_encrypted("HttpS://x"));
	assert_false(url_is_encrypted("http://x") || url_is_encrypted("https:") || url_is_encrypted(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bases),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_doubtful_is_not_local),
		cmocka_unit_test(test_a_long_host_is_cut_nowhere),
		cmocka_unit_test(test_encrypted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
