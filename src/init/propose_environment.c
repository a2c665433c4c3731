#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "init/init_int.h"
#include "mech/native.h"

/* What the job's environment says today: NAME=value in front of the program, or in the Makefile. */
static const char *value_today(const struct make_facts *make, struct arena *arena, const char *name)
{
	size_t count = 0, n = strlen(name);
	const char **words = make_run_words(make, arena, &count);
	for (size_t i = 0; i < count; i++)
		if (strncmp(words[i], name, n) == 0 && words[i][n] == '=')
			return words[i] + n + 1;
	const struct make_variable *v = make_find(make, name);
	return v && *v->value ? make_expand(make, v->value, "") : NULL;
}

static struct proposed_knob *add_env_knob(struct proposal *p, const char *knob_name, const char *variable,
	const char *mechanism, const char *phases, const char *comment)
{
	struct proposed_knob *knob = proposal_add_knob(p, knob_name);
	knob->mechanism = mechanism;
	knob->phases = phases;
	knob->comment = comment;
	proposal_add_env(p, variable, arena_printf(p->arena, "{%s}", knob->name), NULL);
	return knob;
}

static void propose_threads(const struct make_facts *make, const struct init_host *host, struct proposal *p)
{
	const char *written = value_today(make, p->arena, "OMP_NUM_THREADS");
	int64_t today;
	if (!written || !parse_integer(written, &today) || today < 1 || today > 4096) {
		today = host->cpus;
		written = NULL;
	}
	struct proposed_knob *knob =
		add_env_knob(p, "threads", "OMP_NUM_THREADS", "omp_num_threads", "forward,backward,data",
			written ? arena_printf(p->arena, "OpenMP threads; today %s (%s)", written,
					  place_text(p->arena, make->run_at))
				: arena_printf(p->arena,
					  "OpenMP threads; not set today, so all %d CPUs of this machine",
					  host->cpus));
	proposal_add_threads(p, knob, host->cpus, today);
}

static void propose_openmp_row(
	const struct make_facts *make, const struct native_env *row, struct proposal *p)
{
	const char *today = value_today(make, p->arena, row->variable);
	struct proposed_knob *knob = add_env_knob(p, row->knob, row->variable, row->mechanism, row->phases,
		arena_printf(p->arena, "%s; %s", row->variable,
			today ? "as the run target sets it" : "not set today, which means the reference"));
	for (size_t i = 0; i < ARRAY_LEN(row->settings) && row->settings[i]; i++)
		proposal_add_setting(knob, row->settings[i]);
	if (today && is_clean_text(today))
		proposal_set_reference(knob, today);
}

/* glibc 2.35 and later: malloc asks for transparent huge pages. 0 is what happens without the variable. */
static void propose_huge_pages(const struct make_facts *make, struct proposal *p)
{
	if (value_today(make, p->arena, "GLIBC_TUNABLES"))
		return;
	struct proposed_knob *knob = add_env_knob(p, "malloc_huge_pages", "GLIBC_TUNABLES", "huge_pages",
		"forward,backward", "2 MiB pages for the heap (glibc 2.35 and later)");
	p->env[p->n_env - 1].value = arena_printf(p->arena, "glibc.malloc.hugetlb={%s}", knob->name);
	proposal_add_setting(knob, "0");
	proposal_add_setting(knob, "1");
}

/* The program's own environment in the run target, as it is. */
static void keep_run_environment(
	const struct make_facts *make, const struct source_facts *c, struct proposal *p)
{
	size_t count = 0;
	const char **words = make_run_words(make, p->arena, &count);
	for (size_t i = 0; i < count && strchr(words[i], '=') && words[i][0] != '-'; i++) {
		size_t n = strcspn(words[i], "=");
		const char *name = arena_strndup(p->arena, words[i], n);
		if (c->is_python && python_is_secret_name(name)) {
			proposal_add_note(p,
				"%s (%s) looks like a secret: left out; name it in launch.pass_env to hand "
				"it "
				"to the job",
				name, place_text(p->arena, make->run_at));
			continue;
		}
		proposal_add_env(p, name, proposal_literal(p->arena, words[i] + n + 1),
			arena_printf(p->arena, "as in %s", place_text(p->arena, make->run_at)));
	}
}

void propose_environment(const struct make_facts *make, const struct source_facts *c,
	const struct init_host *host, struct proposal *p)
{
	size_t count;
	const struct native_env *rows = native_env_table(&count);
	bool has_openmp = make->has_openmp || c->openmp_at.file;
	bool has_thread_option = false;
	for (size_t i = 0; i < c->n_options; i++) {
		const struct native_option *row = native_option_find(c->options[i].flag);
		has_thread_option |= row && row->role == NATIVE_THREADS;
	}
	if (has_openmp && !has_thread_option)
		propose_threads(make, host, p);
	for (size_t i = 0; has_openmp && i < count; i++)
		if (!rows[i].needs_runtime_schedule || c->runtime_schedule_at.file)
			propose_openmp_row(make, &rows[i], p);
	if (!c->is_python)
		propose_huge_pages(make, p);
	/* Before an installed package, which would be the original and not the copy that is to be measured.
	 */
	if (make->module_folder && *make->module_folder && !value_today(make, p->arena, "PYTHONPATH"))
		proposal_add_env(p, "PYTHONPATH", proposal_literal(p->arena, make->module_folder),
			arena_printf(p->arena, "where the line's module is found: %s", make->program));
	keep_run_environment(make, c, p);
}
