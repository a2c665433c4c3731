/*
 * What names mean in a Python training job, and what the Python rules ask of a change. Calls are told apart
 * by their name and by what they are called on: `optimizer.step()` updates, `profiler.step()` does not.
 */
#ifndef INFRARSI_AUDIT_PYTHON_H
#define INFRARSI_AUDIT_PYTHON_H

#include "audit/audit_int.h"

/* ---- what a call does (py_names.c) ---- */

/* What an update consists of: a lost call can only be made up for by one of its own trade. */
enum py_trade {
	PY_NO_TRADE,
	PY_BACKWARD,
	PY_STEP,
	PY_CLIP,
	PY_ZERO,
	PY_COLLECTIVE,
	PY_AVERAGE,  /* moving averages of weights */
	PY_SCHEDULE, /* learning rates */
	PY_SCALER,
	PY_TERM /* auxiliary losses, decay */
};

enum py_trade py_trade(const struct fact *call);
bool py_is_update(const struct fact *call);
bool py_is_work(const struct fact *call); /* forward, loss, layers */
bool py_is_load(const struct fact *call); /* batches and rows */
bool py_is_random(const struct fact *call);
bool py_is_clock(const struct fact *call);
bool py_is_wait(const struct fact *call);
bool py_is_quiet(const struct fact *call); /* logs, formats, converts: where it stands does not matter */
bool py_is_report(const struct fact *call);
bool py_recomputes(
	const struct fact *call);         /* checkpoint(f, x) and its kin, which run what they are handed */
bool py_is_wrapper(const char *name);     /* DistributedDataParallel and the like, which reduce gradients */
bool py_is_constructor(const char *name); /* begins with a capital */
bool py_is_data_name(const char *name);   /* x, batch, labels, hidden: what tensors of a step are called */
bool py_is_size_name(const char *name);   /* batch_size, n_layer, top_k */
/* Of an existing trade or both work, or both loading. */
bool py_same_trade(const struct fact *a, const struct fact *b);

/* "step" of "Trainer.step" */
const char *py_short(const char *qualified);
bool py_is_forward(const char *function); /* forward, training_step, compute_loss */
bool py_is_update_function(const char *function);
bool py_is_evaluation(const char *function);
/* Layers, losses, updates, clipping, schedules. */
bool py_computes_update(const char *function);

/* ---- what a fact is (py_texts.c) ---- */

bool py_is(const struct fact *f, enum fact_kind kind, const char *name);
bool py_is_new(const struct fact *f, enum fact_kind kind); /* without a twin */
bool py_was_here(const struct fact *f);                    /* has a twin in its own function */
bool py_is_option(const struct fact *f);                   /* a keyword argument, an entry, a default */
bool py_is_assignment(const struct fact *f);               /* of a variable, also += */
bool py_sets(const struct fact *f);                        /* = */
bool py_is_exit(const struct fact *f, const char *keyword);
bool py_is_statement(const struct fact *call); /* a call whose value nobody takes */
bool py_is_off(const char *value);             /* False, None */
const char *py_last(const char *text);         /* the last token */
/* A call of that name on something that could be an optimizer. */
struct fact py_imagined_call(const char *name);

/* ---- texts (py_texts.c) ---- */

/* Whether a condition depends on how far training has come; micro-steps and limits alone do not. */
bool py_depends_on_step(const char *condition);
/* Arbitrary: a period, chance, the clock. */
bool py_is_arbitrary(const char *condition);
/* i % 2, where i counts a loop around: what comes only in some turns; and what chance decides. */
bool py_is_periodic(const struct fact *at, const char *condition);
bool py_text_has_any(const char *text, const char *const *tokens, size_t n);
bool py_name_has_any(const char *name, const char *const *parts, size_t n); /* as part of it, in any case */
/* A literal: number, string, True, False, None, float("inf"), a tuple of these. */
bool py_is_literal(const char *text);
/* A number, also 1e9, float("inf") and -1; NaN when it is none. */
double py_number(const char *text);
/* Names an earlier or smoothed value. */
bool py_is_stale(const char *text);
/* The texts are the same but for .item(), .detach(), float() and the like. */
bool py_same_but_for_reading(const char *a, const char *b);
/* The texts are the same but for names, and each name of the one was given what its counterpart was given. */
bool py_same_but_for_names(const struct change *change, const struct fact *old, const struct fact *now);
/* An operator or function that makes less of something: //, -, min, int(... *), >>. */
bool py_has_cut(const char *text);
/* `now` is `base` with such an operator around it. */
bool py_cuts(const char *now, const char *base);

