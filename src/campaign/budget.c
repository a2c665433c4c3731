#include "base/base.h"

#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "campaign/budget.h"
#include "search/worth.h"
#include "stats/noise.h"

static const double seconds_per_hour = 3600;

static double devices_of(const struct state *s)
{
	return (double)s->task->launch.nodes * s->task->launch.devices_per_node;
}

static double reference_price_s(const struct state *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->n_references; i++)
		sum += s->references[i].device_s;
	return s->n_references ? sum / (double)s->n_references : 0;
}

static double search_spent_s(const struct state *s)
{
	double sum = s->cost.search_s;
	for (size_t i = 0; i < s->n_trials; i++)
		sum += s->trials[i].run.build_s * devices_of(s);
	return sum;
}

double budget_trial_price_s(const struct state *s)
{
	return s->n_counted ? search_spent_s(s) / s->n_counted : reference_price_s(s);
}

double budget_reserve_s(const struct campaign *c)
{
	double longer = (double)c->confirm_updates / c->task.contract.updates;
	double runs = 2 * duel_pairs_wanted(c->state.noise.sigma_pair) + (LONGER_REFERENCES + 1) * longer;
	return runs * reference_price_s(&c->state);
}

/* What trials that run beside are still going to be billed. */
static double running_s(const struct state *s)
{
	int n = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		n += s->trials[i].status == TRIAL_REGISTERED;
	return n * budget_trial_price_s(s);
}

static enum search_over_why device_hours_end(const struct campaign *c, struct strbuf *text)
{
	const struct state *s = &c->state;
	double limit_s = seconds_per_hour * s->task->budget.device_hours;
	double spent_s = search_spent_s(s) + running_s(s);
	double price_s = budget_trial_price_s(s), reserve_s = budget_reserve_s(c);
	if (limit_s <= 0 || spent_s + price_s + reserve_s <= limit_s)
		return SEARCH_OVER_NONE;
	strbuf_addf(text,
		"the budget of %.3g device-hours has no room for another trial: %.3g are spent, %.3g are "
		"kept for the final duel, and a trial takes %.3g",
		s->task->budget.device_hours, spent_s / seconds_per_hour, reserve_s / seconds_per_hour,
		price_s / seconds_per_hour);
	return SEARCH_OVER_DEVICE_HOURS;
}

static enum search_over_why wall_end(const struct campaign *c, struct strbuf *text)
{
	const struct state *s = &c->state;
	char limit[UNIT_TEXT_SIZE], spent[UNIT_TEXT_SIZE], kept[UNIT_TEXT_SIZE];
	double limit_s = c->task.budget.wall_s, spent_s = clock_now_s() - c->opened_s;
	double kept_s = budget_reserve_s(c) / devices_of(s);
	if (limit_s <= 0 || spent_s + budget_trial_price_s(s) / devices_of(s) + kept_s <= limit_s)
		return SEARCH_OVER_NONE;
	strbuf_addf(text,
		"the budget of %s has no room for another trial: %s are over, and %s are kept for the final "
		"duel",
		format_duration(limit_s, limit), format_duration(spent_s, spent),
		format_duration(kept_s, kept));
	return SEARCH_OVER_WALL;
}

enum search_over_why budget_ends_search(const struct campaign *c, struct strbuf *text)
{
	enum search_over_why why = device_hours_end(c, text);
	return why != SEARCH_OVER_NONE ? why : wall_end(c, text);
}

struct worth_of_trial budget_worth(const struct campaign *c, const struct decision *d)
{
	const struct state *s = &c->state;
	double horizon = c->task.contract.horizon_updates;
	double unit_s = s->noise.mean_s * devices_of(s) * horizon;
	return (struct worth_of_trial){horizon > 0 ? unit_s * worth_of(d) : NAN, budget_trial_price_s(s)};
}

bool budget_is_worth_it(const struct worth_of_trial *w)
{
	return isnan(w->saving_s) || w->saving_s >= w->price_s;
}

void budget_describe_worth(const struct campaign *c, const struct worth_of_trial *w, struct strbuf *text)
{
	strbuf_addf(text,
		"another trial costs about %.2g device-hours and is expected to save %.2g over %.0f updates",
		w->price_s / seconds_per_hour, w->saving_s / seconds_per_hour,
		c->task.contract.horizon_updates);
}

enum err_code budget_record_end(
	struct campaign *c, enum search_over_why why, const char *text, struct err *reterr)
{
	if (c->state.search_over.why == why)
		return OK;
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("search_over"));
	json_object_set_new(body, "why", json_string(search_over_names[why]));
	json_object_set_new(body, "text", json_from_text(text));
	TRY(campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr);
}
