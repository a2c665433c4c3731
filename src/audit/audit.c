#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/audit_int.h"
#include "base/strbuf.h"

/* Past this many findings a change is not worth reading on; whether it is blocked is still decided. */
enum { FINDINGS_CAP = 1000 };
/* About ten seconds on a slow machine. */
static const size_t work_budget = 1000000000;

enum { READS_BOTH = LANGUAGE_BIT_C | LANGUAGE_BIT_PYTHON };

static const struct audit_rule rules[] = {
	{"A0", "file that no rule can read", AUDIT_REVIEW, LANGUAGE_BIT_NONE, rule_unread, NULL, "a0"},
	{"A1", "timing boundary edited", AUDIT_BLOCK, READS_BOTH, rule_time, rule_py_time, "a1"},
	{"A2", "precision lowered", AUDIT_BLOCK, READS_BOTH, rule_precision, rule_py_precision, "a2"},
	{"A3", "optimizer work made conditional or dropped", AUDIT_BLOCK, READS_BOTH, rule_update,
		rule_py_update, "a3"},
	{"A4", "work shrunk", AUDIT_BLOCK, READS_BOTH, rule_work, rule_py_work, "a4"},
	{"A5", "result kept across steps", AUDIT_BLOCK, READS_BOTH, rule_cache, rule_py_cache, "a5"},
	{"A6", "error masked", AUDIT_BLOCK, READS_BOTH, rule_errors, rule_py_errors, "a6"},
	{"A7", "process or environment tampered with", AUDIT_BLOCK, READS_BOTH, rule_process, rule_py_process,
		"a7"},
	{"A8", "constant or stale value in place of a result", AUDIT_BLOCK, READS_BOTH, rule_results,
		rule_py_results, "a8"},
	{"A9", "data order or random numbers edited", AUDIT_BLOCK, READS_BOTH, rule_data, rule_py_data, "a9"},
	{"A10", "hook touched", AUDIT_BLOCK, READS_BOTH, rule_hook, rule_py_hook, "a10"},
	{"A11", "meaning changed behind the code", AUDIT_BLOCK, READS_BOTH, rule_preprocessor,
		rule_py_meaning, "a11"},
	{"A12", "work not waited for", AUDIT_BLOCK, READS_BOTH, rule_wait, rule_py_wait, "a12"},
};

bool audit_rule_at(size_t index, struct audit_rule_text *ret_rule)
{
	if (index >= ARRAY_LEN(rules))
		return false;
	const struct audit_rule *r = &rules[index];
	*ret_rule = (struct audit_rule_text){r->id, r->title, r->anchor, r->severity,
		(r->languages & LANGUAGE_BIT_C) != 0, (r->languages & LANGUAGE_BIT_PYTHON) != 0};
	return true;
}

/* ---- findings ---- */

/* One finding a rule and line: the graver one stays. */
static struct audit_finding *known_finding(
	const struct change *change, const char *path, int line, bool in_old)
{
	for (size_t i = 0; i < change->report->n_findings; i++) {
		struct audit_finding *f = &change->report->findings[i];
		if (f->rule == change->rule->id && f->line == line && f->in_old == in_old &&
			strcmp(f->file, path) == 0)
			return f;
	}
	return NULL;
}

void report_line(struct change *change, enum audit_severity severity, const char *path, int line, bool in_old,
	const char *text, size_t length, const char *reason)
{
	struct audit_report *r = change->report;
	struct audit_finding *f = known_finding(change, path, line, in_old);
	r->blocked |= severity == AUDIT_BLOCK;
	r->review |= severity == AUDIT_REVIEW;
	if (f && f->severity >= severity)
		return;
	while (length && isspace((unsigned char)*text))
		text++, length--;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	if (!f && r->n_findings == FINDINGS_CAP)
		return;
	if (!f) {
		grow_array(&r->findings, &change->room, r->n_findings + 1, sizeof(*r->findings));
		f = &r->findings[r->n_findings++];
	}
	*f = (struct audit_finding){.rule = change->rule->id,
		.title = change->rule->title,
		.severity = severity,
		.file = path,
		.line = line,
		.in_old = in_old,
		.text = arena_strndup(&r->arena, text, MIN_OF(length, (size_t)400)),
		.reason = arena_strdup(&r->arena, reason)};
}

