/*
 * What a ledger means: a pure function of (task, ledger, seed). Trials, reference runs, duels, cost, and the
 * models' input. Used by the run loop to go on, by the report to show, by tests as "a ledger and the
 * candidate it must lead to".
 *
 *     struct state state;
 *     TRY(state_load(&task, ledger, &state, reterr));
 *     ... state.trials, state.noise, state.space ...
 *     state_release(&state);
 *
 * Only the entries of the last campaign in the ledger count. All strings live in state.arena. Seconds are
 * device-seconds (wall seconds times devices) where the name says so.
 */
#ifndef INFRARSI_STATE_STATE_H
#define INFRARSI_STATE_STATE_H

#include "base/base.h"
#include "base/memory.h"
#include "event/receipt.h"
#include "ledger/ledger.h"
#include "search/search.h"
#include "spec/space.h"
#include "stats/noise.h"
#include "verify/verify.h"

struct task;

enum trial_status {
	TRIAL_REGISTERED, /* registered or (`started`) running; no end recorded */
	TRIAL_VALID,
	TRIAL_OOM,
	TRIAL_CRASHED, /* crash, build failure, killed, data, collective */
	TRIAL_HUNG,    /* timeout, stall */
	TRIAL_INVALID, /* ran, and the verdict rejects it */
	TRIAL_SLOWER,  /* stopped early, as too slow */
	TRIAL_INTERRUPTED,
	TRIAL_TRANSIENT,
	N_TRIAL_STATUSES
};
extern const char *const trial_status_names[N_TRIAL_STATUSES];

struct execution { /* one finished execution: of a trial, the reference, the profile, or one side of a duel */
	enum receipt_role role;
	const char *receipt_path; /* relative to .infrarsi */
	const char *receipt_digest;
	const char *log_path;
	bool has_time;
	double time_s; /* window mean per update, the harness's clock */
	double median_s;
	double slow_s;  /* of one that was stopped before its window: what its updates took at least; NAN =
			   none */
	double *step_s; /* the window's step times */
	size_t n_steps;
	int updates_seen;
	double gain_ln;                     /* against the reference mean; NAN without time */
	double peak_bytes, shortfall_bytes; /* NAN = unknown */
	double capacity_bytes;              /* of the device, as an OOM reported it; NAN = unknown */
	double device_s;                    /* cost */
	double eval_value;                  /* of the contract's evaluation; NAN = none */
	double build_s;                     /* wall seconds of a build that was not cached */
	enum failure_class failure;
	const char *evidence; /* escaped line, "" = none */
	const char *evidence_source;
	struct verdict verdict;
	double phase_s[N_PHASES]; /* NAN = not reported */
	int finalist, pair;       /* duels: rank (1-based) and pair (0-based) */
	bool is_candidate_side;
	int at_once;      /* executions that were let run beside each other, this one included; 1 = alone */
	const char *slot; /* the devices it was given, as in a struct slot_base; "" = no particular ones */
};

/* The reference on one device slot while all the others ran it, too: what trials there are compared with. */
struct slot_base {
	const char *slot;
	int at_once, runs;
	double mean_s;     /* exp of the mean of the ln window means */
	double sigma_pair; /* of one paired ln difference there, pooled over all slots that were used at once
			    */
};

struct trial {
	int number;
	enum trial_status status;
	bool started;
	int finished_as; /* 1 = the first trial that finished; 0 = it has not */
	struct candidate candidate;
	const char *signature;
	const char *strategy, *operators, *reason;                 /* of its decision */
	double predicted_ln, predicted_sd_ln, score, p_fits, p_ok; /* of its decision; NAN = none */
	double predicted_peak_bytes, incumbent_ln;                 /* the same */
	int base_trial;          /* it was derived from; 0 = the reference */
	struct execution run;    /* where finished */
	const char *reason_text; /* interrupted, transient: why */
	double device_s;
	unsigned accepted_reviews; /* kinds of improbable results that hold it no more, as bits; a person
				      accepts all */
	bool lost_duel;            /* measured in a duel of an earlier promotion and not delivered */
};

