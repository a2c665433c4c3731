/* `infrarsi verify`: judges stored receipts again, offline, from nothing but the receipts. */
#include "base/base.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/verify_print.h"
#include "event/receipt.h"
#include "verify/set.h"

static const char own_receipts[] = ".infrarsi/receipts";

struct verify_values {
	const char *key, *matrix;
	bool details, complete;
};

/* The keys of the campaign last asked for: a campaign has many receipts. */
struct key_ring {
	struct receipt_keys keys;
	bool has_keys;
	unsigned char trusted[32];
	bool has_trusted;
};

static enum err_code look_up_keys(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	struct key_ring *ring = context;
	if (!ring->has_keys || strcmp(ring->keys.campaign, campaign) != 0) {
		receipt_keys_wipe(&ring->keys);
		ring->has_keys = false;
		enum err_code code = receipt_keys_load(campaign, false, &ring->keys, reterr);
		/* Where the signer's key is given, this machine need not have any, nor a folder for them. */
		if (code != OK && !ring->has_trusted)
			return code;
		ring->has_keys = true;
		if (ring->has_trusted) {
			snprintf(ring->keys.campaign, sizeof(ring->keys.campaign), "%s", campaign);
			memcpy(ring->keys.ed25519_public, ring->trusted, sizeof(ring->trusted));
			ring->keys.has_ed25519 = true;
		}
	}
	*ret_keys = &ring->keys;
	return OK;
}

static int is_receipt_name(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The paths of the receipts in a folder, not below it; free_strings() them. */
static enum err_code list_folder(const char *folder, char ***ret_paths, size_t *ret_count, struct err *reterr)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_receipt_name, compare_names);
	if (n < 0)
		return err_errno(reterr, "cannot read %s", folder);
	size_t length = strlen(folder);
	const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
	char **paths = xcalloc((size_t)n + 1, sizeof(*paths));
	for (int i = 0; i < n; i++) {
		paths[i] = xasprintf("%s%s%s", folder, slash, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	*ret_paths = paths;
	*ret_count = (size_t)n;
	return OK;
}

static enum err_code add_folder(
	struct receipt_set *set, const char *folder, size_t *ret_n, struct err *reterr)
{
	char **paths = NULL;
	TRY(list_folder(folder, &paths, ret_n, reterr));
	for (size_t i = 0; i < *ret_n; i++)
		receipt_set_add_file(set, paths[i], true);
	free_strings(paths, *ret_n);
	return OK;
}

static enum err_code add_argument(struct receipt_set *set, const char *path, struct err *reterr)
{
	size_t n = 0;
	if (!path_exists(path))
		return err_set(reterr, ERR_NOT_FOUND, "verify: %s does not exist", path);
	if (!path_is_dir(path)) {
		receipt_set_add_file(set, path, true);
		return OK;
	}
	TRY(add_folder(set, path, &n, reterr));
	if (n == 0)
		return err_set(reterr, ERR_NOT_FOUND, "verify: no receipt (*.json) in %s", path);
	return OK;
}

static enum err_code collect(const struct parsed *parsed, struct receipt_set *set, struct err *reterr)
{
	size_t n = 0;
	for (size_t i = 0; i < parsed->n_positional; i++)
		TRY(add_argument(set, parsed->positional[i], reterr));
	if (parsed->n_positional)
		return OK;
	if (path_is_dir(own_receipts))
		TRY(add_folder(set, own_receipts, &n, reterr));
	if (n == 0)
		return err_set(
			reterr, ERR_NOT_FOUND, "no %s here; name the receipts to verify", own_receipts);
	return OK;
}

/* Folders whose receipts are all in the set: looked through once, however many receipts miss a reference. */
struct searched {
	char **folders;
	size_t n, capacity;
};

static bool is_searched(const struct searched *searched, const char *folder)
{
	for (size_t i = 0; i < searched->n; i++)
		if (strcmp(searched->folders[i], folder) == 0)
			return true;
	return false;
}

static void note_searched(struct searched *searched, const char *folder)
{
	grow_array(&searched->folders, &searched->capacity, searched->n + 1, sizeof(*searched->folders));
	searched->folders[searched->n++] = xstrdup(folder);
}

static bool is_loaded(const struct receipt_set *set, const char *path)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->files[i].path, path) == 0)
			return true;
	return false;
}

