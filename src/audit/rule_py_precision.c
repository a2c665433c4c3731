/* A2 for Python: types, contexts, switches, optimizers and hooks that compute or send less than the menu
 * names. */
#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

enum { STRING_CAP = 32 };

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* What precision_format() does not know, because C has it not. */
static const struct {
	const char *part, *menu;
} formats[] = {
	{"8bit", "int8"},
	{"4bit", "fp4"},
	{"float8", "fp8"},
	{"halftensor", "fp16"},
	{"onebit", "1 bit"},
	{"1bit", "1 bit"},
	{"zeroone", "1 bit"},
	{"powersgd", "compressed gradients"},
	{"16-mixed", "fp16"},
	{"16-true", "fp16"},
	{"mxfp", "fp4"},
};

static const char *format_of(const char *name)
{
	static const char *const others[] = {"uint8", "quantile", "quantiles", "nanquantile", "half",
		"is_bf16_supported", "is_fp16_enabled", "is_quantized"};
	if (IN(name, others) || strncasecmp(name, "is_", 3) == 0 || strcasestr(name, "quantile") ||
		strcasestr(name, "uint8") || strcasestr(name, "conf4"))
		return NULL;
	const char *bf = strcasestr(name, "bf16");
	for (size_t i = 0; !bf && i < ARRAY_LEN(formats); i++)
		if (strcasestr(name, formats[i].part))
			return formats[i].menu;
	return precision_format(name);
}

static void say(struct change *change, const struct fact *f, const char *format)
{
	char reason[120];
	if (menu_has(change, format))
		return;
	snprintf(reason, sizeof(reason), "%s is new here and the precision menu does not name it", format);
	report(change, outside_menu(change), f, reason);
}

static bool is_off(const char *value)
{
	return strcmp(value, "False") == 0 || strcmp(value, "None") == 0 ||
	       (text_has_token(value, "False") && strstr(value, "enabled"));
}

/* fp16=False, allow_..._reduction = False, {"fp16": {"enabled": False}}, `if dtype == "bf16"` of a refusal */
static bool is_switched_off(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *a = &s->facts[i];
		if (a->kind == FACT_ASSIGN && node_contains(a->node, f->node) && is_off(a->value))
			return true;
	}
	return false;
}

/* What was off is on. */
static void check_switches(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || f->same || !f->twin || !is_off(f->twin->value) ||
			is_off(f->value))
			continue;
		const char *format = format_of(f->name);
		if (format)
			say(change, f, format);
	}
}

static void check_names(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_NAME || f->twin)
			continue;
		const char *format = format_of(f->name);
		if (format && spend(change, f->source->n_facts) && !is_switched_off(f))
			say(change, f, format);
	}
}

/* "bf16", "16-mixed", "NVIDIA_TF32_OVERRIDE": a word, not a sentence. */
static void check_strings(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		char word[STRING_CAP] = "";
		if (f->kind != FACT_STRING || f->twin || strlen(f->text) >= sizeof(word) ||
			strpbrk(f->text, " {%"))
			continue;
		size_t from = strcspn(f->text, "\"'") + 1, length = strlen(f->text);
		if (from + 1 >= length)
			continue;
		memcpy(word, f->text + from, length - from - 1);
		const char *format =
			strcasecmp(word, "half") == 0 || strcmp(word, "16") == 0 ? "fp16" : format_of(word);
		if (format && spend(change, f->source->n_facts) && !is_switched_off(f))
			say(change, f, format);
	}
}

/* x.half(), x.char(): methods without arguments; `half` as a variable is a size. */
static void check_calls(struct change *change)
{
	static const struct {
		const char *name, *format;
	} methods[] = {{"half", "fp16"}, {"char", "int8"}, {"short", "int16"}};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool half_type =
			f->kind == FACT_NAME && strcmp(f->name, "half") == 0 && !f->twin &&
			node_is(node_parent(f->node), "attribute") &&
			strncmp(f->source->text + node_start(node_parent(f->node)), "torch.half", 10) == 0;
		if (half_type)
			say(change, f, "fp16");
		for (size_t k = 0; f->kind == FACT_CALL && !f->twin && k < ARRAY_LEN(methods); k++)
			if (strcmp(f->name, methods[k].name) == 0 && f->init[0] &&
				strcmp(f->value, "( )") == 0)
				say(change, f, methods[k].format);
	}
}

