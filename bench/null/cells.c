#include "base/base.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "null.h"

/* What promotion promises (src/stats/duel.c), and what it must not lose. */
static const double false_promotions_allowed = 0.005, power_wanted = 0.9, power_up_to_sigma_pair = 0.003;

/* Wilson (1927): of a share, also where nothing or everything hits. */
static struct share share_of(int hits, int of)
{
	const double z = 1.959963984540054; /* the normal quantile at 97.5% */
	struct share s = {.hits = hits, .of = of, .low = NAN, .high = NAN};
	if (of == 0)
		return s;
	double n = of, p = hits / n, scale = 1 + z * z / n;
	double centre = (p + z * z / (2 * n)) / scale;
	double reach = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale;
	s.low = hits == 0 ? 0 : centre - reach;
	s.high = hits == of ? 1 : centre + reach;
	return s;
}

static double share_value(const struct share *s)
{
	return s->of ? (double)s->hits / s->of : NAN;
}

struct cell null_cell(const struct null_options *o, const struct null_campaign *campaigns, int level, int arm)
{
	const struct null_campaign *c =
		campaigns + ((size_t)level * (size_t)o->n_arms + (size_t)arm) * (size_t)o->campaigns;
	int n_false = 0, n_found = 0, n_finalists = 0, n_promoted = 0, n_right = 0, n_right_finalists = 0;
	double claimed = 0, duel = 0, runs = 0;
	for (int i = 0; i < o->campaigns; i++) {
		bool is_right = c[i].promoted && !c[i].is_false;
		n_false += c[i].is_false;
		n_found += c[i].was_found;
		n_finalists += c[i].was_finalist;
		n_promoted += c[i].promoted;
		n_right += is_right;
		n_right_finalists += is_right && c[i].was_finalist;
		claimed += c[i].claimed_ln;
		duel += c[i].duel_ln;
		runs += c[i].promotion_s / c[i].reference_s;
	}
	return (struct cell){.arm = o->arms[arm],
		.sigma_pair = o->levels[level],
		.false_promotions = share_of(n_false, o->campaigns),
		.found = share_of(n_found, o->campaigns),
		.promoted = share_of(n_right, o->campaigns),
		.promoted_of_finalists = share_of(n_right_finalists, n_finalists),
		.claimed_ln = n_promoted ? claimed / n_promoted : NAN,
		.duel_ln = n_promoted ? duel / n_promoted : NAN,
		.promotion_runs = runs / o->campaigns};
}

bool null_cell_holds(const struct cell *c, const char **ret_why)
{
	const char *why = NULL;
	bool needs_power = c->arm->gain_ln > 0 && c->sigma_pair <= power_up_to_sigma_pair;
	if (c->false_promotions.low > false_promotions_allowed)
		why = "more false promotions than 0.5%";
	else if (needs_power && share_value(&c->promoted) < power_wanted)
		why = "fewer true gains promoted than 90%";
	else if (needs_power && share_value(&c->promoted_of_finalists) < power_wanted)
		why = "fewer finalists with the true gain promoted than 90%";
	if (ret_why)
		*ret_why = why;
	return !why;
}

static void print_share(const struct share *s)
{
	printf("  %5d %6.2f%% [%5.2f,%6.2f]", s->hits, 100 * share_value(s), 100 * s->low, 100 * s->high);
}

static void print_row(const struct cell *c)
{
	const char *why;
	printf("%-10.2f", 100 * c->sigma_pair);
	print_share(&c->false_promotions);
	if (c->arm->gain_ln > 0) {
		printf(" %6.1f%%", 100 * share_value(&c->found));
		print_share(&c->promoted);
		printf(" %7.2f%%  %+.2f%% %+.2f%%", 100 * share_value(&c->promoted_of_finalists),
			100 * expm1(c->claimed_ln), 100 * expm1(c->duel_ln));
	}
	printf("  %5.1f", c->promotion_runs);
	if (!null_cell_holds(c, &why))
		printf("  MISSED: %s", why);
	printf("\n");
}

void null_print_table(const struct null_options *o, const struct null_campaign *campaigns)
{
	for (int a = 0; a < o->n_arms; a++) {
		bool gains = o->arms[a]->gain_ln > 0;
		printf("%s%s: %d campaigns a level\n%-10s  %-29s", a ? "\n" : "", o->arms[a]->name,
			o->campaigns, "sigma_pair", "false promotions");
		if (gains)
			printf(" %7s  %-29s %8s  %6s %6s", "found", "promoted", "finalist", "claim", "duel");
		printf("  %5s\n", "cost");
		for (int l = 0; l < o->n_levels; l++) {
			struct cell c = null_cell(o, campaigns, l, a);
			print_row(&c);
		}
	}
	printf("\n[low,high]: 95%% (Wilson). found: a trial had the setting that gains; finalist: promoted, "
	       "of the campaigns\nin which a finalist had it; claim, duel: mean gain of what was promoted as "
	       "the search and as the duel saw it;\ncost: of promotion, in reference runs.\n");
}

static json_t *share_json(const struct share *s)
{
	json_t *json = json_object();
	json_object_set_new(json, "hits", json_integer(s->hits));
	json_object_set_new(json, "of", json_integer(s->of));
	json_object_set_new(json, "share", json_from_number(share_value(s)));
	json_object_set_new(json, "low", json_from_number(s->low));
	json_object_set_new(json, "high", json_from_number(s->high));
	return json;
}

static json_t *cell_json(const struct cell *c)
{
	json_t *json = json_object();
	json_object_set_new(json, "sigma_pair", json_from_number(c->sigma_pair));
	json_object_set_new(json, "false_promotions", share_json(&c->false_promotions));
	if (c->arm->gain_ln > 0) {
		json_object_set_new(json, "found", share_json(&c->found));
		json_object_set_new(json, "promoted", share_json(&c->promoted));
		json_object_set_new(json, "promoted_of_finalists", share_json(&c->promoted_of_finalists));
	}
	json_object_set_new(json, "claimed_ln", json_from_number(c->claimed_ln));
	json_object_set_new(json, "duel_ln", json_from_number(c->duel_ln));
	json_object_set_new(json, "promotion_runs", json_from_number(c->promotion_runs));
	json_object_set_new(json, "holds", json_boolean(null_cell_holds(c, NULL)));
	return json;
}

char *null_json(const struct null_options *o, const struct null_campaign *campaigns)
{
	json_t *json = json_object(), *arms = json_array();
	for (int a = 0; a < o->n_arms; a++) {
		json_t *arm = json_object(), *levels = json_array();
		for (int l = 0; l < o->n_levels; l++) {
			struct cell c = null_cell(o, campaigns, l, a);
			json_array_append_new(levels, cell_json(&c));
		}
		json_object_set_new(arm, "name", json_string(o->arms[a]->name));
		json_object_set_new(arm, "levels", levels);
		json_array_append_new(arms, arm);
	}
	json_object_set_new(json, "campaigns", json_integer(o->campaigns));
	json_object_set_new(json, "trials", json_integer(o->trials));
	json_object_set_new(json, "seed", json_integer((json_int_t)o->seed));
	json_object_set_new(json, "arms", arms);
	return json_dump_pretty_take(json);
}
