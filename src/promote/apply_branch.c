/* The winner as commits on a new branch. Plumbing with an index of its own: working tree, index and HEAD stay
 * as they are. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "promote/apply_int.h"

struct branch {
	const struct application *a;
	const char *index; /* path of the temporary index */
	struct strbuf tip; /* commit so far; "" = none */
	int n_commits;
};

static bool has_identity(const char *top)
{
	struct err ignored = ERR_INIT;
	return git_run(top, NULL, &ignored, "config", "user.email", NULL) == OK &&
	       git_run(top, NULL, &ignored, "config", "user.name", NULL) == OK;
}

/* The user's own name and the present time, as for any commit of theirs. */
static enum err_code commit(struct branch *b, const char *tree, const char *message, struct err *reterr)
{
	const char *top = b->a->repo.top;
	bool known = has_identity(top);
	const char *name = known ? "core.abbrev=auto" : "user.name=infrarsi";
	const char *mail = known ? "core.abbrev=auto" : "user.email=infrarsi@localhost";
	CLEANUP(strbuf_release) struct strbuf id = STRBUF_INIT;
	if (b->tip.len)
		TRY(git_run(top, &id, reterr, "-c", name, "-c", mail, "commit-tree", tree, "-p", b->tip.buf,
			"-m", message, NULL));
	else
		TRY(git_run(
			top, &id, reterr, "-c", name, "-c", mail, "commit-tree", tree, "-m", message, NULL));
	strbuf_clear(&b->tip);
	strbuf_add(&b->tip, id.buf, strcspn(id.buf, "\n"));
	b->n_commits++;
	return OK;
}

static enum err_code commit_index(struct branch *b, const char *message, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf tree = STRBUF_INIT;
	TRY(repository_git(&b->a->repo, b->index, GIT_WORDS("write-tree"), &tree, reterr));
	return commit(b, tree.buf, message, reterr);
}

/* What was measured may hold changes that HEAD does not: they come first, as a commit of their own. */
static enum err_code commit_snapshot(struct branch *b, struct err *reterr)
{
	const struct application *a = b->a;
	CLEANUP(strbuf_release) struct strbuf tree = STRBUF_INIT;
	struct err none = ERR_INIT;
	TRY(repository_git(&a->repo, b->index, GIT_WORDS("read-tree", a->s->tree), NULL, reterr));
	if (repository_git(&a->repo, NULL, GIT_WORDS("rev-parse", "--verify", "--quiet", "HEAD^{commit}"),
		    &b->tip, &none) != OK) {
		strbuf_clear(&b->tip);
		return commit(b, a->s->tree, "Working tree as measured", reterr);
	}
	TRY(repository_git(&a->repo, NULL, GIT_WORDS("rev-parse", "--verify", "HEAD^{tree}"), &tree, reterr));
	if (strcmp(tree.buf, a->s->tree) == 0)
		return OK;
	return commit(b, a->s->tree, "Working tree as measured (uncommitted changes)", reterr);
}

static enum err_code commit_patch(struct branch *b, const struct change *change, struct err *reterr)
{
	const struct application *a = b->a;
	CLEANUP(free_ptr) char *directory = xasprintf("--directory=%s", a->s->prefix);
	const char *const *words =
		*a->s->prefix
			? GIT_WORDS("apply", "--cached", "--whitespace=nowarn", directory, change->diff_path)
			: GIT_WORDS("apply", "--cached", "--whitespace=nowarn", change->diff_path);
	CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT;
	TRY(repository_git(&a->repo, b->index, words, NULL, reterr));
	strbuf_add_escaped(&message, change->title, strlen(change->title));
	strbuf_addstr(&message, "\n\nPatch ");
	strbuf_add_escaped(&message, change->name, strlen(change->name));
	if (*change->mechanism) {
		strbuf_addstr(&message, " (mechanism ");
		strbuf_add_escaped(&message, change->mechanism, strlen(change->mechanism));
		strbuf_addch(&message, ')');
	}
	strbuf_addf(&message, ", found valid by infrarsi, campaign %s.\n", a->s->campaign_id);
	return commit_index(b, message.buf, reterr);
}

