/* Between the readers and the machinery that feeds them. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_READER_INT_H
#define INFRARSI_ADAPTER_READER_INT_H

#include "adapter/log.h"
#include "base/base.h"

/* A line made fit to read: UTF-8 BOM, ANSI escapes and NUL bytes are gone, so are a carriage return at the
 * end and what a collector puts before a line (docker's JSON, ISO time stamps, "[rank0]:", "[default3]:",
 * "(TaskRunner pid=1)", "0: " of srun). A progress bar that is redrawn with \r is one line in the file; each
 * drawing is offered by itself with the same number. */
struct log_line {
	const char *text; /* NUL-terminated */
	size_t length;
	const char *raw; /* with its collector's prefixes; NUL-terminated */
	long number;     /* 1-based; only \n ends a line */
	int rank;        /* global rank from the prefix; -1 = not told */
	uint32_t source; /* differs between writers that the prefix tells apart (host, rank); 0 = not told */
	bool redrawn;    /* a drawing of a progress bar that was drawn over */
	bool cut;        /* longer than LOG_LINE_MAX */
	bool torn;       /* another rank's prefix stands in the middle: it wrote into this line */
	bool unended;    /* the log stops in it, without \n */
	struct line_parts *parts; /* that several readers want: line_parts_int.h */
};

struct reader;

struct reader_ops {
	const char *name; /* "megatron" */
	/* Lower-case literals, NULL at the end: a line without any of them is not offered. Kept long enough
	 * to be rare in other text: they are looked for in one pass over the log together with all others, in
	 * any case. */
	const char *const *anchors;
	/* reader->noticed says whether the line has one of these, so that a step's line need not be searched
	 * for the words of all others. They offer no line: those that should are anchors as well. NULL =
	 * none. */
	const char *const *notices;
	size_t state_size; /* of the reader's own state, zeroed */
	void (*line)(struct reader *reader, const struct log_line *line);
	void (*finish)(struct reader *reader); /* may be NULL */
	/* Between readers that have recognised the log and read steps: the larger. READER_LOOP: any training
	 * loop of one's own; READER_ENGINE: a library below a trainer (DeepSpeed); READER_TRAINER;
	 * READER_DIALECT: more special than a trainer whose lines it shares (TRL over the HF Trainer). */
	int priority;
};
enum {
	READER_AUXILIARY = -1, /* never chosen: its facts are added to the chosen one's */
	READER_LOOP = 0,
	READER_ENGINE = 10, /* its memory and overflows are added, too, where a trainer is chosen */
	READER_TRAINER = 20,
	READER_DIALECT = 30,
};

/* A reader at work. All readers read the same log side by side. Chosen is, in this order: one that has
 * recognised the log for certain (evidence of READER_CERTAIN), one with steps, the higher priority, the more
 * evidence. One without any evidence is never chosen. A chosen trainer without steps of its own takes those
 * of the general reader of key=value lines ("ddp"). */
enum { READER_CERTAIN = 10 };
struct reader {
	const struct reader_ops *ops;
	void *state;
	struct log_summary *facts; /* of this reader; steps are added by reader_step() only */
	size_t evidence;
	struct log_scan *scan;
	struct step_index *index; /* of reader.c */
	long last_step;           /* position of the step that reader_step() gave last; -1 = none */
	size_t n_dropped;         /* of facts->steps: they turned out to be damaged */
	bool touched;             /* the line at hand added to it */
	bool noticed;             /* the line at hand has one of ops->notices */
};

extern const struct reader_ops *const readers[]; /* NULL at the end; readers.c */

extern const struct reader_ops reader_accelerate, reader_composer, reader_ddp, reader_deepspeed,
	reader_elastic, reader_fairseq, reader_gpt_neox, reader_hf_trainer, reader_lightning, reader_litgpt,
	reader_llama_factory, reader_llmc, reader_maxtext, reader_megatron, reader_megatron_deepspeed,
	reader_memory_summary, reader_mllog, reader_nanogpt, reader_nanotron, reader_nemo, reader_torchtitan,
	reader_torchtune, reader_trl, reader_verl;

/* The record of a step: new, or known. A number that comes again is another rank's or logger's copy
 * (LOG_DUPLICATE_STEPS) and gives the known step back: fill what it lacks; or the job began again
 * (LOG_RESTARTED) and the known step comes back emptied. Never NULL (beyond LOG_MAX_STEPS a scratch step).
 * The pointer is good until the next call of reader_step() or reader_add_to_step(). */
