#include "base/base.h"

#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "spec/names.h"
#include "spec/task.h"
#include "spec/template.h"

#define FLAG_SUFFIX "_flag"

enum err_code template_next(
	const char **cursor, struct template_part *ret_part, bool *ret_found, struct err *reterr)
{
	const char *p = *cursor;
	*ret_found = *p != '\0';
	if (!*p)
		return OK;
	if ((p[0] == '{' || p[0] == '}') && p[1] == p[0]) {
		*ret_part = (struct template_part){p, 1, false};
		*cursor = p + 2;
		return OK;
	}
	if (*p == '}')
		return err_set(reterr, ERR_INPUT, "a lone } (write }} for a brace)");
	if (*p != '{') {
		size_t length = strcspn(p, "{}");
		*ret_part = (struct template_part){p, length, false};
		*cursor = p + length;
		return OK;
	}
	size_t length = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (length == 0 || p[1 + length] != '}')
		return err_set(reterr, ERR_INPUT, "{ without a name and } behind it (write {{ for a brace)");
	*ret_part = (struct template_part){p + 1, length, true};
	*cursor = p + length + 2;
	return OK;
}

struct template_name template_lookup(const struct task *task, const char *name, size_t length)
{
	static const enum template_kind kinds[] = {[NAME_KNOB] = TEMPLATE_KNOB,
		[NAME_DERIVED] = TEMPLATE_DERIVED,
		[NAME_CONTRACT] = TEMPLATE_CONTRACT,
		[NAME_FUNCTION] = TEMPLATE_UNKNOWN};
	CLEANUP(free_ptr) char *word = xasprintf("%.*s", (int)length, name);
	struct name found = task_lookup(task, word);
	if (found.kind != NAME_UNKNOWN)
		return (struct template_name){kinds[found.kind], found.index};
	size_t suffix = strlen(FLAG_SUFFIX);
	if (length <= suffix || strcmp(word + length - suffix, FLAG_SUFFIX) != 0)
		return (struct template_name){TEMPLATE_UNKNOWN, 0};
	word[length - suffix] = '\0';
	found = task_lookup(task, word);
	return (struct template_name){
		found.kind == NAME_KNOB ? TEMPLATE_FLAG : TEMPLATE_UNKNOWN, found.index};
}

static enum err_code expand_name(const struct template_values *v, const struct template_part *part,
	struct strbuf *text, bool *ret_is_flag, struct err *reterr)
{
	struct template_name name = template_lookup(v->task, part->text, part->length);
	const struct setting *setting = NULL;
	double number;
	*ret_is_flag = name.kind == TEMPLATE_FLAG;
	if (name.kind == TEMPLATE_KNOB || name.kind == TEMPLATE_FLAG)
		setting = &v->task->knobs[name.index].settings[v->setting[name.index]];
	switch (name.kind) {
	case TEMPLATE_KNOB:
		strbuf_addstr(text, setting->text);
		return OK;
	case TEMPLATE_FLAG:
		strbuf_addstr(text, setting->flag ? setting->flag : "");
		return OK;
	case TEMPLATE_DERIVED:
		strbuf_addstr(text, v->derived[name.index]);
		return OK;
	case TEMPLATE_CONTRACT:
		if (contract_value(v->task, name.index, &number)) {
			strbuf_addf(text, "%.0f", number);
			return OK;
		}
		return err_set(reterr, ERR_INPUT, "{%.*s} is not declared in the contract", (int)part->length,
			part->text);
	default:
		return err_set(reterr, ERR_INPUT, "unknown name {%.*s}", (int)part->length, part->text);
	}
}

enum err_code template_expand(const struct template_values *values, const char *text, struct strbuf *ret_text,
	bool *ret_only_flags, struct err *reterr)
{
	bool only_flags = *text != '\0';
	for (const char *cursor = text;;) {
		struct template_part part;
		bool found, is_flag = false;
		TRY(template_next(&cursor, &part, &found, reterr));
		if (!found)
			break;
		if (part.is_name)
			TRY(expand_name(values, &part, ret_text, &is_flag, reterr));
		else
			strbuf_add(ret_text, part.text, part.length);
		only_flags &= is_flag;
	}
	if (ret_only_flags)
		*ret_only_flags = only_flags;
	return OK;
}
