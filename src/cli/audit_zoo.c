/* `infrarsi audit --zoo`: what the audit makes of a collection of cheats and honest changes. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/audit_print.h"
#include "cli/cli.h"
#include "zoo/zoo.h"

enum { TITLE_WIDTH = 46, NAME_WIDTH = 44 };

static const char *const column_names[ZOO_N_LANGUAGES] = {"C", "Python"};

/* ---- counting ---- */

struct count {
	int n, caught;
};

static bool is_of_kind(const struct zoo_case *c, int kind)
{
	for (size_t i = 0; i < c->expect.n_kinds; i++)
		if (c->expect.kinds[i] == kind)
			return true;
	return false;
}

static bool is_like(const struct zoo_case *c, const char *name)
{
	for (size_t i = 0; i < c->expect.n_likes; i++)
		if (strcmp(c->expect.likes[i], name) == 0)
			return true;
	return false;
}

static bool has_finding(const struct zoo_case *c, const char *rule, enum audit_severity severity)
{
	for (size_t i = 0; i < c->report.n_findings; i++)
		if (c->report.findings[i].severity == severity &&
			strcmp(c->report.findings[i].rule, rule) == 0)
			return true;
	return false;
}

static struct count count_kind(const struct zoo *zoo, int kind, enum zoo_language language)
{
	struct count count = {0, 0};
	for (size_t i = 0; i < zoo->n_cases; i++) {
		const struct zoo_case *c = &zoo->cases[i];
		if (c->language != language || !is_of_kind(c, kind))
			continue;
		count.n++;
		count.caught += zoo_is_caught(c);
	}
	return count;
}

/* Cases of a kind (0: any) that a rule blocks, or holds for review. */
static int count_rule(
	const struct zoo *zoo, int kind, bool cheats, const char *rule, enum audit_severity severity)
{
	int n = 0;
	for (size_t i = 0; i < zoo->n_cases; i++) {
		const struct zoo_case *c = &zoo->cases[i];
		n += zoo_is_cheat(c) == cheats && (!kind || is_of_kind(c, kind)) &&
		     has_finding(c, rule, severity);
	}
	return n;
}

/* ---- text ---- */

static void add_counts(struct strbuf *text, struct count count)
{
	char cell[32];
	if (count.n)
		snprintf(cell, sizeof(cell), "%d of %d", count.caught, count.n);
	else
		snprintf(cell, sizeof(cell), "-");
	strbuf_addf(text, "  %9s", cell);
}

/* "A3 x5, A4": the rules that block cases of this kind. */
static void add_rules(struct strbuf *text, const struct zoo *zoo, int kind)
{
	struct audit_rule_text rule;
	bool first = true;
	for (size_t i = 0; audit_rule_at(i, &rule); i++) {
		int n = count_rule(zoo, kind, true, rule.id, AUDIT_BLOCK);
		if (!n)
			continue;
		strbuf_addf(text, "%s%s", first ? "  " : ", ", rule.id);
		if (n > 1)
			strbuf_addf(text, " x%d", n);
		first = false;
	}
}

static void add_title(struct strbuf *text, const char *title)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, title, strlen(title));
	strbuf_addf(text, "%-*.*s", TITLE_WIDTH, TITLE_WIDTH, shown.buf);
}

static void add_kinds(struct strbuf *text, const struct zoo *zoo)
{
	strbuf_addf(text, "Kind  %-*s", TITLE_WIDTH, "what only looks faster");
	for (size_t l = 0; l < ZOO_N_LANGUAGES; l++)
		strbuf_addf(text, "  %9s", column_names[l]);
	strbuf_addstr(text, "  blocked by\n");
	for (size_t k = 0; k < zoo->n_kinds; k++) {
		strbuf_addf(text, "%4zu  ", k + 1);
		add_title(text, zoo->kinds[k].text);
		for (size_t l = 0; l < ZOO_N_LANGUAGES; l++)
			add_counts(text, count_kind(zoo, (int)k + 1, (enum zoo_language)l));
		add_rules(text, zoo, (int)k + 1);
		strbuf_addch(text, '\n');
	}
}

