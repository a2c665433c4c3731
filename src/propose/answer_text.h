/* Finds the JSON object in a text that models wrap in prose and fences, and that their limits cut. */
#ifndef INFRARSI_PROPOSE_ANSWER_TEXT_H
#define INFRARSI_PROPOSE_ANSWER_TEXT_H

#include <jansson.h>

#include "base/base.h"

/*
 * The first object that has one of the keys (ends with NULL), else ERR_INPUT: what was found instead.
 * Of an object that the text's end cuts, its lists up to the last item that came whole; *ret_cut is then
 * ERR_INPUT with what is wrong with it, and of code OK otherwise. NULL: what is cut counts as nothing.
 */
enum err_code answer_find_object(const char *text, size_t length, const char *const *keys,
	json_t **ret_object, struct err *ret_cut, struct err *reterr) MUST_CHECK;

#endif
