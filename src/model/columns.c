#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"

void columns_init(struct columns *c, const struct lever *levers, int n_levers)
{
	*c = (struct columns){.levers = levers, .n_levers = n_levers};
	c->first_column = xcalloc((size_t)n_levers + 1, sizeof(int));
	c->first_id = xcalloc((size_t)n_levers + 1, sizeof(int));
	for (int l = 0; l < n_levers; l++) {
		c->first_column[l] = c->n_columns;
		c->first_id[l] = c->n_ids;
		c->n_columns += levers[l].n_settings - 1;
		c->n_ids += levers[l].n_settings;
	}
	c->lever = xcalloc((size_t)c->n_columns + 1, sizeof(int));
	c->setting = xcalloc((size_t)c->n_columns + 1, sizeof(int));
	int column = 0;
	for (int l = 0; l < n_levers; l++) {
		for (int s = 0; s < levers[l].n_settings; s++) {
			if (s == levers[l].reference)
				continue;
			c->lever[column] = l;
			c->setting[column++] = s;
		}
	}
}

void columns_release(struct columns *c)
{
	free(c->first_column);
	free(c->first_id);
	free(c->lever);
	free(c->setting);
	*c = (struct columns){0};
}

int settings_apart(const int *a, const int *b, int n_levers)
{
	int apart = 0;
	for (int l = 0; l < n_levers; l++)
		apart += a[l] != b[l];
	return apart;
}

bool same_settings(const int *a, const int *b, int n_levers)
{
	return n_levers == 0 || memcmp(a, b, (size_t)n_levers * sizeof(*a)) == 0;
}

uint64_t settings_hash(const int *setting, int n_levers)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (int l = 0; l < n_levers; l++)
		h = (h ^ (uint64_t)(unsigned)setting[l]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}
