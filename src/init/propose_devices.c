/* What a launch line says of devices: how many there are, and whether each of them has a whole model. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "init/init_int.h"
#include "init/launch.h"

enum { COUNT_UNKNOWN = -1, COUNT_MAX = 1 << 16 };

const char *launch_today(const struct launch *l, const struct job_option *o)
{
	const char *given = l->given[o - l->c->options];
	return given && !o->is_switch ? given : o->value;
}

/* The number behind "--name 8" or "--name=8" among the launcher's own words, those before the script; 0 =
 * none, COUNT_UNKNOWN = something else (gpu, auto, 1:4). The last one counts. */
static int launcher_number(const struct launch *l, const char *const *names, const char **ret_word)
{
	int number = 0;
	for (size_t w = 1; w < l->script; w++)
		for (size_t i = 0; names[i]; i++) {
			size_t n = strlen(names[i]);
			int64_t value;
			const char *word = l->words[w];
			if (strncmp(word, names[i], n) != 0 || (word[n] && word[n] != '='))
				continue;
			const char *text = word[n] ? word + n + 1 : w + 1 < l->n_words ? l->words[w + 1] : "";
			bool is_count = parse_integer(text, &value) && value >= 1 && value <= COUNT_MAX;
			number = is_count ? (int)value : COUNT_UNKNOWN;
			*ret_word = names[i];
		}
	return number;
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

/* --tensor-model-parallel-size, --pp, --tp_degree, --ulysses-degree: of a model's own dimensions, not of the
 * data's. */
static bool divides_model(const char *flag)
{
	static const char *const letters[] = {"tp", "pp", "cp", "mp", "sp", "ulysses", "pipeline"};
	static const char *const ends[] = {"", "_size", "_degree", "_stages", "_world_size"};
	static const char *const kinds[] = {"tensor", "pipeline", "context", "sequence", "model", "ulysses"};
	char name[64], first[64];
	const char *dot = strrchr(flag, '.');
	snprintf(name, sizeof(name), "%s", dot ? dot + 1 : flag + strspn(flag, "-"));
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, "_"), name);
	return (is_one_of(first, letters, ARRAY_LEN(letters)) &&
		       is_one_of(name + strlen(first), ends, ARRAY_LEN(ends))) ||
	       (is_one_of(first, kinds, ARRAY_LEN(kinds)) && strstr(name, "parallel"));
}

/* More than one, or a switch that is there: how many then is said elsewhere. */
static const char *divided_by(const struct launch *l, const struct job_option *o)
{
	int64_t size;
	const char *value = launch_today(l, o);
	if (!divides_model(o->flag))
		return NULL;
	if (o->is_switch)
		return l->given[o - l->c->options] ? "given" : NULL;
	return value && parse_integer(value, &size) && size > 1 ? value : NULL;
}

/* --gpus 8 of a program that starts its own processes. */
static bool counts_devices(const char *flag)
{
	static const char *const names[] = {"gpus", "num_gpus", "n_gpus", "ngpus", "devices", "num_devices",
		"n_devices", "world_size", "nproc", "num_processes"};
	char name[64];
	snprintf(name, sizeof(name), "%s", flag + strspn(flag, "-"));
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return is_one_of(name, names, ARRAY_LEN(names));
}

static const char *find_spread(const struct launch *l)
{
	for (size_t i = 0; i < l->c->n_options; i++) {
		const struct job_option *o = &l->c->options[i];
		const char *value = divided_by(l, o);
		if (value)
			return arena_printf(
				l->p->arena, "%s is %s: several devices hold one model", o->flag, value);
		int64_t count;
		value = counts_devices(o->flag) ? launch_today(l, o) : NULL;
		if (value && (!parse_integer(value, &count) || count > 1 || count < 0))
			return arena_printf(l->p->arena,
				"%s is %s: the program counts its devices itself (set "
				"launch.devices_per_node)",
				o->flag, value);
	}
	return NULL;
}

static const char *find_machines(const struct launch *l)
{
	static const char *const nodes[] = {
		"--nnodes", "--num_machines", "--num-machines", "--num_nodes", NULL};
	const char *word;
	int machines = launcher_number(l, nodes, &word);
	if (machines == COUNT_UNKNOWN)
		return arena_printf(l->p->arena, "%s does not say one number of machines", word);
	return machines > 1
		       ? arena_printf(l->p->arena,
				 "the line starts %d machines (%s), InfraRSI measures on one: let it start "
				 "what one machine can hold",
				 machines, word)
		       : NULL;
}

/* deepspeed and accelerate take what they find, or what a file of theirs says. */
static bool starts_on_all(const struct launch *l)
{
	for (size_t w = 0; w < l->script; w++)
		if (strcmp(l->words[w], "deepspeed") == 0 || strcmp(l->words[w], "accelerate") == 0)
			return true;
	return false;
}

void launch_read_devices(struct launch *l)
{
	static const char *const devices[] = {"--nproc_per_node", "--nproc-per-node", "--num_processes",
		"--num-processes", "--num_gpus", NULL};
	const char *word = NULL;
	l->p->devices = 1;
	if (!l->c->is_python)
		return;
	int n = launcher_number(l, devices, &word);
	if (n >= 1 && n <= 1024)
		l->p->devices = n;
	l->spread = find_machines(l);
	if (!l->spread && (n == COUNT_UNKNOWN || (!n && starts_on_all(l))))
		l->spread =
			"how many devices the line starts is said elsewhere (set launch.devices_per_node)";
	if (!l->spread)
		l->spread = find_spread(l);
}
