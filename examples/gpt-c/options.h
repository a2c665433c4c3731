/* The command line: what may be varied (settings) and what the contract fixes, checked before anything is built. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "storage.h"

#include <stdint.h>

struct matmul;

enum recompute_kind { RECOMPUTE_FULL, RECOMPUTE_ATTENTION, RECOMPUTE_OFF };
enum attention_kind { ATTENTION_MATERIALISED, ATTENTION_TILED };
enum loss_kind { LOSS_FULL, LOSS_CHUNKED };
enum optimizer_kind { OPTIMIZER_PLAIN, OPTIMIZER_FUSED };
enum dispatch_kind { DISPATCH_TOKEN, DISPATCH_GROUPED };

struct settings {
	int micro_batch, grad_accum, global_batch; /* rows; the first two multiply to the third */
	int seq_len, steps, capacity_mib;
	uint64_t seed;
	enum recompute_kind recompute;
	enum attention_kind attention;
	enum loss_kind loss;
	enum optimizer_kind optimizer;
	enum dispatch_kind dispatch;
	enum storage_type storage;
	const struct matmul *matmul;
};

/* Prints what is wrong and exits with 2, or prints the flags and exits with 0 for --help. */
struct settings options_parse(int argc, char **argv);

#endif
