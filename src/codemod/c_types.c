/* Types of members, where the structure is seen. */
#include "base/base.h"

#include <string.h>

#include "codemod/c_body.h"

struct member {
	const char *tag, *field; /* wanted */
	const char *type;        /* found */
	int pointers;
	bool found, is_odd;
};

static void see_field(struct rewrite *r, TSNode node, void *context)
{
	struct member *m = context;
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
		TSNode child = ts_node_named_child(node, i), name = child;
		int pointers = 0;
		for (; node_is_kind(name, "pointer_declarator"); pointers++)
			name = code_field(name, "declarator");
		if (!node_is_kind(name, "field_identifier")) {
			m->is_odd |= subtree_has_word(r, child, m->field) &&
				     !ts_node_eq(child, code_field(node, "type"));
			continue;
		}
		if (!node_text_is(r, name, m->field))
			continue;
		m->is_odd |= m->found || subtree_has_word(r, node, "volatile");
		m->found = true;
		m->pointers = pointers;
		m->type = code_text(r, code_field(node, "type"));
	}
}

static void see_struct(struct rewrite *r, TSNode node, void *context)
{
	struct member *m = context;
	const char *name = code_text(r, code_field(node, "name"));
	TSNode up = ts_node_parent(node), body = code_field(node, "body");
	bool is_tag = *name && strcmp(m->tag, arena_printf(r->arena, "struct %s", name)) == 0;
	bool is_alias =
		node_is_kind(up, "type_definition") && node_text_is(r, code_field(up, "declarator"), m->tag);
	if (!ts_node_is_null(body) && (is_tag || is_alias))
		visit_kind(r, body, "field_declaration", see_field, m);
}

static bool find_member(struct rewrite *r, struct member *m)
{
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		visit_kind(&view, r->sources[i].root, "struct_specifier", see_struct, m);
	}
	return m->found && !m->is_odd;
}

static bool type_of(struct rewrite *r, TSNode node, const char **ret_type, int *ret_pointers)
{
	if (node_is_kind(node, "identifier")) {
		struct c_name name = c_find_name(r, node, code_text(r, node));
		*ret_type = name.type;
		*ret_pointers = name.pointers;
		return name.place != NAME_UNKNOWN && !name.is_odd && !name.is_array;
	}
	struct member m = {.field = code_text(r, code_field(node, "field")), .type = ""};
	int pointers;
	if (!node_is_kind(node, "field_expression") ||
		!type_of(r, code_field(node, "argument"), &m.tag, &pointers) || !find_member(r, &m))
		return false;
	*ret_type = m.type;
	*ret_pointers = m.pointers;
	return true;
}

/* `s.a` of a structure of the function's own whose address nobody has. */
static bool is_own_member(struct rewrite *r, TSNode node)
{
	while (node_is_kind(node, "field_expression") && node_text_is(r, code_field(node, "operator"), "."))
		node = code_field(node, "argument");
	if (!node_is_kind(node, "identifier"))
		return false;
	const char *name = code_text(r, node);
	struct c_name found = c_find_name(r, node, name);
	return (found.place == NAME_LOCAL || found.place == NAME_PARAMETER) && !found.is_array &&
	       !found.pointers && !found.is_static && !c_is_address_taken(r, c_function_of(node), name);
}

struct stability {
	bool stable;
};

static void see_member(struct rewrite *r, TSNode node, void *context)
{
	struct stability *s = context;
	const char *type = "";
	int pointers = 0;
	if (is_own_member(r, node))
		return;
	struct c_name plain = {.place = NAME_LOCAL};
	bool is_seen = type_of(r, node, &type, &pointers);
	plain.type = type;
	s->stable &= is_seen && (pointers > 0 || c_is_whole(&plain));
}

static void see_element(struct rewrite *r, TSNode node, void *context)
{
	(void)r, (void)node;
	((struct stability *)context)->stable = false;
}

bool c_is_stable(struct rewrite *r, TSNode expression)
{
	struct stability s = {true};
	visit_kind(r, expression, "field_expression", see_member, &s);
	visit_kind(r, expression, "subscript_expression", see_element, &s);
	visit_kind(r, expression, "pointer_expression", see_element, &s);
	return s.stable;
}
