/* What the files of this folder share: the topology, the parsers (apart, so that they can be tested on other
 * machines' files), the probe's inner loops. */
#ifndef INFRARSI_MACHINE_MACHINE_INT_H
#define INFRARSI_MACHINE_MACHINE_INT_H

#include <hwloc.h>

#include "base/base.h"

struct machine;

/* The topology restricted to the CPUs this process may run on. hwloc_topology_destroy() it. */
enum err_code topology_load(hwloc_topology_t *ret_topology, struct err *reterr) MUST_CHECK;
double topology_l3_bytes(hwloc_topology_t topology);

/* From the text of /proc/cpuinfo: cpu (where still empty), features, virtualised. */
void cpuinfo_parse(const char *text, struct machine *m);
/* A line "MemTotal:  123 kB" of /proc/meminfo as bytes; 0 = not there. */
double meminfo_bytes(const char *text, const char *name);
/* The least memory limit of the control groups that `membership` (the text of /proc/self/cgroup) names and of
 * their parents; root is /sys/fs/cgroup. INFINITY = none. */
double cgroup_memory_limit(const char *root, const char *membership);
/* Physical memory, or the control group's limit where that is less; 0 = unknown. */
double memory_usable_bytes(void);

struct probe_kernel {
	const char *name;
	bool (*supported)(void);
	/* c = a * b, `repeats` times: a is depth columns of `rows` floats, b depth rows of `columns` floats,
	 * c rows x columns, row-major; all aligned to 64 bytes. */
	void (*gemm)(const float *a, const float *b, float *c, size_t depth, size_t repeats);
	size_t rows, columns;
	/* x = y + s * z; n is a multiple of 8; aligned to 64 bytes */
	void (*triad)(double *x, const double *y, const double *z, double s, size_t n);
};
enum { PROBE_ROWS_MAX = 16, PROBE_COLUMNS_MAX = 64 };

/* All kernels of this architecture, the widest first, and their number. */
const struct probe_kernel *probe_kernels(size_t *ret_count);

#endif
