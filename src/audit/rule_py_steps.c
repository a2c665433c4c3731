/* A4 for Python: whole steps of a computation that are gone: augmentation, terms of a loss, layers, wrappers;
 * inputs made smaller. */
#include "base/base.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- statements ---- */

static bool is_reading(const char *name)
{
	static const char *const names[] = {"item", "detach", "float", "cpu", "clone", "contiguous", "to",
		"cuda", "double", "numpy", "tolist", "view", "reshape", "squeeze", "unsqueeze", "flatten",
		"pin_memory", "long", "device", "non_blocking", "True", "False", "self", "int", "torch",
		"size", "shape", "dim", "None"};
	return IN(name, names);
}

/* A name of the statement that its function no longer uses; "" when all of them are still there. */
static bool loses_a_name(const struct change *change, const struct fact *f)
{
	struct token t;
	for (const char *at = f->value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (text_has_identifier(name) && !is_reading(name) && strcmp(name, f->init) != 0 &&
			py_count_uses(change, true, name, f->function) <
				py_count_uses(change, false, name, f->function))
			return true;
	}
	return false;
}

/* Something that is new in the function computes: the step may have been put into it. */
static bool is_taken_over(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && same_function(f, gone) && !py_is_quiet(f) &&
			!is_reading(f->name))
			return true;
	}
	return false;
}

/* q = q.view(b, t, h, d).transpose(1, 2): nothing is computed. */
static bool only_lays_out(const struct fact *f)
{
	static const char *const layouts[] = {"view", "reshape", "transpose", "permute", "contiguous",
		"unsqueeze", "squeeze", "flatten", "unflatten", "unbind", "movedim", "swapaxes", "expand",
		"view_as", "expand_as", "reshape_as", "size", "t", "mT"};
	const struct source *s = f->source;
	bool lays = false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *g = &s->facts[i];
		if (!node_contains(f->node, g->node))
			continue;
		if ((g->kind == FACT_CALL && !IN(g->name, layouts)) || g->kind == FACT_SLICE ||
			g->kind == FACT_BRANCH)
			return false;
		lays |= g->kind == FACT_CALL;
	}
	return lays;
}

/* The same step under other names. */
static bool is_renamed(const struct change *change, const struct fact *gone)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_assignment(f) && !f->same && same_function(f, gone) &&
			py_same_but_for_names(change, gone, f))
			return true;
	}
	return false;
}

/* images = mixup(images), loss = loss + penalty, x += noise */
static bool is_step_on(const struct fact *f)
{
	if (f->kind != FACT_ASSIGN || f->op[0] == ':' || py_is_literal(f->value))
		return false;
	bool adds = f->op[1] == '=' && f->op[0] != '=' && !py_depends_on_step(f->name);
	return adds || text_contains(f->value, f->init);
}

static void check_statements(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_step_on(f) || f->twin || py_is_evaluation(f->function) ||
			word_in(f->name, WORDS_TIME) || !py_function_remains(change, f->function) ||
			!spend(change, change->n_new))
			continue;
		bool plain = !strchr(f->init, ' ');
		bool dead = plain && py_count_uses(change, false, f->name, f->function) <= 2;
		if (!loses_a_name(change, f) || dead || py_is_fused_attention(change, f) ||
			only_lays_out(f) || is_renamed(change, f))
			continue;
		report(change, is_taken_over(change, f) ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			"a step of the computation is gone");
	}
}

/* ---- objects ---- */

static bool is_infrastructure(const char *name)
{
	static const char *const parts[] = {"Event", "Stream", "Thread", "Queue", "Timer", "Logger", "Profil",
		"GradScaler", "Lock", "Path", "Error", "Exception", "Writer", "Meter", "Config", "Args",
		"Parser", "Tensor", "Counter", "Hook", "Interrupt", "Warning", "Device", "Backend",
		"Tokenizer", "Iteration", "Exit", "CUDAGraph", "Pool", "Dict", "List", "Tuple", "Optional",
		"Any", "Namespace", "Prefetch", "Loader", "Cache"};
	return HAS(name, parts);
}

/* nn.LayerNorm(d), transforms.ColorJitter(...), DistributedDataParallel(model) */
static bool is_lost_object(const struct change *change, const struct fact *f)
{
	return py_is_new(f, FACT_CALL) && (py_is_wrapper(f->name) || py_is_constructor(f->name)) &&
	       !is_infrastructure(f->name) && !py_is_update(f) && !py_is_evaluation(f->function) &&
	       py_function_remains(change, f->function) && spend(change, change->n_new);
}

/* A new or changed object of the kind; what stood around the lost one does not count. */
static bool may_replace(const struct fact *f, const struct fact *lost)
{
	bool same_kind = py_is_wrapper(lost->name)
				 ? py_is_wrapper(f->name)
				 : py_is_constructor(f->name) && !is_infrastructure(f->name);
	bool around = f->twin && node_contains(f->twin->node, lost->node);
	bool random = strstr(lost->name, "Random") && !strstr(f->name, "Random");
	return f->kind == FACT_CALL && !f->same && !around && same_kind && !random;
}

static void check_objects(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!is_lost_object(change, f))
			continue;
		bool other = false;
		for (size_t k = 0; k < change->n_new && !other; k++)
			other = may_replace(change->new[k], f);
		report(change, other ? AUDIT_REVIEW : AUDIT_BLOCK, f,
			py_is_wrapper(f->name) ? "nothing reduces the gradients any more"
					       : "a layer or a transformation is gone");
	}
}

