/* Shared by the files of ledger/: the store (ledger.c), the seals of its entries (entry_seal.c). */
#ifndef INFRARSI_LEDGER_LEDGER_INT_H
#define INFRARSI_LEDGER_LEDGER_INT_H

#include "ledger/ledger.h"

enum { SEAL_HEX_SIZE = 65 };

/* HMAC-SHA256 over the entry and the seal of the one before it ("" = it is the first). The id is not part of
 * it: the order is. */
void entry_seal(const unsigned char key[LEDGER_KEY_BYTES], const char *before, const struct ledger_entry *e,
	char ret_seal[SEAL_HEX_SIZE]);

#endif
