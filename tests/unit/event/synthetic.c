#include "base/base.h"

#include <stdio.h>

#include "base/memory.h"
#include "event/synthetic.h"

#define MIB 1048576.0

static struct opt_number number(double value)
{
	return (struct opt_number){true, value};
}

static void fill_terms(struct receipt *r)
{
	struct receipt_terms *t = &r->terms;
	t->updates = SYNTHETIC_UPDATES;
	t->warmup = SYNTHETIC_WARMUP;
	t->global_batch = 32;
	t->seq_len = 128;
	t->loss_tolerance = 0.03;
	t->grad_norm_tolerance = 0.03;
	t->memory_cap_bytes = 128 * MIB;
	t->capacity_bytes = 192 * MIB;
	t->n_precision_menu = 2;
	t->precision_menu = arena_array(&r->arena, 2, sizeof(char *));
	t->precision_menu[0] = "fp32";
	t->precision_menu[1] = "bf16";
	t->n_invariants = 1;
	t->invariants = arena_array(&r->arena, 1, sizeof(char *));
	t->invariant_holds = arena_array(&r->arena, 1, sizeof(bool));
	t->invariants[0] = "micro_batch * grad_accum == global_batch";
	t->invariant_holds[0] = true;
}

static void fill_updates(struct receipt *r, double step_s)
{
	struct opt_number none = {false, 0};
	r->n_updates = SYNTHETIC_UPDATES;
	r->updates = arena_array(&r->arena, r->n_updates, sizeof(*r->updates));
	for (int i = 0; i < SYNTHETIC_UPDATES; i++) {
		struct receipt_update *u = &r->updates[i];
		u->update = i + 1;
		u->loss = number(5 - 0.02 * (i + 1));
		u->grad_norm = number(2 - 0.01 * (i + 1));
		u->lr = number(1e-5 * (i + 1));
		u->opt_step = number(i + 1);
		u->tokens = number(4096);
		u->seq_len = number(128);
		u->step_s = i ? number(step_s) : none;
		u->mem_bytes = number(100 * MIB);
		snprintf(u->data, sizeof(u->data), "%032x", 0xabc0 + i);
		u->harness_s = step_s;
	}
}

static void fill_files(struct receipt *r)
{
	r->n_files = 2;
	r->files = arena_array(&r->arena, r->n_files, sizeof(*r->files));
	for (size_t i = 0; i < r->n_files; i++) {
		r->files[i].path = i ? "eval.py" : "data/train.bin";
		snprintf(r->files[i].before, sizeof(r->files[i].before), "%064zx", i + 1);
		snprintf(r->files[i].after, sizeof(r->files[i].after), "%064zx", i + 1);
	}
}

void synthetic_receipt(struct receipt *r, enum receipt_role role, int64_t seq, double step_s)
{
	receipt_init(r);
	r->role = role;
	r->campaign = "c1";
	r->seq = seq;
	r->nonce = arena_printf(&r->arena, "nonce-%lld", (long long)seq);
	r->created_utc = "2026-11-29T22:48:22Z";
	fill_terms(r);
	fill_updates(r, step_s);
	fill_files(r);
	r->sigma_pair = number(0.002);
	if (role != ROLE_REFERENCE)
		r->candidate_json = "{\"patches\":[],\"settings\":{\"threads\":\"2\"}}";
	r->start_seen = r->nonce_echoed = r->end_seen = true;
	r->end_updates = SYNTHETIC_UPDATES;
	r->stack = "native";
	r->model_digest = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
	r->storage_precision = r->compute_precision = "fp32";
	r->params = r->active_params = number(1.0e6);
	r->layers = number(4);
	r->d_attn = number(128);
	r->reported_seq_len = number(128);
	r->reported_global_batch = number(32);
	r->exit_status = 0;
	r->peak_reported_bytes = number(100 * MIB);
	r->startup_s = 1 + step_s;
	r->wall_s = 1 + SYNTHETIC_UPDATES * step_s + 0.1;
	r->device_count = 1;
}

void synthetic_stop_after(struct receipt *r, int n, int exit_status)
{
	r->n_updates = (size_t)n;
	r->exit_status = exit_status;
	r->end_seen = false;
	r->end_updates = 0;
}
