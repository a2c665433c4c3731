#include "base/base.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "report/report_int.h"

void add_clashes(const struct state *s, const char *before, review_fn add, struct strbuf *text)
{
	for (size_t i = 0; i < s->n_clashes; i++) {
		const struct patch_clash *clash = &s->clashes[i];
		strbuf_addstr(text, before);
		strbuf_addstr(text, "patches ");
		add(text, s->space.patches[clash->first].name);
		strbuf_addstr(text, " and ");
		add(text, s->space.patches[clash->second].name);
		strbuf_addstr(text, " are not stacked");
		if (*clash->reason) {
			strbuf_addstr(text, ": ");
			add(text, clash->reason);
		}
		strbuf_addch(text, '\n');
	}
}

json_t *clashes_json(const struct state *s)
{
	json_t *list = json_array();
	for (size_t i = 0; i < s->n_clashes; i++) {
		const struct patch_clash *clash = &s->clashes[i];
		json_t *pair = json_object();
		json_object_set_new(pair, "first", json_from_text(s->space.patches[clash->first].name));
		json_object_set_new(pair, "second", json_from_text(s->space.patches[clash->second].name));
		json_object_set_new(pair, "reason", json_from_text(clash->reason));
		json_array_append_new(list, pair);
	}
	return list;
}
