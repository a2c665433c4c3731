/* A12: work handed to a thread, a stream or a request must be waited for inside the update that it belongs
 * to. */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_int.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { NAME_CAP = 80 };

/* device_wait, pool_join: functions of the job say it in their names. Those of the compiler, as
 * __sync_synchronize, are fences. */
static bool is_named_wait(const char *name)
{
	static const char *const words[] = {"wait", "waitall", "join", "synchronize", "synchronise", "sync",
		"barrier", "drain", "finish", "await"};
	return name[0] != '_' && !word_in(name, WORDS_LOG) && !word_in(name, WORDS_UPDATE) &&
	       !word_in(name, WORDS_TIME) && name_has_word(name, words, ARRAY_LEN(words));
}

static bool is_wait(const struct fact *f)
{
	static const char *const waits[] = {"pthread_join", "thrd_join", "sem_wait", "pthread_barrier_wait",
		"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
		"hipDeviceSynchronize", "hipStreamSynchronize", "MPI_Wait", "MPI_Waitall", "MPI_Barrier",
		"ncclGroupEnd", "clFinish", "acc_wait_all", "starpu_task_wait_for_all"};
	return f->kind == FACT_CALL &&
	       (name_is_one_of(f->name, waits, ARRAY_LEN(waits)) || is_named_wait(f->name));
}

/* MPI_Iallreduce, MPI_Isend: what returns before it is done. */
static bool is_immediate(const char *name)
{
	return strncmp(name, "MPI_I", 5) == 0 && islower((unsigned char)name[5]) &&
	       strcmp(name, "MPI_Init") != 0 && strncmp(name, "MPI_Init_", 9) != 0;
}

static bool is_thread_start(const char *name)
{
	return strcmp(name, "pthread_create") == 0 || strcmp(name, "thrd_create") == 0;
}

static bool is_start(const struct fact *f)
{
	return f->kind == FACT_CALL && (is_thread_start(f->name) || is_immediate(f->name) ||
					       strcmp(f->name, "cudaLaunchHostFunc") == 0);
}

static size_t count_added(const struct change *change, bool (*is)(const struct fact *f))
{
	size_t count = 0;
	for (size_t i = 0; i < change->n_new; i++)
		count += is(change->new[i]) && !change->new[i]->twin;
	return count;
}

/* ---- waits that are gone ---- */

static bool is_boundary(const struct fact *f) /* where outstanding work begins to matter */
{
	return f->kind == FACT_CALL && (word_in(f->name, WORDS_TIME) || word_in(f->name, WORDS_REPORT));
}

static bool is_quiet(const struct fact *f)
{
	return word_in(f->name, WORDS_LOG) || word_in(f->name, WORDS_ALLOCATE);
}

/* The next reading of a clock or report after the wait in its function; NULL when there is none. */
static const struct fact *next_boundary(const struct change *change, const struct fact *wait)
{
	for (size_t i = wait->index + 1; i < change->n_old && same_function(change->old[i], wait); i++)
		if (is_boundary(change->old[i]))
			return change->old[i];
	return NULL;
}

/* Nothing is started between this wait and the next one. */
static bool is_one_of_two(const struct change *change, const struct fact *wait)
{
	for (size_t i = wait->index + 1; i < change->n_old && same_function(change->old[i], wait); i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_LOOP || f->kind == FACT_BRANCH || f->loops != wait->loops)
			return false;
		if (is_wait(f))
			return f->twin && strcmp(f->value, wait->value) == 0;
		if (f->kind == FACT_CALL && !is_quiet(f))
			return false;
	}
	return false;
}

/* The last call before the wait that is still there: a wait after it waits for what this one did. */
static size_t work_before(const struct change *change, const struct fact *wait)
{
	size_t last = 0;
	for (size_t i = wait->index; i-- > 0 && same_function(change->old[i], wait);) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_CALL && f->twin && same_function(f, f->twin) && !is_wait(f) &&
			!is_quiet(f))
			last = f->twin->index > last ? f->twin->index : last;
	}
	return last;
}

static bool still_waits(const struct change *change, const struct fact *wait, const struct fact *boundary)
{
	size_t from = work_before(change, wait),
	       to = boundary && boundary->twin ? boundary->twin->index : change->n_new;
	for (size_t i = from; i < to; i++) {
		const struct fact *f = change->new[i];
		if (is_wait(f) && same_function(f, wait) && !added_guard(change, wait, f, WORDS_COUNT))
			return true;
	}
	return false;
}

static bool is_named_anywhere(const struct change *change, const char *name)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_CALL && strcmp(change->new[i]->name, name) == 0)
			return true;
	return false;
}

