/* `infrarsi verify`: judges stored receipts again, offline, from nothing but the receipts. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "event/chain.h"
#include "event/receipt.h"
#include "verify/verify.h"

struct verify_values {
	const char *key;
	bool details;
};

struct judged {
	const char *path;
	bool given; /* named by the user; otherwise only a reference found beside one that is */
	bool readable;
	struct receipt receipt;
	enum seal_state seal;
	struct err refusal;
	bool judged;
	struct verdict verdict;
};

struct verification {
	struct arena arena;
	struct judged *files;
	size_t n, capacity;
	unsigned char trusted_key[32];
	bool has_trusted_key;
	struct receipt_keys keys; /* of the campaign last asked for */
	bool has_keys;
	bool whole_campaign; /* nothing was named: every receipt is expected to be there */
};

/* The keys of the campaign that a receipt names, kept for the next one: a campaign has many receipts. */
static enum err_code look_up_keys(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	struct verification *v = context;
	if (!v->has_keys || strcmp(v->keys.campaign, campaign) != 0) {
		receipt_keys_wipe(&v->keys);
		v->has_keys = false;
		TRY(receipt_keys_load(campaign, false, &v->keys, reterr));
		v->has_keys = true;
		if (v->has_trusted_key) {
			memcpy(v->keys.ed25519_public, v->trusted_key, sizeof(v->trusted_key));
			v->keys.has_ed25519 = true;
		}
	}
	*ret_keys = &v->keys;
	return OK;
}

static enum err_code read_one(struct verification *v, const char *path, struct judged *file)
{
	file->path = arena_strdup(&v->arena, path);
	enum err_code code =
		receipt_read_by(path, look_up_keys, v, &file->receipt, &file->seal, &file->refusal);
	/* Without any key to hold it against, a signature only says that somebody signed. */
	if (code == OK && !v->keys.has_ed25519) {
		receipt_release(&file->receipt);
		code = err_set(&file->refusal, ERR_CONTRACT,
			"signed by a key that is not known here; where you trust its signer, name the key "
			"with "
			"--key");
	}
	file->readable = code == OK;
	return code;
}

static struct judged *add_file(struct verification *v, const char *path, bool given)
{
	grow_array(&v->files, &v->capacity, v->n + 1, sizeof(*v->files));
	struct judged *file = &v->files[v->n++];
	*file = (struct judged){.given = given};
	if (read_one(v, path, file) != OK)
		file->readable = false;
	return file;
}

static struct judged *by_digest(struct verification *v, const char *digest)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->files[i].readable && strcmp(v->files[i].receipt.payload_digest, digest) == 0)
			return &v->files[i];
	return NULL;
}

static bool misses_reference(struct verification *v, const struct receipt *r)
{
	for (size_t i = 0; i < r->n_reference_digests; i++)
		if (!by_digest(v, r->reference_digests[i]))
			return true;
	return false;
}

static bool is_loaded(const struct verification *v, const char *path)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->files[i].path, path) == 0)
			return true;
	return false;
}

/* References that were not named but lie in the same folder: what a user who verifies one receipt expects. */
static void find_references(struct verification *v, size_t index)
{
	CLEANUP(free_ptr) char *folder = xstrdup(v->files[index].path);
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	char **names = NULL;
	size_t count = 0;
	if (glob_files(slash ? folder : ".", "*.json", &names, &count, NULL) != OK)
		return;
	for (size_t i = 0; i < count && misses_reference(v, &v->files[index].receipt); i++) {
		CLEANUP(free_ptr)
		char *path = slash ? xasprintf("%s/%s", folder, names[i]) : xstrdup(names[i]);
		if (!is_loaded(v, path))
			add_file(v, path, false);
	}
	free_strings(names, count);
}

static void refuse_for(struct judged *file, struct judged *other, const struct chain_problem *problem)
{
	struct judged *refused = file->refusal.code == OK ? file : other;
	if (refused->refusal.code == OK)
		(void)err_set(&refused->refusal, ERR_CONTRACT, "%s: %s", chain_problem_names[problem->kind],
			problem->text);
}

