#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "bench.h"

static const char *knowledge_name(const struct bench_options *o)
{
	static const char *const names[2][2] = {{"cold", "cold, with hints"},
		{"with experience from siblings", "with experience from siblings and hints"}};
	return names[o->siblings][o->hints];
}

struct column {
	const char *title;
	enum { OF_ALL, OF_LANDSCAPES, OF_SURFACES } groups;
	bool is_price, is_paired; /* paired: nothing to say of the first strategy */
	int index;
	int decimals;
	double scale;
	bool is_ln; /* shown as a ratio */
};

static const struct column results[] = {
	{"fraction of optimum", .index = MEASURE_FRACTION, .decimals = 3, .scale = 1},
	{"speed-up", .index = MEASURE_SPEEDUP_LN, .decimals = 3, .scale = 1, .is_ln = true},
	{"regret, ln", .index = MEASURE_REGRET_LN, .decimals = 3, .scale = 1},
	{"% within 10%", .index = MEASURE_HIT, .decimals = 0, .scale = 100},
	{"failed trials", .index = MEASURE_FAILED, .decimals = 1, .scale = 1},
	{"first ahead: fraction", .index = MEASURE_BEHIND_FRACTION, .decimals = 3, .scale = 1,
		.is_paired = true},
	{"first ahead: speed-up", .index = MEASURE_BEHIND_LN, .decimals = 3, .scale = 1, .is_ln = true,
		.is_paired = true},
};
static const struct column ways[] = {
	{"trials to 90%", .index = MEASURE_TRIALS_TO_90, .decimals = 1, .scale = 1},
	{"% that got there", .index = MEASURE_REACHED, .decimals = 0, .scale = 100},
	{"hours of those", OF_LANDSCAPES, .index = MEASURE_HOURS_TO_90, .decimals = 2, .scale = 1},
	{"ref. runs of those", OF_SURFACES, .index = MEASURE_RUNS_TO_90, .decimals = 1, .scale = 1},
	{"hours per success", OF_LANDSCAPES, true, .index = PRICE_HOURS, .decimals = 2, .scale = 1},
	{"ref. runs per success", OF_SURFACES, true, .index = PRICE_RUNS, .decimals = 1, .scale = 1},
	{"cost, times first's", .is_price = true, .is_paired = true, .index = PRICE_RATIO, .decimals = 2,
		.scale = 1},
};
enum { COLUMN_WIDTH = 24 };

static bool is_shown(const struct column *c, enum group group)
{
	return c->groups == OF_ALL || (c->groups == OF_SURFACES) == group_is_measured(group);
}

static void print_cell(const struct column *c, const struct measured *m, FILE *to)
{
	const struct interval *v = c->is_price ? &m->price[c->index] : &m->measure[c->index];
	double shown[3] = {v->mean, v->low, v->high};
	char text[64];
	for (int i = 0; i < 3; i++)
		shown[i] = c->is_ln ? exp(shown[i]) : c->scale * shown[i];
	if (isnan(shown[0]))
		snprintf(text, sizeof(text), "-");
	else if (isinf(shown[0]))
		snprintf(text, sizeof(text), "never");
	else
		snprintf(text, sizeof(text), "%.*f [%.*f, %.*f]", c->decimals, shown[0], c->decimals,
			shown[1], c->decimals, shown[2]);
	fprintf(to, "  %-*s", COLUMN_WIDTH, text);
}

static void print_table(const struct bench *b, enum group group, const struct measured *measured,
	const struct column *columns, size_t n_columns, FILE *to)
{
	fprintf(to, "%-18s", "strategy");
	for (size_t i = 0; i < n_columns; i++)
		if (is_shown(&columns[i], group))
			fprintf(to, "  %-*s", COLUMN_WIDTH, columns[i].title);
	fprintf(to, "\n");
	for (int k = 0; k < b->options->n_strategies; k++) {
		fprintf(to, "%-18s", b->options->strategies[k]);
		for (size_t i = 0; i < n_columns; i++)
			if (is_shown(&columns[i], group) && !(columns[i].is_paired && k == 0))
				print_cell(&columns[i], &measured[k], to);
		fprintf(to, "\n");
	}
}

