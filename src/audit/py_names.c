#include "base/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

const char *py_short(const char *qualified)
{
	const char *dot = strrchr(qualified, '.');
	return dot ? dot + 1 : qualified;
}

bool py_is_constructor(const char *name)
{
	name += strspn(name, "_");
	return isupper((unsigned char)name[0]) != 0;
}

bool py_is_forward(const char *function)
{
	static const char *const names[] = {"forward", "__call__", "training_step", "train_step",
		"compute_loss", "forward_step", "loss_fn", "loss_func", "get_loss", "_forward", "call",
		"micro_step", "forward_backward", "forward_backward_step"};
	const char *name = py_short(function);
	return IN(name, names) || strncmp(name, "forward", 7) == 0;
}

bool py_is_evaluation(const char *function)
{
	static const char *const parts[] = {"eval", "valid", "test", "generate", "sample", "infer", "predict",
		"metric", "accuracy", "perplexity", "estimate", "log", "report", "debug"};
	static const char *const training[] = {"train"};
	const char *name = py_short(function);
	return HAS(name, parts) && !HAS(name, training);
}

bool py_computes_update(const char *function)
{
	static const char *const parts[] = {
		"clip", "lr", "rate", "sched", "warmup", "decay", "average", "reduce", "loss"};
	const char *name = py_short(function);
	return function[0] && (py_is_forward(function) || py_is_update_function(function) ||
				      HAS(name, parts) || word_in(name, WORDS_WORK));
}

/* ---- update ---- */

static bool is_no_update(const char *name, const char *receiver)
{
	static const char *const never[] = {"no_grad", "enable_grad", "set_grad_enabled", "requires_grad_",
		"zero_optimization", "state_dict", "load_state_dict", "step_count", "retain_grad",
		"is_grad_enabled", "register_step_post_hook", "register_optimizer_step_post_hook",
		"add_param_group", "grad_fn", "broadcast_to", "broadcast_tensors", "zeros", "zeros_like",
		"named_steps"};
	static const char *const watchers[] = {"prof", "pbar", "progress", "tqdm", "bar", "tracker"};
	return IN(name, never) || py_is_constructor(name) || HAS(receiver, watchers);
}

static bool is_collective(const char *name, const char *receiver)
{
	static const char *const always[] = {"all_reduce", "allreduce", "all_reduce_coalesced",
		"reduce_scatter", "reduce_scatter_tensor", "all_gather", "all_gather_into_tensor",
		"all_gather_object", "all_to_all", "all_to_all_single", "finalize_model_grads",
		"all_gather_object", "reduce_gradients", "average_gradients", "sync_gradients", "sync_grads",
		"synchronize_gradients", "allreduce_gradients", "all_reduce_gradients", "reduce_grads",
		"allreduce_grads", "all_reduce_grads", "start_grad_sync", "finish_grad_sync",
		"average_grads"};
	static const char *const distributed[] = {"dist", "distributed", "comm", "hvd", "MPI"};
	static const char *const maybe[] = {"broadcast", "reduce", "gather", "scatter", "send", "recv",
		"isend", "irecv", "Allreduce", "Reduce", "batch_isend_irecv"};
	return IN(name, always) || (IN(name, maybe) && HAS(receiver, distributed));
}

static bool is_average(const char *name, const char *receiver)
{
	static const char *const averaged[] = {"ema", "swa", "averag", "teacher", "shadow", "polyak"};
	static const char *const verbs[] = {"update", "step", "update_parameters", "apply", "accumulate"};
	if (IN(name, verbs))
		return HAS(receiver, averaged);
	bool verb = strstr(name, "update") || strstr(name, "step") || strstr(name, "apply") ||
		    strstr(name, "accum");
	return verb && (word_in(name, WORDS_UPDATE) || HAS(name, averaged)) && HAS(name, averaged);
}

static bool is_schedule(const char *name, const char *receiver)
{
	static const char *const parts[] = {"sched", "lr_"};
	static const char *const names[] = {"adjust_learning_rate", "set_lr", "update_lr",
		"set_learning_rate", "update_learning_rate", "adjust_lr", "step_scheduler", "scheduler_step",
		"lr_schedule"};
	return IN(name, names) || (strcmp(name, "step") == 0 && HAS(receiver, parts));
}

