/* Which names a Lua expression reads, without running it. */
#ifndef INFRARSI_SPEC_EXPRESSION_NAMES_H
#define INFRARSI_SPEC_EXPRESSION_NAMES_H

#include "base/base.h"

struct arena;

struct name_use {
	const char *name;
	size_t offset; /* bytes into the text */
};

struct name_uses {
	struct name_use *items;
	size_t count;
	/* The text defines a function: what it calls its parameters is then among the names. */
	bool has_function;
};

/* Fields (after . or :) and what stands before a single = are not reads. */
void expression_names(const char *text, struct arena *arena, struct name_uses *ret_uses);

#endif
