/*
 * The command line: a table of commands, one file each: parse, call, print. Only here is anything printed;
 * exit codes are those of DESIGN section 5.
 */
#ifndef INFRARSI_CLI_CLI_H
#define INFRARSI_CLI_CLI_H

#include "base/base.h"
#include "base/memory.h"
#include "campaign/campaign.h"

enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_INTEGER, OPTION_LIST };

struct option_spec {
	const char *name;     /* long option without dashes */
	const char *argument; /* its name in the help; NULL for a flag */
	enum option_type type;
	const char *help;
	size_t offset; /* into the command's own struct of values */
};

struct option_list { /* of an OPTION_LIST */
	const char **items;
	size_t count;
};

/* Values of options that every command has. */
struct common_options {
	const char *task_path;
	bool json, no_sandbox, require_sandbox;
};

struct parsed {
	struct arena arena;
	struct common_options common;
	const char **positional;
	size_t n_positional;
};

struct command {
	const char *name, *summary;
	const char *usage;  /* what follows "infrarsi NAME" */
	const char *detail; /* paragraphs of the help; NULL = none */
	const struct option_spec *options;
	size_t n_options;
	size_t values_size;
	size_t max_positional; /* arguments that are no options */
	int (*run)(const struct parsed *parsed, void *values);
};

extern const struct command command_init, command_doctor, command_run, command_report, command_apply,
	command_verify, command_show, command_explain, command_audit, command_simulate, command_logs,
	command_mcp, command_prompt, command_codemods;

/* Finds and runs a command; the whole of main(). */
int cli_main(int argc, char **argv);
enum err_code options_parse(const struct command *command, int argc, char **argv, struct parsed *parsed,
	void *values, bool *ret_help, struct err *reterr) MUST_CHECK;
bool options_want_json(int argc, char **argv);
void command_print_help(const struct command *command);

/* Prints the error (to stderr, or as JSON to stdout) and returns the exit code. */
int cli_fail(const struct common_options *common, const struct err *e);
/* Prints text to stdout. */
struct strbuf;
void cli_print(const struct strbuf *text);

/* Progress on a terminal (one live line) or as plain lines. */
struct progress_view {
	bool is_terminal, quiet, line_open, header_shown;
	bool without_rows; /* doctor: refused patches are in its own text */
	double last_drawn_s;
	int trials_done, trials_budget; /* of the stage that runs */
	double best_ln, eta_s;
};
void progress_view_init(struct progress_view *view, const struct common_options *common);
void progress_view_show(void *view, const struct progress *p);
void progress_view_end(struct progress_view *view);

/* Ctrl-C and TERM make the descriptor readable; a second one ends the program at once. */
int stop_signal_fd(void);

/* Opens the campaign with everything the command line knows: this binary, hooks, sandbox, progress, Ctrl-C.
 */
enum err_code cli_open(const struct common_options *common, enum campaign_mode mode,
	struct progress_view *view, struct campaign *ret_campaign, struct err *reterr) MUST_CHECK;
/* Path of the mechanism catalogue that belongs to this binary, in the arena; NULL = it is not there. */
const char *cli_catalogue(struct arena *arena);
/* For reading what a campaign recorded; an error where none has begun. */
enum err_code cli_open_recorded(
	const struct common_options *common, struct campaign *ret_campaign, struct err *reterr) MUST_CHECK;

/* Which parts of the search take part: fields and options of every command that searches. */
struct switch_options {
	const char *operators_off, *operators_on, *starts; /* NULL = not given */
};
#define SWITCH_OPTIONS(values, member)                                                                       \
	{"operators-off", "NAME,...", OPTION_TEXT, "leave operators out of the search; 'list' shows them",   \
		offsetof(struct values, member.operators_off)},                                              \
		{"operators-on", "NAME,...", OPTION_TEXT, "let operators take part that are off by default", \
			offsetof(struct values, member.operators_on)},                                       \
	{                                                                                                    \
		"starts", "NAME,...", OPTION_TEXT, "what runs first: experience (default), prior, random",   \
			offsetof(struct values, member.starts)                                               \
	}
enum err_code cli_read_switches(const struct switch_options *o, const char *strategy,
	struct search_switches *ret_switches, struct err *reterr) MUST_CHECK;
/* Prints operators and starts where one of the options is "list". */
bool cli_list_parts(const struct switch_options *o, const struct common_options *common);

/* ERR_INPUT with the names when there is no such strategy; NULL is the default one. */
enum err_code cli_check_strategy(const char *name, struct err *reterr) MUST_CHECK;
/* --stop-when-not-worth beside a strategy that has no models to tell by: ERR_INPUT. */
enum err_code cli_check_worth(bool stop_when_not_worth, const char *strategy, struct err *reterr) MUST_CHECK;
/* Prints the strategies where the name is "list". */
bool cli_list_strategies(const char *name, const struct common_options *common);

#endif
