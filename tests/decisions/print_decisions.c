/*
 * Prints what is decided in the made-up campaigns: `print_decisions [VARIATIONS]`. The same on every build of
 * the decision path (scripts/check-decisions); the controller in all variations, the other strategies in one.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaigns.h"

enum { VARIATIONS = 8 };

static void print(const struct made_up_campaign *c)
{
	for (int k = 0; k < c->n_trials; k++)
		printf("%.*s %s: %s\n", MADE_UP_LEVERS, c->candidates + k * MADE_UP_LEVERS, c->operators[k],
			c->reasons[k]);
	printf("finalists:");
	for (size_t i = 0; i < c->n_finalists; i++)
		printf(" %d", c->finalists[i] + 1);
	printf("\n");
}

int main(int argc, char **argv)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	long variations = argc > 1 ? strtol(argv[1], NULL, 10) : VARIATIONS;
	for (size_t s = 0; s < n; s++) {
		long count = strcmp(list[s].name, "controller") == 0 ? variations : 1;
		for (int kind = 0; kind < N_MADE_UP; kind++)
			for (long v = 0; v < count; v++) {
				struct made_up_campaign c;
				struct err e = ERR_INIT;
				if (made_up_play((enum made_up_kind)kind, (uint64_t)v, &list[s], &c, &e) !=
					OK) {
					fprintf(stderr, "print_decisions: %s\n", e.message);
					return 1;
				}
				printf("%s, kind %d, variation %ld\n", list[s].name, kind, v);
				print(&c);
			}
	}
	return 0;
}
