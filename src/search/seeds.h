/*
 * The operators: each gives configurations to climb from. The table's order is the order of seeds, and so of
 * ties. Adding an operator is adding a row to seeds.c, a name to spec/switches.h and a file.
 */
#ifndef INFRARSI_SEARCH_SEEDS_H
#define INFRARSI_SEARCH_SEEDS_H

#include "base/base.h"
#include "search/score.h"

enum { MAX_SEEDS = 64 };

struct seed {
	const int *setting;
	int observation;         /* it was derived from; -1 = the reference or none */
	const char *origin_name; /* for a person */
	const int *origin_setting;
	bool competes; /* the seed itself may be proposed */
	bool stays;    /* and nothing near it is looked at */
};

struct seed_list {
	struct seed seed[MAX_SEEDS];
	int n;
};

struct seed_operator {
	const char *summary;
	bool on_by_default;
	bool needs_time; /* of no use while nothing fits */
	void (*generate)(struct scores *s, struct seed_list *list);
	/* Instead: considers candidates itself. Neither: a rule of the models. */
	void (*survey)(struct scores *s, const struct origin *origin);
};

const struct seed_operator *seed_operator(enum search_operator which);
void seed_add(struct seed_list *list, struct seed seed); /* beyond MAX_SEEDS: dropped */
/* `setting` as changes to the incumbent. */
struct seed seed_on_incumbent(const struct scores *s, const int *setting);
/* A seed that competes: the incumbent changed to `setting`; NULL = nothing. */
void seed_add_to_incumbent(const struct scores *s, struct seed_list *list, const int *setting);
/* A run with this setting, the reference included, has shown a usable step time. */
bool setting_was_timed(const struct search_input *in, int lever, int setting);
/* A knob's setting that moves the time by the gate or more, as was declared or as the runs (and experience)
 * have it by now. Patches have operators of their own and are none. */
bool setting_is_big(const struct scores *s, int lever, int setting);
bool knob_is_big(const struct scores *s, int lever); /* any of its settings but the reference */

void seed_incumbent(struct scores *s, struct seed_list *list);
void seed_reference(struct scores *s, struct seed_list *list);
void seed_failed(struct scores *s, struct seed_list *list);
void seed_jump(struct scores *s, struct seed_list *list);
void seed_restart(struct scores *s, struct seed_list *list);
void seed_contrarian(struct scores *s, struct seed_list *list);
void seed_big_knob(struct scores *s, struct seed_list *list);
void seed_extrapolate(struct scores *s, struct seed_list *list);
void seed_stack(struct scores *s, struct seed_list *list);
void seed_patch(struct scores *s, struct seed_list *list);
void seed_conflict(struct scores *s, struct seed_list *list);
void seed_proposed(struct scores *s, struct seed_list *list);
void survey(struct scores *s, const struct origin *origin);

#endif
