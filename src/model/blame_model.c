/*
 * Rule R4: which small sets of settings make runs fail. Hypotheses are singles, pairs and, only for a failure
 * that no single or pair explains, triples. A passing run exonerates every subset it contains. Each failure,
 * in order, divides the weight of its surviving hypotheses by the probability that at least one of them is
 * true: the exact marginal update of independent causes, in which one cause explains the others away.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/blame_hints.h"
#include "model/columns.h"
#include "model/evidence.h"
#include "model/failure_field.h"
#include "model/models.h"

static const double q_patch = 0.15, q_pair = 0.003, q_pair_with_default = 0.0015, q_triple = 2e-4;
static const double q_cap = 0.995, q_single_cap = 0.9, q_ignored = 0.004;
static const double prior_failures = 1, prior_settings = 1 / 0.03; /* p1 = 0.03 before anything ran */
enum { MAX_SUSPECTS = 120 };                                       /* hypotheses kept of one failure */

struct blame_model {
	const struct model_input *in;
	struct failure_field *field; /* NULL unless most knobs are numbers */
	struct columns columns;
	size_t n_words;
	uint64_t *passed;          /* n_ids x n_words: bit of each passing run that contains the setting */
	bool *transient;           /* n_observations */
	double p_single;           /* p1 */
	struct suspicion *suspect; /* every hypothesis of every failure */
	size_t n_suspects, suspect_capacity;
	struct hint_record hints;
	int *slot; /* open addressing: index into suspect + 1, 0 = free; a power of two */
	size_t n_slots;
	struct suspicion *ranked; /* the same, strongest first */
	bool *has_own;            /* n_columns: a single hypothesis of that setting exists */
	int *bucket;              /* n_columns + 1: where each column's suspects begin in by_column */
	int *by_column; /* indices of suspects worth scoring, under their first non-reference setting */
};

/* ------------------------------------------------------------- what passed */

/* Where nothing is known about capacity, out of memory is a failure like any other. */
static bool is_failure(const struct model_input *in, const struct observation *o)
{
	if (o->status == OBSERVED_OOM)
		return !isfinite(fmin(in->capacity_bytes, in->memory_cap_bytes));
	return o->status != OBSERVED_OK;
}

static const uint64_t *passes_of(const struct blame_model *m, int lever, int setting)
{
	return m->passed + (size_t)columns_id(&m->columns, lever, setting) * m->n_words;
}

static void record_passes(struct blame_model *m)
{
	const struct model_input *in = m->in;
	size_t n_passes = 0;
	for (size_t i = 0; i < in->n_observations; i++) {
		if (in->observations[i].status != OBSERVED_OK)
			continue;
		for (int l = 0; l < in->n_levers; l++) {
			int id = columns_id(&m->columns, l, in->observations[i].setting[l]);
			m->passed[(size_t)id * m->n_words + n_passes / 64] |= UINT64_C(1) << n_passes % 64;
		}
		n_passes++;
	}
}

static bool has_passed(const struct blame_model *m, int lever, int setting)
{
	const uint64_t *a = passes_of(m, lever, setting);
	for (size_t w = 0; w < m->n_words; w++)
		if (a[w])
			return true;
	return false;
}

static bool has_passed_together(const struct blame_model *m, const struct suspicion *h)
{
	for (size_t w = 0; w < m->n_words; w++) {
		uint64_t all = ~UINT64_C(0);
		for (int i = 0; i < h->n; i++)
			all &= passes_of(m, h->lever[i], h->setting[i])[w];
		if (all)
			return true;
	}
	return false;
}

/* p1 = (1 + Fc) / (1/0.03 + E + Fc): knob settings exonerated, failures without an unverified patch. */
static double single_prior(const struct blame_model *m)
{
	const struct columns *c = &m->columns;
	double exonerated = 0, failures = 0;
	for (int j = 0; j < c->n_columns; j++)
		exonerated += !c->levers[c->lever[j]].is_patch && has_passed(m, c->lever[j], c->setting[j]);
	for (size_t i = 0; i < m->in->n_observations; i++) {
		const struct observation *o = &m->in->observations[i];
		if (!is_failure(m->in, o))
			continue;
		bool unverified_patch = false;
		for (int l = 0; l < c->n_levers; l++)
			unverified_patch |= c->levers[l].is_patch &&
					    o->setting[l] != c->levers[l].reference &&
					    !has_passed(m, l, o->setting[l]);
		failures += !unverified_patch;
	}
	return (prior_failures + failures) / (prior_settings + exonerated + failures);
}

