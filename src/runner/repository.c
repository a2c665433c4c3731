#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "runner/repository.h"

extern char **environ;

/* What could run the repository's own programs is off; bytes stay as they are. The identity and the time are
 * fixed, so that the same tree always gives the same commit. */
static const char *const git_options[] = {"git", "-c", "core.hooksPath=/dev/null", "-c",
	"core.fsmonitor=", "-c", "core.autocrlf=false", "-c", "core.quotePath=false", "-c",
	"commit.gpgSign=false", "-c", "advice.addEmbeddedRepo=false"};
static const char *const git_env[] = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=infrarsi",
	"GIT_AUTHOR_EMAIL=infrarsi@localhost", "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_NAME=infrarsi",
	"GIT_COMMITTER_EMAIL=infrarsi@localhost", "GIT_COMMITTER_DATE=@0 +0000"};

static const char *const *make_env(struct arena *arena, const char *variable)
{
	size_t inherited = 0, n = 0;
	while (environ[inherited])
		inherited++;
	const char **env = arena_array(arena, inherited + ARRAY_LEN(git_env) + 2, sizeof(*env));
	for (size_t i = 0; i < ARRAY_LEN(git_env); i++)
		env[n++] = git_env[i];
	if (variable)
		env[n++] = variable;
	for (size_t i = 0; i < inherited; i++)
		if (is_helper_variable(environ[i]) && strncmp(environ[i], "LC_ALL=", 7) != 0)
			env[n++] = environ[i];
	return env;
}

static enum err_code git_with(const char *dir, const char *variable, const char *const *words,
	struct strbuf *ret_output, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	size_t n_words = 0;
	while (words[n_words])
		n_words++;
	const char **argv = arena_array(&arena, ARRAY_LEN(git_options) + n_words + 1, sizeof(*argv));
	memcpy(argv, git_options, sizeof(git_options));
	memcpy(argv + ARRAY_LEN(git_options), words, n_words * sizeof(*argv));
	enum err_code code = git_run_argv(dir, argv, make_env(&arena, variable), NULL, 0, ret_output, reterr);
	if (code == OK && ret_output && ret_output->len && ret_output->buf[ret_output->len - 1] == '\n')
		ret_output->buf[--ret_output->len] = '\0';
	arena_release(&arena);
	return code;
}

enum err_code repository_git(const struct repository *repo, const char *index, const char *const *words,
	struct strbuf *ret_output, struct err *reterr)
{
	CLEANUP(free_ptr) char *variable = index ? xasprintf("GIT_INDEX_FILE=%s", index) : NULL;
	return git_with(repo->top, variable, words, ret_output, reterr);
}

/* A ceiling stops the search for a repository: a build folder lies inside the user's own, and `git apply`
 * there would silently skip what it takes for files outside. */
enum err_code git_outside_repository(
	const char *dir, const char *const *words, struct strbuf *ret_output, struct err *reterr)
{
	CLEANUP(free_ptr) char *real = realpath(dir, NULL);
	if (!real)
		return err_errno(reterr, "cannot resolve %s", dir);
	char *slash = strrchr(real, '/');
	*(slash == real ? slash + 1 : slash) = '\0';
	CLEANUP(free_ptr) char *variable = xasprintf("GIT_CEILING_DIRECTORIES=%s", real);
	return git_with(dir, variable, words, ret_output, reterr);
}

enum err_code repository_open(const char *dir, struct repository *ret_repo, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf top = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf prefix = STRBUF_INIT;
	struct err failure = ERR_INIT;
	if (!path_is_dir(dir))
		return err_set(reterr, ERR_NOT_FOUND, "no folder %s", dir);
	enum err_code code = git_with(dir, NULL, GIT_WORDS("rev-parse", "--show-toplevel"), &top, &failure);
	if (code == ERR_FAILED)
		return err_set(reterr, ERR_INPUT,
			"%s is not in a git working tree, which is needed to take snapshots and apply "
			"patches: run 'git init' there (nothing need be committed) (%s)",
			dir, failure.message);
	if (code != OK)
		return err_set(reterr, code, "%s", failure.message);
	TRY(git_with(dir, NULL, GIT_WORDS("rev-parse", "--show-prefix"), &prefix, reterr));
	if (prefix.len && prefix.buf[prefix.len - 1] == '/')
		prefix.buf[--prefix.len] = '\0';
	struct repository repo = {.arena = ARENA_INIT};
	repo.top = arena_strdup(&repo.arena, top.buf);
	repo.prefix = arena_strdup(&repo.arena, prefix.buf);
	*ret_repo = repo;
	return OK;
}

void repository_release(struct repository *repo)
{
	arena_release(&repo->arena);
	*repo = (struct repository){.arena = ARENA_INIT};
}

enum err_code make_temporary_dir(char ret_path[4096], struct err *reterr)
{
	const char *base = getenv("TMPDIR");
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/infrarsi-XXXXXX", base && base[0] == '/' ? base : "/tmp");
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(reterr, ERR_INPUT, "TMPDIR is too long");
	if (!mkdtemp(path))
		return err_errno(reterr, "cannot create %s", path);
	memcpy(ret_path, path, sizeof(path));
	return OK;
}
