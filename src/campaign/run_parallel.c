/* The search with several trials at once. One thread decides, registers and records; the executions work in
 * threads of their own (pool.h). What runs counts as a guess in each decision (search/pending.h). */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "campaign/budget.h"
#include "campaign/pool.h"
#include "campaign/run_int.h"

/* ------------------------------------------------------------- the reference, on all slots at once */

/* Two tell a slot's own mean from noise, pooled over the slots. */
enum { ROUNDS = 2, FAILED_ROUNDS_MAX = 1 };

static int least_runs(const struct search *run, const struct pool *pool)
{
	int least = ROUNDS;
	for (int i = 0; i < pool->n_workers; i++) {
		const struct slot_base *base =
			state_slot_base(&run->c->state, pool->workers[i].slot, pool->n_workers);
		least = MIN_OF(least, base ? base->runs : 0);
	}
	return least;
}

static enum err_code start_round(struct search *run, struct pool *pool, int round, struct err *reterr)
{
	struct candidate reference = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	enum err_code code = OK;
	strbuf_addf(&label, "reference on %d slots at once, round %d of %d", pool->n_workers, round, ROUNDS);
	struct progress p = {.kind = PROGRESS_STAGE, .text = label.buf};
	campaign_report_progress(run->c, &p);
	candidate_reference(&reference, &run->c->state.space);
	struct pool_order order = {.role = ROLE_REFERENCE, .candidate = &reference, .label = label.buf};
	for (int slot = 0; slot < pool->n_workers && code == OK; slot++)
		code = pool_start(pool, slot, &order, reterr);
	candidate_release(&reference);
	return code;
}

static enum err_code finish_round(struct search *run, struct pool *pool, struct err *reterr)
{
	bool interrupted = false;
	while (pool_busy(pool)) {
		struct pool_ended ended;
		TRY(pool_wait(pool, &ended, reterr));
		interrupted |= ended.end == EXECUTE_INTERRUPTED;
	}
	if (interrupted || campaign_stop_wanted(run->c))
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
	return OK;
}

static enum err_code round_failed(const struct search *run, struct err *reterr)
{
	static const char next[] = "next: give each slot to itself what the jobs share (a port, a file, "
				   "memory), or search without --parallel";
	const struct state *s = &run->c->state;
	for (size_t i = s->n_slot_runs; i-- > 0;) {
		const struct execution *r = &s->slot_runs[i];
		const struct verdict *v = &r->verdict;
		if (v->valid && r->has_time)
			continue;
		return err_set(reterr, ERR_FAILED,
			"the reference does not pass while another runs beside it (%s): %s (%s)\nlog: "
			"%s/%s\n%s",
			r->slot, v->primary >= 0 ? item_infos[v->primary].name : "no usable step times",
			v->primary >= 0 ? v->items[v->primary].reason : "", run->c->dir, r->log_path, next);
	}
	return err_set(reterr, ERR_FAILED,
		"the reference could not be run on all slots at once; see the notes above\n%s", next);
}

/* What earlier calls measured with the same slots is taken as it is. */
static enum err_code measure_slots(struct search *run, struct pool *pool, struct err *reterr)
{
	int failed = 0, have;
	while ((have = least_runs(run, pool)) < ROUNDS) {
		TRY(start_round(run, pool, have + 1, reterr));
		TRY(finish_round(run, pool, reterr));
		if (least_runs(run, pool) == have && ++failed > FAILED_ROUNDS_MAX)
			return round_failed(run, reterr);
	}
	return OK;
}

/* Gains are told against the slot's own reference, so that what slots do to each other cancels. Where they do
 * much, it does not cancel well (the last trials have fewer beside them), and promises little for a job that
 * will run alone. */
static enum err_code judge_slots(struct search *run, const struct pool *pool, struct err *reterr)
{
	const struct state *s = &run->c->state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	double worst_ln = 0, sigma_pair = 0;
	for (int i = 0; i < pool->n_workers; i++) {
		const struct slot_base *base = state_slot_base(s, pool->workers[i].slot, pool->n_workers);
		double slower_ln = log(base->mean_s / s->noise.mean_s);
		strbuf_addf(&text, "%s%+.1f%% on %s", i ? ", " : "", 100 * expm1(slower_ln), base->slot);
		worst_ln = fmax(worst_ln, slower_ln);
		sigma_pair = fmax(sigma_pair, base->sigma_pair);
	}
	bool is_slow = worst_ln > s->noise.gate, is_noisy = sigma_pair > NOISY_SIGMA_PAIR;
	if ((is_slow || is_noisy) && !run->options->accept_noise)
		return err_set(reterr, ERR_STATE,
			"%d at once disturb each other: the reference's time against alone is %s, "
			"sigma_pair %.1f%% (alone %.1f%%)\n"
			"next: search without --parallel, with slots that share less, or go on with "
			"--accept-noise; where slots were declared after doctor:  infrarsi doctor --new",
			pool->n_workers, text.buf, 100 * sigma_pair, 100 * s->noise.sigma_pair);
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	strbuf_addf(&line, "%d at once: the reference's time against alone is %s, sigma_pair %.1f%%",
		pool->n_workers, text.buf, 100 * sigma_pair);
	search_note(run->c, line.buf);
	return OK;
}

