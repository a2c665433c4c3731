#include "model.h"

#include "loss.h"
#include "random.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ---- */

struct layout {
	struct model *model;
	const char *prefix;
	int layer; /* -1 outside the layers */
};

static void add_tensor(void *context, const char *name, int rows, int columns)
{
	struct layout *layout = context;
	struct model *model = layout->model;
	struct tensor *tensor = &model->tensors[model->tensor_count++];
	struct group *group = &model->groups[model->group_count - 1];
	size_t count = (size_t)rows * columns;

	assert(model->tensor_count <= TENSORS_MAX);
	if (layout->layer < 0)
		snprintf(tensor->name, sizeof(tensor->name), "%s.%s", layout->prefix, name);
	else
		snprintf(tensor->name, sizeof(tensor->name), "layers.%d.%s.%s", layout->layer, layout->prefix, name);
	tensor->rows = rows;
	tensor->columns = columns;
	tensor->fan_in = rows;
	tensor->first = model->parameter_count;
	tensor->active = count;
	if (group->sublayer == &moe_sublayer && (!strcmp(name, "up") || !strcmp(name, "down"))) {
		tensor->fan_in = rows / model->config->experts;
		tensor->active = count / model->config->experts * model->config->active_experts;
	}
	if (!strcmp(layout->prefix, "embedding"))
		tensor->active = columns; /* one row is looked up */
	model->parameter_count += count;
	model->active_count += tensor->active;
	group->count += count;
}

static struct group *open_group(struct model *model, const struct sublayer *sublayer)
{
	struct group *group = &model->groups[model->group_count++];

	assert(model->group_count <= GROUPS_MAX);
	group->first = model->parameter_count;
	group->count = 0;
	group->sublayer = sublayer;
	return group;
}

static void lay_out(struct model *model)
{
	struct layout layout = {model, "embedding", -1};
	int s;

	open_group(model, NULL);
	add_tensor(&layout, "token", model->config->vocab, model->config->width);
	for (s = 0; s < 2 * model->config->layers; s++) {
		const struct sublayer *sublayer = s % 2 == 0 ? &attention_sublayer
						: s % 4 == 1 ? &mlp_sublayer
							     : &moe_sublayer;

		open_group(model, sublayer);
		layout.layer = s / 2;
		layout.prefix = sublayer->name;
		sublayer->describe(model->config, add_tensor, &layout);
	}
	open_group(model, NULL);
	layout.layer = -1;
	layout.prefix = "loss";
	loss_describe(model->config, add_tensor, &layout);
}

/* Norms start at 1; matrices that write to the residual stream are smaller by the root of their number. */
static float initial_spread(const struct model *model, const struct tensor *tensor)
{
	const char *last = strrchr(tensor->name, '.') + 1;
	float spread = 1.0f / sqrtf((float)tensor->fan_in);

	if (!strcmp(last, "token"))
		return 1.0f;
	if (!strcmp(last, "out") || !strcmp(last, "down"))
		return spread / sqrtf(2.0f * model->config->layers);
	return spread;
}

static void fill_tensor(const struct model *model, const struct tensor *tensor, float *values, uint64_t seed)
{
	size_t count = (size_t)tensor->rows * tensor->columns, i;
	float spread = initial_spread(model, tensor);

	for (i = 0; i < count; i++)
		values[i] = tensor->rows == 1 ? 1.0f : spread * random_normal(&seed);
}

void model_init(struct model *model, struct arena *arena, const struct config *config, enum storage_type storage,
		uint64_t seed)
{
	int i;

	memset(model, 0, sizeof(*model));
	model->config = config;
	lay_out(model);
	model->parameters = storage_alloc(arena, storage, model->parameter_count, "parameters");
	model->gradients = storage_alloc(arena, storage, model->parameter_count, "gradients");
	for (i = 0; i < model->tensor_count; i++) {
		const struct tensor *tensor = &model->tensors[i];
		size_t mark = arena_mark(arena), count = (size_t)tensor->rows * tensor->columns;
		struct block block = storage_part(&model->parameters, tensor->first, count);
		float *values = storage_target(arena, &block);

		fill_tensor(model, tensor, values, random_stream(seed, (uint64_t)i));
		storage_commit(&block, values);
		arena_release(arena, mark);
	}
}

/* A group's parameters and gradients as fp32, until arena_release(); changed gradients need close_group(). */
struct opened {
	float *weights, *gradients;
};

static struct opened read_group(const struct context *context, const struct model *model, const struct group *group)
{
	struct block weights = storage_part(&model->parameters, group->first, group->count);
	struct block gradients = storage_part(&model->gradients, group->first, group->count);
	struct opened opened;

	opened.weights = storage_read(context->arena, &weights);
	opened.gradients = storage_read(context->arena, &gradients);
	return opened;
}

static void close_group(const struct model *model, const struct group *group, struct opened opened)
{
	struct block gradients = storage_part(&model->gradients, group->first, group->count);

	storage_commit(&gradients, opened.gradients);
}

/* ---- one micro-batch ---- */

/* What forward leaves for backward: the input of each sub-layer, and its activations where they are kept. */
struct tape {
	struct block inputs[GROUPS_MAX];
	struct block floats[GROUPS_MAX];
	int *ints[GROUPS_MAX];
};

static int is_kept(const struct context *context, const struct sublayer *sublayer)
{
	switch (context->settings->recompute) {
	case RECOMPUTE_OFF:
		return 1;
	case RECOMPUTE_ATTENTION:
		return sublayer != &attention_sublayer;
	default:
		return 0;
	}
}

