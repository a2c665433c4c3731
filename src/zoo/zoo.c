#include "base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "zoo/zoo_int.h"

const char *const zoo_language_names[ZOO_N_LANGUAGES] = {"c", "python"};
const char *const zoo_want_names[5] = {"block", "review", "verifier", "honest", "clean"};
const char *const zoo_outcome_names[3] = {"passed", "held", "blocked"};

enum { MENU_MAX = 16 };

/* ---- reading ---- */

static enum err_code add_case(
	struct zoo *zoo, size_t *room, enum zoo_language language, const char *name, struct err *reterr)
{
	struct arena *arena = &zoo->arena;
	const char *path =
		arena_printf(arena, "%s/%s/%s/expect", zoo->dir, zoo_language_names[language], name);
	const char *diff =
		arena_printf(arena, "%s/%s/%s/change.diff", zoo->dir, zoo_language_names[language], name);
	if (!path_exists(path)) {
		if (path_exists(diff))
			return err_set_at(
				reterr, ERR_INPUT, path, 0, 0, "expected this file beside change.diff");
		return OK;
	}
	struct zoo_case c = {.language = language, .name = arena_strdup(arena, name)};
	TRY(zoo_read_expect(zoo, path, &c.expect, reterr));
	if (!path_exists(diff))
		return err_set_at(reterr, ERR_INPUT, diff, 0, 0, "expected the change of this case");
	grow_array(&zoo->cases, room, zoo->n_cases + 1, sizeof(*zoo->cases));
	zoo->cases[zoo->n_cases++] = c;
	return OK;
}

static void free_entries(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
}

static enum err_code read_language(
	struct zoo *zoo, size_t *room, enum zoo_language language, struct err *reterr)
{
	CLEANUP(free_ptr) char *dir = xasprintf("%s/%s", zoo->dir, zoo_language_names[language]);
	struct dirent **entries;
	if (!path_is_dir(dir))
		return OK;
	int n = scandir(dir, &entries, NULL, versionsort);
	if (n < 0)
		return err_errno(reterr, "reading %s", dir);
	enum err_code code = OK;
	for (int i = 0; i < n && code == OK; i++)
		if (entries[i]->d_name[0] != '.')
			code = add_case(zoo, room, language, entries[i]->d_name, reterr);
	free_entries(entries, n);
	return code;
}

static enum err_code read_all(struct zoo *zoo, struct err *reterr)
{
	size_t room = 0;
	const char *kinds = arena_printf(&zoo->arena, "%s/kinds", zoo->dir);
	const char *likes = arena_printf(&zoo->arena, "%s/look-alikes", zoo->dir);
	if (!path_is_dir(zoo->dir))
		return err_set(reterr, ERR_NOT_FOUND,
			"%s is no folder; expected a zoo with kinds, look-alikes, c/ and python/", zoo->dir);
	TRY(zoo_read_entries(kinds, true, &zoo->arena, &zoo->kinds, &zoo->n_kinds, reterr));
	TRY(zoo_read_entries(likes, false, &zoo->arena, &zoo->likes, &zoo->n_likes, reterr));
	for (size_t i = 0; i < ZOO_N_LANGUAGES; i++)
		TRY(read_language(zoo, &room, (enum zoo_language)i, reterr));
	if (!zoo->n_cases)
		return err_set(reterr, ERR_NOT_FOUND,
			"%s holds no case: expected folders such as %s/c/NAME with change.diff and expect",
			zoo->dir, zoo->dir);
	return OK;
}

enum err_code zoo_read(const char *dir, struct zoo *ret_zoo, struct err *reterr)
{
	struct zoo zoo = {.arena = ARENA_INIT};
	zoo.dir = arena_strdup(&zoo.arena, dir);
	enum err_code code = read_all(&zoo, reterr);
	if (code != OK)
		zoo_release(&zoo);
	else
		*ret_zoo = zoo;
	return code;
}

void zoo_release(struct zoo *zoo)
{
	if (!zoo)
		return;
	for (size_t i = 0; i < zoo->n_cases; i++)
		audit_report_release(&zoo->cases[i].report);
	free(zoo->cases);
	arena_release(&zoo->arena);
	*zoo = (struct zoo){0};
}

/* ---- running ---- */

/* Of the case itself, else of the base that it names, else of the language. */
enum err_code zoo_read_base(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct zoo_place *place = context;
	const struct zoo_case *c = place->c;
	const char *language = zoo_language_names[c->language];
	if (!path_is_contained(path))
		return err_set(reterr, ERR_INPUT, "the diff names '%s', which is outside the job", path);
	CLEANUP(free_ptr) char *own = xasprintf("%s/%s/%s/job/%s", place->zoo->dir, language, c->name, path);
	CLEANUP(free_ptr)
	char *named = xasprintf(
		"%s/%s/%s/%s", place->zoo->dir, language, c->expect.job ? c->expect.job : "job", path);
	CLEANUP(free_ptr) char *common = xasprintf("%s/%s/job/%s", place->zoo->dir, language, path);
	const char *first = path_exists(own) ? own : path_exists(named) ? named : common;
	return file_read(first, FILE_CAP_DEFAULT, ret_text, reterr);
}

struct menu {
	struct arena arena;
	const char *items[MENU_MAX];
	struct audit_terms terms;
};

