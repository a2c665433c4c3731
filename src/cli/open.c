#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static int stop_pipe[2] = {
	-1, -1}; /* written by the signal handler: the one place where there is no other way */

static void on_stop_signal(int signal_number)
{
	int saved = errno;
	ssize_t ignored = write(stop_pipe[1], "x", 1);
	(void)ignored;
	/* The next one of these ends the program; the supervisor then ends the job. */
	signal(signal_number, SIG_DFL);
	errno = saved;
}

int stop_signal_fd(void)
{
	if (stop_pipe[0] >= 0)
		return stop_pipe[0];
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return stop_pipe[0];
}

/* What belongs to the program lies beside the binary's folder in a source tree, and in share/ once installed.
 */
static const char *own_folder(const char *self, const char *name, struct arena *arena)
{
	static const char *const places[] = {"..", "../share/infrarsi"};
	const char *slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < ARRAY_LEN(places); i++) {
		const char *path =
			arena_printf(arena, "%.*s/%s/%s", (int)(slash - self), self, places[i], name);
		char *real = realpath(path, NULL);
		if (!real)
			continue;
		const char *found = arena_strdup(arena, real);
		free(real);
		return found;
	}
	return NULL;
}

/* Absolute path of this binary; NULL = it cannot be told. */
static const char *self_path(void)
{
	static char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[MAX_OF(n, 0)] = '\0';
	return n < 0 ? NULL : self;
}

const char *cli_catalogue(struct arena *arena)
{
	const char *self = self_path(), *data = self ? own_folder(self, "data", arena) : NULL;
	return data ? arena_printf(arena, "%s/mechanisms.yaml", data) : NULL;
}

enum err_code cli_open(const struct common_options *common, enum campaign_mode mode,
	struct progress_view *view, struct campaign *ret_campaign, struct err *reterr)
{
	static struct arena places; /* lives as long as the program */
	const char *self = self_path();
	if (!self)
		return err_errno(reterr, "cannot tell where this program is");
	const char *hooks = own_folder(self, "hooks", &places), *data = own_folder(self, "data", &places);
	if (!hooks && mode == CAMPAIGN_WRITE)
		return err_set(
			reterr, ERR_STATE, "the hooks folder is missing beside %s; install again", self);
	struct campaign_options options = {
		.progress = view ? progress_view_show : NULL,
		.progress_context = view,
		.stop_fd = mode == CAMPAIGN_WRITE ? stop_signal_fd() : -1,
		.self_path = self,
		.hook_dir = hooks,
		.data_dir = data,
		.sandbox = common->require_sandbox ? SANDBOX_REQUIRED
			   : common->no_sandbox    ? SANDBOX_OFF
						   : SANDBOX_AUTO,
	};
	enum err_code code = campaign_open(common->task_path, mode, &options, ret_campaign, reterr);
	if (code == ERR_NOT_FOUND && reterr && !path_exists(common->task_path))
		return err_set(reterr, code, "%s does not exist; next: infrarsi init, in the job's folder",
			common->task_path);
	return code;
}

enum err_code cli_open_recorded(
	const struct common_options *common, struct campaign *ret_campaign, struct err *reterr)
{
	TRY(cli_open(common, CAMPAIGN_READ, NULL, ret_campaign, reterr));
	enum err_code code =
		ret_campaign->state.has_campaign
			? campaign_check_records(ret_campaign, reterr)
			: err_set(reterr, ERR_STATE, "no campaign here yet; next: infrarsi doctor");
	if (code != OK)
		campaign_close(ret_campaign);
	else if (!ret_campaign->keys.has_hmac)
		fprintf(stderr,
			"infrarsi: the signing key of campaign %s is not here: what follows is shown as "
			"it was found\n",
			ret_campaign->state.campaign_id);
	return code;
}
