#include "train.h"

#include "corpus.h"
#include "optimizer.h"

#include <stdio.h>
#include <string.h>

struct trainer {
	struct context context;
	struct model model;
	struct optimizer optimizer;
	struct corpus corpus;
	struct report *report;
	struct phases phases;
	double balance;
	int *ids; /* of one micro-batch */
};

static void load_rows(struct trainer *trainer, int step, int first)
{
	int length = trainer->context.config->seq_len + 1, row;
	double clock = clock_seconds();

	for (row = 0; row < trainer->context.rows; row++) {
		int *ids = trainer->ids + row * length;

		corpus_row(&trainer->corpus, step, first + row, ids, length);
		report_row(trainer->report, ids, length);
	}
	clock_charge(&trainer->phases.data, &clock);
}

/* One optimizer step over the global batch; everything but the time is filled in. */
static struct update run_update(struct trainer *trainer, int step)
{
	const struct settings *settings = trainer->context.settings;
	struct update update = {.step = step, .is_first = step == 1};
	struct model *model = &trainer->model;
	double loss = 0, clock;
	int micro;

	memset(&trainer->phases, 0, sizeof(trainer->phases));
	trainer->balance = 0;
	clock = clock_seconds();
	storage_clear(&model->gradients);
	clock_charge(&trainer->phases.optimizer, &clock);
	for (micro = 0; micro < settings->grad_accum; micro++) {
		load_rows(trainer, step, micro * settings->micro_batch);
		loss += model_run(&trainer->context, model, trainer->ids);
		update.tokens += trainer->context.tokens;
	}
	clock = clock_seconds();
	update.rate = optimizer_rate(step, settings->steps);
	update.grad_norm = optimizer_step(&trainer->optimizer, &trainer->context, model, update.rate);
	clock_charge(&trainer->phases.optimizer, &clock);
	update.loss = loss / update.tokens;
	update.balance = trainer->balance;
	update.peak_bytes = trainer->context.arena->peak;
	return update;
}

static void print_update(const struct update *update, int total)
{
	printf("step %d/%d loss %.4f balance %.4f grad_norm %.3f lr %.1e time %.1f ms tok/s %.0f mem %.1f MiB\n",
	       update->step, total, update->loss, update->balance, update->grad_norm, update->rate,
	       1e3 * update->step_s, update->tokens / update->step_s, (double)update->peak_bytes / (1 << 20));
	fflush(stdout);
}

static void trainer_init(struct trainer *trainer, const struct config *config, const struct settings *settings,
			 struct arena *arena)
{
	size_t length = (size_t)settings->micro_batch * (config->seq_len + 1);

	trainer->context = (struct context){.arena = arena,
					    .config = config,
					    .settings = settings,
					    .matmul = settings->matmul,
					    .phases = &trainer->phases,
					    .balance = &trainer->balance,
					    .rows = settings->micro_batch,
					    .tokens = settings->micro_batch * config->seq_len};
	trainer->corpus = (struct corpus){settings->seed, config->vocab, settings->global_batch};
	model_init(&trainer->model, arena, config, settings->storage, settings->seed);
	optimizer_init(&trainer->optimizer, arena, &trainer->model, settings);
	trainer->ids = arena_ints(arena, length, "token ids");
}

void train(const struct config *config, const struct settings *settings, struct arena *arena, struct report *report)
{
	struct trainer trainer = {.report = report};
	double clock;
	int step;

	trainer_init(&trainer, config, settings, arena);
	printf("parameters %zu, active %zu; micro-batch %d x %d; capacity %d MiB\n", trainer.model.parameter_count,
	       trainer.model.active_count, settings->micro_batch, settings->grad_accum, settings->capacity_mib);
	report_start(report, &trainer.model, settings);
	clock = clock_seconds();
	for (step = 1; step <= settings->steps; step++) {
		struct update update = run_update(&trainer, step);

		clock_charge(&update.step_s, &clock);
		print_update(&update, settings->steps);
		report_update(report, &update, &trainer.phases);
	}
	report_end(report);
}
