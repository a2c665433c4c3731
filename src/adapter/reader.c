/* What readers call: steps by number, evidence, flags. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/scan_int.h"
#include "base/memory.h"

enum {
	/* Ranks that print side by side are at most this many steps apart; a number that is further back
	 * belongs to a job that began again. */
	MAX_STEPS_APART = 1,
	RECOGNISED_TEXT_SIZE = 100,
};

/* Beside each step: which writer it is from and in which run of the job. */
struct step_mark {
	uint32_t source;
	int run;
	bool dropped;
};

/* Open addressing over the step numbers; a slot holds position + 1. */
struct step_index {
	uint32_t *slots;
	size_t n_slots; /* a power of two */
	size_t n_used;  /* a number that was corrected leaves its slot behind */
	struct step_mark *marks;
	size_t steps_capacity, marks_capacity, damaged_capacity;
	long largest; /* number; what is above is not known yet */
	int run;
	int launch; /* the scan's count of launches at the last step */
	struct log_step scratch;
};

/* In few allocations: a scan of a short log is mostly their making. */
struct reader_memory {
	struct log_summary *facts;
	struct step_index *indexes;
	char *states;
};

static size_t aligned(size_t size)
{
	enum { ALIGNMENT = 16 };
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void readers_init(struct log_scan *scan)
{
	struct reader_memory *memory = xcalloc(1, sizeof(*memory));
	size_t size = 0, at = 0;
	while (readers[scan->n_readers] && scan->n_readers < LOG_MAX_READERS)
		size += aligned(readers[scan->n_readers++]->state_size);
	memory->states = xcalloc(1, size + 1);
	memory->facts = xcalloc(scan->n_readers, sizeof(*memory->facts));
	memory->indexes = xcalloc(scan->n_readers, sizeof(*memory->indexes));
	scan->memory = memory;
	for (size_t i = 0; i < scan->n_readers; i++) {
		scan->readers[i] = (struct reader){.ops = readers[i],
			.state = memory->states + at,
			.facts = &memory->facts[i],
			.scan = scan,
			.index = &memory->indexes[i],
			.last_step = -1};
		memory->facts[i].framework = readers[i]->name;
		at += aligned(readers[i]->state_size);
	}
}

void readers_release(struct log_scan *scan)
{
	for (size_t i = 0; i < scan->n_readers; i++) {
		struct reader *reader = &scan->readers[i];
		free(reader->index->slots);
		free(reader->index->marks);
		if (reader->facts)
			log_summary_release(reader->facts);
	}
	free(scan->memory->states);
	free(scan->memory->facts);
	free(scan->memory->indexes);
	free(scan->memory);
}

static size_t slot_of(const struct step_index *index, const struct log_step *steps, long step)
{
	uint64_t hash = (uint64_t)step * 0x9E3779B97F4A7C15u;
	size_t mask = index->n_slots - 1, at = (size_t)(hash >> 40) & mask;
	while (index->slots[at] && steps[index->slots[at] - 1].step != step)
		at = (at + 1) & mask;
	return at;
}

static void grow_index(struct reader *reader)
{
	struct step_index *index = reader->index;
	if (index->n_slots >= 2 * (index->n_used + 1))
		return;
	free(index->slots);
	index->n_slots = MAX_OF(index->n_slots * 2, (size_t)64);
	index->n_used = reader->facts->n_steps;
	index->slots = xcalloc(index->n_slots, sizeof(*index->slots));
	for (size_t i = 0; i < reader->facts->n_steps; i++)
		index->slots[slot_of(index, reader->facts->steps, reader->facts->steps[i].step)] =
			(uint32_t)i + 1;
}

/* Position of a step; -1 = not known. */
static long find_step(const struct reader *reader, long step)
{
	const struct step_index *index = reader->index;
	const struct log_summary *facts = reader->facts;
	if (reader->last_step >= 0 && facts->steps[reader->last_step].step == step)
		return reader->last_step;
	if (step > index->largest)
		return -1;
	return index->n_slots ? (long)index->slots[slot_of(index, facts->steps, step)] - 1 : -1;
}

struct log_step *reader_find_step(struct reader *reader, long step)
{
	long at = find_step(reader, step);
	return at >= 0 && !reader->index->marks[at].dropped ? &reader->facts->steps[at] : NULL;
}

static void empty_step(struct log_step *s, long step, const struct log_line *line)
{
	memset(s, 0, sizeof(*s));
	s->step = step;
	s->line = line->number;
}

static struct log_step *add_step(struct reader *reader, long step, const struct log_line *line)
{
	struct step_index *index = reader->index;
	struct log_summary *facts = reader->facts;
	if (facts->n_steps >= LOG_MAX_STEPS) {
		facts->steps_dropped++;
		empty_step(&index->scratch, step, line);
		return &index->scratch;
	}
	grow_index(reader);
	grow_array(&facts->steps, &index->steps_capacity, facts->n_steps + 1, sizeof(*facts->steps));
	grow_array(&index->marks, &index->marks_capacity, facts->n_steps + 1, sizeof(*index->marks));
	index->marks[facts->n_steps] = (struct step_mark){line->source, index->run, false};
	empty_step(&facts->steps[facts->n_steps], step, line);
	reader->last_step = (long)facts->n_steps;
	index->slots[slot_of(index, facts->steps, step)] = (uint32_t)++facts->n_steps;
	index->n_used++;
	index->largest = MAX_OF(index->largest, step);
	return &facts->steps[facts->n_steps - 1];
}

bool reader_correct_last_step(struct reader *reader, long step)
{
	struct step_index *index = reader->index;
	if (!reader_last_step(reader) || find_step(reader, step) >= 0)
		return false;
	reader->facts->steps[reader->last_step].step = step;
	grow_index(reader);
	uint32_t *slot = &index->slots[slot_of(index, reader->facts->steps, step)];
	index->n_used += !*slot;
	*slot = (uint32_t)reader->last_step + 1;
	index->largest = MAX_OF(index->largest, step);
	return true;
}

/* True where a number that does not go up is the same job's beginning again, not another rank's copy. */
static bool begins_again(const struct reader *reader, long at, long step, const struct log_line *line)
{
	const struct step_index *index = reader->index;
	if (reader->last_step < 0)
		return false;
	const struct step_mark *last = &index->marks[reader->last_step];
	if (step >= reader->facts->steps[reader->last_step].step)
		return false;
	if (at >= 0 && index->marks[at].run < index->run)
		return false; /* it has begun already: this is where the earlier run had gone further */
	if (line->source && line->source == last->source)
		return true;
	if (line->source && last->source && at >= 0 && line->source != index->marks[at].source)
		return false;
	return at < 0 || reader->last_step - at > MAX_STEPS_APART;
}

/* The launcher said so since the last step; where the job goes on is of no matter. */
static bool launched_again(const struct reader *reader)
{
	return reader->last_step >= 0 && reader->index->launch != reader->scan->launch;
}

struct log_step *reader_step(struct reader *reader, long step, const struct log_line *line)
{
	struct step_index *index = reader->index;
	reader->touched = true;
	long at = find_step(reader, step);
	if (begins_again(reader, at, step, line) || launched_again(reader)) {
		index->run++;
		reader_flag(reader, LOG_RESTARTED);
	}
	index->launch = reader->scan->launch;
	if (at < 0)
		return add_step(reader, step, line);
	struct log_step *s = &reader->facts->steps[at];
	struct step_mark *mark = &index->marks[at];
	reader->last_step = at;
	if (mark->run < index->run || mark->dropped) {
		reader->n_dropped -= mark->dropped;
		*mark = (struct step_mark){line->source, index->run, false};
		empty_step(s, step, line);
	} else {
		reader_flag(reader, LOG_DUPLICATE_STEPS);
	}
	return s;
}

struct log_step *reader_add_to_step(struct reader *reader, long step, const struct log_line *line)
{
	struct log_step *known = reader_find_step(reader, step);
	if (!known)
		return reader_step(reader, step, line);
	reader->touched = true;
	reader->last_step = known - reader->facts->steps;
	return known;
}

struct log_step *reader_last_step(struct reader *reader)
{
	if (reader->last_step < 0 || reader->index->marks[reader->last_step].dropped)
		return NULL;
	reader->touched = true;
	return &reader->facts->steps[reader->last_step];
}

void reader_recognise(struct reader *reader, unsigned weight)
{
	struct log_summary *facts = reader->facts;
	const struct log_line *line = reader->scan->line;
	if (line && (!facts->recognised_line ||
			    (weight >= READER_CERTAIN && reader->evidence < READER_CERTAIN))) {
		facts->recognised_line = line->number;
		facts->recognised_text = arena_strndup(
			&facts->arena, line->text, MIN_OF(line->length, (size_t)RECOGNISED_TEXT_SIZE));
	}
	reader->evidence += weight;
}

void reader_flag(struct reader *reader, enum log_flag flag)
{
	reader->facts->flags |= 1u << flag;
}

void reader_launched_again(struct reader *reader)
{
	reader->scan->launch++;
}

void reader_completed(struct reader *reader, bool completed)
{
	reader->facts->completed = (struct opt_number){true, completed ? 1.0 : 0.0};
}

static void drop(struct reader *reader, long at)
{
	reader->n_dropped += !reader->index->marks[at].dropped;
	reader->index->marks[at].dropped = true;
}

void reader_damaged(struct reader *reader, long step)
{
	struct log_summary *facts = reader->facts;
	reader_flag(reader, LOG_TORN_RECORD);
	for (size_t i = 0; i < facts->n_damaged_steps; i++)
		if (facts->damaged_steps[i] == step)
			return;
	if (facts->n_damaged_steps >= LOG_MAX_DAMAGED)
		return;
	grow_array(&facts->damaged_steps, &reader->index->damaged_capacity, facts->n_damaged_steps + 1,
		sizeof(*facts->damaged_steps));
	facts->damaged_steps[facts->n_damaged_steps++] = step;
}

void reader_drop_step(struct reader *reader, long step)
{
	long at = find_step(reader, step);
	if (at >= 0)
		drop(reader, at);
	reader_damaged(reader, step);
}

void reader_peak_memory(struct reader *reader, double bytes, const char *kind)
{
	struct log_summary *facts = reader->facts;
	if (!isfinite(bytes) || (facts->peak_mem_bytes.has && bytes <= facts->peak_mem_bytes.value))
		return;
	facts->peak_mem_bytes = (struct opt_number){true, bytes};
	facts->peak_mem_kind = kind;
}

static int by_step(const void *left, const void *right)
{
	const struct log_step *a = left, *b = right;
	return (a->step > b->step) - (a->step < b->step);
}

static bool is_ascending(const struct log_step *steps, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (steps[i - 1].step > steps[i].step)
			return false;
	return true;
}

static int by_value(const void *left, const void *right)
{
	const long *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* A step that another rank printed whole is not damaged. */
static void settle_damaged(struct reader *reader)
{
	struct log_summary *facts = reader->facts;
	size_t n = 0;
	for (size_t i = 0; i < facts->n_damaged_steps; i++)
		if (!reader_find_step(reader, facts->damaged_steps[i]))
			facts->damaged_steps[n++] = facts->damaged_steps[i];
	facts->n_damaged_steps = n;
	if (n)
		qsort(facts->damaged_steps, n, sizeof(*facts->damaged_steps), by_value);
}

void reader_settle(struct reader *reader)
{
	struct log_summary *facts = reader->facts;
	struct step_index *index = reader->index;
	size_t n = 0;
	settle_damaged(reader);
	for (size_t i = 0; i < facts->n_steps; i++)
		if (!index->marks[i].dropped)
			facts->steps[n++] = facts->steps[i];
	facts->n_steps = n;
	reader->n_dropped = 0;
	reader->last_step = -1;
	if (n && !is_ascending(facts->steps, n))
		qsort(facts->steps, n, sizeof(*facts->steps), by_step);
	free(index->slots);
	free(index->marks);
	index->slots = NULL;
	index->marks = NULL;
	index->n_slots = index->marks_capacity = 0;
}
