/*
 * Whole campaigns (reference runs, search, promotion) on jobs at the edge: where nothing runs, nothing is
 * known or nothing can be told apart. Every strategy goes through each; nothing that does not run, is not
 * valid or is not there is delivered.
 */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "simulate/fast_campaign.h"
#include "simulate_fixture.h"

#define GIB 1073741824.0
enum { LEVERS_MAX = 12, SETTINGS_MAX = 8 };

struct behaviour {
	enum job_end end;     /* of whatever is not the reference */
	bool has_memory;      /* peaks are read, and there is a capacity */
	double reference_gib; /* of 80 */
	double gain_ln;       /* of the last setting of the first lever */
	double effects_sd_ln; /* of every other setting, drawn */
	bool only_reference;  /* is legal */
	double effect_ln[LEVERS_MAX][SETTINGS_MAX];
};

struct job {
	struct simulated_job job;
	struct behaviour b;
	struct lever levers[LEVERS_MAX];
	struct lever_prior priors[SETTINGS_MAX];
	const char *names[SETTINGS_MAX];
	char text[SETTINGS_MAX][8], lever_names[LEVERS_MAX][8];
};

static bool is_reference(const struct simulated_job *job, const int *setting)
{
	for (int l = 0; l < job->n_levers; l++)
		if (setting[l] != job->levers[l].reference)
			return false;
	return true;
}

static struct truth evaluate(const struct simulated_job *job, const int *setting)
{
	const struct behaviour *b = job->data;
	struct truth t = {.peak_bytes = b->has_memory ? b->reference_gib * GIB : NAN, .excess_bytes = NAN};
	t.end = is_reference(job, setting) ? JOB_RUNS : b->end;
	if (b->reference_gib > 80)
		t.end = JOB_OOM;
	for (int l = 0; l < job->n_levers; l++)
		t.gain_ln += b->effect_ln[l][setting[l]];
	return t;
}

static bool is_legal(const struct simulated_job *job, const int *setting)
{
	const struct behaviour *b = job->data;
	return !b->only_reference || is_reference(job, setting);
}

static const struct job_kind kind = {.name = "degenerate", .evaluate = evaluate, .is_legal = is_legal};

static struct job *job_new(int knobs, int settings, int patches, double sigma_pair, const struct behaviour *b)
{
	struct job *j = calloc(1, sizeof(*j));
	struct random random;
	assert_non_null(j);
	random_init(&random, 1, "degenerate", 0);
	j->b = *b;
	for (int s = 0; s < SETTINGS_MAX; s++) {
		snprintf(j->text[s], sizeof(j->text[s]), "%d", s + 1);
		j->names[s] = j->text[s];
		j->priors[s].amdahl_cap_ln = INFINITY;
	}
	static const char *const switches[] = {"off", "on"};
	for (int l = 0; l < knobs + patches; l++) {
		bool is_patch = l >= knobs;
		snprintf(j->lever_names[l], sizeof(j->lever_names[l]), "lever%d", l);
		j->levers[l] = (struct lever){.name = j->lever_names[l],
			.is_patch = is_patch,
			.ordered = !is_patch && l % 2 == 0,
			.n_settings = is_patch ? 2 : settings,
			.prior = j->priors,
			.setting_names = is_patch ? switches : j->names};
		for (int s = 1; s < j->levers[l].n_settings; s++)
			j->b.effect_ln[l][s] = b->effects_sd_ln * random_normal(&random);
	}
	if (knobs + patches)
		j->b.effect_ln[0][j->levers[0].n_settings - 1] += b->gain_ln;
	j->job = (struct simulated_job){.name = "degenerate",
		.levers = j->levers,
		.n_levers = knobs + patches,
		.n_knobs = knobs,
		.capacity_bytes = b->has_memory ? 80 * GIB : INFINITY,
		.sigma_pair = sigma_pair,
		.peak_sd_bytes = b->has_memory ? 0.3 * GIB : 0,
		.reference_step_s = 1,
		.startup_s = 10,
		.updates = 30,
		.warmup = 10,
		.devices = 1,
		.kind = &kind,
		.data = &j->b};
	return j;
}

static enum err_code campaign(const struct job *j, const struct strategy *strategy, uint64_t seed, int trials,
	struct fast_campaign *ret, struct err *reterr)
{
	struct fast_options options = {
		.job = &j->job, .strategy = strategy, .seed = seed, .budgets = &trials, .n_budgets = 1};
	return fast_campaign_run(&options, ret, reterr);
}

/* Every strategy; the number of trials that each makes is at most `most`, and the controller's is it. */
static void none_delivers(const struct job *j, int trials, int most)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t i = 0; i < n; i++) {
		struct fast_campaign c;
		struct err e = ERR_INIT;
		if (campaign(j, &list[i], 3, trials, &c, &e) != OK)
			fail_msg("%s: %s", list[i].name, e.message);
		const struct fast_outcome *o = &c.outcomes[0];
		assert_false(o->delivered);
		assert_true(is_reference(&j->job, o->setting));
		assert_true(o->true_ln == 0 && o->claimed_ln == 0 && o->duel_ln == 0);
		assert_true(o->n_trials <= most);
		if (strcmp(list[i].name, "controller") == 0)
			assert_int_equal(o->n_trials, most);
		fast_campaign_release(&c);
	}
}

