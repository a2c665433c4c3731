/*
 * Numbers the settings of all levers. A "column" is a non-reference setting, in lever-major order: the
 * one-hot features of rules R1 and R3. An "id" numbers every setting, reference ones included (rule R4).
 *
 *     struct columns c;
 *     columns_init(&c, levers, n_levers);
 *     int column = columns_of(&c, lever, setting);    // -1 for the lever's reference setting
 *     columns_release(&c);
 */
#ifndef INFRARSI_MODEL_COLUMNS_H
#define INFRARSI_MODEL_COLUMNS_H

#include "base/base.h"
#include "model/models.h"

struct columns {
	const struct lever *levers; /* borrowed */
	int n_levers;
	int n_columns, n_ids;
	int *first_column, *first_id; /* n_levers each */
	int *lever, *setting;         /* n_columns each */
};

void columns_init(struct columns *c, const struct lever *levers, int n_levers);
void columns_release(struct columns *c);
int settings_apart(const int *a, const int *b, int n_levers); /* levers in which they differ */
bool same_settings(const int *a, const int *b, int n_levers);
uint64_t settings_hash(const int *setting, int n_levers); /* FNV-1a over the numbers */

static inline int columns_of(const struct columns *c, int lever, int setting)
{
	int reference = c->levers[lever].reference;
	if (setting == reference)
		return -1;
	return c->first_column[lever] + setting - (setting > reference);
}

static inline int columns_id(const struct columns *c, int lever, int setting)
{
	return c->first_id[lever] + setting;
}

#endif
