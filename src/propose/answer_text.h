/* Finds the JSON object in a text that models wrap in prose and fences. */
#ifndef INFRARSI_PROPOSE_ANSWER_TEXT_H
#define INFRARSI_PROPOSE_ANSWER_TEXT_H

#include <jansson.h>

#include "base/base.h"

/* The first object that has one of the keys (ends with NULL), else ERR_INPUT: what was found instead. */
enum err_code answer_find_object(const char *text, size_t length, const char *const *keys,
	json_t **ret_object, struct err *reterr) MUST_CHECK;

#endif
