/*
 * build/bench/verify/verify [--receipts N] [--updates N] [--repeats N] [--json FILE]
 *
 * Re-judges a campaign of sealed receipts from files in a temporary folder: 1,212 of 30 updates, as many as
 * the paper's study made. Takes about ten seconds.
 */
#include "base/base.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "verify.h"

static const struct measurement *const measurements[] = {
	&read_and_judge,
	&read_alone,
	&judge_alone,
};

enum { MAX_REPEATS = 100 };

struct result {
	double wall_s[MAX_REPEATS], amount;
	double peak_bytes; /* of the process, up to the end of this measurement */
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median_of_repeats(const double *values, int n)
{
	double sorted[MAX_REPEATS];
	memcpy(sorted, values, (size_t)n * sizeof(double));
	qsort(sorted, (size_t)n, sizeof(double), compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double extreme_of(const double *values, int n, bool largest)
{
	double found = values[0];
	for (int i = 1; i < n; i++)
		if (largest ? values[i] > found : values[i] < found)
			found = values[i];
	return found;
}

static enum err_code repeat(
	const struct measurement *m, void *context, int repeats, struct result *result, struct err *reterr)
{
	struct rusage usage;
	for (int i = 0; i < repeats; i++) {
		double begun_s = clock_now_s();
		TRY(m->run(context, &result->amount, reterr));
		result->wall_s[i] = clock_now_s() - begun_s;
	}
	getrusage(RUSAGE_SELF, &usage);
	result->peak_bytes = (double)usage.ru_maxrss * 1024;
	return OK;
}

static enum err_code measure(const struct measurement *m, const struct shape *shape, int repeats,
	struct result *result, struct err *reterr)
{
	void *context = NULL;
	TRY(m->prepare(shape, &context, reterr));
	enum err_code code = repeat(m, context, repeats, result, reterr);
	m->release(context);
	return code;
}

static void print_result(const struct measurement *m, const struct result *r, int repeats)
{
	double median_s = median_of_repeats(r->wall_s, repeats);
	printf("%-16s %9.4f %9.4f %9.4f s  %10.0f %-12s %7.1f MiB", m->name, median_s,
		extreme_of(r->wall_s, repeats, false), extreme_of(r->wall_s, repeats, true),
		r->amount / median_s, m->unit, r->peak_bytes / 1048576);
	if (m->target_s > 0)
		printf("  %.2f of the target of %g s", median_s / m->target_s, m->target_s);
	printf("\n");
}

static json_t *result_json(const struct measurement *m, const struct result *r, int repeats)
{
	double median_s = median_of_repeats(r->wall_s, repeats);
	json_t *object = json_object(), *times = json_array();
	for (int i = 0; i < repeats; i++)
		json_array_append_new(times, json_real(r->wall_s[i]));
	json_object_set_new(object, "name", json_string(m->name));
	json_object_set_new(object, "unit", json_string(m->unit));
	json_object_set_new(object, "wall_s", times);
	json_object_set_new(object, "median_s", json_real(median_s));
	json_object_set_new(object, "amount", json_real(r->amount));
	json_object_set_new(object, "per_s", json_real(r->amount / median_s));
	json_object_set_new(object, "peak_bytes", json_real(r->peak_bytes));
	json_object_set_new(object, "target_s", m->target_s > 0 ? json_real(m->target_s) : json_null());
	json_object_set_new(
		object, "of_target", m->target_s > 0 ? json_real(median_s / m->target_s) : json_null());
	return object;
}

static enum err_code parse(
	int argc, char **argv, struct shape *shape, int *repeats, const char **ret_json, struct err *reterr)
{
	const struct {
		const char *name;
		int *integer;
	} options[] = {
		{"--receipts", &shape->receipts}, {"--updates", &shape->updates}, {"--repeats", repeats}};
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--json") == 0)
			*ret_json = argv[i + 1];
		for (size_t k = 0; k < ARRAY_LEN(options); k++)
			if (strcmp(argv[i], options[k].name) == 0)
				*options[k].integer = atoi(argv[i + 1]);
	}
	if (argc % 2 == 0 || shape->receipts < 8 || shape->updates < 6 || *repeats < 1 ||
		*repeats > MAX_REPEATS)
		return err_set(reterr, ERR_INPUT,
			"usage: verify [--receipts N] [--updates N] [--repeats N] [--json FILE], at least 8 "
			"receipts of 6 updates, 1 to %d repeats",
			MAX_REPEATS);
	return OK;
}

static enum err_code write_results(
	json_t *results, const struct shape *shape, int repeats, const char *path, struct err *reterr)
{
	json_t *object = json_object();
	json_object_set_new(object, "receipts", json_integer(shape->receipts));
	json_object_set_new(object, "updates", json_integer(shape->updates));
	json_object_set_new(object, "repeats", json_integer(repeats));
	json_object_set_new(object, "measurements", results);
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(object);
	return file_write_atomic(path, text, strlen(text), 0644, reterr);
}

static enum err_code bench(int argc, char **argv, struct err *reterr)
{
	char scratch[] = "/tmp/infrarsi-verify-XXXXXX";
	const char *json = NULL;
	static struct result results[ARRAY_LEN(measurements)];
	struct shape shape = {1212, 30, scratch};
	int repeats = 7;
	TRY(parse(argc, argv, &shape, &repeats, &json, reterr));
	if (!mkdtemp(scratch))
		return err_errno(reterr, "cannot create %s", scratch);
	json_t *rows = json_array();
	enum err_code code = OK;
	printf("%d receipts of %d updates, %d repeats\n", shape.receipts, shape.updates, repeats);
	printf("%-16s %9s %9s %9s\n", "", "median", "least", "most");
	for (size_t i = 0; i < ARRAY_LEN(measurements) && code == OK; i++) {
		code = measure(measurements[i], &shape, repeats, &results[i], reterr);
		if (code != OK)
			break;
		print_result(measurements[i], &results[i], repeats);
		json_array_append_new(rows, result_json(measurements[i], &results[i], repeats));
	}
	if (code == OK && json)
		code = write_results(json_incref(rows), &shape, repeats, json, reterr);
	json_decref(rows);
	enum err_code removed = remove_tree(scratch, code == OK ? reterr : NULL);
	return code != OK ? code : removed;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	char text[2048];
	if (sodium_init() >= 0 && bench(argc, argv, &err) == OK)
		return 0;
	err_format(&err, text, sizeof(text));
	fprintf(stderr, "verify: %s\n", text);
	return 1;
}
