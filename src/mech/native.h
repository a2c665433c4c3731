/*
 * What a native C job built by make commonly offers for tuning: which command-line options, build variables
 * and environment variables stand for which canonical mechanism of data/mechanisms.yaml, and which of them
 * must never be touched because they say what is trained.
 *
 *     const struct native_option *o = native_option_find("--grad-accum");    // role NATIVE_GRAD_ACCUM
 *
 * Everything here is constant; nothing allocates.
 */
#ifndef INFRARSI_MECH_NATIVE_H
#define INFRARSI_MECH_NATIVE_H

#include "base/base.h"

enum native_role {
	NATIVE_UNKNOWN,     /* no row matched: a person must say */
	NATIVE_MICRO_BATCH, /* rows per forward and backward pass */
	NATIVE_GRAD_ACCUM,  /* micro-batches per update */
	NATIVE_GLOBAL_BATCH,
	NATIVE_BATCH, /* rows, and the name does not say of what */
	NATIVE_SEQ_LEN,
	NATIVE_UPDATES,
	NATIVE_MEMORY,   /* a memory limit */
	NATIVE_THREADS,  /* worker threads */
	NATIVE_LEVER,    /* changes how, not what, is computed */
	NATIVE_NUMERICS, /* a lever that changes precision: only inside a declared menu */
	NATIVE_FIXED,    /* says what is trained, reported or stored: never a knob */
};

struct native_option {
	const char *words; /* all of them must occur in the option's name */
	enum native_role role;
	const char *mechanism; /* canonical id or NULL */
	const char *phases;    /* comma-separated, or NULL */
};

/* The row for an option's name ("--micro-batch", "microBatch", "grad_accum"), or NULL. */
const struct native_option *native_option_find(const char *name);
/* True for values that name an algorithm, an objective or a data set: an option with such a value changes
 * what is trained, whatever the option is called. */
bool native_value_is_algorithm(const char *value);

/* What a compiler or linker flag stands for. */
struct native_build {
	const char *mechanism;
	const char *knob;         /* name for the knob */
	const char *markers[6];   /* a flag that begins with one of these is this mechanism */
	const char *variables[8]; /* make variables by whose names an empty default is recognised */
	const char *settings[4];  /* flags worth trying, the weakest first; NULL-terminated */
	bool ordered;
	const char *phases;
	const char *caution; /* what to know before trying it; NULL = nothing */
};
const struct native_build *native_build_find_flag(const char *flag);
const struct native_build *native_build_find_variable(const char *variable);

/* Environment variables of a job that uses OpenMP. */
struct native_env {
	const char *variable, *knob;
	const char *settings[4]; /* the first is what happens today when the variable is not set */
	const char *mechanism, *phases;
	bool needs_runtime_schedule; /* only loops with schedule(runtime) look at it */
};
const struct native_env *native_env_table(size_t *ret_count);

/* The published ln speed-up of moving a mechanism from one setting to another, end to end on a CPU or without
 * naming a device; false where there is none. `from` and `to` are the job's own spellings. */
bool native_prior(
	const char *mechanism, const char *from, const char *to, double *ret_ln, const char **ret_source);

#endif
