#include "base/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/slots.h"

static void add_devices(const struct device_slot *slot, struct strbuf *text)
{
	for (size_t i = 0; i < slot->devices.count; i++)
		strbuf_addf(text, "%s%s", i ? "," : "", slot->devices.items[i]);
}

const char *slot_text(const struct device_slot *slot, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (slot->devices.count)
		strbuf_addstr(&text, "devices ");
	add_devices(slot, &text);
	if (slot->cpus)
		strbuf_addf(&text, "%scpus %s", text.len ? " " : "", slot->cpus);
	return arena_strdup(arena, text.buf);
}

void slot_fill(const struct launch *launch, int index, struct preparation *p)
{
	size_t n = 0;
	p->slot = "";
	p->slot_env = arena_array(&p->arena, launch->slot_env.count + 3, sizeof(char *));
	if (!launch->n_slots)
		return;
	const struct device_slot *slot = &launch->slots[index];
	CLEANUP(strbuf_release) struct strbuf devices = STRBUF_INIT;
	add_devices(slot, &devices);
	for (size_t i = 0; i < launch->slot_env.count && devices.len; i++)
		p->slot_env[n++] = arena_printf(&p->arena, "%s=%s", launch->slot_env.items[i], devices.buf);
	p->slot_env[n++] = arena_printf(&p->arena, "INFRARSI_SLOT=%d", index + 1);
	if (slot->cpus)
		p->slot_env[n++] = arena_printf(&p->arena, "INFRARSI_SLOT_CPUS=%s", slot->cpus);
	p->cpus = slot->cpus;
	p->slot = slot_text(slot, &p->arena);
}

static bool is_listed(const char *list, const char *device)
{
	size_t length = strlen(device);
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == length && strncmp(p, device, length) == 0)
			return true;
	return false;
}

/* Whoever called us may have been given some devices only (a batch system does so): no others are taken. */
static enum err_code check_given(const struct campaign *c, const struct device_slot *slot, struct err *reterr)
{
	const struct launch *launch = &c->task.launch;
	for (size_t v = 0; v < launch->slot_env.count; v++) {
		const char *given = getenv(launch->slot_env.items[v]);
		for (size_t d = 0; given && d < slot->devices.count; d++)
			if (!is_listed(given, slot->devices.items[d]))
				return err_set_at(reterr, ERR_INPUT, c->task.path, slot->place.line,
					slot->place.column,
					"launch.device_slots: device %s is not among those that this call "
					"was given (%s=%s)",
					slot->devices.items[d], launch->slot_env.items[v], given);
	}
	return OK;
}

static enum err_code check_allowed(
	const struct campaign *c, const struct device_slot *slot, struct err *reterr)
{
	cpu_set_t wanted, allowed, both;
	if (!slot->cpus || !cpu_list_parse(slot->cpus, &wanted) ||
		sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return OK;
	CPU_AND(&both, &wanted, &allowed);
	if (CPU_EQUAL(&both, &wanted))
		return OK;
	return err_set_at(reterr, ERR_INPUT, c->task.path, slot->place.line, slot->place.column,
		"launch.device_slots: cpus %s: %d of these are not here or not ours to use", slot->cpus,
		CPU_COUNT(&wanted) - CPU_COUNT(&both));
}

/* Alone, everything runs on the first slot: the reference must have, too. */
enum err_code slots_check_reference(const struct campaign *c, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	const struct launch *launch = &c->task.launch;
	const char *now = launch->n_slots ? slot_text(&launch->slots[0], &arena) : "";
	enum err_code code = OK;
	for (size_t i = 0; i < c->state.n_references && code == OK; i++) {
		const char *then = c->state.references[i].slot;
		if (strcmp(then, now) != 0)
			code = err_set(reterr, ERR_STATE,
				"the reference was measured on %s, and trials would run on %s: they cannot "
				"be compared; next: infrarsi doctor --new",
				*then ? then : "no slot of its own", *now ? now : "no slot of their own");
	}
	arena_release(&arena);
	return code;
}

enum err_code slots_check(struct campaign *c, int at_once, struct err *reterr)
{
	const struct launch *launch = &c->task.launch;
	at_once = MAX_OF(at_once, 1);
	if (!launch->n_slots && at_once == 1)
		return OK;
	if (!launch->n_slots)
		return err_set(reterr, ERR_INPUT,
			"--parallel %d: %s does not say what each trial has to itself; declare %d slots that "
			"share nothing, such as\n"
			"  launch: {device_slots: [[0], [1]]}                       one accelerator each\n"
			"  launch: {device_slots: [{cpus: \"0-3\"}, {cpus: \"4-7\"}]}   four processors "
			"each\n"
			"next: infrarsi doctor --new, so that the reference is measured on the first of them",
			at_once, c->task.path, at_once);
	if ((size_t)at_once > launch->n_slots)
		return err_set(reterr, ERR_INPUT,
			"--parallel %d: launch.device_slots of %s has %zu; two trials never share a device",
			at_once, c->task.path, launch->n_slots);
	for (int i = 0; i < at_once; i++) {
		TRY(check_given(c, &launch->slots[i], reterr));
		TRY(check_allowed(c, &launch->slots[i], reterr));
	}
	if (at_once > 1 && !c->runner.ops->concurrent)
		return err_set(
			reterr, ERR_STATE, "the %s runner runs one job at a time", c->runner.ops->name);
	return OK;
}
