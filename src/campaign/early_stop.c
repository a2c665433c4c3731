#include "base/base.h"

#include <math.h>

#include "campaign/early_stop.h"
#include "campaign/slots.h"

enum err_code early_stop_begin(const struct campaign *c, const struct execute_request *request,
	struct early_stop_watch *ret_watch, struct err *reterr)
{
	const struct state *s = &c->state;
	struct early_stop_watch watch = {
		.warmup = c->task.contract.warmup, .updates = c->task.contract.updates};
	struct early_stop_terms terms;
	*ret_watch = watch;
	if (!c->early_stop || request->role != ROLE_SEARCH || !s->has_noise)
		return OK;
	struct arena arena = ARENA_INIT;
	const char *slot =
		request->at_once > 1 ? slot_text(&c->task.launch.slots[request->slot], &arena) : "";
	enum err_code code = state_early_stop_terms(s, slot, request->at_once, &terms, reterr);
	arena_release(&arena);
	TRY(code);
	early_stop_init(&watch.test, &terms);
	watch.on = true;
	*ret_watch = watch;
	return OK;
}

/* The last update is never waited for: stopping there would save nothing and cost the verdict. A number that
 * is left out leaves an interval without a length. */
bool early_stop_update(struct early_stop_watch *watch, int update, double arrived_s)
{
	if (!watch->on)
		return false;
	bool follows = update == watch->last_update + 1;
	double step_s = follows ? arrived_s - watch->last_arrived_s : NAN;
	bool is_first = watch->last_update == 0;
	watch->last_update = update;
	watch->last_arrived_s = arrived_s;
	if (update <= watch->warmup || is_first)
		return false;
	bool slow = early_stop_add(&watch->test, step_s) && update < watch->updates;
	watch->stopped |= slow;
	return slow;
}

void early_stop_fill(const struct early_stop_watch *watch, struct receipt *r)
{
	if (!watch->stopped)
		return;
	double slower_ln = early_stop_slower_ln(&watch->test);
	r->failure = FAILURE_STOPPED_SLOW;
	r->failure_evidence = arena_printf(&r->arena, "%.4g against %.4g s an update",
		watch->test.terms.incumbent_s * exp(slower_ln), watch->test.terms.incumbent_s);
	r->failure_source = "harness";
}

void early_stop_end(struct early_stop_watch *watch)
{
	early_stop_release(&watch->test);
}
