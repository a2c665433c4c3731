/* SHA-256 against FIPS 180-4 examples (NIST, "Example Computations for SHA-256") and RFC 6234. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

static const struct {
	const char *text, *digest;
} vectors[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};
static const char million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void sha256_vectors(void **state)
{
	(void)state;
	char hex[SHA256_HEX_SIZE];
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
		assert_string_equal(hex, vectors[i].digest);
	}
	assert_true(sha256_u64("abc", 3) == 0xba7816bf8f01cfeaU);
}

static void sha256_of_files(void **state)
{
	(void)state;
	char dir[] = "/tmp/infrarsi-hash-XXXXXX", hex[SHA256_HEX_SIZE] = "kept";
	assert_non_null(mkdtemp(dir));
	CLEANUP(free_ptr) char *path = xasprintf("%s/file", dir);
	CLEANUP(free_ptr) char *fifo = xasprintf("%s/fifo", dir);
	CLEANUP(free_ptr) char *text = xmalloc(1000000);
	memset(text, 'a', 1000000);
	assert_int_equal(file_write_atomic(path, text, 1000000, 0600, NULL), OK);
	assert_int_equal(sha256_file_hex(path, hex, NULL), OK);
	assert_string_equal(hex, million_a);
	/* a FIFO in a file's place must not hang the harness */
	assert_int_equal(mkfifo(fifo, 0600), 0);
	struct err e = ERR_INIT;
	assert_int_equal(sha256_file_hex(fifo, hex, &e), ERR_INPUT);
	assert_int_equal(sha256_file_hex(dir, hex, &e), ERR_INPUT);
	assert_int_equal(remove_tree(dir, NULL), OK);
	assert_int_equal(sha256_file_hex(path, hex, &e), ERR_NOT_FOUND);
	assert_string_equal(hex, million_a);
}

static void hex_there_and_back(void **state)
{
	(void)state;
	const unsigned char bytes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
	unsigned char back[5] = {0};
	char hex[11];
	hex_encode(bytes, 5, hex);
	assert_string_equal(hex, "00017f80ff");
	assert_true(hex_decode(hex, back, 5));
	assert_memory_equal(bytes, back, 5);
	static const char *const bad[] = {
		"", "00017f80f", "00017f80ff0", "00017F80FF", "0001 f80ff", "00017f80fg", "0x017f80ff"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(hex_decode(bad[i], back, 5));
	assert_true(hex_decode("", back, 0));
}

static void random_bytes_differ(void **state)
{
	(void)state;
	unsigned char a[32], b[32];
	random_bytes(a, sizeof(a));
	random_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_vectors),
		cmocka_unit_test(sha256_of_files),
		cmocka_unit_test(hex_there_and_back),
		cmocka_unit_test(random_bytes_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
