#include "base/base.h"

#include <string.h>

#include "base/memory.h"
#include "spec/fields.h"
#include "spec/names.h"
#include "spec/task.h"

static double updates_of(const struct task *task)
{
	return task->contract.updates;
}

static double warmup_of(const struct task *task)
{
	return task->contract.warmup;
}

static double global_batch_of(const struct task *task)
{
	return task->contract.global_batch;
}

static double seq_len_of(const struct task *task)
{
	return task->contract.seq_len;
}

static double nodes_of(const struct task *task)
{
	return task->launch.nodes;
}

static double devices_per_node_of(const struct task *task)
{
	return task->launch.devices_per_node;
}

static double data_parallel_of(const struct task *task)
{
	return (double)task->launch.nodes * task->launch.devices_per_node;
}

static const struct {
	const char *name;
	double (*value)(const struct task *task);
	bool zero_is_undeclared;
} contract_table[] = {
	{"updates", updates_of, false},
	{"warmup", warmup_of, false},
	{"global_batch", global_batch_of, true},
	{"seq_len", seq_len_of, true},
	{"nodes", nodes_of, false},
	{"devices_per_node", devices_per_node_of, false},
	{"data_parallel", data_parallel_of, false},
};

static const char *const functions[] = {"min", "max", "floor", "ceil"};

static const char *const lua_keywords[] = {"and", "break", "do", "else", "elseif", "end", "false", "for",
	"function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
	"until", "while"};

size_t contract_names(void)
{
	return ARRAY_LEN(contract_table);
}

const char *contract_name(size_t index)
{
	return contract_table[index].name;
}

bool contract_value(const struct task *task, size_t index, double *ret_value)
{
	double value = contract_table[index].value(task);
	if (contract_table[index].zero_is_undeclared && value == 0)
		return false;
	*ret_value = value;
	return true;
}

size_t function_names(void)
{
	return ARRAY_LEN(functions);
}

const char *function_name(size_t index)
{
	return functions[index];
}

static bool is_word_of(const char *text, const char *first, const char *rest)
{
	return *text && strchr(first, *text) && strspn(text, rest) == strlen(text);
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool name_is_word(const char *text)
{
	return is_word_of(text, LOWER "_", LOWER "_0123456789");
}

bool name_is_environment(const char *text)
{
	return is_word_of(text, LOWER UPPER "_", LOWER UPPER "_0123456789");
}

static bool is_among(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

const char *name_reserved(const char *text)
{
	if (is_among(text, lua_keywords, ARRAY_LEN(lua_keywords)))
		return "a word of the expression language";
	if (is_among(text, functions, ARRAY_LEN(functions)))
		return "a function of the expression language";
	for (size_t i = 0; i < ARRAY_LEN(contract_table); i++)
		if (strcmp(text, contract_table[i].name) == 0)
			return "a number of the contract";
	return NULL;
}

struct name task_lookup(const struct task *task, const char *text)
{
	for (size_t i = 0; i < task->n_knobs; i++)
		if (strcmp(task->knobs[i].name, text) == 0)
			return (struct name){NAME_KNOB, i};
	for (size_t i = 0; i < task->n_derived; i++)
		if (strcmp(task->derived[i].name, text) == 0)
			return (struct name){NAME_DERIVED, i};
	for (size_t i = 0; i < ARRAY_LEN(contract_table); i++)
		if (strcmp(contract_table[i].name, text) == 0)
			return (struct name){NAME_CONTRACT, i};
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (strcmp(functions[i], text) == 0)
			return (struct name){NAME_FUNCTION, i};
	return (struct name){NAME_UNKNOWN, 0};
}

const char *task_suggest(const struct task *task, const char *text, bool with_functions, struct arena *arena)
{
	size_t n = 0;
	size_t room = task->n_knobs + task->n_derived + ARRAY_LEN(contract_table) + ARRAY_LEN(functions);
	const char **known = arena_array(arena, room, sizeof(*known));
	for (size_t i = 0; i < task->n_knobs; i++)
		known[n++] = task->knobs[i].name;
	for (size_t i = 0; i < task->n_derived; i++)
		known[n++] = task->derived[i].name;
	for (size_t i = 0; i < ARRAY_LEN(contract_table); i++)
		known[n++] = contract_table[i].name;
	for (size_t i = 0; with_functions && i < ARRAY_LEN(functions); i++)
		known[n++] = functions[i];
	return did_you_mean(arena, text, known, n);
}
