/* launch.device_slots: what each of several trials at once may occupy. No two may share anything. */
#include "base/base.h"

#include <string.h>

#include "base/cpu_list.h"
#include "base/memory.h"
#include "spec/task_draft.h"

static enum err_code read_devices(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *list, struct device_slot *slot, struct err *reterr)
{
	slot->devices.items = arena_array(r->arena, list->n_children, sizeof(char *));
	for (const struct tree_node *node = list->first; node; node = node->next)
		TRY(read_string_element(
			r, field, where, node, &slot->devices.items[slot->devices.count++], reterr));
	return OK;
}

/* [0, 1] is short for {devices: [0, 1]}. */
enum err_code read_slot(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct device_slot *slot = target;
	*slot = (struct device_slot){.place = {value->line, value->column}};
	if (value->kind == TREE_LIST)
		TRY(read_devices(r, field, where, value, slot, reterr));
	else
		TRY(fields_read(r, field->table, where, value, slot, reterr));
	if (slot->devices.count || slot->cpus)
		return OK;
	return node_error(r, value, reterr, "%s: names neither devices nor cpus", where);
}

static enum err_code slot_error(
	const struct task_draft *draft, size_t slot, struct err *reterr, const char *text)
{
	return place_error(
		&draft->task, draft->task.launch.slots[slot].place, reterr, "launch.device_slots: %s", text);
}

static enum err_code check_device(
	const struct task_draft *draft, size_t slot, size_t device, struct err *reterr)
{
	const struct launch *launch = &draft->task.launch;
	const char *name = launch->slots[slot].devices.items[device];
	struct arena *arena = draft->reader.arena;
	if (strpbrk(name, ", \t"))
		return slot_error(draft, slot, reterr,
			arena_printf(arena, "'%s' is not one device", printable(name, arena)));
	for (size_t s = 0; s <= slot; s++)
		for (size_t d = 0; d < (s == slot ? device : launch->slots[s].devices.count); d++)
			if (strcmp(launch->slots[s].devices.items[d], name) == 0)
				return slot_error(draft, slot, reterr,
					arena_printf(arena,
						"device '%s' is named twice: no two trials share one",
						printable(name, arena)));
	return OK;
}

static enum err_code check_devices(const struct task_draft *draft, size_t slot, struct err *reterr)
{
	const struct launch *launch = &draft->task.launch;
	size_t count = launch->slots[slot].devices.count;
	if (count != launch->slots[0].devices.count)
		return slot_error(draft, slot, reterr,
			"slots must be alike: this one has another number of devices than the first");
	if (count && count != (size_t)launch->devices_per_node)
		return slot_error(draft, slot, reterr,
			arena_printf(draft->reader.arena,
				"this slot has %zu devices, launch.devices_per_node says %d", count,
				launch->devices_per_node));
	for (size_t d = 0; d < count; d++)
		TRY(check_device(draft, slot, d, reterr));
	return OK;
}

static enum err_code check_cpus(
	const struct task_draft *draft, size_t slot, cpu_set_t *taken, int *each, struct err *reterr)
{
	const struct launch *launch = &draft->task.launch;
	const char *cpus = launch->slots[slot].cpus;
	struct arena *arena = draft->reader.arena;
	cpu_set_t set, common;
	CPU_ZERO(&set);
	if (cpus && !cpu_list_parse(cpus, &set))
		return slot_error(draft, slot, reterr,
			arena_printf(arena, "cpus: expected a list such as 0-3,8 (below %d), got '%s'",
				CPU_SETSIZE, printable(cpus, arena)));
	if (slot == 0)
		*each = CPU_COUNT(&set);
	if (CPU_COUNT(&set) != *each)
		return slot_error(draft, slot, reterr,
			"slots must be alike: this one has another number of cpus than the first");
	CPU_AND(&common, &set, taken);
	if (CPU_COUNT(&common))
		return slot_error(draft, slot, reterr,
			arena_printf(arena, "cpus %s: some are another slot's, too: no two trials share one",
				cpus));
	CPU_OR(taken, taken, &set);
	return OK;
}

static enum err_code check_variables(const struct task_draft *draft, struct err *reterr)
{
	const struct launch *launch = &draft->task.launch;
	for (size_t i = 0; i < launch->n_env && launch->slots[0].devices.count; i++)
		for (size_t k = 0; k < launch->slot_env.count; k++)
			if (strcmp(launch->env[i].name, launch->slot_env.items[k]) == 0)
				return place_error(&draft->task, launch->env[i].place, reterr,
					"launch.env: %s is given by launch.device_slots (launch.slot_env)",
					launch->env[i].name);
	return OK;
}

enum err_code task_check_slots(const struct task_draft *draft, struct err *reterr)
{
	cpu_set_t taken;
	int each = 0;
	CPU_ZERO(&taken);
	if (!draft->task.launch.n_slots)
		return OK;
	for (size_t slot = 0; slot < draft->task.launch.n_slots; slot++) {
		TRY(check_devices(draft, slot, reterr));
		TRY(check_cpus(draft, slot, &taken, &each, reterr));
	}
	return check_variables(draft, reterr);
}
