/* A campaign's worth of sealed receipts, made up. */
#include "base/base.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "verify.h"
#include "verify/set.h"

enum { N_REFERENCES = 4 };

static struct opt_number number(double value)
{
	return (struct opt_number){true, value};
}

struct campaign {
	struct receipt_keys keys;
	struct strbuf *stored; /* one a receipt */
	char **paths;
	int n;
	char digests[N_REFERENCES][SHA256_HEX_SIZE], last[SHA256_HEX_SIZE];
	struct receipt_set set; /* of judge_alone */
};

static void fill_terms(struct receipt *r, int updates)
{
	struct receipt_terms *t = &r->terms;
	static const char *menu[] = {"fp32", "bf16"};
	static const char *invariants[] = {"micro_batch * grad_accum * data_parallel == global_batch"};
	static bool holds[] = {true};
	t->updates = updates;
	t->warmup = updates / 3;
	t->global_batch = 64;
	t->seq_len = 2048;
	t->loss_tolerance = t->grad_norm_tolerance = 0.03;
	t->memory_cap_bytes = 78.0 * 1073741824;
	t->capacity_bytes = 80.0 * 1073741824;
	t->precision_menu = menu;
	t->n_precision_menu = ARRAY_LEN(menu);
	t->invariants = invariants;
	t->invariant_holds = holds;
	t->n_invariants = ARRAY_LEN(invariants);
}

static void fill_updates(struct receipt *r, int updates, double step_s)
{
	struct random random;
	random_init(&random, 1, "bench", (uint64_t)r->seq);
	r->updates = arena_array(&r->arena, (size_t)updates, sizeof(*r->updates));
	r->n_updates = (size_t)updates;
	for (int i = 0; i < updates; i++) {
		struct receipt_update *u = &r->updates[i];
		u->update = i + 1;
		u->loss = number((11 - log(i + 2.0)) * (1 + 0.002 * random_normal(&random)));
		u->grad_norm = number(2 / sqrt(i + 1.0) * (1 + 0.002 * random_normal(&random)));
		u->lr = number(3e-4 * (i + 1) / updates);
		u->opt_step = number(i + 1);
		u->tokens = number(131072);
		u->seq_len = number(2048);
		u->harness_s = step_s * (1 + 0.01 * random_normal(&random));
		u->step_s = (struct opt_number){i > 0, u->harness_s * (1 + 0.001 * random_normal(&random))};
		u->mem_bytes = number(61203283968.0);
		snprintf(u->data, sizeof(u->data), "%032x", 0x9f3c00 + i);
	}
}

static void fill_rest(struct receipt *r)
{
	static const char *argv[] = {"torchrun", "--nproc-per-node", "8", "train.py", "--micro-batch", "4",
		"--accum", "2", "--updates", "30"};
	static const char *env[] = {"OMP_NUM_THREADS=8", "NCCL_MIN_NCHANNELS=16", "HF_TOKEN"};
	r->campaign = "bench";
	r->nonce = arena_printf(&r->arena, "%032llx", (unsigned long long)r->seq);
	r->created_utc = "2026-11-29T22:48:22Z";
	r->sigma_pair = number(0.003);
	r->argv = argv;
	r->n_argv = ARRAY_LEN(argv);
	r->env = env;
	r->n_env = ARRAY_LEN(env);
	r->environment_json =
		"{\"cpu\":{\"cores\":64,\"model\":\"of a bench\"},\"devices\":[{\"memory\":85899345920,"
		"\"name\":\"of a bench\"}],\"probe\":{\"bandwidth\":2.1e12,\"peak_flops\":9.9e14}}";
	r->candidate_json = arena_printf(&r->arena,
		"{\"patches\":[%s],\"settings\":{\"grad_accum\":\"2\",\"micro_batch\":\"4\",\"recompute\":"
		"\"off\",\"threads\":\"8\",\"zero\":\"1\"}}",
		r->seq % 2 ? "\"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8\"" : "");
	r->start_seen = r->nonce_echoed = r->end_seen = true;
	r->stack = "ddp";
	r->model_digest = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
	r->storage_precision = r->compute_precision = "bf16";
	r->params = r->active_params = number(9.1e9);
	r->layers = number(36);
	r->d_attn = number(4096);
	r->reported_seq_len = number(2048);
	r->reported_global_batch = number(64);
	r->exit_status = 0;
	r->peak_reported_bytes = number(61203283968.0);
	r->startup_s = 21;
	r->wall_s = 40;
	r->device_count = 8;
}

static void fill_files(struct receipt *r)
{
	static const char *const names[] = {"data/index.bin", "data/train.bin", "eval.py", "loss.py"};
	r->n_files = ARRAY_LEN(names);
	r->files = arena_array(&r->arena, r->n_files, sizeof(*r->files));
	for (size_t i = 0; i < r->n_files; i++) {
		r->files[i].path = names[i];
		snprintf(r->files[i].before, sizeof(r->files[i].before), "%064zx", i + 1);
		snprintf(r->files[i].after, sizeof(r->files[i].after), "%064zx", i + 1);
	}
}

