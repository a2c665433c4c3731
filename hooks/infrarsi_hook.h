/*
 * infrarsi_hook.h - tell InfraRSI what a training job is doing.  One header, C99 (C++ accepts it too), libc only.
 *
 * The harness names a FIFO in INFRARSI_EVENT_PATH; the job writes one JSON line per event to it.  Without that
 * variable every call is a cheap no-op that returns 0, so an instrumented job still runs by hand.  The path
 * "stdout" sends the lines to standard output behind "@infrarsi " instead, which is how they cross hosts.
 *
 *	struct infrarsi hook;
 *	infrarsi_open(&hook);
 *	for (each trainable parameter)
 *		infrarsi_param(&hook, name, shape, dims, "fp32");
 *	infrarsi_start(&hook, &(struct infrarsi_start_info){.stack = "native", .layers = 12, .d_attn = 768,
 *		.seq_len = 1024, .global_batch = 32, .storage = "fp32", .compute = "fp32"});
 *	for (each update) {
 *		for (each row)
 *			infrarsi_row(&hook, ids, ids_count);
 *		... forward, backward, optimizer step ...
 *		infrarsi_update(&hook, &(struct infrarsi_update_info){.loss = loss, .grad_norm = norm, .lr = lr,
 *			.opt_step = step, .tokens = tokens, .step_s = seconds, .mem = peak_bytes});
 *	}
 *	infrarsi_end(&hook);
 *
 * Lifecycle: infrarsi_open() first, infrarsi_end() (or infrarsi_release(), which says nothing) last; a released hook
 * may be opened again.  One thread at a time may use a hook.
 *
 * Ownership: nothing is kept of what is passed in; strings are copied or written before the call returns.
 *
 * Failure: 0 is success, -1 an event that was not sent, with the reason in errno.  EMSGSIZE: the line would exceed
 * 4096 bytes, so it was refused rather than cut.  EPIPE: nobody reads any more; the hook has closed itself, and later
 * calls are no-ops.  No failure stops the job: it may ignore every return value.  SIGPIPE is held back for the
 * duration of a write only; the job's own handling of it is untouched.
 *
 * Strings must be UTF-8.  With -std=c99, include this header before any system header: it asks for POSIX.1-2008.
 */
#ifndef INFRARSI_HOOK_H
#define INFRARSI_HOOK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INFRARSI_SCHEMA 1
#define INFRARSI_LINE_MAX 4096 /* bytes with the newline: PIPE_BUF, so one write(2) never interleaves with another */

/* Everything below up to the functions is read-only for the job, except the two _info structs that it fills. */

struct infrarsi {
	int fd;              /* -1: switched off */
	int to_stdout;       /* fd is standard output, lines carry a prefix */
	int profiling;       /* the harness asked for phase events */
	int rank;
	long long updates;   /* sent so far */
	long long rows;      /* hashed since the last update */
	unsigned char data[16]; /* sum of the rows' hashes modulo 2^128, big-endian */
	char **param_lines;  /* "name shape dtype\n", until start */
	size_t param_count;
	uint64_t param_elements;
};

struct infrarsi_start_info {
	int rank, world;          /* world 0 means 1 */
	const char *stack;        /* NULL means "native" */
	uint64_t params;          /* 0: the sum over infrarsi_param() */
	uint64_t active_params;   /* that take part in one token; 0: same as params */
	uint64_t layers, d_attn, seq_len, global_batch;
	const char *storage, *compute;   /* "fp32", "bf16", ...; NULL leaves them out */
	const char *const *versions;     /* "name", "value", ..., NULL; the compiler is added by itself */
};

struct infrarsi_update_info {
	double loss, grad_norm, lr;   /* loss over the whole global batch; norm before clipping */
	uint64_t opt_step;            /* optimizer steps applied so far */
	uint64_t tokens;              /* in this update, on this rank */
	double step_s;                /* CLOCK_MONOTONIC seconds since the previous update; 0: unknown (the first) */
	uint64_t mem;                 /* peak device bytes so far; 0: unknown */
};

struct infrarsi_phase_info {
	double forward, backward, optimizer, data, collective; /* seconds in this update, over all micro-batches */
};

