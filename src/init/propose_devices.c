/* What a launch line says of devices: how many there are, and whether each of them has a whole model. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "init/init_int.h"
#include "init/launch.h"

enum { COUNT_MAX = 1 << 16 };

const char *launch_today(const struct launch *l, const struct job_option *o)
{
	const char *given = l->given[o - l->c->options];
	return given && !o->is_switch ? given : o->value;
}

/* The number behind "--name 8" or "--name=8" among the launcher's own words, those before the script; 0 =
 * none. */
static int launcher_number(const struct launch *l, const char *const *names, const char **ret_word)
{
	int number = 0;
	for (size_t w = 1; w < l->script; w++)
		for (size_t i = 0; names[i]; i++) {
			size_t n = strlen(names[i]);
			int64_t value;
			const char *word = l->words[w], *text = word[n] == '=' ? word + n + 1 : "";
			if (strncmp(word, names[i], n) != 0)
				continue;
			if (!word[n] && w + 1 < l->n_words)
				text = l->words[w + 1];
			if (!parse_integer(text, &value) || value < 1 || value > COUNT_MAX)
				continue;
			number = (int)value;
			*ret_word = names[i];
		}
	return number;
}

/* --tensor-model-parallel-size, --pp, --context_parallel_degree: of a model's own dimensions, not of the
 * data's. */
static bool divides_model(const char *flag)
{
	static const char *const whole[] = {"tp", "pp", "cp", "tp_size", "pp_size", "cp_size", "sp_size"};
	static const char *const kinds[] = {"tensor", "pipeline", "context", "sequence", "model"};
	char name[64];
	snprintf(name, sizeof(name), "%s", flag + strspn(flag, "-"));
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (strcmp(name, whole[i]) == 0)
			return true;
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strncmp(last, kinds[i], strlen(kinds[i])) == 0 && strstr(last, "parallel"))
			return true;
	return false;
}

static const char *find_spread(const struct launch *l)
{
	static const char *const nodes[] = {
		"--nnodes", "--num_machines", "--num-machines", "--num_nodes", NULL};
	const char *word;
	int machines = launcher_number(l, nodes, &word);
	if (machines > 1)
		return arena_printf(l->p->arena,
			"the line starts %d machines (%s), InfraRSI measures on one: let it start what "
			"one "
			"machine can hold",
			machines, word);
	for (size_t i = 0; i < l->c->n_options; i++) {
		const struct job_option *o = &l->c->options[i];
		const char *value = launch_today(l, o);
		int64_t size;
		if (divides_model(o->flag) && value && parse_integer(value, &size) && size > 1)
			return arena_printf(l->p->arena, "%s is %lld: several devices hold one model",
				o->flag, (long long)size);
	}
	return NULL;
}

void launch_read_devices(struct launch *l)
{
	static const char *const devices[] = {"--nproc_per_node", "--nproc-per-node", "--num_processes",
		"--num-processes", "--num_gpus", NULL};
	const char *word;
	l->p->devices = 1;
	if (!l->c->is_python)
		return;
	int n = launcher_number(l, devices, &word);
	l->p->devices = n >= 1 && n <= 1024 ? n : 1;
	l->spread = find_spread(l);
}