static bool is_step(const char *name, const char *receiver)
{
	static const char *const names[] = {"optimizer_step", "apply_gradients", "apply_gradient",
		"apply_grads", "_take_model_step", "optim_step", "opt_step", "update_weights",
		"update_params", "step_optimizer", "apply_update", "apply_updates", "weight_update",
		"parameter_update", "step_and_update"};
	static const char *const families[] = {"adam", "sgd", "lion", "muon", "lamb", "adafactor"};
	(void)receiver;
	if (strcmp(name, "step") == 0 || IN(name, names))
		return true;
	return HAS(name, families) &&
	       (strstr(name, "step") || strstr(name, "update") || strstr(name, "apply") || name[0] == '_' ||
		       strcmp(name, "adamw") == 0 || strcmp(name, "adam") == 0 || strcmp(name, "sgd") == 0);
}

static bool is_clip(const char *name, const char *receiver)
{
	static const char *const owners[] = {"optim", "scaler", "model", "engine", "accelerator", "trainer"};
	static const char *const parts[] = {"grad", "norm"};
	return strcasestr(name, "clip") && (HAS(name, parts) || HAS(receiver, owners));
}

static bool is_zero(const char *name, const char *receiver)
{
	return strncmp(name, "zero_grad", 9) == 0 || strcmp(name, "zero_gradients") == 0 ||
	       (strcmp(name, "zero_") == 0 && strstr(receiver, "grad"));
}

static bool is_term(const char *name)
{
	static const char *const parts[] = {"aux_loss", "auxiliary", "balanc", "z_loss", "zloss", "regulariz",
		"weight_decay", "l2_penalty", "penalty", "label_smooth"};
	return HAS(name, parts);
}

static bool is_backward(const char *name, const char *receiver)
{
	return strstr(name, "backward") || strcmp(name, "bwd") == 0 ||
	       (strcmp(name, "grad") == 0 && strstr(receiver, "autograd"));
}

static bool is_scaling(const char *name, const char *receiver)
{
	static const char *const methods[] = {"update", "scale"};
	return strncmp(name, "unscale", 7) == 0 || (IN(name, methods) && strcasestr(receiver, "scaler"));
}

static bool is_some_term(const char *name, const char *receiver)
{
	(void)receiver;
	return is_term(name);
}

enum py_trade py_trade(const struct fact *call)
{
	/* the first that fits */
	static const struct {
		enum py_trade trade;
		bool (*is)(const char *name, const char *receiver);
	} trades[] = {{PY_BACKWARD, is_backward}, {PY_ZERO, is_zero}, {PY_COLLECTIVE, is_collective},
		{PY_AVERAGE, is_average}, {PY_CLIP, is_clip}, {PY_SCHEDULE, is_schedule}, {PY_STEP, is_step},
		{PY_SCALER, is_scaling}, {PY_TERM, is_some_term}};
	if (call->kind != FACT_CALL || !call->name[0] || is_no_update(call->name, call->init))
		return PY_NO_TRADE;
	for (size_t i = 0; i < ARRAY_LEN(trades); i++)
		if (trades[i].is(call->name, call->init))
			return trades[i].trade;
	return (enum py_trade)call->trade;
}

enum { FUNCTIONS_CAP = 512 };

struct learnt {
	const char *function; /* qualified: one pointer for all facts in it */
	const char *name;
	int trade; /* -1: of several trades */
};

/* Functions that do work of one trade. */
static size_t learn_functions(
	const struct change *change, struct fact **facts, size_t n, struct learnt *ret_learnt)
{
	size_t found = 0;
	for (size_t i = 0; i < n && found < FUNCTIONS_CAP; i++)
		if (facts[i]->kind == FACT_FUNCTION)
			ret_learnt[found++] = (struct learnt){facts[i]->name, facts[i]->init, 0};
	for (size_t i = 0; i < n; i++) {
		int trade = (int)py_trade(facts[i]);
		if (trade == PY_NO_TRADE || trade == PY_SCALER || !spend(change, found / 8))
			continue;
		for (size_t k = 0; k < found; k++)
			if (ret_learnt[k].function == facts[i]->function)
				ret_learnt[k].trade =
					ret_learnt[k].trade && ret_learnt[k].trade != trade ? -1 : trade;
	}
	return found;
}

