/* A12: work handed to a thread, a stream or a request must be waited for inside the update that it belongs
 * to. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

static bool is_wait(const struct fact *f)
{
	static const char *const waits[] = {"pthread_join", "thrd_join", "sem_wait", "pthread_barrier_wait",
		"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
		"hipDeviceSynchronize", "hipStreamSynchronize", "MPI_Wait", "MPI_Waitall", "MPI_Barrier",
		"ncclGroupEnd", "clFinish", "acc_wait_all", "starpu_task_wait_for_all"};
	return f->kind == FACT_CALL && name_is_one_of(f->name, waits, ARRAY_LEN(waits));
}

static bool is_start(const struct fact *f)
{
	static const char *const starts[] = {"pthread_create", "thrd_create", "cudaLaunchHostFunc",
		"MPI_Iallreduce", "MPI_Isend", "MPI_Irecv"};
	return f->kind == FACT_CALL && name_is_one_of(f->name, starts, ARRAY_LEN(starts));
}

static size_t count_added(const struct change *change, bool (*is)(const struct fact *f))
{
	size_t count = 0;
	for (size_t i = 0; i < change->n_new; i++)
		count += is(change->new[i]) && !change->new[i]->twin;
	return count;
}

/* The call after the wait reads a clock: then the wait was part of what is measured. */
static bool clock_follows(const struct change *change, const struct fact *wait)
{
	for (size_t i = wait->index + 1; i < change->n_old && same_function(change->old[i], wait); i++)
		if (change->old[i]->kind == FACT_CALL)
			return word_in(change->old[i]->name, WORDS_TIME);
	return false;
}

static void check_waits(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_wait(f))
			continue;
		if (!f->twin)
			report(change,
				clock_follows(change, f) || strstr(f->name, "join") ? AUDIT_BLOCK
										    : AUDIT_REVIEW,
				f, "a wait for outstanding work is gone");
		else if (added_guard(change, f, f->twin, WORDS_COUNT))
			report(change, AUDIT_BLOCK, f->twin,
				"a wait for outstanding work became conditional");
	}
}

static void check_starts(struct change *change)
{
	size_t waits = count_added(change, is_wait);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin)
			continue;
		if (strcmp(f->name, "pthread_detach") == 0 || strcmp(f->name, "thrd_detach") == 0)
			report(change, AUDIT_BLOCK, f, "a thread is let go without waiting for it");
		else if (is_start(f))
			report(change, waits ? AUDIT_REVIEW : AUDIT_BLOCK, f,
				waits ? "work is started beside the update; it must end inside it"
				      : "work is started and never waited for");
	}
}

static bool waits_for_tasks(const struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_DIRECTIVE &&
			(strstr(change->new[i]->text, "taskwait") ||
				strstr(change->new[i]->text, "taskgroup")))
			return true;
	return false;
}

static void check_directives(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_DIRECTIVE || f->twin || !strstr(f->text, "omp"))
			continue;
		if (text_has_token(f->text, "nowait"))
			report(change, AUDIT_REVIEW, f, "threads no longer wait for each other here");
		else if (text_has_token(f->text, "task"))
			report(change, waits_for_tasks(change) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
				"work is made a task; it must be waited for inside the update");
	}
}

void rule_wait(struct change *change)
{
	check_waits(change);
	check_starts(change);
	check_directives(change);
}
