#include "base/base.h"

#include <errno.h>
#include <unistd.h>

#include "adapter/failure.h"
#include "adapter/log.h"

enum err_code failure_classify(const char *log_path, const struct failure_exit *ended,
	struct failure_report *ret_report, struct err *reterr)
{
	const struct opt_number none = {false, 0.0};
	struct log_options options = {
		.build = ended->build, .timed_out = ended->timed_out, .stalled = ended->stalled};
	options.exit_status = ended->exit_status >= 0 ? (struct opt_number){true, ended->exit_status} : none;
	options.exit_signal = ended->exit_signal > 0 ? (struct opt_number){true, ended->exit_signal} : none;
	struct log_summary summary;
	if (access(log_path, F_OK) != 0 && errno == ENOENT)
		log_scan_finish(log_scan_new(&options, NULL, NULL), &summary);
	else
		TRY(log_read(log_path, &options, &summary, reterr));
	*ret_report = summary.failure;
	log_summary_release(&summary);
	return OK;
}

void failure_to_receipt(const struct failure_report *report, struct receipt *r)
{
	const struct {
		struct opt_number *to;
		struct opt_number from;
	} numbers[] = {
		{&r->oom_requested_bytes, report->requested_bytes},
		{&r->oom_free_bytes, report->free_bytes},
		{&r->oom_capacity_bytes, report->capacity_bytes},
	};
	if (r->failure == FAILURE_NONE && report->class != FAILURE_NONE) {
		r->failure = report->class;
		r->failure_evidence = arena_strdup(&r->arena, report->evidence);
		r->failure_source = arena_strdup(&r->arena, report->source);
	}
	if (r->failure != FAILURE_OOM || report->class != FAILURE_OOM)
		return;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!numbers[i].to->has)
			*numbers[i].to = numbers[i].from;
}
