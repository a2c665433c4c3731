/* Facts that stand in the lines of a failure beside its cause. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure_int.h"

struct opt_number number_behind(const char *lower, const char *marker)
{
	struct opt_number number = {false, NAN};
	const char *at = strstr(lower, marker);
	if (!at)
		return number;
	at += strlen(marker);
	const char *digits = at + (*at == '-');
	if (isdigit((unsigned char)*digits) && strspn(digits, "0123456789") < 16)
		number = (struct opt_number){true, strtod(at, NULL)};
	return number;
}

int signal_by_name(const char *lower)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"sigkill", SIGKILL}, {"sigterm", SIGTERM}, {"sigsegv", SIGSEGV}, {"sigabrt", SIGABRT},
		{"sigbus", SIGBUS}, {"sigint", SIGINT}, {"sighup", SIGHUP}, {"sigfpe", SIGFPE},
		{"sigill", SIGILL}, {"sigxcpu", SIGXCPU}, {"killed", SIGKILL}, {"terminated", SIGTERM},
		{"segmentation fault", SIGSEGV}, {"aborted", SIGABRT}, {"bus error", SIGBUS},
		{"floating point exception", SIGFPE}, {"illegal instruction", SIGILL}, {"hangup", SIGHUP},
		{"interrupt", SIGINT}};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strstr(lower, names[i].name))
			return names[i].number;
	return 0;
}

static const struct {
	const char *marker, *unit; /* the unit stands behind the number */
	double ms;
} timeouts[] = {
	{"timeout(ms)=", "", 1.0},
	{"stuck for ", " seconds", 1000.0},
	{"timed out waiting ", "ms", 1.0},
	{"timed out after ", " seconds", 1000.0},
	{"timed out after ", "s", 1000.0},
	{"timed out after ", "ms", 1.0},
	{"timeout after ", "ms", 1.0},
	{"did not join within ", " seconds", 1000.0},
	{"failed to pass monitoredbarrier in ", " ms", 1.0},
	{"timeout of ", " seconds", 1000.0},
	{"timeout=", "ms", 1.0},
};

/* "timeout=0:30:00" */
static void read_clock_timeout(const char *lower, struct opt_number *timeout_ms)
{
	static const char marker[] = "timeout=";
	const char *at = strstr(lower, marker);
	int hours, minutes, seconds;
	if (at && !timeout_ms->has &&
		sscanf(at + sizeof(marker) - 1, "%5d:%2d:%2d", &hours, &minutes, &seconds) == 3)
		*timeout_ms = (struct opt_number){true, ((hours * 60.0 + minutes) * 60.0 + seconds) * 1000.0};
}

