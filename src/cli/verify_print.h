/* How verdicts on receipts are shown, and the report on a receipt matrix. */
#ifndef INFRARSI_CLI_VERIFY_PRINT_H
#define INFRARSI_CLI_VERIFY_PRINT_H

#include "base/base.h"
#include "verify/set.h"

struct parsed;
struct strbuf;

/* A table of what was asked for, with all items of each where `details`. */
void verify_add_table(const struct receipt_set *set, bool details, struct strbuf *text);
void verify_add_json(const struct receipt_set *set, struct strbuf *text);
/* The items of a verdict, a line each, behind `indent` spaces. */
void verify_add_items(const struct verdict *v, int indent, struct strbuf *text);

/* `infrarsi verify --matrix DIR`: returns the exit code. */
int verify_matrix(const struct parsed *parsed, const char *dir, bool details);

#endif
