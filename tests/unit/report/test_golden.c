/*
 * Every text of report/ against a stored one: tests/golden/report/<campaign>.<text>. INFRARSI_BLESS=1 writes
 * them anew; look at the difference before you keep it.
 */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <yaml.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "ledger_fixture.h"
#include "report/report.h"

/* ---- campaigns ---- */

static void write_nothing(struct world *w)
{
	world_begin(w, 7);
}

static void write_not_delivered(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.21, .peak_bytes = 2147483648.0});
	world_release(w, ENTRY_INTERRUPTED, "search", world_register(w, "{\"mode\":\"fast\"}", "[]"), 5);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = 0.4,
			.failure = "stopped_slow",
			.failing_item = -1,
			.evidence = "0.4 against 0.2001 s an update",
			.evidence_source = "harness"});
	world_register(w, "{\"mode\":\"fast\"}", "[]");
	world_entry(w, ENTRY_ACCEPT, 0, NULL,
		"{\"what\":\"search_over\",\"why\":\"not_worth\",\"text\":\"another trial costs about 0.12 "
		"device-hours "
		"and is expected to save 0.03 over 20000 updates\"}");
	world_entry(w, ENTRY_ACCEPT, 0, NULL, "{\"what\":\"promotion_over\",\"delivered_finalist\":0}");
}

static void write_failures(struct world *w)
{
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[\"bb\"]"),
		&(struct ending){.time_s = -1,
			.failure = "crash",
			.failing_item = -1,
			.evidence = "free(): invalid next size (normal)",
			.evidence_source = "log:883"});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = -1,
			.failure = "oom",
			.failing_item = ITEM_NO_ERRORS,
			.shortfall_bytes = 39845888,
			.capacity_bytes = 201326592,
			.evidence = "CUDA out of memory"});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"2\",\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = 0.11, .failing_item = ITEM_LOSS});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"2\"}", "[]"),
		&(struct ending){.time_s = -1, .failure = "timeout", .failing_item = -1});
	world_finish(w, ROLE_SEARCH, world_register(w, "{}", "[\"bb\"]"),
		&(struct ending){
			.time_s = -1, .failure = "compile", .failing_item = -1, .evidence = "no rule"});
}

static void write_delivered(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	world_finish(
		w, ROLE_PROFILE, 0, &(struct ending){.time_s = 0.2, .forward_s = 0.05, .backward_s = 0.1});
	world_propose(w, "aa", "01-fuse", "[]");
	world_propose(w, "bb", "02-tile", "[]");
	world_entry(w, ENTRY_REJECTED, 0, NULL,
		"{\"name\":\"05-skip-clipping\",\"by\":\"audit\",\"reason\":\"A3 optimizer work made "
		"conditional, "
		"train.c:412\",\"patch\":\"\"}");
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1, .peak_bytes = 147849216});
	write_failures(w);
	world_release(w, ENTRY_TRANSIENT, "search", world_register(w, "{\"mode\":\"fast\"}", "[\"aa\"]"), 5);
	int winner = world_register(w, "{\"threads\":\"4\"}", "[\"aa\"]");
	world_finish(w, ROLE_SEARCH, winner, &(struct ending){.time_s = 0.08, .peak_bytes = 147849216});
	world_deliver(w, winner, 0.9);
}

/* Trial 1 was delivered; trial 2, found later, is faster than the reference and not proven better than it. */
static void write_standing(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1});
	world_deliver(w, 1, 0.6931471805599453);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = 0.09});
	world_judge(w, 2, 0.694);
	world_entry(w, ENTRY_ACCEPT, 0, NULL,
		"{\"what\":\"promotion_over\",\"delivered_finalist\":0,\"standing_trial\":1}");
}

/* ---- two proposers: one mostly right, one mostly wrong ---- */

