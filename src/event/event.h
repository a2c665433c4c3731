/*
 * The event protocol of a job (docs/formats.md, schema 1): one JSON object a line, at most EVENT_LINE_MAX
 * bytes. Lines come from code that the candidate controls: everything is checked, nothing is trusted, unknown
 * keys are ignored. A line may carry the prefix "@infrarsi " of the stdout transport and its newline.
 * Non-finite numbers are the strings "nan", "inf", "-inf". Absent numbers are NAN with the has_ flag false.
 */
#ifndef INFRARSI_EVENT_EVENT_H
#define INFRARSI_EVENT_EVENT_H

#include "base/base.h"

enum {
	EVENT_LINE_MAX =
		4096, /* with the newline: PIPE_BUF, so that lines of several writers do not interleave */
	EVENT_SCHEMA = 1,
	EVENT_DIGEST_HEX = 32,
	EVENT_MAX_WORLD = 65536,
	EVENT_MAX_UPDATE = 1000000000,
	EVENT_VERSIONS_SIZE = 2048
};

enum event_kind { EVENT_START, EVENT_UPDATE, EVENT_PHASE, EVENT_OOM, EVENT_END };

struct opt_number {
	bool has;
	double value; /* may be NaN or infinite where has is true */
};

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_DATA, PHASE_COLLECTIVE, N_PHASES };
extern const char *const phase_names[N_PHASES];

struct event {
	enum event_kind kind;
	int rank; /* 0 where the line has none (phase, oom, end) */
	/* start; a count of 0 means unknown and reads as absent */
	int schema, world;
	char nonce[65], stack[32], model_digest[65], storage_precision[16], compute_precision[16];
	struct opt_number params, active_params, layers, d_attn, global_batch;
	struct opt_number seq_len;               /* start, and update where it changes during the run */
	char versions_json[EVENT_VERSIONS_SIZE]; /* canonical object of strings; "" = none or too long */
	/* update and phase */
	int update; /* 1-based */
	struct opt_number loss, grad_norm, lr, opt_step, tokens, step_s, mem_bytes;
	char data[EVENT_DIGEST_HEX + 1]; /* "" = none */
	struct opt_number phase_s[N_PHASES];
	/* oom */
	struct opt_number requested_bytes, free_bytes, capacity_bytes;
	/* end */
	int updates;
};

/* ERR_INPUT names the field and what was expected. */
enum err_code event_parse(
	const char *line, size_t length, struct event *ret_event, struct err *reterr) MUST_CHECK;

#endif
