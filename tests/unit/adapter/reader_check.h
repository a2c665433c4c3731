/* One log of a format and what its reader must make of it, for the tests of readers. */
#ifndef INFRARSI_TESTS_READER_CHECK_H
#define INFRARSI_TESTS_READER_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/log.h"
#include "base/base.h"

enum { MAX_STEPS = 6 };

#define V(x)                                                                                                 \
	{                                                                                                    \
		true, x                                                                                      \
	}
#define GIB 1073741824.0
#define FLAG(name) (1u << LOG_##name)

enum end { END_UNKNOWN, END_COMPLETED, END_NOT_COMPLETED };

struct reader_case {
	const char *about; /* which version prints it */
	const char *framework;
	const char *text;
	struct log_step steps[MAX_STEPS]; /* their `line` is not looked at */
	size_t n_steps;
	enum end end;
	uint32_t flags;
	enum log_scope scope;
	const char *mem_kind;
	bool step_inferred;
	struct opt_number logging_steps, tokens_per_update, peak_mem_bytes, step_base, precision,
		train_runtime_s;
	long damaged; /* 0 = none */
};

/* Flags that come from the steps or the failure, not from the reader. */
static const uint32_t flags_of_others = FLAG(FROZEN_LOSS) | FLAG(FROZEN_GRAD_NORM);

static void check_number(
	const char *about, const char *what, long step, struct opt_number got, struct opt_number want)
{
	bool same = got.has == want.has;
	if (same && got.has)
		same = (isnan(got.value) && isnan(want.value)) || got.value == want.value ||
		       fabs(got.value - want.value) <= 1e-12 * fabs(want.value);
	if (!same)
		fail_msg("%s: %s of step %ld is %s%.17g, expected %s%.17g", about, what, step,
			got.has ? "" : "absent ", got.value, want.has ? "" : "absent ", want.value);
}

static void check_step(const char *about, const struct log_step *got, const struct log_step *want)
{
	if (got->step != want->step)
		fail_msg("%s: step %ld, expected %ld", about, got->step, want->step);
	check_number(about, "loss", want->step, got->loss, want->loss);
	check_number(about, "gradient norm", want->step, got->grad_norm, want->grad_norm);
	check_number(about, "time", want->step, got->step_time_s, want->step_time_s);
	check_number(about, "tokens/s", want->step, got->tokens_per_s, want->tokens_per_s);
	check_number(about, "memory", want->step, got->mem_bytes, want->mem_bytes);
	check_number(about, "learning rate", want->step, got->lr, want->lr);
	check_number(about, "samples/s", want->step, got->samples_per_s, want->samples_per_s);
	check_number(about, "tokens seen", want->step, got->tokens_seen, want->tokens_seen);
	check_number(about, "TFLOP/s", want->step, got->tflops_per_device, want->tflops_per_device);
	check_number(about, "MFU", want->step, got->mfu_percent, want->mfu_percent);
}

static void check_facts(const struct reader_case *c, const struct log_summary *s)
{
	enum end end = !s->completed.has           ? END_UNKNOWN
		       : s->completed.value == 1.0 ? END_COMPLETED
						   : END_NOT_COMPLETED;
	bool sound = true; /* what a loss that is not finite means is the classifier's business */
	for (size_t i = 0; i < c->n_steps; i++)
		sound = sound && !(c->steps[i].loss.has && !isfinite(c->steps[i].loss.value));
	if (sound && end != c->end)
		fail_msg("%s: completed is %d, expected %d", c->about, (int)end, (int)c->end);
	if ((s->flags & ~flags_of_others) != c->flags)
		fail_msg("%s: flags %#x, expected %#x", c->about, s->flags & ~flags_of_others, c->flags);
	if (s->tokens_per_s_scope != c->scope)
		fail_msg("%s: scope %d, expected %d", c->about, (int)s->tokens_per_s_scope, (int)c->scope);
	if (strcmp(s->mem_kind ? s->mem_kind : "", c->mem_kind ? c->mem_kind : "") != 0)
		fail_msg("%s: memory is '%s'", c->about, s->mem_kind ? s->mem_kind : "");
	if (s->step_inferred != c->step_inferred)
		fail_msg("%s: step_inferred is %d", c->about, (int)s->step_inferred);
	check_number(c->about, "logging_steps", 0, s->logging_steps, c->logging_steps);
	check_number(c->about, "tokens per update", 0, s->tokens_per_update, c->tokens_per_update);
	check_number(c->about, "peak memory", 0, s->peak_mem_bytes, c->peak_mem_bytes);
	check_number(c->about, "step base", 0, s->step_base, c->step_base);
	check_number(c->about, "digits", 0, s->value_precision_digits, c->precision);
	check_number(c->about, "training time", 0, s->train_runtime_s, c->train_runtime_s);
	if (s->n_damaged_steps != (c->damaged ? 1u : 0u) || (c->damaged && s->damaged_steps[0] != c->damaged))
		fail_msg("%s: %zu damaged steps", c->about, s->n_damaged_steps);
}

static void check_case(const struct reader_case *c, size_t piece)
{
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	struct log_summary s;
	size_t length = strlen(c->text);
	for (size_t i = 0; i < length; i += piece)
		log_scan_feed(scan, c->text + i, MIN_OF(piece, length - i));
	log_scan_finish(scan, &s);
	if (strcmp(s.framework, c->framework) != 0)
		fail_msg("%s: read as %s", c->about, s.framework);
	if (s.n_steps != c->n_steps)
		fail_msg("%s: %zu steps, expected %zu", c->about, s.n_steps, c->n_steps);
	for (size_t i = 0; i < s.n_steps; i++)
		check_step(c->about, &s.steps[i], &c->steps[i]);
	check_facts(c, &s);
	log_summary_release(&s);
}

/* Whole, and in small pieces: nothing may depend on where a read ends. */
static inline void check_cases(const struct reader_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_case(&cases[i], (size_t)1 << 20);
		check_case(&cases[i], 7);
	}
}

#endif
