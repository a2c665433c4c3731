/* Lists of processors as taskset and cpuset write them: "0-3,8,10-11". */
#ifndef INFRARSI_BASE_CPU_LIST_H
#define INFRARSI_BASE_CPU_LIST_H

#include <sched.h>

#include "base/base.h"

/* False: not such a list, an empty one, or a number of CPU_SETSIZE or more. */
bool cpu_list_parse(const char *text, cpu_set_t *ret_set);

#endif
