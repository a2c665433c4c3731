/* `infrarsi mcp` in its parts: what the tools share, and the run that they start. */
#ifndef INFRARSI_CLI_MCP_APP_H
#define INFRARSI_CLI_MCP_APP_H

#include <sys/types.h>

#include "base/base.h"
#include "campaign/campaign.h"
#include "cli/cli.h"
#include "mcp/session.h"
#include "mcp/tool.h"

/* ---- the run that the server started: mcp_run.c ---- */

struct mcp_run {
	pid_t pid;        /* 0 = none is at work */
	const char *what; /* "search", "promotion"; NULL = none was started */
	bool has_ended;   /* and has not been told to anybody yet */
	int exit_code;    /* of the last one: 128 + signal where one ended it */
	char *log_path;   /* its output; by malloc */
};
/* argv ends with NULL; the program gets nothing of the server's streams, and TERM when the server dies. */
enum err_code mcp_run_start(struct mcp_run *run, const char *what, const char *const *argv,
	const char *log_path, struct err *reterr) MUST_CHECK;
/* Notices its end. */
void mcp_run_poll(struct mcp_run *run);
/* TERM, as Ctrl-C, and waits until it is gone. */
void mcp_run_stop(struct mcp_run *run);
/* How the last run ended, and what it said last; null: none has. */
json_t *mcp_run_end_to_json(const struct mcp_run *run, bool with_output);
void mcp_run_release(struct mcp_run *run);

/* ---- the server ---- */

enum { MCP_WAITS = 16 };

struct mcp_wait { /* a call of `wait` that has no answer yet */
	int64_t ticket;
	double until_s;
};

struct mcp_app {
	const struct common_options *common;
	bool accept_noise;
	struct mcp_session *session;
	struct mcp_run run;
	struct mcp_wait waits[MCP_WAITS];
	size_t n_waits;
	char *campaign_id; /* that `told` is about; NULL = none yet */
	bool *told;        /* by number of trial: its end is no news */
	size_t n_told;
	char *dir; /* of .infrarsi, once somebody waits */
	/* Of the ledger's files when they were read last: as long as they stay, there is no news. */
	struct {
		int64_t size, mtime_ns;
	} seen[2];
};

/* The campaign as it stands, for reading; an error that says what to do where there is none. Notices first
 * whether the run that the server started has ended. */
enum err_code mcp_open(struct mcp_app *app, struct campaign *ret_campaign, struct err *reterr) MUST_CHECK;
/* True: somebody searches or promotes here now, and will see what is laid down now. dir: of .infrarsi. */
bool mcp_is_at_work(struct mcp_app *app, const char *dir);
/* True: somebody searched or promoted here when `c` was read; false: what stands in it is how it ended. */
bool mcp_was_at_work(const struct mcp_app *app, const struct campaign *c);
/* A trial that ended: new. */
json_t *mcp_trial_to_json(const struct state *s, const struct trial *t);
/* Its row in the table of trials, and below it why it failed; `trial` is the JSON of it. */
void mcp_add_trial(struct strbuf *text, const struct state *s, const struct trial *t, const json_t *trial);
/* "cache=on +01-name", safe to show. */
void mcp_add_changes(struct strbuf *text, const struct state *s, const struct candidate *candidate);

/* Answers calls of `wait` that are due; false: none is left to look after. */
enum err_code mcp_serve_waits(struct mcp_app *app, struct err *reterr) MUST_CHECK;

extern const struct mcp_tool mcp_tools[];
extern const size_t n_mcp_tools;
extern const char mcp_instructions[];

/* The tools themselves; context is a struct mcp_app. */
#define MCP_TOOL_CALL(name)                                                                                  \
	enum err_code name(                                                                                  \
		void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
MCP_TOOL_CALL(mcp_status);
MCP_TOOL_CALL(mcp_history);
MCP_TOOL_CALL(mcp_explain);
MCP_TOOL_CALL(mcp_space);
MCP_TOOL_CALL(mcp_results);
MCP_TOOL_CALL(mcp_propose_settings);
MCP_TOOL_CALL(mcp_propose_patch);
MCP_TOOL_CALL(mcp_start_run);
MCP_TOOL_CALL(mcp_promote);
MCP_TOOL_CALL(mcp_wait);

#endif
