/* A6 for Python: exceptions swallowed, imports that fall back to nothing, NaN replaced, losses clamped,
 * success reported. */
#include "base/base.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

static const char *const nan_tests[] = {"isnan", "isinf", "isfinite", "isneginf", "isposinf", "isreal"};
static const char *const nan_fills[] = {"nan_to_num", "nan_to_num_", "nansum", "nanmean", "nanmedian"};

static bool ends_in_failure(const struct fact *f)
{
	static const char *const fatal[] = {"exit", "abort", "_exit", "quit"};
	return f->kind == FACT_CALL && IN(f->name, fatal) && strcmp(f->value, "( 0 )") != 0 &&
	       (strcmp(f->value, "( )") != 0 || strcmp(f->name, "abort") == 0);
}

/* ---- handlers ---- */

struct contents {
	bool work, imports_only, fails, nothing;
};

static bool is_any_work(const struct fact *f)
{
	return py_is_work(f) || py_is_update(f) || py_is_load(f) || py_is_report(f) || py_is_wait(f);
}

static struct contents look(const struct change *change, const struct source *s, TSNode node)
{
	struct contents c = {.imports_only = true, .nothing = true};
	if (!spend(change, s->n_facts))
		return c;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(node, f->node) || f->kind == FACT_HANDLER)
			continue;
		bool word = f->kind == FACT_NAME || f->kind == FACT_STRING;
		c.work |= is_any_work(f);
		c.imports_only &= word || f->kind == FACT_INCLUDE || f->kind == FACT_ASSIGN;
		c.fails |= ends_in_failure(f) || py_is_exit(f, "raise");
		c.nothing &= word || (f->kind == FACT_CALL && py_is_quiet(f));
	}
	return c;
}

static bool is_broad(const char *types)
{
	static const char *const broad[] = {"Exception", "BaseException", "RuntimeError", "ValueError",
		"OSError", "FloatingPointError", "OutOfMemoryError", "Error"};
	return !types[0] || py_text_has_any(types, broad, ARRAY_LEN(broad));
}

/* def f(*args): pass; f = lambda *a: None: a fallback that does nothing. */
static bool function_acts(const struct source *s, const char *function)
{
	for (size_t i = 0; i < s->n_facts; i++)
		if ((s->facts[i].kind == FACT_CALL || s->facts[i].kind == FACT_BINARY) &&
			strcmp(s->facts[i].function, function) == 0)
			return true;
	return false;
}

static bool falls_back_to_nothing(const struct source *s, TSNode handler)
{
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(handler, f->node))
			continue;
		const char *lambda = f->kind == FACT_ASSIGN ? strstr(f->value, "lambda") : NULL;
		if (lambda && !strchr(lambda, '('))
			return true;
		if (f->kind == FACT_FUNCTION && !function_acts(s, f->name))
			return true;
	}
	return false;
}

static bool is_import_try(const struct source *s, TSNode body)
{
	for (size_t i = 0; i < s->n_includes; i++)
		if (node_contains(body, s->includes[i]->node))
			return true;
	return false;
}

static void check_caught(
	struct change *change, const struct fact *f, bool works, const struct contents *caught)
{
	bool restarts = strstr(f->name, "StopIteration") && caught->work;
	if (restarts)
		report(change, AUDIT_REVIEW, f, "the data begins anew when it ends");
	else if (works && (is_broad(f->name) || caught->nothing))
		report(change, AUDIT_BLOCK, f, "an error in the work is caught and the run goes on");
	else if (works)
		report(change, AUDIT_REVIEW, f, "an error in the work is caught");
	else if (!f->name[0] || (is_broad(f->name) && caught->nothing))
		report(change, AUDIT_REVIEW, f, "errors are caught and nothing is done about them");
}

static void check_handler(struct change *change, const struct fact *f)
{
	TSNode body = node_field(node_parent(f->node), "body");
	struct contents caught = look(change, f->source, f->node), tried = {.work = true};
	if (!ts_node_is_null(body))
		tried = look(change, f->source, body);
	if (tried.imports_only && is_import_try(f->source, body)) {
		if (falls_back_to_nothing(f->source, f->node))
			report(change, AUDIT_BLOCK, f, "an import falls back to something that does nothing");
		return;
	}
	if (!caught.fails && !(f->flags & HANDLER_RAISES))
		check_caught(change, f, tried.work, &caught);
}

