/*
 * The machine: fingerprint (hwloc, /proc) and probes (GEMM peak by FMA, memory bandwidth by triad).
 */
#ifndef INFRARSI_MACHINE_MACHINE_H
#define INFRARSI_MACHINE_MACHINE_H

#include "base/base.h"

struct machine {
	char cpu[128], arch[32], kernel[128],
		features[256]; /* features: the vector extensions that matter, comma-separated */
	int cores, threads, sockets, numa_nodes;
	double memory_bytes, l3_bytes;
	bool virtualised;
};
enum err_code machine_read(struct machine *ret_machine, struct err *reterr) MUST_CHECK;

struct machine_probe {
	double peak_flops;            /* fp32, all allowed cores, best of repeats */
	double bandwidth_bytes_per_s; /* triad */
	double seconds;               /* what the probe cost */
};
/* budget_s: how long it may take in all (0 = 2 s). */
enum err_code machine_probe_run(
	double budget_s, struct machine_probe *ret_probe, struct err *reterr) MUST_CHECK;

struct strbuf;
void machine_to_json(const struct machine *m, const struct machine_probe *probe,
	struct strbuf *json); /* probe may be NULL */

/* Model FLOPs utilisation (DESIGN section 10): (6*active_params + 12*layers*d_attn*seq_len) * tokens / (peak
 * * seconds). */
double model_flops_utilisation(double active_params, double layers, double d_attn, double seq_len,
	double tokens, double peak_flops, double seconds);

#endif
