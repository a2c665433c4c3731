#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/checks.h"

enum { OUTPUT_CAP_BYTES = 64 << 20 };

struct check { /* one command under way */
	struct campaign *c;
	const struct preparation *p;
	const struct checks_request *request;
	const char *name;
	const char *dir;
	const struct string_list *command;
	struct run_outcome outcome;
	char log[4200];
};

bool checks_want_reference(const struct campaign *c)
{
	return c->task.contract.eval_command.count > 0;
}

/* The job's own environment with its event path and nonce replaced; the run's folder is where its checkpoint
 * lies. */
static const char **environment(const struct check *check, struct arena *arena, const char *control)
{
	size_t n = 0, kept = 0;
	while (check->p->job_env[n])
		n++;
	const char **env = arena_array(arena, n + 3, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		const char *item = check->p->job_env[i], *value = strchr(item, '=') + 1;
		if (strncmp(item, "INFRARSI_EVENT_PATH=", 20) == 0)
			continue;
		/* The run's own home may hold what the run left there for this command. */
		bool is_scratch = check->p->scratch && strcmp(value, check->p->scratch) == 0;
		env[kept++] = is_scratch
				      ? arena_printf(arena, "%.*s%s/home", (int)(value - item), item, control)
				      : item;
	}
	env[kept++] = arena_printf(arena, "INFRARSI_EVENT_PATH=%s/events", control);
	env[kept++] = arena_printf(arena, "INFRARSI_RUN_DIR=%s", check->request->run_dir);
	return env;
}

static enum err_code run_command(struct check *check, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	const char *control = arena_printf(&arena, "%s/%s", check->request->work_dir, check->name);
	const char **argv = arena_array(&arena, check->command->count + 1, sizeof(char *));
	for (size_t i = 0; i < check->command->count; i++)
		argv[i] = check->command->items[i];
	snprintf(check->log, sizeof(check->log), "%s/log", control);
	struct run_request request = {
		.dir = check->dir,
		.argv = argv,
		.env = environment(check, &arena, control),
		.control_dir = control,
		.log_path = check->log,
		.cpus = check->p->cpus,
		.network = check->c->task.launch.network,
		.sandbox = check->c->options.sandbox,
		.read_only = check->p->frozen,
		.hidden = check->p->hidden,
		.shown = check->p->shown,
		.limits = {.wall_s = check->c->task.launch.timeout_s},
	};
	const char *scratch = arena_printf(&arena, "%s/home", control);
	enum err_code code = make_dirs(check->p->scratch ? scratch : control, 0700, reterr);
	if (code == OK)
		code = runner_run(&check->c->runner, &request, check->request->progress,
			check->request->context, &check->outcome, reterr);
	arena_release(&arena);
	return code;
}

static bool ended_well(const struct run_outcome *o)
{
	return o->end == RUN_EXITED && o->exit_status == 0;
}

/* The evaluation's result: the last number on the last line that is not empty. */
static double last_number(const char *log)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	double value = NAN;
	if (file_read(log, OUTPUT_CAP_BYTES, &text, NULL) != OK)
		return NAN;
	while (text.len && strchr(" \t\r\n", text.buf[text.len - 1]))
		text.buf[--text.len] = '\0';
	const char *line = text.buf;
	for (const char *p = text.buf; *p; p++)
		if (*p == '\n')
			line = p + 1;
	char *save = NULL;
	CLEANUP(free_ptr) char *words = xstrdup(line);
	for (char *word = strtok_r(words, " \t,;:=", &save); word; word = strtok_r(NULL, " \t,;:=", &save)) {
		double number;
		if (parse_number(word, &number))
			value = number;
	}
	return value;
}

double checks_reference_eval(const struct state *s, enum receipt_role role)
{
	const struct duel *winner = state_winner(s);
	bool is_longer = role == ROLE_LONGER_REFERENCE || role == ROLE_CONFIRMATION;
	const struct execution *runs = is_longer && winner ? winner->open.references : s->references;
	size_t n_runs = !is_longer ? s->n_references : winner ? winner->open.n_references : 0;
	double sum = 0;
	int n = 0;
	for (size_t i = 0; i < n_runs; i++)
		if (isfinite(runs[i].eval_value)) {
			sum += runs[i].eval_value;
			n++;
		}
	return n ? sum / n : NAN;
}

static double relative_difference(double value, double reference)
{
	if (value == reference)
		return 0;
	return fabs(value - reference) /
	       fabs(reference); /* infinite against a reference of zero: never within tolerance */
}

