/*
 * The machine: fingerprint (hwloc, /proc) and probes (GEMM peak by FMA, memory bandwidth by triad).
 *
 * Everything counts what this process may use: the CPUs of its affinity mask, the memory of its control
 * group.
 *
 *     struct machine machine;
 *     struct machine_probe probe;
 *     TRY(machine_read(&machine, reterr));
 *     TRY(machine_probe_run(0, &probe, reterr));
 *     machine_to_json(&machine, &probe, &json);
 */
#ifndef INFRARSI_MACHINE_MACHINE_H
#define INFRARSI_MACHINE_MACHINE_H

#include "base/base.h"

struct machine {
	char cpu[128], arch[32], kernel[128];
	char features[256]; /* the vector extensions that matter, comma-separated */
	int cores, threads, sockets, numa_nodes;
	double memory_bytes; /* the smaller of physical memory and the control group's limit */
	double l3_bytes;     /* all level-3 caches that these CPUs reach; 0 where there is none */
	bool virtualised;
};
enum err_code machine_read(struct machine *ret_machine, struct err *reterr) MUST_CHECK;

struct machine_probe {
	double peak_flops;            /* fp32, all allowed cores, best of repeats */
	double bandwidth_bytes_per_s; /* triad, best of repeats; 24 bytes an element as STREAM counts */
	double seconds;               /* what the probe cost */
	double triad_bytes;           /* memory walked: where less than l3_bytes, caches helped */
	int workers;                  /* one a core */
	const char *kernel;           /* vector extension used; a constant */
};
/* budget_s: how long it may take in all (0 = 2 s); ERR_INPUT below 0.05 s. Other load on the machine lowers
 * the figures and may delay the end. At most an eighth of the memory is used. */
enum err_code machine_probe_run(
	double budget_s, struct machine_probe *ret_probe, struct err *reterr) MUST_CHECK;

struct strbuf;
/* Appends one JSON object with sorted keys; probe may be NULL. */
void machine_to_json(const struct machine *m, const struct machine_probe *probe, struct strbuf *json);

/* Model FLOPs utilisation (DESIGN section 10): (6*active_params + 12*layers*d_attn*seq_len) * tokens / (peak
 * * seconds). NAN unless peak and seconds are positive. */
double model_flops_utilisation(double active_params, double layers, double d_attn, double seq_len,
	double tokens, double peak_flops, double seconds);

#endif
