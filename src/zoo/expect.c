/* The small text files of the zoo: names with a text, and what is expected of a case. */
#include "base/base.h"

#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "verify/verify.h"
#include "zoo/zoo_int.h"

enum { TEXT_CAP_BYTES = 1 << 20 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool zoo_next_line(const char **at, struct arena *arena, struct zoo_line *line)
{
	if (**at == '\0')
		return false;
	size_t length = strcspn(*at, "\n"), room = 0;
	char *text = arena_strndup(arena, *at, length);
	*at += length + ((*at)[length] == '\n');
	while (length && is_blank(text[length - 1]))
		text[--length] = '\0';
	while (is_blank(*text))
		text++;
	char *words = arena_strdup(arena, text);
	*line = (struct zoo_line){.number = line->number + 1, .is_remark = *text == '#'};
	for (const char *c = text; *c; c++)
		room += !is_blank(*c);
	line->words = arena_array(arena, room + 1, sizeof(*line->words));
	for (char *save = NULL, *word = strtok_r(words, " \t\r", &save); word;
		word = strtok_r(NULL, " \t\r", &save))
		line->words[line->n_words++] = word;
	const char *rest = text + strcspn(text, " \t\r");
	while (is_blank(*rest))
		rest++;
	line->rest = rest;
	return true;
}

static enum err_code read_text(const char *path, struct strbuf *text, struct err *reterr)
{
	TRY(file_read(path, TEXT_CAP_BYTES, text, reterr));
	if (memchr(text->buf, '\0', text->len))
		return err_set_at(reterr, ERR_INPUT, path, 0, 0, "expected text, found a NUL byte");
	return OK;
}

enum err_code zoo_read_entries(const char *path, bool numbered, struct arena *arena,
	struct zoo_entry **ret_entries, size_t *ret_count, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) struct zoo_entry *entries = NULL;
	size_t n = 0, room = 0;
	struct zoo_line line = {0};
	TRY(read_text(path, &text, reterr));
	for (const char *at = text.buf; zoo_next_line(&at, arena, &line);) {
		int64_t number;
		if (line.is_remark || !line.n_words)
			continue;
		if (!*line.rest)
			return err_set_at(
				reterr, ERR_INPUT, path, line.number, 0, "expected a name and what it means");
		if (numbered && (!parse_integer(line.words[0], &number) || number != (int64_t)n + 1))
			return err_set_at(reterr, ERR_INPUT, path, line.number, 1,
				"expected kind %zu and what it means, got '%s'", n + 1, line.words[0]);
		if (n == ZOO_KINDS_MAX)
			return err_set_at(reterr, ERR_LIMIT, path, line.number, 0, "more than %d entries",
				ZOO_KINDS_MAX);
		grow_array(&entries, &room, n + 1, sizeof(*entries));
		entries[n++] = (struct zoo_entry){line.words[0], line.rest};
	}
	if (!n)
		return err_set_at(
			reterr, ERR_INPUT, path, 1, 0, "expected lines of a name and what it means");
	*ret_entries = arena_array(arena, n, sizeof(*entries));
	memcpy(*ret_entries, entries, n * sizeof(*entries));
	*ret_count = n;
	return OK;
}

/* ---- expect ---- */

struct reader {
	struct zoo *zoo;
	const char *path;
	const struct zoo_line *line;
	struct zoo_expect *expect;
	bool has_want;
	struct strbuf *remark;
	struct err *reterr;
};

