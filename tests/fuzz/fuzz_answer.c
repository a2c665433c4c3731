/* Any bytes as a proposer's answer to a fixed task with one patch: what is taken is within the space and its
 * caps, legal, and safe to use as a name. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/spec/realistic_task.h"
#include "base/memory.h"
#include "propose/answer.h"
#include "spec/space.h"
#include "spec/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Made once: reading the task costs more than most answers. */
static const struct space *fixed_space(void)
{
	static const struct patch_lever patch = {.digest = "bb22", .name = "02-tile"};
	static struct task task;
	static struct space space;
	if (space.n_levers)
		return &space;
	require(task_parse("infrarsi.yaml", "/nonexistent", REALISTIC_TASK, strlen(REALISTIC_TASK), &task,
			NULL) == OK);
	require(space_init(&space, &task, &patch, 1, NULL, NULL) == OK);
	return &space;
}

static void check_configurations(const struct answer *a, const struct space *space)
{
	require(a->n_configurations <= ANSWER_CONFIGURATIONS);
	for (size_t i = 0; i < a->n_configurations; i++) {
		const struct proposed_configuration *c = &a->configurations[i];
		bool legal = false;
		for (size_t l = 0; l < space->n_levers; l++)
			require(c->setting[l] >= 0 && (size_t)c->setting[l] < space->n_settings[l]);
		require(space_is_legal(space, c->setting, &legal, NULL, NULL) == OK && legal);
		require(isnan(c->predicted_ln) || fabs(c->predicted_ln) < 5);
	}
}

static void check_priors(const struct answer *a, const struct space *space)
{
	require(a->n_priors <= ANSWER_PRIORS);
	for (size_t i = 0; i < a->n_priors; i++) {
		const struct proposed_prior *p = &a->priors[i];
		require(p->lever >= 0 && (size_t)p->lever < space->n_levers);
		require(p->setting >= 0 && (size_t)p->setting < space->n_settings[p->lever]);
		require((size_t)p->setting != space->reference[p->lever]);
		require(isnan(p->gain_sd_ln) || p->gain_sd_ln > 0);
		require(!isnan(p->gain_ln) || !isnan(p->memory_bytes));
	}
}

static void check_patches(const struct answer *a)
{
	require(a->n_patches <= ANSWER_PATCHES && a->n_reviews <= ANSWER_PATCHES);
	for (size_t i = 0; i < a->n_patches; i++) {
		const char *name = a->patches[i].name;
		require(*name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name));
		for (size_t k = 0; k < i; k++)
			require(strcmp(a->patches[k].name, name) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	const struct space *space = fixed_space();
	struct answer answer;
	struct err e = ERR_INIT;
	if (answer_parse((const char *)data, size, space, &arena, &answer, &e) != OK) {
		require(*e.message != '\0');
		return 0;
	}
	check_configurations(&answer, space);
	check_priors(&answer, space);
	check_patches(&answer);
	for (size_t i = 0; i < answer.n_dropped; i++)
		require(*answer.dropped[i].where && *answer.dropped[i].reason);
	return 0;
}
