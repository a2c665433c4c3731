/*
 * Prints what is decided in the made-up campaigns: `print_decisions [VARIATIONS]`. The same on every build of
 * the decision path (scripts/check-decisions). The controller plays all variations as by default, one with
 * each extra, and two with everything and two with proposers beside that; the other strategies one as by
 * default and one with everything.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaigns.h"

enum { VARIATIONS = 8, VARIATIONS_WITH_EVERYTHING = 2 };

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

static enum err_code play_and_print(
	const struct strategy *strategy, unsigned extras, long variations, struct err *reterr)
{
	for (int kind = 0; kind < N_MADE_UP; kind++)
		for (long v = 0; v < variations; v++) {
			struct made_up_campaign c;
			TRY(made_up_play((enum made_up_kind)kind, (uint64_t)v, extras, strategy, &c, reterr));
			printf("%s, kind %d, variation %ld, extras 0x%x\n", strategy->name, kind, v, extras);
			print(&c);
		}
	return OK;
}

static enum err_code play_all(long variations, struct err *reterr)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t s = 0; s < n; s++) {
		bool is_controller = strcmp(list[s].name, "controller") == 0;
		TRY(play_and_print(&list[s], 0, is_controller ? variations : 1, reterr));
		for (int k = 0; is_controller && k < N_MADE_UP_EXTRAS; k++)
			TRY(play_and_print(&list[s], 1u << k, 1, reterr));
		TRY(play_and_print(&list[s], MADE_UP_EVERYTHING,
			is_controller ? VARIATIONS_WITH_EVERYTHING : 1, reterr));
		if (is_controller)
			TRY(play_and_print(&list[s], MADE_UP_EVERYTHING | MADE_UP_PROPOSERS,
				VARIATIONS_WITH_EVERYTHING, reterr));
	}
	return OK;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	if (play_all(argc > 1 ? strtol(argv[1], NULL, 10) : VARIATIONS, &e) == OK)
		return 0;
	fprintf(stderr, "print_decisions: %s\n", e.message);
	return 1;
}
