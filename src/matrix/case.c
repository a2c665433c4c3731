/* The text of a case. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "matrix/matrix_int.h"

enum { MAX_OPS = 1000, MAX_BASES = 4, WORD_SIZE = 64 };

/* What follows the verb: a target, a value. */
enum form { FORM_NOTHING, FORM_VALUE, FORM_RECEIPT, FORM_FIELD, FORM_FIELD_VALUE, FORM_RECEIPT_VALUE };

static const struct {
	const char *name;
	enum form form;
} verbs[N_VERBS] = {
	[VERB_SET] = {"set", FORM_FIELD_VALUE},
	[VERB_DROP] = {"drop", FORM_FIELD},
	[VERB_ADD] = {"add", FORM_FIELD_VALUE},
	[VERB_NOISE] = {"noise", FORM_FIELD_VALUE},
	[VERB_ROUND] = {"round", FORM_FIELD_VALUE},
	[VERB_LINE] = {"line", FORM_FIELD_VALUE},
	[VERB_HASH] = {"hash", FORM_FIELD_VALUE},
	[VERB_COPY] = {"copy", FORM_FIELD_VALUE},
	[VERB_SWAP] = {"swap", FORM_FIELD},
	[VERB_REMOVE] = {"remove", FORM_FIELD},
	[VERB_INSERT] = {"insert", FORM_FIELD_VALUE},
	[VERB_RAN] = {"ran", FORM_RECEIPT_VALUE},
	[VERB_PATCH] = {"patch", FORM_RECEIPT_VALUE},
	[VERB_EDIT] = {"edit", FORM_FIELD_VALUE},
	[VERB_UNSIGN] = {"unsign", FORM_VALUE},
	[VERB_SIGN] = {"sign", FORM_VALUE},
	[VERB_CUT] = {"cut", FORM_VALUE},
	[VERB_TWICE] = {"twice", FORM_NOTHING},
	[VERB_OMIT] = {"omit", FORM_RECEIPT},
	[VERB_WHOLE] = {"whole", FORM_NOTHING},
	[VERB_JUDGE] = {"judge", FORM_RECEIPT},
	[VERB_DUEL] = {"duel", FORM_VALUE},
};

const char *const matrix_outcome_names[3] = {"valid", "invalid", "refused"};

struct reader {
	const char *file, *bases;
	int line, depth;
	struct arena *arena;
	struct matrix_case *c;
	bool begun; /* a line that is no comment was seen */
};

static enum err_code fault(struct err *reterr, const struct reader *p, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static enum err_code fault(struct err *reterr, const struct reader *p, const char *fmt, ...)
{
	char message[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, message, strlen(message));
	return err_set_at(reterr, ERR_INPUT, p->file, p->line, 0, "%s", shown.buf);
}

/* The next word, and the text moved to the one behind it; "" at the end or where it is too long. */
static const char *take_word(const char **text, char word[WORD_SIZE])
{
	size_t length = strcspn(*text, " \t");
	word[0] = '\0';
	if (length < WORD_SIZE) {
		memcpy(word, *text, length);
		word[length] = '\0';
	}
	*text += length;
	*text += strspn(*text, " \t");
	return word;
}

/* Which of the names, or -1. */
static int index_of(const char *word, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return (int)i;
	return -1;
}

/* What may stand behind the name of a receipt: its field, or nothing. */
static bool ends_receipt(const char *text)
{
	return !*text || *text == '.';
}

/* "references.2", "trials.*": where it ends, or NULL. */
static const char *after_numbered(const char *text, const char *name, int *ret_index)
{
	size_t length = strlen(name);
	char *end;
	if (strncmp(text, name, length) != 0)
		return NULL;
	long index = strtol(text + length, &end, 10);
	bool each = text[length] == '*';
	if (!each && (end == text + length || index < 1 || index > MATRIX_MAX_RECEIPTS))
		return NULL;
	*ret_index = each ? 0 : (int)index;
	return each ? text + length + 1 : end;
}

/* The receipt in front of a field; nothing for the candidate. Where no number or * follows, it is a field of
 * that name. */
static void take_receipt(const char **text, enum who *ret_who, int *ret_index)
{
	static const struct {
		const char *name;
		enum who who;
	} names[] = {{"references.", WHO_REFERENCES}, {"trials.", WHO_TRIALS}};
	*ret_who = WHO_CANDIDATE;
	*ret_index = 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int index = 0;
		const char *behind = after_numbered(*text, names[i].name, &index);
		if (!behind || !ends_receipt(behind))
			continue;
		*ret_who = names[i].who;
		*ret_index = index;
		*text = behind + (*behind == '.');
		return;
	}
	if (strncmp(*text, "all", 3) == 0 && ends_receipt(*text + 3)) {
		*ret_who = WHO_ALL;
		*text += 3 + ((*text)[3] == '.');
	} else if (strcmp(*text, "candidate") == 0) {
		*text += strlen("candidate");
	}
}

