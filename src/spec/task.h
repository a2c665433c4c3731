/*
 * The task: what infrarsi.yaml declares, checked. Everything lives in the task's arena and is constant after
 * task_load(). Unknown keys, duplicate keys, bad types and impossible values are errors with line and column.
 *
 *     struct task task;
 *     TRY(task_load("infrarsi.yaml", &task, reterr));
 *     ...
 *     task_release(&task);
 *
 * Durations are seconds, memory is bytes, tolerances are fractions (3% = 0.03), predicted speed-ups are ln
 * ratios.
 */
#ifndef INFRARSI_SPEC_TASK_H
#define INFRARSI_SPEC_TASK_H

#include "base/base.h"
#include "base/memory.h"
#include "spec/switches.h"

enum loss_rule { LOSS_WINDOW_MEAN, LOSS_PER_UPDATE };
enum launcher_kind { LAUNCH_LOCAL, LAUNCH_TORCHRUN, LAUNCH_MPIRUN, LAUNCH_SLURM, LAUNCH_COMMAND };
enum proposer_kind {
	PROPOSE_PATCHES,
	PROPOSE_CATALOGUE,
	PROPOSE_OPENAI,
	PROPOSE_ANTHROPIC,
	PROPOSE_COMMAND,
	PROPOSE_REPLAY,
	N_PROPOSER_KINDS
};
extern const char *const proposer_kind_names[N_PROPOSER_KINDS + 1]; /* ends with NULL */
/* What ends a search before its budget does. */
enum search_stop { STOP_AT_BUDGET, STOP_NOT_WORTH };

struct place {
	int line, column; /* in the task file, 1-based */
};

struct string_list {
	const char **items;
	size_t count;
};

struct setting {
	const char *text; /* as written: what {knob} becomes */
	const char *flag; /* what {knob_flag} becomes, from `flag:`; NULL = none given */
	bool is_number;
	double number;
	bool has_prior_gain, has_prior_memory;
	double prior_gain_ln;      /* ln speed-up against the reference setting */
	double prior_memory_bytes; /* peak memory against the reference setting */
	struct place place;
};

struct knob {
	const char *name;
	struct setting *settings;
	size_t n_settings;
	size_t reference; /* index into settings */
	bool ordered;
	bool is_build;             /* named by a build template: a change means a rebuild */
	const char *mechanism;     /* canonical id or NULL */
	struct string_list phases; /* forward, backward, optimizer, data, collective; empty = unknown */
	struct place place;
};

struct expression { /* a Lua 5.4 expression over knob values and contract numbers */
	const char *text;
	struct place place;
};

struct derived {
	const char *name;
	struct expression value;
};

struct env_template {
	const char *name, *value;
	struct place place;
};

struct config_edit { /* launch.config: set dotted keys of a JSON or YAML file */
	const char *file;
	struct env_template *sets; /* name = dotted key, value = template */
	size_t n_sets;
};

struct proposer {
	enum proposer_kind kind;
	const char *name;            /* [a-z0-9-]+, unique in the task; the kind where none is given */
	const char *dir;             /* patches: a folder; NULL = none */
	struct string_list branches; /* patches: of git */
	/* openai, anthropic */
	const char *base_url, *model;
	const char *key_env; /* variable that holds the key; NULL = the server wants none */
	int max_output_tokens;
	double usd_per_million_in, usd_per_million_out; /* tokens; 0 = free or unknown */
	/* command: argv, a path with a slash in it begins at the task's folder; variables that it sees */
	struct string_list command, pass_env;
	/* replay: a transcript (propose/transcript.h); only the order counts when lenient */
	const char *file;
	bool is_lenient;
	/* whoever is asked: openai, anthropic, command, replay */
	int every;          /* finished trials between two questions */
	int patches;        /* wanted in an answer; 0 = none */
	double timeout_s;   /* of one attempt; not of replay */
	double tokens, usd; /* that all its answers may cost; 0 = no limit */
	bool may_accept;    /* its opinion lets a patch be promoted that waits for a review */
	struct place place;
};
/* It is asked questions, in the course of a search. */
bool proposer_is_asked(const struct proposer *p);