/* ------------------------------------------------------------- the trials */

struct over { /* nothing more to start, as things stand */
	enum search_over_why why;
	struct strbuf text;
};

static enum err_code start_trial(
	struct search *run, struct pool *pool, int64_t decision_id, struct err *reterr)
{
	struct candidate candidate = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	int number = 0, slot = pool_free_slot(pool);
	enum err_code code = search_register(run, decision_id, &candidate, &number, reterr);
	if (code == OK) {
		search_label(run, &candidate, run->c->state.n_counted + pool_busy(pool) + 1, &label);
		struct pool_order order = {
			.role = ROLE_SEARCH, .trial = number, .candidate = &candidate, .label = label.buf};
		code = pool_start(pool, slot, &order, reterr);
	}
	candidate_release(&candidate);
	TRY(code);
	strbuf_addf(&line, "trial %d begins on %s: %s", number, pool->workers[slot].slot, label.buf);
	struct progress p = {.kind = PROGRESS_STAGE, .text = line.buf};
	search_fill_progress(run, &p);
	pool_fill_progress(pool, &p);
	campaign_report_progress(run->c, &p);
	return OK;
}

static bool may_start(const struct search *run, const struct pool *pool)
{
	return pool_free_slot(pool) >= 0 && !campaign_stop_wanted(run->c) &&
	       run->c->state.n_counted + pool_busy(pool) < run->budget;
}

/* Fills the free slots. What ends the search now may not do so once those that run have ended. */
static enum err_code start_trials(
	struct search *run, struct pool *pool, struct over *ret_over, struct err *reterr)
{
	strbuf_clear(&ret_over->text);
	ret_over->why = SEARCH_OVER_NONE;
	while (may_start(run, pool)) {
		int64_t decision_id = 0;
		ret_over->why = budget_ends_search(run->c, &ret_over->text);
		if (ret_over->why == SEARCH_OVER_NONE)
			TRY(search_consult(run, reterr));
		if (ret_over->why == SEARCH_OVER_NONE)
			TRY(search_decide(run, &decision_id, &ret_over->why, &ret_over->text, reterr));
		if (!decision_id)
			return OK;
		TRY(start_trial(run, pool, decision_id, reterr));
	}
	return OK;
}

/* Of those that the user stopped, all are waited for. */
static enum err_code take_end(struct search *run, struct pool *pool, struct err *reterr)
{
	struct pool_ended ended;
	TRY(pool_wait(pool, &ended, reterr));
	if (!campaign_stop_wanted(run->c))
		return search_take_end(run, ended.trial, ended.end, reterr);
	search_report_trial(run, ended.trial);
	return OK;
}

static enum err_code run_trials(struct search *run, struct pool *pool, struct over *over, struct err *reterr)
{
	for (;;) {
		TRY(start_trials(run, pool, over, reterr));
		if (!pool_busy(pool))
			break;
		TRY(take_end(run, pool, reterr));
	}
	if (campaign_stop_wanted(run->c))
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
	return over->why == SEARCH_OVER_NONE ? OK : search_end(run, over->why, over->text.buf, reterr);
}

enum err_code search_run_parallel(struct search *run, struct err *reterr)
{
	struct pool pool;
	struct over over = {SEARCH_OVER_NONE, STRBUF_INIT};
	if (run->c->state.n_counted >= run->budget)
		return OK;
	over.why = budget_ends_search(run->c, &over.text);
	if (over.why != SEARCH_OVER_NONE) {
		enum err_code ended = search_end(run, over.why, over.text.buf, reterr);
		strbuf_release(&over.text);
		return ended;
	}
	TRY(pool_init(&pool, run->c, run->options->parallel, reterr));
	enum err_code code = measure_slots(run, &pool, reterr);
	if (code == OK)
		code = judge_slots(run, &pool, reterr);
	if (code == OK)
		code = run_trials(run, &pool, &over, reterr);
	pool_release(&pool);
	strbuf_release(&over.text);
	return code;
}