/* average(model), where average() reduces gradients, is a reduction: so is self.average(). */
static void learn_calls(const struct change *change, struct fact **facts, size_t n)
{
	CLEANUP(free_ptr) struct learnt *learnt = xcalloc(FUNCTIONS_CAP, sizeof(*learnt));
	size_t found = learn_functions(change, facts, n, learnt);
	for (size_t i = 0; i < n; i++) {
		struct fact *f = facts[i];
		bool own = !f->init[0] || strcmp(f->init, "self") == 0;
		if (f->kind != FACT_CALL || !own || !spend(change, found / 8))
			continue;
		for (size_t k = 0; k < found; k++)
			if (learnt[k].trade > 0 && strcmp(learnt[k].name, f->name) == 0)
				f->trade = learnt[k].trade;
	}
}

void py_learn(struct change *change)
{
	learn_calls(change, change->old, change->n_old);
	learn_calls(change, change->new, change->n_new);
}

bool py_is_update(const struct fact *call)
{
	return py_trade(call) != PY_NO_TRADE;
}

bool py_is_update_function(const char *function)
{
	static const char *const names[] = {
		"step", "_step", "update", "_single_tensor_adamw", "apply_gradients"};
	static const char *const parts[] = {"optimizer_step", "adam", "sgd", "lion", "clip_grad", "ema",
		"update_", "_update", "muon", "lamb", "grad_norm", "zero_grad"};
	const char *name = py_short(function);
	return IN(name, names) || HAS(name, parts);
}

/* ---- work ---- */

static bool is_set_up(const char *name)
{
	static const char *const verbs[] = {"build", "make", "get_model", "get_net", "create", "init", "load",
		"save", "print", "log_", "configure", "setup", "wrap", "register", "count", "parse", "num_",
		"prepare", "named_", "parameters", "modules", "state_dict", "compile", "convert", "apply_",
		"size", "reset", "summary", "config", "unwrap", "mask", "children", "estimate"};
	return HAS(name, verbs);
}

static bool is_work_name(const char *name)
{
	static const char *const exact[] = {"model", "net", "network", "module", "engine", "block", "decoder",
		"encoder", "transformer", "criterion", "lm", "unet", "backbone", "objective", "nll", "ffn",
		"feed_forward", "lm_head", "router", "gate", "train_step", "training_step", "forward_step",
		"step_fn", "micro_step", "scaled_dot_product_attention", "bmm", "einsum", "conv", "experts",
		"ddp_model", "model_engine", "ddp", "fsdp_model", "raw_model", "train_one_step",
		"train_batch", "teacher", "student", "discriminator", "generator", "critic", "policy",
		"actor", "reward_model", "ref_model", "reference_model", "vae", "text_encoder", "target_net"};
	static const char *const modes[] = {"train", "eval", "module_list", "head_dim", "layer_idx",
		"train_dataloader", "layers_per_block"};
	return IN(name, exact) || (word_in(name, WORDS_WORK) && !IN(name, modes) && !is_set_up(name));
}

/* In forward(): every module and every function of torch.nn.functional. */
static bool is_module_call(const struct fact *call)
{
	static const char *const utilities[] = {"size", "view", "append", "get", "item", "reshape", "device",
		"training", "_check", "register_buffer", "pop", "keys", "items", "values", "to", "assert",
		"zero_", "fill_", "copy_", "type_as", "clone", "contiguous"};
	static const char *const functional[] = {"F", "torch . nn . functional", "nn . functional"};
	/* self.layer(x).split(d) cuts what the layer gave */
	bool self = !strchr(call->init, '(') &&
		    (strcmp(call->init, "self") == 0 || strncmp(call->init, "self .", 6) == 0);
	return py_is_forward(call->function) && !IN(call->name, utilities) && !is_set_up(call->name) &&
	       (self || IN(call->init, functional));
}

bool py_is_work(const struct fact *call)
{
	if (call->kind != FACT_CALL || !call->name[0] || py_is_constructor(call->name) || py_is_quiet(call) ||
		py_is_update(call) || strncmp(call->init, "torch . backends", 16) == 0)
		return false;
	return is_work_name(call->name) || is_module_call(call);
}

