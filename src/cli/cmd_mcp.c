#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/mcp_app.h"

/* While somebody waits, or a run of ours may end. */
enum { TICK_MS = 200, READ_BYTES = 64 * 1024 };
/* A pipe that can be written to takes so much without blocking (PIPE_BUF; a socket takes more). */
enum { WRITE_BYTES = 4096 };

struct mcp_values {
	bool accept_noise;
};

/* A client that does not read holds the server up, as it may; a signal still ends it. */
static enum err_code write_out(void *context, const char *bytes, size_t length, struct err *reterr)
{
	const int *stop_fd = context;
	while (length) {
		struct pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {*stop_fd, POLLIN, 0}};
		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			return err_errno(reterr, "cannot wait for the client");
		if (!fds[0].revents && fds[1].revents)
			return err_set(reterr, ERR_INTERRUPTED, "stopped");
		if (!fds[0].revents)
			continue;
		ssize_t n = write(STDOUT_FILENO, bytes, MIN_OF(length, (size_t)WRITE_BYTES));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_errno(reterr, "cannot write to the client");
		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		}
	}
	return OK;
}

/* *ret_more false: the client has closed its end. */
static enum err_code read_in(struct mcp_app *app, bool *ret_more, struct err *reterr)
{
	static char bytes[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return OK;
	if (n < 0)
		return err_errno(reterr, "cannot read from the client");
	*ret_more = n > 0;
	return mcp_session_feed(app->session, bytes, (size_t)n, reterr);
}

static enum err_code serve(struct mcp_app *app, int stop_fd, struct err *reterr)
{
	bool more = true;
	while (more) {
		struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {stop_fd, POLLIN, 0}};
		int timeout_ms = app->n_waits || app->run.pid ? TICK_MS : -1;
		if (poll(fds, ARRAY_LEN(fds), timeout_ms) < 0 && errno != EINTR)
			return err_errno(reterr, "cannot wait for the client");
		if (fds[1].revents)
			return err_set(reterr, ERR_INTERRUPTED, "stopped");
		if (fds[0].revents)
			TRY(read_in(app, &more, reterr));
		mcp_run_poll(&app->run);
		TRY(mcp_serve_waits(app, reterr));
	}
	return OK;
}

static void app_release(struct mcp_app *app)
{
	mcp_session_free(app->session);
	mcp_run_release(&app->run);
	free(app->campaign_id);
	free(app->told);
	free(app->dir);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct mcp_values *v = values;
	struct mcp_app app = {.common = &parsed->common, .accept_noise = v->accept_noise};
	struct err e = ERR_INIT;
	int stop_fd = stop_signal_fd();
	const struct mcp_server server = {.name = "infrarsi",
		.title = "InfraRSI",
		.version = INFRARSI_VERSION,
		.instructions = mcp_instructions,
		.tools = mcp_tools,
		.n_tools = n_mcp_tools,
		.tool_context = &app,
		.write = write_out,
		.write_context = &stop_fd};
	if (isatty(STDIN_FILENO))
		fprintf(stderr, "infrarsi: an agent's program starts this and speaks with it (docs/mcp.md); "
				"Ctrl-D ends "
				"it\n");
	/* A client that is gone is an error of writing. */
	signal(SIGPIPE, SIG_IGN);
	app.session = mcp_session_new(&server);
	enum err_code code = serve(&app, stop_fd, &e);
	mcp_run_stop(&app.run);
	if (code == OK || code == ERR_INTERRUPTED)
		mcp_session_end(app.session);
	app_release(&app);
	/* Nothing but the protocol goes to standard output, errors neither. */
	const struct common_options to_stderr = {0};
	return code == OK ? 0 : cli_fail(&to_stderr, &e);
}

static const struct option_spec options[] = {
	{"accept-noise", NULL, OPTION_FLAG, "runs go on although doctor calls this machine too noisy",
		offsetof(struct mcp_values, accept_noise)},
};

const struct command command_mcp = {
	.name = "mcp",
	.summary = "let an agent propose, run and follow trials: a Model Context Protocol server",
	.usage = "",
	.detail = "Speaks with the agent's program over standard input and output, and ends when that closes "
		  "them; "
		  "a run\nthat it started then ends, too, as after Ctrl-C. What an agent can do, and what "
		  "stays for "
		  "a person:\ndocs/mcp.md.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct mcp_values),
	.run = run,
};