enum { PY_ARGUMENT_CAP = 120 };
/* The next argument of "a , b ( c ) )" from *at; false at the end. */
bool py_next_argument(const char **at, char text[PY_ARGUMENT_CAP]);

/* ---- places (py_places.c) ---- */

enum py_weight { PY_HARMLESS, PY_DOUBTFUL, PY_DECISIVE };

/* The function was there before. */
bool py_existed_function(const struct change *change, const char *function);
bool py_function_remains(const struct change *change, const char *function);
/* How much a condition that is new around work matters. */
enum py_weight py_weigh(const struct change *change, const struct fact *f, const struct guard *guard);
/* The weightiest condition around `now` that was not around `before` and that leaves the work out. */
const struct guard *py_added_guard(const struct change *change, const struct fact *before,
	const struct fact *now, enum py_weight *ret_weight);
/* The other parts of the statement that the guard belongs to do work of the same trade. */
bool py_is_done_otherwise(const struct change *change, const struct fact *f, const struct guard *g);
/* Nothing but logging, timing and new variables happens in `node`. */
bool py_only_logs(const struct change *change, const struct source *source, TSNode node);
/* (py_placement.c) Calls of the kind that are gone, conditional, or in fewer loops. */
void py_check_placement(struct change *change, bool (*is)(const struct fact *call), const char *what);
/* The change records a device graph and replays it. */
bool py_replays_graph(const struct change *change);
/* The value that is last given to a plain variable of the function, else the text itself. */
const char *py_resolve(
	const struct change *change, const struct fact *at, const char *text, bool *ret_is_resolved);
/* A smaller number, a number in place of an expression, or `base` cut (also through one variable). */
bool py_is_less(const struct change *change, const struct fact *at, const char *now, const char *base);
const struct fact *py_find(const struct change *change, bool in_new, enum fact_kind kind, const char *name,
	const char *function);
/* Uses of a name in a function (NULL: anywhere) of one version. */
size_t py_count_uses(const struct change *change, bool in_new, const char *name, const char *function);

/* What the first name of a dotted text stands for by the imports: "np . save" is "numpy.save". Without
 * blanks. */
void py_full_name(const struct change *change, const struct fact *at, const char *receiver, const char *name,
	char *ret_text, size_t size);

/* A mask, softmax or dropout of an attention for which one fused call, causal and with that dropout, came. */
bool py_is_fused_attention(const struct change *change, const struct fact *gone);

/* checkpoint(f, x) if c else f(x) became f(x), or torch.compile(f) became f. */
bool py_drops_recomputation(const char *before, const char *now);

/* Of the old version: computed for the log alone, as an argument of print() or in a variable that goes there.
 */
bool py_was_logged_only(const struct change *change, const struct fact *old);

/* A name that is handed to the hook as a result. */
bool py_is_reported(const struct change *change, const char *name);

/* Parts of rules with files of their own. */
void py_check_families(struct change *change);    /* A3: optimizers and schedules */
void py_check_counters(struct change *change);    /* A8: counters, printed results, memory */
void py_check_gradients(struct change *change);   /* A3: no_grad, detach, frozen parameters, no_sync */
void py_check_order(struct change *change);       /* A3: the order of an update's parts */
void py_check_slices(struct change *change);      /* A4: tensors and iterables cut */
void py_check_loops(struct change *change);       /* A4 */
void py_check_masks(struct change *change);       /* A4: windows, tokens by rank, targets */
void py_check_expressions(struct change *change); /* A4: parts of expressions, layers */
void py_check_steps(struct change *change);       /* A4: statements, layers and transformations gone */
void py_check_imports(struct change *change);     /* A11 */
void py_check_patching(struct change *change);    /* A11: attributes of modules and objects replaced */

#endif