static void check_chain(struct verification *v)
{
	struct chain_file *chain = arena_array(&v->arena, v->n, sizeof(*chain));
	size_t *index = arena_array(&v->arena, v->n, sizeof(size_t)), n = 0;
	struct chain_problem *problems = NULL;
	for (size_t i = 0; i < v->n; i++)
		if (v->files[i].readable) {
			index[n] = i;
			chain[n++] = (struct chain_file){v->files[i].path, &v->files[i].receipt};
		}
	size_t count = receipt_chain_check(chain, n, &v->arena, &problems);
	/* The gravest kind first, so that what a file is refused for does not depend on the order of digests;
	 * a second problem of one file is the other file's, which it names too. */
	for (int kind = 0; kind < N_CHAIN_PROBLEM_KINDS; kind++)
		for (size_t i = 0; i < count; i++)
			if ((int)problems[i].kind == kind)
				refuse_for(&v->files[index[problems[i].file]],
					&v->files[index[problems[i].other]], &problems[i]);
}

/* Taking a receipt away would hide an execution from the bill. */
static void check_gaps(struct verification *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct judged *file = &v->files[i];
		const struct receipt *r = &file->receipt;
		if (file->readable && file->refusal.code == OK && *r->prev && !by_digest(v, r->prev))
			(void)err_set(&file->refusal, ERR_CONTRACT,
				"gap: receipt %lld, which it follows, is missing or not authentic",
				(long long)r->seq - 1);
	}
}

static void judge(struct verification *v, struct judged *file)
{
	const struct receipt *r = &file->receipt;
	const struct receipt **refs = arena_array(&v->arena, v->n + 1, sizeof(*refs));
	size_t n = 0;
	for (size_t i = 0; i < v->n; i++) {
		const struct judged *other = &v->files[i];
		bool named = false;
		for (size_t k = 0; other->readable && k < r->n_reference_digests; k++)
			named |= strcmp(r->reference_digests[k], other->receipt.payload_digest) == 0;
		if (named && other != file)
			refs[n++] = &other->receipt;
	}
	if (n == 0 && r->role == ROLE_REFERENCE)
		refs[n++] = r; /* the first reference run: there is nothing before it */
	if (n == 0) {
		(void)err_set(&file->refusal, ERR_INPUT,
			"the reference receipts that it was compared with are not among the files; name them "
			"too");
		return;
	}
	file->judged = verify_receipt(r, refs, n, NULL, &file->verdict, &file->refusal) == OK;
}

static const char *refusal_text(const struct judged *file)
{
	return file->refusal.message;
}

static void add_row(const struct judged *file, bool details, struct strbuf *text)
{
	strbuf_add_escaped(text, file->path, strlen(file->path));
	if (file->refusal.code != OK) {
		strbuf_addstr(text, "  REFUSED  ");
		strbuf_add_escaped(text, refusal_text(file), strlen(refusal_text(file)));
		strbuf_addch(text, '\n');
		return;
	}
	const struct verdict *v = &file->verdict;
	int counts[4] = {0};
	for (int i = 0; i < N_ITEMS; i++)
		counts[v->items[i].result]++;
	strbuf_addf(text, "  %-9s trial %-3d %-7s  %d pass, %d fail, %d unchecked, %d n/a  %s",
		receipt_role_names[file->receipt.role], file->receipt.trial, v->valid ? "valid" : "INVALID",
		counts[ITEM_PASS], counts[ITEM_FAIL], counts[ITEM_UNCHECKED], counts[ITEM_NA],
		file->seal == SEAL_HMAC_AND_ED25519 ? "sealed by this campaign" : "signature holds");
	if (!v->valid && v->primary >= 0)
		strbuf_addf(text, "\n    L%d %s: %s", item_infos[v->primary].layer,
			item_infos[v->primary].name, v->items[v->primary].reason);
	strbuf_addch(text, '\n');
	for (int i = 0; details && i < N_ITEMS; i++)
		strbuf_addf(text, "    L%d %-22s %-9s %s\n", item_infos[i].layer, item_infos[i].name,
			item_result_names[v->items[i].result], v->items[i].reason);
	for (int i = 0; i < v->n_reviews; i++)
		strbuf_addf(text, "    review: %s\n", v->reviews[i]);
}

