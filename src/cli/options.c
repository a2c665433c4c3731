#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"

static const struct option_spec common_specs[] = {
	{"task", "FILE", OPTION_TEXT, "the task file (default: infrarsi.yaml)",
		offsetof(struct common_options, task_path)},
	{"json", NULL, OPTION_FLAG, "print one JSON document instead of text",
		offsetof(struct common_options, json)},
	{"no-sandbox", NULL, OPTION_FLAG, "run jobs without bubblewrap",
		offsetof(struct common_options, no_sandbox)},
	{"require-sandbox", NULL, OPTION_FLAG, "refuse to run jobs where bubblewrap does not work",
		offsetof(struct common_options, require_sandbox)},
};

struct target {
	const struct option_spec *spec;
	void *values;
};

static struct target find_option(
	const struct command *command, const char *name, size_t length, struct parsed *parsed, void *values)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (strlen(command->options[i].name) == length &&
			strncmp(command->options[i].name, name, length) == 0)
			return (struct target){&command->options[i], values};
	for (size_t i = 0; i < ARRAY_LEN(common_specs); i++)
		if (strlen(common_specs[i].name) == length &&
			strncmp(common_specs[i].name, name, length) == 0)
			return (struct target){&common_specs[i], &parsed->common};
	return (struct target){NULL, NULL};
}

static enum err_code unknown_option(
	const struct command *command, const char *argument, struct arena *arena, struct err *reterr)
{
	size_t n = command->n_options + ARRAY_LEN(common_specs), k = 0;
	const char **names = arena_array(arena, n, sizeof(char *));
	for (size_t i = 0; i < command->n_options; i++)
		names[k++] = command->options[i].name;
	for (size_t i = 0; i < ARRAY_LEN(common_specs); i++)
		names[k++] = common_specs[i].name;
	const char *name = arena_strndup(arena, argument + 2, strcspn(argument + 2, "="));
	const char *close = closest_name(name, names, n);
	return err_set(reterr, ERR_INPUT, "%s: unknown option '%s'%s%s%s; see  infrarsi %s --help",
		command->name, argument, close ? " (did you mean '--" : "", close ? close : "",
		close ? "'?)" : "", command->name);
}

static enum err_code store(const struct command *command, struct target target, const char *value,
	struct arena *arena, struct err *reterr)
{
	char *at = (char *)target.values + target.spec->offset;
	int64_t number;
	switch (target.spec->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return OK;
	case OPTION_TEXT:
		*(const char **)at = value;
		return OK;
	case OPTION_INTEGER:
		if (!parse_integer(value, &number) || number < 0 || number > INT32_MAX)
			return err_set(reterr, ERR_INPUT, "%s: --%s: expected a whole number, got '%s'",
				command->name, target.spec->name, value);
		*(int *)at = (int)number;
		return OK;
	case OPTION_LIST: {
		struct option_list *list = (struct option_list *)at;
		const char **grown = arena_array(arena, list->count + 1, sizeof(char *));
		if (list->count)
			memcpy(grown, list->items, list->count * sizeof(char *));
		grown[list->count++] = value;
		list->items = grown;
		return OK;
	}
	}
	return OK;
}

static enum err_code parse_option(const struct command *command, char **argv, int argc, int *index,
	struct parsed *parsed, void *values, struct err *reterr)
{
	const char *argument = argv[*index];
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
	struct target target = find_option(command, argument + 2, length, parsed, values);
	if (!target.spec)
		return unknown_option(command, argument, &parsed->arena, reterr);
	if (target.spec->type == OPTION_FLAG) {
		if (equals)
			return err_set(reterr, ERR_INPUT, "%s: --%s takes no value", command->name,
				target.spec->name);
		return store(command, target, NULL, &parsed->arena, reterr);
	}
	const char *value = equals ? equals + 1 : *index + 1 < argc ? argv[++*index] : NULL;
	if (!value)
		return err_set(reterr, ERR_INPUT, "%s: --%s needs a value (%s)", command->name,
			target.spec->name, target.spec->argument);
	return store(command, target, value, &parsed->arena, reterr);
}

static enum err_code add_positional(
	const struct command *command, const char *argument, struct parsed *parsed, struct err *reterr)
{
	if (parsed->n_positional == command->max_positional)
		return err_set(reterr, ERR_INPUT, "%s: unexpected argument '%s'; see  infrarsi %s --help",
			command->name, argument, command->name);
	parsed->positional[parsed->n_positional++] = argument;
	return OK;
}

/* An error in an option that comes before --json is wanted as JSON, too. */
bool options_want_json(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

enum err_code options_parse(const struct command *command, int argc, char **argv, struct parsed *parsed,
	void *values, bool *ret_help, struct err *reterr)
{
	parsed->positional = arena_array(&parsed->arena, (size_t)argc + 1, sizeof(char *));
	parsed->common.task_path = "infrarsi.yaml";
	parsed->common.json = options_want_json(argc, argv);
	bool only_positional = false;
	for (int i = 0; i < argc; i++) {
		if (!only_positional && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
			*ret_help = true;
			return OK;
		}
		if (!only_positional && strcmp(argv[i], "--") == 0)
			only_positional = true;
		else if (!only_positional && strncmp(argv[i], "--", 2) == 0)
			TRY(parse_option(command, argv, argc, &i, parsed, values, reterr));
		else if (!only_positional && argv[i][0] == '-' && argv[i][1])
			return err_set(reterr, ERR_INPUT, "%s: unknown option '%s'; see  infrarsi %s --help",
				command->name, argv[i], command->name);
		else
			TRY(add_positional(command, argv[i], parsed, reterr));
	}
	return OK;
}

static void print_specs(const struct option_spec *specs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char left[48];
		snprintf(left, sizeof(left), "--%s%s%s", specs[i].name, specs[i].argument ? " " : "",
			specs[i].argument ? specs[i].argument : "");
		printf("  %-24s %s\n", left, specs[i].help);
	}
}

void command_print_help(const struct command *command)
{
	printf("%s\n\nUsage: infrarsi %s%s%s\n", command->summary, command->name, *command->usage ? " " : "",
		command->usage);
	if (command->detail)
		printf("\n%s\n", command->detail);
	printf("\nOptions:\n");
	print_specs(command->options, command->n_options);
	print_specs(common_specs, ARRAY_LEN(common_specs));
	printf("  %-24s %s\n", "--help", "this text");
}
