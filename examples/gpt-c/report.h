/* What the job tells the harness: the one place that knows infrarsi_hook.h. */
#ifndef REPORT_H
#define REPORT_H

#include "model.h"

struct report;

struct update {
	double loss, balance, grad_norm, rate, step_s;
	int step, tokens;
	size_t peak_bytes;
	int is_first; /* step_s then includes no previous update */
};

/* Never NULL; a harness that cannot be reached is a warning. */
struct report *report_open(void);
void report_start(struct report *report, const struct model *model, const struct settings *settings);
void report_row(struct report *report, const int *ids, int count);
void report_update(struct report *report, const struct update *update, const struct phases *phases);
void report_shortage(struct report *report, const struct arena_shortage *shortage);
void report_end(struct report *report);

#endif
