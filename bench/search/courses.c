#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "simulate/fast_campaign.h"

static volatile sig_atomic_t stop_wanted; /* set by the handler of Ctrl-C */

static void on_stop(int signal_number)
{
	(void)signal_number;
	stop_wanted = 1;
}

/* Seeds outermost: what is stopped early has covered all jobs as far as it came. */
size_t course_index(const struct bench *b, size_t job, int seed, int strategy)
{
	size_t n = (size_t)b->options->n_strategies;
	return ((size_t)(seed - 1) * b->n_jobs + job) * n + (size_t)strategy;
}

static struct course *course_at(const struct bench *b, size_t index)
{
	return (struct course *)((char *)b->courses + index * b->course_bytes);
}

const struct course *bench_course(const struct bench *b, size_t job, int seed, int strategy)
{
	return course_at(b, course_index(b, job, seed, strategy));
}

static void keep(const struct fast_campaign *c, struct course *ret)
{
	ret->n_trials = c->n_trials;
	ret->reference_run_s = c->reference_s / SIMULATED_REFERENCE_RUNS;
	for (int i = 0; i < c->n_trials; i++)
		ret->trials[i] = (struct course_trial){c->trials[i].true_ln, c->trials[i].device_s};
	for (int i = 0; i < c->n_outcomes; i++) {
		const struct fast_outcome *o = &c->outcomes[i];
		int n_failed = 0;
		for (int t = 0; t < o->n_trials; t++)
			n_failed += c->trials[t].status != TRIAL_VALID;
		ret->outcomes[i] = (struct course_outcome){
			o->n_trials, n_failed, o->delivered, o->true_ln, o->claimed_ln, o->promotion_s};
	}
}

static void run_course(const struct bench *b, size_t index)
{
	const struct bench_options *o = b->options;
	struct course *course = course_at(b, index);
	size_t n = (size_t)o->n_strategies, job = index / n % b->n_jobs;
	struct fast_options options = {.job = &b->jobs[job].job,
		.strategy = o->rules[index % n],
		.switches = o->switches[index % n],
		.seed = index / n / b->n_jobs + 1,
		.with_experience = o->siblings,
		.budgets = o->budgets,
		.n_budgets = o->n_budgets};
	struct fast_campaign campaign;
	struct err e = ERR_INIT;
	if (fast_campaign_run(&options, &campaign, &e) == OK) {
		keep(&campaign, course);
		fast_campaign_release(&campaign);
	} else {
		char text[sizeof(e.file) + sizeof(e.message) + 32];
		err_format(&e, text, sizeof(text));
		snprintf(course->error, sizeof(course->error), "%.*s", ERROR_SIZE - 1, text);
	}
	__atomic_store_n(&course->done, 1, __ATOMIC_RELEASE);
}

static NORETURN void work(const struct bench *b, size_t *next)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	for (;;) {
		size_t index = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
		if (index >= b->n_courses)
			_exit(0);
		run_course(b, index);
	}
}

static size_t count_done(const struct bench *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n_courses; i++)
		n += (size_t)__atomic_load_n(&course_at(b, i)->done, __ATOMIC_ACQUIRE);
	return n;
}

static void show_progress(const struct bench *b, double begun_s)
{
	size_t done = count_done(b);
	double spent_s = clock_now_s() - begun_s;
	fprintf(stderr, "\r%zu of %zu courses, %.0f s", done, b->n_courses, spent_s);
	if (done)
		fprintf(stderr, ", about %.0f s left   ",
			spent_s / (double)done * (double)(b->n_courses - done));
	fflush(stderr);
}

/* Waits for the workers; those of a stopped run are ended. False when one of them died. */
static bool wait_for(const struct bench *b, pid_t *workers, int n)
{
	double begun_s = clock_now_s();
	bool all_well = true, ended = false;
	int left = n;
	while (left) {
		struct timespec pause = {0, 200000000};
		for (int i = 0; i < n && stop_wanted && !ended; i++)
			if (workers[i] > 0)
				kill(workers[i], SIGKILL);
		ended |= stop_wanted;
		for (int i = 0; i < n; i++) {
			int status;
			if (workers[i] <= 0 || waitpid(workers[i], &status, WNOHANG) != workers[i])
				continue;
			all_well &= ended || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
			workers[i] = 0;
			left--;
		}
		show_progress(b, begun_s);
		if (left)
			nanosleep(&pause, NULL);
	}
	fprintf(stderr, "\n");
	return all_well;
}

static enum err_code start(const struct bench *b, size_t *next, pid_t *workers, int n, struct err *reterr)
{
	for (int i = 0; i < n; i++) {
		workers[i] = fork();
		if (workers[i] < 0) {
			stop_wanted = 1;
			enum err_code code = err_errno(reterr, "cannot start a worker");
			(void)wait_for(b, workers, i);
			return code;
		}
		if (workers[i] == 0)
			work(b, next);
	}
	return OK;
}

static enum err_code first_error(const struct bench *b, struct err *reterr)
{
	for (size_t i = 0; i < b->n_courses; i++)
		if (*course_at(b, i)->error)
			return err_set(reterr, ERR_FAILED, "%s: %s",
				b->jobs[i / (size_t)b->options->n_strategies % b->n_jobs].job.name,
				course_at(b, i)->error);
	return OK;
}

static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

enum err_code bench_run(struct bench *b, bool *ret_complete, struct err *reterr)
{
	const struct bench_options *o = b->options;
	int most = o->budgets[o->n_budgets - 1];
	b->n_courses = b->n_jobs * (size_t)o->seeds * (size_t)o->n_strategies;
	b->course_bytes = sizeof(struct course) + (size_t)most * sizeof(struct course_trial);
	b->courses = share(b->n_courses * b->course_bytes);
	size_t *next = share(sizeof(*next));
	if (!b->courses || !next)
		return err_errno(reterr, "cannot share memory for %zu courses", b->n_courses);
	CLEANUP(free_ptr) pid_t *workers = xcalloc((size_t)o->jobs, sizeof(*workers));
	struct sigaction action = {.sa_handler = on_stop};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	TRY(start(b, next, workers, o->jobs, reterr));
	if (!wait_for(b, workers, o->jobs))
		return err_set(reterr, ERR_FAILED, "a worker died");
	*ret_complete = count_done(b) == b->n_courses;
	return first_error(b, reterr);
}
