#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "event/receipt.h"

enum { DIGEST_BYTES = EVENT_DIGEST_HEX / 2 };

/* An update as it grows: ranks add to it in any order. */
struct growing {
	struct receipt_update update;
	unsigned char data[DIGEST_BYTES]; /* big-endian sum modulo 2^128 */
	bool has_data;
	double arrived_s; /* of rank 0's event; NAN = it has not come */
};

struct rank_state {
	int last_update; /* 0 = none yet */
	bool started;
};

struct phase_sums {
	double sum[N_PHASES];
	size_t count[N_PHASES];
};

struct receipt_builder {
	struct receipt *receipt;
	char *nonce;
	double spawn_s, start_s; /* start_s: rank 0's start event; NAN = none */
	struct growing *updates; /* increasing update number */
	size_t n_updates, capacity;
	struct rank_state *ranks;
	size_t n_ranks, ranks_capacity;
	int world, ends;
	bool nonces_right, any_start;
	struct phase_sums window, all;
};

struct receipt_builder *receipt_builder_new(struct receipt *r, const char *expected_nonce, double spawn_s)
{
	struct receipt_builder *b = xcalloc(1, sizeof(*b));
	b->receipt = r;
	b->nonce = xstrdup(expected_nonce);
	b->spawn_s = spawn_s;
	b->start_s = NAN;
	b->world = 1;
	b->nonces_right = true;
	return b;
}

static struct rank_state *rank_of(struct receipt_builder *b, int rank)
{
	size_t need = (size_t)rank + 1;
	grow_array(&b->ranks, &b->ranks_capacity, need, sizeof(*b->ranks));
	for (; b->n_ranks < need; b->n_ranks++)
		b->ranks[b->n_ranks] = (struct rank_state){0, false};
	return &b->ranks[rank];
}

static void keep_start(struct receipt_builder *b, const struct event *e, double arrived_s)
{
	struct receipt *r = b->receipt;
	r->start_seen = true;
	b->start_s = arrived_s;
	r->stack = arena_strdup(&r->arena, e->stack);
	r->model_digest = arena_strdup(&r->arena, e->model_digest);
	r->storage_precision = arena_strdup(&r->arena, e->storage_precision);
	r->compute_precision = arena_strdup(&r->arena, e->compute_precision);
	r->versions_json = e->versions_json[0] ? arena_strdup(&r->arena, e->versions_json) : NULL;
	r->params = e->params;
	r->active_params = e->active_params;
	r->layers = e->layers;
	r->d_attn = e->d_attn;
	r->reported_seq_len = e->seq_len;
	r->reported_global_batch = e->global_batch;
}

static bool add_start(struct receipt_builder *b, const struct event *e, double arrived_s)
{
	if (b->any_start && e->world != b->world)
		return false;
	struct rank_state *rank = rank_of(b, e->rank);
	if (rank->started)
		return false;
	rank->started = true;
	b->world = e->world;
	b->any_start = true;
	/* An expected nonce is never empty: a job that echoes nothing has not echoed it. */
	b->nonces_right = b->nonces_right && *b->nonce && strcmp(e->nonce, b->nonce) == 0;
	if (e->rank == 0)
		keep_start(b, e, arrived_s);
	return true;
}

static struct growing *find_update(struct receipt_builder *b, int update)
{
	size_t low = 0, high = b->n_updates;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b->updates[middle].update.update < update)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < b->n_updates && b->updates[low].update.update == update;
	return found ? &b->updates[low] : NULL;
}

/* The entry of an update; NULL where one that nobody has reported would have to go before one that somebody
 * has. Every rank reports every update, so that is out of order, whichever rank it comes from. */
static struct growing *growing_of(struct receipt_builder *b, int update)
{
	size_t n = b->n_updates;
	if (n > 0 && update <= b->updates[n - 1].update.update)
		return find_update(b, update);
	if (n == RECEIPT_MAX_UPDATES)
		return NULL;
	grow_array(&b->updates, &b->capacity, n + 1, sizeof(*b->updates));
	struct growing *g = &b->updates[b->n_updates++];
	struct opt_number none = {false, NAN};
	*g = (struct growing){.arrived_s = NAN};
	g->update = (struct receipt_update){update, none, none, none, none, none, none, none, none, "", NAN};
	return g;
}

static void add_digest(struct growing *g, const char *hex)
{
	unsigned char part[DIGEST_BYTES];
	if (!*hex || !hex_decode(hex, part, sizeof(part)))
		return;
	unsigned carry = 0;
	for (int i = DIGEST_BYTES - 1; i >= 0; i--) {
		carry += (unsigned)g->data[i] + part[i];
		g->data[i] = (unsigned char)carry;
		carry >>= 8;
	}
	g->has_data = true;
}

static void add_number(struct opt_number *sum, struct opt_number term)
{
	if (term.has)
		*sum = (struct opt_number){true, (sum->has ? sum->value : 0) + term.value};
}

static void keep_larger(struct opt_number *largest, struct opt_number value)
{
	if (value.has && (!largest->has || value.value > largest->value))
		*largest = value;
}

static void set_failure(struct receipt *r, enum failure_class failure, const char *evidence)
{
	if (r->failure != FAILURE_NONE)
		return;
	r->failure = failure;
	r->failure_evidence = evidence;
	r->failure_source = "event";
}

