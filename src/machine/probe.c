/*
 * The probe: one worker a core, bound to it. All workers run a burst between two barriers; the best burst
 * counts. A GEMM's rate is work over CPU time, added up over the workers: cores are not shared, so what
 * another program takes away is no property of the machine. The triad's is over the time from the first start
 * to the last end, because the memory is shared: a worker that ran alone would see more of it.
 *
 * Phases and the share of the budget that each may have used at its end: GEMM 0.40, touching the triad's
 * memory 0.55, triad 0.85. The rest is for starting and for giving the memory back.
 */
#include "base/base.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "machine/machine.h"
#include "machine/machine_int.h"

enum {
	GEMM_DEPTH = 160,      /* A and B together at most 30 KiB: within the first-level cache */
	TOUCH_BYTES = 1 << 20, /* between two looks at the clock */
	TRIAD_ARRAYS = 3,      /* x = y + s * z */
	STEADY_BURSTS = 25,    /* so many without a better one, and the best is found */
};
static const double gemm_share = 0.40, touch_share = 0.55, triad_share = 0.85;
static const double burst_s = 0.008, improvement = 1.002;
static const double triad_min_bytes = 3 * 64.0 * 1048576, triad_cache_multiple = 2,
		    triad_memory_share = 0.125;

struct worker;
struct probe {
	hwloc_topology_t topology;
	const struct probe_kernel *kernel;
	double start_s, budget_s;
	struct worker *workers;
	size_t n_workers;
	pthread_mutex_t gate; /* held until all workers exist */
	bool aborted;         /* written under the gate */
	pthread_barrier_t barrier;
	/* Written by the leader between two barriers, read by all after the second. */
	bool done;
	size_t repeats;
	size_t triad_doubles; /* of one worker's part of one array */
	double best_rate;
	int bursts_since_best;
	double peak_flops, bandwidth_bytes_per_s;
};

struct worker {
	struct probe *probe;
	size_t index;
	pthread_t thread;
	double *part[TRIAD_ARRAYS]; /* this worker's part of the arrays, mapped by it and so on its node */
	size_t mapped_bytes;        /* of each */
	/* Written before a barrier, read by the leader behind it. */
	size_t touched_doubles;
	double burst_start_s, burst_end_s, burst_cpu_s;
};

static double elapsed_share(const struct probe *p)
{
	return (clock_now_s() - p->start_s) / p->budget_s;
}

static double thread_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double burst_length_s(const struct probe *p)
{
	double start = INFINITY, end = 0;
	for (size_t i = 0; i < p->n_workers; i++) {
		start = fmin(start, p->workers[i].burst_start_s);
		end = fmax(end, p->workers[i].burst_end_s);
	}
	return fmax(end - start, 1e-9);
}

/* Worker 0 only, as all leader_*(). rate: of the burst that has just ended. */
static void leader_note(struct probe *p, double rate)
{
	if (rate > p->best_rate * improvement)
		p->bursts_since_best = 0;
	else
		p->bursts_since_best++;
	p->best_rate = fmax(p->best_rate, rate);
}

static void leader_new_phase(struct probe *p)
{
	p->done = false;
	p->best_rate = 0;
	p->bursts_since_best = 0;
}

/* After a GEMM burst: sizes the next one and says when to stop. */
static void leader_after_gemm(struct probe *p)
{
	double rate = 0, least_s = INFINITY;
	const struct probe_kernel *k = p->kernel;
	double flops = 2.0 * (double)(k->rows * k->columns * GEMM_DEPTH) * (double)p->repeats;
	for (size_t i = 0; i < p->n_workers; i++) {
		rate += flops / p->workers[i].burst_cpu_s;
		least_s = fmin(least_s, p->workers[i].burst_cpu_s);
	}
	bool full = least_s >= 0.5 * burst_s;
	if (full)
		leader_note(p, rate);
	else
		p->repeats *= least_s > 0.05 * burst_s ? 2 : 8;
	p->done = elapsed_share(p) + burst_length_s(p) / p->budget_s > gemm_share ||
		  p->bursts_since_best >= STEADY_BURSTS;
	if (!full && p->done) /* a budget too small for a full burst: what there is counts */
		leader_note(p, rate);
	p->peak_flops = p->best_rate;
}