struct log_step *reader_step(struct reader *reader, long step, const struct log_line *line);
/* The same for a further kind of line about a step (DeepSpeed's timer line behind "step=10"): never a
 * duplicate. */
struct log_step *reader_add_to_step(struct reader *reader, long step, const struct log_line *line);
/* The step that reader_step() gave last, to add to; NULL = none. */
struct log_step *reader_last_step(struct reader *reader);
/* Gives it another number, where it has been told with too small a one; false: there is a step of that
 * number. */
bool reader_correct_last_step(struct reader *reader, long step);
/* The step with this number, as it has been read; NULL = none. */
struct log_step *reader_find_step(struct reader *reader, long step);
/* Sets what is absent, where there is a value. */
static inline void fill_number(struct opt_number *slot, struct opt_number value)
{
	if (!slot->has && value.has)
		*slot = value;
}

static inline void fill_value(struct opt_number *slot, double value)
{
	if (!slot->has)
		*slot = (struct opt_number){true, value};
}

/* The larger one. */
static inline void fill_largest(struct opt_number *slot, double value)
{
	if (!slot->has || value > slot->value)
		*slot = (struct opt_number){true, value};
}

/* The line is of this framework. Weight 1: typical; READER_CERTAIN: no other framework writes it. */
void reader_recognise(struct reader *reader, unsigned weight);
void reader_flag(struct reader *reader, enum log_flag flag);
void reader_completed(struct reader *reader, bool completed);
/* The launcher starts the job again: the next step belongs to a new run, of whatever number it is. */
void reader_launched_again(struct reader *reader);
/* A step line that is torn or does not parse: the step is dropped (LOG_TORN_RECORD). */
void reader_damaged(struct reader *reader, long step);
/* A step that was added turns out to be damaged: it is taken out again. */
void reader_drop_step(struct reader *reader, long step);
void reader_peak_memory(struct reader *reader, double bytes, const char *kind); /* the largest is kept */

/* ---- values in text (values.c) ---- */

/* A number at the start of text behind blanks: 1.5, 1,204, 1e-5, nan, -inf, NaN, "nan.0", np.float64(0.5),
 * tensor(0.5), a trailing % not included. Returns how many bytes it took; 0 = there is none. */
size_t read_number(const char *text, double *ret_value);
/* The same times a power of ten, rounded once: 4120.7 with -3 is exactly 4.1207. For ms, percent, kilo. */
size_t read_number_scaled(const char *text, int power_of_ten, double *ret_value);
/* A number with a K, M, G, B or T (powers of 1000) directly behind it. */
size_t read_scaled(const char *text, double *ret_value);
/* Such a letter directly behind a value that has been read: multiplies it. Returns how many bytes it took. */
size_t read_scale(const char *text, double *value);
/* An amount of memory with its unit ("41.37GB", "79.10GiB", "23552.0 MiB", "0 bytes", "21.95G"): bytes. KB,
 * MB, GB and K, M, G count 1024 when binary, else 1000; KiB, MiB, GiB always 1024. 0 = none. */
size_t read_memory(const char *text, bool binary, double *ret_bytes);
/* The text behind the first `key` in line and its ':' or '=' that does not continue a word or a path of words
 * ("loss" is not found in "lm loss: 2" unless asked for so, nor in "val_loss"); NULL = absent. Case counts.
 */
const char *value_of(const char *line, const char *key);
/* The number behind the first such key that a number follows; absent when there is none. */
struct opt_number number_of(const char *line, const char *key);
/* The same times a power of ten: -3 makes seconds of milliseconds. */
struct opt_number scaled_number_of(const char *line, const char *key, int power_of_ten);
/* A value of a Python or JSON dictionary printed in the line: 'loss': 2.1 or "loss": 2.1 or "loss": "2.1". */
struct opt_number dictionary_number(const char *line, const char *key);
/* A tqdm bar in the line: done/total. */
struct progress_bar {
	long done, total;
	double elapsed_s;
	const char *postfix; /* behind the rate and its comma, with the closing bracket; "" = none */
};
bool read_progress_bar(const char *line, struct progress_bar *ret_bar);

#endif
