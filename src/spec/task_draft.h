/* Between the parts of the task's reader: task.c drives, task_fields*.c have the tables, task_values.c reads
 * what a table cannot say, task_check.c and task_reach.c check what needs the whole task; task_slots.c and
 * task_propose.c do both for their part. */
#ifndef INFRARSI_SPEC_TASK_DRAFT_H
#define INFRARSI_SPEC_TASK_DRAFT_H

#include "base/base.h"
#include "spec/fields.h"
#include "spec/task.h"

/* Bounds on what is quadratic in them. */
enum { TASK_VERSION = 1, TASK_MAX_SETTINGS = 4096, TASK_MAX_EXPRESSIONS = 1000 };

struct expression_set;

struct task_draft {
	struct task task; /* first: the field tables' offsets into struct task hold for the draft */
	int version;
	const struct tree_node *starts; /* read when the knobs are known */
	struct search_draft {
		struct string_list operators_off, operators_on, starts; /* known names */
		bool early_stop;
		enum search_stop stop;
		int confirm_updates;
		double give_up_at;
	} search;
	const struct tree_node *root;
	struct reader reader;
};

extern const struct field_table task_table, knob_table, prior_table, proposer_table;

struct knob_draft {
	struct knob knob;
	const struct tree_node *reference, *flags, *priors; /* read when the settings are known */
};

struct prior_draft { /* NAN = not given */
	double speedup, memory_bytes;
};

enum replay_mode { REPLAY_STRICT, REPLAY_LENIENT };

struct proposer_draft {
	struct proposer proposer; /* first: the table's offsets into it hold for the draft */
	enum replay_mode mode;
};

enum err_code read_expression(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_derived(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_environment(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_environment_name(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_pattern(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_listed_word(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code refuse_config(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_setting(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_knob(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_proposer(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_slot(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_starts(struct task_draft *draft, struct err *reterr) MUST_CHECK;
enum err_code read_switches(struct task_draft *draft, struct err *reterr) MUST_CHECK;

/* The node at a path of keys such as "launch.nodes"; NULL when absent. */
const struct tree_node *draft_node(const struct task_draft *draft, const char *path);
enum err_code place_error(const struct task *task, struct place place, struct err *reterr, const char *fmt,
	...) PRINTF_LIKE(4, 5);

/* Everything that needs the whole task; sets is_build. */
enum err_code task_check(struct task_draft *draft, struct err *reterr) MUST_CHECK;
/* Slots that are alike and share nothing. */
enum err_code task_check_slots(const struct task_draft *draft, struct err *reterr) MUST_CHECK;
/* Their number, names, prices, files; gives a name to each that has none. */
enum err_code task_check_proposers(struct task_draft *draft, struct err *reterr) MUST_CHECK;
/* A proposer may come up with patches. */
bool task_has_patches(const struct task *task);
/* Every setting of every knob must be part of at least one legal configuration. */
enum err_code task_check_reach(
	const struct task *task, struct expression_set *set, struct err *reterr) MUST_CHECK;

#endif
