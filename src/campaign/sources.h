/* The snapshot's files, as the campaign began with them: what the audit holds a patch against, what proposers
 * and codemods read. */
#ifndef INFRARSI_CAMPAIGN_SOURCES_H
#define INFRARSI_CAMPAIGN_SOURCES_H

#include "base/base.h"
#include "campaign/campaign.h"
#include "propose/request.h"

/* One file, by its path in the task's folder. ERR_INPUT: there is none. An audit_read_fn of a campaign. */
enum err_code sources_read_one(
	void *campaign, const char *path, struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

/* Those that patches may change, in the order of their paths, each up to 256 KiB of text without NUL bytes
 * and together up to 2 MiB; in `arena`. */
enum err_code sources_read_editable(const struct campaign *c, struct arena *arena,
	struct source_file **ret_files, size_t *ret_count, struct err *reterr) MUST_CHECK;

#endif