/* ---- data, time, reports ---- */

bool py_is_load(const struct fact *call)
{
	static const char *const exact[] = {"next", "get_batch", "fetch", "set_epoch", "__next__"};
	static const char *const never[] = {"load_state_dict", "load_checkpoint", "batch_size", "load_model",
		"save_dataset", "batch_norm", "record_batch", "row_digest", "row", "rows", "batch_decode",
		"download", "load_module", "load_library", "loads", "repeat_interleave", "tokens_per_second",
		"load_balancing_loss", "update_tokens", "BatchNorm"};
	return call->kind == FACT_CALL && !py_is_constructor(call->name) && !IN(call->name, never) &&
	       !py_is_report(call) && !py_is_quiet(call) && !py_is_update(call) &&
	       (IN(call->name, exact) || word_in(call->name, WORDS_DATA) ||
		       (strcmp(call->name, "load") == 0 && text_has_word(call->init, WORDS_DATA)));
}

bool py_is_wrapper(const char *name)
{
	static const char *const names[] = {"DistributedDataParallel", "DDP", "FSDP",
		"FullyShardedDataParallel", "DataParallel", "fully_shard"};
	return IN(name, names);
}

bool py_recomputes(const struct fact *call)
{
	static const char *const parts[] = {"checkpoint", "remat", "recompute"};
	return call->kind == FACT_CALL && HAS(call->name, parts) && strncmp(call->name, "save", 4) != 0 &&
	       strncmp(call->name, "load", 4) != 0;
}

bool py_is_random(const struct fact *call)
{
	static const char *const exact[] = {"manual_seed", "manual_seed_all", "seed", "seed_all", "set_seed",
		"randperm", "shuffle", "randint", "randn", "rand", "random", "choice", "choices",
		"permutation", "default_rng", "set_rng_state", "set_rng_state_all", "multinomial",
		"bernoulli", "bernoulli_", "uniform_", "normal_", "seed_everything", "randrange", "PRNGKey",
		"fork_rng", "sample", "initial_seed", "setstate"};
	static const char *const keep[] = {"sample"};
	if (call->kind != FACT_CALL)
		return false;
	if (IN(call->name, keep))
		return strstr(call->init, "random") || strstr(call->init, "rng");
	return IN(call->name, exact);
}

bool py_is_clock(const struct fact *call)
{
	static const char *const sources[] = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
		"process_time", "process_time_ns", "thread_time", "thread_time_ns", "time_ns", "elapsed_time",
		"default_timer", "clock_gettime", "clock_gettime_ns", "clock", "getrusage", "Wtime"};
	static const char *const handles[] = {
		"start", "stop", "reset", "record", "elapsed", "tic", "toc", "lap", "mark"};
	static const char *const owners[] = {
		"timer", "event", "clock", "stopwatch", "start", "begin", "stop", "end", "timing"};
	if (call->kind != FACT_CALL)
		return false;
	if (IN(call->name, sources))
		return true;
	if (strcmp(call->name, "time") == 0)
		return strcmp(call->init, "time") == 0 || !call->init[0];
	if (strcmp(call->name, "now") == 0 || strcmp(call->name, "utcnow") == 0)
		return strstr(call->init, "datetime") != NULL;
	if (IN(call->name, handles) && HAS(call->init, owners))
		return !strstr(call->init, "thread") && !strstr(call->init, "prof");
	return !call->init[0] && word_in(call->name, WORDS_TIME) && !word_in(call->name, WORDS_STEP) &&
	       !py_is_constructor(call->name) && strncmp(call->name, "format", 6) != 0;
}

bool py_is_wait(const struct fact *call)
{
	static const char *const waits[] = {"synchronize", "mark_step", "wait_device_ops", "barrier",
		"monitored_barrier", "block_until_ready", "hard_sync"};
	return call->kind == FACT_CALL && IN(call->name, waits);
}

