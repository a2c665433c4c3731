#include "base/base.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/audit_print.h"

static const char *severity_name(const struct audit_finding *f)
{
	return f->severity == AUDIT_BLOCK ? "block" : "review";
}

void audit_add_page(struct strbuf *text, const char *rule)
{
	struct audit_rule_text t;
	for (size_t i = 0; audit_rule_at(i, &t); i++)
		if (strcmp(t.id, rule) == 0)
			strbuf_addf(text, "docs/audit.md#%s", t.anchor);
}

void audit_add_finding(struct strbuf *text, const struct audit_finding *f)
{
	strbuf_add_escaped(text, f->file, strlen(f->file));
	strbuf_addf(text, ":%d%s: %s: %s %s\n    ", f->line, f->in_old ? " (before the change)" : "",
		severity_name(f), f->rule, f->title);
	if (*f->text) {
		strbuf_add_escaped(text, f->text, strlen(f->text));
		strbuf_addstr(text, "\n    ");
	}
	strbuf_addf(text, "%s (", f->reason);
	audit_add_page(text, f->rule);
	strbuf_addstr(text, ")\n");
}

json_t *audit_findings_to_json(const struct audit_report *report)
{
	json_t *findings = json_array();
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct audit_finding *f = &report->findings[i];
		CLEANUP(strbuf_release) struct strbuf page = STRBUF_INIT;
		json_t *finding = json_object();
		audit_add_page(&page, f->rule);
		json_object_set_new(finding, "rule", json_from_text(f->rule));
		json_object_set_new(finding, "title", json_from_text(f->title));
		json_object_set_new(finding, "rule_page", json_from_text(page.buf));
		json_object_set_new(finding, "severity", json_string(severity_name(f)));
		json_object_set_new(finding, "file", json_from_text(f->file));
		json_object_set_new(finding, "line", json_integer(f->line));
		json_object_set_new(finding, "in_old", json_boolean(f->in_old));
		json_object_set_new(finding, "text", json_from_text(f->text));
		json_object_set_new(finding, "reason", json_from_text(f->reason));
		json_array_append_new(findings, finding);
	}
	return findings;
}
