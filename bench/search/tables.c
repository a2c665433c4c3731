#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "bench.h"

static void print_head(const struct bench *b, enum group group, int budget, size_t n_jobs, FILE *to)
{
	bool surfaces = group == GROUP_TRAINING || group == GROUP_KERNELS;
	fprintf(to, "\n%s: %zu jobs x %d seeds, %d trials, %s\n", group_names[group], n_jobs,
		b->options->seeds, budget, b->options->siblings ? "with experience from siblings" : "cold");
	fprintf(to, "%-18s %-23s %-19s %-6s %-5s %-13s %-9s %-6s %s\n", "strategy", "fraction of optimum",
		"speed-up", "regret", "hit", "to 90% (got)", surfaces ? "ref. runs" : "hours", "failed",
		"first ahead by");
}

static void print_row(const char *name, enum group group, const struct measured *m, bool is_first, FILE *to)
{
	bool surfaces = group == GROUP_TRAINING || group == GROUP_KERNELS;
	const struct interval *v = m->measure;
	const struct interval *cost = &v[surfaces ? MEASURE_RUNS_TO_90 : MEASURE_HOURS_TO_90];
	const struct interval *fraction = &v[MEASURE_FRACTION], *ln = &v[MEASURE_SPEEDUP_LN];
	fprintf(to,
		"%-18s %6.3f [%6.3f,%6.3f]  %5.3f [%5.3f,%5.3f] %6.3f %4.0f%%  %4.1f (%3.0f%%) %10.2f %7.1f",
		name, fraction->mean, fraction->low, fraction->high, exp(ln->mean), exp(ln->low),
		exp(ln->high), v[MEASURE_REGRET_LN].mean, 100 * v[MEASURE_HIT].mean,
		v[MEASURE_TRIALS_TO_90].mean, 100 * v[MEASURE_REACHED].mean, cost->mean,
		v[MEASURE_FAILED].mean);
	if (!is_first)
		fprintf(to, "  %+.3f [%+.3f,%+.3f]", v[MEASURE_BEHIND_FRACTION].mean,
			v[MEASURE_BEHIND_FRACTION].low, v[MEASURE_BEHIND_FRACTION].high);
	fprintf(to, "\n");
}

void bench_print_tables(const struct bench *b, FILE *to)
{
	const struct bench_options *o = b->options;
	for (int g = 0; g < N_GROUPS; g++)
		for (int i = 0; i < o->n_budgets; i++) {
			struct measured first = bench_measure(b, (enum group)g, i, 0);
			if (first.n_jobs == 0)
				continue;
			print_head(b, (enum group)g, o->budgets[i], first.n_jobs, to);
			for (int k = 0; k < o->n_strategies; k++) {
				struct measured m = bench_measure(b, (enum group)g, i, k);
				print_row(o->strategies[k], (enum group)g, &m, k == 0, to);
			}
		}
	fprintf(to, "\n[low,high]: 95%% bootstrap over jobs. Speed-ups are true ones of what promotion "
		    "delivered, 1 "
		    "where nothing was.\nPeak: the best that any strategy here found on a job with a seed; "
		    "cost to "
		    "90%% of it among those that got there.\n");
}

static json_t *interval_json(const struct interval *v)
{
	json_t *array = json_array();
	json_array_append_new(array, json_from_number(v->mean));
	json_array_append_new(array, json_from_number(v->low));
	json_array_append_new(array, json_from_number(v->high));
	return array;
}

static json_t *measured_json(const struct measured *m)
{
	json_t *json = json_object();
	for (int i = 0; i < N_MEASURES; i++)
		json_object_set_new(json, measure_names[i], interval_json(&m->measure[i]));
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
			double one[N_MEASURES];
			if (!job_measure(b, i, budget_index, k, one))
				continue;
			json_t *json = json_object();
			for (int m = 0; m < N_MEASURES; m++)
				json_object_set_new(json, measure_names[m], json_from_number(one[m]));
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
	json_object_set_new(json, "seeds", json_integer(o->seeds));
	json_object_set_new(json, "strategies", strategies);
	json_object_set_new(json, "budgets", budgets);
	return json_dump_pretty_take(json);
}
