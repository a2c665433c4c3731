#include "base/base.h"

#include "search/start.h"

static const struct start_kind {
	const char *label, *summary;
	bool on_by_default;
	bool (*is_known)(const struct scores *s); /* NULL = always */
	struct candidate *(*make)(struct scores *s);
} table[N_STARTS] = {
	[START_EXPERIENCE] = {"experienced start", "the best configuration of experience, repaired to fit",
		true, experience_is_known, experience_start},
	[START_PRIOR] = {"prior start", "every knob as predicted best, repaired to fit", false,
		prior_is_known, prior_start},
	[START_RANDOM] = {"random start", "any legal configuration that is likely to fit", false, NULL,
		random_start},
};

struct search_part search_start_part(enum search_start which)
{
	return (struct search_part){start_names[which], table[which].summary, table[which].on_by_default};
}

bool search_start_is_on(const struct search_switches *w, enum search_start which)
{
	return w->starts_given ? (w->starts >> which & 1) : table[which].on_by_default;
}

static struct candidate *user_start(struct scores *s)
{
	for (size_t i = 0; i < s->in->n_user_starts; i++) {
		struct candidate *c = scores_look_up(s, s->in->user_starts[i]);
		if (candidate_may_run(s, c))
			return c;
	}
	return NULL;
}

/* What has been registered beside the reference and the user's starts. */
static size_t count_begun(const struct scores *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->in->n_visited; i++) {
		bool known = same_settings(s->in->visited[i], s->reference, s->n_levers);
		for (size_t k = 0; k < s->in->n_user_starts; k++)
			known |= same_settings(s->in->visited[i], s->in->user_starts[k], s->n_levers);
		n += !known;
	}
	return n;
}

/* Each start has its turn, so that it runs once: one that is interrupted while nothing runs beside it has it
 * again, one that cannot run leaves it to the search. */
static const struct start_kind *whose_turn(const struct scores *s)
{
	size_t begun = count_begun(s);
	for (int i = 0; i < N_STARTS; i++) {
		if (!search_start_is_on(&s->in->switches, (enum search_start)i) ||
			(table[i].is_known && !table[i].is_known(s)))
			continue;
		if (begun-- == 0)
			return &table[i];
	}
	return NULL;
}

struct candidate *next_start(struct scores *s, const char **ret_name)
{
	struct candidate *c = user_start(s);
	*ret_name = "user start";
	const struct start_kind *kind = c ? NULL : whose_turn(s);
	if (kind) {
		c = kind->make(s);
		*ret_name = kind->label;
	}
	return c;
}
