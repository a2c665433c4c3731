#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "patch_fixture.h"

void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("line %d: %s", e->line, e->message);
}

void fixture_git(const struct fixture *f, const char *first, ...)
{
	const char *argv[32] = {"git", "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", first};
	struct err e = ERR_INIT;
	size_t n = 6;
	va_list ap;
	va_start(ap, first);
	while (n + 1 < ARRAY_LEN(argv) && (argv[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	must(git_run_argv(f->repo, argv, NULL, NULL, 0, NULL, &e), &e);
}

void fixture_begin(struct fixture *f)
{
	snprintf(f->repo, sizeof(f->repo), "/tmp/test-patch-XXXXXX");
	assert_non_null(mkdtemp(f->repo));
	snprintf(f->root, sizeof(f->root), "%s/job", f->repo);
	fixture_git(f, "init", "-q", "-b", "main", NULL);
	fixture_git(f, "config", "user.name", "t", NULL);
	fixture_git(f, "config", "user.email", "t@t", NULL);
	f->task.root = f->root;
}

void fixture_put(const struct fixture *f, const char *path, const char *text)
{
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", f->repo, path);
	CLEANUP(free_ptr) char *dir = xstrdup(full);
	*strrchr(dir, '/') = '\0';
	must(make_dirs(dir, 0755, &e), &e);
	must(file_write_atomic(full, text, strlen(text), 0644, &e), &e);
}

void fixture_commit(struct fixture *f, const char *message)
{
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	fixture_git(f, "add", "-A", NULL);
	fixture_git(f, "commit", "-q", "-m", message, NULL);
	must(git_run(f->repo, &out, &e, "rev-parse", "HEAD", NULL), &e);
	snprintf(f->commit, sizeof(f->commit), "%.64s", out.buf);
	f->commit[strcspn(f->commit, "\n")] = '\0';
}

int fixture_end(struct fixture *f)
{
	return remove_tree(f->repo, NULL) == OK ? 0 : -1;
}
