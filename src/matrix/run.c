/* Cases against what the verifier says. */
#include "base/base.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "matrix/matrix_int.h"
#include "stats/noise.h"

enum { MAX_PAIRS = 16 };

static struct receipt_keys make_keys(void)
{
	struct receipt_keys keys = {.has_hmac = true, .has_ed25519 = true};
	random_bytes(keys.hmac, sizeof(keys.hmac));
	crypto_sign_keypair(keys.ed25519_public, keys.ed25519_secret);
	snprintf(keys.campaign, sizeof(keys.campaign), "matrix");
	return keys;
}

static enum err_code same_keys(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	(void)campaign;
	(void)reterr;
	*ret_keys = context;
	return OK;
}

/* "duel +5% +5.1% +4.9% +5%": the speed-ups of its pairs, judged as a final duel is. */
static enum err_code read_duel(const struct matrix_op *op, const struct matrix_case *c,
	const struct receipt *r, struct duel_result *ret_duel, struct err *reterr)
{
	double pairs[MAX_PAIRS], speedup;
	size_t n = 0;
	const char *at = op->value;
	for (char *end; *at; at = end) {
		speedup = strtod(at, &end) / 100;
		if (end == at || *end != '%' || !(speedup > -1) || n == MAX_PAIRS)
			return op_error(reterr, op, "expected up to %d speed-ups such as +5%%", MAX_PAIRS);
		pairs[n++] = log1p(speedup);
		end += 1 + strspn(end + 1, " ");
	}
	struct duel_input in = {.pair_ln = pairs,
		.n_pairs = n,
		.reference_runs = c->n_references,
		.sigma_pair = r->sigma_pair.has ? r->sigma_pair.value : NAN,
		.finalists_allowed = 3};
	duel_judge(&in, ret_duel);
	return OK;
}

static void find_answer(const struct set_file *file, struct matrix_answer *ret_found)
{
	struct matrix_answer a = {.primary = -1, .refusal = file->refusal};
	const struct verdict *v = &file->verdict;
	a.outcome = !file->judged ? OUTCOME_REFUSED : v->valid ? OUTCOME_VALID : OUTCOME_INVALID;
	for (int i = 0; i < N_ITEMS; i++)
		a.items[i] = file->judged ? (int)v->items[i].result : -1;
	if (file->judged)
		a.primary = v->primary;
	for (int i = 0; i < v->n_reviews; i++)
		if (review_kind_of(v->reviews[i]) < N_REVIEW_KINDS)
			a.reviews[review_kind_of(v->reviews[i])] = true;
	*ret_found = a;
}

static void add_outcome(struct strbuf *text, const struct matrix_answer *a)
{
	strbuf_addstr(text, matrix_outcome_names[a->outcome]);
	if (a->outcome == OUTCOME_INVALID)
		strbuf_addf(text, " %s", item_infos[a->primary].name);
	if (a->outcome == OUTCOME_REFUSED)
		strbuf_addf(text, " %s", refusal_names[a->refusal]);
}

static void compare(struct matrix_case *c, const struct set_file *file, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const struct matrix_answer *e = &c->expected, *f = &c->found;
	if (e->outcome != f->outcome || e->primary != f->primary || e->refusal != f->refusal) {
		strbuf_addstr(&text, "expected ");
		add_outcome(&text, e);
		strbuf_addstr(&text, ", found ");
		add_outcome(&text, f);
		if (f->outcome == OUTCOME_REFUSED)
			strbuf_addf(&text, ": %s", file->why.message);
		strbuf_addch(&text, '\n');
	}
	for (int i = 0; i < N_ITEMS; i++)
		if (e->outcome != OUTCOME_REFUSED && file->judged && e->items[i] != f->items[i])
			strbuf_addf(&text, "%s: expected %s, found %s: %s\n", item_infos[i].name,
				item_result_names[e->items[i]], item_result_names[f->items[i]],
				file->verdict.items[i].reason);
	for (int k = 0; k < N_REVIEW_KINDS; k++)
		if (e->outcome != OUTCOME_REFUSED && file->judged && e->reviews[k] != f->reviews[k])
			strbuf_addf(&text, "review %s: %s\n", review_names[k],
				e->reviews[k] ? "expected, not found" : "found, not expected");
	c->disagreement = arena_strdup(arena, text.buf);
	c->agrees = text.len == 0;
}

