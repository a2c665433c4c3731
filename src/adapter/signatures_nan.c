/* Values that are not finite, by the words of those who look for them. Steps with such values are judged by
 * their numbers (failure_steps.c). */
#include "base/base.h"

#include "adapter/signatures_int.h"

#define NOT_FINITE(pattern, flags)                                                                           \
	{                                                                                                    \
		pattern, FAILURE_NAN, STRENGTH_CAUSE, flags, NULL, ACT_NONE, 0, 0                            \
	}
/* A value may stand here: the line is looked at closely. */
#define PERHAPS(pattern)                                                                                     \
	{                                                                                                    \
		pattern, FAILURE_NAN, STRENGTH_NOTHING, SIG_END, NULL, ACT_NOT_FINITE, 0, 0                  \
	}

static const struct signature rows[] = {
	/* fp16: DeepSpeed's and fairseq's loss scalers, Megatron's */
	NOT_FINITE("loss scale already at minimum", 0),
	NOT_FINITE("minimum loss scale reached", 0),
	NOT_FINITE("loss scale is at minimum", SIG_RAISED),
	/* Megatron: core/rerun_state_machine.py, param_and_grad_buffer.py, utils.py */
	NOT_FINITE("unexpected result nan", 0),
	NOT_FINITE("unexpected result inf", 0),
	NOT_FINITE("found nan in", SIG_PROSE),
	NOT_FINITE("found inf in", SIG_PROSE),
	/* detectron2, JAX debug_nans, PyTorch's clip_grad_norm_, anomaly mode and distributions, Lightning,
	 * Keras, TensorFlow, Composer, DETR and MAE, timm, mmengine, icefall, NeMo, ultralytics, fairseq,
	 * Paddle */
	NOT_FINITE("loss became infinite or nan", 0),
	NOT_FINITE("floatingpointerror", SIG_RAISED),
	NOT_FINITE("invalid value (nan) encountered", 0),
	NOT_FINITE("invalid value (inf) encountered", 0),
	NOT_FINITE("is non-finite, so it cannot be clipped", 0),
	NOT_FINITE("returned nan values in its", SIG_RAISED),
	NOT_FINITE("but found invalid values:", SIG_RAISED),
	NOT_FINITE("probability tensor contains either `inf`, `nan`", SIG_RAISED),
	NOT_FINITE("the loss returned in `training_step` is nan", 0),
	NOT_FINITE("the loss returned in `training_step` is inf", 0),
	NOT_FINITE("detected nan and/or inf values in", 0),
	NOT_FINITE("invalid loss, terminating training", SIG_CLEAN),
	NOT_FINITE("nan loss during training", 0),
	NOT_FINITE("nanlossduringtrainingerror", 0),
	NOT_FINITE("tensor had nan values", 0),
	NOT_FINITE("tensor had inf values", 0),
	NOT_FINITE("tensor had inf and nan values", 0),
	NOT_FINITE("loss contains a nan", 0),
	NOT_FINITE("loss is nan", SIG_CLEAN | SIG_END | SIG_PROSE),
	NOT_FINITE("loss is inf", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss is -inf", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss was nan", SIG_CLEAN | SIG_END | SIG_PROSE),
	NOT_FINITE("loss became nan", SIG_CLEAN | SIG_END | SIG_PROSE),
	NOT_FINITE("loss became inf", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss diverged to nan", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss is not finite", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss is non-finite", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("loss is infinite or nan", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("non-finite loss", SIG_CLEAN | SIG_PROSE),
	NOT_FINITE("nan loss", SIG_CLEAN | SIG_WORD | SIG_PROSE),
	NOT_FINITE("nan or inf found in input tensor", 0),
	NOT_FINITE("gradients are nan", SIG_PROSE),
	NOT_FINITE("nan detected in", SIG_PROSE),
	NOT_FINITE("nan or inf detected in", SIG_PROSE),
	NOT_FINITE("there are nan or inf (num_nan=", 0),

	/* apex.amp skips the update and goes on */
	{"gradient overflow.  skipping step", FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_NONE, 0,
		1u << LOG_OVERFLOW_SKIPS},
	/* DeepSpeed where nothing raises: every update overflows although the scale is at its minimum */
	{"attempted loss scale: ", FAILURE_NAN, STRENGTH_NOTHING, SIG_ANY_LEVEL, NULL, ACT_LOSS_SCALE, 0, 0},

	PERHAPS(": nan"),
	PERHAPS(": -nan"),
	PERHAPS("=nan"),
	PERHAPS("= nan"),
	PERHAPS("=-nan"),
	PERHAPS(":nan"),
	PERHAPS("(nan"),
	PERHAPS("loss nan"),
	PERHAPS("loss -nan"),
	PERHAPS("norm nan"),
	PERHAPS("norm -nan"),
	PERHAPS("=inf"),
	PERHAPS("': inf"),
	PERHAPS("\": inf"),
	PERHAPS("loss: inf"),
	PERHAPS("norm: inf"),
	PERHAPS("loss inf"),
	PERHAPS("norm inf"),
	PERHAPS("  nan"), /* padded, as TorchTitan has it */
	PERHAPS("  -nan"),
	PERHAPS("  inf"),
	PERHAPS("loss:inf"),
	PERHAPS("1.#qnan"),
	PERHAPS("1.#ind"),
	PERHAPS("1.#inf"),
};

const struct signature_table signatures_nan = {rows, ARRAY_LEN(rows)};
