#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "campaigns.h"

#define GIB 1073741824.0
enum { SETTINGS = 5 };

static const char *const numbers[] = {"1", "2", "4", "8", "16"}, *const words[] = {"a", "b", "c", "d", "e"};

struct task {
	struct lever lever[MADE_UP_LEVERS];
	struct lever_prior prior[MADE_UP_LEVERS][SETTINGS];
	double gain_ln[MADE_UP_LEVERS][SETTINGS], gib[MADE_UP_LEVERS][SETTINGS];
	int setting[MADE_UP_TRIALS][MADE_UP_LEVERS];
	struct observation observation[MADE_UP_TRIALS];
	const int *visited[MADE_UP_TRIALS];
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

static void make_levers(struct task *t, enum made_up_kind kind, uint64_t variation)
{
	uint64_t state = (uint64_t)kind + 1 + 64 * variation;
	for (int l = 0; l < MADE_UP_LEVERS; l++) {
		bool is_number = kind == MADE_UP_NUMBERS ||
				 ((kind == MADE_UP_MIXED || kind == MADE_UP_UNFIT) && l < 3);
		bool is_patch = (kind == MADE_UP_CATEGORIES || kind == MADE_UP_MIXED) && l >= 5;
		t->lever[l] = (struct lever){.name = "lever",
			.is_patch = is_patch,
			.ordered = is_number || kind == MADE_UP_ORDERED,
			.n_settings = is_patch ? 2 : 3 + l % 3,
			.reference = kind == MADE_UP_NUMBERS ? l % 3 : 0,
			.prior = t->prior[l],
			.setting_names = is_number ? numbers : words};
		for (int s = 0; s < t->lever[l].n_settings; s++) {
			struct lever_prior *p = &t->prior[l][s];
			p->amdahl_cap_ln = INFINITY;
			if (s == t->lever[l].reference)
				continue;
			t->gain_ln[l][s] = (draw(&state, 400) - 150) / 1024.0;
			t->gib[l][s] = draw(&state, 24) - 8;
			p->predicted_gain_ln =
				kind == MADE_UP_NUMBERS ? 0 : (draw(&state, 300) - 100) / 1024.0;
			p->declared_bytes = kind == MADE_UP_MIXED && l % 2 ? t->gib[l][s] * GIB : 0;
		}
	}
}

static void task_init(struct task *t, enum made_up_kind kind, uint64_t variation)
{
	memset(t, 0, sizeof(*t));
	make_levers(t, kind, variation);
	t->in = (struct search_input){
		.model = {.levers = t->lever,
			.n_levers = MADE_UP_LEVERS,
			.observations = t->observation,
			.sigma_pair = 0.005,
			.reference_runs = kind == MADE_UP_UNFIT ? 0 : 4,
			.capacity_bytes = 80 * GIB,
			.memory_cap_bytes = INFINITY,
			.reference_peak_bytes = kind == MADE_UP_UNFIT ? NAN : 60 * GIB,
			.reference_shortfall_bytes = kind == MADE_UP_UNFIT ? 6 * GIB : NAN},
		.visited = t->visited,
		.seed = 11 + variation,
		.gate_ln = 0.02};
}

/* Effects add up; lever 1 at 2 with lever 2 at 1 crashes. */
static void execute(struct task *t, const int *setting, enum made_up_kind kind)
{
	size_t i = t->in.model.n_observations++;
	double gain = 0, gib = kind == MADE_UP_UNFIT ? 86 : 60;
	for (int l = 0; l < MADE_UP_LEVERS; l++) {
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

static void keep(struct made_up_campaign *c, const struct decision *d)
{
	char *digits = c->candidates + c->n_trials * MADE_UP_LEVERS;
	for (int l = 0; l < MADE_UP_LEVERS; l++)
		digits[l] = (char)('0' + d->setting[l]);
	snprintf(c->reasons[c->n_trials], sizeof(c->reasons[0]), "%s", d->reason);
	snprintf(c->operators[c->n_trials], sizeof(c->operators[0]), "%s", d->operators);
	c->n_trials++;
}

enum err_code made_up_play(enum made_up_kind kind, uint64_t variation, const struct strategy *strategy,
	struct made_up_campaign *ret, struct err *reterr)
{
	struct task t;
	struct decision d;
	memset(ret, 0, sizeof(*ret));
	task_init(&t, kind, variation);
	while (ret->n_trials < MADE_UP_TRIALS) {
		TRY(strategy->next(&t.in, &d, reterr));
		if (!d.found)
			break;
		keep(ret, &d);
		execute(&t, d.setting, kind);
		decision_release(&d);
	}
	return search_finalists(&t.in, MADE_UP_TRIALS, ret->finalists, &ret->n_finalists, reterr);
}