/* ---- SHA-256 (FIPS 180-4); also usable on its own ---- */

struct infrarsi_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64];
};

static inline uint32_t infrarsi_rotate(uint32_t x, int bits)
{
	return x >> bits | x << (32 - bits);
}

static inline void infrarsi_sha256_block(uint32_t state[8], const unsigned char block[64])
{
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
		0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
		0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
		0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
		0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
		0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
	uint32_t w[64], s[8];
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (infrarsi_rotate(a, 7) ^ infrarsi_rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (infrarsi_rotate(b, 17) ^ infrarsi_rotate(b, 19) ^ b >> 10);
	}
	memcpy(s, state, sizeof(s));
	for (i = 0; i < 64; i++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (infrarsi_rotate(e, 6) ^ infrarsi_rotate(e, 11) ^ infrarsi_rotate(e, 25)) +
			      ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
		uint32_t t2 = (infrarsi_rotate(a, 2) ^ infrarsi_rotate(a, 13) ^ infrarsi_rotate(a, 22)) +
			      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		state[i] += s[i];
}

static inline void infrarsi_sha256_init(struct infrarsi_sha256 *sha)
{
	static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(sha->state, initial, sizeof(initial));
	sha->bytes = 0;
}

static inline void infrarsi_sha256_add(struct infrarsi_sha256 *sha, const void *bytes, size_t count)
{
	const unsigned char *from = (const unsigned char *)bytes;

	while (count > 0) {
		size_t used = (size_t)(sha->bytes % 64);
		size_t take = count < 64 - used ? count : 64 - used;

		memcpy(sha->block + used, from, take);
		sha->bytes += take;
		from += take;
		count -= take;
		if (used + take == 64)
			infrarsi_sha256_block(sha->state, sha->block);
	}
}

static inline void infrarsi_sha256_final(struct infrarsi_sha256 *sha, unsigned char digest[32])
{
	static const unsigned char padding[64] = {0x80};
	uint64_t bits = sha->bytes * 8;
	unsigned char length[8];
	int i;

	for (i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	infrarsi_sha256_add(sha, padding, (size_t)(1 + (119 - sha->bytes % 64) % 64));
	infrarsi_sha256_add(sha, length, sizeof(length));
	for (i = 0; i < 32; i++)
		digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

static inline void infrarsi_hex(const unsigned char *bytes, size_t count, char *ret_text)
{
	size_t i;

	for (i = 0; i < count; i++) {
		ret_text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		ret_text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	ret_text[2 * count] = '\0';
}

/* ---- one line of JSON; used reaches sizeof(text) when it did not fit, and then nothing is sent ---- */

struct infrarsi_line {
	char text[INFRARSI_LINE_MAX + 1];
	size_t used;
};

static inline void infrarsi_put(struct infrarsi_line *line, const char *format, ...)
{
	size_t room = sizeof(line->text) - line->used;
	va_list args;
	int wrote;

	va_start(args, format);
	wrote = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	line->used += wrote < 0 || (size_t)wrote >= room ? room : (size_t)wrote;
}

static inline void infrarsi_put_quoted(struct infrarsi_line *line, const char *text)
{
	infrarsi_put(line, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			infrarsi_put(line, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			infrarsi_put(line, "\\u%04x", c);
		else
			infrarsi_put(line, "%c", c);
	}
	infrarsi_put(line, "\"");
}

static inline void infrarsi_put_text(struct infrarsi_line *line, const char *key, const char *text)
{
	if (!text)
		return;
	infrarsi_put(line, ",\"%s\":", key);
	infrarsi_put_quoted(line, text);
}

static inline void infrarsi_put_count(struct infrarsi_line *line, const char *key, uint64_t value)
{
	infrarsi_put(line, ",\"%s\":%llu", key, (unsigned long long)value);
}

/* The class is read from the bits: -ffast-math lets the compiler assume that isnan() and isinf() are false. */
static inline void infrarsi_put_real(struct infrarsi_line *line, const char *key, double value)
{
	char text[40], *comma;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if ((bits >> 52 & 0x7ff) == 0x7ff) {
		int infinite = (bits & 0xfffffffffffffULL) == 0;

		infrarsi_put(line, ",\"%s\":\"%s\"", key, !infinite ? "nan" : bits >> 63 ? "-inf" : "inf");
		return;
	}
	snprintf(text, sizeof(text), "%.17g", value);
	comma = strchr(text, ','); /* the job may have called setlocale() */
	if (comma)
		*comma = '.';
	infrarsi_put(line, ",\"%s\":%s", key, text);
}

static inline void infrarsi_begin(const struct infrarsi *hook, struct infrarsi_line *line, const char *event)
{
	line->used = 0;
	infrarsi_put(line, "%s{\"e\":\"%s\"", hook->to_stdout ? "@infrarsi " : "", event);
}

/* Writes while SIGPIPE is blocked in this thread, then takes back the one that the write may have raised.
 * sigprocmask() acts on the calling thread on Linux and, unlike pthread_sigmask(), needs no -lpthread anywhere. */
static inline ssize_t infrarsi_write_quietly(int fd, const char *text, size_t count)
{
	static const struct timespec no_wait = {0, 0};
	sigset_t pipe_only, before, pending;
	ssize_t wrote;
	int error;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	sigprocmask(SIG_BLOCK, &pipe_only, &before);
	do
		wrote = write(fd, text, count);
	while (wrote < 0 && errno == EINTR);
	error = errno;
	if (wrote < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_only, NULL, &no_wait) < 0 && errno == EINTR)
			;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return wrote;
}

static inline void infrarsi_close(struct infrarsi *hook)
{
	if (hook->fd >= 0 && !hook->to_stdout)
		close(hook->fd);
	hook->fd = -1;
}

static inline int infrarsi_send(struct infrarsi *hook, struct infrarsi_line *line)
{
	ssize_t wrote;
	int error;

	infrarsi_put(line, "}\n");
	if (line->used > INFRARSI_LINE_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (hook->to_stdout)
		fflush(stdout); /* what the job printed before comes before */
	wrote = infrarsi_write_quietly(hook->fd, line->text, line->used);
	if (wrote == (ssize_t)line->used)
		return 0;
	error = wrote < 0 ? errno : EIO;
	infrarsi_close(hook); /* a torn line must not be followed by a good one */
	errno = error;
	return -1;
}

/* ---- the calls of a job ---- */

/* The reader is there before the job starts.  O_NONBLOCK makes a missing one an error (ENXIO) instead of a hang;
 * it is taken off again so that a slow reader delays a write and never loses a line. */
static inline int infrarsi_open(struct infrarsi *hook)
{
	const char *path = getenv("INFRARSI_EVENT_PATH");
	const char *profile = getenv("INFRARSI_PROFILE");
	int flags;

	memset(hook, 0, sizeof(*hook));
	hook->fd = -1;
	hook->profiling = profile && !strcmp(profile, "1");
	if (!path || !*path)
		return 0;
	if (!strcmp(path, "stdout")) {
		hook->to_stdout = 1;
		hook->fd = STDOUT_FILENO;
		return 0;
	}
	hook->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
	if (hook->fd < 0)
		return -1;
	flags = fcntl(hook->fd, F_GETFL);
	return flags < 0 ? -1 : fcntl(hook->fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -1 : 0;
}

/* True when phase events are wanted.  Timers must run either way: a job that takes another path under the profiler
 * is profiled as something it is not. */
static inline int infrarsi_profiling(const struct infrarsi *hook)
{
	return hook->fd >= 0 && hook->profiling;
}

static inline void infrarsi_drop_params(struct infrarsi *hook)
{
	while (hook->param_count > 0)
		free(hook->param_lines[--hook->param_count]);
	free(hook->param_lines);
	hook->param_lines = NULL;
}

/* Names one trainable parameter for the model digest.  Any order; all before infrarsi_start(). */
static inline int infrarsi_param(struct infrarsi *hook, const char *name, const uint64_t *shape, size_t dims,
				 const char *dtype)
{
	uint64_t elements = 1;
	char **grown, text[512];
	size_t used, i;

	if (hook->fd < 0)
		return 0;
	used = (size_t)snprintf(text, sizeof(text), "%s %s", name, dims ? "" : "scalar");
	for (i = 0; i < dims && used < sizeof(text); i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu", i ? "x" : "",
					 (unsigned long long)shape[i]);
		elements *= shape[i];
	}
	if (used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s\n", dtype);
	if (used >= sizeof(text)) {
		errno = EMSGSIZE;
		return -1;
	}
	grown = (char **)realloc(hook->param_lines, (hook->param_count + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	hook->param_lines = grown;
	hook->param_lines[hook->param_count] = strdup(text);
	if (!hook->param_lines[hook->param_count])
		return -1;
	hook->param_count++;
	hook->param_elements += elements;
	return 0;
}

static inline int infrarsi_compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* SHA-256 in hex over the lines "name shape dtype\n" sorted by name; shape is 768x3072, or "scalar". */
static inline void infrarsi_model_digest(struct infrarsi *hook, char ret_text[65])
{
	struct infrarsi_sha256 sha;
	unsigned char digest[32];
	size_t i;

	if (hook->param_count > 1)
		qsort(hook->param_lines, hook->param_count, sizeof(char *), infrarsi_compare_lines);
	infrarsi_sha256_init(&sha);
	for (i = 0; i < hook->param_count; i++)
		infrarsi_sha256_add(&sha, hook->param_lines[i], strlen(hook->param_lines[i]));
	infrarsi_sha256_final(&sha, digest);
	infrarsi_hex(digest, sizeof(digest), ret_text);
}

static inline void infrarsi_put_versions(struct infrarsi_line *line, const char *const *versions)
{
#ifdef __clang__
	const char *compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
	const char *compiler = "gcc " __VERSION__;
#else
	const char *compiler = "unknown";
#endif
	infrarsi_put(line, ",\"versions\":{\"compiler\":");
	infrarsi_put_quoted(line, compiler);
	for (; versions && versions[0] && versions[1]; versions += 2) {
		infrarsi_put(line, ",");
		infrarsi_put_quoted(line, versions[0]);
		infrarsi_put(line, ":");
		infrarsi_put_quoted(line, versions[1]);
	}
	infrarsi_put(line, "}");
}

static inline int infrarsi_start(struct infrarsi *hook, const struct infrarsi_start_info *info)
{
	uint64_t params = info->params ? info->params : hook->param_elements;
	const char *nonce = getenv("INFRARSI_NONCE");
	struct infrarsi_line line;
	char digest[65];

	hook->rank = info->rank;
	if (hook->fd < 0)
		return 0;
	infrarsi_begin(hook, &line, "start");
	infrarsi_put(&line, ",\"schema\":%d", INFRARSI_SCHEMA);
	infrarsi_put_text(&line, "nonce", nonce ? nonce : "");
	infrarsi_put(&line, ",\"rank\":%d,\"world\":%d", info->rank, info->world ? info->world : 1);
	infrarsi_put_text(&line, "stack", info->stack ? info->stack : "native");
	infrarsi_put_count(&line, "params", params);
	infrarsi_put_count(&line, "active_params", info->active_params ? info->active_params : params);
	infrarsi_put_count(&line, "layers", info->layers);
	infrarsi_put_count(&line, "d_attn", info->d_attn);
	if (hook->param_count > 0) {
		infrarsi_model_digest(hook, digest);
		infrarsi_put_text(&line, "model_digest", digest);
	}
	if (info->storage && info->compute) {
		infrarsi_put(&line, ",\"precision\":{\"storage\":");
		infrarsi_put_quoted(&line, info->storage);
		infrarsi_put_text(&line, "compute", info->compute);
		infrarsi_put(&line, "}");
	}
	infrarsi_put_count(&line, "seq_len", info->seq_len);
	infrarsi_put_count(&line, "global_batch", info->global_batch);
	infrarsi_put_versions(&line, info->versions);
	infrarsi_drop_params(hook);
	return infrarsi_send(hook, &line);
}

/*
 * Adds one row (sequence) of token ids to the data digest of the coming update: the low 128 bits of the sum over rows
 * of SHA-256(ids as uint32 little-endian), read as big-endian numbers.  Sums commute, so neither the order of rows nor
 * their split into micro-batches matters; a row that is changed, dropped or repeated does.
 */
static inline void infrarsi_row(struct infrarsi *hook, const int32_t *ids, size_t count)
{
	struct infrarsi_sha256 sha;
	unsigned char digest[32], bytes[4];
	unsigned carry = 0;
	size_t i;

	if (hook->fd < 0)
		return;
	infrarsi_sha256_init(&sha);
	for (i = 0; i < count; i++) {
		uint32_t id = (uint32_t)ids[i];

		bytes[0] = (unsigned char)id;
		bytes[1] = (unsigned char)(id >> 8);
		bytes[2] = (unsigned char)(id >> 16);
		bytes[3] = (unsigned char)(id >> 24);
		infrarsi_sha256_add(&sha, bytes, sizeof(bytes));
	}
	infrarsi_sha256_final(&sha, digest);
	for (i = 16; i-- > 0;) {
		carry += (unsigned)hook->data[i] + digest[16 + i];
		hook->data[i] = (unsigned char)carry;
		carry >>= 8;
	}
	hook->rows++;
}

/* Reports one applied optimizer step.  Ranks other than 0 send only what the harness adds up. */
static inline int infrarsi_update(struct infrarsi *hook, const struct infrarsi_update_info *info)
{
	struct infrarsi_line line;
	char digest[33];

	hook->updates++;
	if (hook->fd < 0)
		return 0;
	infrarsi_begin(hook, &line, "update");
	infrarsi_put(&line, ",\"i\":%lld,\"rank\":%d", hook->updates, hook->rank);
	if (hook->rank == 0) {
		infrarsi_put_real(&line, "loss", info->loss);
		infrarsi_put_real(&line, "grad_norm", info->grad_norm);
		infrarsi_put_real(&line, "lr", info->lr);
		infrarsi_put_count(&line, "opt_step", info->opt_step);
	}
	infrarsi_put_count(&line, "tokens", info->tokens);
	if (hook->rows > 0) {
		infrarsi_hex(hook->data, sizeof(hook->data), digest);
		infrarsi_put_text(&line, "data", digest);
	}
	if (info->step_s != 0)
		infrarsi_put_real(&line, "step_s", info->step_s);
	if (info->mem)
		infrarsi_put_count(&line, "mem", info->mem);
	memset(hook->data, 0, sizeof(hook->data));
	hook->rows = 0;
	return infrarsi_send(hook, &line);
}

/* Where the time of the update just reported went.  Sent only when the harness profiles; call it always. */
static inline int infrarsi_phase(struct infrarsi *hook, const struct infrarsi_phase_info *info)
{
	struct infrarsi_line line;

	if (!infrarsi_profiling(hook))
		return 0;
	infrarsi_begin(hook, &line, "phase");
	infrarsi_put(&line, ",\"i\":%lld", hook->updates);
	infrarsi_put_real(&line, "forward", info->forward);
	infrarsi_put_real(&line, "backward", info->backward);
	infrarsi_put_real(&line, "optimizer", info->optimizer);
	infrarsi_put_real(&line, "data", info->data);
	infrarsi_put_real(&line, "collective", info->collective);
	return infrarsi_send(hook, &line);
}

/* The device could not give requested bytes.  The job ends after this; the harness learns by how much it fell short. */
static inline int infrarsi_oom(struct infrarsi *hook, uint64_t requested, uint64_t available, uint64_t capacity)
{
	struct infrarsi_line line;

	if (hook->fd < 0)
		return 0;
	infrarsi_begin(hook, &line, "oom");
	infrarsi_put_count(&line, "requested", requested);
	infrarsi_put_count(&line, "free", available);
	infrarsi_put_count(&line, "capacity", capacity);
	return infrarsi_send(hook, &line);
}

/* Gives everything back without a word; safe on a hook that was never opened successfully, or twice. */
static inline void infrarsi_release(struct infrarsi *hook)
{
	infrarsi_drop_params(hook);
	infrarsi_close(hook);
}

static inline int infrarsi_end(struct infrarsi *hook)
{
	struct infrarsi_line line;
	int result = 0;

	if (hook->fd >= 0) {
		infrarsi_begin(hook, &line, "end");
		infrarsi_put(&line, ",\"updates\":%lld", hook->updates);
		result = infrarsi_send(hook, &line);
	}
	infrarsi_release(hook);
	return result;
}

#endif
