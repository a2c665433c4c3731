/* The stored form of a receipt: a payload and what signs it. Internal to event/. */
#ifndef INFRARSI_EVENT_ENVELOPE_INT_H
#define INFRARSI_EVENT_ENVELOPE_INT_H

#include "base/base.h"
#include "event/receipt.h"

struct envelope {
	char *payload; /* malloc, NUL-terminated; holds no other NUL */
	size_t payload_length;
	unsigned char hmac[32], signature[64], public_key[32];
};
#define ENVELOPE_INIT                                                                                        \
	{                                                                                                    \
		NULL, 0, {0}, {0},                                                                           \
		{                                                                                            \
			0                                                                                    \
		}                                                                                            \
	}

void envelope_release(struct envelope *e);
/* Decodes the document; nothing is verified yet. On failure *ret_state says whether it is truncated,
 * malformed, unsigned or edited. */
enum err_code envelope_parse(const char *path, const char *bytes, size_t length,
	struct envelope *ret_envelope, enum seal_state *ret_state, struct err *reterr) MUST_CHECK;
/* The document as receipt_seal() writes it. */
char *envelope_text(const struct envelope *e);

#endif
