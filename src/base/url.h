/*
 * Addresses of servers, http or https. Read more strictly than browsers and libcurl do: where these might
 * take another host than a reader of the text would, the address is faulty and of no known machine.
 */
#ifndef INFRARSI_BASE_URL_H
#define INFRARSI_BASE_URL_H

#include "base/base.h"

/* What keeps `url` from being a base address behind which a path can be put, as the end of a sentence that
 * begins with its name ("must begin with ..."); NULL = nothing. Never quotes it: it may hold a secret. */
const char *url_base_fault(const char *url);
bool url_is_encrypted(const char *url); /* https */
/* True for an address on this machine (localhost, 127.0.0.0/8, ::1). */
bool url_is_local(const char *url);

#endif