void report(struct change *change, enum audit_severity severity, const struct fact *fact, const char *reason)
{
	const struct source *s = fact->source;
	const char *from = s->text + node_start(fact->node), *end = s->text + s->length;
	while (from > s->text && from[-1] != '\n')
		from--;
	const char *stop = memchr(from, '\n', (size_t)(end - from));
	bool in_old = false;
	for (size_t i = 0; i < change->n_files; i++)
		in_old |= s == &change->files[i].old;
	report_line(change, severity, s->path, fact->line, in_old, from, (size_t)((stop ? stop : end) - from),
		reason);
}

void rule_unread(struct change *change)
{
	for (size_t i = 0; i < change->n_files; i++) {
		const struct changed_file *file = &change->files[i];
		const struct diff_line *line = &file->diff->hunks[0].lines[0];
		if (file->language != LANGUAGE_NONE)
			continue;
		report_line(change, AUDIT_REVIEW, file->path, file->diff->hunks[0].new_start,
			file->diff->deleted, line->text, line->length,
			"no audit rule reads this kind of file: look at the change yourself");
	}
}

/* ---- reading ---- */

static enum err_code read_side(struct source *source, struct arena *arena, struct err *reterr)
{
	TRY(syntax_parse(
		source->language, source->path, source->text, source->length, &source->tree, reterr));
	return source->language == LANGUAGE_C ? facts_read_c(source, arena, reterr)
					      : facts_read_python(source, arena, reterr);
}

static enum err_code read_file(struct changed_file *file, struct arena *arena, audit_read_fn read_old,
	void *context, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	if (!file->diff->created)
		TRY(read_old(context, file->path, &old, reterr));
	if (old.len > SYNTAX_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, file->path, 0, 0,
			"%zu bytes, more than the %d that are analysed", old.len, SYNTAX_CAP_BYTES);
	TRY(diff_apply(file->diff, old.buf, old.len, &new, reterr));
	if (file->language == LANGUAGE_NONE)
		return OK;
	file->old = (struct source){.path = file->path,
		.text = arena_strndup(arena, old.buf, old.len),
		.length = old.len,
		.language = file->language};
	file->new = (struct source){.path = file->path,
		.text = arena_strndup(arena, new.buf, new.len),
		.length = new.len,
		.language = file->language};
	TRY(read_side(&file->old, arena, reterr));
	return read_side(&file->new, arena, reterr);
}

static void gather_side(struct fact **all, size_t *n, struct source *side)
{
	for (size_t k = 0; k < side->n_facts; k++) {
		all[*n] = &side->facts[k];
		all[*n]->index = *n;
		++*n;
	}
}

/* The facts of one language. */
static void gather(struct change *change, enum language language, struct arena *arena)
{
	size_t n_old = 0, n_new = 0;
	for (size_t i = 0; i < change->n_files; i++) {
		n_old += change->files[i].old.n_facts;
		n_new += change->files[i].new.n_facts;
	}
	change->old = arena_array(arena, n_old + 1, sizeof(*change->old));
	change->new = arena_array(arena, n_new + 1, sizeof(*change->new));
	change->n_old = change->n_new = 0;
	for (size_t i = 0; i < change->n_files; i++) {
		struct changed_file *file = &change->files[i];
		if (file->language != language)
			continue;
		gather_side(change->old, &change->n_old, &file->old);
		gather_side(change->new, &change->n_new, &file->new);
	}
}