static enum err_code commit_launch(struct branch *b, struct err *reterr)
{
	const struct application *a = b->a;
	const char *prefix = a->s->prefix;
	const char *words[] = {"git", "hash-object", "-w", "--stdin", NULL};
	CLEANUP(strbuf_release) struct strbuf blob = STRBUF_INIT;
	TRY(git_run_argv(a->repo.top, words, NULL, a->script, strlen(a->script), &blob, reterr));
	CLEANUP(free_ptr)
	char *entry = xasprintf("100755,%.*s,%s%s%s", (int)strcspn(blob.buf, "\n"), blob.buf, prefix,
		*prefix ? "/" : "", LAUNCH_FILE);
	TRY(repository_git(
		&a->repo, b->index, GIT_WORDS("update-index", "--add", "--cacheinfo", entry), NULL, reterr));
	CLEANUP(free_ptr)
	char *message = xasprintf("Launch with the settings that infrarsi found\n\n%s %s; campaign %s.\n",
		a->summary ? "Delivered" : "Not confirmed by a duel.", a->summary ? a->summary : "",
		a->s->campaign_id);
	return commit_index(b, message, reterr);
}

static enum err_code commit_all(struct branch *b, struct err *reterr)
{
	TRY(commit_snapshot(b, reterr));
	for (size_t i = 0; i < b->a->n_changes; i++)
		TRY(commit_patch(b, &b->a->changes[i], reterr));
	return commit_launch(b, reterr);
}

static enum err_code check_name(const struct application *a, const char *branch, struct err *reterr)
{
	struct err ignored = ERR_INIT;
	CLEANUP(free_ptr) char *ref = xasprintf("refs/heads/%s", branch);
	if (*branch == '-' || strcmp(branch, "HEAD") == 0 ||
		repository_git(&a->repo, NULL, GIT_WORDS("check-ref-format", ref), NULL, &ignored) != OK)
		return err_set(reterr, ERR_INPUT, "'%s' is not a name that git takes for a branch", branch);
	if (repository_git(
		    &a->repo, NULL, GIT_WORDS("rev-parse", "--verify", "--quiet", ref), NULL, &ignored) == OK)
		return err_set(reterr, ERR_STATE,
			"branch '%s' exists already; take another name, or remove it with  git branch -D %s",
			branch, branch);
	return OK;
}

enum err_code apply_to_branch(
	const struct application *a, const char *branch, struct apply_result *result, struct err *reterr)
{
	char temporary[4096];
	CLEANUP(free_ptr) char *ref = xasprintf("refs/heads/%s", branch);
	TRY(check_name(a, branch, reterr));
	TRY(make_temporary_dir(temporary, reterr));
	CLEANUP(free_ptr) char *index = xasprintf("%s/index", temporary);
	struct branch b = {.a = a, .index = index, .tip = STRBUF_INIT};
	enum err_code code = commit_all(&b, reterr);
	/* The empty last argument: the branch must not exist, also not since the check. */
	if (code == OK)
		code = repository_git(
			&a->repo, NULL, GIT_WORDS("update-ref", ref, b.tip.buf, ""), NULL, reterr);
	strbuf_release(&b.tip);
	enum err_code removed = remove_tree(temporary, code == OK ? reterr : NULL);
	TRY(code != OK ? code : removed);
	result->branch = arena_strdup(&result->arena, branch);
	result->n_commits = b.n_commits;
	CLEANUP(strbuf_release) struct strbuf undo = STRBUF_INIT;
	strbuf_addstr(&undo, "git branch -D ");
	strbuf_add_shell(&undo, branch);
	result->undo = arena_strdup(&result->arena, undo.buf);
	return OK;
}
