/* A log's summary for a person. */
#ifndef INFRARSI_CLI_LOGS_TEXT_H
#define INFRARSI_CLI_LOGS_TEXT_H

#include "adapter/log.h"
#include "base/base.h"

struct strbuf;

void logs_add_text(const struct log_summary *summary, const char *name, struct strbuf *text);
/* Compares every *.log below a folder with its *.expected.json; returns the exit code. */
struct common_options;
int logs_corpus(const struct common_options *common, const char *folder);

#endif
