#ifndef INFRARSI_RUNNER_FIND_PROGRAM_H
#define INFRARSI_RUNNER_FIND_PROGRAM_H

#include "base/base.h"

/* The absolute path of a program on the caller's PATH; false when there is none. */
bool find_program(const char *name, char *ret_path, size_t size);

#endif
