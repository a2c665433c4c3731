#include <infrarsi_hook.h>

#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "overhead.h"

/* A batch as a small language model has it; the paper's jobs have more tokens and far longer steps. */
enum { ROWS = 32, TOKENS = 128, WARM_UP = 100, CALLS = 4000 };

static void start(struct infrarsi *hook)
{
	uint64_t shape[2] = {768, 768};
	infrarsi_param(hook, "w", shape, 2, "fp32");
	infrarsi_start(hook, &(struct infrarsi_start_info){.stack = "native",
				     .layers = 12,
				     .d_attn = 768,
				     .seq_len = TOKENS,
				     .global_batch = ROWS,
				     .storage = "fp32",
				     .compute = "fp32"});
}

static void send_update(struct infrarsi *hook, int i, double step_s)
{
	infrarsi_update(hook, &(struct infrarsi_update_info){.loss = 3 + 1.0 / i,
				      .grad_norm = 1 / (3 + 0.01 * i),
				      .lr = 3e-4,
				      .opt_step = (uint64_t)i,
				      .tokens = (uint64_t)ROWS * TOKENS,
				      .step_s = step_s,
				      .mem = UINT64_C(61203283968)});
}

int waiting_job(int updates, double update_s)
{
	struct infrarsi hook;
	int32_t ids[TOKENS];
	struct timespec step = {(time_t)update_s, (long)(1e9 * (update_s - (double)(time_t)update_s))};
	if (infrarsi_open(&hook) != 0)
		return 1;
	start(&hook);
	for (int i = 1; i <= updates; i++) {
		double begun_s = clock_now_s();
		for (int r = 0; r < ROWS; r++) {
			for (int k = 0; k < TOKENS; k++)
				ids[k] = (i * ROWS + r) * TOKENS + k;
			infrarsi_row(&hook, ids, TOKENS);
		}
		nanosleep(&step, NULL);
		send_update(&hook, i, clock_now_s() - begun_s);
		printf("update %d\n", i);
	}
	infrarsi_end(&hook);
	return 0;
}

static void *drain(void *fifo)
{
	char bytes[65536];
	int fd = open(fifo, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void time_calls(struct infrarsi *hook, double *seconds)
{
	static int32_t ids[ROWS][TOKENS];
	for (int i = 1 - WARM_UP; i <= CALLS; i++) {
		for (int r = 0; r < ROWS; r++)
			for (int k = 0; k < TOKENS; k++)
				ids[r][k] = (i + WARM_UP) * r + k * 31 % 50257;
		double begun_s = clock_now_s();
		for (int r = 0; r < ROWS; r++)
			infrarsi_row(hook, ids[r], TOKENS);
		send_update(hook, i + WARM_UP, 0.07);
		if (i > 0)
			seconds[i - 1] = clock_now_s() - begun_s;
	}
}

enum err_code measure_hook(const char *scratch, struct hook_cost *ret_cost, struct err *reterr)
{
	CLEANUP(free_ptr) char *fifo = xasprintf("%s/events", scratch);
	CLEANUP(free_ptr) double *seconds = xcalloc(CALLS, sizeof(*seconds));
	struct infrarsi hook;
	pthread_t reader;
	if (mkfifo(fifo, 0600) != 0 || pthread_create(&reader, NULL, drain, fifo) != 0)
		return err_errno(reterr, "cannot set up %s", fifo);
	setenv("INFRARSI_EVENT_PATH", fifo, 1);
	/* The reader may not have opened it yet. */
	for (int tries = 0; infrarsi_open(&hook) != 0 && tries < 1000; tries++)
		usleep(1000);
	unsetenv("INFRARSI_EVENT_PATH");
	if (hook.fd < 0)
		return err_errno(reterr, "the hook cannot open %s", fifo);
	start(&hook);
	time_calls(&hook, seconds);
	infrarsi_end(&hook);
	pthread_join(reader, NULL);
	qsort(seconds, CALLS, sizeof(*seconds), compare);
	*ret_cost = (struct hook_cost){
		ROWS, TOKENS, CALLS, seconds[CALLS / 2], seconds[CALLS * 9 / 10], seconds[CALLS * 99 / 100]};
	return OK;
}