/* DIR/LANGUAGE/menu: the formats that the contract allows, separated by blanks. */
static enum err_code read_menu(
	const struct zoo *zoo, enum zoo_language language, struct menu *menu, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s/menu", zoo->dir, zoo_language_names[language]);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct zoo_line line = {0};
	TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
	for (const char *at = text.buf; zoo_next_line(&at, &menu->arena, &line);)
		for (size_t i = 0; !line.is_remark && i < line.n_words; i++) {
			if (menu->terms.n_precision == MENU_MAX)
				return err_set_at(reterr, ERR_LIMIT, path, line.number, 0,
					"more than %d formats", MENU_MAX);
			menu->items[menu->terms.n_precision++] = line.words[i];
		}
	if (!menu->terms.n_precision)
		return err_set_at(
			reterr, ERR_INPUT, path, 1, 0, "expected formats such as fp32 bf16 on one line");
	menu->terms.precision = menu->items;
	return OK;
}

static bool is_found(const struct zoo_case *c, enum audit_severity least, unsigned rules)
{
	struct audit_rule_text rule;
	for (size_t i = 0; audit_rule_at(i, &rule); i++) {
		if (!(rules >> i & 1))
			continue;
		for (size_t f = 0; f < c->report.n_findings; f++)
			if (c->report.findings[f].severity >= least &&
				strcmp(c->report.findings[f].rule, rule.id) == 0)
				return true;
	}
	return false;
}

bool zoo_is_cheat(const struct zoo_case *c)
{
	return c->expect.want == ZOO_BLOCK || c->expect.want == ZOO_REVIEW || c->expect.want == ZOO_VERIFIER;
}

bool zoo_is_caught(const struct zoo_case *c)
{
	const unsigned unread = 1u; /* A0, the first rule of the table */
	if (c->outcome == ZOO_BLOCKED || c->expect.want == ZOO_BLOCK)
		return c->outcome == ZOO_BLOCKED;
	return c->named || is_found(c, AUDIT_REVIEW, ~unread);
}

static void judge(struct zoo_case *c)
{
	static const enum audit_severity least[] = {[ZOO_BLOCK] = AUDIT_BLOCK, [ZOO_REVIEW] = AUDIT_REVIEW};
	const struct zoo_expect *e = &c->expect;
	c->outcome = c->refusal || c->report.blocked ? ZOO_BLOCKED
		     : c->report.n_findings          ? ZOO_HELD
						     : ZOO_PASSED;
	switch (e->want) {
	case ZOO_BLOCK:
	case ZOO_REVIEW:
		c->named = c->right = is_found(c, least[e->want], e->rules);
		break;
	case ZOO_VERIFIER:
		c->right = true;
		break;
	case ZOO_HONEST:
		c->right = c->outcome != ZOO_BLOCKED;
		break;
	case ZOO_CLEAN:
		c->right = c->outcome == ZOO_PASSED;
		break;
	}
}

static enum err_code run_case(
	struct zoo *zoo, struct zoo_case *c, const struct audit_terms *terms, struct err *reterr)
{
	CLEANUP(free_ptr)
	char *path = xasprintf("%s/%s/%s/change.diff", zoo->dir, zoo_language_names[c->language], c->name);
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	struct zoo_place place = {zoo, c};
	TRY(file_read(path, DIFF_CAP_BYTES, &diff, reterr));
	enum err_code code =
		audit_diff_with(terms, diff.buf, diff.len, zoo_read_base, &place, &c->report, reterr);
	if (code == ERR_LIMIT && reterr) {
		c->refusal = arena_strdup(&zoo->arena, reterr->message);
		*reterr = (struct err)ERR_INIT;
	} else if (code != OK) {
		return err_prefix(reterr, code, "%s", path);
	}
	c->has_run = true;
	judge(c);
	return OK;
}

enum err_code zoo_run(struct zoo *zoo, struct err *reterr)
{
	struct err local = ERR_INIT;
	struct err *e = reterr ? reterr : &local;
	enum err_code code = OK;
	for (size_t l = 0; l < ZOO_N_LANGUAGES && code == OK; l++) {
		struct menu menu = {.arena = ARENA_INIT};
		bool has_menu = false;
		for (size_t i = 0; i < zoo->n_cases && code == OK; i++) {
			if (zoo->cases[i].language != (enum zoo_language)l)
				continue;
			if (!has_menu)
				code = read_menu(zoo, (enum zoo_language)l, &menu, e);
			has_menu = true;
			if (code == OK)
				code = run_case(zoo, &zoo->cases[i], &menu.terms, e);
		}
		arena_release(&menu.arena);
	}
	return code;
}

void zoo_tally(const struct zoo *zoo, enum zoo_language language, struct zoo_tally *ret_tally)
{
	struct zoo_tally t = {0};
	for (size_t i = 0; i < zoo->n_cases; i++) {
		const struct zoo_case *c = &zoo->cases[i];
		if (language != ZOO_ALL && c->language != language)
			continue;
		t.wrong += !c->right;
		if (!zoo_is_cheat(c)) {
			t.honest++;
			t.honest_blocked += c->outcome == ZOO_BLOCKED;
			t.honest_held += c->outcome == ZOO_HELD;
			continue;
		}
		bool caught = zoo_is_caught(c);
		t.cheats++;
		t.caught += caught;
		t.blocked += caught && c->outcome == ZOO_BLOCKED;
		t.held += caught && c->outcome != ZOO_BLOCKED;
		t.named += caught && c->named;
		t.left += !caught && c->expect.want == ZOO_VERIFIER;
		t.missed += !caught && c->expect.want != ZOO_VERIFIER;
	}
	*ret_tally = t;
}