struct patch_limits {
	int max_lines; /* that one patch may add and remove on top of its base; 0 = no limit */
};

struct start { /* a configuration the user already believes in: setting index per knob, reference where not
		  named */
	size_t *settings;
	struct place place;
};

/* What one of several trials at once has to itself. */
struct device_slot {
	struct string_list devices; /* as the job's framework names them: "0", "GPU-8f3c..." */
	const char *cpus;           /* "0-3,8"; NULL = any */
	struct place place;
};

struct launch {
	struct string_list command; /* templates */
	struct env_template *env;
	size_t n_env;
	struct string_list pass_env;
	struct config_edit *configs;
	size_t n_configs;
	enum launcher_kind launcher;
	int nodes, devices_per_node;
	double timeout_s, startup_timeout_s;
	struct device_slot *slots;   /* alike, and disjoint; a job that runs alone has the first */
	size_t n_slots;              /* 0 = none declared */
	struct string_list slot_env; /* variables that say a slot's devices */
	bool network;                /* the launcher needs it; default false */
};

struct contract {
	int updates, warmup; /* window = warmup+1 .. updates */
	double global_batch, seq_len;
	struct expression *invariants;
	size_t n_invariants;
	double loss_tolerance;
	enum loss_rule loss_rule;
	double grad_norm_tolerance;
	struct string_list precision;                    /* empty = no menu */
	double memory_cap_bytes;                         /* 0 = none declared */
	struct string_list frozen_files, editable_files; /* glob patterns */
	struct place *frozen_places;                     /* of each frozen pattern */
	double horizon_updates;                          /* 0 = not declared */
	struct string_list eval_command;
	double eval_tolerance;
	int checkpoint_save_at; /* 0 = none */
	struct string_list checkpoint_command;
	struct string_list *tests; /* user_tests: argv each */
	size_t n_tests;
};

struct budget {
	int trials;
	double device_hours, usd, wall_s; /* 0 = no limit */
};

enum { CONFIRM_UPDATES_MAX = 100000 };
struct task {
	struct arena arena;
	const char *path; /* of the task file, as given */
	const char *root; /* absolute folder that holds it */
	const char *name, *stack;
	struct string_list build; /* templates; empty = no build step */
	struct env_template *build_env;
	size_t n_build_env;
	struct launch launch;
	struct contract contract;
	struct knob *knobs;
	size_t n_knobs;
	struct derived *derived;
	size_t n_derived;
	struct expression *conflicts; /* true = illegal */
	size_t n_conflicts;
	struct start *starts;
	size_t n_starts;
	struct proposer *proposers;
	size_t n_proposers;
	struct patch_limits patches;
	struct budget budget;
	struct search_switches search; /* starts: always given */
	bool early_stop;               /* search.early_stop */
	double give_up_at;             /* search.give_up_at: times the reference; 0 = never */
	enum search_stop search_stop;  /* search.stop */
	int confirm_updates;           /* search.confirm; 0 = no confirmation */
	char digest[65];               /* SHA-256 of the task file's bytes */
};

enum err_code task_load(const char *path, struct task *ret_task, struct err *reterr) MUST_CHECK;
/* The same from memory (fuzzing, tests); `path` is what messages name, `root` the folder it stands for. */
enum err_code task_parse(const char *path, const char *root, const char *text, size_t length,
	struct task *ret_task, struct err *reterr) MUST_CHECK;
void task_release(struct task *task);

const struct knob *task_find_knob(const struct task *task, const char *name);
/* One line for each field of the task file: name, type, default, meaning; the same table that drives the
 * parser. */
struct strbuf;
void task_describe_fields(struct strbuf *text);

#endif
