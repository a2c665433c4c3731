#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/text_lines.h"

/* Where an old text is being read while hunks are applied. */
struct cursor {
	const char *at, *end;
	int line; /* 1-based number of the line at `at` */
};

static struct text_line next_line(struct cursor *c, bool *ret_newline)
{
	const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
	*ret_newline = stop != NULL;
	stop = stop ? stop : c->end;
	struct text_line line = {c->at, (size_t)(stop - c->at)};
	c->at = *ret_newline ? stop + 1 : stop;
	c->line++;
	return line;
}

static void put_line(struct strbuf *text, const char *line, size_t length, bool newline)
{
	strbuf_add(text, line, length);
	if (newline)
		strbuf_addch(text, '\n');
}

static enum err_code apply_hunk(const struct diff_hunk *hunk, struct cursor *c, struct strbuf *text)
{
	bool newline;
	/* with no old lines, the start names the line before the insertion */
	int start = hunk->old_count ? hunk->old_start : hunk->old_start + 1;
	if (start < c->line)
		return ERR_INPUT;
	while (c->line < start && c->at < c->end) {
		struct text_line line = next_line(c, &newline);
		put_line(text, line.text, line.length, newline);
	}
	if (c->line != start)
		return ERR_INPUT;
	for (size_t i = 0; i < hunk->n_lines; i++) {
		const struct diff_line *line = &hunk->lines[i];
		if (line->kind != '+') {
			if (c->at == c->end)
				return ERR_INPUT;
			struct text_line old = next_line(c, &newline);
			if (old.length != line->length || memcmp(old.text, line->text, old.length) != 0)
				return ERR_INPUT;
		}
		if (line->kind != '-')
			put_line(text, line->text, line->length, !line->no_newline);
	}
	return OK;
}

enum err_code diff_apply(const struct diff_file *file, const char *old, size_t old_length,
	struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct cursor c = {old, old + old_length, 1};
	for (size_t i = 0; i < file->n_hunks; i++)
		if (apply_hunk(&file->hunks[i], &c, &text) != OK)
			return err_set_at(reterr, ERR_INPUT, file->path, file->hunks[i].old_start, 0,
				"hunk %zu (line %d of the diff) does not fit here", i + 1,
				file->hunks[i].place);
	strbuf_add(&text, c.at, (size_t)(c.end - c.at));
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}

static void write_file_header(const struct diff_file *file, const char *prefix, struct strbuf *text)
{
	strbuf_addf(text, "diff --git a/%s%s b/%s%s\n", prefix, file->path, prefix, file->path);
	if (file->created)
		strbuf_addf(text, "new file mode 100644\n--- /dev/null\n+++ b/%s%s\n", prefix, file->path);
	else if (file->deleted)
		strbuf_addf(text, "--- a/%s%s\n+++ /dev/null\n", prefix, file->path);
	else
		strbuf_addf(text, "--- a/%s%s\n+++ b/%s%s\n", prefix, file->path, prefix, file->path);
}

void diff_write(const struct diff *diff, const char *prefix, struct strbuf *text)
{
	for (size_t f = 0; f < diff->n_files; f++) {
		const struct diff_file *file = &diff->files[f];
		write_file_header(file, prefix, text);
		for (size_t h = 0; h < file->n_hunks; h++) {
			const struct diff_hunk *hunk = &file->hunks[h];
			strbuf_addf(text, "@@ -%d,%d +%d,%d @@\n", hunk->old_start, hunk->old_count,
				hunk->new_start, hunk->new_count);
			for (size_t i = 0; i < hunk->n_lines; i++) {
				const struct diff_line *line = &hunk->lines[i];
				strbuf_addch(text, line->kind);
				put_line(text, line->text, line->length, true);
				if (line->no_newline)
					strbuf_addstr(text, "\\ No newline at end of file\n");
			}
		}
	}
}
