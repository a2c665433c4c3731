/* `--operators-off`, `--operators-on` and `--starts`: what `run` and `simulate` offer. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "search/search.h"

static bool is_list(const char *text)
{
	return text && strcmp(text, "list") == 0;
}

static json_t *part_json(struct search_part part)
{
	json_t *json = json_object();
	json_object_set_new(json, "summary", json_string(part.summary));
	json_object_set_new(json, "on_by_default", json_boolean(part.on_by_default));
	return json;
}

static void print_part(struct search_part part)
{
	printf("  %-15s %-4s %s\n", part.name, part.on_by_default ? "on" : "off", part.summary);
}

static void print_json(void)
{
	json_t *json = json_object(), *operators = json_object(), *starts = json_object();
	for (int i = 0; i < N_OPERATORS; i++)
		json_object_set_new(operators, operator_names[i],
			part_json(search_operator_part((enum search_operator)i)));
	for (int i = 0; i < N_STARTS; i++)
		json_object_set_new(
			starts, start_names[i], part_json(search_start_part((enum search_start)i)));
	json_object_set_new(json, "operators", operators);
	json_object_set_new(json, "starts", starts);
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

bool cli_list_parts(const struct switch_options *o, const struct common_options *common)
{
	if (!is_list(o->operators_off) && !is_list(o->operators_on) && !is_list(o->starts))
		return false;
	if (common->json) {
		print_json();
		return true;
	}
	printf("Operators, and whether they take part by default\n");
	for (int i = 0; i < N_OPERATORS; i++)
		print_part(search_operator_part((enum search_operator)i));
	printf("Starts\n");
	for (int i = 0; i < N_STARTS; i++)
		print_part(search_start_part((enum search_start)i));
	return true;
}

enum err_code cli_read_switches(const struct switch_options *o, const char *strategy,
	struct search_switches *ret_switches, struct err *reterr)
{
	struct search_switches w = {.starts_given = o->starts != NULL};
	bool any = o->operators_off || o->operators_on || o->starts;
	if (any && strategy && !strategy_has_models(strategy_find(strategy)))
		return err_set(reterr, ERR_INPUT,
			"--operators-off, --operators-on and --starts are for the strategy controller, not "
			"for %s",
			strategy);
	if (o->operators_off)
		TRY(switches_read_operators("--operators-off", o->operators_off, &w.operators_off, reterr));
	if (o->operators_on)
		TRY(switches_read_operators("--operators-on", o->operators_on, &w.operators_on, reterr));
	if (o->starts)
		TRY(switches_read_starts("--starts", o->starts, &w.starts, reterr));
	for (int i = 0; i < N_OPERATORS; i++)
		if (w.operators_off & w.operators_on & 1u << i)
			return err_set(reterr, ERR_INPUT, "--operators-on: '%s' is in --operators-off, too",
				operator_names[i]);
	*ret_switches = w;
	return OK;
}
