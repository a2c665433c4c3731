/* The rows of the strategy table. */
#ifndef INFRARSI_SEARCH_STRATEGIES_H
#define INFRARSI_SEARCH_STRATEGIES_H

#include "base/base.h"
#include "search/search.h"

enum err_code controller_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code random_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code greedy_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code chains_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code optico_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code aide_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code ladder_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code tpe_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code tpe_sparse_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;
enum err_code one_factor_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr) MUST_CHECK;

#endif
