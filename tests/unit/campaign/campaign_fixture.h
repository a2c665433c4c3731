/*
 * Whole campaigns without a job: a git repository with a task in a temporary folder, and a runner that
 * answers from a table. One knob decides which row answers: its value is the row's index.
 *
 *     struct stage s;
 *     stage_open(&s, rows, n_rows, NULL);
 *     stage_campaign(&s);                 opens, begins, doctor
 *     search_run(&s.c, &s.run, &s.error);
 *     stage_close(&s);
 *
 * The command `./evaluate` prints 2.5 and takes 3 seconds; a build `./build --row N` ends as its row says,
 * any other well.
 *
 * Include cmocka.h first.
 */
#ifndef INFRARSI_TEST_CAMPAIGN_FIXTURE_H
#define INFRARSI_TEST_CAMPAIGN_FIXTURE_H

#include "campaign/campaign.h"
#include "campaign/stages.h"

enum answer { ANSWER_RUN, ANSWER_CRASH, ANSWER_OOM, ANSWER_HANG, ANSWER_WRONG_DATA };

struct row {
	double time_s; /* per update */
	enum answer answer;
	int runs_well; /* answers so only this often, then with the next two; 0 = always */
	double later_s;
	enum answer later;
	int build_faults; /* so many of its builds meet a full disk */
};

struct stage {
	char dir[64]; /* temporary; the repository is dir/repo */
	char root[96], task_path[128], state_dir[128];
	const struct row *rows;
	size_t n_rows;
	int served[8]; /* executions by row */
	int built[8];  /* builds by row */
	int executions;
	int stop_at;    /* this execution is stopped as by Ctrl-C (1-based); 0 = none */
	int fault_from; /* from this one on the host fails; 0 = none */
	int progress_calls;
	int notes;
	struct runner runner;
	struct campaign c;
	bool is_open;
	struct run_options run;
	struct err error;
};

/* Row 0 is the reference. more_yaml: appended to the task; NULL = nothing. */
void stage_open(struct stage *s, const struct row *rows, size_t n_rows, const char *more_yaml);
void stage_close(struct stage *s);
enum err_code stage_try_open(struct stage *s, enum campaign_mode mode);
void stage_open_campaign(struct stage *s);
void stage_close_campaign(struct stage *s);
/* Opens, begins a campaign with seed 7 where there is none (without probing the machine), and runs doctor. */
enum err_code stage_doctor(struct stage *s);
void stage_campaign(struct stage *s);
/* Doctor where it is needed, search, promotion. */
enum err_code stage_go_on(struct stage *s);
void stage_write(const struct stage *s, const char *name, const char *text);
/* Writes the lock anew from the task file. */
void stage_lock(struct stage *s);
void stage_expect(const struct stage *s, enum err_code code, enum err_code wanted, const char *says);

#endif