/* ------------------------------------------------------------- hypotheses */

static bool is_default(const struct blame_model *m, int lever, int setting)
{
	return setting == m->columns.levers[lever].reference;
}

static double prior_of(const struct blame_model *m, const struct suspicion *h)
{
	bool patch = false, with_default = false;
	for (int i = 0; i < h->n; i++) {
		bool at_default = is_default(m, h->lever[i], h->setting[i]);
		patch |= m->columns.levers[h->lever[i]].is_patch && !at_default;
		with_default |= at_default;
	}
	switch (h->n) {
	case 1:
		return patch ? q_patch : m->p_single;
	case 2:
		return (with_default ? q_pair_with_default : q_pair) * (patch ? 0.5 : 1);
	default:
		return q_triple;
	}
}

static uint64_t key_of(const struct blame_model *m, const struct suspicion *h)
{
	uint64_t key = 0;
	for (int i = 0; i < h->n; i++)
		key = key << 21 | (uint64_t)(columns_id(&m->columns, h->lever[i], h->setting[i]) + 1);
	return key;
}

static size_t slot_of(const struct blame_model *m, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (m->n_slots - 1);
	while (m->slot[i] && key_of(m, &m->suspect[m->slot[i] - 1]) != key)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

static void rehash(struct blame_model *m, size_t n_slots)
{
	free(m->slot);
	m->n_slots = n_slots;
	m->slot = xcalloc(n_slots, sizeof(*m->slot));
	for (size_t i = 0; i < m->n_suspects; i++)
		m->slot[slot_of(m, key_of(m, &m->suspect[i]))] = (int)i + 1;
}

static int remember(struct blame_model *m, const struct suspicion *h)
{
	if (2 * (m->n_suspects + 1) > m->n_slots)
		rehash(m, MAX_OF(2 * m->n_slots, (size_t)256));
	size_t i = slot_of(m, key_of(m, h));
	if (!m->slot[i]) {
		grow_array(&m->suspect, &m->suspect_capacity, m->n_suspects + 1, sizeof(*m->suspect));
		m->suspect[m->n_suspects++] = *h;
		m->slot[i] = (int)m->n_suspects;
	}
	return m->slot[i] - 1;
}

/* ------------------------------------------------------------- one failure */

struct failure {
	const struct observation *observation;
	int *lever;    /* levers, those that left the reference first, each part in lever order */
	int n_changed; /* how many of them left the reference */
	struct suspicion *survivor;
	size_t n, capacity;
	bool *named; /* levers that its text names; n_levers */
	struct hint *hint;
	size_t n_hints, hint_capacity;
};

/* A survivor with its present weight: what earlier failures made of it, else its prior. */
static void add_survivor(struct blame_model *m, struct failure *f, struct suspicion h)
{
	if (has_passed_together(m, &h))
		return;
	h.q = prior_of(m, &h);
	if (m->n_slots) {
		int known = m->slot[slot_of(m, key_of(m, &h))];
		if (known)
			h = m->suspect[known - 1];
	}
	grow_array(&f->survivor, &f->capacity, f->n + 1, sizeof(*f->survivor));
	f->survivor[f->n++] = h;
}

static struct suspicion subset(const struct failure *f, int n, int i, int j, int k)
{
	struct suspicion h = {.n = n};
	int chosen[3] = {f->lever[i], f->lever[j], f->lever[k]};
	/* In lever order, so that a set has one key whatever the failure that brought it up. */
	for (int a = 0; a < n; a++)
		for (int b = a + 1; b < n; b++)
			if (chosen[b] < chosen[a]) {
				int swapped = chosen[a];
				chosen[a] = chosen[b];
				chosen[b] = swapped;
			}
	for (int a = 0; a < n; a++) {
		h.lever[a] = chosen[a];
		h.setting[a] = f->observation->setting[chosen[a]];
	}
	return h;
}

static void list_survivors(struct blame_model *m, struct failure *f)
{
	int n_levers = m->columns.n_levers;
	for (int i = 0; i < f->n_changed; i++)
		add_survivor(m, f, subset(f, 1, i, i, i));
	for (int j = 1; j < n_levers; j++)
		for (int i = 0; i < MIN_OF(j, f->n_changed); i++)
			add_survivor(m, f, subset(f, 2, i, j, j));
	if (f->n)
		return;
	for (int k = 2; k < n_levers; k++)
		for (int j = 1; j < k; j++)
			for (int i = 0; i < MIN_OF(j, f->n_changed); i++)
				add_survivor(m, f, subset(f, 3, i, j, k));
}

static void add_hint(struct failure *f, struct hint hint)
{
	grow_array(&f->hint, &f->hint_capacity, f->n_hints + 1, sizeof(*f->hint));
	f->hint[f->n_hints++] = hint;
}

static bool contains_pair(const int *setting, const struct lever_pair *p)
{
	return setting[p->lever_a] == p->setting_a && setting[p->lever_b] == p->setting_b;
}

static void list_hints(const struct blame_model *m, struct failure *f)
{
	const struct observation *o = f->observation;
	const struct model_input *in = m->in;
	f->n_hints = 0;
	for (size_t k = 0; k < in->n_known_conflicts; k++)
		if (contains_pair(o->setting, &in->known_conflicts[k]))
			add_hint(f, (struct hint){.source = HINT_CONFLICT, .pair = in->known_conflicts[k]});
	for (size_t k = 0; k < o->n_hints; k++)
		if (contains_pair(o->setting, &o->hints[k]))
			add_hint(f, (struct hint){.source = HINT_PAIR, .pair = o->hints[k]});
	int n = o->evidence ? evidence_named(in->levers, in->n_levers, o->setting, o->evidence, f->named) : 0;
	if (n)
		add_hint(f, (struct hint){.source = HINT_TEXT, .named = f->named, .n_named = n});
}

static int compare_ids(const struct suspicion *a, const struct suspicion *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = 0; i < a->n; i++) {
		if (a->lever[i] != b->lever[i])
			return a->lever[i] < b->lever[i] ? -1 : 1;
		if (a->setting[i] != b->setting[i])
			return a->setting[i] < b->setting[i] ? -1 : 1;
	}
	return 0;
}

