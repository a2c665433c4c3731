/*
 * A campaign at work: one task's folder with everything open. The only place where spec, ledger, runner,
 * verifier and search meet.
 *
 *     struct campaign c;
 *     TRY(campaign_open("infrarsi.yaml", CAMPAIGN_WRITE, &options, &c, reterr));
 *     TRY(doctor_run(&c, ...)); or TRY(search_run(&c, ...));
 *     campaign_close(&c);
 *
 * Opening for writing reconciles receipts and ledger: an execution whose receipt was written counts once, one
 * that has none is recorded as interrupted with the cost it had. Where the campaign's key is here, its ledger
 * is checked entry by entry: one that was changed makes reading fail, and is what `unreadable` says when
 * writing. After every ledger entry call campaign_refresh(); pointers into the old state are then dangling.
 */
#ifndef INFRARSI_CAMPAIGN_CAMPAIGN_H
#define INFRARSI_CAMPAIGN_CAMPAIGN_H

#include "base/base.h"
#include "event/receipt.h"
#include "ledger/ledger.h"
#include "runner/runner.h"
#include "runner/workspace.h"
#include "spec/lock.h"
#include "spec/task.h"
#include "state/state.h"

enum campaign_mode { CAMPAIGN_READ, CAMPAIGN_WRITE };

struct progress_running { /* one of several executions at once */
	int trial;        /* 0 = the reference */
	int update;
};

/* What a person may want to see while it happens. Strings are borrowed for the call. */
enum progress_kind {
	PROGRESS_STAGE,        /* text: what begins ("reference run 2 of 4", "building") */
	PROGRESS_UPDATE,       /* the running execution reported an update, or a second has passed */
	PROGRESS_TRIAL,        /* a trial ended: `trial` */
	PROGRESS_REFUSAL,      /* a candidate or patch was refused before it ran: `refusal` */
	PROGRESS_DUEL,         /* one side of a pair ended: `duel`, `execution` */
	PROGRESS_CONFIRMATION, /* one side of a confirmation ended: `text` (which), `updates`, `execution` */
	PROGRESS_NOTE,         /* text: something worth a line */
};
struct progress {
	enum progress_kind kind;
	const char *text;    /* label of what runs: "trial 9: exploit: matmul=blas" */
	int update, updates; /* of the running execution */
	double elapsed_s;    /* of the running execution */
	int trials_done, trials_budget;
	double best_ln;                         /* incumbent's measured gain; NAN = none */
	double eta_s;                           /* until the trial budget is used; NAN = unknown */
	const struct progress_running *running; /* several at once: all that run; NULL = one alone */
	size_t n_running;
	const struct state *state;
	const struct trial *trial;
	const struct refusal *refusal;
	const struct duel *duel;
	const struct execution *execution;
};
typedef void (*progress_fn)(void *context, const struct progress *p);

struct campaign_options {
	progress_fn progress; /* may be NULL */
	void *progress_context;
	int stop_fd;           /* readable = the user wants to stop; -1 = none */
	const char *self_path; /* this binary */
	const char *hook_dir;  /* folder of the hooks; given to jobs as INFRARSI_HOOK_DIR */
	const char *data_dir;  /* folder of mechanisms.yaml; NULL = the catalogue cannot propose */
	enum sandbox_mode sandbox;
	const struct runner
		*runner; /* NULL = jobs are processes; else this one, borrowed (tests, simulation) */
	/* Called on what the search knows each time the state was loaded: may add priors, the device's
	 * capacity, what is legal. NULL = nothing to add. */
	void (*inform)(void *context, struct search_input *in);
	void *inform_context;
};

struct campaign {
	struct campaign_options options;
	struct arena arena;
	struct task task;
	struct lock lock;
	const char *dir; /* absolute path of .infrarsi */
	struct ledger *ledger;
	/* CAMPAIGN_READ: the process that was at work here when the ledger was about to be read; 0 = unknown.
	 * Where none was, the state is the last word; asked afterwards, it might miss how the work ended. */
	bool was_at_work;
	long worker;
	struct runner runner;
	struct receipt_keys keys;
	struct snapshot snapshot;
	struct state state;
	bool has_state;
	/* Why the ledger cannot be read with this task (a knob that it names is gone, an entry was changed,
	 * ...); code OK = it can. The state is then that of no campaign: all that is possible is to begin a
	 * new one. */
	struct err unreadable;
	/* Patch levers whose diff is in none of the task's folders any more: not proposed again. Set by
	 * patches_gather(). */
	bool *patch_gone;
	size_t n_patch_gone;
	size_t n_clashes_noted, n_strangers_noted; /* what patches_gather() has said already */
	bool early_stop;     /* search trials that are slower than the best so far are stopped; set by
				search_run() */
	int confirm_updates; /* over which a winner is to be confirmed; 0 = it is not; set by search_run() */
	double opened_s;     /* CLOCK_MONOTONIC, for the wall budget of this call */
};

enum err_code campaign_open(const char *task_path, enum campaign_mode mode,
	const struct campaign_options *options, struct campaign *ret_campaign, struct err *reterr) MUST_CHECK;
void campaign_close(struct campaign *c);
/* Loads the state again from the ledger. */
enum err_code campaign_refresh(struct campaign *c, struct err *reterr) MUST_CHECK;
/* Starts a new campaign: id, seed, snapshot, keys; an older one is moved to .infrarsi/old/<id>/ first. */
enum err_code campaign_begin(
	struct campaign *c, uint64_t seed, const char *environment_json, struct err *reterr) MUST_CHECK;
/* ERR_CONTRACT when the task's contract or a frozen file is not what `init` locked. */
enum err_code campaign_check_lock(const struct campaign *c, struct err *reterr) MUST_CHECK;
/* The same, and also when the campaign began under another contract. ERR_STATE when its signing keys are
 * gone, and what campaign.unreadable says. */
enum err_code campaign_check_contract(const struct campaign *c, struct err *reterr) MUST_CHECK;
/* ERR_CONTRACT when a receipt that the ledger names is missing, was changed, or is another one: by name. Part
 * of campaign_check_contract(). */
enum err_code campaign_check_records(const struct campaign *c, struct err *reterr) MUST_CHECK;
/* Appends an entry; the body is consumed (free). Refuses where the records cannot be trusted: the campaign's
 * keys are gone, or its ledger was changed. */
enum err_code campaign_append(struct campaign *c, enum entry_kind kind, int trial, const char *signature,
	char *body_take, int64_t *ret_id, struct err *reterr) MUST_CHECK;
/* The log format that stands in for a hook (`stack: log:<format>`); NULL = the job reports by itself. */
const char *campaign_log_format(const struct campaign *c);
bool campaign_stop_wanted(const struct campaign *c);
void campaign_report_progress(struct campaign *c, struct progress *p);
/* <dir>/<sub>/NNNN.<ext>, absolute; in c->arena. */
const char *campaign_file(struct campaign *c, const char *sub, int64_t number, const char *extension);

#endif
