#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure_int.h"

static const struct opt_number absent = {false, NAN};

/* "2.00 GiB", "15.48G", "4096 bytes" at the start of text. Device messages count in 1024s whatever they
 * write. */
static bool read_amount(const char *text, double *ret_bytes)
{
	double bytes;
	if (!isdigit((unsigned char)*text) || !read_memory(text, true, &bytes))
		return false;
	if (!(bytes >= 0.0 && bytes < 9e18))
		return false;
	*ret_bytes = bytes;
	return true;
}

/* The start of "2.00 GiB" that ends just before `end`. */
static const char *amount_before(const char *text, const char *end)
{
	const char *p = end;
	while (p > text && isspace((unsigned char)p[-1]))
		p--;
	while (p > text && isalpha((unsigned char)p[-1]))
		p--;
	while (p > text && isspace((unsigned char)p[-1]))
		p--;
	while (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.' || p[-1] == ','))
		p--;
	return p;
}

static const struct {
	const char *marker;
	bool before; /* the amount stands before the marker, not behind it */
	size_t target;
} amounts[] = {
#define TARGET(member) offsetof(struct oom_numbers, member)
	{"tried to allocate ", false, TARGET(requested)},
	{"trying to allocate ", false, TARGET(requested)},
	{"attempting to allocate ", false, TARGET(requested)},
	{"attempting to reserve ", false, TARGET(requested)},
	{"failed to allocate request for ", false, TARGET(requested)},
	{"failed to allocate ", false, TARGET(requested)},
	{"out of memory allocating ", false, TARGET(requested)},
	{"out of memory: requested ", false, TARGET(requested)},
	{"memory: requested ", false, TARGET(requested)},
	{"cannot allocate ", false, TARGET(requested)},
	{" bytes, free ", false, TARGET(free_bytes)},
	{" is free", true, TARGET(free_bytes)},
	{" free;", true, TARGET(free_bytes)},
	{" free, ", true, TARGET(free_bytes)},
	{" free.", true, TARGET(free_bytes)},
	{"available memory is only ", false, TARGET(free_bytes)},
	{" bytes, capacity ", false, TARGET(capacity)},
	{"total capacity of ", false, TARGET(capacity)},
	{"total capacty of ", false, TARGET(capacity)}, /* as PyTorch 2.1 spells it */
	{" total capacity", true, TARGET(capacity)},
	{" hbm. exceeded", true, TARGET(capacity)},
	{"exceeded hbm capacity by ", false, TARGET(shortfall)},
	{" already allocated", true, TARGET(allocated)},
	{" is allocated by pytorch", true, TARGET(allocated)},
	{"mps allocated: ", false, TARGET(allocated)},
	{" allocated in private pools", true, TARGET(private_pools)},
	{" is reserved by pytorch but unallocated", true, TARGET(reserved_unallocated)},
	{" reserved in total by pytorch", true, TARGET(reserved_total)},
	/* until PyTorch 1.3: amount_cached - amount_allocated */
	{" cached)", true, TARGET(reserved_unallocated)},
	{" allowed;", true, TARGET(allowed)},
	{"max allowed: ", false, TARGET(allowed)},
#undef TARGET
};

static const char *const devices[] = {
	"gpu ", "npu ", "xpu ", "mlu ", "hpu ", "device ordinal ", "thread for device ", "on device "};

static void read_device(const char *lower, struct oom_numbers *n)
{
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		/* "NPU out of memory. Tried to allocate 1.17 GiB (NPU 5; ..." */
		for (const char *at = lower; !n->device_index.has && (at = strstr(at, devices[i])) != NULL;) {
			at += strlen(devices[i]);
			size_t length = strspn(at, "0123456789");
			if (length > 0 && length <= 4 && strchr(" ;.,:)\n", at[length]))
				n->device_index = (struct opt_number){true, (double)atoi(at)};
		}
	}
}

/* "this process has 20.81 GiB memory in use", "Process 375949 has 20.04 GiB memory in use". Where the process
 * itself is not told apart (inside containers) a single sentence is about it. */
