/* The text of a loop over blocks of rows. */
#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "codemod/c_blocking.h"

struct piece { /* of the source: bytes [start, end), which are lines that begin with `indent` */
	size_t start, end;
	uint32_t first_line, last_line;
	const char *indent;
	bool is_place;
};

struct pieces {
	struct piece piece[BLOCKING_STATEMENTS];
	int n;
	bool is_block; /* more than one statement may be in them */
};

/* ---- where the text was ---- */

static const char *line_indent(struct rewrite *r, size_t byte)
{
	size_t start = byte, n = 0;
	while (start > 0 && r->file->text[start - 1] != '\n')
		start--;
	while (start + n < byte && strchr(" \t", r->file->text[start + n]))
		n++;
	return arena_strndup(r->arena, r->file->text + start, n);
}

static struct piece piece_of(struct rewrite *r, TSNode node)
{
	return (struct piece){.start = ts_node_start_byte(node),
		.end = ts_node_end_byte(node),
		.first_line = ts_node_start_point(node).row,
		.last_line = ts_node_end_point(node).row,
		.indent = line_indent(r, ts_node_start_byte(node))};
}

/* What stands between the braces. */
static struct piece inside_of(struct rewrite *r, TSNode block)
{
	struct piece p = piece_of(r, block);
	const char *text = r->file->text;
	for (p.start++, p.end--; p.start < p.end && strchr(" \t\r\n", text[p.start]); p.start++)
		p.first_line += text[p.start] == '\n';
	for (; p.end > p.start && strchr(" \t\r\n", text[p.end - 1]); p.end--)
		p.last_line -= text[p.end - 1] == '\n';
	p.indent = line_indent(r, p.start);
	return p;
}

/* Behind "for (...)". */
static size_t head_end(TSNode loop)
{
	size_t end = 0;
	for (uint32_t i = 0; i < ts_node_child_count(loop); i++)
		if (node_is_kind(ts_node_child(loop, i), ")"))
			end = ts_node_end_byte(ts_node_child(loop, i));
	return end;
}

static bool is_blank(struct rewrite *r, size_t start, size_t end)
{
	while (start < end && strchr(" \t\r\n", r->file->text[start]))
		start++;
	return start >= end;
}

static bool has_comment(TSNode node)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
		if (node_is_kind(ts_node_named_child(node, i), "comment"))
			return true;
	return false;
}

const char *c_reason_no_text(struct rewrite *r, const struct c_blocking *b)
{
	if (!node_indent(r, b->rows.loop))
		return "blocks do not fit where the loop stands";
	for (const struct c_loop *l = &b->rows;; l = &b->inner) {
		bool is_clear =
			head_end(l->loop) && is_blank(r, head_end(l->loop), ts_node_start_byte(l->body));
		if (!is_clear || (l == &b->rows && has_comment(l->body)))
			return "a comment has no place in the new loops";
		if (l == &b->inner)
			return NULL;
	}
}

/* ---- pieces ---- */

struct rename {
	const struct c_blocking *b;
	struct strbuf *text;
	size_t at, end; /* the source up to `at` is in the text */
};

static void see_row(struct rewrite *r, TSNode node, void *context)
{
	struct rename *n = context;
	size_t start = ts_node_start_byte(node);
	if (start < n->at || ts_node_end_byte(node) > n->end || !node_text_is(r, node, n->b->rows.variable))
		return;
	strbuf_add(n->text, r->file->text + n->at, start - n->at);
	strbuf_addstr(n->text, n->b->now);
	n->at = ts_node_end_byte(node);
}

/* Lines from the second on move from one indent to another. */
static void add_moved(struct strbuf *to, const char *text, const char *from_indent, const char *indent)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		strbuf_add(to, p, n);
		p += n;
		if (*p != '\n')
			break;
		strbuf_addch(to, *p++);
		if (!*p || *p == '\n' || *p == '\r')
			continue;
		for (const char *q = from_indent; *q && *q == *p; q++)
			p++;
		strbuf_addstr(to, indent);
	}
}

static void add_piece(struct rewrite *r, const struct c_blocking *b, struct strbuf *to,
	const struct piece *piece, const char *indent)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct rename rename = {b, &text, piece->start, piece->end};
	visit_kind(r, b->rows.body, "identifier", see_row, &rename);
	strbuf_add(&text, r->file->text + rename.at, piece->end - rename.at);
	strbuf_addstr(to, indent);
	add_moved(to, text.buf, piece->indent, indent);
	strbuf_addch(to, '\n');
}

