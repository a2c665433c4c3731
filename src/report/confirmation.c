/* What became of a winner over more updates. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "report/report_int.h"
#include "spec/task.h"

static void add_measured(const struct confirmation *c, struct strbuf *text)
{
	if (isfinite(c->gain_ln))
		strbuf_addf(text, "%.2fx (95%% interval %.2f to %.2f)", exp(c->gain_ln), exp(c->low_ln),
			exp(c->high_ln));
}

static void add_refusal(const struct duel *d, review_fn add, struct strbuf *text)
{
	const struct confirmation *c = &d->confirmation;
	const struct verdict *v = &c->candidate.verdict;
	strbuf_addf(text, "Not delivered: trial %d over %d updates: ", d->trial, c->updates);
	if (!v->valid && v->primary >= 0)
		strbuf_addf(text, "%s (", item_infos[v->primary].name);
	else if (isfinite(c->gain_ln)) {
		add_measured(c, text);
		strbuf_addstr(text, " (");
	}
	add(text, c->reason);
	strbuf_addstr(text, (!v->valid && v->primary >= 0) || isfinite(c->gain_ln) ? ")" : "");
	if (v->valid && v->n_reviews)
		strbuf_addf(
			text, "; look at it, then  infrarsi audit --accept %d  and  infrarsi run", d->trial);
	strbuf_addch(text, '\n');
}

void add_confirmation(const struct state *s, const struct duel *d, review_fn add, struct strbuf *text)
{
	const struct confirmation *c = &d->confirmation;
	switch (c->outcome) {
	case CONFIRMATION_HELD:
		strbuf_addf(text, "Confirmed over %d updates: ", c->updates);
		add_measured(c, text);
		strbuf_addf(text, "; %.2fx in the duel over %d.\n", exp(d->result.gain_ln),
			s->task->contract.updates);
		break;
	case CONFIRMATION_SMALLER:
		strbuf_addf(text, "Less over %d updates: ", c->updates);
		add_measured(c, text);
		strbuf_addf(text, ", where the duel over %d measured %.2fx. The smaller counts.\n",
			s->task->contract.updates, exp(d->result.gain_ln));
		break;
	case CONFIRMATION_REFUSED:
		add_refusal(d, add, text);
		break;
	case CONFIRMATION_IMPOSSIBLE:
		strbuf_addf(text, "Not confirmed over %d updates: ", c->updates);
		add(text, c->reason);
		strbuf_addstr(text, ".\n");
		break;
	case CONFIRMATION_NONE:
	case N_CONFIRMATION_OUTCOMES:
		break;
	}
}

json_t *confirmation_json(const struct duel *d)
{
	const struct confirmation *c = &d->confirmation;
	json_t *json = json_object(), *interval = json_array();
	json_array_append_new(interval, json_from_number(exp(c->low_ln)));
	json_array_append_new(interval, json_from_number(exp(c->high_ln)));
	json_object_set_new(json, "trial", json_integer(d->trial));
	json_object_set_new(json, "updates", json_integer(c->updates));
	json_object_set_new(json, "outcome", json_string(confirmation_names[c->outcome]));
	json_object_set_new(json, "speedup", json_from_number(exp(c->gain_ln)));
	json_object_set_new(json, "interval", interval);
	json_object_set_new(json, "duel_speedup", json_from_number(exp(d->result.gain_ln)));
	json_object_set_new(json, "reason", *c->reason ? json_from_text(c->reason) : json_null());
	return json;
}
