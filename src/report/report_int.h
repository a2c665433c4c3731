/* Shared by the files of report/. */
#ifndef INFRARSI_REPORT_REPORT_INT_H
#define INFRARSI_REPORT_REPORT_INT_H

#include <jansson.h>

#include "report/report.h"

struct bill { /* how a campaign's trials ended, and what everything cost in device-seconds */
	int by_status[N_TRIAL_STATUSES];
	int rejected; /* trials that were not valid, and refusals */
	double total_s;
};
void bill_of(const struct state *s, struct bill *ret_bill);

/* The delivered duel, or NULL: the reference stays. */
const struct duel *delivered_duel(const struct state *s);
const struct trial *trial_numbered(const struct state *s, int number);
/* What a trial changed, relative to the trial it was derived from. */
void describe_change(const struct state *s, const struct trial *t, struct strbuf *text);
/* Exactly `columns` wide: cut with "..." or padded. Escaped. */
void add_column(struct strbuf *row, const char *text, size_t columns);
/* Text from jobs, patches, models and task files, for a terminal. */
void add_safe(struct strbuf *text, const char *value);
/* "1.42x", "-" where it is unknown. */
void add_speedup(struct strbuf *text, double gain_ln, int decimals);
/* What the audit wants looked at in the patches of a trial; calls for each such patch. */
typedef void (*review_fn)(struct strbuf *text, const char *value);
void add_patch_reviews(const struct state *s, const struct trial *t, review_fn add, struct strbuf *text);
/* A line about a delivery of an earlier promotion that still stands; nothing where there is none. */
void add_standing(const struct state *s, struct strbuf *text);
/* What became of it over more updates, as a line; nothing where nobody asked. */
void add_confirmation(const struct state *s, const struct duel *d, review_fn add, struct strbuf *text);
/* The same, of one that is over. */
json_t *confirmation_json(const struct duel *d);
/* Why the search ended early; nothing where it did not. */
void add_search_over(const struct state *s, review_fn add, struct strbuf *text);
/* Pairs of patches that are never stacked and why, a line each behind `before`. */
void add_clashes(const struct state *s, const char *before, review_fn add, struct strbuf *text);
/* The same as [{"first", "second", "reason"}]. */
json_t *clashes_json(const struct state *s);
/* "13 pass, 3 n/a" */
void count_items(const struct verdict *v, struct strbuf *text);
/* How long the sped-up training has to run until the time it saved equals what the campaign cost; NAN without
 * a delivery. */
double payback_s(const struct state *s);

#endif
