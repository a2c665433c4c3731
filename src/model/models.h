/*
 * The models of controller U (docs/search.md; CONTROLLER rules R1 to R4): time surrogate, memory ledger,
 * blame ledger. All are pure functions of the observations, in plain C arithmetic (no BLAS, no fused
 * contraction), so the same ledger gives the same decision on every machine.
 *
 * Gains are y = ln(T_reference / T_candidate). Memory is bytes. A prediction uses scratch space of its model
 * (neighbours of one configuration are cheap): one thread at a time.
 */
#ifndef INFRARSI_MODEL_MODELS_H
#define INFRARSI_MODEL_MODELS_H

#include "base/base.h"
#include "base/memory.h"

struct lever_prior {              /* of one setting; the reference setting's is ignored */
	double predicted_gain_ln; /* as declared; 0 = nothing declared */
	double predicted_sd_ln;   /* as declared: widens the prior, never narrows it; 0 = nothing declared */
	int source;             /* who declared it: 0 = the task and its patches, else a proposer's number */
	double amdahl_cap_ln;   /* upper bound -ln(1 - share); INFINITY = none known */
	double declared_bytes;  /* 0 = nothing declared */
	double memory_sd_bytes; /* as declared: widens, never narrows; experienced: the sd itself. 0 = none */
	bool experienced;       /* from the bank: mean and sd below replace the shrunk prediction */
	double mean_ln, sd_ln;
};

struct lever {
	const char *name;
	bool is_patch, ordered;
	int n_settings, reference;
	struct lever_prior *prior; /* n_settings */
	/* n_settings; for explanations, and where all of them are numbers they are the lever's axis (axes.h);
	 * NULL = none. */
	const char *const *setting_names;
	/* What a failure's text may call it besides its name: mechanism, flag, files and functions of a
	 * patch. */
	const char *const *words;
	size_t n_words;
};

struct lever_pair {
	int lever_a, setting_a, lever_b, setting_b;
};

/*
 * OBSERVED_OK: it ran, and at most memory_cap rejected it: an exact memory reading and a passing run, blamed
 * on nothing, but not incumbent_allowed. OBSERVED_INVALID: it ran to its end, and a layer from L2 on rejected
 * it.
 */
enum observed_status { OBSERVED_OK, OBSERVED_OOM, OBSERVED_CRASH, OBSERVED_HANG, OBSERVED_INVALID };

struct observation {
	const int *setting; /* n_levers */
	enum observed_status status;
	bool has_gain; /* a usable step time, also of a run rejected only by memory_cap or L4 */
	double gain_ln;
	double extra_sd_ln;     /* 0.03 for such a run; widened where mean and median disagree */
	bool incumbent_allowed; /* valid */
	double peak_bytes;      /* NAN = not read */
	double shortfall_bytes; /* of an OOM; NAN = unknown; negative = more free than asked for: no bound */
	bool thrash;            /* near capacity without a peak reading */
	const struct lever_pair *hints; /* pairs that somebody who read the failure's text names */
	size_t n_hints;
	const char *evidence; /* the text itself: the line that shows the failure; NULL = none */
};

/* A run of the same job elsewhere (another size, other devices), on this task's levers. */
struct sibling_run {
	int sibling;         /* 0, 1, ...: nearest first; runs of one sibling share what is its own */
	const double *value; /* n_levers: the number on a lever with a number axis, else the setting's index;
				-1 = it is none of this task's */
	double gain_ln;      /* against any base of the sibling; NAN = no time */
	double peak_bytes;   /* NAN = not read */
	bool out_of_memory;
	double capacity_bytes;
};

/* A model borrows what its input points to: levers, observations and pairs outlive it. */
struct model_input {
	const struct lever *levers;
	int n_levers;
	const struct observation
		*observations; /* the reference (all levers at reference, y = 0) is not among them */
	size_t n_observations;
	const struct lever_pair *declared_pairs; /* enabling pairs */
	size_t n_declared_pairs;
	const struct lever_pair *known_conflicts; /* of the catalogue or the bank: expected to fail */
	size_t n_known_conflicts;
	double sigma_pair;
	int reference_runs;               /* R; 0 = the reference does not fit: the first valid run with a
					     step time is the provisional time reference */
	double capacity_bytes;            /* C; INFINITY = unknown: memory never limits */
	double memory_cap_bytes;          /* INFINITY = none */
	double reference_peak_bytes;      /* NAN = unknown */
	double reference_shortfall_bytes; /* where the reference does not fit; NAN = unknown */
	const struct sibling_run *sibling_runs; /* experience */
	size_t n_sibling_runs;
	bool keep_predictions; /* no slope columns: trials never rescale what was predicted as a whole */
};

struct time_model;
enum err_code time_model_fit(
	const struct model_input *in, struct time_model **ret_model, struct err *reterr) MUST_CHECK;
void time_model_free(struct time_model *m);
/* predicted_peak: m-hat of the candidate (thrash feature); NAN = no memory model. */
void time_model_predict(struct time_model *m, const int *setting, double predicted_peak_bytes,
	double *ret_mean, double *ret_sd);
/* Posterior of one setting's own coefficient (marginal). */
void time_model_setting(struct time_model *m, int lever, int setting, double *ret_mean, double *ret_sd);
struct belief_change { /* of a number: before any run, and now */
	double prior_mean, prior_sd, mean, sd;
};
/* What changing one lever alone gains, with its part of the shared columns, in the configuration where y = 0:
 * the reference, or, where that does not fit, the first valid run. */
void time_model_effect(struct time_model *m, int lever, int setting, struct belief_change *ret_gain);
/* The share of the gains that a source declares which comes true, of knobs or of patches, by their slope
 * column. All 0: of a proposer that predicts nothing. */
void time_model_declared_share(
	struct time_model *m, int source, bool of_patches, struct belief_change *ret_share);

struct memory_model;
enum err_code memory_model_fit(
	const struct model_input *in, struct memory_model **ret_model, struct err *reterr) MUST_CHECK;
void memory_model_free(struct memory_model *m);
/* P(fits): 1 where capacity is unknown. */
void memory_model_predict(struct memory_model *m, const int *setting, double *ret_peak_bytes,
	double *ret_sd_bytes, double *ret_p_fits);
void memory_model_setting(
	const struct memory_model *m, int lever, int setting, double *ret_mean_bytes, double *ret_sd_bytes);

struct blame_model;
enum err_code blame_model_fit(
	const struct model_input *in, struct blame_model **ret_model, struct err *reterr) MUST_CHECK;
void blame_model_free(struct blame_model *m);
double blame_model_p_ok(const struct blame_model *m, const int *setting);
struct suspicion { /* a set of one to three settings */
	int n, lever[3], setting[3];
	double q;
	bool banned, hinted;
};
/* Strongest first; the array belongs to the model. */
const struct suspicion *blame_model_suspicions(const struct blame_model *m, size_t *ret_count);
/* The observation is a failure that contains this set. */
bool blame_model_explains(const struct blame_model *m, const struct suspicion *suspicion, size_t observation);
/* Observation indices whose failure no hypothesis explains: transient. */
bool blame_model_is_transient(const struct blame_model *m, size_t observation);

#endif
