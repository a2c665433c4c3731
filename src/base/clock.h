/* Time. Every duration and every stamp on a measurement is CLOCK_MONOTONIC, in seconds; wall-clock time only
 * labels records. */
#ifndef INFRARSI_BASE_CLOCK_H
#define INFRARSI_BASE_CLOCK_H

#include "base/base.h"

double clock_now_s(void);
/* User + system CPU seconds of the calling process and its reaped children. */
double clock_cpu_s(void);

enum { CLOCK_UTC_SIZE = 32 };
/* "2026-11-29T22:48:22Z" */
void clock_utc(char buf[CLOCK_UTC_SIZE]);

#endif
