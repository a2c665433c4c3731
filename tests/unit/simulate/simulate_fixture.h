/* The simulated jobs of tests/fixtures/simulate. Include cmocka.h first. */
#ifndef INFRARSI_TESTS_SIMULATE_FIXTURE_H
#define INFRARSI_TESTS_SIMULATE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "simulate/landscape.h"
#include "simulate/surface.h"

static inline char *fixture_path(const char *name)
{
	const char *dir = getenv("FIXTURES");
	return xasprintf("%s/%s", dir ? dir : "tests/fixtures/simulate", name);
}

static inline char *fixture_text(const char *name)
{
	CLEANUP(free_ptr) char *path = fixture_path(name);
	struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	if (file_read(path, FILE_CAP_DEFAULT, &text, &e) != OK)
		fail_msg("%s", e.message);
	return strbuf_detach(&text);
}

/* By name: a landscape, or a table with the fixtures' defaults. */
static inline void load_fixture(const char *name, struct simulated_job *job)
{
	CLEANUP(free_ptr) char *path = fixture_path(name);
	CLEANUP(free_ptr) char *defaults_path = fixture_path("defaults.json");
	struct surface_defaults *defaults = NULL;
	struct err e = ERR_INIT;
	enum err_code code;
	if (strstr(name, ".csv")) {
		assert_int_equal(surface_defaults_load(defaults_path, &defaults, &e), OK);
		code = surface_load(path, defaults, job, &e);
	} else {
		code = landscape_load(path, job, &e);
	}
	surface_defaults_free(defaults);
	if (code != OK)
		fail_msg("%s: %s", name, e.message);
}

/* text with the first `from` replaced; by malloc. */
static inline char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	if (!at)
		fail_msg("'%s' is not in the fixture", from);
	return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

#endif