static struct opt_number measured(double value)
{
	return (struct opt_number){true, value};
}

static enum err_code evaluate(struct check *check, struct receipt *r, double *ret_eval, struct err *reterr)
{
	TRY(run_command(check, reterr));
	double value = ended_well(&check->outcome) ? last_number(check->log) : NAN;
	double reference = check->request->reference_eval;
	/* The first reference run is what the others are compared with. An evaluation that fails is as far
	 * off as can be. */
	if (isfinite(value) && !isfinite(reference))
		r->eval_difference = measured(0);
	else
		r->eval_difference =
			measured(isfinite(value) ? relative_difference(value, reference) : INFINITY);
	*ret_eval = value;
	return OK;
}

static double loss_of_update(const struct receipt *r, int update)
{
	for (size_t i = 0; i < r->n_updates; i++)
		if (r->updates[i].update == update && r->updates[i].loss.has)
			return r->updates[i].loss.value;
	return NAN;
}

/* Losses after resuming against the run's own at the same updates: the relative difference of their means.
 * Infinite where anything but exactly the updates after the checkpoint was reported: a job that begins anew
 * has not resumed. */
static double resumed_difference(const struct check *check, const struct receipt *r)
{
	const struct contract *contract = &check->p->task.contract;
	double resumed = 0, straight = 0;
	int n = 0;
	for (size_t i = 0; i < check->outcome.n_lines; i++) {
		struct event event;
		const struct run_line *line = &check->outcome.lines[i];
		if (event_parse(line->text, line->length, &event, NULL) != OK || event.kind != EVENT_UPDATE ||
			event.rank != 0)
			continue;
		if (event.update != contract->checkpoint_save_at + 1 + n)
			return INFINITY;
		double expected = loss_of_update(r, event.update);
		if (!event.loss.has || !isfinite(event.loss.value) || !isfinite(expected))
			return INFINITY;
		resumed += event.loss.value;
		straight += expected;
		n++;
	}
	bool complete = n > 0 && n == contract->updates - contract->checkpoint_save_at;
	return complete ? relative_difference(resumed / n, straight / n) : INFINITY;
}

static enum err_code resume(struct check *check, struct receipt *r, struct err *reterr)
{
	TRY(run_command(check, reterr));
	r->resume_difference =
		measured(ended_well(&check->outcome) ? resumed_difference(check, r) : INFINITY);
	return OK;
}

/* Done with one command: its cost is kept, its outcome is let go. */
static bool account(struct check *check, const struct receipt *r, double *device_s)
{
	bool stopped = check->outcome.end == RUN_STOPPED;
	*device_s += (check->outcome.end_s - check->outcome.spawn_s) * r->device_count;
	run_outcome_release(&check->outcome);
	check->outcome = (struct run_outcome){0};
	return stopped;
}

static enum err_code run_tests(
	struct check *check, struct receipt *r, double *device_s, bool *stopped, struct err *reterr)
{
	const struct contract *contract = &check->p->task.contract;
	bool all = true;
	for (size_t i = 0; i < contract->n_tests && !*stopped; i++) {
		CLEANUP(free_ptr) char *name = xasprintf("test%zu", i + 1);
		check->name = name;
		check->command = &contract->tests[i];
		TRY(run_command(check, reterr));
		all = all && ended_well(&check->outcome);
		*stopped = account(check, r, device_s);
	}
	r->tests_passed = measured(all ? 1 : 0);
	return OK;
}

enum err_code checks_run(struct campaign *c, const struct preparation *p,
	const struct checks_request *request, struct receipt *r, double *ret_eval, double *ret_device_s,
	bool *ret_stopped, struct err *reterr)
{
	const struct contract *contract = &p->task.contract;
	struct check check = {.c = c, .p = p, .request = request, .dir = request->run_dir};
	bool stopped = false;
	*ret_eval = NAN;
	if (contract->n_tests)
		TRY(run_tests(&check, r, ret_device_s, &stopped, reterr));
	if (contract->checkpoint_command.count && !stopped) {
		check.name = "resume";
		check.command = &contract->checkpoint_command;
		TRY(resume(&check, r, reterr));
		stopped = account(&check, r, ret_device_s);
	}
	if (contract->eval_command.count && request->reference_dir && !stopped) {
		check.name = "eval";
		check.command = &contract->eval_command;
		check.dir = request->reference_dir;
		TRY(evaluate(&check, r, ret_eval, reterr));
		stopped = account(&check, r, ret_device_s);
	}
	*ret_stopped = stopped;
	return OK;
}