static const char ideas_answer[] =
	"{\"kind\":\"answer\",\"proposer\":\"ideas\",\"after\":0,\"ok\":true,\"error\":\"\","
	"\"cost\":{\"tokens\":0,\"usd\":0,\"seconds\":0.4},"
	"\"configurations\":["
	"{\"candidate\":{\"settings\":{\"threads\":\"4\"},\"patches\":[]},\"predicted_ln\":0.65,"
	"\"reason\":\"four cores are idle\"},"
	"{\"candidate\":{\"settings\":{\"threads\":\"4\",\"mode\":\"fast\"},\"patches\":[]},"
	"\"predicted_ln\":0.9,\"reason\":\"both at once\"},"
	"{\"candidate\":{\"settings\":{\"threads\":\"2\"},\"patches\":[]},\"predicted_ln\":0.3,\"reason\":"
	"\"\"}],"
	"\"priors\":[{\"knob\":\"mode\",\"setting\":\"fast\",\"gain_ln\":0.2,\"gain_sd_ln\":0.05,"
	"\"reason\":\"less work\"}]}";
static const char model_answer[] =
	"{\"kind\":\"answer\",\"proposer\":\"local-model\",\"after\":1,\"ok\":true,\"error\":\"\","
	"\"cost\":{\"tokens\":15230,\"usd\":0.0412,\"seconds\":71},"
	"\"configurations\":["
	"{\"candidate\":{\"settings\":{\"mode\":\"fast\"},\"patches\":[]},\"predicted_ln\":0.02,"
	"\"reason\":\"| fast is a `name` <only>\"},"
	"{\"candidate\":{\"settings\":{\"threads\":\"4\"},\"patches\":[]},\"predicted_ln\":0.7,"
	"\"reason\":\"seen in trial 1: no prediction\"}],"
	"\"priors\":[{\"knob\":\"threads\",\"setting\":\"2\",\"gain_ln\":1.1,\"gain_sd_ln\":0.1,\"reason\":"
	"\"\"}]}";

static void write_predicted(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	world_entry(w, ENTRY_PROPOSAL, 0, NULL, "%s", ideas_answer);
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.1});
	world_entry(w, ENTRY_PROPOSAL, 0, NULL, "%s", model_answer);
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"local-model\",\"after\":1,\"ok\":false,\"error\":\"no "
		"answer\",\"cost\":{\"tokens\":900,\"usd\":0.002,\"seconds\":120}}");
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = 0.16});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"2\"}", "[]"),
		&(struct ending){.time_s = 0.15});
	world_finish(w, ROLE_SEARCH, world_register(w, "{\"threads\":\"4\",\"mode\":\"fast\"}", "[]"),
		&(struct ending){.time_s = -1, .failure = "oom", .failing_item = ITEM_NO_ERRORS});
	world_deliver(w, 1, 0.69);
}

/* Everything that another person's file, job or model can put into a text. */
#define ESC "\\u001b[31mred\\u001b[0m"
#define INNER_ESC "\\\\u001b[31mred" /* for JSON inside a JSON string */
#define BIDI "\\u202egnp.exe\\u202c"
#define MARKS "|a`b``c<script>*_[x](http://y)# & $1 ~~"
static const char hostile_bytes[] = "\x1b[2J| `x` ``y``\n# head\r\xff\xfe\xe2\x80\xae end \"q\" \\ \t'";
static const char hostile_task[] =
	"version: 1\n"
	"name: \"j|`b` <i>\\n# x " BIDI "\"\n"
	"stack: native\n"
	"launch: {command: [./train, '{on}', '{null}'], env: {A: \"x\\ny {on}\"}}\n"
	"contract: {updates: 30, warmup: 10}\n"
	"knobs:\n"
	"  - {name: 'on', values: [plain, \"" MARKS "\"], reference: plain}\n"
	"  - {name: 'null', values: [a, \"line\\nbreak " ESC "\"], reference: a}\n";

