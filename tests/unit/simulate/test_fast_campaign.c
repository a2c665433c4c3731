/* The fast path against the whole one: doctor, search and promotion through runner, verifier, receipts and
 * ledger must take the same decisions, measure the same and deliver the same. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "campaign/stages.h"
#include "simulate/failure_text.h"
#include "simulate/fast_campaign.h"
#include "simulate/simulated_runner.h"
#include "simulate/staging.h"
#include "simulate_fixture.h"

enum { TRIALS = 8, SEED = 11 };

static int n_explained; /* trials of a comparison whose failure says why */

struct whole {
	char dir[64];
	const struct simulated_job *job;
	bool with_experience;
	struct runner runner;
	struct campaign c;
};

static void inform(void *context, struct search_input *in)
{
	const struct whole *w = context;
	job_inform(w->job, w->with_experience, in);
}

static void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("%s", e->message);
}

static void whole_run(struct whole *w, const struct simulated_job *job, const char *strategy, bool experience)
{
	struct err e = ERR_INIT;
	*w = (struct whole){.dir = "/tmp/infrarsi-fast-XXXXXX", .job = job, .with_experience = experience};
	assert_non_null(mkdtemp(w->dir));
	setenv("XDG_STATE_HOME", w->dir, 1);
	CLEANUP(free_ptr) char *root = xasprintf("%s/job", w->dir);
	CLEANUP(free_ptr) char *task = xasprintf("%s/infrarsi.yaml", root);
	must(staging_write(job, root, TRIALS, &e), &e);
	simulated_runner_init(&w->runner, job, SEED);
	struct campaign_options options = {.stop_fd = -1,
		.self_path = "/nonexistent",
		.hook_dir = "/nonexistent",
		.sandbox = SANDBOX_OFF,
		.runner = &w->runner,
		.inform = inform,
		.inform_context = w};
	must(campaign_open(task, CAMPAIGN_WRITE, &options, &w->c, &e), &e);
	must(campaign_begin(&w->c, SEED, "{}", &e), &e);
	struct doctor_options doctor = {.runs = SIMULATED_REFERENCE_RUNS};
	struct doctor_result ignored;
	must(doctor_run(&w->c, &doctor, &ignored, &e), &e);
	struct run_options run = {.trials = TRIALS, .strategy = strategy, .accept_noise = true};
	must(search_run(&w->c, &run, &e), &e);
}

static void whole_release(struct whole *w)
{
	campaign_close(&w->c);
	runner_release(&w->runner);
	assert_int_equal(remove_tree(w->dir, NULL), OK);
}

static void same_number(const char *what, double whole, double fast)
{
	if (!(whole == fast || (isnan(whole) && isnan(fast))))
		fail_msg("%s: %.17g in the whole path, %.17g in the fast one", what, whole, fast);
}

/* The classifier takes the line from the log as it was meant; the fast path hands it over as it is. */
static void compare_explanation(const struct simulated_job *job, const struct trial *t)
{
	CLEANUP(free_ptr) char *text = failure_text(job, t->candidate.setting, SEED);
	if (text && (t->status == TRIAL_CRASHED || t->status == TRIAL_HUNG))
		assert_string_equal(t->run.evidence, text);
	n_explained += text != NULL;
}

static void compare_trials(
	const struct simulated_job *job, const struct state *s, const struct fast_campaign *f)
{
	assert_int_equal(s->n_trials, f->n_trials);
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		for (size_t l = 0; l < t->candidate.n_levers; l++)
			if (t->candidate.setting[l] != f->trials[i].setting[l])
				fail_msg("trial %zu, lever %zu: %d in the whole path, %d in the fast one",
					i + 1, l, t->candidate.setting[l], f->trials[i].setting[l]);
		assert_string_equal(t->operators, f->trials[i].operators);
		if (t->status != f->trials[i].status)
			fail_msg("trial %zu: %s, in the fast path %s", i + 1, trial_status_names[t->status],
				trial_status_names[f->trials[i].status]);
		same_number("gain", t->run.gain_ln, f->trials[i].measured_ln);
		same_number("cost", t->device_s, f->trials[i].device_s);
		if (job->failures_explain)
			compare_explanation(job, t);
	}
}

static void compare_promotion(const struct state *s, const struct fast_outcome *o)
{
	assert_true(s->finished);
	const struct duel *duel = s->delivered_finalist ? &s->duels[s->delivered_finalist - 1] : NULL;
	assert_int_equal(duel != NULL, o->delivered);
	same_number("promotion's cost", s->cost.promotion_s, o->promotion_s);
	if (!duel)
		return;
	same_number("claim", duel->claimed_ln, o->claimed_ln);
	same_number("duel", duel->result.gain_ln, o->duel_ln);
	const struct candidate *c = &s->trials[duel->trial - 1].candidate;
	assert_memory_equal(c->setting, o->setting, c->n_levers * sizeof(int));
}

