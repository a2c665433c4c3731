#include "base/base.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

void hex_encode(const void *bytes, size_t length, char *ret_hex)
{
	sodium_bin2hex(ret_hex, 2 * length + 1, bytes, length);
}

bool hex_decode(const char *hex, void *ret_bytes, size_t length)
{
	if (strlen(hex) != 2 * length || strspn(hex, "0123456789abcdef") != 2 * length)
		return false;
	return sodium_hex2bin(ret_bytes, length, hex, 2 * length, NULL, NULL, NULL) == 0;
}

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX_SIZE])
{
	unsigned char digest[SHA256_BYTES];
	crypto_hash_sha256(digest, bytes, length);
	hex_encode(digest, sizeof(digest), ret_hex);
}

uint64_t sha256_u64(const void *bytes, size_t length)
{
	unsigned char digest[SHA256_BYTES];
	uint64_t value = 0;
	crypto_hash_sha256(digest, bytes, length);
	for (int i = 0; i < 8; i++)
		value = value << 8 | digest[i];
	return value;
}

enum err_code sha256_file_hex(const char *path, char ret_hex[SHA256_HEX_SIZE], struct err *reterr)
{
	CLEANUP(close_fd) int fd = -1;
	TRY(file_open_read(path, &fd, reterr));
	crypto_hash_sha256_state state;
	crypto_hash_sha256_init(&state);
	unsigned char chunk[1 << 15];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "cannot read %s", path);
		if (n == 0)
			break;
		crypto_hash_sha256_update(&state, chunk, (unsigned long long)n);
	}
	unsigned char digest[SHA256_BYTES];
	crypto_hash_sha256_final(&state, digest);
	hex_encode(digest, sizeof(digest), ret_hex);
	return OK;
}

void random_bytes(void *ret_bytes, size_t length)
{
	/* Opens the source of entropy once; safe to repeat. Where it fails, randombytes_buf() aborts. */
	int ignored = sodium_init();
	(void)ignored;
	randombytes_buf(ret_bytes, length);
}