static void write_hostile(struct world *w)
{
	static const char *const pick = "{\"on\":\"" MARKS "\",\"null\":\"line\\nbreak " ESC "\"}";
	world_entry(w, ENTRY_CAMPAIGN, 0, NULL,
		"{\"id\":\"c1\",\"seed\":7,\"task_digest\":\"\",\"contract_digest\":\"\",\"environment\":"
		"\"{\\\"cpu\\\":\\\"c|`p` \\\\n " INNER_ESC
		"\\\",\\\"yes: x\\\":1e6,\\\"small\\\":1e-7,\\\"\\\":3,"
		"\\\"cores\\\":2}\",\"snapshot\":{\"commit\":\"c0ffee\",\"tree\":\"7ee7ee\",\"prefix\":\"\"}"
		"}");
	world_references(w);
	world_propose(w, "aa", "01 " ESC MARKS BIDI, "[]");
	world_entry(w, ENTRY_REJECTED, 0, NULL,
		"{\"name\":\"%s\",\"by\":\"%s\",\"reason\":\"%s\\nsecond line\",\"patch\":\"\"}", ESC MARKS,
		BIDI "|", ESC MARKS BIDI);
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"%s\",\"after\":0,\"ok\":true,\"configurations\":[{"
		"\"candidate\":{\"settings\":%s,\"patches\":[]},\"predicted_ln\":0.1}],\"priors\":[{\"knob\":"
		"\"on\",\"setting\":\"" MARKS "\",\"gain_ln\":-2,\"reason\":\"%s]]>\uffff\\n%s\"}]}",
		ESC MARKS BIDI "&lt;\ufffe", pick, ESC MARKS BIDI, ESC);
	int winner = world_register(w, pick, "[\"aa\"]");
	world_finish(w, ROLE_SEARCH, winner, &(struct ending){.time_s = 0.1, .receipt = "receipts/|`.json"});
	world_finish(w, ROLE_SEARCH, world_register(w, pick, "[]"),
		&(struct ending){.time_s = -1,
			.failure = "crash",
			.failing_item = -1,
			.evidence = hostile_bytes,
			.evidence_source = "log:1\x1b[31m"});
	world_deliver(w, winner, 0.7);
}

static void confirm(
	struct world *w, int trial, double winner_s, int failing_item, const char *outcome, double gain_ln)
{
	world_entry(
		w, ENTRY_ACCEPT, trial, NULL, "{\"what\":\"confirm\",\"trial\":%d,\"updates\":120}", trial);
	for (int i = 0; i < LONGER_REFERENCES; i++)
		world_finish(w, ROLE_LONGER_REFERENCE, 0, &(struct ending){.time_s = 0.2, .device_s = 40});
	world_finish(w, ROLE_CONFIRMATION, 0,
		&(struct ending){.time_s = winner_s,
			.device_s = 30,
			.failing_item = failing_item,
			.is_candidate_side = true});
	world_entry(w, ENTRY_ACCEPT, trial, NULL,
		"{\"what\":\"confirmed\",\"trial\":%d,\"updates\":120,\"outcome\":\"%s\",\"gain_ln\":%.17g,"
		"\"low_ln\":%.17g,\"high_ln\":%.17g,\"reason\":\"%s\"}",
		trial, outcome, gain_ln, gain_ln - 0.02, gain_ln + 0.02,
		failing_item ? "2.31% | 1% <b>" : "");
}

/* The first winner is less fast over more updates, and stands; a later one trains something else there. */
static void write_confirmed(struct world *w)
{
	world_begin(w, 7);
	world_references(w);
	int first = world_register(w, "{\"threads\":\"4\"}", "[]");
	world_finish(w, ROLE_SEARCH, first, &(struct ending){.time_s = 0.1, .peak_bytes = 2147483648.0});
	world_deliver(w, first, 0.7);
	confirm(w, first, 0.13, 0, "smaller", 0.43);
	int second = world_register(w, "{\"mode\":\"fast\"}", "[]");
	world_finish(w, ROLE_SEARCH, second, &(struct ending){.time_s = 0.05, .peak_bytes = 2147483648.0});
	world_judge(w, second, 1.4);
	confirm(w, second, 0.05, ITEM_LOSS, "refused", 1.38);
	world_entry(w, ENTRY_ACCEPT, 0, NULL,
		"{\"what\":\"promotion_over\",\"delivered_finalist\":0,\"standing_trial\":%d}", first);
}