static enum err_code add_op(struct reader *p, const struct matrix_op *op, struct err *reterr)
{
	struct matrix_case *c = p->c;
	if (c->n_ops == MAX_OPS)
		return fault(reterr, p, "expected at most %d lines that change something", MAX_OPS);
	grow_array(&c->ops, &c->ops_capacity, c->n_ops + 1, sizeof(*c->ops));
	c->ops[c->n_ops++] = *op;
	return OK;
}

/* The receipt, or the field of one, in front of the value. */
static enum err_code read_target(
	struct reader *p, const char **rest, bool has_field, struct matrix_op *op, struct err *reterr)
{
	char word[WORD_SIZE];
	const char *target = take_word(rest, word);
	take_receipt(&target, &op->who, &op->index);
	if ((*target != '\0') != has_field)
		return fault(reterr, p, "%s: expected %s", verbs[op->verb].name,
			has_field ? "a field, such as updates.11.loss or references.2.outcome.failure"
				  : "a receipt, such as references.2");
	op->path = arena_strdup(p->arena, target);
	return OK;
}

static enum err_code read_op(struct reader *p, enum verb verb, const char *rest, struct err *reterr)
{
	enum form form = verbs[verb].form;
	struct matrix_op op = {.verb = verb, .file = p->file, .line = p->line, .path = "", .value = ""};
	bool has_field = form == FORM_FIELD || form == FORM_FIELD_VALUE;
	bool has_value = form == FORM_VALUE || form == FORM_FIELD_VALUE || form == FORM_RECEIPT_VALUE;
	/* "ran 18" is about the candidate. */
	bool has_receipt = form == FORM_RECEIPT || (form == FORM_RECEIPT_VALUE && strpbrk(rest, " \t"));
	if (has_field || has_receipt)
		TRY(read_target(p, &rest, has_field, &op, reterr));
	if (has_value && !*rest)
		return fault(reterr, p, "%s: expected a value at the end", verbs[verb].name);
	if (!has_value && *rest)
		return fault(reterr, p, "%s: nothing expected behind it, found '%s'", verbs[verb].name, rest);
	op.value = arena_strdup(p->arena, rest);
	return add_op(p, &op, reterr);
}

static enum err_code read_review(struct reader *p, const char *rest, struct err *reterr)
{
	int kind = index_of(rest, review_names, N_REVIEW_KINDS);
	if (strcmp(rest, "none") == 0) {
		memset(p->c->expected.reviews, 0, sizeof(p->c->expected.reviews));
		return OK;
	}
	if (kind < 0)
		return fault(reterr, p, "'%s': expected a kind of review such as %s%s%s", rest,
			review_names[0], "", "");
	p->c->expected.reviews[kind] = true;
	return OK;
}

static int item_of(const char *word)
{
	for (int i = 0; i < N_ITEMS; i++)
		if (strcmp(word, item_infos[i].name) == 0)
			return i;
	return -1;
}

static enum err_code read_outcome(
	struct reader *p, enum matrix_outcome outcome, const char *rest, struct err *reterr)
{
	struct matrix_answer *expected = &p->c->expected;
	int primary = -1, refusal = REFUSAL_NONE;
	if (outcome == OUTCOME_VALID && *rest)
		return fault(reterr, p, "valid: nothing expected behind it, found '%s'", rest);
	if (outcome == OUTCOME_INVALID && (primary = item_of(rest)) < 0)
		return fault(reterr, p, "invalid: expected the item that rejects, found '%s'", rest);
	if (outcome == OUTCOME_REFUSED && (refusal = index_of(rest, refusal_names, N_REFUSALS)) <= 0)
		return fault(reterr, p, "refused: expected a name such as edited, found '%s'", rest);
	expected->outcome = outcome;
	expected->primary = primary;
	expected->refusal = (enum set_refusal)refusal;
	p->c->has_outcome = true;
	return OK;
}

static enum err_code read_expect(struct reader *p, const char *rest, struct err *reterr)
{
	char word[WORD_SIZE];
	take_word(&rest, word);
	if (strcmp(word, "review") == 0)
		return read_review(p, rest, reterr);
	int outcome = index_of(word, matrix_outcome_names, ARRAY_LEN(matrix_outcome_names));
	if (outcome >= 0)
		return read_outcome(p, (enum matrix_outcome)outcome, rest, reterr);
	int item = item_of(word);
	if (item < 0)
		return fault(reterr, p,
			"'%s': expected valid, invalid, refused, review or one of the 16 items", word);
	int result = index_of(rest, item_result_names, ARRAY_LEN(item_result_names));
	if (result < 0)
		return fault(reterr, p, "%s: expected pass, fail, unchecked or n/a, found '%s'", word, rest);
	p->c->expected.items[item] = result;
	return OK;
}

static enum err_code read_count(
	struct reader *p, const char *name, const char *rest, int low, int *ret_n, struct err *reterr)
{
	int64_t n;
	if (!parse_integer(rest, &n) || n < low || n > MATRIX_MAX_RECEIPTS / 2)
		return fault(reterr, p, "%s: expected a number from %d to %d, found '%s'", name, low,
			MATRIX_MAX_RECEIPTS / 2, rest);
	*ret_n = (int)n;
	return OK;
}