static void run_gemm(struct worker *w)
{
	struct probe *p = w->probe;
	const struct probe_kernel *k = p->kernel;
	_Alignas(64) float a[PROBE_ROWS_MAX * GEMM_DEPTH], c[PROBE_ROWS_MAX * PROBE_COLUMNS_MAX];
	_Alignas(64) float b[PROBE_COLUMNS_MAX * GEMM_DEPTH];
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = 0.5F + (float)(i % 7);
	for (size_t i = 0; i < ARRAY_LEN(b); i++)
		b[i] = 1.0F - 0.25F * (float)(i % 5);
	for (;;) {
		pthread_barrier_wait(&p->barrier);
		if (p->done)
			return;
		w->burst_start_s = clock_now_s();
		double cpu_s = thread_cpu_s();
		k->gemm(a, b, c, GEMM_DEPTH, p->repeats);
		w->burst_cpu_s = fmax(thread_cpu_s() - cpu_s, 1e-9);
		w->burst_end_s = clock_now_s();
		pthread_barrier_wait(&p->barrier);
		if (w->index == 0)
			leader_after_gemm(p);
	}
}

/* Maps this worker's parts and touches them side by side until done or out of time. */
static void map_and_touch(struct worker *w)
{
	struct probe *p = w->probe;
	size_t bytes = p->triad_doubles * sizeof(double);
	w->mapped_bytes = bytes;
	for (size_t i = 0; i < TRIAD_ARRAYS; i++) {
		void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		w->part[i] = map == MAP_FAILED ? NULL : map;
		if (!w->part[i])
			return;
		(void)madvise(map, bytes, MADV_HUGEPAGE);
	}
	for (size_t at = 0; at < bytes && (at == 0 || elapsed_share(p) < touch_share); at += TOUCH_BYTES) {
		size_t n = MIN_OF(bytes - at, (size_t)TOUCH_BYTES);
		for (size_t i = 0; i < TRIAD_ARRAYS; i++)
			memset((char *)w->part[i] + at, 0, n);
		w->touched_doubles = (at + n) / sizeof(double);
	}
}

static void leader_after_triad(struct probe *p)
{
	double took_s = burst_length_s(p);
	double bytes = (double)(TRIAD_ARRAYS * sizeof(double) * p->triad_doubles * p->n_workers);
	leader_note(p, bytes / took_s);
	p->bandwidth_bytes_per_s = p->best_rate;
	p->done = elapsed_share(p) + took_s / p->budget_s > triad_share ||
		  p->bursts_since_best >= STEADY_BURSTS;
}

static void run_triad(struct worker *w)
{
	struct probe *p = w->probe;
	for (;;) {
		pthread_barrier_wait(&p->barrier);
		if (p->done)
			return;
		w->burst_start_s = clock_now_s();
		p->kernel->triad(w->part[0], w->part[1], w->part[2], 3.0, p->triad_doubles);
		w->burst_end_s = clock_now_s();
		pthread_barrier_wait(&p->barrier);
		if (w->index == 0)
			leader_after_triad(p);
	}
}

static void bind_to_core(const struct worker *w)
{
	hwloc_topology_t topology = w->probe->topology;
	hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)w->index);
	if (!core)
		core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)w->index);
	hwloc_cpuset_t one = core ? hwloc_bitmap_dup(core->cpuset) : NULL;
	if (!one)
		return;
	hwloc_bitmap_singlify(one);
	/* Unbound workers measure as well, only less steadily. */
	(void)hwloc_set_cpubind(topology, one, HWLOC_CPUBIND_THREAD);
	hwloc_bitmap_free(one);
}

/* All take part with what the slowest had time to touch. */
static void leader_agree_on_size(struct probe *p)
{
	for (size_t i = 0; i < p->n_workers; i++)
		p->triad_doubles = MIN_OF(p->triad_doubles, p->workers[i].touched_doubles);
	p->triad_doubles -= p->triad_doubles % 8;
	leader_new_phase(p);
	p->done = p->triad_doubles == 0;
}

static void *worker_main(void *argument)
{
	struct worker *w = argument;
	struct probe *p = w->probe;
	pthread_mutex_lock(&p->gate);
	bool aborted = p->aborted;
	pthread_mutex_unlock(&p->gate);
	if (aborted)
		return NULL;
	bind_to_core(w);
	run_gemm(w);
	map_and_touch(w);
	pthread_barrier_wait(&p->barrier);
	if (w->index == 0)
		leader_agree_on_size(p);
	run_triad(w);
	for (size_t i = 0; i < TRIAD_ARRAYS; i++)
		if (w->part[i])
			munmap(w->part[i], w->mapped_bytes);
	return NULL;
}

