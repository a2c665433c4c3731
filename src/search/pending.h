/*
 * Trials that run and have not ended, as the next decision sees them. Each enters the time and memory models
 * as if it had measured what is believed of it: the belief stays where it is and its uncertainty goes, so
 * that the next proposal looks elsewhere. It is never the incumbent, teaches memory only where it is believed
 * to fit, and exonerates nothing: the blame ledger does not see it.
 */
#ifndef INFRARSI_SEARCH_PENDING_H
#define INFRARSI_SEARCH_PENDING_H

#include "base/base.h"
#include "search/score.h"

/* Fits time and memory again, with s->in->pending. Everything else of `s` is there already and stays. */
enum err_code pending_fit(struct scores *s, struct err *reterr) MUST_CHECK;

#endif