static void change_release(struct change *change)
{
	for (size_t i = 0; i < change->n_files; i++) {
		struct source *sides[] = {&change->files[i].old, &change->files[i].new};
		for (size_t k = 0; k < ARRAY_LEN(sides); k++) {
			syntax_free(&sides[k]->tree);
			free(sides[k]->facts);
		}
	}
}

static int compare_findings(const void *a, const void *b)
{
	const struct audit_finding *x = a, *y = b;
	int order = (x->severity < y->severity) - (x->severity > y->severity);
	order = order ? order : strcmp(x->file, y->file);
	order = order ? order : (x->line > y->line) - (x->line < y->line);
	return order ? order : strcmp(x->rule, y->rule);
}

static size_t count_changed(const struct change *change)
{
	size_t count = 0;
	for (size_t i = 0; i < change->n_old; i++)
		count += !change->old[i]->same;
	for (size_t i = 0; i < change->n_new; i++)
		count += !change->new[i]->same;
	return count;
}

static void run_rules(struct change *change, unsigned language)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		change->rule = &rules[i];
		if (rules[i].languages & language)
			(language == LANGUAGE_BIT_PYTHON ? rules[i].run_python : rules[i].run)(change);
	}
}

static void audit_language(struct change *change, enum language language, struct arena *work)
{
	bool present = false;
	for (size_t i = 0; i < change->n_files; i++)
		present |= change->files[i].language == language;
	if (!present)
		return;
	gather(change, language, work);
	if (language == LANGUAGE_PYTHON)
		py_learn(change);
	facts_pair(change->old, change->n_old, change->new, change->n_new);
	if (spend(change, count_changed(change) * (change->n_old + change->n_new) / 8))
		run_rules(change, 1u << language);
}

static enum err_code audit_files(struct change *change, const struct diff *diff, struct arena *work,
	audit_read_fn read_old, void *context, struct err *reterr)
{
	change->files = arena_array(work, diff->n_files, sizeof(*change->files));
	for (size_t i = 0; i < diff->n_files; i++) {
		struct changed_file *file = &change->files[change->n_files++];
		file->diff = &diff->files[i];
		file->path = arena_strdup(&change->report->arena, diff->files[i].path);
		file->language = syntax_language(file->path);
		TRY(read_file(file, work, read_old, context, reterr));
	}
	for (enum language language = LANGUAGE_NONE; language <= LANGUAGE_PYTHON; language++)
		audit_language(change, language, work);
	struct audit_report *r = change->report;
	if (r->n_findings)
		qsort(r->findings, r->n_findings, sizeof(*r->findings), compare_findings);
	if (*change->work_left == 0)
		return err_set(reterr, ERR_LIMIT, "the change is too large to be audited: split it");
	return OK;
}

enum err_code audit_diff_with(const struct audit_terms *terms, const char *diff_text, size_t length,
	audit_read_fn read_old, void *context, struct audit_report *ret_report, struct err *reterr)
{
	static const struct audit_terms nothing_known;
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	size_t work_left = work_budget;
	struct audit_report result = {.arena = ARENA_INIT};
	struct change change = {
		.terms = terms ? terms : &nothing_known, .report = &result, .work_left = &work_left};
	struct diff diff;
	TRY(diff_parse("diff", diff_text, length, &work, &diff, reterr));
	enum err_code code = audit_files(&change, &diff, &work, read_old, context, reterr);
	change_release(&change);
	if (code != OK) {
		audit_report_release(&result);
		return code;
	}
	*ret_report = result;
	return OK;
}

enum err_code audit_diff(const char *diff, size_t length, audit_read_fn read_old, void *context,
	struct audit_report *ret_report, struct err *reterr)
{
	return audit_diff_with(NULL, diff, length, read_old, context, ret_report, reterr);
}

void audit_report_release(struct audit_report *r)
{
	if (!r)
		return;
	free(r->findings);
	arena_release(&r->arena);
	*r = (struct audit_report){0};
}
