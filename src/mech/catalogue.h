/*
 * The mechanism catalogue, data/mechanisms.yaml: canonical names of training optimisations, how each
 * framework spells them, what they do to speed and memory as published, and what they do not go together
 * with. The file's head defines every field.
 *
 *     struct catalogue catalogue;
 *     TRY(catalogue_load(path, &arena, &catalogue, reterr));
 *     const struct mechanism *m = catalogue_find(&catalogue, "fused_optimizer");
 *
 * Everything lives in the arena. Speed-ups are natural logarithms of throughput ratios.
 */
#ifndef INFRARSI_MECH_CATALOGUE_H
#define INFRARSI_MECH_CATALOGUE_H

#include "base/base.h"

struct arena;

enum mechanism_class {
	MECHANISM_KERNEL, /* local to the device */
	MECHANISM_BALANCE /* depends on the topology, peers or memory layout */
};
enum mechanism_numerics {
	NUMERICS_EXACT,
	NUMERICS_REASSOCIATED,
	NUMERICS_LOWER_PRECISION,
	NUMERICS_CHANGES_RNG
};
enum mechanism_memory { MEMORY_SAVER, MEMORY_SPENDER, MEMORY_MIXED, MEMORY_NONE };
enum prior_scope {
	PRIOR_END_TO_END, /* of a whole update */
	PRIOR_KERNEL,     /* of one operator: to be scaled by its share of the update */
	PRIOR_MICRO       /* of a microbenchmark: the same */
};
enum conflict_effect {
	CONFLICT_REFUSED,
	CONFLICT_CRASH,
	CONFLICT_HANG,
	CONFLICT_WRONG_RESULT,
	CONFLICT_IGNORED,
	CONFLICT_SLOWER,
	CONFLICT_OOM
};

struct texts {
	const char **items;
	size_t n;
};

struct mechanism_value { /* a raw value and what it stands for; "=..." is a rule, not a value */
	const char *raw, *canonical;
};

struct mechanism_spelling {
	const char *framework; /* megatron, torchtitan, deepspeed, hf, ddp, native, env */
	const char *flag;      /* the exact token or key */
	const char *since, *until, *note, *surface; /* NULL = not said */
	struct texts seen;
	struct mechanism_value *values;
	size_t n_values;
};

struct mechanism_prior {       /* one published contrast */
	const char *hardware;  /* class: h100, cpu, ...; "any" */
	const char *from, *to; /* canonical values; "*" = any that is not the reference */
	double mean_ln, sd_ln;
	int n; /* results behind it; 0 = only said, not measured */
	enum prior_scope scope;
	const char *source, *note;
};

struct mechanism_conflict {
	const char *with;                       /* mechanism id; NULL = something else, see the reason */
	struct texts self_values, other_values; /* none = any that is not the reference */
	struct texts frameworks;                /* none = all */
	enum conflict_effect effect;
	const char *condition, *reason; /* condition NULL = always */
};

struct mechanism {
	const char *id, *title;
	enum mechanism_class class;
	enum mechanism_numerics numerics;
	enum mechanism_memory memory;
	const char *memory_rule;
	double peak_ln_ratio; /* mean measured ln(peak after / peak before); NAN = not measured */
	struct texts phases, values;
	const char *reference; /* canonical value; NULL = depends on the job */
	bool is_ordered, is_number;
	const char *contract; /* why it may change what is trained; NULL = it does not */
	const char *notes;
	struct mechanism_spelling *spellings;
	size_t n_spellings;
	struct mechanism_prior *priors;
	size_t n_priors;
	struct mechanism_conflict *conflicts;
	size_t n_conflicts;
	int line; /* in the file */
};

struct catalogue {
	struct mechanism *mechanisms;
	size_t n_mechanisms;
};

/* ERR_INPUT with line and column where the text is no catalogue. */
enum err_code catalogue_parse(const char *path, const char *text, size_t length, struct arena *arena,
	struct catalogue *ret_catalogue, struct err *reterr) MUST_CHECK;
enum err_code catalogue_load(const char *path, struct arena *arena, struct catalogue *ret_catalogue,
	struct err *reterr) MUST_CHECK;

/* NULL when there is none. */
const struct mechanism *catalogue_find(const struct catalogue *c, const char *id);

/*
 * What is published for moving from one canonical value to another on a class of hardware: contrasts that
 * name the hardware, else those that name any, else none (false). Several are averaged by their number of
 * results, and the sd is that of their mixture; one without results does not count, one of the opposite
 * direction does with the opposite sign. `kernel_share`, the share of an update that is spent where the
 * mechanism works, scales what was not measured end to end (Amdahl); NAN = unknown, then only end-to-end
 * figures count.
 */
bool mechanism_published_gain(const struct mechanism *m, const char *hardware, const char *from,
	const char *to, double kernel_share, double *ret_mean_ln, double *ret_sd_ln, const char **ret_source);

/* The spelling of a token in a framework, NULL when there is none. */
const struct mechanism_spelling *mechanism_spelling_find(
	const struct mechanism *m, const char *framework, const char *flag);
/* What a raw value stands for; NULL when the spelling does not say, or says it by a rule. */
const char *mechanism_spelling_value(const struct mechanism_spelling *s, const char *raw);

/* The conflict of these two values in this framework, from either side; NULL = none that is known. Those that
 * only hold under a condition are left out. */
const struct mechanism_conflict *mechanisms_conflict(const char *framework, const struct mechanism *a,
	const char *value_a, const struct mechanism *b, const char *value_b);

#endif