static void compare(const char *fixture, const char *strategy, bool experience, bool hints)
{
	struct simulated_job job;
	struct whole w;
	struct fast_campaign f;
	struct err e = ERR_INIT;
	load_fixture(fixture, &job);
	job.failures_explain = hints;
	whole_run(&w, &job, strategy, experience);
	struct fast_options options = {.job = &job,
		.strategy = strategy_find(strategy),
		.seed = SEED,
		.with_experience = experience,
		.budgets = (const int[]){3, TRIALS},
		.n_budgets = 2};
	must(fast_campaign_run(&options, &f, &e), &e);
	same_number("sigma_pair", w.c.state.noise.sigma_pair, f.sigma_pair);
	same_number("reference's cost", w.c.state.cost.reference_s, f.reference_s);
	same_number("profile's cost", w.c.state.cost.profile_s, f.profile_s);
	compare_trials(&job, &w.c.state, &f);
	compare_promotion(&w.c.state, &f.outcomes[1]);
	fast_campaign_release(&f);
	whole_release(&w);
	simulated_job_release(&job);
}

static void a_landscape_with_patches(void **state)
{
	(void)state;
	compare("small.json", "controller", false, false);
}

static void a_landscape_with_every_kind_of_failure(void **state)
{
	(void)state;
	compare("cliff.json", "random", false, false);
	compare("cliff.json", "controller", true, false);
}

static void failures_that_explain_themselves(void **state)
{
	(void)state;
	n_explained = 0;
	compare("cliff.json", "random", false, true);
	compare("cliff.json", "controller", false, true);
	assert_true(n_explained > 0);
}

static void surfaces(void **state)
{
	(void)state;
	compare("toy__2x4h100.csv", "controller", false, false);
	compare("kernel__toy.csv", "tpe-sparse", false, false);
}

/* A smaller budget's outcome is that of a campaign that ended there. */
static void budgets_do_not_see_each_other(void **state)
{
	(void)state;
	struct simulated_job job;
	struct fast_campaign both, one;
	struct err e = ERR_INIT;
	load_fixture("small.json", &job);
	struct fast_options options = {.job = &job,
		.strategy = strategy_find("controller"),
		.seed = 4,
		.budgets = (const int[]){3, 6},
		.n_budgets = 2};
	must(fast_campaign_run(&options, &both, &e), &e);
	for (int i = 0; i < 2; i++) {
		options.budgets = (const int[2]){i ? 6 : 3};
		options.n_budgets = 1;
		must(fast_campaign_run(&options, &one, &e), &e);
		assert_int_equal(one.n_trials, i ? 6 : 3);
		assert_int_equal(one.outcomes[0].delivered, both.outcomes[i].delivered);
		same_number("claim", one.outcomes[0].claimed_ln, both.outcomes[i].claimed_ln);
		same_number("duel", one.outcomes[0].duel_ln, both.outcomes[i].duel_ln);
		same_number("promotion", one.outcomes[0].promotion_s, both.outcomes[i].promotion_s);
		fast_campaign_release(&one);
	}
	fast_campaign_release(&both);
	simulated_job_release(&job);
}

/* Nothing that cheats, loses or fails is ever delivered, and what is delivered is what the truth says. */
static void what_is_delivered_is_valid(void **state)
{
	(void)state;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	struct simulated_job job;
	load_fixture("cliff.json", &job);
	for (size_t k = 0; k < n; k++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct fast_campaign f;
			struct err e = ERR_INIT;
			struct fast_options options = {.job = &job,
				.strategy = &list[k],
				.seed = seed,
				.budgets = (const int[]){12},
				.n_budgets = 1};
			must(fast_campaign_run(&options, &f, &e), &e);
			const struct fast_outcome *o = &f.outcomes[0];
			assert_true(o->true_ln <= job.optimum_ln + 1e-12);
			assert_true(o->delivered ? isfinite(o->true_ln) : o->true_ln == 0);
			/* 1.2% noise, at least four pairs: a duel is never off by 5% */
			assert_true(!o->delivered || fabs(o->duel_ln - o->true_ln) < 0.05);
			fast_campaign_release(&f);
		}
	simulated_job_release(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_landscape_with_patches),
		cmocka_unit_test(a_landscape_with_every_kind_of_failure),
		cmocka_unit_test(failures_that_explain_themselves),
		cmocka_unit_test(surfaces),
		cmocka_unit_test(budgets_do_not_see_each_other),
		cmocka_unit_test(what_is_delivered_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
