/*
 * A ledger in a temporary folder, written entry by entry, and the state that it means.
 *
 *     struct world w;
 *     world_open(&w, NULL);
 *     world_begin(&w, 7);
 *     world_references(&w);
 *     int trial = world_register(&w, "{\"threads\":\"4\"}", "[]");
 *     world_finish(&w, ROLE_SEARCH, trial, &(struct ending){.time_s = 0.1});
 *     world_load(&w);
 *     ... w.state ...
 *     world_close(&w);
 *
 * Include cmocka.h first.
 */
#ifndef INFRARSI_TEST_LEDGER_FIXTURE_H
#define INFRARSI_TEST_LEDGER_FIXTURE_H

#include "ledger/ledger.h"
#include "spec/task.h"
#include "state/state.h"

/* Two knobs: threads 1, 2, 4 (ordered), mode slow, fast (forward and backward). 30 updates, warm-up 10. */
extern const char world_task[];

struct world {
	char dir[64];        /* temporary */
	char root[96];       /* of the task: dir, or a folder in it */
	char state_dir[128]; /* .infrarsi */
	char path[160];      /* of the ledger */
	struct task task;
	struct ledger *ledger;
	struct state state;
	bool has_state;
	int n_trials;
	int64_t seq;
	struct err error;
};

struct ending {              /* of one execution; zeroes: valid, 0.2 s/update */
	double time_s;       /* 0 = 0.2; negative = none */
	double median_s;     /* 0 = time_s */
	const char *failure; /* NULL = "none" */
	int failing_item;    /* index of a vetoing failure; 0 = none (ITEM_COMPLETES: -1) */
	double peak_bytes, shortfall_bytes, capacity_bytes; /* 0 = unknown */
	double device_s;                                    /* 0 = 10 */
	double forward_s, backward_s;                       /* phases; 0 = not reported */
	const char *evidence, *evidence_source, *receipt;
	int finalist, pair;
	bool is_candidate_side;
	const char *slot; /* NULL = alone */
	int at_once;
	int seq, execution; /* 0 = the next, and the same */
};

void world_open(struct world *w, const char *task_text); /* NULL: world_task */
/* The task lies in the folder `sub` of w->dir ("" = w->dir itself). */
void world_open_in(struct world *w, const char *sub, const char *task_text);
void world_close(struct world *w);
/* printf-like body. */
int64_t world_entry(struct world *w, enum entry_kind kind, int trial, const char *signature, const char *fmt,
	...) PRINTF_LIKE(5, 6);
void world_begin(struct world *w, unsigned long long seed);
void world_begin_at(
	struct world *w, unsigned long long seed, const char *commit, const char *tree, const char *prefix);
/* Finalist `finalist` is this trial; its duel is judged; promotion is over. */
void world_deliver(struct world *w, int trial, double gain_ln);
/* The same without the end of the promotion. */
void world_judge(struct world *w, int trial, double gain_ln);
/* Four runs around 0.2 s/update, 0.1% apart. */
void world_references(struct world *w);
/* All three, with seed 7. */
void world_measured(struct world *w);
/* A decision and its registration; settings and patches as JSON. */
int world_register(struct world *w, const char *settings, const char *patches);
int64_t world_decide(struct world *w, const char *settings, const char *patches);
int world_register_decided(struct world *w, int64_t decision, const char *settings, const char *patches);
void world_finish(struct world *w, enum receipt_role role, int trial, const struct ending *ending);
void world_release(struct world *w, enum entry_kind kind, const char *role, int trial, double device_s);
void world_propose(struct world *w, const char *digest, const char *name, const char *conflicts);
/* A verdict in which one item fails, or none (as in struct ending), as JSON; by malloc. */
char *verdict_text(int failing_item);
void world_load(struct world *w);
/* The load must fail with ERR_INPUT and say this. */
void world_refused(struct world *w, const char *says);

#endif