static void read_timeout(const char *lower, struct opt_number *timeout_ms)
{
	/* Every marker has one of these. */
	if (!strstr(lower, "time") && !strstr(lower, "stuck") && !strstr(lower, "within ") &&
		!strstr(lower, "barrier"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(timeouts) && !timeout_ms->has; i++) {
		struct opt_number n = number_behind(lower, timeouts[i].marker);
		if (!n.has)
			continue;
		const char *behind = strstr(lower, timeouts[i].marker) + strlen(timeouts[i].marker);
		behind += strspn(behind, "-0123456789");
		if (strncmp(behind, timeouts[i].unit, strlen(timeouts[i].unit)) == 0)
			*timeout_ms = (struct opt_number){true, n.value * timeouts[i].ms};
	}
	read_clock_timeout(lower, timeout_ms);
}

static void read_nccl(struct failure_scan *scan, const char *lower)
{
	static const struct {
		const char *text, *name, *subkind;
	} results[] = {
		{"ncclunhandledcudaerror", "ncclUnhandledCudaError", "unhandled_cuda"},
		{"ncclsystemerror", "ncclSystemError", "system_error"},
		{"ncclinternalerror", "ncclInternalError", "internal_error"},
		{"ncclinvalidargument", "ncclInvalidArgument", "invalid_usage"},
		{"ncclinvalidusage", "ncclInvalidUsage", "invalid_usage"},
		{"ncclremoteerror", "ncclRemoteError", "network"},
		{"unhandled cuda error", "ncclUnhandledCudaError", "unhandled_cuda"},
		{"unhandled system error", "ncclSystemError", "system_error"},
		{"invalid usage (run with", "ncclInvalidUsage", "invalid_usage"},
		{"invalid argument (run with", "ncclInvalidArgument", "invalid_usage"},
		{"internal error, nccl version", "ncclInternalError", "internal_error"},
		{"internal error (run with", "ncclInternalError", "internal_error"},
		{"remote process exited or there was a network error", "ncclRemoteError", "network"},
	};
	if (scan->nccl || !strstr(lower, "nccl"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		if (!strstr(lower, results[i].text))
			continue;
		scan->nccl = results[i].name;
		scan->nccl_subkind = results[i].subkind;
		return;
	}
}

/* "[::]:29500 (errno", "port: 29500". */
static void read_port(struct failure_scan *scan, const char *lower)
{
	if (scan->port.has)
		return;
	scan->port = number_behind(lower, "port: ");
	if (!scan->port.has)
		scan->port = number_behind(lower, "[::]:");
	if (!scan->port.has)
		scan->port = number_behind(lower, "0.0.0.0:");
	if (!scan->port.has)
		scan->port = number_behind(lower, "localhost:");
	if (!scan->port.has)
		scan->port = number_behind(lower, "127.0.0.1:");
}

static void read_kernel_kill(struct failure_scan *scan, const char *lower, struct class_facts *facts)
{
	scan->host_oom = true;
	if (!facts->pid.has)
		facts->pid = number_behind(lower, "killed process ");
	if (!facts->pid.has)
		facts->pid = number_behind(lower, ",pid=");
	struct opt_number rss_kib = number_behind(lower, "anon-rss:");
	if (rss_kib.has && !scan->host_rss.has)
		scan->host_rss = (struct opt_number){true, rss_kib.value * 1024.0};
}

static void read_host_request(struct failure_scan *scan, const char *lower)
{
	static const char *const markers[] = {
		"tried to allocate ", "unable to allocate ", "out of memory allocating "};
	for (size_t i = 0; i < ARRAY_LEN(markers) && !scan->host_requested.has; i++) {
		const char *at = strstr(lower, markers[i]);
		double bytes;
		if (at && read_memory(at + strlen(markers[i]), true, &bytes) && bytes >= 0.0)
			scan->host_requested = (struct opt_number){true, bytes};
	}
}

void facts_read(struct failure_scan *scan, const struct signature *s, const char *lower)
{
	struct class_facts *facts = &scan->facts[s->class];
	if (s->class == FAILURE_COLLECTIVE || s->class == FAILURE_DATA)
		read_timeout(lower, &facts->timeout_ms);
	if (s->class == FAILURE_COLLECTIVE)
		read_nccl(scan, lower);
	if (s->act == ACT_PORT)
		read_port(scan, lower);
	if (s->act == ACT_KERNEL_KILL)
		read_kernel_kill(scan, lower, facts);
	if (s->act == ACT_HOST_REQUEST)
		read_host_request(scan, lower);
	if (s->act == ACT_STATUS_SIGNAL) {
		if (!facts->pid.has)
			facts->pid = number_behind(lower, "worker (pid ");
		if (!facts->pid.has)
			facts->pid = number_behind(lower, "worker (pid(s) ");
	}
	if (s->class == FAILURE_KILLED && s->subkind && strcmp(s->subkind, "host_oom") == 0)
		scan->host_oom = true;
}

/* "AssertionError: Rank 11: found NaN", "Rank 2, node node-a, device 2". */
static int leading_rank(const char *lower)
{
	static const char marker[] = "rank ";
	for (const char *at = lower; (at = strstr(at, marker)) != NULL; at += sizeof(marker) - 1) {
		const char *digits = at + sizeof(marker) - 1;
		size_t length = strspn(digits, "0123456789");
		if (length == 0 || length > 6 || (at > lower && isalnum((unsigned char)at[-1])))
			continue;
		bool leads = at == lower || (at - lower >= 2 && memcmp(at - 2, ": ", 2) == 0);
		if (leads && strchr(":,", digits[length]) && digits[length])
			return atoi(digits);
	}
	return -1;
}

int rank_in_message(const char *lower)
{
	/* The default process group holds all ranks; in any other one the number is not the global rank. */
	static const char *const groups[] = {"[pg 0 rank ", "(default_pg) rank ", "[pg id 0 pg guid 0 rank ",
		"[rank ", "barrier on rank: "};
	if (!strstr(lower, "rank"))
		return -1;
	int rank = leading_rank(lower);
	for (size_t i = 0; i < ARRAY_LEN(groups) && rank < 0; i++) {
		struct opt_number n = number_behind(lower, groups[i]);
		if (n.has && n.value >= 0 && n.value < 1e6)
			rank = (int)n.value;
	}
	return rank;
}

static const char *behind_key(const char *lower, const char *at)
{
	while (at > lower && strchr(" \t:='\"([", at[-1]))
		at--;
	return at;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);
	return length >= n && strcmp(text + length - n, end) == 0;
}

/* A key that ends in "loss" (or "loss train", as LitGPT has it) directly before `at`, but none of a
 * validation and no best-so-far. */
static bool is_loss_key(const char *lower, const char *at)
{
	enum { KEY_MAX = 40 };
	static const char *const others[] = {"val", "eval", "test", "best", "dev_", "min_", "lowest"};
	static const char wrapper[] = "tensor";
	char key[KEY_MAX + 1];
	at = behind_key(lower, at);
	if (at - lower >= 6 && memcmp(at - 6, wrapper, 6) == 0)
		at = behind_key(lower, at - 6);
	const char *start = at;
	while (start > lower && at - start < KEY_MAX &&
		(isalnum((unsigned char)start[-1]) || strchr("_/.- ", start[-1])))
		start--;
	memcpy(key, start, (size_t)(at - start));
	key[at - start] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strstr(key, others[i]))
			return false;
	return ends_in(key, "loss") || ends_in(key, "loss train");
}

bool is_not_finite_loss(const char *lower)
{
	static const char *const values[] = {"nan", "inf", "1.#qnan", "1.#ind", "1.#inf", "1.#snan"};
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		size_t length = strlen(values[i]);
		for (const char *at = lower; (at = strstr(at, values[i])) != NULL; at++) {
			const char *start = at - (at > lower && at[-1] == '-');
			bool ends =
				!isalnum((unsigned char)at[length]) && at[length] != '_' && at[length] != '/';
			bool begins = start > lower && strchr(" :='\"([", start[-1]);
			if (ends && begins && is_loss_key(lower, start))
				return true;
		}
	}
	return false;
}
