/* A whole campaign in a repository of its own, with this program as the job. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "overhead.h"

static enum err_code write_task(const struct shape *shape, const char *dir, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *task = xasprintf("%s/infrarsi.yaml", dir);
	CLEANUP(free_ptr) char *data = xasprintf("%s/data.txt", dir);
	strbuf_addf(&text,
		"version: 1\nname: overhead\nstack: native\n"
		"launch:\n  command: [\"%s\", \"--job\", \"{updates}\", \"%.6f\", \"{turn}\"]\n"
		"contract:\n  updates: %d\n  warmup: %d\n  frozen_files: [\"data.txt\"]\n"
		"knobs:\n  - {name: turn, reference: 0, values: [",
		shape->self, shape->update_s, shape->updates, shape->updates / 3);
	for (int i = 0; i <= shape->repeats; i++)
		strbuf_addf(&text, "%s%d", i ? ", " : "", i);
	strbuf_addf(&text, "]}\nbudget: {trials: %d}\n", shape->repeats);
	TRY(make_dirs(dir, 0755, reterr));
	TRY(file_write_atomic(task, text.buf, text.len, 0644, reterr));
	return file_write_atomic(data, "0\n", 2, 0644, reterr);
}

static enum err_code run_program(const struct shape *shape, const char *dir, const char *command,
	const char *option, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	const char *argv[] = {shape->program, command, option, NULL};
	struct process_run run = {.argv = argv, .dir = dir, .timeout_s = 3600};
	int status;
	TRY(process_run(&run, &output, NULL, &status, reterr));
	return status == 0 ? OK : err_set(reterr, ERR_FAILED, "infrarsi %s failed: %s", command, output.buf);
}

static enum err_code prepare(const struct shape *shape, const char *dir, struct err *reterr)
{
	TRY(write_task(shape, dir, reterr));
	TRY(git_run(dir, NULL, reterr, "init", "-q", ".", NULL));
	TRY(git_run(dir, NULL, reterr, "add", "-A", NULL));
	TRY(git_run(dir, NULL, reterr, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit",
		"-q", "-m", "start", NULL));
	TRY(run_program(shape, dir, "init", NULL, reterr));
	return run_program(shape, dir, "doctor", "--hurry", reterr);
}

/* User and system time of the process alone: its children's are other columns (proc(5)). */
static enum err_code read_cpu(pid_t pid, double *ret_cpu_s, struct err *reterr)
{
	char path[64];
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	TRY(file_read(path, 4096, &text, reterr));
	const char *after_name = strrchr(text.buf, ')');
	unsigned long user, system;
	if (!after_name || sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				   &user, &system) != 2)
		return err_set(reterr, ERR_FAILED, "%s cannot be understood", path);
	*ret_cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return OK;
}

static enum err_code search(const struct shape *shape, const char *dir, double *ret_cpu_s, struct err *reterr)
{
	pid_t pid = fork();
	if (pid < 0)
		return err_errno(reterr, "cannot start %s", shape->program);
	if (pid == 0) {
		if (chdir(dir) == 0 && freopen("/dev/null", "w", stdout))
			execl(shape->program, shape->program, "run", "--search-only", "--accept-noise", NULL);
		_exit(127);
	}
	siginfo_t info;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
		return err_errno(reterr, "cannot wait for %s", shape->program);
	enum err_code code = read_cpu(pid, ret_cpu_s, reterr);
	int status;
	waitpid(pid, &status, 0);
	TRY(code);
	return status == 0 ? OK : err_set(reterr, ERR_FAILED, "infrarsi run failed in %s", dir);
}

enum err_code measure_campaign(const struct shape *shape, double *ret_cpu_per_trial_s, struct err *reterr)
{
	CLEANUP(free_ptr) char *dir = xasprintf("%s/campaign", shape->scratch);
	CLEANUP(free_ptr) char *state = xasprintf("%s/state", shape->scratch);
	double cpu_s = 0;
	setenv("XDG_STATE_HOME", state, 1); /* the keys of a campaign that is thrown away */
	TRY(prepare(shape, dir, reterr));
	TRY(search(shape, dir, &cpu_s, reterr));
	*ret_cpu_per_trial_s = cpu_s / shape->repeats;
	return OK;
}