static int stronger_first(const void *va, const void *vb)
{
	const struct suspicion *a = va, *b = vb;
	if (a->q != b->q)
		return a->q > b->q ? -1 : 1;
	return compare_ids(a, b);
}

static void blame(struct blame_model *m, struct failure *f)
{
	bool sole = f->n == 1;
	for (size_t k = 0; k < f->n_hints; k++)
		hint_apply(&m->hints, &f->hint[k], f->survivor, f->n);
	qsort(f->survivor, f->n, sizeof(*f->survivor), stronger_first);
	size_t n = MIN_OF(f->n, (size_t)MAX_SUSPECTS);
	double none_true = 1;
	for (size_t i = 0; i < n; i++)
		none_true *= 1 - f->survivor[i].q;
	for (size_t i = 0; i < n; i++) {
		struct suspicion *h = &f->survivor[i];
		h->q = fmin(h->q / (1 - none_true), h->n == 1 ? q_single_cap : q_cap);
		h->banned |= sole && h->n > 1;
		int index = remember(m, h);
		m->suspect[index] = *h;
	}
}

static void open_failure(struct blame_model *m, size_t index, struct failure *f)
{
	const struct columns *c = &m->columns;
	f->observation = &m->in->observations[index];
	f->n = 0;
	f->n_changed = 0;
	for (int l = 0; l < c->n_levers; l++)
		if (!is_default(m, l, f->observation->setting[l]))
			f->lever[f->n_changed++] = l;
	int next = f->n_changed;
	for (int l = 0; l < c->n_levers; l++)
		if (is_default(m, l, f->observation->setting[l]))
			f->lever[next++] = l;
	list_hints(m, f);
}

