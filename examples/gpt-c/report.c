#include "infrarsi_hook.h"

#include "report.h"

static struct report {
	struct infrarsi hook;
} the_report;

struct report *report_open(void)
{
	if (infrarsi_open(&the_report.hook) < 0)
		perror("warning: INFRARSI_EVENT_PATH");
	return &the_report;
}

void report_start(struct report *report, const struct model *model, const struct settings *settings)
{
	const char *storage = settings->storage == STORAGE_BF16 ? "bf16" : "fp32";
	int i;

	for (i = 0; i < model->tensor_count; i++) {
		uint64_t shape[2] = {(uint64_t)model->tensors[i].rows, (uint64_t)model->tensors[i].columns};

		/* What the model is, not how it is stored: that is reported as precision. */
		infrarsi_param(&report->hook, model->tensors[i].name, shape, 2, "float");
	}
	infrarsi_start(&report->hook,
		       &(struct infrarsi_start_info){.stack = "native",
						     .active_params = model->active_count,
						     .layers = (uint64_t)model->config->layers,
						     .d_attn = (uint64_t)model->config->width,
						     .seq_len = (uint64_t)model->config->seq_len,
						     .global_batch = (uint64_t)settings->global_batch,
						     .storage = storage,
						     .compute = "fp32"});
}

void report_row(struct report *report, const int *ids, int count)
{
	infrarsi_row(&report->hook, ids, (size_t)count);
}

void report_update(struct report *report, const struct update *update, const struct phases *phases)
{
	infrarsi_update(&report->hook, &(struct infrarsi_update_info){.loss = update->loss,
								      .grad_norm = update->grad_norm,
								      .lr = update->rate,
								      .opt_step = (uint64_t)update->step,
								      .tokens = (uint64_t)update->tokens,
								      .step_s = update->is_first ? 0 : update->step_s,
								      .mem = update->peak_bytes});
	infrarsi_phase(&report->hook, &(struct infrarsi_phase_info){.forward = phases->forward,
								    .backward = phases->backward,
								    .optimizer = phases->optimizer,
								    .data = phases->data});
}

void report_shortage(struct report *report, const struct arena_shortage *shortage)
{
	infrarsi_oom(&report->hook, shortage->requested, shortage->available, shortage->capacity);
}

void report_end(struct report *report)
{
	infrarsi_end(&report->hook);
}