/* ---- inputs ---- */

static void check_inputs(struct change *change)
{
	static const char *const names[] = {"interpolate", "avg_pool1d", "avg_pool2d", "max_pool1d",
		"max_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "resize", "downsample",
		"subsample", "decimate", "unfold", "truncate"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || f->twin || !IN(f->name, names) || py_is_evaluation(f->function))
			continue;
		bool data = false;
		struct token t;
		for (const char *at = f->text; next_token(&at, &t);) {
			char name[60] = "";
			memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
			data |= py_is_data_name(name) && existed(change, FACT_NAME, name);
		}
		if (data)
			report(change, AUDIT_BLOCK, f, "inputs are made smaller");
	}
}

/* ---- constants ---- */

static bool is_free(const char *name)
{
	static const char *const parts[] = {"chunk", "tile", "block", "bucket", "workers", "prefetch",
		"buffer", "threads", "log", "print", "warps", "stages", "cache", "queue", "timeout",
		"interval", "every", "align", "pool", "num_ctas", "version", "port"};
	return HAS(name, parts) || word_in(name, WORDS_TIME);
}

static void check_constants(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool plain = f->kind == FACT_ASSIGN && f->op[0] == '=' && !f->same && f->twin &&
			     same_function(f, f->twin) && !strchr(f->init, ' ') && !f->loops;
		if (!plain || is_free(f->name))
			continue;
		double now = py_number(f->value), was = py_number(f->twin->value);
		if (!isnan(now) && !isnan(was) && now != was)
			report(change, AUDIT_REVIEW, f, "a constant of the job changed");
	}
}

/* scale = min(1, limit / norm) became scale = 1.0 */
/* total = 0.0, and then total += ... */
static bool begins_sum(const struct change *change, const struct fact *zero)
{
	if (py_number(zero->value) != 0)
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f != zero && py_is_assignment(f) && strcmp(f->init, zero->init) == 0 &&
			same_function(f, zero))
			return true;
	}
	return strstr(zero->twin->value, "zeros") != NULL;
}

static void check_computed(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_sets(f) || f->same || !py_was_here(f) || !f->function[0] || is_free(f->name) ||
			py_is_evaluation(f->function))
			continue;
		bool fixed = !isnan(py_number(f->value)) && !py_is_literal(f->twin->value) &&
			     text_has_identifier(f->twin->value);
		if (fixed && !begins_sum(change, f))
			report(change, py_computes_update(f->function) ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"what was computed is given a constant");
	}
}

/* gelu(x) became relu(x). */
static void check_cheaper(struct change *change)
{
	static const char *const dear[] = {"gelu", "silu", "swish", "mish", "tanh", "sigmoid", "softmax",
		"softplus", "elu", "selu", "GELU", "SiLU", "Tanh", "exp", "logsumexp", "erf"};
	static const char *const cheap[] = {"relu", "relu6", "hardswish", "hardtanh", "hardsigmoid",
		"leaky_relu", "ReLU", "Hardswish", "relu_", "clamp_min", "LeakyReLU"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_new(f, FACT_CALL) || !IN(f->name, cheap) || !spend(change, change->n_old))
			continue;
		for (size_t k = 0; k < change->n_old; k++) {
			const struct fact *old = change->old[k];
			if (py_is_new(old, FACT_CALL) && IN(old->name, dear) && same_function(old, f)) {
				report(change, AUDIT_BLOCK, f,
					"a cheaper function takes the place of another");
				break;
			}
		}
	}
}

/* cos = rope(n) became cos = self.cos[:n], and this change registers that buffer once: A5 asks what is in it.
 */
static bool reads_table(const struct change *change, const struct fact *old)
{
	static const char *const tables[] = {"cos", "sin", "mask", "freq", "rope", "causal", "alibi"};
	bool table = HAS(old->name, tables) || HAS(old->value, tables);
	for (size_t i = 0; i < change->n_new && table; i++) {
		const struct fact *f = change->new[i];
		const char *name = strchr(f->value, '"');
		if (!py_is_new(f, FACT_CALL) || strcmp(f->name, "register_buffer") != 0 || !name)
			continue;
		CLEANUP(free_ptr)
		char *read = xasprintf("self . %.*s [ :", (int)strcspn(name + 1, "\""), name + 1);
		if (text_contains(old->twin->value, read) || strstr(old->twin->value, read))
			return true;
	}
	return false;
}

/* Other arithmetic in a layer or an update: whether it is the same, no rule can tell. */
static void check_arithmetic(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!py_sets(f) || f->same || !py_was_here(f) || py_is_evaluation(f->function) ||
			!py_computes_update(f->function) || py_is_literal(f->twin->value) ||
			py_same_but_for_reading(f->value, f->twin->value) ||
			py_drops_recomputation(f->value, f->twin->value))
			continue;
		if (loses_a_name(change, f) && !is_taken_over(change, f) && !reads_table(change, f))
			report(change, AUDIT_REVIEW, f->twin, "something else is computed here");
	}
}

void py_check_steps(struct change *change)
{
	check_statements(change);
	check_objects(change);
	check_inputs(change);
	check_constants(change);
	check_computed(change);
	check_cheaper(change);
	check_arithmetic(change);
}