static enum err_code seal_one(struct campaign *c, int index, int updates, struct err *reterr)
{
	struct receipt r;
	const char *references[N_REFERENCES];
	CLEANUP(strbuf_release) struct strbuf payload = STRBUF_INIT;
	bool is_reference = index < N_REFERENCES;
	receipt_init(&r);
	r.role = is_reference ? ROLE_REFERENCE : ROLE_SEARCH;
	r.seq = index + 1;
	r.trial = is_reference ? 0 : index - N_REFERENCES + 1;
	memcpy(r.prev, c->last, sizeof(r.prev));
	for (int i = 0; i < N_REFERENCES; i++)
		references[i] = c->digests[i];
	r.reference_digests = references;
	r.n_reference_digests = (size_t)MIN_OF(index, N_REFERENCES);
	fill_terms(&r, updates);
	fill_updates(&r, updates, is_reference ? 0.6 : 0.4);
	fill_rest(&r);
	fill_files(&r);
	receipt_to_json(&r, &payload);
	receipt_release(&r);
	sha256_hex(payload.buf, payload.len, c->last);
	if (is_reference)
		memcpy(c->digests[index], c->last, sizeof(c->last));
	return receipt_seal_payload(payload.buf, payload.len, &c->keys, &c->stored[index], reterr);
}

static void release_campaign(void *context)
{
	struct campaign *c = context;
	receipt_set_release(&c->set);
	for (int i = 0; i < c->n; i++) {
		strbuf_release(&c->stored[i]);
		free(c->paths[i]);
	}
	free(c->stored);
	free(c->paths);
	free(c);
}

static enum err_code same_keys(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	(void)campaign;
	(void)reterr;
	*ret_keys = context;
	return OK;
}

static enum err_code prepare_stored(const struct shape *shape, struct campaign *c, struct err *reterr)
{
	TRY(make_dirs(shape->scratch, 0700, reterr));
	for (int i = 0; i < c->n; i++) {
		c->stored[i] = (struct strbuf)STRBUF_INIT;
		c->paths[i] = xasprintf("%s/%06d.json", shape->scratch, i + 1);
	}
	for (int i = 0; i < c->n; i++) {
		TRY(seal_one(c, i, shape->updates, reterr));
		/* Written plainly: a sync for each would take longer than everything that is measured. */
		FILE *f = fopen(c->paths[i], "we");
		if (!f)
			return err_errno(reterr, "cannot write %s", c->paths[i]);
		size_t written = fwrite(c->stored[i].buf, 1, c->stored[i].len, f);
		if (fclose(f) != 0 || written != c->stored[i].len)
			return err_errno(reterr, "cannot write %s", c->paths[i]);
	}
	return OK;
}

static enum err_code prepare(const struct shape *shape, void **ret_context, struct err *reterr)
{
	struct campaign *c = xcalloc(1, sizeof(*c));
	c->n = shape->receipts;
	c->stored = xcalloc((size_t)c->n, sizeof(*c->stored));
	c->paths = xcalloc((size_t)c->n, sizeof(*c->paths));
	c->keys.has_hmac = c->keys.has_ed25519 = true;
	random_bytes(c->keys.hmac, sizeof(c->keys.hmac));
	crypto_sign_keypair(c->keys.ed25519_public, c->keys.ed25519_secret);
	snprintf(c->keys.campaign, sizeof(c->keys.campaign), "bench");
	receipt_set_init(&c->set, same_keys, &c->keys);
	enum err_code code = prepare_stored(shape, c, reterr);
	if (code != OK) {
		release_campaign(c);
		return code;
	}
	*ret_context = c;
	return OK;
}

static void read_all(struct campaign *c, struct receipt_set *set)
{
	receipt_set_init(set, same_keys, &c->keys);
	for (int i = 0; i < c->n; i++)
		receipt_set_add_file(set, c->paths[i], true);
	receipt_set_check(set, true);
}

static enum err_code count_valid(const struct receipt_set *set, double *ret_amount, struct err *reterr)
{
	for (size_t i = 0; i < set->n; i++)
		if (!set->files[i].judged || !set->files[i].verdict.valid)
			return err_set(reterr, ERR_FAILED, "%s is not valid: %s", set->files[i].path,
				set->files[i].why.message);
	*ret_amount = (double)set->n;
	return OK;
}

static enum err_code run_both(void *context, double *ret_amount, struct err *reterr)
{
	struct receipt_set set;
	read_all(context, &set);
	receipt_set_judge(&set);
	enum err_code code = count_valid(&set, ret_amount, reterr);
	receipt_set_release(&set);
	return code;
}

static enum err_code run_read(void *context, double *ret_amount, struct err *reterr)
{
	struct receipt_set set;
	(void)reterr;
	read_all(context, &set);
	*ret_amount = (double)set.n;
	receipt_set_release(&set);
	return OK;
}

static enum err_code prepare_read(const struct shape *shape, void **ret_context, struct err *reterr)
{
	TRY(prepare(shape, ret_context, reterr));
	struct campaign *c = *ret_context;
	read_all(c, &c->set);
	return OK;
}

static enum err_code run_judge(void *context, double *ret_amount, struct err *reterr)
{
	struct campaign *c = context;
	receipt_set_judge(&c->set);
	return count_valid(&c->set, ret_amount, reterr);
}

const struct measurement read_and_judge = {
	"read and judge", "receipts/s", prepare, run_both, release_campaign, 1};
const struct measurement read_alone = {"read alone", "receipts/s", prepare, run_read, release_campaign, 0};
const struct measurement judge_alone = {
	"judge alone", "receipts/s", prepare_read, run_judge, release_campaign, 0};
