/* Which step a record of the Trainer is of. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/reader_bar_int.h"
#include "adapter/reader_hf_int.h"

/* ---- bars ---- */

/* tqdm.write() shows the bar again behind the text that it wrote, with the count of that moment: where bars
 * are drawn less often than steps are made, only this drawing has the step of the record. */
static void correct_last_step(struct reader *reader, long done)
{
	struct hf_state *state = reader->state;
	struct log_step *step = done > state->last.step ? reader_last_step(reader) : NULL;
	if (!step || step->step != state->last.step)
		return;
	if (reader_correct_last_step(reader, done))
		state->last.step = done;
}

void hf_take_bar(struct reader *reader, const struct log_line *line, const struct progress_bar *bar)
{
	struct hf_state *state = reader->state;
	long total = state->total ? state->total : state->announced_total;
	if (total && bar->total != total)
		return;
	/* A bar that comes later than at once is that of a further step. */
	if (state->has_last && state->refresh_due && bar->elapsed_s - state->bar_elapsed_s <= 1.0)
		correct_last_step(reader, bar->done);
	state->refresh_due = false;
	if (state->has_bar && bar->total == state->bar_total && bar->done < state->bar_done &&
		state->has_last)
		state->last.step = MIN_OF(state->last.step, bar->done);
	state->bar_moves += bar->done > 0 && bar->done != state->bar_done;
	state->has_bar = true;
	state->bar_done = bar->done;
	state->bar_total = bar->total;
	state->bar_elapsed_s = bar->elapsed_s;
	state->bar_line = line->number;
}
/* ---- records ---- */

static long counting_step(const struct hf_state *state)
{
	return state->logging_steps ? state->logging_steps : 1;
}

static long next_number(struct hf_state *state, const struct field_set *set)
{
	long step;
	if (fields_step(set, &step))
		return step;
	if (!state->has_bar) {
		state->counted++;
		return step_sum(state->resumed_at, state->counted, counting_step(state));
	}
	if (!state->total)
		state->total = state->announced_total ? state->announced_total : state->bar_total;
	if (state->bar_done > 0 && (!state->has_last || state->bar_done > state->last.step))
		return state->bar_done;
	/* The bar has not moved since the last record: two streams have been merged late. */
	state->guessed++;
	return step_sum(state->has_last ? state->last.step : state->resumed_at, 1, counting_step(state));
}

/* Loggers print 4 decimals or 4 digits of a loss and 2 decimals of an epoch. */
static bool same_values(const struct hf_record *last, const struct field_set *set)
{
	struct opt_number loss = set->values[FIELD_LOSS], epoch = set->values[FIELD_EPOCH];
	if (last->epoch.has && epoch.has && !(fabs(last->epoch.value - epoch.value) <= 0.0051))
		return false;
	if (!last->loss.has || !loss.has)
		return false;
	if (isnan(last->loss.value) || isnan(loss.value))
		return isnan(last->loss.value) && isnan(loss.value);
	if (last->loss.value == loss.value)
		return true;
	return fabs(last->loss.value - loss.value) <= fmax(6e-5, 6e-4 * fabs(loss.value));
}

