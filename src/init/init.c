#include "base/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "init/init.h"
#include "init/init_int.h"
#include "mech/catalogue.h"
#include "spec/lock.h"
#include "spec/task.h"

enum { NAMES_SHOWN = 12 };

struct stage {
	const struct init_options *options;
	const struct init_host *host;
	struct init_report *report;
	struct repo repo;
	const char *task_path, *lock_path; /* as messages name them */
};

static void add_fact(
	struct init_report *r, size_t *capacity, const char *what, const char *value, const char *where)
{
	r->facts = init_grow(&r->arena, r->facts, r->n_facts, capacity, sizeof(*r->facts));
	r->facts[r->n_facts++] =
		(struct init_fact){what, arena_strdup(&r->arena, value), arena_strdup(&r->arena, where)};
}

static const char *join(struct arena *arena, const struct string_list *words)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < words->count; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", words->items[i]);
	return arena_strdup(arena, text.buf);
}

/* A line's worth of names; the rest is counted. */
static const char *join_names(struct arena *arena, const struct string_list *names)
{
	struct string_list shown = {names->items, MIN_OF(names->count, (size_t)NAMES_SHOWN)};
	const char *text = join(arena, &shown);
	return shown.count == names->count
		       ? text
		       : arena_printf(arena, "%s and %zu more", text, names->count - shown.count);
}

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

static void report_files(
	const struct task *task, const struct lock *lock, struct init_report *r, size_t *capacity)
{
	add_fact(r, capacity, "Frozen", join_names(&r->arena, &task->contract.frozen_files),
		arena_printf(&r->arena, "%zu file%s, hashed into infrarsi.lock", lock->n_files,
			plural((int)lock->n_files)));
	add_fact(r, capacity, "Editable", join_names(&r->arena, &task->contract.editable_files), "");
}

static enum err_code write_ignore_file(const struct stage *s, struct err *reterr)
{
	CLEANUP(free_ptr) char *dir = xasprintf("%s/.infrarsi", s->repo.dir);
	CLEANUP(free_ptr) char *path = xasprintf("%s/.gitignore", dir);
	if (path_exists(path))
		return OK;
	TRY(make_dirs(dir, 0777, reterr));
	return file_write_atomic(path, "*\n", 2, 0666, reterr);
}

static enum err_code not_recognised(const struct stage *s, const struct make_facts *make, struct err *reterr)
{
	const char *missing =
		!make->file      ? "git knows of no Python file that trains and no Makefile"
		: !make->program ? "its Makefile has no target 'run' that starts a program and no rule that "
				   "links one"
				 : "its Makefile names a program, but no C source was found";
	return err_set(reterr, ERR_INPUT,
		"%s is not recognised: %s. Looked for: a C program built by make (a rule that links it, a "
		"target 'run' that "
		"shows how it is started, C sources with its options); a Python file that trains (backward() "
		"or a Trainer, and a "
		"main or argparse). Nothing was written. Next: write "
		"infrarsi.yaml by "
		"hand, see docs/task-file.md, then run infrarsi init again",
		s->repo.dir, missing);
}

static void report_new(
	const struct stage *s, const struct proposal *p, const struct task *task, const struct lock *lock)
{
	struct init_report *r = s->report;
	size_t capacity = 0;
	int n_off = 0;
	for (size_t i = 0; i < p->n_knobs; i++)
		n_off += p->knobs[i].is_switched_off;
	int n_flags = p->n_flag_knobs - n_off;
	r->stack = arena_strdup(&r->arena, p->stack);
	r->asks = p->asks;
	add_fact(
		r, &capacity, "Stack", p->stack_text, arena_printf(&r->arena, "found in %s", p->stack_where));
	add_fact(r, &capacity, "Launch", join(&r->arena, &task->launch.command), p->launch_where);
	add_fact(r, &capacity, "Knobs",
		arena_printf(&r->arena,
			"%d proposed (%d build, %d environment, %d flag%s); %d need%s your answer, marked "
			"ASK in the file",
			p->n_build_knobs + p->n_env_knobs + n_flags, p->n_build_knobs, p->n_env_knobs,
			n_flags, plural(n_flags), p->asks, p->asks == 1 ? "s" : ""),
		"");
	report_files(task, lock, r, &capacity);
	r->next = arena_printf(&r->arena, "read the %d ASK line%s in infrarsi.yaml, then  infrarsi doctor",
		p->asks, plural(p->asks));
}

/* Everything is checked before the first byte is written. */
static enum err_code write_new(const struct stage *s, struct proposal *p, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT;
	CLEANUP(task_release) struct task task = {0};
	CLEANUP(lock_release) struct lock lock = {0};
	init_write(p, &yaml);
	enum err_code code =
		task_parse("infrarsi.yaml (proposed)", s->repo.dir, yaml.buf, yaml.len, &task, reterr);
	if (code == OK)
		code = lock_compute(&task, s->repo.dir, &lock, reterr);
	if (code != OK)
		return err_prefix(reterr, code,
			"init could not make a valid task file for this repository; write it by hand "
			"(docs/task-file.md)");
	TRY(file_write_atomic(s->task_path, yaml.buf, yaml.len, 0666, reterr));
	s->report->wrote_task = true;
	TRY(lock_write(&lock, s->lock_path, reterr));
	s->report->wrote_lock = true;
	TRY(write_ignore_file(s, reterr));
	report_new(s, p, &task, &lock);
	return OK;
}

