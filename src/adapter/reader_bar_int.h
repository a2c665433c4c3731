/*
 * Progress bars of tqdm as step records. A bar is drawn several times a step: when its count moves, still
 * with the values of the step before, and when its values are set. And with gradient accumulation the values
 * of the next step's first micro-batches are drawn under the count of this one. So the values of count n are
 * those of the first drawing with n whose values differ from the last ones drawn before n; where none differ,
 * those.
 */
#ifndef INFRARSI_ADAPTER_READER_BAR_INT_H
#define INFRARSI_ADAPTER_READER_BAR_INT_H

#include "adapter/reader_fields_int.h"
#include "base/base.h"

/* Bars without a total, which read_progress_bar() does not read: "5it [00:02, 2.00it/s, loss=2.1]",
 * "5/? [00:02<?, ...]". total is then 0. */
bool bar_read_open(const char *text, struct progress_bar *ret_bar);
/* "loss=3.41, lr=0.0001]": pairs with '='. A bar that the terminal's width has cut has no bracket at its end:
 * its last value may be half of one and is not given. Returns false at the end. */
bool bar_next_value(const char **position, struct field *ret_field);
/* What the keys of bars mean, as found out before: a bar has the same few in every drawing. All zeros at
 * first. */
enum { BAR_KEYS = 16, BAR_KEY_MAX = 32 };
struct bar_keys {
	struct bar_key {
		size_t length; /* 0 = none yet */
		char text[BAR_KEY_MAX];
		enum field_slot slot;
		unsigned rank;
	} items[BAR_KEYS];
};
/* Loss, gradient norm and learning rate of a bar under the names that people give them: "loss", "train_loss",
 * "train/loss_step", "grad_norm", "lr". Of several losses that of the step is taken; those of validation, of
 * epochs and of parts of a model are not. */
void bar_values(const char *postfix, struct bar_keys *keys, struct field_set *ret_set);

struct bar_progress {
	long done;       /* count of the last drawing */
	uint64_t shown;  /* hash of its values */
	uint64_t before; /* hash of the values drawn last under another count */
	bool begun;
	bool settled;  /* values of its own have been seen for this count */
	bool one_draw; /* this bar moves on and shows new values in one drawing */
	bool first;    /* only one count has been seen */
	long drawings; /* of this count */
};
enum bar_change {
	BAR_SAME,    /* nothing new */
	BAR_FORWARD, /* the count moved on; its values may still be those of the count before */
	BAR_BACK,    /* a lower count: the bar was started again */
	BAR_VALUES,  /* the same count, and only now its own values */
};
/* values: the postfix, or whatever of the line holds the values. */
enum bar_change bar_advance(struct bar_progress *progress, long done, const char *values);
/* The last count was drawn with the values of the one before and never again: its own are unknown. */
bool bar_is_stale(const struct bar_progress *progress);

#endif
