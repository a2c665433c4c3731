#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { NAME_CAP = 80 };

bool py_is(const struct fact *f, enum fact_kind kind, const char *name)
{
	return f->kind == kind && strcmp(f->name, name) == 0;
}

bool py_is_new(const struct fact *f, enum fact_kind kind)
{
	return f->kind == kind && !f->twin;
}

bool py_was_here(const struct fact *f)
{
	return f->twin && same_function(f, f->twin);
}

bool py_is_option(const struct fact *f)
{
	return f->kind == FACT_ASSIGN && f->op[0] == ':';
}

bool py_is_assignment(const struct fact *f)
{
	return f->kind == FACT_ASSIGN && f->op[0] != ':';
}

bool py_sets(const struct fact *f)
{
	return f->kind == FACT_ASSIGN && strcmp(f->op, "=") == 0;
}

bool py_is_exit(const struct fact *f, const char *keyword)
{
	return py_is(f, FACT_EXIT, keyword);
}

bool py_is_statement(const struct fact *call)
{
	return node_is(node_parent(call->node), "expression_statement");
}

bool py_is_off(const char *value)
{
	return strcmp(value, "False") == 0 || strcmp(value, "None") == 0;
}

const char *py_last(const char *text)
{
	const char *blank = strrchr(text, ' ');
	return blank ? blank + 1 : text;
}

struct fact py_imagined_call(const char *name)
{
	return (struct fact){.kind = FACT_CALL,
		.name = name,
		.init = "optimizer",
		.text = "",
		.value = "",
		.function = ""};
}

bool py_name_has_any(const char *name, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}

bool py_text_has_any(const char *text, const char *const *tokens, size_t n)
{
	struct token t;
	while (next_token(&text, &t))
		for (size_t i = 0; i < n; i++)
			if (token_is(&t, tokens[i]))
				return true;
	return false;
}

static bool copy_name(const struct token *t, char name[NAME_CAP])
{
	if (t->length >= NAME_CAP || (!isalpha((unsigned char)t->text[0]) && t->text[0] != '_'))
		return false;
	memcpy(name, t->text, t->length);
	name[t->length] = '\0';
	return true;
}

/* ---- conditions ---- */

