/*
 * The task of tests/oracle/model_values.py, and the shapes of its tables. Seven levers, one of them with a
 * single setting, two of them patches.
 */
#ifndef INFRARSI_TESTS_MODEL_ORACLE_TASK_H
#define INFRARSI_TESTS_MODEL_ORACLE_TASK_H

#include <math.h>

#include "model/models.h"

#define GIB 1073741824.0
enum { ORACLE_LEVERS = 7, ORACLE_MAX_SETTINGS = 4 };

struct oracle_prior {
	int lever, setting;
	struct lever_prior prior;
};

struct oracle_task {
	struct lever lever[ORACLE_LEVERS];
	struct lever_prior prior[ORACLE_LEVERS][ORACLE_MAX_SETTINGS];
};

#include "oracle_prior.h"

static inline void oracle_levers_init(
	struct oracle_task *t, const struct oracle_prior *prior, size_t n_priors)
{
	static const int size[ORACLE_LEVERS] = {4, 3, 2, 2, 3, 1, 2};
	static const int reference[ORACLE_LEVERS] = {1, 0, 0, 0, 2, 0, 0};
	static const bool patch[ORACLE_LEVERS] = {false, false, true, true, false, false, false};
	*t = (struct oracle_task){0};
	for (int l = 0; l < ORACLE_LEVERS; l++)
		t->lever[l] = (struct lever){.name = "lever",
			.is_patch = patch[l],
			.n_settings = size[l],
			.reference = reference[l],
			.prior = t->prior[l]};
	for (size_t i = 0; i < n_priors; i++)
		t->prior[prior[i].lever][prior[i].setting] = prior[i].prior;
}

static inline void oracle_task_init(struct oracle_task *t)
{
	oracle_levers_init(t, oracle_prior, ARRAY_LEN(oracle_prior));
}

/* The same levers; proposers 1 and 4 predict, too. */
static inline void proposed_task_init(struct oracle_task *t)
{
	oracle_levers_init(t, proposed_prior, ARRAY_LEN(proposed_prior));
}

#endif
