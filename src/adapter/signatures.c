#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "adapter/signatures_int.h"
#include "base/units.h"

enum { PATTERN_MAX = 64 }; /* bytes of a pattern with its NUL */

/* Lower case. Order matters within a line only: the more special class first. */
static const struct signature signatures[] = {
	/* device memory */
	{"out of device memory:", FAILURE_OOM, 0},
	{"cuda out of memory", FAILURE_OOM, 0},
	{"hip out of memory", FAILURE_OOM, 0},
	{"xpu out of memory", FAILURE_OOM, 0},
	{"torch.outofmemoryerror", FAILURE_OOM, 0},
	{"cuda error: out of memory", FAILURE_OOM, 0},
	{"cublas_status_alloc_failed", FAILURE_OOM, 0},
	{"cudnn_status_alloc_failed", FAILURE_OOM, 0},
	{"resource_exhausted:*out of memory", FAILURE_OOM, 0},
	{"ran out of memory trying to allocate", FAILURE_OOM, 0},
	{"ran out of memory in memory space hbm", FAILURE_OOM, 0},
	{"tried to allocate more than*memory", FAILURE_OOM, 0},

	/* values that are not numbers */
	{"loss is nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss is inf", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"nan loss", FAILURE_NAN, SIG_CLEAN | SIG_WORD},
	{"loss became inf", FAILURE_NAN, SIG_CLEAN},
	{"loss: nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss: -nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss=nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss=-nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss': nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"grad_norm': nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss -nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss train: nan", FAILURE_NAN, SIG_CLEAN | SIG_END},
	{"loss=inf", FAILURE_NAN, SIG_CLEAN | SIG_WORD},
	{"loss: inf", FAILURE_NAN, SIG_CLEAN | SIG_WORD},
	{"found nan in", FAILURE_NAN, SIG_WORD},
	{"loss scale already at minimum", FAILURE_NAN, 0},
	{"minimum loss scale reached", FAILURE_NAN, 0},

	/* collectives and rendezvous */
	{"heartbeat monitor timed out", FAILURE_COLLECTIVE, 0},
	{"watchdog caught collective operation timeout", FAILURE_COLLECTIVE, 0},
	{"some nccl operations have failed", FAILURE_COLLECTIVE, 0},
	{"nccl error in", FAILURE_COLLECTIVE, 0},
	{"ncclsystemerror", FAILURE_COLLECTIVE, 0},
	{"ncclinternalerror", FAILURE_COLLECTIVE, 0},
	{"ncclremoteerror", FAILURE_COLLECTIVE, 0},
	{"ncclunhandledcudaerror", FAILURE_COLLECTIVE, 0},
	{"detected mismatch between collectives", FAILURE_COLLECTIVE, 0},
	{"diststoreerror", FAILURE_COLLECTIVE, 0},
	{"distnetworkerror", FAILURE_COLLECTIVE, 0},
	{"gloo*timed out waiting", FAILURE_COLLECTIVE, 0},
	{"gloo*connection closed by peer", FAILURE_COLLECTIVE, SIG_WEAK},
	{"mpi_abort was invoked", FAILURE_COLLECTIVE, SIG_WEAK},

	/* input data */
	{"dataloader worker (pid", FAILURE_DATA, 0},
	{"dataloader timed out", FAILURE_DATA, 0},
	{"fault encountered in worker", FAILURE_DATA, 0},
	{"jsondecodeerror", FAILURE_DATA, 0},

	/* compilation while the job runs */
	{"backendcompilerfailed", FAILURE_COMPILE, 0},
	{"torch._dynamo.exc.", FAILURE_COMPILE, 0},
	{"triton.compiler.errors.", FAILURE_COMPILE, 0},
	{"error in subprocess*ptxas", FAILURE_COMPILE, 0},
	{"ptxas fatal", FAILURE_COMPILE, 0},

	/* compilation as a step of its own */
	{": fatal error:", FAILURE_COMPILE, SIG_BUILD},
	{": error:", FAILURE_COMPILE, SIG_BUILD},
	{"undefined reference to", FAILURE_COMPILE, SIG_BUILD},
	{"collect2: error", FAILURE_COMPILE, SIG_BUILD},
	{"make*] error ", FAILURE_COMPILE, SIG_BUILD | SIG_WEAK},
	{"no rule to make target", FAILURE_COMPILE, SIG_BUILD},

	/* crashes that name themselves */
	{"an illegal memory access was encountered", FAILURE_CRASH, 0},
	{"device-side assert triggered", FAILURE_CRASH, 0},
	{"cuda error:", FAILURE_CRASH, 0},
	{"fatal python error:", FAILURE_CRASH, 0},
	{"free(): ", FAILURE_CRASH, 0},
	{"malloc(): ", FAILURE_CRASH, 0},
	{"realloc(): ", FAILURE_CRASH, 0},
	{"munmap_chunk(): ", FAILURE_CRASH, 0},
	{"double free or corruption", FAILURE_CRASH, 0},
	{"corrupted size vs. prev_size", FAILURE_CRASH, 0},
	{"corrupted double-linked list", FAILURE_CRASH, 0},
	{"stack smashing detected", FAILURE_CRASH, 0},
	{"buffer overflow detected", FAILURE_CRASH, 0},
	{"error: addresssanitizer", FAILURE_CRASH, 0},
	{"error: leaksanitizer", FAILURE_CRASH, 0},
	{"warning: memorysanitizer", FAILURE_CRASH, 0},
	{"warning: threadsanitizer", FAILURE_CRASH, 0},
	{": runtime error: ", FAILURE_CRASH, SIG_WEAK}, /* UBSan goes on unless told otherwise */
	{"terminate called after throwing", FAILURE_CRASH, 0},
	{"assertion*failed", FAILURE_CRASH, 0},
	{"address already in use", FAILURE_CRASH, 0},
	{"segmentation fault", FAILURE_CRASH, 0},
	{"error while loading shared libraries", FAILURE_CRASH, 0},
	{"command not found", FAILURE_CRASH, SIG_WEAK},

	/* ended from outside */
	{"invoked oom-killer", FAILURE_KILLED, 0},
	{"out of memory: killed process", FAILURE_KILLED, 0},
	{"oom-kill event", FAILURE_KILLED, 0},
	{"received signals.sigterm death signal", FAILURE_KILLED, 0},
	{"failed (exitcode: -9)", FAILURE_KILLED, SIG_WEAK},
	{"return code = -9", FAILURE_KILLED, SIG_WEAK},
	{"killed", FAILURE_KILLED, SIG_WEAK | SIG_WORD},

	/* reports of a launcher: the cause is elsewhere, if anywhere */
	{"failed (exitcode:", FAILURE_CRASH, SIG_WEAK},
	{"childfailederror", FAILURE_CRASH, SIG_WEAK},
	{"exits with return code = -", FAILURE_CRASH, SIG_WEAK},
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The first occurrence of the literal `part` at or behind p. */
static const char *find_part(const char *p, const char *part, size_t length)
{
	char literal[PATTERN_MAX];
	memcpy(literal, part, length);
	literal[length] = '\0';
	return strstr(p, literal);
}

/* The end of a match of what stands behind the pattern's first part, or NULL. Parts are looked for one behind
 * the other, each as early as possible. */
static const char *match_rest(const char *p, const char *pattern)
{
	while (*pattern == '*') {
		pattern++;
		size_t length = strcspn(pattern, "*");
		p = find_part(p, pattern, length);
		if (!p)
			return NULL;
		p += length;
		pattern += length;
	}
	return p;
}

static bool matches(const char *line, const struct signature *s)
{
	size_t length = strcspn(s->pattern, "*");
	const char *p = line;
	while ((p = find_part(p, s->pattern, length))) {
		const char *end = match_rest(p + length, s->pattern + length);
		if (!end)
			return false; /* a later start leaves less behind it */
		bool joined_before = p > line && is_word(p[-1]), joined_behind = is_word(*end);
		p++;
		if ((s->flags & SIG_WORD) && (joined_before || joined_behind))
			continue;
		if ((s->flags & SIG_END) && joined_behind)
			continue;
		return true;
	}
	return false;
}

const struct signature *signature_find(const char *line, bool build)
{
	char lower[SIGNATURE_LINE_MAX + 1];
	size_t n = 0;
	for (; line[n] && n < SIGNATURE_LINE_MAX; n++)
		lower[n] = line[n] >= 'A' && line[n] <= 'Z' ? (char)(line[n] + 32) : line[n];
	lower[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++) {
		if ((signatures[i].flags & SIG_BUILD) && !build)
			continue;
		if (matches(lower, &signatures[i]))
			return &signatures[i];
	}
	return NULL;
}

enum amount { AMOUNT_REQUESTED, AMOUNT_FREE, AMOUNT_CAPACITY };

static const struct {
	const char *marker;
	bool before; /* the amount stands before the marker, not behind it */
	enum amount amount;
} amounts[] = {
	{"requested ", false, AMOUNT_REQUESTED},
	{"tried to allocate ", false, AMOUNT_REQUESTED},
	{"trying to allocate ", false, AMOUNT_REQUESTED},
	{" bytes, free ", false, AMOUNT_FREE},
	{"of which ", false, AMOUNT_FREE},
	{" free;", true, AMOUNT_FREE},
	{" bytes, capacity ", false, AMOUNT_CAPACITY},
	{"total capacity of ", false, AMOUNT_CAPACITY},
	{"total capacty of ", false, AMOUNT_CAPACITY}, /* as PyTorch 2.0 and 2.1 spell it */
	{" total capacity", true, AMOUNT_CAPACITY},
};

/* "2.00 GiB", "4096 bytes", "4096" at the start of text. */
static bool read_amount(const char *text, double *ret_bytes)
{
	char number[32];
	size_t digits = strspn(text, "0123456789."), n;
	if (digits == 0 || digits >= sizeof(number) - 8)
		return false;
	memcpy(number, text, digits);
	n = digits;
	text += digits;
	text += *text == ' ';
	size_t unit = 0;
	while (unit < 4 && isalpha((unsigned char)text[unit]))
		unit++;
	if (unit <= 3 && unit > 0 && strchr("BKMGT", text[0])) {
		memcpy(number + n, text, unit);
		n += unit;
	}
	number[n] = '\0';
	return parse_bytes(number, ret_bytes) && *ret_bytes >= 0 && *ret_bytes < 9e18;
}

/* The start of "2.00 GiB" that ends just before `end`. */
static const char *amount_before(const char *line, const char *end)
{
	const char *p = end;
	while (p > line && isalpha((unsigned char)p[-1]))
		p--;
	while (p > line && p[-1] == ' ')
		p--;
	while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	return p;
}

void oom_numbers(const char *line, struct opt_number *requested, struct opt_number *free_bytes,
	struct opt_number *capacity)
{
	struct opt_number *const targets[] = {requested, free_bytes, capacity};
	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		struct opt_number *target = targets[amounts[i].amount];
		const char *at = strcasestr(line, amounts[i].marker);
		double bytes;
		if (!at || target->has)
			continue;
		const char *text =
			amounts[i].before ? amount_before(line, at) : at + strlen(amounts[i].marker);
		if (read_amount(text, &bytes))
			*target = (struct opt_number){true, bytes};
	}
}
