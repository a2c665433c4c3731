#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "event/receipt.h"

enum { MAX_KEY_BYTES = 64, HEX_LINE_SIZE = 2 * MAX_KEY_BYTES + 2 };

static enum err_code key_folder(char **ret_folder, struct err *reterr)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	/* The XDG specification: a relative path is to be ignored. */
	if (state && *state == '/')
		*ret_folder = xasprintf("%s/infrarsi/keys", state);
	else if (home && *home == '/')
		*ret_folder = xasprintf("%s/.local/state/infrarsi/keys", home);
	else
		return err_set(reterr, ERR_INPUT,
			"no folder for keys: set XDG_STATE_HOME or HOME to an absolute path");
	return OK;
}

static bool is_file_name(const char *campaign)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(campaign);
	return length > 0 && length <= 64 && *campaign != '.' && strspn(campaign, allowed) == length;
}

/* A folder that others can write lets them put their own key in place of the user's. */
static enum err_code check_folder(const char *folder, struct err *reterr)
{
	struct stat st;
	if (stat(folder, &st) != 0)
		return err_errno(reterr, "cannot read %s", folder);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(reterr, ERR_CONTRACT,
			"%s: expected a folder of yours that nobody else can write; next: chmod 700 %s",
			folder, folder);
	return OK;
}

static enum err_code check_key_file(int fd, const char *path, struct err *reterr)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return err_errno(reterr, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return err_set(reterr, ERR_CONTRACT, "%s: expected a regular file of yours", path);
	if (st.st_mode & 077)
		return err_set(reterr, ERR_CONTRACT,
			"%s: others can read this key (mode %03o); signatures made with it prove nothing. "
			"Next: chmod 600 %s where nobody else has read it, else remove it",
			path, (unsigned)(st.st_mode & 0777), path);
	return OK;
}

/* The hex line of a key, or *ret_found false where the file is absent. */
static enum err_code key_read(
	const char *path, unsigned char *ret_key, size_t length, bool *ret_found, struct err *reterr)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		*ret_found = false;
		return OK;
	}
	if (fd < 0)
		return err_errno(reterr, "cannot read %s", path);
	TRY(check_key_file(fd, path, reterr));
	char line[HEX_LINE_SIZE + 1];
	ssize_t n = read(fd, line, sizeof(line) - 1);
	if (n < 0)
		return err_errno(reterr, "cannot read %s", path);
	while (n > 0 && line[n - 1] == '\n')
		n--;
	line[n] = '\0';
	bool right = hex_decode(line, ret_key, length);
	sodium_memzero(line, sizeof(line));
	if (!right)
		return err_set(
			reterr, ERR_CONTRACT, "%s: expected a key of %zu hex digits", path, 2 * length);
	*ret_found = true;
	return OK;
}

/* Writes aside and links into place: link(2) fails where the name exists, so the first of two processes wins,
 * and no reader ever sees half a key. EEXIST is success: the caller reads what is there. */
static enum err_code key_create(const char *path, const unsigned char *key, size_t length, struct err *reterr)
{
	unsigned char salt[8];
	char suffix[2 * sizeof(salt) + 1], line[HEX_LINE_SIZE + 1];
	random_bytes(salt, sizeof(salt));
	hex_encode(salt, sizeof(salt), suffix);
	CLEANUP(free_ptr) char *temporary = xasprintf("%s.new.%s", path, suffix);
	CLEANUP(close_fd)
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(reterr, "cannot write %s", temporary);
	hex_encode(key, length, line);
	line[2 * length] = '\n';
	enum err_code code = write_all(fd, line, 2 * length + 1, reterr);
	sodium_memzero(line, sizeof(line));
	if (code == OK && fsync(fd) != 0)
		code = err_errno(reterr, "cannot sync %s", temporary);
	if (code == OK && link(temporary, path) != 0 && errno != EEXIST)
		code = err_errno(reterr, "cannot create %s", path);
	(void)unlink(temporary);
	return code;
}

static enum err_code key_load(const char *path, bool create, void (*generate)(unsigned char *key),
	unsigned char *ret_key, size_t length, bool *ret_found, struct err *reterr)
{
	TRY(key_read(path, ret_key, length, ret_found, reterr));
	if (*ret_found || !create)
		return OK;
	unsigned char fresh[MAX_KEY_BYTES];
	generate(fresh);
	enum err_code code = key_create(path, fresh, length, reterr);
	sodium_memzero(fresh, sizeof(fresh));
	TRY(code);
	TRY(key_read(path, ret_key, length, ret_found, reterr));
	if (!*ret_found)
		return err_set(reterr, ERR_STATE, "%s was removed while it was being created", path);
	return OK;
}

static void generate_hmac(unsigned char *key)
{
	randombytes_buf(key, 32);
}

static void generate_ed25519(unsigned char *key)
{
	unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
	crypto_sign_keypair(public_key, key);
}

static enum err_code load_both(
	const char *folder, const char *campaign, bool create, struct receipt_keys *keys, struct err *reterr)
{
	CLEANUP(free_ptr) char *hmac_path = xasprintf("%s/%s.hmac", folder, campaign);
	CLEANUP(free_ptr) char *ed25519_path = xasprintf("%s/ed25519.key", folder);
	TRY(key_load(
		hmac_path, create, generate_hmac, keys->hmac, sizeof(keys->hmac), &keys->has_hmac, reterr));
	TRY(key_load(ed25519_path, create, generate_ed25519, keys->ed25519_secret,
		sizeof(keys->ed25519_secret), &keys->has_ed25519, reterr));
	if (keys->has_ed25519) {
		/* The public half is derived anew: a file whose halves do not belong together would sign
		 * what nobody can verify. */
		unsigned char derived[64];
		crypto_sign_seed_keypair(keys->ed25519_public, derived, keys->ed25519_secret);
		bool same = sodium_memcmp(derived, keys->ed25519_secret, sizeof(derived)) == 0;
		sodium_memzero(derived, sizeof(derived));
		if (!same)
			return err_set(reterr, ERR_CONTRACT,
				"%s: expected an Ed25519 key, seed and public key", ed25519_path);
	}
	snprintf(keys->campaign, sizeof(keys->campaign), "%s", campaign);
	return OK;
}

enum err_code receipt_keys_load(
	const char *campaign, bool create, struct receipt_keys *ret_keys, struct err *reterr)
{
	if (!is_file_name(campaign))
		return err_set(
			reterr, ERR_INPUT, "campaign id: expected 1 to 64 letters, digits, '.', '_' or '-'");
	if (sodium_init() < 0)
		return err_set(reterr, ERR_FAILED, "libsodium cannot be initialised");
	CLEANUP(free_ptr) char *folder = NULL;
	TRY(key_folder(&folder, reterr));
	if (create)
		TRY(make_dirs(folder, 0700, reterr));
	struct receipt_keys keys = {.has_hmac = false};
	enum err_code code = OK;
	if (path_exists(folder)) {
		code = check_folder(folder, reterr);
		if (code == OK)
			code = load_both(folder, campaign, create, &keys, reterr);
	}
	if (code == OK)
		*ret_keys = keys;
	receipt_keys_wipe(&keys);
	return code;
}

void receipt_keys_wipe(struct receipt_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}
