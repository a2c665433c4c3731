#include "base/base.h"

#include <math.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/budget.h"
#include "campaign/stages.h"
#include "cli/cli.h"
#include "cli/explain_print.h"

struct explain_values {
	const char *trial;
	bool all;
};

static enum err_code check_arguments(const struct explain_values *v, int64_t *ret_number, struct err *reterr)
{
	if (v->trial && (!parse_integer(v->trial, ret_number) || *ret_number < 1))
		return err_set(
			reterr, ERR_INPUT, "explain: --trial: expected a trial number, got '%s'", v->trial);
	if (v->trial && v->all)
		return err_set(reterr, ERR_INPUT, "explain: --all goes without --trial");
	return OK;
}

static enum err_code find_trial(
	const struct state *s, int64_t number, const struct trial **ret_trial, struct err *reterr)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == number) {
			*ret_trial = &s->trials[i];
			return OK;
		}
	if (s->n_trials == 0)
		return err_set(reterr, ERR_NOT_FOUND,
			"there is no trial %lld: none has been decided yet; next: infrarsi run",
			(long long)number);
	return err_set(reterr, ERR_NOT_FOUND, "there is no trial %lld; expected 1 to %d", (long long)number,
		s->trials[s->n_trials - 1].number);
}

enum err_code explain_one_trial(
	const struct state *s, int64_t number, bool as_json, struct strbuf *text, struct err *reterr)
{
	const struct trial *t = NULL;
	TRY(find_trial(s, number, &t, reterr));
	if (!as_json) {
		explain_trial_text(s, t, text);
		return OK;
	}
	CLEANUP(free_ptr) char *json = explain_trial_json(s, t);
	strbuf_addf(text, "%s\n", json);
	return OK;
}

/* A simulator answered: doctor recorded that as the machine. */
static bool is_simulated(const struct state *s)
{
	CLEANUP(json_decref_ptr) json_t *environment = json_loads(s->environment_json, 0, NULL);
	return *json_text_of(environment, "simulated") != '\0';
}

/* As `infrarsi run` without --fix and --start would decide. */
static enum err_code decide_next(const struct state *s, struct explanation *x, struct err *reterr)
{
	x->next_is_recorded = s->has_pending_decision;
	if (!x->next_is_recorded)
		return strategy_find("controller")->next(&s->search, &x->next, reterr);
	x->next = s->pending; /* borrowed */
	return OK;
}

/* Nothing where the task has no horizon, or the next trial is decided already. */
static void weigh_next(const struct campaign *c, struct explanation *x, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (!x->next.found || x->next_is_recorded)
		return;
	struct worth_of_trial worth = budget_worth(c, &x->next);
	if (!isfinite(worth.saving_s))
		return;
	budget_describe_worth(c, &worth, &text);
	x->saving_s = worth.saving_s;
	x->price_s = worth.price_s;
	x->worth = arena_strdup(arena, text.buf);
}

enum err_code explain_whole_campaign(
	const struct campaign *c, bool show_all, bool as_json, struct strbuf *text, struct err *reterr)
{
	const struct state *s = &c->state;
	struct arena arena = ARENA_INIT;
	struct explanation x = {.state = s,
		.is_simulated = is_simulated(s),
		.show_all = show_all,
		.saving_s = NAN,
		.price_s = NAN,
		.worth = ""};
	enum err_code code = beliefs_form(&s->search, &arena, &x.beliefs, reterr);
	if (code == OK)
		code = decide_next(s, &x, reterr);
	if (code == OK)
		weigh_next(c, &x, &arena);
	if (code == OK && as_json) {
		CLEANUP(free_ptr) char *json = explain_json(&x);
		strbuf_addf(text, "%s\n", json);
	} else if (code == OK) {
		explain_text(&x, text);
	}
	if (!x.next_is_recorded)
		decision_release(&x.next);
	arena_release(&arena);
	return code;
}

static enum err_code explain(const struct parsed *parsed, const struct explain_values *v, struct campaign *c,
	int64_t number, struct strbuf *text, struct err *reterr)
{
	TRY(doctor_check_measured(c, reterr));
	bool as_json = parsed->common.json;
	return v->trial ? explain_one_trial(&c->state, number, as_json, text, reterr)
			: explain_whole_campaign(c, v->all, as_json, text, reterr);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct explain_values *v = values;
	struct campaign c = {0};
	struct err e = ERR_INIT;
	int64_t number = 0;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	enum err_code code = check_arguments(v, &number, &e);
	if (code == OK)
		code = cli_open_recorded(&parsed->common, &c, &e);
	if (code != OK)
		return cli_fail(&parsed->common, &e);
	code = explain(parsed, v, &c, number, &text, &e);
	if (code == OK)
		cli_print(&text);
	int exit_code = code == OK ? 0 : cli_fail(&parsed->common, &e);
	campaign_close(&c);
	return exit_code;
}

static const struct option_spec options[] = {
	{"trial", "N", OPTION_TEXT, "one decision: operators, score, what was predicted and what came of it",
		offsetof(struct explain_values, trial)},
	{"all", NULL, OPTION_FLAG, "every setting and every suspicion, also where there are many",
		offsetof(struct explain_values, all)},
};

const struct command command_explain = {
	.name = "explain",
	.summary = "what the search believes of each setting, what it suspects, what it would try next",
	.usage = "",
	.detail =
		"Reads the ledger and writes nothing; works while a search runs. Beliefs are computed anew "
		"from\nwhat was measured; a recorded decision (--trial) is shown as it was recorded. How to "
		"read them:\ndocs/search.md.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct explain_values),
	.run = run,
};