static void add_rule_table(struct strbuf *text, const struct zoo *zoo)
{
	struct audit_rule_text rule;
	strbuf_addf(text, "\nRule  %-*s  %17s  %17s\n", TITLE_WIDTH, "", "hacks", "honest changes");
	strbuf_addf(text, "      %-*s  %8s %8s  %8s %8s\n", TITLE_WIDTH, "", "block", "review", "block",
		"review");
	for (size_t i = 0; audit_rule_at(i, &rule); i++) {
		strbuf_addf(text, "%4s  ", rule.id);
		add_title(text, rule.title);
		strbuf_addf(text, "  %8d %8d  %8d %8d\n", count_rule(zoo, 0, true, rule.id, AUDIT_BLOCK),
			count_rule(zoo, 0, true, rule.id, AUDIT_REVIEW),
			count_rule(zoo, 0, false, rule.id, AUDIT_BLOCK),
			count_rule(zoo, 0, false, rule.id, AUDIT_REVIEW));
	}
}

static void add_case_findings(struct strbuf *text, const struct zoo_case *c)
{
	if (c->refusal)
		strbuf_addf(text, "      refused: %s\n", c->refusal);
	for (size_t i = 0; i < c->report.n_findings; i++) {
		const struct audit_finding *f = &c->report.findings[i];
		strbuf_addf(text, "      %s %s  ", f->severity == AUDIT_BLOCK ? "block" : "review", f->rule);
		strbuf_add_escaped(text, f->file, strlen(f->file));
		strbuf_addf(text, ":%d  %s\n", f->line, f->reason);
	}
}

static void add_case_name(struct strbuf *text, const struct zoo_case *c)
{
	char name[256];
	snprintf(name, sizeof(name), "%s/%s", zoo_language_names[c->language], c->name);
	strbuf_addf(text, "  %-*s  ", NAME_WIDTH, name);
	if (zoo_is_cheat(c)) {
		strbuf_addf(text, "%s %s, kind", zoo_want_names[c->expect.want], c->expect.named);
		for (size_t i = 0; i < c->expect.n_kinds; i++)
			strbuf_addf(text, " %d", c->expect.kinds[i]);
	} else {
		strbuf_addf(text, "%s, like", zoo_want_names[c->expect.want]);
		for (size_t i = 0; i < c->expect.n_likes; i++)
			strbuf_addf(text, " %s", c->expect.likes[i]);
	}
	strbuf_addch(text, '\n');
}

static bool is_missed(const struct zoo_case *c)
{
	return zoo_is_cheat(c) && !zoo_is_caught(c) && c->expect.want != ZOO_VERIFIER;
}

static bool is_left(const struct zoo_case *c)
{
	return zoo_is_cheat(c) && !zoo_is_caught(c) && c->expect.want == ZOO_VERIFIER;
}

static bool is_caught_otherwise(const struct zoo_case *c)
{
	return zoo_is_cheat(c) && zoo_is_caught(c) && !c->right;
}

static bool is_honest_blocked(const struct zoo_case *c)
{
	return !zoo_is_cheat(c) && c->outcome == ZOO_BLOCKED;
}

static bool is_clean_held(const struct zoo_case *c)
{
	return c->expect.want == ZOO_CLEAN && c->outcome == ZOO_HELD;
}

static bool is_honest_held(const struct zoo_case *c)
{
	return c->expect.want == ZOO_HONEST && c->outcome == ZOO_HELD;
}

static const struct {
	const char *title, *key;
	bool (*is_in)(const struct zoo_case *c);
} lists[] = {
	{"Hacks missed", "missed", is_missed},
	{"Hacks caught, but by no rule that the expect file names", "other_rule", is_caught_otherwise},
	{"Honest changes blocked", "honest_blocked", is_honest_blocked},
	{"Clean changes held for review", "clean_held", is_clean_held},
	{"Honest changes held for review", "honest_held", is_honest_held},
	{"Left to the verifier", "left_to_the_verifier", is_left},
};

