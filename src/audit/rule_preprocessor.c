/* A11: macros, attributes and includes that make unchanged code mean something else. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit_int.h"

static bool is_keyword(const char *name)
{
	static const char *const keywords[] = {"if", "else", "for", "while", "do", "return", "break",
		"continue", "switch", "case", "goto", "double", "float", "int", "long", "short", "char",
		"unsigned", "signed", "void", "const", "volatile", "static", "extern", "struct", "sizeof",
		"restrict", "inline"};
	return name_is_one_of(name, keywords, ARRAY_LEN(keywords));
}

/* likely(x) and unlikely(x) are read as x: they must mean x. */
static bool is_dishonest_hint(const struct fact *f)
{
	static const char *const hints[] = {
		"likely", "unlikely", "__builtin_expect", "__builtin_expect_with_probability"};
	static const char *const honest[] = {"(__builtin_expect(!!(x),1))", "(__builtin_expect(!!(x),0))",
		"__builtin_expect(!!(x),1)", "__builtin_expect(!!(x),0)", "__builtin_expect((x),1)",
		"__builtin_expect((x),0)", "(__builtin_expect((x),1))", "(__builtin_expect((x),0))", "(x)"};
	if (!name_is_one_of(f->name, hints, ARRAY_LEN(hints)))
		return false;
	if (f->kind == FACT_FUNCTION)
		return true;
	char text[64] = "", parameter[16] = "";
	size_t n = 0;
	if (sscanf(f->init, "( %15s )", parameter) != 1)
		return true;
	for (const char *at = f->value; *at; at++) {
		size_t length = strlen(parameter);
		bool here = strncmp(at, parameter, length) == 0 && at > f->value && at[-1] == '(' &&
			    at[length] == ')';
		if (*at == ' ')
			continue;
		if (n + 1 == sizeof(text))
			return true;
		text[n++] = here ? 'x' : *at;
		at += here ? length - 1 : 0;
	}
	return !name_is_one_of(text, honest, ARRAY_LEN(honest));
}

static void check_hints(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if ((f->kind == FACT_DEFINE || f->kind == FACT_FUNCTION) && is_added(f) &&
			is_dishonest_hint(f))
			report(change, AUDIT_BLOCK, f, "a branch hint decides instead of hinting");
	}
}

static void check_macros(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_DEFINE || !is_added(f))
			continue;
		if (is_keyword(f->name))
			report(change, AUDIT_BLOCK, f, "a keyword is redefined");
		else if (!f->twin && existed(change, FACT_CALL, f->name))
			report(change, AUDIT_BLOCK, f,
				"a macro takes the place of a function that the code calls");
		else if (!f->twin && existed(change, FACT_NAME, f->name))
			report(change, AUDIT_BLOCK, f,
				"a macro takes the place of a name that the code uses");
		else if (f->twin && f->init[0])
			report(change, AUDIT_REVIEW, f, "a macro with parameters changed");
	}
}

static void check_directives(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_DIRECTIVE || f->twin)
			continue;
		if (strncmp(f->text, "#undef", 6) == 0 || strncmp(f->text, "#line", 5) == 0)
			report(change, AUDIT_BLOCK, f, "a name is undefined or lines are renumbered");
		else if (strstr(f->text, "weak") || strstr(f->text, "redefine_extname") ||
			 strstr(f->text, "push_macro") || strstr(f->text, "poison"))
			report(change, AUDIT_BLOCK, f, "names are redirected");
		else if (strstr(f->text, "GCC optimize") || strstr(f->text, "clang fp"))
			report(change, AUDIT_REVIEW, f, "the compiler is told to compute differently");
	}
}

static void check_attributes(struct change *change)
{
	static const struct {
		const char *word;
		enum audit_severity severity;
	} telling[] = {
		{"constructor", AUDIT_BLOCK},
		{"destructor", AUDIT_BLOCK},
		{"alias", AUDIT_BLOCK},
		{"ifunc", AUDIT_BLOCK},
		{"weak", AUDIT_BLOCK},
		{"section", AUDIT_BLOCK},
		{"cleanup", AUDIT_REVIEW},
		{"optimize", AUDIT_REVIEW},
	};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		for (size_t k = 0; f->kind == FACT_ATTRIBUTE && !f->twin && k < ARRAY_LEN(telling); k++)
			if (strstr(f->text, telling[k].word))
				report(change, telling[k].severity, f,
					"an attribute runs or redirects code unseen");
	}
}

static void check_includes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_INCLUDE || f->twin)
			continue;
		bool local = f->name[0] == '"';
		const char *end = strrchr(f->name, '.');
		bool header = end && (strncmp(end, ".h\"", 3) == 0 || strncmp(end, ".h>", 3) == 0);
		if (strstr(f->name, "..") || f->name[1] == '/')
			report(change, AUDIT_BLOCK, f, "a file outside the source is included");
		else if (!header)
			report(change, AUDIT_BLOCK, f, "something other than a header is included");
		else if (local)
			report(change, AUDIT_REVIEW, f, "a further file is included");
	}
}

void rule_preprocessor(struct change *change)
{
	check_macros(change);
	check_hints(change);
	check_directives(change);
	check_attributes(change);
	check_includes(change);
}
