/* Data parallelism and data loading: copies that need not be made or wait. */
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

/* Workers are left to the user: they draw other random numbers, and each of them reads an iterable data set
 * whole. */
static void pin(struct rewrite *r, TSNode call, void *context)
{
	(void)context;
	if (strcmp(call_name(r, call), "DataLoader") != 0 || !file_has_word(r, "cuda") ||
		!ts_node_is_null(call_keyword(r, call, "pin_memory")))
		return;
	if (call_has_splat(call))
		rewrite_refuse(r, call, "its arguments come from elsewhere");
	else
		call_add_argument(r, call, "pin_memory=True");
}

static void run_pin(struct rewrite *r)
{
	visit_kind(r, r->root, "call", pin, NULL);
}

const struct codemod codemod_py_pin_memory = {
	{"pin-memory", "batches are loaded into pinned memory, from which a GPU copies faster",
		"dataloader_pin_memory", "data",
		"DataLoader without pin_memory, in a file that uses cuda; the number of workers stays",
		LANGUAGE_PYTHON},
	run_pin};