static const struct campaign_case {
	const char *name, *task;
	void (*write)(struct world *w);
} campaigns[] = {
	{"empty", NULL, write_nothing},
	{"not-delivered", NULL, write_not_delivered},
	{"delivered", NULL, write_delivered},
	{"hostile", hostile_task, write_hostile},
	{"standing", NULL, write_standing},
	{"predicted", NULL, write_predicted},
	{"confirmed", NULL, write_confirmed},
};

/* ---- texts ---- */

static void add_cards(const struct state *s, struct strbuf *text)
{
	for (size_t i = 0; i < s->n_trials; i++)
		report_failure_card(s, &s->trials[i], ".infrarsi", text);
}

static void add_details(const struct state *s, struct strbuf *text)
{
	for (size_t i = 0; i < s->n_trials; i++) {
		report_trial_details(s, &s->trials[i], ".infrarsi", text);
		strbuf_addch(text, '\n');
	}
}

static void add_result(const struct state *s, struct strbuf *text)
{
	CLEANUP(free_ptr) char *json = report_result_json(s);
	strbuf_addf(text, "%s\n", json);
}

static const struct {
	const char *name;
	void (*write)(const struct state *s, struct strbuf *text);
} texts[] = {
	{"table.txt", report_trials_table},
	{"predictions.txt", report_predictions},
	{"cards.txt", add_cards},
	{"details.txt", add_details},
	{"line.txt", report_delivered_line},
	{"summary.txt", report_summary},
	{"report.md", report_markdown},
	{"result.json", add_result},
	{"pack.yaml", report_pack_yaml},
	{"calibration.svg", report_calibration_svg},
};

static void open_case(struct world *w, const struct campaign_case *c)
{
	world_open(w, c->task);
	c->write(w);
	world_load(w);
	w->state.first_utc = "2026-11-29T22:48:22Z";
	w->state.last_utc = "2026-11-29T23:10:00Z";
}

static void compare(const char *name, const struct strbuf *text)
{
	const char *dir = getenv("GOLDEN");
	if (!dir)
		fail_msg("GOLDEN names no folder");
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	CLEANUP(strbuf_release) struct strbuf stored = STRBUF_INIT;
	if (getenv("INFRARSI_BLESS")) {
		assert_int_equal(file_write_atomic(path, text->buf, text->len, 0644, NULL), OK);
		return;
	}
	if (file_read(path, FILE_CAP_DEFAULT, &stored, NULL) != OK)
		fail_msg("%s is missing; INFRARSI_BLESS=1 writes it", path);
	if (strcmp(stored.buf, text->buf) != 0)
		fail_msg("%s differs; now:\n%s", name, text->buf);
}

static void texts_are_as_stored(void **unused)
{
	(void)unused;
	for (size_t c = 0; c < ARRAY_LEN(campaigns); c++) {
		struct world w;
		open_case(&w, &campaigns[c]);
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
			CLEANUP(free_ptr) char *name = xasprintf("%s.%s", campaigns[c].name, texts[i].name);
			texts[i].write(&w.state, &text);
			compare(name, &text);
		}
		world_close(&w);
	}
}

/* ---- properties, whatever the stored texts say ---- */

static void nothing_moves_the_terminal(void **unused)
{
	(void)unused;
	static const char *const forbidden[] = {"\xe2\x80\xae", "\xff", "\xfe"};
	struct world w;
	open_case(&w, &campaigns[3]);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		bool is_json = strcmp(texts[i].name, "result.json") == 0;
		texts[i].write(&w.state, &text);
		for (size_t k = 0; k < text.len; k++)
			if (((unsigned char)text.buf[k] < 0x20 && text.buf[k] != '\n') || text.buf[k] == 0x7f)
				fail_msg("%s: byte %#x: %.60s", texts[i].name, text.buf[k], text.buf + k);
		for (size_t k = 0; k < ARRAY_LEN(forbidden) && !is_json; k++)
			if (strstr(text.buf, forbidden[k]))
				fail_msg("%s holds %s", texts[i].name, forbidden[k]);
	}
	world_close(&w);
}