static void embed_forward(const struct context *context, const struct model *model, const int *ids,
			  const struct block *x)
{
	int width = context->config->width, seq_len = context->config->seq_len, n;
	size_t mark = arena_mark(context->arena);
	float *values = storage_target(context->arena, x);

#pragma omp parallel for
	for (n = 0; n < context->tokens; n++)
		storage_copy_out(&model->parameters, (size_t)ids[n + n / seq_len] * width, width,
				 values + (size_t)n * width);
	storage_commit(x, values);
	arena_release(context->arena, mark);
}

/* Not shared out: two tokens may have the same id. */
static void embed_backward(const struct context *context, struct model *model, const int *ids, const float *gradient)
{
	int width = context->config->width, seq_len = context->config->seq_len, n, i;
	struct block rows = storage_part(&model->gradients, 0, model->groups[0].count);
	size_t mark = arena_mark(context->arena);
	float *sums = storage_read(context->arena, &rows);

	for (n = 0; n < context->tokens; n++) {
		float *to = sums + (size_t)ids[n + n / seq_len] * width;

		for (i = 0; i < width; i++)
			to[i] += gradient[(size_t)n * width + i];
	}
	storage_commit(&rows, sums);
	arena_release(context->arena, mark);
}

/* Runs one sub-layer forward; activations end in floats and ints, which the caller allocated. */
static void run_forward(const struct context *context, const struct model *model, const struct group *group,
			const struct block *x, const struct block *floats, int *ints, const struct block *y)
{
	size_t mark = arena_mark(context->arena);
	struct block weight_block = storage_part(&model->parameters, group->first, group->count);
	float *weights = storage_read(context->arena, &weight_block);
	const float *from = storage_read(context->arena, x);
	struct activations acts = {storage_target(context->arena, floats), ints};
	float *to = storage_target(context->arena, y);

	group->sublayer->forward(context, weights, from, acts, to);
	storage_commit(floats, acts.floats);
	storage_commit(y, to);
	arena_release(context->arena, mark);
}

static struct block acts_alloc(const struct context *context, const struct sublayer *sublayer, int **ret_ints)
{
	*ret_ints = arena_ints(context->arena, sublayer->int_count(context), "activation indices");
	return storage_alloc(context->arena, context->settings->storage, sublayer->float_count(context),
			     sublayer->name);
}

static void tape_forward(const struct context *context, const struct model *model, const int *ids, struct tape *tape)
{
	enum storage_type storage = context->settings->storage;
	size_t count = (size_t)context->tokens * context->config->width;
	int g;

	for (g = 1; g < model->group_count; g++)
		tape->inputs[g] = storage_alloc(context->arena, storage, count, "sub-layer input");
	embed_forward(context, model, ids, &tape->inputs[1]);
	for (g = 1; g < model->group_count - 1; g++) {
		const struct group *group = &model->groups[g];
		size_t mark = arena_mark(context->arena);

		tape->floats[g] = acts_alloc(context, group->sublayer, &tape->ints[g]);
		run_forward(context, model, group, &tape->inputs[g], &tape->floats[g], tape->ints[g],
			    &tape->inputs[g + 1]);
		if (!is_kept(context, group->sublayer))
			arena_release(context->arena, mark);
	}
}

/* A sub-layer's own backward, after making its activations again where they were not kept. */
static void run_backward(const struct context *context, struct model *model, struct tape *tape, int g, float *gradient)
{
	const struct group *group = &model->groups[g];
	size_t mark = arena_mark(context->arena);
	struct activations acts;
	struct opened opened;
	const float *x;

	if (!is_kept(context, group->sublayer)) {
		/* Of the result only the activations are wanted; it equals the next sub-layer's input, used up by now. */
		tape->floats[g] = acts_alloc(context, group->sublayer, &tape->ints[g]);
		run_forward(context, model, group, &tape->inputs[g], &tape->floats[g], tape->ints[g],
			    &tape->inputs[g + 1]);
	}
	opened = read_group(context, model, group);
	x = storage_read(context->arena, &tape->inputs[g]);
	acts.floats = storage_read(context->arena, &tape->floats[g]);
	acts.ints = tape->ints[g];
	group->sublayer->backward(context, opened.weights, opened.gradients, x, acts, gradient);
	close_group(model, group, opened);
	arena_release(context->arena, mark);
}

double model_run(const struct context *context, struct model *model, const int *ids)
{
	size_t mark = arena_mark(context->arena), count = (size_t)context->tokens * context->config->width, loss_mark;
	float *gradient = arena_floats(context->arena, count, "residual gradient"), *x;
	int *targets = arena_ints(context->arena, context->tokens, "targets");
	const struct group *last = &model->groups[model->group_count - 1];
	double clock = clock_seconds(), loss;
	struct opened opened;
	struct tape tape;
	int n, g;

	for (n = 0; n < context->tokens; n++)
		targets[n] = ids[n + n / context->config->seq_len + 1];
	tape_forward(context, model, ids, &tape);
	clock_charge(&context->phases->forward, &clock);

	loss_mark = arena_mark(context->arena); /* loss_run() keeps its own time */
	opened = read_group(context, model, last);
	x = storage_read(context->arena, &tape.inputs[model->group_count - 1]);
	loss = loss_run(context, opened.weights, opened.gradients, x, targets, gradient);
	close_group(model, last, opened);
	arena_release(context->arena, loss_mark);

	clock = clock_seconds();
	for (g = model->group_count - 2; g > 0; g--)
		run_backward(context, model, &tape, g, gradient);
	embed_backward(context, model, ids, gradient);
	clock_charge(&context->phases->backward, &clock);
	arena_release(context->arena, mark);
	return loss;
}