static void explain_failure(struct blame_model *m, size_t index, struct failure *f)
{
	open_failure(m, index, f);
	list_survivors(m, f);
	if (f->n)
		blame(m, f);
	else
		m->transient[index] = true;
}

/* How right each source of hints has been, from what passing runs leave of each failure. */
static void judge_hints(struct blame_model *m, size_t index, struct failure *f)
{
	open_failure(m, index, f);
	if (f->n_hints == 0)
		return;
	list_survivors(m, f);
	for (size_t k = 0; k < f->n_hints; k++)
		hint_judge(&m->hints, &f->hint[k], f->survivor, f->n);
}

/* A known conflict is suspected before it has failed, until a run passes with it. */
static void suspect_known_conflicts(struct blame_model *m)
{
	for (size_t k = 0; k < m->in->n_known_conflicts; k++) {
		const struct lever_pair *p = &m->in->known_conflicts[k];
		struct suspicion h = {.n = 2, .hinted = true, .q = hint_trust(&m->hints, HINT_CONFLICT)};
		bool in_order = p->lever_a < p->lever_b;
		h.lever[0] = in_order ? p->lever_a : p->lever_b;
		h.setting[0] = in_order ? p->setting_a : p->setting_b;
		h.lever[1] = in_order ? p->lever_b : p->lever_a;
		h.setting[1] = in_order ? p->setting_b : p->setting_a;
		bool is_reference =
			is_default(m, h.lever[0], h.setting[0]) && is_default(m, h.lever[1], h.setting[1]);
		if (p->lever_a != p->lever_b && !is_reference && !has_passed_together(m, &h))
			(void)remember(m, &h);
	}
}

static void explain_failures(struct blame_model *m)
{
	const struct model_input *in = m->in;
	size_t n = (size_t)in->n_levers + 1;
	struct failure f = {.lever = xcalloc(n, sizeof(*f.lever)), .named = xcalloc(n, sizeof(*f.named))};
	for (size_t i = 0; i < in->n_observations; i++)
		if (is_failure(in, &in->observations[i]))
			judge_hints(m, i, &f);
	suspect_known_conflicts(m);
	for (size_t i = 0; i < in->n_observations; i++)
		if (is_failure(in, &in->observations[i]))
			explain_failure(m, i, &f);
	free(f.lever);
	free(f.named);
	free(f.survivor);
	free(f.hint);
}

/* ------------------------------------------------------------- fit and score */

static int first_column(const struct blame_model *m, const struct suspicion *h)
{
	for (int i = 0; i < h->n; i++)
		if (!is_default(m, h->lever[i], h->setting[i]))
			return columns_of(&m->columns, h->lever[i], h->setting[i]);
	return -1; /* not reached: a hypothesis has a non-reference member */
}

static void index_suspects(struct blame_model *m)
{
	m->ranked = xcalloc(m->n_suspects + 1, sizeof(*m->ranked));
	m->by_column = xcalloc(m->n_suspects + 1, sizeof(*m->by_column));
	if (m->n_suspects)
		memcpy(m->ranked, m->suspect, m->n_suspects * sizeof(*m->ranked));
	qsort(m->ranked, m->n_suspects, sizeof(*m->ranked), stronger_first);
	int n_columns = m->columns.n_columns, n_scored = 0;
	while ((size_t)n_scored < m->n_suspects && m->ranked[n_scored].q >= q_ignored)
		m->bucket[first_column(m, &m->ranked[n_scored++]) + 1]++;
	for (int j = 0; j < n_columns; j++)
		m->bucket[j + 1] += m->bucket[j];
	CLEANUP(free_ptr) int *filled = xcalloc((size_t)n_columns + 1, sizeof(*filled));
	for (int i = 0; i < n_scored; i++) {
		int column = first_column(m, &m->ranked[i]);
		m->by_column[m->bucket[column] + filled[column]++] = i;
	}
	for (size_t i = 0; i < m->n_suspects; i++)
		if (m->ranked[i].n == 1)
			m->has_own[first_column(m, &m->ranked[i])] = true;
}