static void check_suppression(struct change *change, const struct fact *f)
{
	struct contents c = look(change, f->source, node_parent(node_parent(f->node)));
	report(change, c.work ? AUDIT_BLOCK : AUDIT_REVIEW, f, "errors are suppressed");
}

/* __exit__() that returns True */
static void check_context_exit(struct change *change, const struct fact *function)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_EXIT && strcmp(f->value, "True") == 0 &&
			strcmp(f->function, function->name) == 0)
			report(change, AUDIT_BLOCK, f, "a context swallows errors");
	}
}

static void check_handlers(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_HANDLER && !f->same)
			check_handler(change, f);
		else if (py_is_new(f, FACT_WITH) && strcmp(f->name, "suppress") == 0)
			check_suppression(change, f);
		else if (py_is_new(f, FACT_FUNCTION) && strcmp(f->init, "__exit__") == 0)
			check_context_exit(change, f);
	}
}

/* ---- checks removed ---- */

/* if not isfinite(loss): raise ... */
static bool answered_nan(const struct fact *raise)
{
	for (const struct guard *g = raise->guards; g; g = g->up)
		if (g->kind == GUARD_IF && py_text_has_any(g->text, nan_tests, ARRAY_LEN(nan_tests)))
			return true;
	return false;
}

static void check_removed(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->twin || !py_function_remains(change, f->function))
			continue;
		bool check = f->kind == FACT_CALL &&
			     (strcmp(f->name, "assert") == 0 || strstr(f->name, "check_") ||
				     strncmp(f->name, "_assert", 7) == 0 || ends_in_failure(f));
		bool raise = f->kind == FACT_EXIT && strcmp(f->name, "raise") == 0;
		if (f->kind == FACT_CALL && IN(f->name, nan_tests))
			report(change, AUDIT_BLOCK, f, "a test for NaN is gone");
		else if (raise && answered_nan(f))
			report(change, AUDIT_BLOCK, f, "a test for NaN no longer ends the program");
		else if (check || raise)
			report(change, AUDIT_REVIEW, f, "an error check is gone");
	}
}

/* ---- status ---- */

static bool is_success(const char *value)
{
	return strcmp(value, "( 0 )") == 0 || strcmp(value, "0") == 0 || strcmp(value, "( )") == 0 ||
	       strcmp(value, "( None )") == 0;
}

static void check_endings(struct change *change)
{
	static const char *const endings[] = {"exit", "_exit", "quit", "SystemExit"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->same || f->kind != FACT_CALL || !IN(f->name, endings))
			continue;
		if (f->name[0] == '_')
			report(change, AUDIT_BLOCK, f, "the process ends without its last words");
		else if (is_success(f->value))
			report(change, AUDIT_BLOCK, f,
				f->twin ? "a failure now ends the program as a success"
					: "the program ends early as a success");
	}
}

static bool now_returns_success(const struct change *change, const char *function)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (py_is_new(f, FACT_EXIT) && strcmp(f->function, function) == 0 && is_success(f->value))
			return true;
	}
	return false;
}

static void check_status(struct change *change)
{
	check_endings(change);
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (py_is_exit(f, "return") && !f->twin && strcmp(f->value, "1") == 0 &&
			now_returns_success(change, f->function))
			report(change, AUDIT_BLOCK, f, "a failure is now returned as a success");
	}
}

/* ---- NaN ---- */

static bool decides(const struct fact *branch, const struct fact *f)
{
	TSNode condition = node_field(branch->node, "condition");
	return node_contains(ts_node_is_null(condition) ? branch->node : condition, f->node);
}

/* After the test the program ends or says so; it does not put a number in or go on. */
static bool reacts_honestly(const struct change *change, const struct fact *branch)
{
	const struct source *s = branch->source;
	TSNode part = node_field(branch->node, "consequence");
	bool speaks = false;
	if (ts_node_is_null(part))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(part, f->node))
			continue;
		if (ends_in_failure(f) || (f->kind == FACT_EXIT && strcmp(f->name, "raise") == 0))
			return true;
		if (f->kind == FACT_EXIT ||
			(f->kind == FACT_ASSIGN && f->op[0] != ':' && existed(change, FACT_NAME, f->name)))
			return false;
		speaks |= f->kind == FACT_CALL && word_in(f->name, WORDS_LOG);
	}
	return speaks;
}