static enum err_code judge_docs(
	struct matrix_case *c, struct docs *docs, struct arena *arena, struct err *reterr)
{
	struct seal_wishes wishes;
	struct receipt_set set;
	struct duel_result duel;
	size_t judged = 0;
	TRY(wishes_read(c, docs, &wishes, reterr));
	struct receipt_keys keys[2] = {make_keys(), make_keys()};
	receipt_set_init(&set, same_keys, &keys[0]);
	enum err_code code = set_build(docs, &wishes, keys, &set, &judged, reterr);
	if (code == OK && wishes.duel && set.files[judged].has_receipt) {
		code = read_duel(wishes.duel, c, &set.files[judged].receipt, &duel, reterr);
		set.files[judged].duel = &duel;
	}
	if (code == OK) {
		receipt_set_check(&set, wishes.whole);
		receipt_set_judge(&set);
		find_answer(&set.files[judged], &c->found);
		compare(c, &set.files[judged], arena);
		c->verdict = set.files[judged].verdict;
		c->has_run = true;
	}
	receipt_set_release(&set);
	receipt_keys_wipe(&keys[0]);
	receipt_keys_wipe(&keys[1]);
	return code;
}

enum err_code matrix_case_run(struct matrix_case *c, struct arena *arena, struct err *reterr)
{
	struct docs docs;
	TRY(docs_build(c, &docs, reterr));
	enum err_code code = judge_docs(c, &docs, arena, reterr);
	docs_release(&docs);
	return code;
}

enum err_code matrix_case_check(const struct matrix_case *c, struct err *reterr)
{
	struct docs docs;
	struct seal_wishes wishes;
	TRY(docs_build(c, &docs, reterr));
	enum err_code code = wishes_read(c, &docs, &wishes, reterr);
	docs_release(&docs);
	return code;
}

static enum err_code load_case(
	struct matrix *m, const char *dir, const char *bases, const char *name, struct err *reterr)
{
	static const char suffix[] = ".case";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	struct matrix_case c;
	TRY(file_read(path, MATRIX_FILE_CAP, &text, reterr));
	TRY(matrix_case_parse(path, text.buf, text.len, bases, &m->arena, &c, reterr));
	c.name = arena_strndup(&m->arena, name, strlen(name) - strlen(suffix));
	grow_array(&m->cases, &m->capacity, m->n + 1, sizeof(*m->cases));
	m->cases[m->n++] = c;
	return OK;
}

enum err_code matrix_load(const char *dir, struct matrix *ret_matrix, struct err *reterr)
{
	struct matrix m = {.arena = ARENA_INIT};
	char **names = NULL;
	size_t count = 0;
	CLEANUP(free_ptr) char *bases = xasprintf("%s/base", dir);
	if (!path_is_dir(dir))
		return err_set(reterr, ERR_NOT_FOUND, "%s is no folder", dir);
	TRY(glob_files(dir, "**/*.case", &names, &count, reterr));
	enum err_code code = count ? OK : err_set(reterr, ERR_NOT_FOUND, "no case (*.case) in %s", dir);
	for (size_t i = 0; i < count && code == OK; i++)
		code = load_case(&m, dir, bases, names[i], reterr);
	free_strings(names, count);
	if (code != OK) {
		matrix_release(&m);
		return code;
	}
	*ret_matrix = m;
	return OK;
}

void matrix_release(struct matrix *m)
{
	for (size_t i = 0; i < m->n; i++)
		matrix_case_release(&m->cases[i]);
	free(m->cases);
	arena_release(&m->arena);
	*m = (struct matrix){.arena = ARENA_INIT};
}

enum err_code matrix_run(struct matrix *m, struct err *reterr)
{
	if (sodium_init() < 0)
		return err_set(reterr, ERR_FAILED, "libsodium cannot be initialised");
	for (size_t i = 0; i < m->n; i++)
		TRY(matrix_case_run(&m->cases[i], &m->arena, reterr));
	return OK;
}

void matrix_tally(const struct matrix *m, struct matrix_tally *ret_tally)
{
	struct matrix_tally t = {0};
	for (size_t i = 0; i < m->n; i++) {
		const struct matrix_case *c = &m->cases[i];
		bool valid = c->has_run && c->found.outcome == OUTCOME_VALID;
		t.cases++;
		t.agree += c->agrees;
		t.accepted += c->paper == PAPER_ACCEPTED;
		t.accepted_right += c->paper == PAPER_ACCEPTED && valid;
		t.rejected += c->paper == PAPER_REJECTED;
		t.rejected_right += c->paper == PAPER_REJECTED && c->has_run && !valid;
	}
	*ret_tally = t;
}
