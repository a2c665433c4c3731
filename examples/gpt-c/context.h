/* What every layer needs to know about the pass that it is part of. */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "arena.h"
#include "config.h"
#include "matmul.h"
#include "options.h"

#include <time.h>

/* Seconds within one update; recomputation counts as backward. */
struct phases {
	double forward, backward, optimizer, data;
};

struct context {
	struct arena *arena;
	const struct config *config;
	const struct settings *settings;
	const struct matmul *matmul;
	struct phases *phases;
	double *balance; /* the router's load-balancing loss, summed up by backward */
	int rows;   /* sequences in a micro-batch */
	int tokens; /* rows * seq_len */
};

static inline double clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Adds the time since *mark to *phase and moves the mark up to now. */
static inline void clock_charge(double *phase, double *mark)
{
	double now = clock_seconds();

	*phase += now - *mark;
	*mark = now;
}

#endif
