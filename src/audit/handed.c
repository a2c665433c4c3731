/* A3, the part about work that is handed over by name: queue_run(queue, backward_kernel, &s), and what
 * collectives do. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/audit_int.h"

static bool is_handed(const struct fact *f)
{
	return f->kind == FACT_NAME && node_is(f->node, "identifier") &&
	       node_is(node_parent(f->node), "argument_list") &&
	       (word_in(f->name, WORDS_UPDATE) || word_in(f->name, WORDS_WORK));
}

static size_t count_handed(struct fact **facts, size_t n, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += strcmp(facts[i]->name, name) == 0 && is_handed(facts[i]);
	return count;
}

static size_t count_calls(struct fact **facts, size_t n, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += facts[i]->kind == FACT_CALL && strcmp(facts[i]->name, name) == 0;
	return count;
}

static bool is_done_less(const struct change *change, const char *name)
{
	return count_handed(change->new, change->n_new, name) <
		       count_handed(change->old, change->n_old, name) &&
	       count_calls(change->new, change->n_new, name) <= count_calls(change->old, change->n_old, name);
}

void check_handed_work(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_handed(f) || !existed(change, FACT_FUNCTION, f->name) ||
			!spend(change, 2 * (change->n_old + change->n_new)))
			continue;
		if (!f->twin && is_done_less(change, f->name))
			report(change, AUDIT_BLOCK, f, "work that was handed over is gone");
		else if (f->twin && is_handed(f->twin) &&
			 (added_guard(change, f, f->twin, WORDS_COUNT) ||
				 (same_function(f, f->twin) && f->twin->loops < f->loops)))
			report(change, AUDIT_BLOCK, f->twin, "work that was handed over is done less often");
	}
}

/* ---- collectives ---- */

static bool is_collective(const char *name)
{
	return strcasestr(name, "allreduce") || strcasestr(name, "reduce_scatter") ||
	       strcasestr(name, "allgather") || strcasestr(name, "MPI_Reduce") ||
	       strcasestr(name, "MPI_Bcast");
}

/* MPI_COMM_SELF for MPI_COMM_WORLD, MPI_MAX for MPI_SUM */
static bool has_another_constant(const char *now, const char *before)
{
	struct token t;
	while (next_token(&before, &t)) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		bool constant = strncmp(name, "MPI_", 4) == 0 || strncmp(name, "nccl", 4) == 0;
		if (constant && !text_has_token(now, name))
			return true;
	}
	return false;
}

void check_collectives(struct change *change)
{
	static const char *const group[] = {"MPI_Comm_size", "MPI_Comm_rank"};
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_CALL)
			continue;
		if (!f->twin && name_is_one_of(f->name, group, ARRAY_LEN(group)))
			report(change, AUDIT_BLOCK, f, "who takes part in the training is no longer asked");
		else if (f->twin && !f->same &&
			 (is_collective(f->name) || name_is_one_of(f->name, group, 2)) &&
			 has_another_constant(f->twin->value, f->value))
			report(change, AUDIT_BLOCK, f->twin, "a collective does something else");
	}
}
