/* `--strategy`: what `run` and `simulate` offer. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "search/search.h"

enum err_code cli_check_strategy(const char *name, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
	size_t n;
	const struct strategy *list = strategy_list(&n);
	if (!name || strategy_find(name))
		return OK;
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", list[i].name);
	return err_set(reterr, ERR_INPUT, "--strategy: expected one of: %s; got '%s'", names.buf, name);
}

enum err_code cli_check_worth(bool stop_when_not_worth, const char *strategy, struct err *reterr)
{
	if (!stop_when_not_worth || !strategy || strategy_has_models(strategy_find(strategy)))
		return OK;
	return err_set(reterr, ERR_INPUT,
		"--stop-when-not-worth is for the strategy controller: %s fits no model that tells what a "
		"trial is worth",
		strategy);
}

bool cli_list_strategies(const char *name, const struct common_options *common)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	json_t *json = json_object();
	if (!name || strcmp(name, "list") != 0) {
		json_decref(json);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		json_object_set_new(json, list[i].name, json_string(list[i].summary));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	if (common->json)
		printf("%s\n", text);
	for (size_t i = 0; i < n && !common->json; i++)
		printf("  %-18s %s\n", list[i].name, list[i].summary);
	return true;
}
