/* What the codemods share: a parsed file, edits to it, refusals, and walks over its tree. */
#ifndef INFRARSI_CODEMOD_REWRITE_H
#define INFRARSI_CODEMOD_REWRITE_H

#include <tree_sitter/api.h>

#include "base/base.h"
#include "base/memory.h"
#include "codemod/codemod.h"

struct edit { /* bytes [start, end) become `text` */
	size_t start, end;
	const char *text;
};

struct source { /* a file that parses */
	const struct codemod_file *file;
	TSNode root;
};

struct rewrite {
	struct arena *arena;
	const struct source
		*sources; /* of the same language: the file and what else belongs to the program */
	size_t n_sources;
	const struct codemod_file *file;
	TSNode root;
	struct edit *edits; /* malloc */
	size_t n_edits, edits_capacity;
	const char *refusal; /* the first */
	int refusal_line;
	int n_places;
	enum { VOLATILE_NOT_LOOKED, VOLATILE_NONE, VOLATILE_FOUND } volatility; /* of the file */
};

struct codemod {
	struct codemod_info info;
	void (*run)(struct rewrite *r); /* one file */
};

extern const struct codemod codemod_py_fused_optimizer, codemod_py_foreach_optimizer, codemod_py_set_to_none,
	codemod_py_clip_foreach, codemod_py_grad_norm, codemod_py_bucket_view, codemod_py_static_graph,
	codemod_py_pin_memory, codemod_py_attention, codemod_py_gelu, codemod_py_channels_last,
	codemod_py_compile, codemod_py_item_sync, codemod_py_chunked_loss, codemod_c_restrict,
	codemod_c_omp_schedule, codemod_c_short_loops, codemod_c_omp_parallel, codemod_c_simd_reduction,
	codemod_c_simd_loops, codemod_c_loop_order, codemod_c_blocking, codemod_c_hoist;

void rewrite_replace(struct rewrite *r, size_t start, size_t end, const char *text);
void rewrite_insert(struct rewrite *r, size_t at, const char *text);
/* This place looks like one and is not changed. */
void rewrite_refuse(struct rewrite *r, TSNode node, const char *reason);
/* The unified diff of the edits; NULL without any. In the arena. */
const char *rewrite_diff(struct rewrite *r);

const char *code_text(struct rewrite *r, TSNode node); /* in the arena; "" for a null node */
/* The same without blanks, so that spelling does not matter. */
const char *node_dense_text(struct rewrite *r, TSNode node);
bool node_is_kind(TSNode node, const char *kind);
bool node_text_is(struct rewrite *r, TSNode node, const char *text);
TSNode code_field(TSNode node, const char *field);
/* The word occurs in the file, as a whole word. */
bool file_has_word(const struct rewrite *r, const char *word);
bool subtree_has_word(struct rewrite *r, TSNode node, const char *word);

/* The blanks before the node on its line; NULL where something else stands there. */
const char *node_indent(struct rewrite *r, TSNode node);

/* Each node of the kind, in order of the text. */
typedef void (*visit_fn)(struct rewrite *r, TSNode node, void *context);
void visit_kind(struct rewrite *r, TSNode top, const char *kind, visit_fn visit, void *context);
size_t count_kind(struct rewrite *r, TSNode top, const char *kind);

/* Python calls. */
const char *call_name(struct rewrite *r, TSNode call);                 /* the last part of what is called */
TSNode call_keyword(struct rewrite *r, TSNode call, const char *name); /* its value, or a null node */
bool call_has_splat(TSNode call); /* or a generator for its only argument: nothing can be added */
void call_add_argument(struct rewrite *r, TSNode call, const char *argument);

#endif