struct refusal {                        /* refused before it ran */
	const char *name, *by, *reason; /* "05-skip-clipping", "audit", ... */
};

/* Two patches that are never stacked: indices of levers behind the knobs. */
struct patch_clash {
	size_t first, second;
	const char *reason; /* which hunks */
};

/* How a winner did over more updates than the contract's, against the reference over as many. */
enum confirmation_outcome {
	CONFIRMATION_NONE,       /* not over */
	CONFIRMATION_HELD,       /* as fast as in the duel, as far as one pair can tell */
	CONFIRMATION_SMALLER,    /* less, and still faster beyond noise: this gain is what is delivered */
	CONFIRMATION_REFUSED,    /* not valid, or not faster: not delivered */
	CONFIRMATION_IMPOSSIBLE, /* the reference does not pass over that many updates */
	N_CONFIRMATION_OUTCOMES
};
extern const char *const confirmation_names[N_CONFIRMATION_OUTCOMES];

enum { LONGER_REFERENCES = 2 }; /* one says nothing of how far two runs of the job differ by themselves */
struct confirmation {
	int updates; /* 0 = nobody asked for one */
	enum confirmation_outcome outcome;
	struct execution references[LONGER_REFERENCES], candidate; /* receipt_path NULL where not run yet */
	size_t n_references;                                       /* usable ones */
	int reference_failures;
	double gain_ln, low_ln, high_ln; /* 95% interval; NAN = not measured */
	const char *reason;              /* of refused and impossible; else "" */
};

struct duel {
	int finalist;      /* rank, 1-based */
	int trial;         /* number of the trial it re-tests */
	double claimed_ln; /* what the search believed of it when it became a finalist */
	struct execution *reference_runs, *candidate_runs; /* by pair; receipt_path NULL where not run yet */
	size_t n_pairs;                                    /* wanted */
	int reference_failures; /* reference runs without a usable time: a fault of the host */
	bool finished;          /* judged: its result is recorded */
	bool valid;             /* every candidate run valid */
	struct duel_result result;
	struct verdict verdict;           /* of the last candidate run, with speed_reproduces decided */
	struct confirmation confirmation; /* the one over most updates that is over */
	struct confirmation open;         /* the one that is under way */
};

struct gain { /* ln, with its 95% interval */
	double ln, low_ln, high_ln;
};
/* What is delivered of a duel that was won: what it measured, or less where more updates showed less. */
struct gain duel_gain(const struct duel *d);
/* Pairs of runs behind that gain. */
int duel_gain_pairs(const struct duel *d);

/* Why a search ended before its number of trials was used. */
enum search_over_why {
	SEARCH_OVER_NONE,
	SEARCH_OVER_NOT_WORTH,    /* another trial costs more than it is expected to save */
	SEARCH_OVER_DEVICE_HOURS, /* no room beside what is kept for promotion */
	SEARCH_OVER_WALL,
	SEARCH_OVER_EXHAUSTED, /* every legal candidate has been tried */
	N_SEARCH_OVER_WHYS
};
extern const char *const search_over_names[N_SEARCH_OVER_WHYS];
struct search_over {
	enum search_over_why why;
	const char *text; /* for a person, as it was recorded */
};

struct proposer_record {             /* somebody whose suggestions are in the campaign, asked or not */
	const char *name;            /* of the task's proposer; "mcp", ... where it came from outside */
	int answers;                 /* that are in the ledger, asked for or not */
	int questions;               /* that were asked */
	int asked_after;             /* finished trials when it was asked last */
	int unanswered;              /* of those: questions that brought nothing */
	bool is_outsider;            /* it handed something in by the inbox */
	bool failed;                 /* the last question brought nothing */
	const char *failure;         /* why; "" = it did not */
	double tokens, usd, seconds; /* of all questions */
};

