/*
 * What people and programs read: the report model (the state) -> terminal rows, Markdown, JSON, YAML, SVG.
 * Text from jobs, patches and models is escaped for where it is shown. Never prints; fills strbufs.
 */
#ifndef INFRARSI_REPORT_REPORT_H
#define INFRARSI_REPORT_REPORT_H

#include "base/base.h"
#include "state/state.h"

struct strbuf;

/* The table of trials as it grows: header, one row a trial or refusal (UX.md). Rows fit 110 columns where the
 * names allow. */
void report_trial_header(struct strbuf *text);
void report_trial_row(const struct state *s, const struct trial *t, struct strbuf *text);
void report_refusal_row(const struct refusal *r, struct strbuf *text);
/* All trials and refusals. */
void report_trials_table(const struct state *s, struct strbuf *text);
/* Who predicted what and what was measured, behind the table of trials: at most 100 columns. Nothing where
 * nobody predicted or suggested anything and nobody was asked. */
void report_predictions(const struct state *s, struct strbuf *text);

/* The card of a trial that went wrong: what failed, where, the evidence line quoted, what it means for the
 * search, what to do. Nothing for a valid trial. dir: of .infrarsi as the user would write it. */
void report_failure_card(const struct state *s, const struct trial *t, const char *dir, struct strbuf *text);
/* Everything about one trial: candidate, why it was chosen, times, memory, 16 items with reasons, files
 * (`infrarsi show N`). */
void report_trial_details(const struct state *s, const struct trial *t, const char *dir, struct strbuf *text);

/* "delivered: 3.34x (95% interval 3.29 to 3.39), trials 17, rejected 2, device-hours 0.061" (1.00x when
 * nothing was delivered). rejected = trials that were not valid, and refusals. */
void report_delivered_line(const struct state *s, struct strbuf *text);
/* The end of `run` (UX.md): duel, delivered and claimed, items, cost by category, payback, next step. */
void report_summary(const struct state *s, struct strbuf *text);

/* REPORT.md, result.json, pack.yaml. */
void report_markdown(const struct state *s, struct strbuf *text);
char *report_result_json(const struct state *s); /* pretty JSON by malloc; docs/formats.md */
void report_pack_yaml(const struct state *s, struct strbuf *text);
/* Predicted against measured gains, one mark each; nothing where no prediction was measured. */
void report_calibration_svg(const struct state *s, struct strbuf *text);
/* Writes all of them into `dir` (.infrarsi), each atomically; the picture, calibration.svg, only where there
 * is something in it. */
enum err_code report_write(const struct state *s, const char *dir, struct err *reterr) MUST_CHECK;

#endif