/* References that were not named but lie in the same folder: what a user who verifies one receipt expects. */
static void find_references(struct receipt_set *set, size_t index, struct searched *searched)
{
	CLEANUP(free_ptr) char *folder = xstrdup(set->files[index].path);
	char *slash = strrchr(folder, '/');
	char **paths = NULL;
	size_t count = 0, i = 0;
	if (slash)
		slash[slash == folder] = '\0'; /* "/0001.json" lies in "/" */
	const char *name = slash ? folder : ".";
	if (is_searched(searched, name) || list_folder(name, &paths, &count, NULL) != OK)
		return;
	for (; i < count && receipt_set_misses_reference(set, &set->files[index].receipt); i++) {
		const char *path = slash ? paths[i] : paths[i] + strlen("./");
		if (!is_loaded(set, path))
			receipt_set_add_file(set, path, false);
	}
	if (i == count)
		note_searched(searched, name);
	free_strings(paths, count);
}

static void judge_all(struct receipt_set *set, bool whole)
{
	struct searched searched = {NULL, 0, 0};
	size_t given = set->n;
	for (size_t i = 0; i < given; i++)
		if (set->files[i].has_receipt && receipt_set_misses_reference(set, &set->files[i].receipt))
			find_references(set, i, &searched);
	free_strings(searched.folders, searched.n);
	receipt_set_check(set, whole);
	receipt_set_judge(set);
}

/* 0 all valid, 1 some are not, 5 some are refused. */
static int exit_code_of(const struct receipt_set *set)
{
	bool invalid = false;
	for (size_t i = 0; i < set->n; i++) {
		const struct set_file *file = &set->files[i];
		if (file->given && !file->judged)
			return 5;
		invalid |= file->given && !file->verdict.valid;
	}
	return invalid ? 1 : 0;
}

static int verify_files(const struct parsed *parsed, const struct verify_values *values)
{
	struct key_ring ring = {.has_trusted = values->key != NULL};
	struct receipt_set set;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	int exit_code;
	receipt_set_init(&set, look_up_keys, &ring);
	if (values->key && !hex_decode(values->key, ring.trusted, sizeof(ring.trusted))) {
		(void)err_set(&e, ERR_INPUT, "--key: expected 64 lower-case hex digits");
		exit_code = cli_fail(&parsed->common, &e);
	} else if (collect(parsed, &set, &e) != OK) {
		exit_code = cli_fail(&parsed->common, &e);
	} else {
		judge_all(&set, values->complete || parsed->n_positional == 0);
		if (parsed->common.json)
			verify_add_json(&set, &text);
		else
			verify_add_table(&set, values->details, &text);
		cli_print(&text);
		exit_code = exit_code_of(&set);
	}
	receipt_set_release(&set);
	receipt_keys_wipe(&ring.keys);
	return exit_code;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct verify_values *options = values;
	struct err e = ERR_INIT;
	if (!options->matrix)
		return verify_files(parsed, options);
	if (!parsed->n_positional && !options->key && !options->complete)
		return verify_matrix(parsed, options->matrix, options->details);
	(void)err_set(&e, ERR_INPUT, "verify: --matrix takes no receipts, no --key and no --complete");
	return cli_fail(&parsed->common, &e);
}

static const struct option_spec options[] = {
	{"key", "HEX", OPTION_TEXT, "the Ed25519 public key to trust (default: this user's)",
		offsetof(struct verify_values, key)},
	{"details", NULL, OPTION_FLAG, "all 16 items with their reasons",
		offsetof(struct verify_values, details)},
	{"complete", NULL, OPTION_FLAG, "refuse what follows a receipt that is not there",
		offsetof(struct verify_values, complete)},
	{"matrix", "DIR", OPTION_TEXT, "run the cases of a receipt matrix instead (docs/verify.md)",
		offsetof(struct verify_values, matrix)},
};

const struct command command_verify = {
	.name = "verify",
	.summary = "judge stored receipts again, offline",
	.usage = "[RECEIPT|FOLDER...]",
	.detail = "Without names: all receipts of this campaign, none of which may be missing. Exit code 0: "
		  "all valid; 1: some are not; 5: some are refused (edited, unsigned, replayed, ...).",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct verify_values),
	.max_positional = SIZE_MAX,
	.run = run,
};