static void check_gone(struct change *change, const struct fact *f)
{
	static const char reason[] = "a wait for outstanding work is gone";
	if (!spend(change, change->n_old + change->n_new) || is_one_of_two(change, f))
		return;
	const struct fact *boundary = next_boundary(change, f);
	bool moved = still_waits(change, f, boundary) || count_added(change, is_wait);
	bool decisive = boundary || strstr(f->name, "join") || is_named_wait(f->function) ||
			!is_named_anywhere(change, f->name);
	report(change, decisive && !moved ? AUDIT_BLOCK : AUDIT_REVIEW, f, reason);
}

/* if (pending) MPI_Waitall(pending, ...): where there is nothing to wait for. */
static bool is_about_what_is_waited_for(const struct fact *wait, const char *condition)
{
	struct token t;
	bool named = false;
	if (depends_on_step(condition) || text_has_token(condition, "%"))
		return false;
	while (next_token(&condition, &t)) {
		char name[NAME_CAP] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (!text_has_identifier(name) || text_contains("NULL MPI_REQUEST_NULL", name))
			continue;
		if (!text_has_token(wait->value, name))
			return false;
		named = true;
	}
	return named;
}

static void check_conditional(struct change *change, const struct fact *f)
{
	const struct guard *guard = added_guard(change, f, f->twin, WORDS_COUNT);
	if (!guard)
		return;
	bool empty =
		is_emptiness(change, f->twin, guard) || is_about_what_is_waited_for(f->twin, guard->text);
	report(change, empty ? AUDIT_REVIEW : AUDIT_BLOCK, f->twin,
		"a wait for outstanding work became conditional");
}

static void check_waits(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_wait(f))
			continue;
		if (f->twin)
			check_conditional(change, f);
		else
			check_gone(change, f);
	}
}

/* ---- work that is started ---- */

/* The variable of the handle: "requests" of "& requests [ n ++ ]", "request" of "& comm -> request". */
static void read_handle(const char *argument, char ret_name[NAME_CAP], const char **ret_index)
{
	struct token t;
	const char *at = argument;
	while (next_token(&at, &t) && !token_is(&t, "[")) {
		if (!isalpha((unsigned char)t.text[0]) && t.text[0] != '_')
			continue;
		ret_name[0] = '\0';
		strncat(ret_name, t.text, MIN_OF(t.length, (size_t)NAME_CAP - 1));
	}
	*ret_index = strchr(argument, '[');
}

static char *argument_of(const struct fact *call, bool last)
{
	TSNode arguments = node_field(call->node, "arguments");
	uint32_t n = node_count(arguments, 64);
	struct strbuf text = STRBUF_INIT;
	if (n)
		node_text(call->source, node_named(arguments, last ? n - 1 : 0), &text);
	return strbuf_detach(&text);
}

static const struct fact *loop_around(const struct fact *f)
{
	const struct guard *g = f->guards;
	while (g && g->kind != GUARD_LOOP)
		g = g->up;
	for (size_t i = 0; g && i < f->source->n_facts; i++)
		if (f->source->facts[i].kind == FACT_LOOP && ts_node_eq(f->source->facts[i].node, g->node))
			return &f->source->facts[i];
	return NULL;
}

/* As many handles are waited for as there were starts: by their count, or by a loop of the same length. */
static bool waits_for_all(const struct fact *start, const struct fact *wait, const char *index)
{
	struct token t;
	if (!index)
		return wait->loops <= start->loops;
	if (strstr(wait->name, "all"))
		while (next_token(&index, &t)) {
			char name[NAME_CAP] = "";
			memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
			CLEANUP(free_ptr) char *count = argument_of(wait, false);
			if (text_has_identifier(name) && strcmp(count, name) == 0)
				return true;
		}
	const struct fact *a = loop_around(start), *b = loop_around(wait);
	return a && b && strcmp(a->init, b->init) == 0 && strcmp(a->condition, b->condition) == 0 &&
	       strcmp(a->step, b->step) == 0;
}

static bool has_weaker_conditions(const struct fact *wait, const struct fact *start)
{
	for (const struct guard *g = wait->guards; g; g = g->up)
		if (g->kind != GUARD_LOOP && !g->is_error_path && !guard_chain_has(start->guards, g->text))
			return false;
	return true;
}

/* The function that starts the work waits for it, before anything else of the update is done. */
static bool is_awaited(const struct change *change, const struct fact *start)
{
	char handle[NAME_CAP] = "";
	const char *index;
	CLEANUP(free_ptr) char *argument = argument_of(start, !is_thread_start(start->name));
	read_handle(argument, handle, &index);
	if (!handle[0] || !spend(change, 2 * start->source->n_facts))
		return false;
	for (size_t i = start->index + 1; i < change->n_new && same_function(change->new[i], start); i++) {
		const struct fact *f = change->new[i];
		if (is_wait(f) && text_has_token(f->value, handle) && waits_for_all(start, f, index) &&
			has_weaker_conditions(f, start))
			return true;
		if ((f->kind == FACT_CALL && word_in(f->name, WORDS_UPDATE)) || is_boundary(f))
			return false;
	}
	return false;
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
		else if (is_start(f) && !is_awaited(change, f))
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