static const struct behaviour plain = {.end = JOB_RUNS, .has_memory = true, .reference_gib = 60};

/* Whatever way it fails, the reference stays, and nothing but search is paid for: no duel is opened. */
static void every_setting_fails(void **state)
{
	(void)state;
	static const enum job_end ends[] = {JOB_OOM, JOB_CRASHES, JOB_HANGS, JOB_LOSES, JOB_CHEATS};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		for (int memory = 0; memory < 2; memory++) {
			struct behaviour b = plain;
			b.end = ends[i];
			b.has_memory = memory;
			b.gain_ln = 0.2;
			struct job *j = job_new(3, 3, 1, 0.005, &b);
			struct fast_campaign c;
			struct err e = ERR_INIT;
			none_delivers(j, 10, 10);
			assert_int_equal(campaign(j, strategy_find("controller"), 3, 10, &c, &e), OK);
			assert_true(c.outcomes[0].promotion_s == 0);
			fast_campaign_release(&c);
			free(j);
		}
}

static void nothing_to_search(void **state)
{
	(void)state;
	struct job *j = job_new(1, 1, 0, 0.005, &plain);
	none_delivers(j, 17, 0);
	free(j);
	struct behaviour b = plain;
	b.only_reference = true;
	b.gain_ln = 0.2;
	j = job_new(8, 3, 2, 0.005, &b);
	none_delivers(j, 17, 0);
	free(j);
}

/* Without noise all figures are the same: none is promoted over another. */
static void identical_settings_without_noise(void **state)
{
	(void)state;
	struct job *j = job_new(5, 3, 2, 0, &plain);
	none_delivers(j, 17, 17);
	free(j);
}

static const struct fast_outcome *deliver(
	const struct job *j, uint64_t seed, int trials, struct fast_campaign *c)
{
	struct err e = ERR_INIT;
	if (campaign(j, strategy_find("controller"), seed, trials, c, &e) != OK)
		fail_msg("%s", e.message);
	return &c->outcomes[0];
}

/* The one gain that there is, 20% with noise of 0.5%, is found and delivered wherever it can be. */
static void the_only_gain_is_delivered(void **state)
{
	(void)state;
	static const struct {
		int knobs, settings, patches, trials;
		bool has_memory;
	} shapes[] = {
		{1, 2, 0, 1, true},   /* one knob, a budget of one */
		{1, 5, 0, 17, true},  /* and its settings run out before the budget */
		{4, 3, 2, 17, false}, /* no peak, no capacity */
	};
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct behaviour b = plain;
		struct fast_campaign c;
		b.has_memory = shapes[i].has_memory;
		b.gain_ln = 0.2;
		struct job *j = job_new(shapes[i].knobs, shapes[i].settings, shapes[i].patches, 0.005, &b);
		const struct fast_outcome *o = deliver(j, 3, shapes[i].trials, &c);
		assert_true(o->delivered);
		assert_true(fabs(o->true_ln - 0.2) < 1e-12 && fabs(o->duel_ln - 0.2) < 0.02);
		fast_campaign_release(&c);
		free(j);
	}
}

/* Effects of a few percent in noise of 50%: what is promoted at all is promoted by mistake as often as the
 * duel allows, so hardly any campaign ends with something slower than the reference. (CONTROLLER section 4
 * has 2 of 60, with a looser rule.) */
static void noise_larger_than_every_effect(void **state)
{
	(void)state;
	enum { CAMPAIGNS = 60 };
	struct behaviour b = plain;
	int promoted = 0;
	b.effects_sd_ln = 0.03;
	struct job *j = job_new(6, 3, 2, 0.5, &b);
	for (uint64_t seed = 1; seed <= CAMPAIGNS; seed++) {
		struct fast_campaign c;
		promoted += deliver(j, seed, 12, &c)->delivered;
		fast_campaign_release(&c);
	}
	/* 0.5% of 60 is 0.3: four or more have a chance of 3e-4. */
	assert_true(promoted <= 3);
	free(j);
}

/* There is nothing to compare with: an error, not a campaign. (A landscape file says so where it is read.) */
static void a_reference_that_does_not_fit_is_an_error(void **state)
{
	(void)state;
	struct behaviour b = plain;
	b.reference_gib = 90;
	struct job *j = job_new(3, 3, 0, 0.005, &b);
	struct fast_campaign c;
	struct err e = ERR_INIT;
	assert_int_equal(campaign(j, strategy_find("controller"), 3, 5, &c, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "reference run 1 has no measured update"));
	free(j);
	struct simulated_job landscape;
	CLEANUP(free_ptr) char *text = fixture_text("small.json");
	CLEANUP(free_ptr) char *large = replaced(text, "\"ref_peak_gib\": 60", "\"ref_peak_gib\": 81");
	assert_int_equal(landscape_parse("large.json", large, strlen(large), &landscape, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "ref_peak_gib"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_fails),
		cmocka_unit_test(nothing_to_search),
		cmocka_unit_test(identical_settings_without_noise),
		cmocka_unit_test(the_only_gain_is_delivered),
		cmocka_unit_test(noise_larger_than_every_effect),
		cmocka_unit_test(a_reference_that_does_not_fit_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