static void add_lists(struct strbuf *text, const struct zoo *zoo)
{
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		bool any = false;
		for (size_t i = 0; i < zoo->n_cases; i++) {
			const struct zoo_case *c = &zoo->cases[i];
			if (!lists[l].is_in(c))
				continue;
			if (!any)
				strbuf_addf(text, "\n%s\n", lists[l].title);
			any = true;
			add_case_name(text, c);
			add_case_findings(text, c);
		}
	}
}

static double percent(int part, int whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void add_closing(struct strbuf *text, const char *what, const struct zoo_tally *t)
{
	strbuf_addf(text, "%shacks: %d of %d caught (block %d, review %d; by the named rule %d)", what,
		t->caught, t->cheats, t->blocked, t->held, t->named);
	if (t->missed || t->left)
		strbuf_addf(text, "; %d missed, %d left to the verifier", t->missed, t->left);
	strbuf_addf(text, "\n%shonest: %d of %d blocked (%.1f%%), %d held for review (%.1f%%)\n", what,
		t->honest_blocked, t->honest, percent(t->honest_blocked, t->honest), t->honest_held,
		percent(t->honest_held, t->honest));
}

static void add_text(struct strbuf *text, const struct zoo *zoo)
{
	struct zoo_tally t;
	add_kinds(text, zoo);
	add_rule_table(text, zoo);
	add_lists(text, zoo);
	strbuf_addch(text, '\n');
	for (size_t l = 0; l < ZOO_N_LANGUAGES; l++) {
		char what[32];
		snprintf(what, sizeof(what), "%s: ", column_names[l]);
		zoo_tally(zoo, (enum zoo_language)l, &t);
		if (t.cheats || t.honest)
			add_closing(text, what, &t);
	}
	zoo_tally(zoo, ZOO_ALL, &t);
	add_closing(text, "", &t);
	if (t.wrong)
		strbuf_addf(
			text, "%d of %zu cases are not as their expect files say\n", t.wrong, zoo->n_cases);
	else
		strbuf_addf(text, "all %zu cases are as their expect files say\n", zoo->n_cases);
}

/* ---- JSON ---- */

static json_t *case_to_json(const struct zoo_case *c)
{
	json_t *json = json_object(), *kinds = json_array(), *likes = json_array();
	for (size_t i = 0; i < c->expect.n_kinds; i++)
		json_array_append_new(kinds, json_integer(c->expect.kinds[i]));
	for (size_t i = 0; i < c->expect.n_likes; i++)
		json_array_append_new(likes, json_from_text(c->expect.likes[i]));
	json_object_set_new(json, "language", json_string(zoo_language_names[c->language]));
	json_object_set_new(json, "name", json_from_text(c->name));
	json_object_set_new(json, "expect", json_string(zoo_want_names[c->expect.want]));
	json_object_set_new(json, "named", json_from_text(c->expect.named));
	json_object_set_new(json, "kinds", kinds);
	json_object_set_new(json, "likes", likes);
	json_object_set_new(json, "remark", json_from_text(c->expect.remark));
	json_object_set_new(json, "outcome", json_string(zoo_outcome_names[c->outcome]));
	json_object_set_new(json, "refusal", c->refusal ? json_from_text(c->refusal) : json_null());
	json_object_set_new(json, "caught", zoo_is_cheat(c) ? json_boolean(zoo_is_caught(c)) : json_null());
	json_object_set_new(json, "as_expected", json_boolean(c->right));
	json_object_set_new(json, "findings", audit_findings_to_json(&c->report));
	return json;
}

static json_t *kind_to_json(const struct zoo *zoo, int kind)
{
	json_t *json = json_object(), *rules = json_object();
	struct audit_rule_text rule;
	json_object_set_new(json, "kind", json_integer(kind));
	json_object_set_new(json, "title", json_from_text(zoo->kinds[kind - 1].text));
	for (size_t l = 0; l < ZOO_N_LANGUAGES; l++) {
		struct count count = count_kind(zoo, kind, (enum zoo_language)l);
		json_object_set_new(json, zoo_language_names[l],
			json_pack("{s:i,s:i}", "hacks", count.n, "caught", count.caught));
	}
	for (size_t i = 0; audit_rule_at(i, &rule); i++) {
		int blocked = count_rule(zoo, kind, true, rule.id, AUDIT_BLOCK);
		int held = count_rule(zoo, kind, true, rule.id, AUDIT_REVIEW);
		if (blocked || held)
			json_object_set_new(
				rules, rule.id, json_pack("{s:i,s:i}", "block", blocked, "review", held));
	}
	json_object_set_new(json, "rules", rules);
	return json;
}

static json_t *like_to_json(const struct zoo *zoo, const struct zoo_entry *like)
{
	json_t *json = json_object();
	json_object_set_new(json, "name", json_from_text(like->name));
	json_object_set_new(json, "title", json_from_text(like->text));
	for (size_t l = 0; l < ZOO_N_LANGUAGES; l++) {
		int n = 0, blocked = 0, held = 0;
		for (size_t i = 0; i < zoo->n_cases; i++) {
			const struct zoo_case *c = &zoo->cases[i];
			if (c->language != (enum zoo_language)l || !is_like(c, like->name))
				continue;
			n++;
			blocked += c->outcome == ZOO_BLOCKED;
			held += c->outcome == ZOO_HELD;
		}
		json_object_set_new(json, zoo_language_names[l],
			json_pack("{s:i,s:i,s:i}", "honest", n, "blocked", blocked, "held", held));
	}
	return json;
}

static json_t *tally_to_json(const struct zoo_tally *t)
{
	return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "hacks", t->cheats, "caught",
		t->caught, "block", t->blocked, "review", t->held, "by_named_rule", t->named,
		"left_to_the_verifier", t->left, "missed", t->missed, "honest", t->honest, "honest_blocked",
		t->honest_blocked, "honest_held", t->honest_held, "not_as_expected", t->wrong);
}

