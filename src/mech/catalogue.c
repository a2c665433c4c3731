#include "base/base.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "mech/catalogue.h"
#include "spec/fields.h"

/* clang-format off */
#define AT(type, member) .offset = offsetof(type, member)
#define TEXTS(owner, member)                                                                                 \
	.type = FIELD_LIST, .offset = offsetof(owner, member.items), .count_offset = offsetof(owner, member.n), \
	.element = read_scalar, .element_size = sizeof(char *)
#define TABLE_OF(a) {(a), ARRAY_LEN(a)}
/* clang-format on */

static const char *const class_words[] = {"kernel", "balance", NULL};
static const char *const kind_words[] = {"enum", "bool", "int", "ordered", NULL};
static const char *const numerics_words[] = {"exact", "reassociated", "lower_precision", "changes_rng", NULL};
static const char *const memory_words[] = {"saver", "spender", "mixed", "none", NULL};
static const char *const scope_words[] = {"e2e", "kernel", "micro", NULL};
static const char *const effect_words[] = {
	"refused", "crash", "hang", "wrong_result", "silently_ignored", "slower", "oom", NULL};
enum { KIND_ENUM, KIND_BOOL, KIND_INT, KIND_ORDERED };

/* Any scalar as it is written. */
static enum err_code read_scalar(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	return read_text(r, where, value, target, reterr);
}

/* NULL for nothing, null and ~. */
static enum err_code read_optional(struct reader *r, const char *where, const struct tree_node *node,
	const char **ret_text, struct err *reterr)
{
	*ret_text = NULL;
	return !node || tree_is_empty(node) ? OK : read_text(r, where, node, ret_text, reterr);
}

static enum err_code read_value(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct mechanism_value *v = target;
	(void)field;
	v->raw = value->key->text;
	return read_text(r, where, value, &v->canonical, reterr);
}

static const struct field spelling_fields[] = {
	{.name = "flag", .type = FIELD_STRING, AT(struct mechanism_spelling, flag), .required = true},
	{.name = "map",
		.type = FIELD_MAP,
		AT(struct mechanism_spelling, values),
		.count_offset = offsetof(struct mechanism_spelling, n_values),
		.element = read_value,
		.element_size = sizeof(struct mechanism_value),
		.required = true},
	{.name = "since", .type = FIELD_STRING, AT(struct mechanism_spelling, since)},
	{.name = "until", .type = FIELD_STRING, AT(struct mechanism_spelling, until)},
	{.name = "seen", TEXTS(struct mechanism_spelling, seen)},
	{.name = "note", .type = FIELD_STRING, AT(struct mechanism_spelling, note)},
	{.name = "surface", .type = FIELD_STRING, AT(struct mechanism_spelling, surface)},
};
static const struct field_table spelling_table = TABLE_OF(spelling_fields);

struct contrast_draft {
	struct mechanism_prior prior;
	const struct tree_node *ratios; /* what the mean was taken of */
};

static const struct field contrast_fields[] = {
	{.name = "hw", .type = FIELD_STRING, AT(struct contrast_draft, prior.hardware), .required = true},
	{.name = "from", .type = FIELD_STRING, AT(struct contrast_draft, prior.from), .required = true},
	{.name = "to", .type = FIELD_STRING, AT(struct contrast_draft, prior.to), .required = true},
	{.name = "log_speedup_mean",
		.type = FIELD_NUMBER,
		AT(struct contrast_draft, prior.mean_ln),
		.required = true},
	{.name = "log_speedup_sd",
		.type = FIELD_NUMBER,
		AT(struct contrast_draft, prior.sd_ln),
		.least = 1e-6,
		.most = 10,
		.required = true},
	{.name = "n",
		.type = FIELD_INT,
		AT(struct contrast_draft, prior.n),
		.least = 0,
		.most = 1e6,
		.required = true},
	{.name = "scope",
		.type = FIELD_WORD,
		AT(struct contrast_draft, prior.scope),
		.words = scope_words,
		.required = true},
	{.name = "source", .type = FIELD_STRING, AT(struct contrast_draft, prior.source), .required = true},
	{.name = "note", .type = FIELD_STRING, AT(struct contrast_draft, prior.note)},
	{.name = "ratios", .type = FIELD_NODE, AT(struct contrast_draft, ratios)},
};
static const struct field_table contrast_table = TABLE_OF(contrast_fields);