static void keep_rank_0(struct receipt_builder *b, struct growing *g, const struct event *e, double arrived_s)
{
	struct receipt_update *u = &g->update;
	g->arrived_s = arrived_s;
	u->loss = e->loss;
	u->grad_norm = e->grad_norm;
	u->lr = e->lr;
	u->opt_step = e->opt_step;
	u->step_s = e->step_s;
	u->seq_len = e->seq_len.has ? e->seq_len : b->receipt->reported_seq_len;
	if (e->loss.has && !isfinite(e->loss.value))
		set_failure(b->receipt, FAILURE_NAN,
			arena_printf(&b->receipt->arena, "update %d: loss is %s", e->update,
				isnan(e->loss.value) ? "nan" : "infinite"));
}

static bool add_update(struct receipt_builder *b, const struct event *e, double arrived_s)
{
	if (b->ends >= b->world || (b->any_start && e->rank >= b->world))
		return false;
	struct rank_state *rank = rank_of(b, e->rank);
	if (e->update <= rank->last_update)
		return false;
	struct growing *g = growing_of(b, e->update);
	if (!g)
		return false;
	rank->last_update = e->update;
	if (e->rank == 0)
		keep_rank_0(b, g, e, arrived_s);
	add_number(&g->update.tokens, e->tokens);
	add_digest(g, e->data);
	keep_larger(&g->update.mem_bytes, e->mem_bytes);
	keep_larger(&b->receipt->peak_reported_bytes, e->mem_bytes);
	return true;
}

static void add_phases(struct phase_sums *sums, const struct event *e)
{
	for (int p = 0; p < N_PHASES; p++) {
		if (e->phase_s[p].has) {
			sums->sum[p] += e->phase_s[p].value;
			sums->count[p]++;
		}
	}
}

static bool add_phase(struct receipt_builder *b, const struct event *e)
{
	if (b->ends >= b->world)
		return false;
	add_phases(&b->all, e);
	if (e->update > b->receipt->terms.warmup && e->update <= b->receipt->terms.updates)
		add_phases(&b->window, e);
	return true;
}

static bool add_oom(struct receipt_builder *b, const struct event *e)
{
	struct receipt *r = b->receipt;
	if (r->oom_requested_bytes.has || r->oom_free_bytes.has)
		return false; /* the first one is the cause */
	r->oom_requested_bytes = e->requested_bytes;
	r->oom_free_bytes = e->free_bytes;
	r->oom_capacity_bytes = e->capacity_bytes;
	set_failure(r, FAILURE_OOM,
		arena_printf(&r->arena, "out of device memory: requested %.0f bytes, free %.0f bytes",
			e->requested_bytes.value, e->free_bytes.value));
	return true;
}

static bool add_end(struct receipt_builder *b, const struct event *e)
{
	struct receipt *r = b->receipt;
	if (b->ends >= b->world)
		return false;
	b->ends++;
	if (!r->end_seen || e->updates < r->end_updates)
		r->end_updates = e->updates;
	r->end_seen = true;
	return true;
}

static bool add_event(struct receipt_builder *b, const struct event *e, double arrived_s)
{
	switch (e->kind) {
	case EVENT_START:
		return b->ends == 0 && add_start(b, e, arrived_s);
	case EVENT_UPDATE:
		return add_update(b, e, arrived_s);
	case EVENT_PHASE:
		return add_phase(b, e);
	case EVENT_OOM:
		return add_oom(b, e);
	case EVENT_END:
		return add_end(b, e);
	}
	return false;
}

void receipt_builder_line(struct receipt_builder *b, const char *line, size_t length, double arrived_s)
{
	struct event e;
	if (event_parse(line, length, &e, NULL) != OK || !add_event(b, &e, arrived_s))
		b->receipt->bad_event_lines++;
}

static void finish_phases(struct receipt_builder *b)
{
	for (int p = 0; p < N_PHASES; p++) {
		const struct phase_sums *s = b->window.count[p] ? &b->window : &b->all;
		if (s->count[p])
			b->receipt->phase_s[p] = (struct opt_number){true, s->sum[p] / (double)s->count[p]};
	}
}

/* A harness that was held up reads several updates at once, and all but the first seem to take no time. They
 * share the interval equally: a sum over updates stays what it was, or, where it begins among them, gets its
 * part. When more than half arrive so, it is the job that holds them back; then the zeros stay, and tell. */
static void share_intervals(struct receipt_update *updates, size_t n)
{
	size_t together = 0;
	for (size_t i = 0; i < n; i++)
		together += updates[i].harness_s == 0;
	if (2 * together > n)
		return;
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && updates[end].harness_s == 0)
			end++;
		double share = updates[i].harness_s / (double)(end - i);
		for (size_t k = i; k < end && share > 0; k++)
			updates[k].harness_s = share;
	}
}

void receipt_builder_finish(struct receipt_builder *b, double end_s)
{
	struct receipt *r = b->receipt;
	double before_s = b->start_s;
	r->updates = arena_array(&r->arena, b->n_updates, sizeof(*r->updates));
	r->n_updates = b->n_updates;
	for (size_t i = 0; i < b->n_updates; i++) {
		struct growing *g = &b->updates[i];
		if (g->has_data)
			hex_encode(g->data, sizeof(g->data), g->update.data);
		if (isfinite(g->arrived_s)) {
			/* NAN where there was no start event to count from. */
			g->update.harness_s = g->arrived_s - before_s;
			before_s = g->arrived_s;
			if (isnan(r->startup_s))
				r->startup_s = g->arrived_s - b->spawn_s;
		}
		r->updates[i] = g->update;
	}
	share_intervals(r->updates, r->n_updates);
	r->nonce_echoed = b->any_start && b->nonces_right;
	r->wall_s = end_s - b->spawn_s;
	finish_phases(b);
	free(b->updates);
	free(b->ranks);
	free(b->nonce);
	free(b);
}
