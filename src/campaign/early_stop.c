#include "base/base.h"

#include <math.h>

#include "campaign/early_stop.h"
#include "campaign/slots.h"

enum err_code early_stop_begin(const struct campaign *c, const struct execute_request *request,
	struct early_stop_watch *ret_watch, struct err *reterr)
{
	const struct state *s = &c->state;
	const struct contract *contract = &c->task.contract;
	struct early_stop_watch watch = {.warmup = contract->warmup, .updates = contract->updates};
	struct early_stop_terms terms;
	*ret_watch = watch;
	if (request->role != ROLE_SEARCH || !s->has_noise)
		return OK;
	struct arena arena = ARENA_INIT;
	const char *slot =
		request->at_once > 1 ? slot_text(&c->task.launch.slots[request->slot], &arena) : "";
	const struct execution conditions = {.at_once = request->at_once, .slot = slot};
	watch.far = (struct far_slower){.reference_s = state_reference_s(s, &conditions),
		.factor = c->task.give_up_at,
		.updates = contract->updates};
	enum err_code code =
		c->early_stop ? state_early_stop_terms(s, slot, request->at_once, &terms, reterr) : OK;
	arena_release(&arena);
	TRY(code);
	watch.on = c->early_stop;
	if (watch.on)
		early_stop_init(&watch.test, &terms);
	*ret_watch = watch;
	return OK;
}

/* The last update is never waited for: stopping there would save nothing and cost the verdict. A number that
 * is left out leaves an interval without a length. */
static bool is_behind_the_best(struct early_stop_watch *watch, int update, double arrived_s)
{
	bool follows = update == watch->last_update + 1;
	double step_s = follows ? arrived_s - watch->last_arrived_s : NAN;
	bool is_first = watch->last_update == 0;
	watch->last_update = update;
	watch->last_arrived_s = arrived_s;
	if (!watch->on || update <= watch->warmup || is_first)
		return false;
	return early_stop_add(&watch->test, step_s) && update < watch->updates;
}

bool early_stop_update(struct early_stop_watch *watch, int update, double arrived_s)
{
	if (watch->stopped)
		return true; /* what comes afterwards changes nothing */
	watch->is_far = far_slower_update(&watch->far, update, arrived_s);
	watch->stopped = is_behind_the_best(watch, update, arrived_s) || watch->is_far;
	watch->stopped_s = arrived_s;
	return watch->stopped;
}

void early_stop_fill(const struct early_stop_watch *watch, struct receipt *r)
{
	if (!watch->stopped)
		return;
	r->failure = FAILURE_STOPPED_SLOW;
	r->failure_source = "harness";
	if (watch->is_far)
		r->failure_evidence = arena_printf(&r->arena,
			"%.4g against %.4g s an update of the reference, more than %.4g times",
			watch->far.slow_s, watch->far.reference_s, watch->far.factor);
	else
		r->failure_evidence =
			arena_printf(&r->arena, "%.4g against %.4g s an update of the best so far",
				watch->test.terms.incumbent_s * exp(early_stop_slower_ln(&watch->test)),
				watch->test.terms.incumbent_s);
}

void early_stop_end(struct early_stop_watch *watch)
{
	early_stop_release(&watch->test);
}
