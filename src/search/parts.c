#include "base/base.h"

#include "base/strbuf.h"
#include "search/search.h"

void search_switches_text(const struct search_switches *w, struct strbuf *text)
{
	for (int i = 0; i < N_OPERATORS; i++) {
		enum search_operator which = (enum search_operator)i;
		bool on = search_operator_is_on(w, which);
		if (on != search_operator_part(which).on_by_default)
			strbuf_addf(text, "%s%c%s", text->len ? " " : "", on ? '+' : '-', operator_names[i]);
	}
	for (int i = 0; i < N_STARTS; i++) {
		enum search_start which = (enum search_start)i;
		bool on = search_start_is_on(w, which);
		if (on != search_start_part(which).on_by_default)
			strbuf_addf(
				text, "%s%cstart:%s", text->len ? " " : "", on ? '+' : '-', start_names[i]);
	}
}
