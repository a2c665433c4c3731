/*
 * What the tables of fields (task_fields*.c) share. A table is the one source of what the reader takes and of
 * what task_describe_fields() says; a theme with tables of its own has a file.
 */
#ifndef INFRARSI_SPEC_TASK_FIELDS_H
#define INFRARSI_SPEC_TASK_FIELDS_H

#include "base/base.h"
#include "spec/task_draft.h"

#define AT(type, member) .offset = offsetof(struct type, member)
#define ITEMS(type, items, count)                                                                            \
	.offset = offsetof(struct type, items), .count_offset = offsetof(struct type, count)
#define STRINGS(type, member) ITEMS(type, member.items, member.count), .element_size = sizeof(const char *)
#define TABLE_OF(rows)                                                                                       \
	{                                                                                                    \
		.fields = rows, .count = ARRAY_LEN(rows)                                                     \
	}
#define COMMAND_EXAMPLE "[\"./train\", \"--steps\", \"{updates}\"] (it is run without a shell)"

extern const struct field_table launch_table, contract_table;

#endif
