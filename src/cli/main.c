#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"
#include "runner/runner.h"

static const struct command *const commands[] = {
	&command_init,
	&command_doctor,
	&command_run,
	&command_report,
	&command_apply,
	&command_verify,
	&command_show,
	&command_explain,
	&command_prompt,
	&command_audit,
	&command_codemods,
	&command_logs,
	&command_simulate,
	&command_mcp,
};

static void print_help(void)
{
	printf("infrarsi makes a training job faster without changing what it trains.\n\n"
	       "Usage: infrarsi COMMAND [OPTIONS]\n\n"
	       "Stages, in order:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (i == 5)
			printf("\nLooking closer:\n");
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	}
	printf("\n  infrarsi COMMAND --help   what a command does and takes\n"
	       "  infrarsi --version        the version\n\n"
	       "Exit codes: 0 done, 1 the job or check failed, 2 usage or bad input, 3 nothing promoted, 4 "
	       "interrupted,\n"
	       "5 contract violated on disk.\n");
}

void cli_print(const struct strbuf *text)
{
	fwrite(text->buf, 1, text->len, stdout);
}

int cli_fail(const struct common_options *common, const struct err *e)
{
	char text[sizeof(e->message) + sizeof(e->file) + 32];
	err_format(e, text, sizeof(text));
	if (common->json) {
		json_t *error = json_object();
		json_object_set_new(error, "error", json_from_text(e->message));
		json_object_set_new(error, "file", *e->file ? json_from_text(e->file) : json_null());
		json_object_set_new(error, "line", e->line ? json_integer(e->line) : json_null());
		json_object_set_new(error, "column", e->column ? json_integer(e->column) : json_null());
		json_object_set_new(error, "exit_code", json_integer(err_exit_code(e->code)));
		CLEANUP(free_ptr) char *json = json_dump_take(error);
		printf("%s\n", json);
	} else {
		fprintf(stderr, "infrarsi: %s\n", text);
	}
	return err_exit_code(e->code);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct parsed parsed = {.arena = ARENA_INIT};
	struct err e = ERR_INIT;
	bool help = false;
	CLEANUP(free_ptr) void *values = xcalloc(1, command->values_size);
	int code;
	if (options_parse(command, argc, argv, &parsed, values, &help, &e) != OK) {
		code = cli_fail(&parsed.common, &e);
	} else if (help) {
		command_print_help(command);
		code = 0;
	} else {
		code = command->run(&parsed, values);
	}
	arena_release(&parsed.arena);
	/* What could not be written to a full disk or a closed pipe was not said. */
	if (fflush(stdout) != 0 && code == 0)
		code = 1;
	return code;
}

static int unknown_command(const char *name, const struct common_options *common)
{
	struct err e = ERR_INIT;
	const char *names[ARRAY_LEN(commands)];
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		names[i] = commands[i]->name;
	const char *close = closest_name(name, names, ARRAY_LEN(names));
	(void)err_set(&e, ERR_INPUT, "unknown command '%s'%s%s%s; see  infrarsi --help", name,
		close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
	return cli_fail(common, &e);
}

int cli_main(int argc, char **argv)
{
	if (sodium_init() < 0) {
		fprintf(stderr, "infrarsi: libsodium cannot start\n");
		return 1;
	}
	if (argc < 2) {
		print_help();
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("infrarsi %s\n", INFRARSI_VERSION);
		return 0;
	}
	/* Not for people: the supervising process of one execution (runner/). */
	if (strcmp(argv[1], "__supervise") == 0)
		return argc == 3 ? supervisor_main(argv[2]) : 2;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return run_command(commands[i], argc - 2, argv + 2);
	struct common_options common = {.json = options_want_json(argc - 2, argv + 2)};
	return unknown_command(argv[1], &common);
}

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
