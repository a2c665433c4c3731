#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "init/command_lines.h"
#include "init/init_int.h"

/* ---- words ---- */

/* One word, its quotes taken off; false = it would need a shell, or is not text that a file can hold. */
static bool read_word(const char **p, struct strbuf *word)
{
	const char *begin = *p;
	for (; **p && !isspace((unsigned char)**p); (*p)++) {
		char c = **p;
		if (c == '\'' || c == '"') {
			const char *close = strchr(*p + 1, c);
			size_t n = close ? (size_t)(close - *p - 1) : 0;
			if (!close || (c == '"' && strcspn(*p + 1, "$`\\") < n))
				return false;
			strbuf_add(word, *p + 1, n);
			*p = close;
		} else if (strchr("$`\\|;&<>(){}*?", c) || (c == '~' && *p == begin)) {
			return false;
		} else {
			strbuf_addch(word, c);
		}
	}
	return word->len > 0 && is_clean_text(word->buf);
}

const char **command_words(struct arena *arena, const char *line, size_t *ret_count)
{
	const char **words = arena_array(arena, strlen(line) / 2 + 2, sizeof(*words));
	size_t n = 0;
	for (const char *p = line + strspn(line, " \t\r"); *p && *p != '#'; p += strspn(p, " \t\r\n\v\f")) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT;
		if (!read_word(&p, &word))
			return NULL;
		words[n++] = arena_strdup(arena, word.buf);
	}
	*ret_count = n;
	return words;
}

/* ---- lines ---- */

static bool ends_with(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n >= m && strcmp(path + n - m, suffix) == 0;
}

struct command_lines command_lines_of(struct arena *arena, const char *path, const char *text)
{
	bool is_document = ends_with(path, ".md") || ends_with(path, ".rst") || ends_with(path, ".txt");
	return (struct command_lines){
		.arena = arena, .at = text, .is_document = is_document, .next_number = 1, .folder = ""};
}

/* The next line with those that it goes on in. */
static void join_line(struct command_lines *l, struct strbuf *ret_line)
{
	strbuf_clear(ret_line);
	l->number = l->next_number;
	for (bool more = true; more;) {
		size_t whole = strcspn(l->at, "\n"), n = whole;
		n -= n > 0 && l->at[n - 1] == '\r';
		more = n > 0 && l->at[n - 1] == '\\' && l->at[whole];
		strbuf_add(ret_line, l->at, n - more);
		strbuf_addch(ret_line, ' ');
		l->at += whole + (l->at[whole] == '\n');
		l->next_number++;
	}
}

/* The words of prose mean nothing to a shell. */
static bool is_command(struct command_lines *l, const char *line)
{
	const char *text = line + strspn(line, " \t");
	bool is_fence = strncmp(text, "```", 3) == 0 || strncmp(text, "~~~", 3) == 0;
	if (!l->is_document)
		return true;
	if (is_fence) {
		l->is_fenced = !l->is_fenced;
		l->folder = ""; /* each is typed anew */
		l->n_exports = 0;
		return false;
	}
	return l->is_fenced || line[0] == '\t' || strncmp(line, "    ", 4) == 0 ||
	       strncmp(text, "$ ", 2) == 0;
}

/* `cd examples` from where one is; what cannot be told is taken for the repository. */
static const char *folder_after(struct command_lines *l, const char *to)
{
	if (*to == '/' || strstr(to, ".."))
		return "";
	while (strncmp(to, "./", 2) == 0)
		to += 2;
	size_t n = strlen(to);
	while (n && to[n - 1] == '/')
		n--;
	if (!n || strcmp(to, ".") == 0)
		return l->folder;
	return arena_printf(l->arena, "%s%s%.*s", l->folder, *l->folder ? "/" : "", (int)n, to);
}

static void add_export(struct command_lines *l, const char *word)
{
	if (strchr(word, '=') && l->n_exports < COMMAND_EXPORTS)
		l->exports[l->n_exports++] = word;
}

/* Changes what comes after it, and is nothing else. */
static bool is_followed(struct command_lines *l, const char *line)
{
	const char *text = line + strspn(line, " \t");
	text += strncmp(text, "$ ", 2) == 0 ? 2 : 0;
	bool is_cd = strncmp(text, "cd ", 3) == 0, is_export = strncmp(text, "export ", 7) == 0;
	size_t n = 0;
	if (!is_cd && !is_export)
		return false;
	const char **words = command_words(l->arena, text, &n);
	if (is_cd)
		l->folder = words && n == 2 ? folder_after(l, words[1]) : "";
	for (size_t i = 1; is_export && words && i < n; i++)
		add_export(l, words[i]);
	return true;
}

bool command_lines_next(struct command_lines *lines, struct strbuf *ret_line)
{
	while (lines->at && *lines->at) {
		join_line(lines, ret_line);
		if (is_command(lines, ret_line->buf) && !is_followed(lines, ret_line->buf))
			return true;
	}
	return false;
}
