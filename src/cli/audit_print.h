/* How findings of the audit are shown, and the report on a zoo of changes. */
#ifndef INFRARSI_CLI_AUDIT_PRINT_H
#define INFRARSI_CLI_AUDIT_PRINT_H

#include <jansson.h>

#include "audit/audit.h"

struct strbuf;
struct parsed;

/* "docs/audit.md#a3": the section that explains the rule. */
void audit_add_page(struct strbuf *text, const char *rule);
void audit_add_finding(struct strbuf *text, const struct audit_finding *f);
json_t *audit_findings_to_json(const struct audit_report *report);

/* `infrarsi audit --zoo DIR`: returns the exit code. */
int audit_zoo_run(const struct parsed *parsed, const char *dir);

#endif
