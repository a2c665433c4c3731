/* A2: formats below fp32 that the menu does not name, and double computations made float. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/audit_int.h"

/* Types and name words of a format, and how menus call it. */
static const struct {
	const char *part; /* contained in the identifier, in lower case */
	const char *menu;
} formats[] = {
	{"bfloat16", "bf16"},
	{"bf16", "bf16"},
	{"float16", "fp16"},
	{"fp16", "fp16"},
	{"e4m3", "fp8"},
	{"e5m2", "fp8"},
	{"fp8", "fp8"},
	{"fp4", "fp4"},
	{"nf4", "fp4"},
	{"int8", "int8"},
	{"int4", "int4"},
	{"tf32", "tf32"},
	{"half", "fp16"},
	{"quanti", "int8"},
};

bool menu_has(const struct change *change, const char *format)
{
	for (size_t i = 0; i < change->terms->n_precision; i++)
		if (strcasecmp(change->terms->precision[i], format) == 0)
			return true;
	return false;
}

const char *precision_format(const char *name)
{
	if (strcmp(name, "halfway") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const char *found = strcasestr(name, formats[i].part);
		/* "half" as a size (half_width) is common: only as a type */
		if (found && strcmp(formats[i].part, "half") == 0 && strcmp(name, "half") != 0 &&
			strncmp(name, "__half", 6) != 0 && strcmp(name, "half2") != 0)
			continue;
		if (found)
			return formats[i].menu;
	}
	return NULL;
}

static bool is_type_name(TSNode node)
{
	return node_is(node, "type_identifier") || node_is(node, "primitive_type");
}

enum audit_severity outside_menu(const struct change *change)
{
	return change->terms->n_precision ? AUDIT_BLOCK : AUDIT_REVIEW;
}

static void check_names(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->twin || f->kind != FACT_NAME || existed(change, FACT_NAME, f->name))
			continue;
		if (strcmp(f->name, "half") == 0 && !is_type_name(f->node))
			continue;
		const char *format = precision_format(f->name);
		if (!format || menu_has(change, format))
			continue;
		char reason[120];
		snprintf(reason, sizeof(reason), "%s is new here and the precision menu does not name it",
			format);
		report(change, outside_menu(change), f, reason);
	}
}

/* (int8_t)(x * scale), (short)lrintf(x): values stored as small integers. */
static void check_casts(struct change *change)
{
	static const char *const small[] = {"int8_t", "uint8_t", "int16_t", "uint16_t", "short", "char",
		"signed char", "unsigned char", "unsigned short", "_Float16", "__fp16", "__bf16",
		"_Float32x"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CAST || !is_added(f) || !name_is_one_of(f->name, small, ARRAY_LEN(small)))
			continue;
		bool scaled = text_has_token(f->value, "*") || text_has_token(f->value, "lrintf") ||
			      text_has_token(f->value, "roundf") || text_has_token(f->value, ">>") ||
			      text_has_token(f->value, "rintf") || text_has_real(f->value);
		if (!scaled || (menu_has(change, "bf16") && text_has_token(f->value, ">>")))
			continue;
		report(change, outside_menu(change), f, "a computed value is stored in a small type");
	}
}

/* Rounding fp32 to bf16 in place: masking or shifting away the low half of its bits. */
static void check_bits(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool masks = (f->kind == FACT_BINARY || f->kind == FACT_ASSIGN) &&
			     (strcmp(f->op, "&") == 0 || strcmp(f->op, "&=") == 0) &&
			     strncasecmp(f->value, "0xffff", 6) == 0 && strlen(f->value) >= 10 &&
			     strspn(f->value + 6, "0eEcC8uUlL") == strlen(f->value + 6);
		if (masks && is_added(f) && !menu_has(change, "bf16"))
			report(change, outside_menu(change), f, "the low bits of values are masked away");
	}
}

static void check_declared(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_DECLARE && f->twin && !f->same && same_function(f, f->twin) &&
			text_has_token(f->twin->value, "double") && text_has_token(f->value, "float"))
			report(change, AUDIT_REVIEW, f,
				"double became float: an accumulation may lose digits");
		if (f->kind == FACT_NAME && !f->twin && strcmp(f->name, "float") == 0 &&
			node_is(f->node, "primitive_type") &&
			node_is(node_parent(f->node), "type_definition"))
			report(change, AUDIT_REVIEW, f, "a type now stands for float");
	}
}

static void check_modes(struct change *change)
{
	static const char *const loose[] = {"fast-math", "Ofast", "ffast", "unsafe-math", "finite-math"};
	static const char *const calls[] = {"_MM_SET_FLUSH_ZERO_MODE", "_MM_SET_DENORMALS_ZERO_MODE",
		"fesetround", "_mm_rsqrt_ps", "_mm256_rsqrt_ps", "_mm_rcp_ps", "_mm256_rcp_ps",
		"_mm_rsqrt_ss", "cublasSetMathMode"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f))
			continue;
		bool is_text = f->kind == FACT_DIRECTIVE || f->kind == FACT_ATTRIBUTE;
		for (size_t k = 0; is_text && k < ARRAY_LEN(loose); k++)
			if (strstr(f->text, loose[k]))
				report(change, AUDIT_REVIEW, f,
					"the compiler may now compute something else");
		if (f->kind == FACT_CALL && name_is_one_of(f->name, calls, ARRAY_LEN(calls)))
			report(change, AUDIT_REVIEW, f, "less exact arithmetic than before");
	}
}

void rule_precision(struct change *change)
{
	check_names(change);
	check_casts(change);
	check_bits(change);
	check_declared(change);
	check_modes(change);
}
