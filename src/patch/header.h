/*
 * What a patch says about itself: title, mechanism, phases, predicted gain, and the patches that it builds
 * on. In a diff these are `# key: value` lines before the first file, in a list of edits keys of the object.
 */
#ifndef INFRARSI_PATCH_HEADER_H
#define INFRARSI_PATCH_HEADER_H

#include "base/base.h"

struct arena;

struct patch_header {
	const char *title, *mechanism; /* NULL = none */
	const char **phases;
	size_t n_phases;
	bool has_predicted;
	double predicted_gain_ln;
	const char **bases; /* names of patches that it is written on top of */
	size_t n_bases;
};

/* One value. `key` is one that header_key_name() gives; ERR_INPUT at `line` of `name` for a value that is
 * none, or too long: nothing is cut. Strings are copied into the arena. */
enum err_code header_set(struct patch_header *header, const char *key, const char *value, const char *name,
	int line, struct arena *arena, struct err *reterr) MUST_CHECK;
/* The keys by index; NULL past the end. */
const char *header_key_name(size_t index);

/* The `# key: value` lines before line `end_line`. A key that is not known but close to one is a slip of the
 * pen; any other is a remark. */
enum err_code header_read(struct patch_header *header, const char *text, size_t length, int end_line,
	const char *name, struct arena *arena, struct err *reterr) MUST_CHECK;
/* `Key: value` lines of a commit message: trailers (mechanism, phases, predicted). Other lines mean nothing
 * here.
 */
enum err_code header_read_message(struct patch_header *header, const char *message, const char *name,
	struct arena *arena, struct err *reterr) MUST_CHECK;

#endif
