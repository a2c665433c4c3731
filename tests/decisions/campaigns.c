#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "campaigns.h"

#define GIB 1073741824.0
enum { SETTINGS = 5, AT_ONCE = 3, SIBLING_RUNS = 24, EVIDENCE_SIZE = 160, PROPOSED = 8 };

static const char *const numbers[] = {"1", "2", "4", "8", "16"}, *const words[] = {"a", "b", "c", "d", "e"};
static const char *const names[MADE_UP_LEVERS] = {
	"lever0", "lever1", "lever2", "lever3", "lever4", "lever5", "lever6"};
/* These two settings crash together. */
static const struct lever_pair crashing = {1, 2, 2, 1};

struct task {
	struct lever lever[MADE_UP_LEVERS];
	struct lever_prior prior[MADE_UP_LEVERS][SETTINGS];
	double gain_ln[MADE_UP_LEVERS][SETTINGS], gib[MADE_UP_LEVERS][SETTINGS];
	int setting[MADE_UP_TRIALS][MADE_UP_LEVERS];
	struct observation observation[MADE_UP_TRIALS];
	const int *visited[MADE_UP_TRIALS];
	unsigned extras;
	char evidence[MADE_UP_TRIALS][EVIDENCE_SIZE];
	struct sibling_run sibling_run[SIBLING_RUNS];
	double sibling_value[SIBLING_RUNS][MADE_UP_LEVERS];
	struct lever_pair known_conflict[2], declared_pair;
	int start[3][MADE_UP_LEVERS]; /* two of the user's, one of experience */
	const int *user_start[2];
	int proposal[PROPOSED][MADE_UP_LEVERS];
	const int *proposed[PROPOSED];
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
		t->lever[l] = (struct lever){.name = names[l],
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

/* ---- what a campaign has beside the defaults ---- */

static void give_experience(struct task *t, uint64_t *state)
{
	for (int l = 0; l < MADE_UP_LEVERS; l++)
		for (int s = 0; s < t->lever[l].n_settings; s++) {
			struct lever_prior *p = &t->prior[l][s];
			if (s == t->lever[l].reference || draw(state, 3))
				continue;
			p->experienced = true;
			p->mean_ln = 0.75 * t->gain_ln[l][s];
			p->sd_ln = 0.03125;
			p->declared_bytes = t->gib[l][s] * GIB;
			p->memory_sd_bytes = 2 * GIB;
		}
}

/* The same effects elsewhere, on a larger device. */
static void give_siblings(struct task *t, uint64_t *state)
{
	for (int i = 0; i < SIBLING_RUNS; i++) {
		double gain = 0, gib = 70;
		for (int l = 0; l < MADE_UP_LEVERS; l++) {
			int s = draw(state, t->lever[l].n_settings);
			gain += t->gain_ln[l][s];
			gib += t->gib[l][s];
			t->sibling_value[i][l] = t->lever[l].setting_names == numbers ? 1 << s : s;
		}
		bool fits = gib <= 96;
		t->sibling_run[i] = (struct sibling_run){.sibling = i % 2,
			.value = t->sibling_value[i],
			.gain_ln = fits ? gain : NAN,
			.peak_bytes = fits ? gib * GIB : NAN,
			.out_of_memory = !fits,
			.capacity_bytes = 96 * GIB};
	}
	t->in.model.sibling_runs = t->sibling_run;
	t->in.model.n_sibling_runs = SIBLING_RUNS;
}

static void give_conflicts(struct task *t)
{
	t->known_conflict[0] = crashing;
	t->known_conflict[1] = (struct lever_pair){0, 1, 3, 1};
	t->declared_pair = (struct lever_pair){0, 2, 4, 1};
	t->in.model.known_conflicts = t->known_conflict;
	t->in.model.n_known_conflicts = 2;
	t->in.model.declared_pairs = &t->declared_pair;
	t->in.model.n_declared_pairs = 1;
}

static void give_starts(struct task *t, uint64_t *state)
{
	for (int i = 0; i < 3; i++)
		for (int l = 0; l < MADE_UP_LEVERS; l++)
			t->start[i][l] =
				draw(state, 3) ? t->lever[l].reference : draw(state, t->lever[l].n_settings);
	t->user_start[0] = t->start[0];
	t->user_start[1] = t->start[1];
	t->in.user_starts = t->user_start;
	t->in.n_user_starts = 2;
	t->in.experienced_start = t->extras & MADE_UP_EXPERIENCE ? t->start[2] : NULL;
	t->in.switches.starts_given = true;
	t->in.switches.starts = (1u << N_STARTS) - 1;
}

/* What experience knows stays as it is. */
static void give_sources(struct task *t, uint64_t *state)
{
	for (int l = 0; l < MADE_UP_LEVERS; l++)
		for (int s = 0; s < t->lever[l].n_settings; s++) {
			struct lever_prior *p = &t->prior[l][s];
			int source = draw(state, 3), off = draw(state, 65) - 32, sd = draw(state, 128);
			bool knows_memory = draw(state, 2);
			if (s == t->lever[l].reference || p->experienced || source == 0)
				continue;
			p->source = source;
			p->predicted_gain_ln = (source == 1 ? 1 : -1) * t->gain_ln[l][s] + off / 1024.0;
			p->predicted_sd_ln = sd / 256.0;
			p->declared_bytes = knows_memory ? t->gib[l][s] * GIB : 0;
			p->memory_sd_bytes = knows_memory ? sd / 16.0 * GIB : 0;
		}
}

/* Some of them are illegal, one is the reference, one is said twice. */
static void give_proposed(struct task *t, uint64_t *state)
{
	for (int i = 0; i < PROPOSED; i++) {
		for (int l = 0; l < MADE_UP_LEVERS; l++)
			t->proposal[i][l] =
				draw(state, 2) ? t->lever[l].reference : draw(state, t->lever[l].n_settings);
		t->proposed[i] = t->proposal[i];
	}
	for (int l = 0; l < MADE_UP_LEVERS; l++)
		t->proposal[1][l] = t->lever[l].reference;
	t->proposed[3] = t->proposal[2];
	t->in.proposed = t->proposed;
	t->in.n_proposed = PROPOSED;
}

/* Levers 0 and 4 move together or not at all, by an even sum; the last three do not move at once. */
static bool is_legal(void *context, const int *setting)
{
	const struct task *t = context;
	int moved[MADE_UP_LEVERS];
	for (int l = 0; l < MADE_UP_LEVERS; l++)
		moved[l] = setting[l] - t->lever[l].reference;
	return (moved[0] + moved[4]) % 2 == 0 && !(moved[4] && moved[5] && moved[6]);
}

static void give_extras(struct task *t, uint64_t variation)
{
	uint64_t state = 1000 + variation, proposers = 5000 + variation;
	if (t->extras & MADE_UP_OPERATORS)
		t->in.switches.operators_on = (1u << N_OPERATORS) - 1;
	if (t->extras & MADE_UP_NO_REVISION)
		t->in.switches.operators_off = 1u << OPERATOR_PRIOR_REVISION;
	if (t->extras & MADE_UP_EXPERIENCE)
		give_experience(t, &state);
	if (t->extras & MADE_UP_SIBLINGS)
		give_siblings(t, &state);
	if (t->extras & MADE_UP_CONFLICTS)
		give_conflicts(t);
	if (t->extras & MADE_UP_STARTS)
		give_starts(t, &state);
	if (t->extras & MADE_UP_SOURCES)
		give_sources(t, &proposers);
	if (t->extras & MADE_UP_PROPOSED)
		give_proposed(t, &proposers);
	if (t->extras & MADE_UP_LEGALITY) {
		t->in.is_legal = is_legal;
		t->in.legal_context = t;
	}
}

/* What the i-th failure says; every third is wrong. */
static const char *say(struct task *t, size_t i)
{
	const int *setting = t->setting[i];
	int a = i % 3 == 2 ? 0 : crashing.lever_a, b = i % 3 == 2 ? 3 : crashing.lever_b;
	snprintf(t->evidence[i], EVIDENCE_SIZE, "RuntimeError: no support for %s=%s with --%s %s", names[a],
		t->lever[a].setting_names[setting[a]], names[b], t->lever[b].setting_names[setting[b]]);
	return t->evidence[i];
}

/* ---- playing ---- */

static void begin(struct task *t, const int *setting)
{
	size_t i = t->in.n_visited++;
	memcpy(t->setting[i], setting, sizeof(t->setting[i]));
	t->visited[i] = t->setting[i];
	t->in.decision++;
}

/* The oldest of those that run. Effects add up. */
static void finish(struct task *t, enum made_up_kind kind)
{
	size_t i = t->in.model.n_observations++;
	const int *setting = t->setting[i];
	double gain = 0, gib = kind == MADE_UP_UNFIT ? 86 : 60;
	for (int l = 0; l < MADE_UP_LEVERS; l++) {
		gain += t->gain_ln[l][setting[l]];
		gib += t->gib[l][setting[l]];
	}
	bool crashes = setting[crashing.lever_a] == crashing.setting_a &&
		       setting[crashing.lever_b] == crashing.setting_b;
	bool fits = gib <= 80, ran = fits && !crashes;
	t->observation[i] = (struct observation){.setting = setting,
		.status = crashes ? OBSERVED_CRASH
			  : fits  ? OBSERVED_OK
				  : OBSERVED_OOM,
		.has_gain = ran,
		.gain_ln = ran ? gain : 0,
		.incumbent_allowed = ran,
		.peak_bytes = ran ? gib * GIB : NAN,
		.shortfall_bytes = fits ? NAN : (gib - 80) * GIB,
		.evidence = crashes && t->extras & MADE_UP_EVIDENCE ? say(t, i) : NULL};
}

static size_t count_running(const struct task *t)
{
	return t->in.n_visited - t->in.model.n_observations;
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

enum err_code made_up_play(enum made_up_kind kind, uint64_t variation, unsigned extras,
	const struct strategy *strategy, struct made_up_campaign *ret, struct err *reterr)
{
	struct task t;
	struct decision d;
	size_t at_once = extras & MADE_UP_PENDING ? AT_ONCE : 1;
	memset(ret, 0, sizeof(*ret));
	task_init(&t, kind, variation);
	t.extras = extras;
	give_extras(&t, variation);
	while (ret->n_trials < MADE_UP_TRIALS) {
		t.in.pending = t.visited + t.in.model.n_observations;
		t.in.n_pending = count_running(&t);
		TRY(strategy->next(&t.in, &d, reterr));
		if (!d.found)
			break;
		keep(ret, &d);
		begin(&t, d.setting);
		decision_release(&d);
		if (count_running(&t) >= at_once)
			finish(&t, kind);
	}
	while (count_running(&t))
		finish(&t, kind);
	return search_finalists(&t.in, MADE_UP_TRIALS, ret->finalists, &ret->n_finalists, reterr);
}
