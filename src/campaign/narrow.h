/* `--fix knob=value` and `--start knob=value,...`: a run narrowed from the command line. */
#ifndef INFRARSI_CAMPAIGN_NARROW_H
#define INFRARSI_CAMPAIGN_NARROW_H

#include "base/base.h"
#include "base/memory.h"
#include "search/search.h"
#include "spec/task.h"
#include "state/state.h"

struct narrowing {
	const struct task *task;
	int *fixed;   /* per knob: setting index, or -1 = free */
	int **starts; /* per start: setting index per knob */
	size_t n_starts;
	struct state *state; /* of the last narrowing_apply() */
	const int **padded;
	const bool *patch_gone; /* by patch lever; may be shorter than the space */
	size_t n_patch_gone;
};

/* Everything in `arena`. Errors name the argument and what the knob's values are. */
enum err_code narrowing_parse(const struct task *task, const char *const *fixed, size_t n_fixed,
	const char *const *starts, size_t n_starts, struct arena *arena, struct narrowing *ret_narrowing,
	struct err *reterr) MUST_CHECK;
/* Makes the input obey; the narrowing must outlive it. */
void narrowing_apply(struct narrowing *n, struct state *s, struct search_input *input);

#endif
