#include "base/base.h"

#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/verify_print.h"
#include "matrix/matrix.h"

static const char *const paper_names[] = {
	[PAPER_NOT] = NULL,
	[PAPER_ACCEPTED] = "accepted",
	[PAPER_REJECTED] = "rejected",
};

static void add_lines(const char *lines, int indent, struct strbuf *text)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n");
		strbuf_addf(text, "%*s", indent, "");
		strbuf_add_escaped(text, lines, length);
		strbuf_addch(text, '\n');
		lines += length + (lines[length] == '\n');
	}
}

static void add_answer(const struct matrix_answer *a, struct strbuf *text)
{
	strbuf_addstr(text, matrix_outcome_names[a->outcome]);
	if (a->outcome == OUTCOME_INVALID)
		strbuf_addf(text, " %s", item_infos[a->primary].name);
	if (a->outcome == OUTCOME_REFUSED)
		strbuf_addf(text, " %s", refusal_names[a->refusal]);
	for (int k = 0; k < N_REVIEW_KINDS; k++)
		if (a->reviews[k])
			strbuf_addf(text, ", review %s", review_names[k]);
}

static void add_case(const struct matrix_case *c, bool details, struct strbuf *text)
{
	if (c->agrees && !details)
		return;
	strbuf_addstr(text, c->agrees ? "agrees  " : "DIFFERS ");
	strbuf_add_escaped(text, c->name, strlen(c->name));
	strbuf_addstr(text, ": ");
	add_answer(&c->found, text);
	strbuf_addch(text, '\n');
	if (!c->agrees || details)
		add_lines(c->about, 8, text);
	add_lines(c->disagreement, 8, text);
	if (details && c->found.outcome != OUTCOME_REFUSED)
		verify_add_items(&c->verdict, 12, text);
}

static void add_text(const struct matrix *m, bool details, struct strbuf *text)
{
	struct matrix_tally t;
	for (size_t i = 0; i < m->n; i++)
		add_case(&m->cases[i], details, text);
	matrix_tally(m, &t);
	strbuf_addf(text,
		"matrix: %zu of %zu cases agree (paper: %zu of %zu rejected, %zu of %zu accepted)\n", t.agree,
		t.cases, t.rejected_right, t.rejected, t.accepted_right, t.accepted);
}

static json_t *answer_json(const struct matrix_answer *a)
{
	json_t *object = json_object(), *items = json_object(), *reviews = json_array();
	json_object_set_new(object, "outcome", json_string(matrix_outcome_names[a->outcome]));
	json_object_set_new(object, "primary",
		a->outcome == OUTCOME_INVALID ? json_string(item_infos[a->primary].name) : json_null());
	json_object_set_new(object, "refusal",
		a->outcome == OUTCOME_REFUSED ? json_string(refusal_names[a->refusal]) : json_null());
	for (int i = 0; i < N_ITEMS && a->outcome != OUTCOME_REFUSED; i++)
		json_object_set_new(items, item_infos[i].name, json_string(item_result_names[a->items[i]]));
	for (int k = 0; k < N_REVIEW_KINDS; k++)
		if (a->reviews[k])
			json_array_append_new(reviews, json_string(review_names[k]));
	json_object_set_new(object, "items", items);
	json_object_set_new(object, "reviews", reviews);
	return object;
}

static json_t *case_json(const struct matrix_case *c)
{
	json_t *object = json_object();
	json_object_set_new(object, "name", json_from_text(c->name));
	json_object_set_new(object, "file", json_from_text(c->file));
	json_object_set_new(object, "about", json_from_text(c->about));
	json_object_set_new(
		object, "paper", paper_names[c->paper] ? json_string(paper_names[c->paper]) : json_null());
	json_object_set_new(object, "agrees", json_boolean(c->agrees));
	json_object_set_new(object, "expected", answer_json(&c->expected));
	json_object_set_new(object, "found", answer_json(&c->found));
	json_object_set_new(object, "disagreement", json_from_text(c->disagreement));
	return object;
}

static void add_json(const struct matrix *m, struct strbuf *text)
{
	struct matrix_tally t;
	json_t *object = json_object(), *cases = json_array();
	const struct {
		const char *name;
		size_t *value;
	} counts[] = {
		{"cases", &t.cases},
		{"agree", &t.agree},
		{"paper_rejected", &t.rejected},
		{"paper_rejected_right", &t.rejected_right},
		{"paper_accepted", &t.accepted},
		{"paper_accepted_right", &t.accepted_right},
	};
	matrix_tally(m, &t);
	for (size_t i = 0; i < m->n; i++)
		json_array_append_new(cases, case_json(&m->cases[i]));
	json_t *tally = json_object();
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		json_object_set_new(tally, counts[i].name, json_integer((json_int_t)*counts[i].value));
	json_object_set_new(object, "tally", tally);
	json_object_set_new(object, "cases", cases);
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(object);
	strbuf_addf(text, "%s\n", dump);
}

int verify_matrix(const struct parsed *parsed, const char *dir, bool details)
{
	struct matrix m;
	struct matrix_tally t;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (matrix_load(dir, &m, &e) != OK)
		return cli_fail(&parsed->common, &e);
	if (matrix_run(&m, &e) != OK) {
		matrix_release(&m);
		return cli_fail(&parsed->common, &e);
	}
	if (parsed->common.json)
		add_json(&m, &text);
	else
		add_text(&m, details, &text);
	cli_print(&text);
	matrix_tally(&m, &t);
	matrix_release(&m);
	return t.agree == t.cases ? 0 : 1;
}