static void print_json(const struct verification *v)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < v->n; i++) {
		const struct judged *file = &v->files[i];
		if (!file->given)
			continue;
		json_t *row = json_object();
		json_object_set_new(row, "file", json_from_text(file->path));
		json_object_set_new(row, "refused",
			file->refusal.code != OK ? json_from_text(refusal_text(file)) : json_null());
		if (file->judged) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
			verdict_to_json(&file->verdict, &text);
			json_object_set_new(row, "verdict", json_loads(text.buf, 0, NULL));
			json_object_set_new(row, "role", json_string(receipt_role_names[file->receipt.role]));
			json_object_set_new(row, "trial", json_integer(file->receipt.trial));
		}
		json_array_append_new(rows, row);
	}
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(rows);
	printf("%s\n", text);
}

/* 0 all valid, 1 some are not, 5 some are refused as not authentic. */
static int print_all(const struct verification *v, const struct common_options *common, bool details)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	int valid = 0, invalid = 0, refused = 0;
	for (size_t i = 0; i < v->n; i++) {
		const struct judged *file = &v->files[i];
		if (!file->given)
			continue;
		refused += file->refusal.code != OK;
		valid += file->refusal.code == OK && file->verdict.valid;
		invalid += file->refusal.code == OK && !file->verdict.valid;
		add_row(file, details, &text);
	}
	strbuf_addf(&text, "%d valid, %d invalid, %d refused\n", valid, invalid, refused);
	if (common->json)
		print_json(v);
	else
		cli_print(&text);
	return refused ? 5 : invalid ? 1 : 0;
}

static enum err_code collect(struct verification *v, const struct parsed *parsed,
	const struct verify_values *values, struct err *reterr)
{
	v->has_trusted_key = values->key != NULL;
	if (values->key && !hex_decode(values->key, v->trusted_key, sizeof(v->trusted_key)))
		return err_set(reterr, ERR_INPUT, "--key: expected 64 lower-case hex digits");
	for (size_t i = 0; i < parsed->n_positional; i++) {
		if (!path_exists(parsed->positional[i]))
			return err_set(
				reterr, ERR_NOT_FOUND, "verify: %s does not exist", parsed->positional[i]);
		add_file(v, parsed->positional[i], true);
	}
	if (parsed->n_positional)
		return OK;
	v->whole_campaign = true;
	char **names = NULL;
	size_t count = 0;
	if (path_is_dir(".infrarsi/receipts"))
		TRY(glob_files(".infrarsi/receipts", "*.json", &names, &count, reterr));
	if (count == 0)
		return err_set(
			reterr, ERR_NOT_FOUND, "no .infrarsi/receipts here; name the receipts to verify");
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_ptr) char *path = xasprintf(".infrarsi/receipts/%s", names[i]);
		add_file(v, path, true);
	}
	free_strings(names, count);
	return OK;
}

static int run(const struct parsed *parsed, void *values)
{
	const struct verify_values *options = values;
	struct verification v = {.arena = ARENA_INIT};
	struct err e = ERR_INIT;
	int exit_code;
	if (collect(&v, parsed, options, &e) != OK) {
		exit_code = cli_fail(&parsed->common, &e);
	} else {
		size_t given = v.n;
		for (size_t i = 0; i < given; i++)
			if (v.files[i].readable && misses_reference(&v, &v.files[i].receipt))
				find_references(&v, i);
		check_chain(&v);
		if (v.whole_campaign)
			check_gaps(&v);
		for (size_t i = 0; i < given; i++)
			if (v.files[i].readable && v.files[i].refusal.code == OK)
				judge(&v, &v.files[i]);
		exit_code = print_all(&v, &parsed->common, options->details);
	}
	for (size_t i = 0; i < v.n; i++)
		if (v.files[i].readable)
			receipt_release(&v.files[i].receipt);
	free(v.files);
	receipt_keys_wipe(&v.keys);
	arena_release(&v.arena);
	return exit_code;
}

static const struct option_spec options[] = {
	{"key", "HEX", OPTION_TEXT, "the Ed25519 public key to trust (default: this user's)",
		offsetof(struct verify_values, key)},
	{"details", NULL, OPTION_FLAG, "all 16 items with their reasons",
		offsetof(struct verify_values, details)},
};

const struct command command_verify = {
	.name = "verify",
	.summary = "judge stored receipts again, offline",
	.usage = "[RECEIPT...]",
	.detail = "Without names: all receipts of this campaign. Exit code 0: all valid; 1: some are not; 5: "
		  "some are not authentic.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct verify_values),
	.max_positional = SIZE_MAX,
	.run = run,
};