bool py_is_report(const struct fact *call)
{
	static const char *const methods[] = {
		"update", "rows", "row", "start", "end", "phase", "param", "oom", "release"};
	static const char *const callbacks[] = {"on_log", "on_step_end", "on_optimizer_step", "add_callback"};
	if (call->kind != FACT_CALL)
		return false;
	if (strcasestr(call->text, "infrarsi") || IN(call->name, callbacks))
		return true;
	return IN(call->name, methods) && strcasestr(call->init, "hook");
}

bool py_is_quiet(const struct fact *call)
{
	static const char *const exact[] = {"item", "float", "int", "str", "format", "round", "len", "print",
		"flush", "add_scalar", "add_scalars", "log_metrics", "strftime", "isoformat", "get_last_lr",
		"tolist", "detach", "cpu", "memory_allocated", "max_memory_allocated", "memory_reserved",
		"max_memory_reserved", "collect", "empty_cache", "set_postfix", "set_description", "join",
		"items", "get_rank", "is_main_process", "info", "warning", "write", "writerow", "append",
		"mean", "sum", "sqrt", "exp", "dumps", "repr", "zip", "enumerate", "sorted", "min", "max",
		"abs", "deque", "isinstance", "getattr_static", "log_softmax_stats", "defaultdict",
		"get_world_size", "perf_counter", "tqdm"};
	static const char *const bars[] = {"pbar", "progress", "tqdm", "bar", "logger", "logging", "wandb",
		"writer", "tensorboard", "prof", "mlflow"};
	if (call->kind != FACT_CALL)
		return false;
	return IN(call->name, exact) || word_in(call->name, WORDS_LOG) || HAS(call->init, bars);
}

/* ---- names of values ---- */

bool py_is_data_name(const char *name)
{
	static const char *const exact[] = {"x", "y", "xb", "yb", "idx", "targets", "target", "labels",
		"label", "inputs", "input", "input_ids", "hidden", "hidden_states", "h", "tok", "src", "tgt",
		"seq", "sequence", "sequences", "features", "images", "image", "ids", "token_ids", "embeds",
		"inputs_embeds", "logits", "losses", "examples", "docs", "texts", "micro_batches", "micros",
		"inp", "out", "outputs", "states", "x_t", "attention_mask", "loss_mask"};
	return IN(name, exact) || word_in(name, WORDS_DATA);
}

bool py_is_size_name(const char *name)
{
	static const char *const exact[] = {"n_layers", "num_layers", "n_head", "n_heads", "num_heads",
		"num_experts", "max_length", "max_len", "block_size", "ctx_len", "n_embd", "d_model", "n_ctx",
		"top_k", "num_experts_per_tok", "capacity_factor", "max_seq_len", "seq_len",
		"max_position_embeddings", "hidden_size", "intermediate_size", "d_ff", "num_hidden_layers",
		"num_attention_heads", "sliding_window", "max_steps", "num_steps", "train_iters",
		"moe_router_topk", "max_samples", "limit_train_batches", "num_train_epochs", "n_samples",
		"num_samples", "max_iters", "n_steps", "topk"};
	static const char *const free_to_choose[] = {"num_workers", "prefetch", "bucket", "chunk", "tile",
		"buffer", "log_", "save_", "eval_", "cache_", "BLOCK_", "num_warps", "num_stages",
		"num_threads", "interval", "print", "logging", "n_threads", "timeout", "_every", "dump",
		"step_s", "num_chunks", "pool", "queue", "vocab_chunk", "splits", "step_size_up",
		"layer_norm", "batch_norm", "layernorm"};
	static const char *const parts[] = {
		"crop", "resolution", "image_size", "img_size", "_dim", "_length", "_len", "depth", "width"};
	if (IN(name, exact))
		return true;
	if (HAS(name, parts) && !HAS(name, free_to_choose))
		return true;
	return word_in(name, WORDS_SIZE) && !HAS(name, free_to_choose) && !word_in(name, WORDS_TIME);
}

bool py_same_trade(const struct fact *a, const struct fact *b)
{
	enum py_trade trade = py_trade(a);
	if (b->kind != FACT_CALL)
		return false;
	if (trade != PY_NO_TRADE)
		return py_trade(b) == trade;
	if (py_is_work(a))
		return py_is_work(b);
	if (py_is_load(a))
		return py_is_load(b);
	return strcmp(a->name, b->name) == 0;
}