enum err_code blame_model_fit(
	const struct model_input *in, struct blame_model **ret_model, struct err *reterr)
{
	struct blame_model *m = xcalloc(1, sizeof(*m));
	m->in = in;
	columns_init(&m->columns, in->levers, in->n_levers);
	if (m->columns.n_ids >= 1 << 21) {
		int n_ids = m->columns.n_ids;
		blame_model_free(m);
		return err_set(
			reterr, ERR_LIMIT, "blame model: %d settings, expected fewer than 2097152", n_ids);
	}
	m->n_words = in->n_observations / 64 + 1;
	m->passed = xcalloc((size_t)m->columns.n_ids * m->n_words + 1, sizeof(*m->passed));
	m->transient = xcalloc(in->n_observations + 1, sizeof(*m->transient));
	m->has_own = xcalloc((size_t)m->columns.n_columns + 1, sizeof(*m->has_own));
	m->bucket = xcalloc((size_t)m->columns.n_columns + 2, sizeof(*m->bucket));
	record_passes(m);
	m->p_single = single_prior(m);
	explain_failures(m);
	index_suspects(m);
	m->field = failure_field_fit(in);
	*ret_model = m;
	return OK;
}

void blame_model_free(struct blame_model *m)
{
	if (!m)
		return;
	columns_release(&m->columns);
	failure_field_free(m->field);
	void *arrays[] = {
		m->passed, m->transient, m->suspect, m->slot, m->ranked, m->has_own, m->bucket, m->by_column};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(m);
}

static bool contains(const int *setting, const struct suspicion *h)
{
	for (int i = 0; i < h->n; i++)
		if (setting[h->lever[i]] != h->setting[i])
			return false;
	return true;
}

/* What the suspects with this first setting leave, and the setting's own prior where it never ran. */
static double p_ok_of_setting(const struct blame_model *m, const int *setting, int lever)
{
	int column = columns_of(&m->columns, lever, setting[lever]);
	double p = 1;
	for (int i = m->bucket[column]; i < m->bucket[column + 1]; i++) {
		const struct suspicion *h = &m->ranked[m->by_column[i]];
		if (contains(setting, h))
			p *= 1 - h->q;
	}
	if (m->has_own[column] || has_passed(m, lever, setting[lever]))
		return p;
	return p * (m->columns.levers[lever].is_patch ? 1 - q_patch : 1 - m->p_single);
}

static int never_together(const struct blame_model *m, const int *setting, int lever)
{
	const uint64_t *a = passes_of(m, lever, setting[lever]);
	int n = 0;
	for (int k = 0; k < lever; k++) {
		if (is_default(m, k, setting[k]))
			continue;
		const uint64_t *b = passes_of(m, k, setting[k]);
		bool together = false;
		for (size_t w = 0; w < m->n_words && !together; w++)
			together = a[w] & b[w];
		n += !together;
	}
	return n;
}

static double p_ok_of_suspects(const struct blame_model *m, const int *setting)
{
	double p = 1;
	int strangers = 0; /* pairs of non-reference settings that no passing run contains */
	for (int l = 0; l < m->columns.n_levers; l++) {
		if (is_default(m, l, setting[l]))
			continue;
		p *= p_ok_of_setting(m, setting, l);
		strangers += never_together(m, setting, l);
	}
	return p * pow(1 - q_pair, strangers);
}

double blame_model_p_ok(const struct blame_model *m, const int *setting)
{
	double p = p_ok_of_suspects(m, setting);
	/* Two models of the same failures, neither of which is ahead on measured tasks: their mean is. */
	return m->field ? (p + failure_field_p_ok(m->field, setting)) / 2 : p;
}

const struct suspicion *blame_model_suspicions(const struct blame_model *m, size_t *ret_count)
{
	*ret_count = m->n_suspects;
	return m->ranked;
}

bool blame_model_explains(const struct blame_model *m, const struct suspicion *suspicion, size_t observation)
{
	const struct observation *o = &m->in->observations[observation];
	return is_failure(m->in, o) && contains(o->setting, suspicion);
}

bool blame_model_is_transient(const struct blame_model *m, size_t observation)
{
	return m->transient[observation];
}