struct suggestion {                 /* a configuration that somebody proposed */
	int source;                 /* as in struct lever_prior: proposers[source - 1] */
	int after;                  /* finished trials when it was made */
	bool measure;               /* a person's agent wants it run, whatever the search makes of it */
	struct candidate candidate; /* in the arena */
	double predicted_ln, predicted_bytes; /* NAN = none given */
	const char *reason;                   /* "" = none */
	int trial;                            /* that ran it; 0 = none so far */
};

struct issued_prior { /* what somebody expects of one setting against the reference */
	int source, after;
	int lever, setting;
	double gain_ln, gain_sd_ln, memory_bytes, memory_sd_bytes; /* NAN = none given */
	const char *reason;
};

struct opinion { /* on a patch that waits for a review */
	int source;
	size_t patch;
	bool accept;
	bool was_shown; /* the patch was in the question, whole */
	const char *reason;
};

struct cost { /* device-seconds, every failed, rejected and aborted execution included */
	double reference_s, profile_s, search_s, promotion_s, build_s;
	double tokens, usd;
};

enum { CONFIRMING_STANDING = -1 };
struct state {
	struct arena arena;
	const struct task *task;
	struct space space;
	bool has_campaign;
	const char *campaign_id, *task_digest, *contract_digest, *commit, *tree, *prefix;
	const char *environment_json; /* machine and probes, from doctor; "" = none */
	const char *hooks_digest;     /* of the harness's hooks when the campaign began; "" = not recorded */
	uint64_t seed;
	int64_t next_seq;         /* of executions and receipts: beyond every one that was ever begun */
	int64_t last_receipt_seq; /* 0 = there is no receipt */
	const char *last_receipt_digest;
	const char **patch_paths;   /* of each patch lever's diff, relative to .infrarsi */
	const char **patch_reviews; /* what the audit wants a person to look at in it; "" = nothing */
	bool *patch_accepted;       /* a person looked and accepted it (infrarsi audit --accept) */
	int *patch_sources; /* who made it: 0 = the task's folders and branches, else as a suggestion's */
	struct proposer_record *proposers; /* in the order in which they first said something */
	size_t n_proposers;
	struct suggestion *suggestions; /* in the order in which they were made */
	size_t n_suggestions;
	struct issued_prior *priors; /* the same; a later one replaces an earlier one of its setting */
	size_t n_priors;
	struct lever_pair *conflicts; /* expected, of the catalogue */
	size_t n_conflicts;
	struct opinion *opinions;
	size_t n_opinions;
	struct patch_clash *clashes;
	size_t n_clashes;
	struct execution *references;
	size_t n_references;
	struct execution *slot_runs; /* of the reference, on all slots at once */
	size_t n_slot_runs;
	struct slot_base *slot_bases;
	size_t n_slot_bases;
	bool has_profile;
	struct execution profile;
	bool has_noise;
	struct noise noise;                          /* over the valid reference runs */
	double reference_peak_bytes, capacity_bytes; /* NAN = unknown */
	struct trial *trials; /* in order of number, interrupted and transient ones included */
	size_t n_trials;
	int n_counted; /* trials that used budget: finished ones */
	int n_decisions;
	bool has_pending_decision; /* decided and not registered: taken up again on resume */
	struct decision pending;
	int64_t pending_id;
	struct refusal *refusals;
	size_t n_refusals;
	struct duel *duels;
	size_t n_duels;
	int n_promotions_before; /* promotions that were reopened after duels: each halves what errors may
				    cost */
	bool finished;           /* promotion is over: delivered or 1.00x */
	int delivered_finalist;  /* index into duels + 1; 0 = none */
	/* Delivered by a promotion that was reopened since, with its runs: it stands until another candidate
	 * is delivered in its place. */
	bool has_standing;
	struct duel standing;
	int confirming;     /* the finalist that is being confirmed; CONFIRMING_STANDING, or 0 = nobody */
	int confirm_wanted; /* over how many updates run was told to confirm winners; 0 = it was not told */
	/* A standing winner that was refused over more updates. */
	bool has_withdrawn;
	struct duel withdrawn;
	struct cost cost;
	struct search_over
		search_over; /* of the search as it stands; none once a trial or a patch came after it */
	const char *first_utc, *last_utc;
	/* For the models; built on loading. */
	struct search_input search;
	int *observation_trial; /* observation index -> index into trials */
};

