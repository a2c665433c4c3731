/*
 * What a proposer answers: one JSON object (docs/proposers.md), in whatever text a model or program wrapped
 * around it. Each item is checked against the space by itself: one that cannot be used is dropped with a
 * reason, and the others stand. Nothing in an answer is trusted: predictions are only beliefs, patches go
 * the way of every patch.
 *
 *     struct answer answer;
 *     TRY(answer_parse(text, length, &space, &arena, &answer, reterr));
 *
 * Strings live in the arena. Speed-ups are ln ratios here and ratios ("speedup": 1.12) in the text.
 */
#ifndef INFRARSI_PROPOSE_ANSWER_H
#define INFRARSI_PROPOSE_ANSWER_H

#include <jansson.h>

#include "base/base.h"
#include "spec/space.h"

struct arena;

/* Beyond these an answer's items are dropped, each with its reason. */
enum { ANSWER_BYTES = 1 << 20, ANSWER_CONFIGURATIONS = 32, ANSWER_PRIORS = 256, ANSWER_PATCHES = 16 };

struct proposed_configuration {
	const int *setting;     /* per lever of the space */
	double predicted_ln;    /* NAN = none given */
	double predicted_bytes; /* peak; NAN = none given */
	const char *reason;     /* "" = none */
};

struct proposed_prior {
	int lever, setting;
	double gain_ln, gain_sd_ln;           /* NAN = none given */
	double memory_bytes, memory_sd_bytes; /* against the reference setting; NAN = none given */
	const char *reason;
};

struct proposed_patch {
	const char *name;              /* [a-z0-9-]+, unique in the answer */
	const char *title, *mechanism; /* mechanism NULL = none given */
	const char **phases;
	size_t n_phases;
	double predicted_ln; /* NAN = none given */
	const char *text;    /* a unified diff, or a JSON list of edits */
	bool is_edits;
};

struct proposed_review { /* an opinion on a patch that the audit wants looked at */
	const char *patch;
	bool accept;
	const char *reason;
};

/* The place that an answer which is cut lacks. */
#define ANSWER_END "the end of the answer"
struct dropped_item { /* "configurations[2]", "there is no knob 'tpp' (did you mean 'tp'?)" */
	const char *where, *reason;
};

struct answer {
	struct proposed_configuration *configurations; /* best first, as answered */
	size_t n_configurations;
	struct proposed_prior *priors;
	size_t n_priors;
	struct proposed_patch *patches;
	size_t n_patches;
	struct proposed_review *reviews;
	size_t n_reviews;
	struct dropped_item *dropped;
	size_t n_dropped;
};

/*
 * ERR_INPUT where the text holds no usable answer; the message says what is wrong in words that can be sent
 * back. An answer that is empty on purpose ({"configurations": []}) is a good one. Of one that ends in its
 * middle what came whole is used, where that is anything; the first dropped item, with ANSWER_END, says so.
 */
enum err_code answer_parse(const char *text, size_t length, const struct space *space, struct arena *arena,
	struct answer *ret_answer, struct err *reterr) MUST_CHECK;

/* The JSON schema of an answer, for servers that can hold a model to one. */
extern const char answer_schema[];
/* The same for the answer to one request: its knobs with their settings, the lists that it wants and how many
 * items. A server that holds a model to it gets legal configurations from the weakest. From malloc. */
char *answer_schema_for(const json_t *request);

#endif
