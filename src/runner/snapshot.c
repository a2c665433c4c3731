#include "base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "runner/repository.h"
#include "runner/workspace.h"

#define STATE_FOLDERS ":(top,glob)**/.infrarsi/**"
#define NOT_STATE_FOLDERS ":(top,exclude,glob)**/.infrarsi/**"

/* The temporary index begins as a copy of the user's: files that are tracked although ignored stay in, and
 * unchanged files need not be hashed again. Its time stamp is kept, because git compares it with those of
 * files written in the same instant. */
static enum err_code copy_index(const struct repository *repo, const char *index, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT;
	TRY(repository_git(repo, NULL, GIT_WORDS("rev-parse", "--git-path", "index"), &path, reterr));
	CLEANUP(free_ptr)
	char *full = path.buf[0] == '/' ? xstrdup(path.buf) : xasprintf("%s/%s", repo->top, path.buf);
	struct stat st;
	if (stat(full, &st) != 0)
		return OK; /* nothing was ever added */
	TRY(copy_tree(full, index, reterr));
	struct timespec times[2] = {st.st_atim, st.st_mtim};
	if (utimensat(AT_FDCWD, index, times, 0) != 0)
		return err_errno(reterr, "cannot set the time of %s", index);
	return OK;
}

/* Files marked "assume unchanged" would keep the content that the index knows. The list is cut into pieces
 * that fit an argument list. */
static enum err_code see_all_changes(const struct repository *repo, const char *index, struct err *reterr)
{
	enum { BATCH = 256 };
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
	TRY(repository_git(repo, index, GIT_WORDS("ls-files", "-v", "-z"), &list, reterr));
	const char *words[BATCH + 4] = {"update-index", "--no-assume-unchanged", "--"};
	size_t n = 3;
	for (const char *entry = list.buf; entry < list.buf + list.len; entry += strlen(entry) + 1) {
		if (*entry < 'a' || *entry > 'z' || entry[1] != ' ')
			continue;
		words[n++] = entry + 2;
		words[n] = NULL;
		if (n == BATCH + 3) {
			TRY(repository_git(repo, index, words, NULL, reterr));
			n = 3;
		}
	}
	return n > 3 ? repository_git(repo, index, words, NULL, reterr) : OK;
}

static enum err_code count_submodules(
	const struct repository *repo, const char *tree, size_t *ret_count, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
	TRY(repository_git(repo, NULL, GIT_WORDS("ls-tree", "-r", "-z", tree), &list, reterr));
	*ret_count = 0;
	for (const char *entry = list.buf; entry < list.buf + list.len; entry += strlen(entry) + 1)
		*ret_count += strncmp(entry, "160000 ", 7) == 0;
	return OK;
}

static enum err_code write_tree(
	const struct repository *repo, const char *index, struct strbuf *ret_tree, struct err *reterr)
{
	TRY(copy_index(repo, index, reterr));
	TRY(see_all_changes(repo, index, reterr));
	TRY(repository_git(repo, index, GIT_WORDS("add", "-A", "--", ".", NOT_STATE_FOLDERS), NULL, reterr));
	TRY(repository_git(repo, index,
		GIT_WORDS("rm", "-r", "-q", "-f", "--cached", "--ignore-unmatch", "--", STATE_FOLDERS), NULL,
		reterr));
	return repository_git(repo, index, GIT_WORDS("write-tree"), ret_tree, reterr);
}

static enum err_code commit_tree(
	const struct repository *repo, const char *tree, struct strbuf *ret_commit, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf head = STRBUF_INIT;
	bool has_head =
		repository_git(repo, NULL, GIT_WORDS("rev-parse", "--verify", "--quiet", "HEAD^{commit}"),
			&head, NULL) == OK;
	if (has_head)
		return repository_git(repo, NULL,
			GIT_WORDS("commit-tree", tree, "-p", head.buf, "-m", "infrarsi snapshot"), ret_commit,
			reterr);
	return repository_git(
		repo, NULL, GIT_WORDS("commit-tree", tree, "-m", "infrarsi snapshot"), ret_commit, reterr);
}

static enum err_code fill(const struct repository *repo, const char *commit, const char *tree,
	struct snapshot *ret_snapshot, struct err *reterr)
{
	struct snapshot s = {.n_submodules = 0};
	if (strlen(commit) >= sizeof(s.commit) || strlen(tree) >= sizeof(s.tree) ||
		strlen(repo->prefix) >= sizeof(s.prefix))
		return err_set(
			reterr, ERR_LIMIT, "the path %s inside the repository is too long", repo->prefix);
	TRY(count_submodules(repo, tree, &s.n_submodules, reterr));
	strcpy(s.commit, commit);
	strcpy(s.tree, tree);
	strcpy(s.prefix, repo->prefix);
	*ret_snapshot = s;
	return OK;
}

static enum err_code take(const struct repository *repo, const char *index, const char *ref,
	struct snapshot *ret_snapshot, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf tree = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf commit = STRBUF_INIT;
	struct snapshot snapshot;
	TRY(write_tree(repo, index, &tree, reterr));
	TRY(commit_tree(repo, tree.buf, &commit, reterr));
	TRY(fill(repo, commit.buf, tree.buf, &snapshot, reterr));
	if (ref)
		TRY(repository_git(repo, NULL, GIT_WORDS("update-ref", ref, commit.buf), NULL, reterr));
	*ret_snapshot = snapshot;
	return OK;
}

enum err_code snapshot_take(
	const char *root, const char *campaign, struct snapshot *ret_snapshot, struct err *reterr)
{
	CLEANUP(repository_release) struct repository repo = {.arena = ARENA_INIT};
	CLEANUP(free_ptr) char *ref = campaign ? xasprintf("refs/infrarsi/%s", campaign) : NULL;
	char temporary[4096];
	TRY(repository_open(root, &repo, reterr));
	TRY(make_temporary_dir(temporary, reterr));
	CLEANUP(free_ptr) char *index = xasprintf("%s/index", temporary);
	enum err_code code = take(&repo, index, ref, ret_snapshot, reterr);
	enum err_code removed = remove_tree(temporary, code == OK ? reterr : NULL);
	return code != OK ? err_prefix(reterr, code, "taking a snapshot of %s", root) : removed;
}

enum err_code snapshot_load(
	const char *root, const char *campaign, struct snapshot *ret_snapshot, struct err *reterr)
{
	CLEANUP(repository_release) struct repository repo = {.arena = ARENA_INIT};
	CLEANUP(strbuf_release) struct strbuf commit = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf tree = STRBUF_INIT;
	CLEANUP(free_ptr) char *commit_name = xasprintf("refs/infrarsi/%s^{commit}", campaign);
	CLEANUP(free_ptr) char *tree_name = xasprintf("refs/infrarsi/%s^{tree}", campaign);
	TRY(repository_open(root, &repo, reterr));
	if (repository_git(&repo, NULL, GIT_WORDS("rev-parse", "--verify", "--quiet", commit_name), &commit,
		    NULL) != OK)
		return err_set(
			reterr, ERR_NOT_FOUND, "campaign %s has no snapshot in %s", campaign, repo.top);
	TRY(repository_git(
		&repo, NULL, GIT_WORDS("rev-parse", "--verify", "--quiet", tree_name), &tree, reterr));
	return fill(&repo, commit.buf, tree.buf, ret_snapshot, reterr);
}