static void print_group(const struct bench *b, enum group group, int budget_index, FILE *to)
{
	const struct bench_options *o = b->options;
	struct measured measured[STRATEGIES_MAX];
	for (int k = 0; k < o->n_strategies; k++)
		measured[k] = bench_measure(b, group, budget_index, k);
	if (measured[0].n_jobs == 0)
		return;
	fprintf(to, "\n%s: %zu jobs x %d seeds, %d trials, %s\n", group_names[group], measured[0].n_jobs,
		o->seeds, o->budgets[budget_index], knowledge_name(o));
	print_table(b, group, measured, results, ARRAY_LEN(results), to);
	print_table(b, group, measured, ways, ARRAY_LEN(ways), to);
	if (!isnan(measured[0].seeds_se[MEASURE_FRACTION]))
		fprintf(to,
			"On just these jobs, from the seeds alone: %s's fraction +- %.3f, speed-up +- "
			"%.1f%%\n",
			o->strategies[0], 1.96 * measured[0].seeds_se[MEASURE_FRACTION],
			100 * 1.96 * measured[0].seeds_se[MEASURE_SPEEDUP_LN]);
}

void bench_print_tables(const struct bench *b, FILE *to)
{
	for (int g = 0; g < N_GROUPS; g++)
		for (int i = 0; i < b->options->n_budgets; i++)
			print_group(b, (enum group)g, i, to);
	fprintf(to,
		"\n[low, high]: 95%% bootstrap over jobs. Speed-ups are true ones of what promotion "
		"delivered, 1 where nothing was.\n90%%: of the best that any strategy here found on a job "
		"with a seed. Per success: all that was spent, over how many got there.\n");
}

static json_t *interval_json(const struct interval *v)
{
	json_t *array = json_array();
	json_array_append_new(array, json_from_number(v->mean));
	json_array_append_new(array, json_from_number(v->low));
	json_array_append_new(array, json_from_number(v->high));
	return array;
}

static const char seeds_se_name[] = "standard_errors_over_seeds";

static json_t *numbers_json(const double values[N_MEASURES])
{
	json_t *json = json_object();
	for (int m = 0; m < N_MEASURES; m++)
		json_object_set_new(json, measure_names[m], json_from_number(values[m]));
	return json;
}

static json_t *measured_json(const struct measured *m)
{
	json_t *json = json_object();
	for (int i = 0; i < N_MEASURES; i++)
		json_object_set_new(json, measure_names[i], interval_json(&m->measure[i]));
	for (int i = 0; i < N_PRICES; i++)
		json_object_set_new(json, price_names[i], interval_json(&m->price[i]));
	json_object_set_new(json, seeds_se_name, numbers_json(m->seeds_se));
	return json;
}

static json_t *group_json(const struct bench *b, enum group group, int budget_index)
{
	json_t *strategies = json_object();
	for (int k = 0; k < b->options->n_strategies; k++) {
		struct measured m = bench_measure(b, group, budget_index, k);
		json_object_set_new(strategies, b->options->strategies[k], measured_json(&m));
	}
	return strategies;
}

static json_t *jobs_json(const struct bench *b, int budget_index)
{
	json_t *jobs = json_object();
	for (size_t i = 0; i < b->n_jobs; i++) {
		json_t *strategies = json_object();
		for (int k = 0; k < b->options->n_strategies; k++) {
			struct job_figures one;
			if (!job_measure(b, i, budget_index, k, &one))
				continue;
			json_t *json = json_object();
			for (int m = 0; m < N_MEASURES; m++)
				json_object_set_new(json, measure_names[m], json_from_number(one.mean[m]));
			json_object_set_new(json, seeds_se_name, numbers_json(one.se));
			json_object_set_new(strategies, b->options->strategies[k], json);
		}
		json_object_set_new(jobs, b->jobs[i].job.name, strategies);
	}
	return jobs;
}

char *bench_json(const struct bench *b, bool complete)
{
	const struct bench_options *o = b->options;
	json_t *json = json_object(), *budgets = json_array(), *strategies = json_array();
	for (int k = 0; k < o->n_strategies; k++)
		json_array_append_new(strategies, json_string(o->strategies[k]));
	for (int i = 0; i < o->n_budgets; i++) {
		json_t *budget = json_object(), *groups = json_object();
		for (int g = 0; g < N_GROUPS; g++)
			json_object_set_new(groups, group_names[g], group_json(b, (enum group)g, i));
		json_object_set_new(budget, "trials", json_integer(o->budgets[i]));
		json_object_set_new(budget, "groups", groups);
		json_object_set_new(budget, "jobs", jobs_json(b, i));
		json_array_append_new(budgets, budget);
	}
	json_object_set_new(json, "complete", json_boolean(complete));
	json_object_set_new(json, "experience", json_string(o->siblings ? "siblings" : "none"));
	json_object_set_new(json, "hints", json_boolean(o->hints));
	json_object_set_new(json, "seeds", json_integer(o->seeds));
	json_object_set_new(json, "strategies", strategies);
	json_object_set_new(json, "budgets", budgets);
	return json_dump_pretty_take(json);
}