/* ---- which places a part needs ---- */

/* Those that one of the statements, or a place that is needed, mentions behind them. */
static void find_needed(
	struct rewrite *r, const struct c_blocking *b, const bool *is_in_part, bool *ret_is_needed)
{
	for (int i = b->n_statements - 1; i >= 0; i--) {
		ret_is_needed[i] = is_in_part[i];
		if (!c_is_place(b, i))
			continue;
		for (int j = i + 1; j < b->n_statements; j++)
			ret_is_needed[i] |= ret_is_needed[j] &&
					    c_is_mentioned(r, b->statements[j], c_place_name(r, b, i));
	}
}

static void add_to(struct pieces *p, struct piece piece, bool is_place)
{
	piece.is_place = is_place;
	p->is_block |= p->n > 0;
	p->piece[p->n++] = piece;
}

/* All statements before the inner loop, or what the inner loop does. */
static struct pieces pieces_of(struct rewrite *r, const struct c_blocking *b, bool wants_inner)
{
	struct pieces p = {.n = 0};
	bool is_in_part[BLOCKING_STATEMENTS] = {false}, is_needed[BLOCKING_STATEMENTS];
	int last = b->n_statements - 1;
	for (int i = 0; i <= last; i++)
		is_in_part[i] = i == last ? wants_inner : !wants_inner && !c_is_place(b, i);
	find_needed(r, b, is_in_part, is_needed);
	for (int i = 0; i < last; i++)
		if (is_needed[i])
			add_to(&p, piece_of(r, b->statements[i]), c_is_place(b, i));
	if (!wants_inner)
		return p;
	bool is_block = node_is_kind(b->inner.body, "compound_statement");
	add_to(&p, is_block ? inside_of(r, b->inner.body) : piece_of(r, b->inner.body), false);
	p.is_block |= is_block;
	return p;
}

/* ---- loops ---- */

/* The rows of the block, one after the other. */
static void add_rows(struct rewrite *r, const struct c_blocking *b, struct strbuf *to, const struct pieces *p,
	const char *indent, const char *step)
{
	const char *inner = arena_printf(r->arena, "%s%s", indent, step);
	strbuf_addf(to, "%sfor (%s %s = %s; %s < %s; %s++)%s\n", indent, b->row.type, b->now,
		b->rows.variable, b->now, b->end, b->now, p->is_block ? " {" : "");
	for (int i = 0; i < p->n; i++) {
		const struct piece *piece = &p->piece[i], *before = i ? piece - 1 : piece;
		if (before->is_place != piece->is_place || piece->first_line > before->last_line + 1)
			strbuf_addch(to, '\n');
		add_piece(r, b, to, piece, inner);
	}
	if (p->is_block)
		strbuf_addf(to, "%s}\n", indent);
}

/* How much further to the right the file has the body of the loop. */
static const char *step_of(struct rewrite *r, const struct c_blocking *b, const char *indent)
{
	const char *inner = node_indent(r, b->statements[0]);
	size_t n = strlen(indent);
	if (inner && strncmp(inner, indent, n) == 0 && inner[n])
		return inner + n;
	return *indent == ' ' ? "    " : "\t";
}

void c_write_blocks(struct rewrite *r, const struct c_blocking *b)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const char *row = b->rows.variable, *bound = b->rows.bound;
	const char *indent = node_indent(r, b->rows.loop), *step = step_of(r, b, indent);
	const char *inner = arena_printf(r->arena, "%s%s", indent, step);
	const struct pieces before = pieces_of(r, b, false), body = pieces_of(r, b, true);
	struct piece head = piece_of(r, b->inner.loop);
	head.end = head_end(b->inner.loop);
	strbuf_addf(&text, " {\n%sconst %s %s = %s - %s > %d ? %s + %d : %s;\n\n", inner, b->row.type, b->end,
		bound, row, BLOCKING_ROWS, row, BLOCKING_ROWS, bound);
	if (before.n)
		add_rows(r, b, &text, &before, inner, step);
	add_piece(r, b, &text, &head, inner);
	add_rows(r, b, &text, &body, arena_printf(r->arena, "%s%s", inner, step), step);
	strbuf_addf(&text, "%s}", indent);
	TSNode update = code_field(b->rows.loop, "update");
	rewrite_replace(r, ts_node_start_byte(update), ts_node_end_byte(update),
		arena_printf(r->arena, "%s += %d", row, BLOCKING_ROWS));
	rewrite_replace(r, head_end(b->rows.loop), ts_node_end_byte(b->rows.body), text.buf);
}
