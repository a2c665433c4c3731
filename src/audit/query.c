#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/audit_int.h"

bool spend(const struct change *change, size_t facts)
{
	bool enough = *change->work_left >= facts;
	*change->work_left = enough ? *change->work_left - facts : 0;
	return enough;
}

bool is_added(const struct fact *f)
{
	return !f->twin || !f->same;
}

bool same_function(const struct fact *a, const struct fact *b)
{
	return strcmp(a->function, b->function) == 0;
}

bool existed(const struct change *change, enum fact_kind kind, const char *name)
{
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++)
		if (change->old[i]->kind == kind && strcmp(change->old[i]->name, name) == 0)
			return true;
	return false;
}

bool node_calls(const struct change *change, const struct source *source, TSNode node, enum words list)
{
	if (!spend(change, source->n_facts))
		return false;
	for (size_t i = 0; i < source->n_facts; i++) {
		const struct fact *f = &source->facts[i];
		if (f->kind == FACT_CALL && node_contains(node, f->node) && word_in(f->name, list))
			return true;
	}
	return false;
}

static bool is_logging_fact(const struct fact *f, TSNode node)
{
	switch (f->kind) {
	case FACT_CALL:
		return word_in(f->name, WORDS_LOG) || word_in(f->name, WORDS_TIME);
	case FACT_ASSIGN:
		return node_is(f->node, "init_declarator") || word_in(f->name, WORDS_TIME);
	case FACT_EXIT:
	case FACT_ASM:
		return false;
	case FACT_LOOP:
		return !node_contains(f->node, node);
	default:
		return true;
	}
}

bool only_logs(const struct change *change, const struct source *source, TSNode node)
{
	bool prints = false;
	if (!spend(change, source->n_facts))
		return false;
	for (size_t i = 0; i < source->n_facts; i++) {
		const struct fact *f = &source->facts[i];
		if (!node_contains(node, f->node) || ts_node_eq(node, f->node))
			continue;
		if (!is_logging_fact(f, node))
			return false;
		prints |= f->kind == FACT_CALL && word_in(f->name, WORDS_LOG);
	}
	return prints;
}

bool depends_on_step(const char *condition)
{
	return text_has_word(condition, WORDS_STEP);
}

bool name_has_word(const char *name, const char *const *words, size_t n)
{
	while (*name) {
		size_t length = strcspn(name, "_");
		for (size_t i = 0; i < n; i++)
			if (strlen(words[i]) == length && strncasecmp(name, words[i], length) == 0)
				return true;
		name += length + (name[length] == '_');
	}
	return false;
}
