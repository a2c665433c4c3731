/*
 * What the Trainer of transformers prints, and every trainer built on it: one dictionary for each logging
 * step (written over a tqdm bar, or printed where bars are off), one at the end of training. The dictionaries
 * of training carry no step number: it is that of the bar, or counted.
 *
 *   4.x   {'loss': 2.119, 'grad_norm': 37.65, 'learning_rate': 4e-05, 'epoch': 0.2}
 *   5.x   {'loss': '2.119', 'grad_norm': '37.66', 'learning_rate': '4e-05', 'epoch': '0.2'}
 *   2.x   {"loss": 2.119, "learning_rate": 4e-05, "epoch": 0.2, "step": 500}
 *   end   {'train_runtime': 11.2, 'train_samples_per_second': 14.3, 'train_loss': 1.63, 'epoch': 1.0}
 *
 * A dialect is a trainer that adds keys of its own (TRL) or prints its own name (LLaMA-Factory): its reader
 * claims the log only when it has seen one of them.
 */
#ifndef INFRARSI_ADAPTER_READER_HF_INT_H
#define INFRARSI_ADAPTER_READER_HF_INT_H

#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"
#include "base/base.h"

struct hf_dialect {
	const char *const
		*keys; /* of a dictionary; one that ends with '/' is a prefix; NULL = the Trainer itself */
	const char *const *words; /* in any line */
	long shows_within;        /* so many records; a log without is not its */
};

/* The dictionary that was read last, for another logger's copy of it. */
struct hf_record {
	long step;
	struct opt_number loss, epoch;
	bool logged; /* behind a logger's prefix, not bare */
	bool merged; /* with its copy */
};

struct hf_state {
	bool confirmed;     /* the dialect is */
	unsigned unclaimed; /* evidence until then */
	bool has_bar;       /* a bar of training, as far as one can tell */
	long bar_done, bar_total, bar_line;
	long bar_moves; /* bars without any dictionary are some evidence too */
	bool bars_recognised;
	long total;           /* of training steps; 0 = not known yet */
	long announced_total; /* "Total optimization steps = 5" */
	long resumed_at;      /* "Continuing training from global step 500" */
	long logging_steps;   /* as an argument that the log shows; 0 = not shown */
	long end_step;        /* TrainOutput(global_step=3, ...) */
	long n_records;
	long counted; /* records that had to be counted */
	long guessed; /* records whose bar said no new number */
	double bar_elapsed_s;
	bool refresh_due; /* tqdm.write() draws the bar anew behind the record that it printed */
	bool has_last;
	struct hf_record last;
	uint32_t source; /* of the first record: further nodes print the same */
};

/* ---- between reader_hf.c and reader_hf_steps.c ---- */

struct progress_bar;
void hf_take_bar(struct reader *reader, const struct log_line *line, const struct progress_bar *bar);
/* logged: behind a logger's prefix, not bare: two loggers print the same record. */
void hf_take_record(
	struct reader *reader, const struct log_line *line, const struct field_set *set, bool logged);
/* A dictionary that another process or the end of the log cut: its step is known to be lost. */
void hf_drop_record(struct reader *reader, const struct log_line *line);

/* ---- for the readers ---- */

/* Of lines that are neither records nor bars: anchors of every reader, */
#define HF_NOTICES                                                                                           \
	"total optimization steps", "continuing training from", "trainoutput(", "***** train metrics",       \
		"***** running training", "training completed. do not forget", "logging_steps"
/* and what else is looked for in a line. */
#define HF_FURTHER_NOTICES "[info|trainer.py:", "  train_runtime "

void hf_line(struct reader *reader, const struct hf_dialect *dialect, const struct log_line *line);
void hf_finish(struct reader *reader);

#endif
