/* A task file in a string, for the tests of this folder. */
#ifndef TESTS_UNIT_SPEC_HELPERS_H
#define TESTS_UNIT_SPEC_HELPERS_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "realistic_task.h"
#include "spec/task.h"

/* The message as a user sees it, or "" when the text is a valid task. */
static inline const char *task_message(const char *text, char *buf, size_t size)
{
	struct task task = {0};
	struct err e = ERR_INIT;
	buf[0] = '\0';
	if (task_parse("infrarsi.yaml", "/nonexistent", text, strlen(text), &task, &e) == OK)
		task_release(&task);
	else
		err_format(&e, buf, size);
	return buf;
}

static inline void parse_task(const char *text, struct task *ret_task)
{
	struct err e = ERR_INIT;
	char message[2048];
	*ret_task = (struct task){0};
	if (task_parse("infrarsi.yaml", "/nonexistent", text, strlen(text), ret_task, &e) != OK) {
		err_format(&e, message, sizeof(message));
		fail_msg("%s", message);
	}
}

#endif