static enum err_code read_text(struct reader *p, const char *text, size_t length, struct err *reterr);

static enum err_code read_base(struct reader *p, const char *name, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", p->bases ? p->bases : "", name);
	if (p->begun)
		return fault(reterr, p, "base: expected once, before everything else");
	p->begun = true;
	if (!p->bases || !path_is_contained(name) || strchr(name, '/') || p->depth == MAX_BASES)
		return fault(reterr, p, "base: '%s' is no name of a file in base/", name);
	if (file_read(path, MATRIX_FILE_CAP, &text, NULL) != OK)
		return fault(reterr, p, "base: no file %s", path);
	struct reader base = {arena_strdup(p->arena, path), p->bases, 0, p->depth + 1, p->arena, p->c, false};
	return read_text(&base, text.buf, text.len, reterr);
}

static enum err_code read_paper(struct reader *p, const char *rest, struct err *reterr)
{
	static const char *const names[] = {"", "accepted", "rejected"};
	int paper = index_of(rest, names, ARRAY_LEN(names));
	if (paper <= 0)
		return fault(reterr, p, "paper: expected accepted or rejected, found '%s'", rest);
	p->c->paper = (enum matrix_paper)paper;
	return OK;
}

static enum err_code read_line(struct reader *p, const char *line, struct err *reterr)
{
	char word[WORD_SIZE];
	const char *rest = line;
	take_word(&rest, word);
	size_t length = strlen(word);
	if (length > 0 && word[length - 1] == ':')
		word[length - 1] = '\0';
	if (strcmp(word, "base") == 0)
		return read_base(p, rest, reterr);
	p->begun = true;
	if (strcmp(word, "paper") == 0)
		return read_paper(p, rest, reterr);
	if (strcmp(word, "references") == 0)
		return read_count(p, word, rest, 1, &p->c->n_references, reterr);
	if (strcmp(word, "trials") == 0)
		return read_count(p, word, rest, 0, &p->c->n_trials, reterr);
	if (strcmp(word, "expect") == 0)
		return read_expect(p, rest, reterr);
	for (int verb = 0; verb < N_VERBS; verb++)
		if (strcmp(word, verbs[verb].name) == 0)
			return read_op(p, (enum verb)verb, rest, reterr);
	return fault(reterr, p,
		"'%s': expected base, paper, references, trials, expect or a change such as set", word);
}

static void add_about(struct reader *p, const char *text)
{
	text += strspn(text, "# \t");
	if (p->depth == 0 && !p->begun && *text)
		p->c->about = arena_printf(p->arena, "%s%s%s", p->c->about, *p->c->about ? " " : "", text);
}

static enum err_code read_text(struct reader *p, const char *text, size_t length, struct err *reterr)
{
	const char *end = text + length;
	if (memchr(text, '\0', length))
		return fault(reterr, p, "expected text, found a NUL byte");
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *last = newline ? newline : end;
		p->line++;
		while (text < last && (*text == ' ' || *text == '\t'))
			text++;
		while (last > text && strchr(" \t\r", last[-1]))
			last--;
		char *line = arena_strndup(p->arena, text, (size_t)(last - text));
		if (*line == '#')
			add_about(p, line);
		else if (*line)
			TRY(read_line(p, line, reterr));
		text = newline ? newline + 1 : end;
	}
	return OK;
}

static enum err_code check_complete(const struct reader *p, struct err *reterr)
{
	const struct matrix_case *c = p->c;
	if (!c->has_outcome)
		return fault(reterr, p,
			"expected a line: expect valid, expect invalid ITEM or expect refused NAME");
	for (int i = 0; i < N_ITEMS && c->expected.outcome != OUTCOME_REFUSED; i++)
		if (c->expected.items[i] < 0)
			return fault(reterr, p, "expected a line: expect %s pass, fail, unchecked or n/a",
				item_infos[i].name);
	return OK;
}

enum err_code matrix_case_parse(const char *file, const char *text, size_t length, const char *bases,
	struct arena *arena, struct matrix_case *ret_case, struct err *reterr)
{
	struct matrix_case c = {.file = arena_strdup(arena, file), .about = "", .n_references = 1};
	struct reader p = {c.file, bases, 0, 0, arena, &c, false};
	c.name = c.file;
	c.disagreement = "";
	c.expected.primary = -1;
	for (int i = 0; i < N_ITEMS; i++)
		c.expected.items[i] = -1;
	enum err_code code = read_text(&p, text, length, reterr);
	if (code == OK)
		code = check_complete(&p, reterr);
	if (code != OK) {
		free(c.ops);
		return code;
	}
	*ret_case = c;
	return OK;
}

void matrix_case_release(struct matrix_case *c)
{
	free(c->ops);
	c->ops = NULL;
	c->n_ops = c->ops_capacity = 0;
}
