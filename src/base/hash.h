/* SHA-256, HMAC-SHA256 and hex, over libsodium. Digests travel as lower-case hex. */
#ifndef INFRARSI_BASE_HASH_H
#define INFRARSI_BASE_HASH_H

#include "base/base.h"

enum { SHA256_BYTES = 32, SHA256_HEX_SIZE = 65 };

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX_SIZE]);
/* The first 8 bytes of SHA-256, big-endian: a seed for a generator. */
uint64_t sha256_u64(const void *bytes, size_t length);
/* Fails as file_open_read(). */
enum err_code sha256_file_hex(const char *path, char ret_hex[SHA256_HEX_SIZE], struct err *reterr) MUST_CHECK;
void hex_encode(const void *bytes, size_t length, char *ret_hex); /* 2*length + 1 characters */
/* Exactly `length` bytes from exactly 2*length lower-case hex digits. */
bool hex_decode(const char *hex, void *ret_bytes, size_t length);
void random_bytes(void *ret_bytes, size_t length);

#endif
