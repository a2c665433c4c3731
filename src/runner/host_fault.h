/*
 * A build that failed because of the machine and not because of what it builds: a full disk, no more
 * processes or memory, a compiler that the kernel killed. Read from the build's log, which the candidate's
 * own build may write too: such a build is tried again, and only so often.
 */
#ifndef INFRARSI_RUNNER_HOST_FAULT_H
#define INFRARSI_RUNNER_HOST_FAULT_H

#include "base/base.h"

enum { HOST_FAULT_SIZE = 300 };

/* True where a line of the log says so; that line, escaped, in ret_evidence. An absent log says nothing. */
bool host_fault_find(const char *log_path, char ret_evidence[HOST_FAULT_SIZE]);
bool host_fault_in_line(const char *line, size_t length);

#endif