static void set_rate_scope(struct reader *reader, const struct field_set *set)
{
	if (set->values[FIELD_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
}

void hf_take_record(
	struct reader *reader, const struct log_line *line, const struct field_set *set, bool logged)
{
	struct hf_state *state = reader->state;
	state->n_records++;
	if (!state->has_last)
		state->source = line->source;
	if (line->source != state->source) {
		reader_flag(reader, LOG_DUPLICATE_STEPS);
		return;
	}
	set_rate_scope(reader, set);
	struct log_step *step;
	if (state->has_last && state->last.logged != logged && !state->last.merged &&
		same_values(&state->last, set) && (step = reader_last_step(reader)) != NULL) {
		fields_store(set, step);
		reader_flag(reader, LOG_DUPLICATE_STEPS);
		state->last.merged = true;
		return;
	}
	long number = next_number(state, set);
	state->last =
		(struct hf_record){number, set->values[FIELD_LOSS], set->values[FIELD_EPOCH], logged, false};
	state->has_last = true;
	state->refresh_due = state->has_bar && state->bar_line == line->number;
	fields_store(set, reader_step(reader, number, line));
}
void hf_drop_record(struct reader *reader, const struct log_line *line)
{
	struct hf_state *state = reader->state;
	struct field_set nothing = {0};
	if (line->unended || line->source != state->source)
		return;
	long number = next_number(state, &nothing);
	state->last = (struct hf_record){number, {false, NAN}, {false, NAN}, false, true};
	state->has_last = true;
	reader_damaged(reader, number);
}
/* ---- at the end ---- */

/* How many steps training had; 0 = the log does not say, or training did not run to its end. */
static long steps_of_training(const struct hf_state *state, const struct log_summary *facts)
{
	if (state->end_step)
		return state->end_step;
	if (!facts->completed.has || facts->completed.value != 1.0)
		return 0;
	return state->announced_total ? state->announced_total : state->total;
}

/* Counted steps are multiples of logging_steps, which the number of records tells where training ran to its
 * end. */
static void find_logging_steps(struct hf_state *state, const struct log_summary *facts)
{
	long n = (long)facts->n_steps, total = steps_of_training(state, facts) - state->resumed_at;
	if (!state->logging_steps && n > 0 && total > n && total % n == 0)
		state->logging_steps = total / n;
}

static void number_counted(struct reader *reader)
{
	struct hf_state *state = reader->state;
	struct log_summary *facts = reader->facts;
	long n = (long)facts->n_steps;
	/* Most records came while the bar stood still: their text was held back, and no bar is of a record.
	 */
	bool held_back = state->guessed * 2 >= n && state->guessed > 0;
	if (held_back) {
		find_logging_steps(state, facts);
		for (long i = 0; i < n; i++)
			facts->steps[i].step = step_sum(state->resumed_at, i + 1, counting_step(state));
	} else if (state->counted == n && !state->logging_steps) {
		find_logging_steps(state, facts);
		for (long i = 0; i < n; i++)
			facts->steps[i].step = step_sum(state->resumed_at,
				facts->steps[i].step - state->resumed_at, counting_step(state));
	}
}

/* The distance of records. The first may be an extra one (logging_first_step), and some may be lost. 0 = they
 * say none. */
static long record_distance(const struct log_summary *facts, const struct hf_state *state)
{
	size_t n = facts->n_steps;
	if (state->logging_steps || state->counted || n == 0)
		return n ? counting_step(state) : 0;
	if (n == 1)
		return facts->steps[0].step > 1 && !state->resumed_at ? facts->steps[0].step : 0;
	long distance = facts->steps[n - 1].step - facts->steps[n - 2].step;
	for (size_t i = 1; i < n; i++) {
		long apart = facts->steps[i].step - facts->steps[i - 1].step;
		distance = i > 1 || n == 2 ? MIN_OF(distance, apart) : distance;
	}
	for (size_t i = 2; i < n; i++)
		if (distance <= 0 || (facts->steps[i].step - facts->steps[i - 1].step) % distance != 0)
			return 0;
	return MAX_OF(distance, 0);
}

static bool is_even_so_far(const struct log_summary *facts, double per_step)
{
	for (size_t i = 1; i < facts->n_steps; i++) {
		const struct log_step *now = &facts->steps[i], *before = &facts->steps[i - 1];
		if (!now->tokens_seen.has || !before->tokens_seen.has)
			return false;
		double steps = (double)(now->step - before->step);
		if (now->tokens_seen.value - before->tokens_seen.value != per_step * steps)
			return false;
	}
	return true;
}

/* From the tokens seen, which grow by the same amount at every step where batches are of one size. */
static void find_tokens_per_update(struct log_summary *facts)
{
	if (facts->n_steps < 3 || !facts->steps[0].tokens_seen.has || !facts->steps[1].tokens_seen.has)
		return;
	const struct log_step *first = &facts->steps[0], *second = &facts->steps[1];
	double steps = (double)(second->step - first->step);
	if (steps <= 0.0)
		return;
	double per_step = (second->tokens_seen.value - first->tokens_seen.value) / steps;
	if (per_step > 0.0 && is_even_so_far(facts, per_step))
		fill_value(&facts->tokens_per_update, per_step);
}

void hf_finish(struct reader *reader)
{
	struct hf_state *state = reader->state;
	struct log_summary *facts = reader->facts;
	number_counted(reader);
	facts->step_inferred = state->counted > 0 || state->guessed > 0;
	long distance = record_distance(facts, state);
	if (distance > 0)
		facts->logging_steps = (struct opt_number){true, (double)distance};
	find_tokens_per_update(facts);
}