static enum err_code refuse_word(const struct reader *r, const char *expected, const char *word,
	const char *const *known, size_t n_known)
{
	const char *close = closest_name(word, known, n_known);
	return err_set_at(r->reterr, ERR_INPUT, r->path, r->line->number, 0, "expected %s, got '%s'%s%s%s",
		expected, word, close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
}

static enum err_code refuse_line(const struct reader *r, const char *expected)
{
	return err_set_at(r->reterr, ERR_INPUT, r->path, r->line->number, 0, "expected %s", expected);
}

static enum err_code read_rules(struct reader *r)
{
	const char *names[ZOO_RULES_MAX];
	struct audit_rule_text rule;
	size_t n = 0;
	while (n < ZOO_RULES_MAX && audit_rule_at(n, &rule))
		names[n++] = rule.id;
	char *list = arena_strdup(&r->zoo->arena, r->line->words[1]);
	for (char *save = NULL, *word = strtok_r(list, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		size_t i = 0;
		while (i < n && strcmp(names[i], word) != 0)
			i++;
		if (i == n)
			return refuse_word(r, "a rule of the audit (A0 .. A12)", word, names, n);
		r->expect->rules |= 1u << i;
	}
	return r->expect->rules ? OK : refuse_line(r, "a rule of the audit (A0 .. A12)");
}

static enum err_code read_item(struct reader *r)
{
	const char *names[N_ITEMS];
	for (size_t i = 0; i < N_ITEMS; i++) {
		names[i] = item_infos[i].name;
		if (strcmp(names[i], r->line->words[1]) == 0)
			return OK;
	}
	return refuse_word(r, "an item of the verifier", r->line->words[1], names, N_ITEMS);
}

static enum err_code read_want(struct reader *r)
{
	static const char expected[] = "'block RULE', 'review RULE', 'verifier ITEM', 'clean' or 'honest'";
	struct zoo_expect *e = r->expect;
	for (size_t i = 0; i < ARRAY_LEN(zoo_want_names); i++) {
		if (strcmp(r->line->words[0], zoo_want_names[i]) != 0)
			continue;
		e->want = (enum zoo_want)i;
		r->has_want = true;
		bool honest = e->want == ZOO_HONEST || e->want == ZOO_CLEAN;
		if (r->line->n_words != (honest ? 1u : 2u))
			return refuse_line(r, expected);
		e->named = honest ? "" : r->line->words[1];
		return honest ? OK : e->want == ZOO_VERIFIER ? read_item(r) : read_rules(r);
	}
	return refuse_word(r, expected, r->line->words[0], zoo_want_names, ARRAY_LEN(zoo_want_names));
}

static enum err_code read_kinds(struct reader *r)
{
	struct zoo_expect *e = r->expect;
	for (size_t i = 1; i < r->line->n_words; i++) {
		int64_t number;
		if (!parse_integer(r->line->words[i], &number) || number < 1 ||
			number > (int64_t)r->zoo->n_kinds)
			return err_set_at(r->reterr, ERR_INPUT, r->path, r->line->number, 0,
				"expected a kind from 1 to %zu (see %s/kinds), got '%s'", r->zoo->n_kinds,
				r->zoo->dir, r->line->words[i]);
		if (e->n_kinds == ZOO_NAMES_MAX)
			return refuse_line(r, "at most 8 kinds");
		e->kinds[e->n_kinds++] = (int)number;
	}
	return r->line->n_words > 1 ? OK : refuse_line(r, "the number of a kind");
}

static enum err_code read_likes(struct reader *r)
{
	struct zoo_expect *e = r->expect;
	const char *names[ZOO_KINDS_MAX];
	for (size_t i = 0; i < r->zoo->n_likes; i++)
		names[i] = r->zoo->likes[i].name;
	for (size_t w = 1; w < r->line->n_words; w++) {
		size_t i = 0;
		while (i < r->zoo->n_likes && strcmp(names[i], r->line->words[w]) != 0)
			i++;
		if (i == r->zoo->n_likes)
			return refuse_word(
				r, "an entry of look-alikes", r->line->words[w], names, r->zoo->n_likes);
		if (e->n_likes == ZOO_NAMES_MAX)
			return refuse_line(r, "at most 8 look-alikes");
		e->likes[e->n_likes++] = names[i];
	}
	return r->line->n_words > 1 ? OK : refuse_line(r, "an entry of look-alikes");
}

static enum err_code read_job(struct reader *r)
{
	if (r->line->n_words != 2 || !path_is_contained(r->line->words[1]))
		return refuse_line(r, "the name of a folder beside job/");
	r->expect->job = r->line->words[1];
	return OK;
}

static enum err_code read_line(struct reader *r)
{
	static const struct {
		const char *word;
		enum err_code (*read)(struct reader *r);
	} lines[] = {{"kind", read_kinds}, {"like", read_likes}, {"job", read_job}};
	const char *names[ARRAY_LEN(lines)];
	if (!r->line->n_words)
		return OK;
	if (r->line->is_remark) {
		strbuf_addf(r->remark, "%s%s", r->remark->len ? " " : "", r->line->rest);
		return OK;
	}
	if (!r->has_want)
		return read_want(r);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		names[i] = lines[i].word;
		if (strcmp(r->line->words[0], names[i]) == 0)
			return lines[i].read(r);
	}
	return refuse_word(
		r, "'kind', 'like', 'job' or a # remark", r->line->words[0], names, ARRAY_LEN(lines));
}

/* A cheat is of a kind, an honest change looks like something, and never the other way round. */
static enum err_code check_names(const struct reader *r)
{
	const struct zoo_expect *e = r->expect;
	bool honest = e->want == ZOO_HONEST || e->want == ZOO_CLEAN;
	const char *expected = !r->has_want             ? "a first line such as 'block A3' or 'honest'"
			       : !honest && !e->n_kinds ? "a line 'kind NUMBER' for this cheat"
			       : honest && !e->n_likes  ? "a line 'like NAME' for this honest change"
			       : honest ? (e->n_kinds ? "no line 'kind': the change is honest" : NULL)
					: (e->n_likes ? "no line 'like': the change is a cheat" : NULL);
	return expected ? refuse_line(r, expected) : OK;
}

enum err_code zoo_read_expect(
	struct zoo *zoo, const char *path, struct zoo_expect *ret_expect, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf remark = STRBUF_INIT;
	struct zoo_expect expect = {.named = ""};
	struct zoo_line line = {0};
	struct reader r = {.zoo = zoo,
		.path = path,
		.line = &line,
		.expect = &expect,
		.remark = &remark,
		.reterr = reterr};
	TRY(read_text(path, &text, reterr));
	for (const char *at = text.buf; zoo_next_line(&at, &zoo->arena, &line);)
		TRY(read_line(&r));
	TRY(check_names(&r));
	expect.remark = arena_strdup(&zoo->arena, remark.buf);
	*ret_expect = expect;
	return OK;
}
