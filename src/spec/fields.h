/*
 * A table of fields drives the reading of a mapping: which keys exist, their types, limits, defaults and
 * meaning. The same table documents them (fields_describe), so that code and documentation cannot differ.
 *
 * A field writes at `offset` into the target struct. A list or map writes a pointer there and a size_t count
 * at `count_offset`; its elements are read by `element` or, where `table` is given instead, field by field.
 *
 * In a table by kind the first field is a word that says which of the others a mapping has. A name may stand
 * in several rows there, with another default for another kind.
 */
#ifndef INFRARSI_SPEC_FIELDS_H
#define INFRARSI_SPEC_FIELDS_H

#include "base/base.h"
#include "spec/yaml_tree.h"

struct strbuf;

struct template_use { /* a text in which {name} stands for something */
	const char *text, *where;
	int line, column;
	bool is_build;
};

struct reader {
	struct arena *arena;
	const char *path;               /* of the file, for messages */
	struct template_use *templates; /* malloc */
	size_t n_templates, templates_capacity;
};

enum field_type {
	FIELD_STRING,
	FIELD_NAME,     /* a string [a-z_][a-z0-9_]* */
	FIELD_INT,      /* int */
	FIELD_WHOLE,    /* a whole number, in a double */
	FIELD_NUMBER,   /* double */
	FIELD_DURATION, /* double, seconds */
	FIELD_BYTES,    /* double */
	FIELD_FRACTION, /* double */
	FIELD_BOOL,
	FIELD_WORD, /* an enum: the index in `words` */
	FIELD_NODE, /* const struct tree_node *: read later, by other means */
	FIELD_TABLE,
	FIELD_LIST,
	FIELD_MAP,
};

struct field;
/* where: how messages name the value ("launch.command"); for an element of a map, value->key is its key. */
typedef enum err_code (*read_fn)(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr);

struct field_table {
	const struct field *fields;
	size_t count;
	bool is_by_kind;
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset, count_offset;
	unsigned kinds; /* bits: the words of the first field that it belongs to; 0 = all of them */
	bool required, is_build;
	bool not_empty;           /* at least one element, or one character of a string */
	const char *fallback;     /* the default as one would write it */
	double least, most;       /* limits of a number; both 0 = none */
	const char *const *words; /* ends with NULL */
	const struct field_table *table;
	size_t element_size;
	read_fn element;
	const char *example;  /* for the message when the type is wrong */
	const char *alias_of; /* another spelling of that field */
	const char *shape;    /* for the documentation, where the type alone says too little */
	const char *help;
};

enum err_code fields_read(struct reader *r, const struct field_table *table, const char *where,
	const struct tree_node *map, void *target, struct err *reterr) MUST_CHECK;
void fields_describe(const struct field_table *table, const char *prefix, struct strbuf *text);
void reader_release(struct reader *r);

/* ERR_INPUT at the node's place. */
enum err_code node_error(const struct reader *r, const struct tree_node *node, struct err *reterr,
	const char *fmt, ...) PRINTF_LIKE(4, 5);
/* " (did you mean 'x'?)" or "". */
const char *did_you_mean(struct arena *arena, const char *name, const char *const *candidates, size_t count);

/* A non-empty scalar. */
enum err_code read_text(const struct reader *r, const char *where, const struct tree_node *node,
	const char **ret_text, struct err *reterr) MUST_CHECK;
/* Element readers. */
enum err_code read_string_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_template_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;
enum err_code read_strings_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr) MUST_CHECK;

#endif