/* Bars that GitHub's Markdown takes for cell borders: those without a backslash. */
static size_t count_bars(const char *line, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length; i++) {
		if (line[i] == '\\')
			i++;
		else
			n += line[i] == '|';
	}
	return n;
}

static void tables_keep_their_columns(void **unused)
{
	(void)unused;
	for (size_t c = 0; c < ARRAY_LEN(campaigns); c++) {
		struct world w;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		size_t columns = 0;
		open_case(&w, &campaigns[c]);
		report_markdown(&w.state, &text);
		for (const char *line = text.buf; *line; line += strcspn(line, "\n") + 1) {
			size_t n = *line == '|' ? count_bars(line, strcspn(line, "\n")) : 0;
			if (n && columns && n != columns)
				fail_msg("%zu bars, not %zu: %.200s", n, columns, line);
			columns = n;
		}
		world_close(&w);
	}
}

static void the_pack_is_yaml(void **unused)
{
	(void)unused;
	for (size_t c = 0; c < ARRAY_LEN(campaigns); c++) {
		struct world w;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		yaml_parser_t parser;
		yaml_document_t document;
		open_case(&w, &campaigns[c]);
		report_pack_yaml(&w.state, &text);
		assert_int_equal(yaml_parser_initialize(&parser), 1);
		yaml_parser_set_input_string(&parser, (const unsigned char *)text.buf, text.len);
		if (!yaml_parser_load(&parser, &document))
			fail_msg("line %zu: %s", parser.problem_mark.line + 1, parser.problem);
		assert_int_equal(yaml_document_get_root_node(&document)->type, YAML_MAPPING_NODE);
		yaml_document_delete(&document);
		yaml_parser_delete(&parser);
		world_close(&w);
	}
}

static void the_result_says_what_was_delivered(void **unused)
{
	(void)unused;
	static const double delivered[] = {1, 1, 2.4596031111569494 /* exp(0.9) */, 2.0137527074704766, 2,
		1.9937155332430823 /* exp(0.69) */, 1.5372575235482815 /* exp(0.43) */};
	for (size_t c = 0; c < ARRAY_LEN(campaigns); c++) {
		struct world w;
		open_case(&w, &campaigns[c]);
		CLEANUP(free_ptr) char *text = report_result_json(&w.state);
		json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(json);
		double speedup = json_number_value(json_object_get(json, "delivered"));
		assert_true(fabs(speedup - delivered[c]) < 1e-12);
		json_decref(json);
		world_close(&w);
	}
}

static void files_are_written(void **unused)
{
	(void)unused;
	static const char *const names[] = {"result.json", "REPORT.md", "pack.yaml"};
	struct world w;
	struct err e = ERR_INIT;
	open_case(&w, &campaigns[2]);
	assert_int_equal(report_write(&w.state, w.state_dir, &e), OK);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", w.state_dir, names[i]);
		assert_true(path_exists(path));
	}
	assert_int_equal(report_write(&w.state, "/nonexistent", &e), ERR_IO);
	world_close(&w);
}

static void the_picture_is_there_while_it_shows_something(void **unused)
{
	(void)unused;
	struct world w, none;
	struct err e = ERR_INIT;
	open_case(&w, &campaigns[5]);
	open_case(&none, &campaigns[0]);
	CLEANUP(free_ptr) char *path = xasprintf("%s/calibration.svg", w.state_dir);
	assert_int_equal(report_write(&w.state, w.state_dir, &e), OK);
	assert_true(path_exists(path));
	assert_int_equal(report_write(&none.state, w.state_dir, &e), OK);
	assert_false(path_exists(path));
	world_close(&none);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_as_stored),
		cmocka_unit_test(nothing_moves_the_terminal),
		cmocka_unit_test(tables_keep_their_columns),
		cmocka_unit_test(the_pack_is_yaml),
		cmocka_unit_test(the_result_says_what_was_delivered),
		cmocka_unit_test(files_are_written),
		cmocka_unit_test(the_picture_is_there_while_it_shows_something),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