struct conflict_draft {
	struct mechanism_conflict conflict;
	const struct tree_node *with;
	struct texts evidence;
};

static const struct field conflict_fields[] = {
	{.name = "with", .type = FIELD_NODE, AT(struct conflict_draft, with)},
	{.name = "self", TEXTS(struct conflict_draft, conflict.self_values)},
	{.name = "other", TEXTS(struct conflict_draft, conflict.other_values)},
	{.name = "frameworks", TEXTS(struct conflict_draft, conflict.frameworks)},
	{.name = "effect",
		.type = FIELD_WORD,
		AT(struct conflict_draft, conflict.effect),
		.words = effect_words,
		.required = true},
	{.name = "condition", .type = FIELD_STRING, AT(struct conflict_draft, conflict.condition)},
	{.name = "reason",
		.type = FIELD_STRING,
		AT(struct conflict_draft, conflict.reason),
		.required = true},
	{.name = "evidence", TEXTS(struct conflict_draft, evidence)},
};
static const struct field_table conflict_table = TABLE_OF(conflict_fields);

static enum err_code read_conflict(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct conflict_draft draft = {0};
	(void)field;
	TRY(fields_read(r, &conflict_table, where, value, &draft, reterr));
	TRY(read_optional(r, where, draft.with, &draft.conflict.with, reterr));
	*(struct mechanism_conflict *)target = draft.conflict;
	return OK;
}

struct memory_draft {
	enum mechanism_memory sign;
	const char *rule;
	const struct tree_node *peak, *sd;
	struct texts observed;
};

static const struct field memory_fields[] = {
	{.name = "sign",
		.type = FIELD_WORD,
		AT(struct memory_draft, sign),
		.words = memory_words,
		.required = true},
	{.name = "rule", .type = FIELD_STRING, AT(struct memory_draft, rule), .required = true},
	{.name = "peak_log_ratio_mean", .type = FIELD_NODE, AT(struct memory_draft, peak)},
	{.name = "sd", .type = FIELD_NODE, AT(struct memory_draft, sd)},
	{.name = "observed", TEXTS(struct memory_draft, observed)},
};
static const struct field_table memory_table = TABLE_OF(memory_fields);

struct mechanism_draft {
	struct mechanism m;
	int kind;
	const struct tree_node *values, *reference, *prior, *spellings;
	struct memory_draft memory;
	const struct tree_node *requires; /* for a person */
	struct texts evidence;
};

static const struct field mechanism_fields[] = {
	{.name = "id", .type = FIELD_NAME, AT(struct mechanism_draft, m.id), .required = true},
	{.name = "title", .type = FIELD_STRING, AT(struct mechanism_draft, m.title), .required = true},
	{.name = "class",
		.type = FIELD_WORD,
		AT(struct mechanism_draft, m.class),
		.words = class_words,
		.required = true},
	{.name = "phases", TEXTS(struct mechanism_draft, m.phases), .required = true},
	{.name = "kind",
		.type = FIELD_WORD,
		AT(struct mechanism_draft, kind),
		.words = kind_words,
		.required = true},
	{.name = "values", .type = FIELD_NODE, AT(struct mechanism_draft, values)},
	{.name = "reference", .type = FIELD_NODE, AT(struct mechanism_draft, reference)},
	{.name = "spellings", .type = FIELD_NODE, AT(struct mechanism_draft, spellings), .required = true},
	{.name = "prior", .type = FIELD_NODE, AT(struct mechanism_draft, prior)},
	{.name = "memory",
		.type = FIELD_TABLE,
		AT(struct mechanism_draft, memory),
		.table = &memory_table,
		.required = true},
	{.name = "numerics",
		.type = FIELD_WORD,
		AT(struct mechanism_draft, m.numerics),
		.words = numerics_words,
		.required = true},
	{.name = "conflicts",
		.type = FIELD_LIST,
		AT(struct mechanism_draft, m.conflicts),
		.count_offset = offsetof(struct mechanism_draft, m.n_conflicts),
		.element = read_conflict,
		.element_size = sizeof(struct mechanism_conflict)},
	{.name = "requires", .type = FIELD_NODE, AT(struct mechanism_draft, requires)},
	{.name = "contract", .type = FIELD_STRING, AT(struct mechanism_draft, m.contract)},
	{.name = "notes", .type = FIELD_STRING, AT(struct mechanism_draft, m.notes)},
	{.name = "evidence", TEXTS(struct mechanism_draft, evidence)},
};
static const struct field_table mechanism_table = TABLE_OF(mechanism_fields);

