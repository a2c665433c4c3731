#include "base/base.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "cli/cli.h"
#include "report/report.h"

struct report_values {
	bool markdown;
};

static int run(const struct parsed *parsed, void *values)
{
	const struct report_values *v = values;
	struct campaign c = {0};
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (cli_open_recorded(&parsed->common, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	enum err_code code = OK;
	if (parsed->common.json) {
		CLEANUP(free_ptr) char *json = report_result_json(&c.state);
		printf("%s\n", json);
	} else if (v->markdown) {
		report_markdown(&c.state, &text);
	} else {
		report_trials_table(&c.state, &text);
		report_predictions(&c.state, &text);
		strbuf_addch(&text, '\n');
		report_summary(&c.state, &text);
		code = report_write(&c.state, c.dir, &e);
		strbuf_addstr(&text, "Wrote .infrarsi/REPORT.md, result.json and pack.yaml.\n");
	}
	if (code == OK)
		cli_print(&text);
	int exit_code = code == OK ? 0 : cli_fail(&parsed->common, &e);
	campaign_close(&c);
	return exit_code;
}

static const struct option_spec options[] = {
	{"markdown", NULL, OPTION_FLAG, "print the whole report as Markdown",
		offsetof(struct report_values, markdown)},
};

const struct command command_report = {
	.name = "report",
	.summary = "show what was tried, what was delivered, and what it cost",
	.usage = "",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct report_values),
	.run = run,
};
