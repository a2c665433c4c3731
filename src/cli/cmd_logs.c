/* `infrarsi logs`: what a job's own output says. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "adapter/log.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/logs_text.h"

struct logs_values {
	const char *format, *corpus, *exit_status, *updates;
	bool formats;
};

static int print_formats(void)
{
	const char *name;
	for (size_t i = 0; (name = log_format_at(i)) != NULL; i++)
		printf("%s\n", name);
	return 0;
}

static enum err_code unknown_format(const char *format, struct err *reterr)
{
	const char *names[64];
	size_t n = 0;
	while (n < ARRAY_LEN(names) && (names[n] = log_format_at(n)) != NULL)
		n++;
	const char *close = closest_name(format, names, n);
	return err_set(reterr, ERR_INPUT,
		"logs: --format: no format is named '%s'%s%s%s; see  infrarsi logs --formats", format,
		close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
}

static enum err_code take_options(
	const struct logs_values *v, struct log_options *options, struct err *reterr)
{
	int64_t number;
	if (v->format && !log_format_known(v->format))
		return unknown_format(v->format, reterr);
	options->format = v->format;
	options->refuse_binary = true;
	if (v->exit_status) {
		if (!parse_integer(v->exit_status, &number) || number < 0 || number > 255)
			return err_set(reterr, ERR_INPUT,
				"logs: --exit-status: expected 0 to 255, as a shell gives it, got '%s'",
				v->exit_status);
		log_options_set_exit(options, (int)number);
	}
	if (v->updates) {
		if (!parse_integer(v->updates, &number) || number < 1)
			return err_set(reterr, ERR_INPUT,
				"logs: --updates: expected a number of updates, got '%s'", v->updates);
		options->requested_updates = (struct opt_number){true, (double)number};
	}
	return OK;
}

static enum err_code show(
	const char *path, const struct logs_values *v, bool json, struct strbuf *text, struct err *reterr)
{
	struct log_options options = {.format = NULL};
	struct log_summary summary;
	TRY(take_options(v, &options, reterr));
	if (strcmp(path, "-") != 0 && path_is_dir(path))
		return err_set(reterr, ERR_INPUT, "logs: %s is a folder; name a log in it, or  --corpus %s",
			path, path);
	TRY(log_read(path, &options, &summary, reterr));
	if (json)
		log_summary_to_json(&summary, text);
	else
		logs_add_text(&summary, strcmp(path, "-") == 0 ? "standard input" : path, text);
	log_summary_release(&summary);
	return OK;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct logs_values *v = values;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (v->formats)
		return print_formats();
	if (v->corpus && parsed->n_positional == 0)
		return logs_corpus(&parsed->common, v->corpus);
	if (parsed->n_positional != 1 || v->corpus) {
		(void)err_set(&e, ERR_INPUT, "logs: expected one log, such as  infrarsi logs train.log");
		return cli_fail(&parsed->common, &e);
	}
	if (show(parsed->positional[0], v, parsed->common.json, &text, &e) != OK)
		return cli_fail(&parsed->common, &e);
	cli_print(&text);
	return 0;
}

static const struct option_spec options[] = {
	{"format", "NAME", OPTION_TEXT, "read it as this format instead of finding out",
		offsetof(struct logs_values, format)},
	{"formats", NULL, OPTION_FLAG, "list the formats", offsetof(struct logs_values, formats)},
	{"exit-status", "N", OPTION_TEXT, "the job's exit status: 124 a timeout, 128 + n signal n",
		offsetof(struct logs_values, exit_status)},
	{"updates", "N", OPTION_TEXT, "updates that were asked for", offsetof(struct logs_values, updates)},
	{"corpus", "DIR", OPTION_TEXT, "compare every *.log in DIR with its *.expected.json",
		offsetof(struct logs_values, corpus)},
};

const struct command command_logs = {
	"logs",
	"what a job's own log says: steps, memory, end, cause of failure",
	"FILE | - | --corpus DIR",
	"Finds out which framework wrote the log, reads its steps, and names the first cause where the job "
	"failed.\n"
	"What the log does not say is listed as unchecked, never guessed. \"-\" reads standard input. Exit 0 "
	"whatever\n"
	"the log says; with --corpus 1 where a case disagrees. Formats and the JSON: docs/logs.md.",
	options,
	ARRAY_LEN(options),
	sizeof(struct logs_values),
	1,
	run,
};
