/* A job's log through the failure classifier. The first byte chooses how the job ended; the evidence must be
 * text that can be shown. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/failure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct failure_exit exits[] = {
		{0, 0, false, false, false},
		{1, 0, false, false, false},
		{137, 0, false, false, false},
		{-1, 6, false, false, false},
		{-1, 9, true, false, false},
		{2, 0, false, false, true},
	};
	struct failure_report report;
	if (size == 0)
		return 0;
	const struct failure_exit *ended = &exits[data[0] % ARRAY_LEN(exits)];
	struct failure_scan *scan = failure_scan_new(ended->build);
	size_t half = (size - 1) / 2;
	failure_scan_feed(scan, (const char *)data + 1, half);
	failure_scan_feed(scan, (const char *)data + 1 + half, size - 1 - half);
	failure_scan_finish(scan, ended, &report);
	for (const char *p = report.evidence; *p; p++)
		if ((unsigned char)*p < 0x20)
			abort();
	if (report.class >= N_FAILURE_CLASSES || strlen(report.evidence) >= sizeof(report.evidence))
		abort();
	return 0;
}
