#include "base/base.h"

#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

double clock_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rusage_s(int who)
{
	struct rusage u;
	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double clock_cpu_s(void)
{
	return rusage_s(RUSAGE_SELF) + rusage_s(RUSAGE_CHILDREN);
}

void clock_utc(char buf[CLOCK_UTC_SIZE])
{
	struct timespec t;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	strftime(buf, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
