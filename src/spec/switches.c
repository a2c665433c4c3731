#include "base/base.h"

#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/fields.h"
#include "spec/names.h"
#include "spec/switches.h"

const char *const operator_names[] = {
	[OPERATOR_EXPLOIT] = "exploit",
	[OPERATOR_BACKTRACK] = "backtrack",
	[OPERATOR_BUNDLE] = "bundle",
	[OPERATOR_ESCAPE] = "escape",
	[OPERATOR_WARM_RESTART] = "warm_restart",
	[OPERATOR_CONTRARIAN] = "contrarian",
	[OPERATOR_BIG_KNOB] = "big_knob",
	[OPERATOR_EXTRAPOLATE] = "extrapolate",
	[OPERATOR_STACK] = "stack",
	[OPERATOR_PATCH] = "patch",
	[OPERATOR_CONFLICT] = "conflict",
	[OPERATOR_PROPOSED] = "proposed",
	[OPERATOR_SURVEY] = "survey",
	[OPERATOR_PRIOR_REVISION] = "prior_revision",
	[N_OPERATORS] = NULL,
};

const char *const start_names[] = {
	[START_EXPERIENCE] = "experience",
	[START_PRIOR] = "prior",
	[START_RANDOM] = "random",
	[N_STARTS] = NULL,
};

struct search_switches switches_merge(struct search_switches task, struct search_switches more)
{
	task.operators_off = (task.operators_off & ~more.operators_on) | more.operators_off;
	task.operators_on = (task.operators_on & ~more.operators_off) | more.operators_on;
	if (more.starts_given) {
		task.starts_given = true;
		task.starts = more.starts;
	}
	return task;
}

int switch_index(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

static enum err_code unknown(const char *option, const char *what, const char *const *names, const char *name,
	struct arena *arena, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
	size_t n = 0;
	for (; names[n]; n++)
		strbuf_addf(&all, "%s%s", n ? ", " : "", names[n]);
	return err_set(reterr, ERR_INPUT, "%s: there is no %s '%s'%s; known are %s", option, what,
		printable(name, arena), did_you_mean(arena, name, names, n), all.buf);
}

static enum err_code read_list(const char *option, const char *what, const char *const *names,
	const char *list, unsigned *ret_bits, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	enum err_code code = OK;
	unsigned bits = 0;
	for (const char *p = list, *end; *list && p && code == OK; p = end) {
		size_t length = strcspn(p, ",");
		const char *name = arena_strndup(&arena, p, length);
		int index = switch_index(names, name);
		end = p[length] ? p + length + 1 : NULL;
		if (index < 0)
			code = unknown(option, what, names, name, &arena, reterr);
		else
			bits |= 1u << index;
	}
	arena_release(&arena);
	if (code == OK)
		*ret_bits = bits;
	return code;
}

enum err_code switches_read_operators(
	const char *option, const char *list, unsigned *ret_bits, struct err *reterr)
{
	return read_list(option, "operator", operator_names, list, ret_bits, reterr);
}

enum err_code switches_read_starts(
	const char *option, const char *list, unsigned *ret_bits, struct err *reterr)
{
	return read_list(option, "start", start_names, list, ret_bits, reterr);
}