/* autocast without a type means fp16 on a GPU and bf16 on a CPU. */
static void check_cast_context(struct change *change, const struct fact *f)
{
	bool typed = text_has_token(f->value, "dtype") || strstr(f->name, "fp8");
	bool was_off = f->twin && text_contains(f->twin->value, "enabled = False");
	bool was_typed = f->twin && text_has_token(f->twin->value, "dtype");
	bool default_type = !typed && (!f->twin || was_typed);
	if (was_off)
		report(change, outside_menu(change), f, "full precision is no longer asked for");
	else if (default_type)
		say(change, f, strstr(f->value, "cpu") ? "bf16" : "fp16");
	else if (!f->twin && !precision_format(f->value) && change->terms->n_precision == 0)
		report(change, AUDIT_REVIEW, f, "operations are cast to another type");
}

static void check_autocast(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool wide = text_contains(f->value, "enabled = False") || text_has_token(f->value, "float32");
		if (f->kind == FACT_CALL && strstr(f->name, "autocast") && !f->same && !wide)
			check_cast_context(change, f);
	}
}

static void check_matmul_mode(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f))
			continue;
		if (f->kind == FACT_CALL && strcmp(f->name, "set_float32_matmul_precision") == 0)
			say(change, f,
				strstr(f->value, "highest") ? "fp32"
				: strstr(f->value, "high")  ? "tf32"
							    : "bf16");
		if (f->kind == FACT_ASSIGN && strcmp(f->name, "precision") == 0 &&
			strcmp(f->value, "16") == 0)
			say(change, f, "fp16");
		if (f->kind == FACT_ASSIGN && strcmp(f->name, "fp32_precision") == 0 &&
			strstr(f->value, "tf32") && !menu_has(change, "tf32"))
			report(change, outside_menu(change), f, "tf32 is not in the precision menu");
	}
}

/* round(x * 127) / 127, x & 0xffff0000: values made coarser by hand. */
static bool rounds(const struct fact *f)
{
	static const char *const rounding[] = {"round", "round_", "trunc", "floor", "trunc_"};
	return f->kind == FACT_CALL && IN(f->name, rounding) && f->init[0] && strcmp(f->init, "math") != 0 &&
	       text_has_token(f->text, "*") &&
	       (py_is_forward(f->function) || py_is_update_function(f->function));
}

static bool masks_bits(const struct fact *f)
{
	return (f->kind == FACT_BINARY || f->kind == FACT_ASSIGN) && f->op[0] == '&' &&
	       strncasecmp(f->value, "0xffff", 6) == 0 && strlen(f->value) >= 10;
}

static void check_rounding(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->twin && (rounds(f) || masks_bits(f)))
			report(change, outside_menu(change), f, "computed values are made coarser");
	}
}

static bool is_lost(const struct change *change, const struct fact *f)
{
	return !f->twin &&
	       py_count_uses(change, true, f->name, f->function) <
		       py_count_uses(change, false, f->name, f->function) &&
	       py_existed_function(change, f->function);
}

static bool is_lost_upcast(const struct fact *f)
{
	return f->kind == FACT_CALL && f->init[0] && strcmp(f->value, "( )") == 0 && !f->twin &&
	       (strcmp(f->name, "float") == 0 || strcmp(f->name, "double") == 0);
}

/* x.float() twice became x.float() once. */
static bool is_still_widened(const struct change *change, const struct fact *lost)
{
	for (size_t i = 0; i < change->n_new && lost->kind == FACT_CALL; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && same_function(f, lost) && strcmp(f->text, lost->text) == 0)
			return true;
	}
	return false;
}

/* .float(), float32 and double went where a loss or a layer is computed. */
static void check_lost(struct change *change)
{
	static const char *const wide[] = {"float32", "float64", "double"};
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		bool upcast = is_lost_upcast(f);
		bool named = f->kind == FACT_NAME && IN(f->name, wide);
		if (!upcast && !named)
			continue;
		bool computes = py_is_forward(f->function) || word_in(f->function, WORDS_WORK) ||
				py_is_update_function(f->function) || !upcast;
		if (computes && is_lost(change, f) && !is_still_widened(change, f))
			report(change, AUDIT_REVIEW, f, "a value is no longer held in a wider type here");
	}
}

void rule_py_precision(struct change *change)
{
	check_switches(change);
	check_names(change);
	check_strings(change);
	check_calls(change);
	check_autocast(change);
	check_matmul_mode(change);
	check_rounding(change);
	check_lost(change);
}
