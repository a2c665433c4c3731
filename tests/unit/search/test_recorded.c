/*
 * Same ledger, same seed, same next candidate: made-up campaigns of every kind of task, and the candidates
 * that they led to when this was written. A compiler, an optimisation level or a machine that changes one of
 * them breaks the promise that a campaign can be replayed; a change to the models changes them on purpose,
 * and then the table below is written anew from what the test prints.
 */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "search/search.h"

#define GIB 1073741824.0
enum { LEVERS = 7, SETTINGS = 5, TRIALS = 12 };

static const char *const numbers[] = {"1", "2", "4", "8", "16"}, *const words[] = {"a", "b", "c", "d", "e"};

enum kind { CATEGORIES, ORDERED, NUMBERS, MIXED, UNFIT };

static const struct {
	enum kind kind;
	const char *candidates; /* TRIALS times LEVERS digits */
} recorded[] = {
	{CATEGORIES, "213130020422001310101100130102201010310300031231023103102311310233031023103112110310"},
	{ORDERED, "234202222313212221311123122122312111331311222122111312412231222123121212311121231312"},
	{NUMBERS, "121123020300100002311233104200112100011202021121200110121011012131101210110321011031"},
	{MIXED, "123010022321101231301113110112312111211101122110112213111241101120110122411012341101"},
	{UNFIT, "034000020412000302030200031103401000340002004213003012200002142034031003403002341231"},
};

struct task {
	struct lever lever[LEVERS];
	struct lever_prior prior[LEVERS][SETTINGS];
	double gain_ln[LEVERS][SETTINGS], gib[LEVERS][SETTINGS];
	int setting[TRIALS][LEVERS];
	struct observation observation[TRIALS];
	const int *visited[TRIALS];
	struct search_input in;
};

/* SplitMix64: whole numbers below n, the same everywhere. */
static int draw(uint64_t *state, int n)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return (int)((z ^ z >> 31) % (uint64_t)n);
}

static void make_levers(struct task *t, enum kind kind)
{
	uint64_t state = (uint64_t)kind + 1;
	for (int l = 0; l < LEVERS; l++) {
		bool is_number = kind == NUMBERS || ((kind == MIXED || kind == UNFIT) && l < 3);
		bool is_patch = (kind == CATEGORIES || kind == MIXED) && l >= 5;
		t->lever[l] = (struct lever){.name = "lever",
			.is_patch = is_patch,
			.ordered = is_number || kind == ORDERED,
			.n_settings = is_patch ? 2 : 3 + l % 3,
			.reference = kind == NUMBERS ? l % 3 : 0,
			.prior = t->prior[l],
			.setting_names = is_number ? numbers : words};
		for (int s = 0; s < t->lever[l].n_settings; s++) {
			struct lever_prior *p = &t->prior[l][s];
			p->amdahl_cap_ln = INFINITY;
			if (s == t->lever[l].reference)
				continue;
			t->gain_ln[l][s] = (draw(&state, 400) - 150) / 1024.0;
			t->gib[l][s] = draw(&state, 24) - 8;
			p->predicted_gain_ln = kind == NUMBERS ? 0 : (draw(&state, 300) - 100) / 1024.0;
			p->declared_bytes = kind == MIXED && l % 2 ? t->gib[l][s] * GIB : 0;
		}
	}
}

static void task_init(struct task *t, enum kind kind)
{
	memset(t, 0, sizeof(*t));
	make_levers(t, kind);
	t->in = (struct search_input){.model = {.levers = t->lever,
					      .n_levers = LEVERS,
					      .observations = t->observation,
					      .sigma_pair = 0.005,
					      .reference_runs = kind == UNFIT ? 0 : 4,
					      .capacity_bytes = 80 * GIB,
					      .memory_cap_bytes = INFINITY,
					      .reference_peak_bytes = kind == UNFIT ? NAN : 60 * GIB,
					      .reference_shortfall_bytes = kind == UNFIT ? 6 * GIB : NAN},
		.visited = t->visited,
		.seed = 11,
		.gate_ln = 0.02};
}

/* Effects add up; lever 1 at 2 with lever 2 at 1 crashes. */
static void execute(struct task *t, const int *setting, enum kind kind)
{
	size_t i = t->in.model.n_observations++;
	double gain = 0, gib = kind == UNFIT ? 86 : 60;
	for (int l = 0; l < LEVERS; l++) {
		t->setting[i][l] = setting[l];
		gain += t->gain_ln[l][setting[l]];
		gib += t->gib[l][setting[l]];
	}
	bool crashes = setting[1] == 2 && setting[2] == 1, fits = gib <= 80, ran = fits && !crashes;
	t->observation[i] = (struct observation){.setting = t->setting[i],
		.status = crashes ? OBSERVED_CRASH
			  : fits  ? OBSERVED_OK
				  : OBSERVED_OOM,
		.has_gain = ran,
		.gain_ln = ran ? gain : 0,
		.incumbent_allowed = ran,
		.peak_bytes = ran ? gib * GIB : NAN,
		.shortfall_bytes = fits ? NAN : (gib - 80) * GIB};
	t->visited[t->in.n_visited++] = t->setting[i];
	t->in.decision++;
}

static void play(enum kind kind, char *ret_candidates)
{
	struct task t;
	task_init(&t, kind);
	for (int k = 0; k < TRIALS; k++) {
		struct decision d;
		struct err err = ERR_INIT;
		assert_int_equal(strategy_find("controller")->next(&t.in, &d, &err), OK);
		assert_true(d.found);
		for (int l = 0; l < LEVERS; l++)
			*ret_candidates++ = (char)('0' + d.setting[l]);
		execute(&t, d.setting, kind);
		decision_release(&d);
	}
	*ret_candidates = '\0';
}

static void the_same_ledger_leads_to_the_same_candidates(void **state)
{
	(void)state;
	bool same = true;
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		char candidates[TRIALS * LEVERS + 1];
		play(recorded[i].kind, candidates);
		same &= strcmp(candidates, recorded[i].candidates) == 0;
		if (strcmp(candidates, recorded[i].candidates) != 0)
			print_message("task %zu:\n%s, expected\n%s\n", i, candidates, recorded[i].candidates);
	}
	assert_true(same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_ledger_leads_to_the_same_candidates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