static void read_processes(const char *lower, struct oom_numbers *n)
{
	static const char marker[] = " memory in use";
	double others = 0.0, only = 0.0;
	int count = 0;
	for (const char *at = lower; (at = strstr(at, marker)) != NULL; at += sizeof(marker) - 1) {
		const char *amount = amount_before(lower, at);
		double bytes;
		if (!read_amount(amount, &bytes))
			continue;
		static const char own[] = "this process has ";
		size_t own_length = sizeof(own) - 1;
		if ((size_t)(amount - lower) >= own_length &&
			memcmp(amount - own_length, own, own_length - 1) == 0) {
			n->process_in_use = (struct opt_number){true, bytes};
			continue;
		}
		count++;
		only = bytes;
		others += bytes;
	}
	if (n->process_in_use.has && count > 0)
		n->foreign_in_use = (struct opt_number){true, others};
	else if (count == 1)
		n->process_in_use = (struct opt_number){true, only};
	n->several_processes = n->process_in_use.has ? n->foreign_in_use.has : count > 1;
}

static void read_amounts(const char *lower, struct oom_numbers *n)
{
	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		struct opt_number *target = (struct opt_number *)((char *)n + amounts[i].target);
		if (target->has)
			continue;
		const char *at = strstr(lower, amounts[i].marker);
		if (!at)
			continue;
		const char *text =
			amounts[i].before ? amount_before(lower, at) : at + strlen(amounts[i].marker);
		double bytes;
		if (!read_amount(text, &bytes))
			continue;
		*target = (struct opt_number){true, bytes};
		if (target == &n->requested)
			n->exact = strncmp(text + strspn(text, "0123456789,"), " bytes", 6) == 0;
	}
}

/* Which programs word it so: all parts must be there. The first row that fits speaks. */
static const struct {
	const char *parts[3];
	const char *wording;
} wordings[] = {
	{{"more than 1eb"}, "1EB"},
	{{"out of device memory: requested"}, "infrarsi"},
	{{"mps backend out of memory"}, "mps"},
	{{"out of memory. tried to allocate", "repr\n"}, "2.9+ repr"},
	{{"out of memory. tried to allocate", "wrapped\n", "of which"}, "2.5+ wrapped"},
	{{"out of memory. tried to allocate", "cached)"}, "0.4-1.3 cached"},
	{{"npu out of memory", "reserved in total"}, "npu"},
	{{"torch.cuda.outofmemoryerror", "reserved in total"}, "1.13-2.0"},
	{{"reserved in total by pytorch", "max_split_size_mb"}, "1.10-1.13 max_split_size_mb"},
	{{"reserved in total by pytorch"}, "1.4-1.9 reserved"},
	{{"total capacty of"}, "2.1 capacty"},
	{{"hip out of memory", "total capacity of"}, "2.5+ HIP"},
	{{"xpu out of memory"}, "2.5+ XPU"},
	{{"npu out of memory"}, "npu"},
	{{"pytorch_alloc_conf", "allowed;"}, "2.9+ PYTORCH_ALLOC_CONF, allowed"},
	{{"allowed;", "total capacity of"}, "2.5+ allowed"},
	{{"allocated in private pools"}, "2.5+ private pools"},
	{{"torch.cuda.outofmemoryerror", "total capacity of"}, "2.2-2.4"},
	{{"pytorch_alloc_conf"}, "2.9+"},
	{{"torch.outofmemoryerror"}, "2.5+ torch.OutOfMemoryError"},
	{{"total capacity of"}, "2.2+"},
	{{"acceleratorerror"}, "2.8+ AcceleratorError"},
	{{"cublas"}, "cublas"},
	{{"cudnn"}, "cudnn"},
	{{"_status_alloc_failed"}, "library"},
	{{"memory in memory space hbm"}, "xla tpu"},
	{{"that was not possible"}, "xla tpu"},
	{{"_bfc)"}, "xla gpu"},
	{{"resource_exhausted"}, "xla gpu"},
	{{"oom when allocating tensor"}, "tensorflow"},
	{{"cuda runtime error (2)"}, "0.x runtime error"},
	{{"cuda error"}, "driver error"},
	{{"hip error"}, "driver error"},
	{{"driver error"}, "driver error"},
	{{"cuda failure"}, "driver error"},
};

static bool has_part(const char *lower, const char *part)
{
	if (strcmp(part, "repr\n") == 0)
		return strstr(lower, "outofmemoryerror('") || strstr(lower, "outofmemoryerror(\"");
	if (strcmp(part, "wrapped\n") == 0)
		return strchr(lower, '\n') != NULL;
	return strstr(lower, part) != NULL;
}

static const char *wording_of(const char *lower)
{
	for (size_t i = 0; i < ARRAY_LEN(wordings); i++) {
		size_t k = 0;
		while (k < 3 && wordings[i].parts[k] && has_part(lower, wordings[i].parts[k]))
			k++;
		if (k == 3 || !wordings[i].parts[k])
			return wordings[i].wording;
	}
	return NULL;
}

