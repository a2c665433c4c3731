/* Keys do not come back out: what a server or program says may hold the key that it was given. */
#ifndef INFRARSI_PROPOSE_SECRET_H
#define INFRARSI_PROPOSE_SECRET_H

#include "base/base.h"

/* Shorter ones ("none", "EMPTY") are no secrets, and hiding them would damage text. */
enum { SECRET_LEAST_BYTES = 8 };

/* Overwrites each occurrence with asterisks, also one that is spelled with JSON's escapes. was_cut: also a
 * beginning of it at the text's end. secret may be NULL. */
void secret_hide(char *text, size_t length, const char *secret, bool was_cut);

#endif
