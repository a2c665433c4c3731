/* Any bytes as a task file. What parses must also resolve, be legal at its reference and survive a round
 * trip. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/space.h"
#include "spec/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_candidate(const struct space *space, const struct candidate *c)
{
	struct err e = ERR_INIT;
	bool legal = false;
	struct resolved resolved;
	struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(candidate_release) struct candidate back = CANDIDATE_INIT;
	if (space_is_legal(space, c->setting, &legal, &text, &e) != OK)
		abort();
	if (candidate_is_reference(c, space) && !legal)
		abort();
	/* A legal candidate has all its derived values; only a command without a program can still fail. */
	if (legal && space_resolve(space, c, &arena, &resolved, &e) != OK &&
		!strstr(e.message, "names no program"))
		abort();
	arena_release(&arena);
	strbuf_clear(&text);
	candidate_to_json(c, space, &text);
	if (candidate_from_json(text.buf, space, &back, &e) != OK || !candidate_equal(c, &back))
		abort();
	candidate_describe(c, NULL, space, &text);
}

static void use_task(const struct task *task)
{
	struct err e = ERR_INIT;
	struct space space;
	const struct patch_lever patch = {.digest = "aa", .name = "p"};
	if (space_init(&space, task, &patch, 1, NULL, &e) != OK)
		abort();
	CLEANUP(candidate_release) struct candidate c = CANDIDATE_INIT;
	candidate_reference(&c, &space);
	use_candidate(&space, &c);
	for (size_t i = 0; i < space.n_levers && i < 16; i++) {
		c.setting[i] = (int)(space.n_settings[i] - 1);
		use_candidate(&space, &c);
	}
	space_release(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct task task = {0};
	struct err e = ERR_INIT;
	if (task_parse("t.yaml", "/nonexistent", (const char *)data, size, &task, &e) == OK) {
		use_task(&task);
		task_release(&task);
	} else if (!e.message[0] || !e.line || !e.column) {
		abort();
	}
	return 0;
}