/* Doubles of one worker's part of one array. */
static size_t choose_triad_size(const struct probe *p)
{
	double total = fmax(triad_min_bytes, triad_cache_multiple * topology_l3_bytes(p->topology));
	double memory = memory_usable_bytes();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (memory > 0)
		total = fmin(total, triad_memory_share * memory);
	if (file_read("/proc/meminfo", FILE_CAP_DEFAULT, &text, NULL) == OK) {
		double available = meminfo_bytes(text.buf, "MemAvailable");
		if (available > 0)
			total = fmin(total, 0.5 * available);
	}
	size_t doubles = (size_t)(total / (double)(TRIAD_ARRAYS * sizeof(double) * p->n_workers));
	return MAX_OF(doubles - doubles % 8, (size_t)8);
}

static const struct probe_kernel *choose_kernel(void)
{
	size_t n;
	const struct probe_kernel *kernels = probe_kernels(&n);
	size_t i = 0;
	while (i + 1 < n && !kernels[i].supported())
		i++;
	return &kernels[i];
}

/* Starts all workers or none, and waits for them. */
static enum err_code run_workers(struct probe *p, struct err *reterr)
{
	sigset_t all, old;
	sigfillset(&all);
	int code = pthread_barrier_init(&p->barrier, NULL, (unsigned)p->n_workers);
	if (code != 0)
		return err_set(reterr, ERR_IO, "cannot start the probe: %s", strerror(code));
	pthread_mutex_lock(&p->gate);
	pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are the command's, not a worker's */
	size_t started = 0;
	while (code == 0 && started < p->n_workers) {
		struct worker *w = &p->workers[started];
		*w = (struct worker){.probe = p, .index = started};
		code = pthread_create(&w->thread, NULL, worker_main, w);
		started += code == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->aborted = code != 0;
	pthread_mutex_unlock(&p->gate);
	for (size_t i = 0; i < started; i++)
		pthread_join(p->workers[i].thread, NULL);
	pthread_barrier_destroy(&p->barrier);
	if (code != 0)
		return err_set(
			reterr, ERR_IO, "cannot start %zu probe threads: %s", p->n_workers, strerror(code));
	if (!(p->bandwidth_bytes_per_s > 0))
		return err_set(reterr, ERR_IO, "no memory for the bandwidth probe");
	return OK;
}

enum err_code machine_probe_run(double budget_s, struct machine_probe *ret_probe, struct err *reterr)
{
	struct probe p = {.start_s = clock_now_s(), .budget_s = budget_s == 0 ? 2 : budget_s, .repeats = 1};
	if (!(p.budget_s >= 0.05))
		return err_set(
			reterr, ERR_INPUT, "expected a probe budget of at least 0.05 s, got %g s", budget_s);
	TRY(topology_load(&p.topology, reterr));
	int cores = hwloc_get_nbobjs_by_type(p.topology, HWLOC_OBJ_CORE);
	if (cores < 1)
		cores = hwloc_get_nbobjs_by_type(p.topology, HWLOC_OBJ_PU);
	p.n_workers = (size_t)MAX_OF(cores, 1);
	p.kernel = choose_kernel();
	p.triad_doubles = choose_triad_size(&p);
	CLEANUP(free_ptr) struct worker *workers = xcalloc(p.n_workers, sizeof(*workers));
	p.workers = workers;
	pthread_mutex_init(&p.gate, NULL);
	enum err_code code = run_workers(&p, reterr);
	pthread_mutex_destroy(&p.gate);
	hwloc_topology_destroy(p.topology);
	if (code != OK)
		return code;
	*ret_probe = (struct machine_probe){.peak_flops = p.peak_flops,
		.bandwidth_bytes_per_s = p.bandwidth_bytes_per_s,
		.seconds = clock_now_s() - p.start_s,
		.triad_bytes = (double)(TRIAD_ARRAYS * sizeof(double) * p.triad_doubles * p.n_workers),
		.workers = (int)p.n_workers,
		.kernel = p.kernel->name};
	return OK;
}
