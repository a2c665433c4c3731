/* Data parallelism and data loading: copies that need not be made, work that need not wait. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

static void share_buckets(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	const char *name = call_name(r, call);
	bool is_ddp = strcmp(name, "DistributedDataParallel") == 0 ||
		      (strcmp(name, "DDP") == 0 && file_has_word(r, "DistributedDataParallel"));
	if (!is_ddp || !ts_node_is_null(call_keyword(r, call, "gradient_as_bucket_view")))
		return;
	if (call_has_splat(call))
		rewrite_refuse(r, call, "its arguments come from elsewhere");
	else if (file_has_word(r, "detach_"))
		rewrite_refuse(r, call, "gradients that are views cannot be detached in place (detach_)");
	else
		call_add_argument(r, call, "gradient_as_bucket_view=True");
}

static void run_bucket_view(struct rewrite *r)
{
	visit_kind(r, r->root, "call", share_buckets, NULL);
}

const struct codemod codemod_py_bucket_view = {
	{"bucket-view", "gradients live in the buckets that are reduced: one copy less",
		"gradient_as_bucket_view", "backward,collective",
		"DistributedDataParallel without gradient_as_bucket_view; not where gradients are detached "
		"in place",
		LANGUAGE_PYTHON},
	run_bucket_view};

/* Workers keep the order of rows (the sampler stays in the main process), but each has its own random
 * numbers: a data set that draws some would give other data. */
static const char *random_use(struct rewrite *r)
{
	static const char *const words[] = {
		"random", "rand", "randint", "randn", "randperm", "transforms", "default_rng"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (file_has_word(r, words[i]))
			return words[i];
	return NULL;
}

static void overlap_loading(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	if (strcmp(call_name(r, call), "DataLoader") != 0)
		return;
	TSNode workers = call_keyword(r, call, "num_workers");
	bool has_workers = !ts_node_is_null(workers) && !node_text_is(r, workers, "0");
	bool pins = !ts_node_is_null(call_keyword(r, call, "pin_memory"));
	if (call_has_splat(call)) {
		rewrite_refuse(r, call, "its arguments come from elsewhere");
		return;
	}
	if (!pins && file_has_word(r, "cuda"))
		call_add_argument(r, call, "pin_memory=True");
	if (has_workers)
		return;
	if (random_use(r)) {
		rewrite_refuse(r, call, "workers draw other random numbers, and this file uses some");
		return;
	}
	if (!ts_node_is_null(workers)) {
		rewrite_replace(r, ts_node_start_byte(workers), ts_node_end_byte(workers), "2");
		r->n_places++;
	} else {
		call_add_argument(r, call, "num_workers=2");
	}
	if (ts_node_is_null(call_keyword(r, call, "persistent_workers")))
		call_add_argument(r, call, "persistent_workers=True");
}

static void run_loader(struct rewrite *r)
{
	visit_kind(r, r->root, "call", overlap_loading, NULL);
}

const struct codemod codemod_py_loader = {
	{"loader-workers", "batches are loaded beside the training, into pinned memory for a GPU",
		"dataloader_workers", "data",
		"DataLoader without workers, in a file that draws no random numbers; pin_memory where the "
		"file uses cuda",
		LANGUAGE_PYTHON},
	run_loader};