/* accum_steps, micro_step, max_steps, log_steps: no measure of how far training has come. */
static bool is_progress_name(const char *name)
{
	static const char *const others[] = {
		"micro", "accum", "per_", "_size", "stepsize", "every", "interval"};
	static const char *const begins[] = {
		"max_", "num_", "n_", "total", "log_", "save_", "eval_", "MAX_", "NUM_", "N_"};
	static const char *const further[] = {
		"it", "i_step", "nstep", "global_step", "batch_idx", "batch_index", "progress", "batch_i"};
	if (name_is_one_of(name, further, ARRAY_LEN(further)))
		return true;
	if (py_name_has_any(name, others, ARRAY_LEN(others)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return false;
	return word_in(name, WORDS_STEP);
}

bool py_depends_on_step(const char *condition)
{
	struct token t;
	char name[NAME_CAP];
	while (next_token(&condition, &t))
		if (copy_name(&t, name) && strncmp(condition, " (", 2) != 0 && is_progress_name(name))
			return true;
	return false;
}

bool py_is_arbitrary(const char *condition)
{
	static const char *const chance[] = {"random", "rand", "randint", "randrange", "perf_counter", "time",
		"monotonic", "environ", "getenv", "getpid", "getppid", "argv", "hash", "id"};
	struct token t;
	if (text_has_token(condition, "%") || strcmp(condition, "never") == 0 ||
		py_depends_on_step(condition))
		return true;
	for (const char *at = condition; next_token(&at, &t);)
		for (size_t i = 0; i < ARRAY_LEN(chance); i++)
			if (token_is(&t, chance[i]))
				return true;
	return false;
}

bool py_is_stale(const char *text)
{
	static const char *const others[] = {"channels_last", "channels_last_3d", "average_gradients",
		"drop_last", "reference_model", "is_last", "last_layer", "cached_mask"};
	static const char *const begins[] = {"best_", "first_", "initial_"};
	struct token t;
	char name[NAME_CAP];
	while (next_token(&text, &t)) {
		if (!copy_name(&t, name) || strncmp(name, "last_hidden", 11) == 0 ||
			strncmp(name, "ref_", 4) == 0 || name_is_one_of(name, others, ARRAY_LEN(others)))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(begins); i++)
			if (strncmp(name, begins[i], strlen(begins[i])) == 0)
				return true;
		if (word_in(name, WORDS_STALE))
			return true;
	}
	return false;
}

/* ---- literals ---- */

bool py_is_literal(const char *text)
{
	static const char *const words[] = {
		"True", "False", "None", "float", "inf", "nan", "math", "np", "torch", "e", "j"};
	struct token t;
	size_t n = 0;
	while (next_token(&text, &t)) {
		char name[NAME_CAP];
		if (strchr("\"'", t.text[0])) {
			n++;
			/* a string may hold blanks: up to its end */
			char quote = t.text[0];
			while (t.text[t.length - 1] != quote || t.length == 1)
				if (!next_token(&text, &t))
					break;
			continue;
		}
		if (copy_name(&t, name) && !name_is_one_of(name, words, ARRAY_LEN(words)))
			return false;
		n++;
	}
	return n > 0;
}

/* Constant expressions: 5 * 8, 1e9, - 1, 2 ** 10, float ( "inf" ). NaN for anything else. */
struct number_reader {
	const char *at;
	int depth;
	bool failed;
};

static double read_sum(struct number_reader *r);

static bool accept(struct number_reader *r, const char *text)
{
	const char *at = r->at;
	struct token t;
	if (!next_token(&at, &t) || !token_is(&t, text))
		return false;
	r->at = at;
	return true;
}

static double read_word(struct number_reader *r, const struct token *t)
{
	static const char *const infinities[] = {"float ( \"inf\" )", "math . inf", "torch . inf", "np . inf",
		"float ( \"Infinity\" )", "int (", "float ("};
	for (size_t i = 0; i < 5; i++)
		if (strncmp(t->text, infinities[i], strlen(infinities[i])) == 0) {
			r->at = t->text + strlen(infinities[i]);
			return INFINITY;
		}
	for (size_t i = 5; i < ARRAY_LEN(infinities); i++)
		if (strncmp(t->text, infinities[i], strlen(infinities[i])) == 0) {
			double value = read_sum(r);
			return i == 5 ? trunc(value) : value;
		}
	r->failed = true;
	return 0;
}

static double read_operand(struct number_reader *r)
{
	struct token t;
	if (r->failed || ++r->depth > 64 || !next_token(&r->at, &t)) {
		r->failed = true;
		return 0;
	}
	if (token_is(&t, "-"))
		return -read_operand(r);
	if (token_is(&t, "(")) {
		double value = read_sum(r);
		r->failed |= !accept(r, ")");
		return value;
	}
	if (!isdigit((unsigned char)t.text[0]) && t.text[0] != '.')
		return read_word(r, &t);
	char digits[NAME_CAP] = "", *end;
	size_t n = 0;
	for (size_t i = 0; i < t.length && n + 1 < sizeof(digits); i++)
		if (t.text[i] != '_')
			digits[n++] = t.text[i];
	double value = strtod(digits, &end);
	r->failed |= *end != '\0';
	return accept(r, "**") ? pow(value, read_operand(r)) : value;
}

static double read_product(struct number_reader *r)
{
	double value = read_operand(r);
	for (;;) {
		if (accept(r, "*"))
			value *= read_operand(r);
		else if (accept(r, "//"))
			value = floor(value / read_operand(r));
		else if (accept(r, "/"))
			value /= read_operand(r);
		else
			return value;
	}
}

static double read_sum(struct number_reader *r)
{
	double value = read_product(r);
	for (;;) {
		if (accept(r, "+"))
			value += read_product(r);
		else if (accept(r, "-"))
			value -= read_product(r);
		else
			return value;
	}
}

double py_number(const char *text)
{
	struct number_reader r = {.at = text};
	struct token t;
	double value = read_sum(&r);
	return r.failed || next_token(&r.at, &t) ? NAN : value;
}

/* ---- comparison ---- */

static void drop(struct strbuf *text, const char *part)
{
	size_t length = strlen(part);
	for (char *at = text->buf; (at = strstr(at, part));) {
		memmove(at, at + length, strlen(at + length) + 1);
		text->len -= length;
	}
}

static void without_reading(const char *text, struct strbuf *bare)
{
	static const char *const reads[] = {" . item ( )", " . detach ( )", " . float ( )", " . cpu ( )",
		" . clone ( )", " . double ( )", " . numpy ( )", " . tolist ( )", "torch . stack ( ",
		"float ( ", "int ( ", " )", "( "};
	strbuf_addstr(bare, text);
	for (size_t i = 0; i < ARRAY_LEN(reads); i++)
		drop(bare, reads[i]);
}

bool py_same_but_for_reading(const char *a, const char *b)
{
	CLEANUP(strbuf_release) struct strbuf x = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf y = STRBUF_INIT;
	without_reading(a, &x);
	without_reading(b, &y);
	return strcmp(x.buf, y.buf) == 0;
}

bool py_next_argument(const char **at, char text[PY_ARGUMENT_CAP])
{
	struct token t;
	int depth = 0;
	size_t n = 0;
	bool any = false;
	while (next_token(at, &t)) {
		char c = t.length == 1 ? t.text[0] : '\0';
		if (depth == 0 && (c == ',' || c == ')'))
			break;
		depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
		if (n + t.length + 2 < PY_ARGUMENT_CAP) {
			if (any)
				text[n++] = ' ';
			memcpy(text + n, t.text, t.length);
			n += t.length;
		}
		any = true;
	}
	text[n] = '\0';
	return any;
}

/* What the new text has beside the old one. */
bool py_cuts(const char *now, const char *base)
{
	size_t length = strlen(base);
	const char *at = now;
	if (!length || !text_contains(now, base) || strcmp(now, base) == 0)
		return false;
	while ((at = strstr(at, base)) &&
		!((at == now || at[-1] == ' ') && (at[length] == ' ' || !at[length])))
		at++;
	CLEANUP(free_ptr) char *rest = xasprintf("%.*s%s", (int)(at - now), now, at + length);
	return py_has_cut(rest) || (text_has_token(rest, "*") && text_has_real(rest));
}

bool py_has_cut(const char *text)
{
	static const char *const cutting[] = {"/", "//", ">>", "-", "%", "min", "int"};
	return py_text_has_any(text, cutting, ARRAY_LEN(cutting));
}
