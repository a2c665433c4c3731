#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "init/init.h"
#include "cli/cli.h"

struct init_values {
	bool accept;
};

static void print_report(const struct init_report *r)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < r->n_facts; i++) {
		const struct init_fact *f = &r->facts[i];
		strbuf_addf(&text, "%-10s ", f->what);
		strbuf_add_escaped(&text, f->value, strlen(f->value));
		if (f->where && *f->where) {
			strbuf_addstr(&text, "    ");
			strbuf_add_escaped(&text, f->where, strlen(f->where));
		}
		strbuf_addch(&text, '\n');
	}
	if (r->lock_differences && *r->lock_differences)
		strbuf_addf(&text, "%s\n%s",
			r->wrote_lock ? "infrarsi.lock updated:" : "infrarsi.lock differs from the files:",
			r->lock_differences);
	if (r->wrote_task || r->wrote_lock)
		strbuf_addf(&text, "Wrote %s%s%s.\n", r->wrote_task ? "infrarsi.yaml (commented)" : "",
			r->wrote_task && r->wrote_lock ? " and " : "", r->wrote_lock ? "infrarsi.lock" : "");
	strbuf_addf(&text, "Next: %s\n", r->next);
	cli_print(&text);
}

static void print_json(const struct init_report *r)
{
	json_t *facts = json_array();
	for (size_t i = 0; i < r->n_facts; i++) {
		json_t *fact = json_object();
		json_object_set_new(fact, "what", json_from_text(r->facts[i].what));
		json_object_set_new(fact, "value", json_from_text(r->facts[i].value));
		json_object_set_new(fact, "where", json_from_text(r->facts[i].where));
		json_array_append_new(facts, fact);
	}
	json_t *json = json_object();
	json_object_set_new(json, "stack", json_from_text(r->stack));
	json_object_set_new(json, "facts", facts);
	json_object_set_new(json, "wrote_task", json_boolean(r->wrote_task));
	json_object_set_new(json, "wrote_lock", json_boolean(r->wrote_lock));
	json_object_set_new(json, "lock_differs", json_boolean(r->lock_differs));
	json_object_set_new(json, "lock_differences", json_from_text(r->lock_differences));
	json_object_set_new(json, "asks", json_integer(r->asks));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct init_values *v = values;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct init_options options = {.catalogue = cli_catalogue(&arena),
		.dir = parsed->n_positional ? parsed->positional[0] : ".",
		.accept_changes = v->accept};
	struct init_report report = {0};
	struct err e = ERR_INIT;
	if (init_run(&options, &report, &e) != OK)
		return cli_fail(&parsed->common, &e);
	if (parsed->common.json)
		print_json(&report);
	else
		print_report(&report);
	int code = report.lock_differs && !report.wrote_lock ? 5 : 0;
	init_report_release(&report);
	return code;
}

static const struct option_spec options[] = {
	{"accept", NULL, OPTION_FLAG, "update infrarsi.lock when it differs",
		offsetof(struct init_values, accept)},
};

const struct command command_init = {
	.name = "init",
	.summary = "recognise the job, write infrarsi.yaml, fix the contract in infrarsi.lock",
	.usage = "[FOLDER]",
	.detail = "Never overwrites infrarsi.yaml; where there is one, it is checked and the frozen files "
		  "are hashed.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct init_values),
	.max_positional = 1,
	.run = run,
};