static void reckon_shortfall(struct oom_numbers *n)
{
	double short_by;
	if (n->shortfall.has || !n->requested.has)
		return;
	if (n->allowed.has && n->allocated.has) {
		/* A cap on this process: what is free on the device does not matter. */
		double held =
			n->reserved_total.has
				? n->reserved_total.value
				: n->allocated.value +
					  (n->reserved_unallocated.has ? n->reserved_unallocated.value : 0.0);
		short_by = held + n->requested.value - n->allowed.value;
	} else if (n->free_bytes.has) {
		short_by = n->requested.value - n->free_bytes.value;
	} else {
		return;
	}
	n->shortfall = (struct opt_number){true, fmax(0.0, short_by)};
}

/* Breaks of lines become blanks, or nothing; of several blanks one stays. */
static void join_lines(const char *lower, bool without_blank, char *joined)
{
	size_t used = 0;
	for (; *lower; lower++) {
		if (*lower == '\n' && without_blank)
			continue;
		char c = *lower == '\n' || *lower == '\t' ? ' ' : *lower;
		if (c != ' ' || used == 0 || joined[used - 1] != ' ')
			joined[used++] = c;
	}
	joined[used] = '\0';
}

void oom_numbers_read(const char *text, struct oom_numbers *ret_numbers)
{
	char lower[OOM_TEXT_MAX], joined[OOM_TEXT_MAX];
	size_t length = strnlen(text, sizeof(lower) - 1);
	struct oom_numbers n = {absent, absent, absent, absent, absent, absent, absent, absent, absent,
		absent, absent, absent, false, false, false, NULL};
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)text[i]);
	lower[length] = '\0';
	while (length > 0 && isspace((unsigned char)lower[length - 1]))
		lower[--length] = '\0';
	n.wording = wording_of(lower);
	join_lines(lower, false, joined);
	n.size_bogus = strstr(joined, "allocate more than") != NULL;
	read_amounts(joined, &n);
	read_processes(joined, &n);
	read_device(joined, &n);
	if (strchr(lower, '\n')) {
		/* A terminal breaks lines anywhere, in the middle of words too. */
		join_lines(lower, true, joined);
		read_amounts(joined, &n);
		read_device(joined, &n);
	}
	reckon_shortfall(&n);
	*ret_numbers = n;
}

/* Memory of the device that neither is free nor belongs to this process. */
static double elsewhere_bytes(const struct oom_numbers *n)
{
	double own;
	if (!n->capacity.has || !n->free_bytes.has)
		return 0.0;
	if (n->process_in_use.has)
		own = n->process_in_use.value;
	else if (n->reserved_total.has)
		own = n->reserved_total.value;
	else if (n->allocated.has && n->reserved_unallocated.has)
		own = n->allocated.value + n->reserved_unallocated.value;
	else
		return 0.0;
	return n->capacity.value - n->free_bytes.value - own;
}

static bool is_foreign(const struct oom_numbers *n)
{
	/* Context, libraries and communicators take up to about 4 GiB beside what the allocator counts. */
	const double own_overhead_bytes = 4.0 * 1073741824.0, own_overhead_part = 0.1;
	double elsewhere = elsewhere_bytes(n);
	return n->several_processes ||
	       (elsewhere > own_overhead_bytes && elsewhere > own_overhead_part * n->capacity.value);
}

static bool is_larger(struct opt_number a, double factor, struct opt_number b)
{
	return a.has && b.has && a.value > factor * b.value;
}

uint32_t oom_flags(const struct oom_numbers *n)
{
	/* Slack of the allocator's rounding is as large as a small shortfall in healthy runs, too. */
	const double fragmentation_ratio = 10.0;
	uint32_t flags = 0;
	if (is_foreign(n))
		flags |= 1u << LOG_FOREIGN_MEMORY;
	if (is_larger(n->allocated, 1.0, n->capacity))
		flags |= 1u << LOG_ALLOCATED_EXCEEDS_CAPACITY;
	if (n->allowed.has)
		return flags; /* a cap on the process: the device's state says nothing */
	if (is_larger(n->free_bytes, 1.0, n->requested))
		flags |= 1u << LOG_FREE_EXCEEDS_REQUEST;
	else if (n->shortfall.value > 0.0 &&
		 is_larger(n->reserved_unallocated, fragmentation_ratio, n->shortfall))
		flags |= 1u << LOG_FRAGMENTATION_SUSPECT;
	return flags;
}
