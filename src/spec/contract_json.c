#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/hash.h"
#include "base/memory.h"
#include "spec/contract_json.h"
#include "spec/task.h"

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		die_oom(0);
}

static json_t *strings_json(const struct string_list *list)
{
	json_t *array = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(list->items[i]));
	return array;
}

static json_t *environment_json(const struct env_template *env, size_t count)
{
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++)
		put(object, env[i].name, json_string(env[i].value));
	return object;
}

static json_t *launch_json(const struct task *task)
{
	const struct launch *launch = &task->launch;
	json_t *object = json_object();
	put(object, "build", strings_json(&task->build));
	put(object, "build_env", environment_json(task->build_env, task->n_build_env));
	put(object, "command", strings_json(&launch->command));
	put(object, "env", environment_json(launch->env, launch->n_env));
	put(object, "pass_env", strings_json(&launch->pass_env));
	put(object, "launcher", json_integer(launch->launcher));
	put(object, "nodes", json_integer(launch->nodes));
	put(object, "devices_per_node", json_integer(launch->devices_per_node));
	put(object, "network", json_boolean(launch->network));
	return object;
}

static json_t *reference_json(const struct task *task)
{
	json_t *object = json_object();
	for (size_t k = 0; k < task->n_knobs; k++) {
		const struct setting *setting = &task->knobs[k].settings[task->knobs[k].reference];
		json_t *pair = json_array();
		json_array_append_new(pair, json_string(setting->text));
		if (setting->flag)
			json_array_append_new(pair, json_string(setting->flag));
		put(object, task->knobs[k].name, pair);
	}
	return object;
}

static json_t *derived_json(const struct task *task)
{
	json_t *object = json_object();
	for (size_t i = 0; i < task->n_derived; i++)
		put(object, task->derived[i].name, json_string(task->derived[i].value.text));
	return object;
}

static json_t *invariants_json(const struct contract *contract)
{
	json_t *array = json_array();
	for (size_t i = 0; i < contract->n_invariants; i++)
		json_array_append_new(array, json_string(contract->invariants[i].text));
	return array;
}

static json_t *tests_json(const struct contract *contract)
{
	json_t *array = json_array();
	for (size_t i = 0; i < contract->n_tests; i++)
		json_array_append_new(array, strings_json(&contract->tests[i]));
	return array;
}

static json_t *contract_json(const struct contract *contract)
{
	json_t *object = json_object();
	put(object, "updates", json_integer(contract->updates));
	put(object, "warmup", json_integer(contract->warmup));
	put(object, "global_batch", json_real(contract->global_batch));
	put(object, "seq_len", json_real(contract->seq_len));
	put(object, "invariants", invariants_json(contract));
	put(object, "loss_tolerance", json_real(contract->loss_tolerance));
	put(object, "loss_rule", json_integer(contract->loss_rule));
	put(object, "grad_norm_tolerance", json_real(contract->grad_norm_tolerance));
	put(object, "precision", strings_json(&contract->precision));
	put(object, "memory_cap", json_real(contract->memory_cap_bytes));
	put(object, "frozen_files", strings_json(&contract->frozen_files));
	put(object, "editable_files", strings_json(&contract->editable_files));
	put(object, "horizon", json_real(contract->horizon_updates));
	put(object, "eval_command", strings_json(&contract->eval_command));
	put(object, "eval_tolerance", json_real(contract->eval_tolerance));
	put(object, "checkpoint_save_at", json_integer(contract->checkpoint_save_at));
	put(object, "checkpoint_command", strings_json(&contract->checkpoint_command));
	put(object, "tests", tests_json(contract));
	return object;
}

void contract_digest(const struct task *task, char ret_hex[65])
{
	json_t *object = json_object();
	put(object, "stack", json_string(task->stack));
	put(object, "launch", launch_json(task));
	put(object, "contract", contract_json(&task->contract));
	put(object, "reference", reference_json(task));
	put(object, "derived", derived_json(task));
	CLEANUP(free_ptr)
	char *text = json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(object);
	if (!text)
		die_oom(0);
	sha256_hex(text, strlen(text), ret_hex);
}