static json_t *zoo_to_json(const struct zoo *zoo)
{
	json_t *json = json_object(), *kinds = json_array(), *likes = json_array(), *cases = json_array(),
	       *totals = json_object();
	struct zoo_tally t;
	for (size_t k = 0; k < zoo->n_kinds; k++)
		json_array_append_new(kinds, kind_to_json(zoo, (int)k + 1));
	for (size_t i = 0; i < zoo->n_likes; i++)
		json_array_append_new(likes, like_to_json(zoo, &zoo->likes[i]));
	for (size_t i = 0; i < zoo->n_cases; i++)
		json_array_append_new(cases, case_to_json(&zoo->cases[i]));
	for (size_t l = 0; l < ZOO_N_LANGUAGES; l++) {
		zoo_tally(zoo, (enum zoo_language)l, &t);
		json_object_set_new(totals, zoo_language_names[l], tally_to_json(&t));
	}
	zoo_tally(zoo, ZOO_ALL, &t);
	json_object_set_new(totals, "all", tally_to_json(&t));
	json_object_set_new(json, "kinds", kinds);
	json_object_set_new(json, "look_alikes", likes);
	json_object_set_new(json, "cases", cases);
	json_object_set_new(json, "totals", totals);
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		json_t *names = json_array();
		for (size_t i = 0; i < zoo->n_cases; i++) {
			const struct zoo_case *c = &zoo->cases[i];
			CLEANUP(free_ptr)
			char *name = xasprintf("%s/%s", zoo_language_names[c->language], c->name);
			if (lists[l].is_in(c))
				json_array_append_new(names, json_from_text(name));
		}
		json_object_set_new(json, lists[l].key, names);
	}
	return json;
}

int audit_zoo_run(const struct parsed *parsed, const char *dir)
{
	struct err e = ERR_INIT;
	struct zoo zoo;
	struct zoo_tally t;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (zoo_read(dir, &zoo, &e) != OK)
		return cli_fail(&parsed->common, &e);
	if (zoo_run(&zoo, &e) != OK) {
		zoo_release(&zoo);
		return cli_fail(&parsed->common, &e);
	}
	if (parsed->common.json) {
		CLEANUP(free_ptr) char *json = json_dump_pretty_take(zoo_to_json(&zoo));
		strbuf_addf(&text, "%s\n", json);
	} else {
		add_text(&text, &zoo);
	}
	cli_print(&text);
	zoo_tally(&zoo, ZOO_ALL, &t);
	zoo_release(&zoo);
	return t.wrong ? 1 : 0;
}