static bool is_checked_honestly(const struct change *change, const struct fact *test)
{
	const struct source *s = test->source;
	if (!spend(change, s->n_facts))
		return true;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && f != test && node_contains(f->node, test->node) &&
			(strstr(f->name, "assert") || word_in(f->name, WORDS_LOG)))
			return true;
		if (f->kind == FACT_BRANCH && decides(f, test))
			return reacts_honestly(change, f);
	}
	return py_is_evaluation(test->function);
}

static void check_nan(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool fills = f->kind == FACT_CALL && IN(f->name, nan_fills);
		bool test = f->kind == FACT_CALL && IN(f->name, nan_tests);
		bool unequal = f->kind == FACT_BINARY &&
			       (strcmp(f->op, "!=") == 0 || strcmp(f->op, "==") == 0) && f->init[0] &&
			       strcmp(f->init, f->value) == 0;
		if (f->twin || (!fills && !test && !unequal))
			continue;
		if (fills)
			report(change, AUDIT_BLOCK, f, "NaN is replaced by a number");
		else if (!is_checked_honestly(change, f))
			report(change, AUDIT_BLOCK, f, "a NaN is recognised and not reported as a failure");
	}
}

/* ---- clamps ---- */

static const char *const clamps[] = {
	"clamp", "clamp_", "clip", "clip_", "clamp_max", "clamp_min", "minimum", "maximum", "fmin", "fmax"};

/* min(loss, 10.0) */
static bool limits(const char *text)
{
	if (py_text_has_any(text, clamps, ARRAY_LEN(clamps)))
		return true;
	return (text_contains(text, "min (") || text_contains(text, "max (")) &&
	       text_has_new_number(text, "");
}

static bool is_clamped(const struct fact *f)
{
	if (f->kind == FACT_ASSIGN)
		return word_in(f->name, WORDS_RESULT) && text_has_word(f->value, WORDS_RESULT);
	return f->kind == FACT_CALL && IN(f->name, clamps) &&
	       (text_has_word(f->init, WORDS_RESULT) ||
		       (strcmp(f->init, "torch") == 0 && text_has_word(f->value, WORDS_RESULT)));
}

static void check_clamps(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->same && is_clamped(f) && limits(f->text) && !(f->twin && limits(f->twin->text)))
			report(change, AUDIT_BLOCK, f, "a reported value is clamped");
	}
}

/* ---- what sees errors first ---- */

static bool catches(const struct change *change, const struct fact *call)
{
	static const char *const names[] = {
		"signal.signal", "signal.sigaction", "signal.pthread_sigmask", "logging.disable"};
	char name[120];
	py_full_name(change, call, call->init, call->name, name, sizeof(name));
	return IN(name, names) || strncmp(name, "atexit.", 7) == 0;
}

static void check_catchers(struct change *change)
{
	static const char *const hooks[] = {"excepthook", "unraisablehook"};
	static const char caught[] = "errors are caught before anyone sees them";
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->same)
			continue;
		if (f->kind == FACT_CALL && catches(change, f))
			report(change, AUDIT_BLOCK, f, caught);
		else if (f->kind == FACT_ASSIGN && IN(f->name, hooks))
			report(change, AUDIT_BLOCK, f, caught);
		else if (py_is(f, FACT_ASSIGN, "logging_nan_inf_filter") && strcmp(f->value, "False") != 0)
			report(change, AUDIT_BLOCK, f, "NaN no longer shows in the log");
		else if (py_is_new(f, FACT_DECORATOR) && text_has_token(f->value, "atexit"))
			report(change, AUDIT_BLOCK, f, "code runs when the program ends");
	}
}

void rule_py_errors(struct change *change)
{
	check_handlers(change);
	check_removed(change);
	check_status(change);
	check_nan(change);
	check_clamps(change);
	check_catchers(change);
}
