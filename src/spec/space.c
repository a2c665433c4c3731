#include "base/base.h"

#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/space.h"
#include "spec/task.h"

static void copy_patch(struct arena *arena, const struct patch_lever *from, struct patch_lever *to)
{
	*to = *from;
	to->digest = arena_strdup(arena, from->digest);
	to->name = arena_strdup(arena, from->name);
	to->title = arena_strdup(arena, from->title);
	to->mechanism = arena_strdup(arena, from->mechanism);
	to->phases = arena_array(arena, from->n_phases, sizeof(*to->phases));
	for (size_t i = 0; i < from->n_phases; i++)
		to->phases[i] = arena_strdup(arena, from->phases[i]);
}

static void add_levers(struct space *s, const struct patch_lever *patches, const bool *conflicts)
{
	struct arena *arena = &s->arena;
	size_t n_knobs = s->task->n_knobs, n = s->n_patches;
	struct patch_lever *copies = arena_array(arena, n, sizeof(*copies));
	s->n_settings = arena_array(arena, s->n_levers, sizeof(size_t));
	s->reference = arena_array(arena, s->n_levers, sizeof(size_t));
	s->patch_conflicts = arena_array(arena, n * n, sizeof(bool));
	for (size_t k = 0; k < n_knobs; k++) {
		s->n_settings[k] = s->task->knobs[k].n_settings;
		s->reference[k] = s->task->knobs[k].reference;
	}
	for (size_t p = 0; p < n; p++) {
		copy_patch(arena, &patches[p], &copies[p]);
		s->n_settings[n_knobs + p] = 2;
		for (size_t q = 0; conflicts && q < n; q++)
			s->patch_conflicts[p * n + q] =
				p != q && (conflicts[p * n + q] || conflicts[q * n + p]);
	}
	s->patches = copies;
}

enum err_code space_init(struct space *ret_space, const struct task *task, const struct patch_lever *patches,
	size_t n_patches, const bool *patch_conflicts, struct err *reterr)
{
	for (size_t p = 0; p < n_patches; p++)
		for (size_t q = 0; q < p; q++)
			if (strcmp(patches[p].digest, patches[q].digest) == 0)
				return err_set(reterr, ERR_INPUT, "patches '%s' and '%s' are the same patch",
					patches[q].name, patches[p].name);
	struct space s = {.task = task, .n_patches = n_patches, .n_levers = task->n_knobs + n_patches};
	TRY(expression_set_create(task, &s.expressions, reterr));
	add_levers(&s, patches, patch_conflicts);
	*ret_space = s;
	return OK;
}

void space_release(struct space *space)
{
	expression_set_free(space->expressions);
	arena_release(&space->arena);
	*space = (struct space){0};
}

static bool patches_fit(const struct space *space, const int *setting, struct strbuf *ret_reason)
{
	const int *on = setting + space->task->n_knobs;
	for (size_t p = 0; p < space->n_patches; p++)
		for (size_t q = p + 1; on[p] && q < space->n_patches; q++)
			if (on[q] && space->patch_conflicts[p * space->n_patches + q]) {
				if (ret_reason)
					strbuf_addf(ret_reason,
						"patches %s and %s cannot be applied together",
						space->patches[p].name, space->patches[q].name);
				return false;
			}
	return true;
}

enum err_code space_is_legal(const struct space *space, const int *setting, bool *ret_legal,
	struct strbuf *ret_reason, struct err *reterr)
{
	for (size_t i = 0; i < space->n_levers; i++)
		if (setting[i] < 0 || (size_t)setting[i] >= space->n_settings[i])
			return err_set(reterr, ERR_INPUT, "lever %zu has no setting %d", i, setting[i]);
	bool legal = patches_fit(space, setting, ret_reason);
	for (size_t i = 0; legal && i < expression_set_count(space->expressions); i++) {
		legal = constraint_holds(space->expressions, i, setting);
		if (!legal && ret_reason)
			constraint_reason(space->expressions, i, setting, ret_reason);
	}
	*ret_legal = legal;
	return OK;
}