static enum err_code make_new(struct stage *s, struct err *reterr)
{
	struct make_facts make, start;
	struct source_facts c = {0}, python;
	struct catalogue catalogue = {0};
	struct proposal p;
	inspect_make(&s->repo, &make);
	if (make.program)
		inspect_c(&s->repo, &make, &c);
	if (!make.program || !c.n_files) {
		/* Without it nothing is lost but what it knows of the framework's own options. */
		if (s->options->catalogue)
			(void)!catalogue_load(s->options->catalogue, s->repo.arena, &catalogue, NULL);
		if (!inspect_python(&s->repo, &catalogue, &start, &python))
			return not_recognised(s, &make, reterr);
		make = start;
		c = python;
	}
	propose(&s->repo, &make, &c, s->host, &p);
	return write_new(s, &p, reterr);
}

static void report_existing(const struct stage *s, const struct task *task, const struct lock *lock)
{
	struct init_report *r = s->report;
	size_t capacity = 0;
	r->stack = arena_strdup(&r->arena, task->stack);
	add_fact(r, &capacity, "Stack", task->stack, "from infrarsi.yaml");
	add_fact(r, &capacity, "Launch", join(&r->arena, &task->launch.command), "from infrarsi.yaml");
	add_fact(r, &capacity, "Knobs", arena_printf(&r->arena, "%zu declared", task->n_knobs), "");
	report_files(task, lock, r, &capacity);
	r->next = r->lock_differs && !r->wrote_lock
			  ? "look at what changed; to accept it:  infrarsi init --accept"
			  : "infrarsi doctor";
}

/* "" when the lock on disk says the same; a lock that is absent differs in nothing, it is only missing. */
static enum err_code compare_lock(const struct stage *s, const struct lock *now, bool *ret_is_missing,
	struct strbuf *differences, struct err *reterr)
{
	CLEANUP(lock_release) struct lock old = {0};
	struct err why = ERR_INIT;
	enum err_code code = lock_read(s->lock_path, &old, &why);
	*ret_is_missing = code == ERR_NOT_FOUND;
	if (code == ERR_IO)
		return err_prefix(reterr ? (*reterr = why, reterr) : NULL, code, "reading the lock");
	if (code == OK)
		lock_compare(&old, now, differences);
	else if (code != ERR_NOT_FOUND)
		strbuf_addf(differences, "infrarsi.lock cannot be read: %s\n", why.message);
	return OK;
}

/* The task file is the owner's: it is read, never written. */
static enum err_code check_existing(const struct stage *s, struct err *reterr)
{
	CLEANUP(task_release) struct task task = {0};
	CLEANUP(lock_release) struct lock lock = {0};
	CLEANUP(strbuf_release) struct strbuf differences = STRBUF_INIT;
	struct init_report *r = s->report;
	bool is_missing;
	TRY(task_load(s->task_path, &task, reterr));
	TRY(lock_compute(&task, s->repo.dir, &lock, reterr));
	TRY(compare_lock(s, &lock, &is_missing, &differences, reterr));
	r->lock_differs = differences.len > 0;
	r->lock_differences = arena_strdup(&r->arena, differences.buf);
	if (is_missing || (r->lock_differs && s->options->accept_changes)) {
		TRY(lock_write(&lock, s->lock_path, reterr));
		r->wrote_lock = true;
	}
	TRY(write_ignore_file(s, reterr));
	report_existing(s, &task, &lock);
	return OK;
}

static const char *path_in(struct arena *arena, const char *dir, const char *name)
{
	return strcmp(dir, ".") == 0 ? name : arena_printf(arena, "%s/%s", dir, name);
}

enum err_code init_run_on(const struct init_options *options, const struct init_host *host,
	struct init_report *ret_report, struct err *reterr)
{
	struct init_report report = {.lock_differences = "", .next = ""};
	struct arena scratch = ARENA_INIT;
	struct stage s = {.options = options, .host = host, .report = &report};
	s.task_path = path_in(&scratch, options->dir, "infrarsi.yaml");
	s.lock_path = path_in(&scratch, options->dir, "infrarsi.lock");
	enum err_code code = repo_open(&scratch, options->dir, &s.repo, reterr);
	if (code == OK)
		code = path_exists(s.task_path) ? check_existing(&s, reterr) : make_new(&s, reterr);
	arena_release(&scratch);
	if (code != OK)
		init_report_release(&report);
	else
		*ret_report = report;
	return code;
}

static bool is_on_path(const char *program)
{
	const char *path = getenv("PATH");
	for (const char *p = path; p && *p;) {
		size_t n = strcspn(p, ":");
		CLEANUP(free_ptr) char *file = xasprintf("%.*s/%s", (int)n, p, program);
		if (access(file, X_OK) == 0)
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

enum err_code init_run(const struct init_options *options, struct init_report *ret_report, struct err *reterr)
{
	cpu_set_t allowed;
	int cpus = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
	const struct init_host host = {.cpus = cpus, .has_clang = is_on_path("clang")};
	return init_run_on(options, &host, ret_report, reterr);
}

void init_report_release(struct init_report *r)
{
	arena_release(&r->arena);
	*r = (struct init_report){0};
}