/* null or a list. */
static enum err_code read_nullable_list(struct reader *r, const struct field *list, const char *where,
	const struct tree_node *node, void *target, struct err *reterr)
{
	const struct field one[] = {*list};
	const struct field_table table = TABLE_OF(one);
	if (!node || tree_is_empty(node))
		return OK;
	/* A map of one key, so that the list's elements are read and reported as everywhere else. */
	struct tree_node key = {
		.kind = TREE_SCALAR, .line = node->line, .column = node->column, .text = list->name};
	struct tree_node value = *node;
	value.key = &key;
	value.next = NULL;
	struct tree_node map = {.kind = TREE_MAP,
		.line = node->line,
		.column = node->column,
		.first = &value,
		.last = &value,
		.n_children = 1};
	return fields_read(r, &table, where, &map, target, reterr);
}

static enum err_code read_contrast(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct contrast_draft draft = {0};
	(void)field;
	TRY(fields_read(r, &contrast_table, where, value, &draft, reterr));
	*(struct mechanism_prior *)target = draft.prior;
	return OK;
}

static enum err_code read_spellings(struct reader *r, const char *where, const struct tree_node *frameworks,
	struct mechanism *m, struct err *reterr)
{
	if (frameworks->kind != TREE_MAP)
		return node_error(r, frameworks, reterr, "%s.spellings: expected a mapping, got %s", where,
			tree_describe(frameworks, r->arena));
	size_t room = 0;
	for (const struct tree_node *f = frameworks->first; f; f = f->next)
		room += f->n_children;
	m->spellings = arena_array(r->arena, room, sizeof(*m->spellings));
	for (const struct tree_node *f = frameworks->first; f; f = f->next) {
		if (f->kind != TREE_LIST)
			return node_error(r, f, reterr, "%s.spellings.%s: expected a list, got %s", where,
				printable(f->key->text, r->arena), tree_describe(f, r->arena));
		for (const struct tree_node *s = f->first; s; s = s->next) {
			struct mechanism_spelling *spelling = &m->spellings[m->n_spellings++];
			TRY(fields_read(r, &spelling_table, where, s, spelling, reterr));
			spelling->framework = f->key->text;
		}
	}
	return OK;
}

static enum err_code read_peak(struct reader *r, const char *where, const struct tree_node *node,
	double *ret_ln_ratio, struct err *reterr)
{
	static const struct field fields[] = {{.name = "peak_log_ratio_mean", .type = FIELD_NUMBER}};
	static const struct field_table table = TABLE_OF(fields);
	*ret_ln_ratio = NAN;
	if (!node || tree_is_empty(node))
		return OK;
	struct tree_node key = {.kind = TREE_SCALAR, .text = fields[0].name};
	struct tree_node value = *node;
	value.key = &key;
	value.next = NULL;
	struct tree_node map = {.kind = TREE_MAP, .first = &value, .last = &value, .n_children = 1};
	return fields_read(r, &table, where, &map, ret_ln_ratio, reterr);
}