/* ledger NULL: one without entries. ERR_INPUT names the entry that is not as it should be. */
enum err_code state_load(const struct task *task, struct ledger *ledger, struct state *ret_state,
	struct err *reterr) MUST_CHECK;
void state_release(struct state *s);

/* The winner that is delivered, or will be when promotion is over; the one that is being confirmed first.
 * NULL = none. */
const struct duel *state_winner(const struct state *s);
/* Index into proposers; -1 = nothing of that name is in the campaign. */
int state_find_proposer(const struct state *s, const char *name);
/* "the task" for 0, else the proposer's name. */
const char *state_source_name(const struct state *s, int source);
/* ERR_CONTRACT when the stored diff of a patch lever is not the one that entered the campaign. dir: of
 * .infrarsi. */
enum err_code state_check_diff(
	const struct state *s, size_t patch, const char *dir, struct err *reterr) MUST_CHECK;
/* True when a patch of the trial waits for a person: it may run, and is not promoted before it is accepted.
 */
bool state_waits_for_review(const struct state *s, const struct trial *t);
/* A verdict of the trial's candidate names something improbable that nobody has accepted. */
bool trial_is_held(const struct trial *t, const struct verdict *v);
/* The duel of what the campaign has delivered, now or in an earlier promotion that still stands; NULL: the
 * reference stays. */
const struct duel *state_delivered(const struct state *s);
/* NULL: the reference has not been measured there, with so many running at once. */
const struct slot_base *state_slot_base(const struct state *s, const char *slot, int at_once);
/* Seconds an update of the reference under the conditions of the execution; NAN = not measured. */
double state_reference_s(const struct state *s, const struct execution *run);
/* How often executions of the candidate of this trial ended in a fault of the host. */
int state_count_transients(const struct state *s, int trial);
/* Index into trials of the incumbent by posterior mean; -1 = the reference. */
enum err_code state_incumbent(
	const struct state *s, int *ret_trial, double *ret_mean_ln, struct err *reterr) MUST_CHECK;
/* What a trial that begins now is held against (stats/early_stop.h), on a slot while so many run at once
 * (slot is not looked at for 1). ERR_STATE before the reference was measured. */
struct early_stop_terms;
enum err_code state_early_stop_terms(const struct state *s, const char *slot, int at_once,
	struct early_stop_terms *ret_terms, struct err *reterr) MUST_CHECK;
/* Phase shares of an update from the profile run: fraction per phase, the rest in *ret_other; false without a
 * profile. */
bool state_phase_shares(const struct state *s, double ret_shares[N_PHASES], double *ret_other);

/* The space's levers with priors and Amdahl caps, observations, visited signatures, user starts: fills
 * state->search from what else is in the state. Part of state_load(); for states that are built without a
 * ledger (simulation). */
enum err_code state_build_search_input(struct state *s, struct err *reterr) MUST_CHECK;

/* Bodies of entries that several writers share; JSON text by malloc. */
struct execution_record {
	const struct receipt *receipt;
	const struct verdict *verdict;
	const char *receipt_path, *log_path;
	const struct window_stats *stats;
	double build_s;
	double checks_s;   /* device-seconds of the conditional checks */
	double eval_value; /* the evaluation's result; NAN = none */
	double slow_s;     /* as in struct execution */
	int finalist, pair;
	bool is_candidate_side;
	int64_t execution; /* its number as it was started */
	const char *slot;  /* NULL or "" = none */
	int at_once;
};
char *state_finished_body(const struct execution_record *record);

#endif