static enum err_code read_mechanism(
	struct reader *r, const struct tree_node *node, struct mechanism *ret_mechanism, struct err *reterr)
{
	static const struct field values = {.name = "values", TEXTS(struct mechanism, values)};
	static const struct field priors = {.name = "prior",
		.type = FIELD_LIST,
		AT(struct mechanism, priors),
		.count_offset = offsetof(struct mechanism, n_priors),
		.element = read_contrast,
		.element_size = sizeof(struct mechanism_prior)};
	struct mechanism_draft draft = {0};
	const struct tree_node *id = node->kind == TREE_MAP ? tree_find(node, "id") : NULL;
	const char *where = id && id->kind == TREE_SCALAR ? printable(id->text, r->arena) : "a mechanism";
	TRY(fields_read(r, &mechanism_table, where, node, &draft, reterr));
	TRY(read_nullable_list(r, &values, where, draft.values, &draft.m, reterr));
	TRY(read_nullable_list(r, &priors, where, draft.prior, &draft.m, reterr));
	TRY(read_optional(r, where, draft.reference, &draft.m.reference, reterr));
	TRY(read_spellings(r, where, draft.spellings, &draft.m, reterr));
	TRY(read_peak(r, where, draft.memory.peak, &draft.m.peak_ln_ratio, reterr));
	draft.m.memory = draft.memory.sign;
	draft.m.memory_rule = draft.memory.rule;
	draft.m.is_ordered = draft.kind == KIND_ORDERED || draft.kind == KIND_INT;
	draft.m.is_number = draft.kind == KIND_INT;
	draft.m.line = node->line;
	*ret_mechanism = draft.m;
	return OK;
}

static enum err_code check_names(
	const struct reader *r, const struct tree_node *list, const struct catalogue *c, struct err *reterr)
{
	const struct tree_node *node = list->first;
	for (size_t i = 0; i < c->n_mechanisms; i++, node = node->next) {
		const struct mechanism *m = &c->mechanisms[i];
		if (catalogue_find(c, m->id) != m)
			return node_error(r, node, reterr, "mechanism '%s' is listed twice", m->id);
		for (size_t k = 0; k < m->n_conflicts; k++)
			if (m->conflicts[k].with && !catalogue_find(c, m->conflicts[k].with))
				return node_error(r, node, reterr, "%s.conflicts: there is no mechanism '%s'",
					m->id, printable(m->conflicts[k].with, r->arena));
	}
	return OK;
}

static enum err_code read_all(
	struct reader *r, const struct tree_node *root, struct catalogue *ret_catalogue, struct err *reterr)
{
	if (root->kind != TREE_LIST)
		return node_error(r, root, reterr, "expected a list of mechanisms, got %s",
			tree_describe(root, r->arena));
	struct catalogue c = {arena_array(r->arena, root->n_children, sizeof(*c.mechanisms)), 0};
	for (const struct tree_node *node = root->first; node; node = node->next)
		TRY(read_mechanism(r, node, &c.mechanisms[c.n_mechanisms++], reterr));
	TRY(check_names(r, root, &c, reterr));
	*ret_catalogue = c;
	return OK;
}

enum err_code catalogue_parse(const char *path, const char *text, size_t length, struct arena *arena,
	struct catalogue *ret_catalogue, struct err *reterr)
{
	struct tree_node *root;
	struct reader reader = {.arena = arena, .path = path};
	TRY(tree_parse(path, text, length, arena, &root, reterr));
	enum err_code code = read_all(&reader, root, ret_catalogue, reterr);
	reader_release(&reader);
	return code;
}

enum err_code catalogue_load(
	const char *path, struct arena *arena, struct catalogue *ret_catalogue, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(path, TREE_BYTES, &text, reterr));
	return catalogue_parse(path, text.buf, text.len, arena, ret_catalogue, reterr);
}
