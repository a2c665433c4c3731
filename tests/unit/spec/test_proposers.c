/* The proposers of a task file: what each kind may say, what follows from it, and where it is wrong. Limits
 * and defaults are those of docs/task-file.md. */
#include "spec_helpers.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strbuf.h"

/* Five lines, and a knob, so that a case has one mistake at most. `proposers:` is line 6, its first entry 7.
 */
#define TASK                                                                                                 \
	"version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\ncontract: {updates: 5}\n"                     \
	"knobs: [{name: a, values: [1, 2], reference: 1}]\n"
#define PROPOSERS TASK "proposers:\n"
#define LOCAL "  - kind: openai\n    base_url: http://127.0.0.1:8000/v1\n    model: m\n"
#define HOSTED "  - kind: openai\n    base_url: https://example.org/v1\n    model: m\n"
#define ANTHROPIC "  - kind: anthropic\n    model: m\n"
#define COMMAND "  - kind: command\n    command: [./agent]\n"
#define CATALOGUE "  - kind: catalogue\n"

static void test_defaults(void **state)
{
	(void)state;
	struct task task;
	parse_task(PROPOSERS CATALOGUE LOCAL ANTHROPIC COMMAND, &task);
	assert_int_equal(task.n_proposers, 4);
	static const enum proposer_kind kinds[] = {
		PROPOSE_CATALOGUE, PROPOSE_OPENAI, PROPOSE_ANTHROPIC, PROPOSE_COMMAND};
	for (size_t i = 0; i < 4; i++) {
		const struct proposer *p = &task.proposers[i];
		assert_int_equal(p->kind, kinds[i]);
		assert_string_equal(p->name, proposer_kind_names[kinds[i]]);
		assert_int_equal(proposer_is_asked(p), i > 0);
		assert_int_equal(p->every, i > 0 ? 4 : 0);
		assert_int_equal(p->patches, i > 0 ? 2 : 0);
		assert_true(p->tokens == 0 && p->usd == 0);
		assert_true(p->usd_per_million_in == 0 && p->usd_per_million_out == 0);
		assert_null(p->key_env);
	}
	assert_true(task.proposers[1].timeout_s == 180 && task.proposers[2].timeout_s == 180);
	assert_true(task.proposers[3].timeout_s == 300);
	assert_int_equal(task.proposers[1].max_output_tokens, 4096);
	assert_string_equal(task.proposers[2].base_url, "https://api.anthropic.com");
	assert_int_equal(task.proposers[0].place.line, 7);
	assert_int_equal(task.proposers[3].place.line, 13);
	task_release(&task);
}

static void test_everything_given(void **state)
{
	(void)state;
	struct task task;
	parse_task(PROPOSERS
		"  - {kind: anthropic, name: the-model-2, base_url: 'https://[2001:db8::1]:8443/a/', model: "
		"4,\n"
		"     key_env: KEY_OF_MINE, max_output_tokens: 200000, price: {in: 2.5, out: 10}, timeout: "
		"90s,\n"
		"     every: 1000, patches: 16, budget: {tokens: 2000000, usd: 1.5}}\n"
		"  - {kind: command, command: [python3, ./a b.py, \"\", --x], pass_env: [HF_HOME, KEY], "
		"timeout: 2h,\n"
		"     every: 1, patches: 0, budget: {tokens: 0, usd: 3}}\n",
		&task);
	const struct proposer *p = &task.proposers[0];
	assert_string_equal(p->name, "the-model-2");
	assert_string_equal(p->base_url, "https://[2001:db8::1]:8443/a/");
	assert_string_equal(p->model, "4");
	assert_string_equal(p->key_env, "KEY_OF_MINE");
	assert_int_equal(p->max_output_tokens, 200000);
	assert_true(p->usd_per_million_in == 2.5 && p->usd_per_million_out == 10);
	assert_true(p->timeout_s == 90 && p->tokens == 2e6 && p->usd == 1.5);
	assert_int_equal(p->every, 1000);
	assert_int_equal(p->patches, 16);
	p = &task.proposers[1];
	static const char *const words[] = {"python3", "./a b.py", "", "--x"}; /* as written */
	assert_int_equal(p->command.count, ARRAY_LEN(words));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_string_equal(p->command.items[i], words[i]);
	assert_int_equal(p->pass_env.count, 2);
	assert_string_equal(p->pass_env.items[0], "HF_HOME");
	assert_true(p->timeout_s == 7200 && p->tokens == 0 && p->usd == 3);
	assert_int_equal(p->every, 1);
	assert_int_equal(p->patches, 0);
	task_release(&task);
}

static void test_kind_names(void **state)
{
	(void)state;
	static const char *const names[] = {
		"patches", "catalogue", "openai", "anthropic", "command", "replay"};
	assert_int_equal(N_PROPOSER_KINDS, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(proposer_kind_names[i], names[i]);
		const struct proposer p = {.kind = (enum proposer_kind)i};
		assert_int_equal(proposer_is_asked(&p), i >= 2);
	}
	assert_null(proposer_kind_names[N_PROPOSER_KINDS]);
}

/* More than one folder or list of branches needs no names; what is given a name keeps it. */
static void test_names_of_patches(void **state)
{
	(void)state;
	struct task task;
	parse_task(PROPOSERS
		"  - {kind: patches, branches: [a]}\n  - {kind: patches, branches: [b]}\n"
		"  - {kind: patches, name: patches-2, branches: [c]}\n  - {kind: catalogue, name: patches}\n",
		&task);
	static const char *const names[] = {"patches-3", "patches-4", "patches-2", "patches"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(task.proposers[i].name, names[i]);
	task_release(&task);
}

static const struct {
	const char *entries, *message; /* behind "infrarsi.yaml:" */
} mistakes[] = {
	{"  - {name: x}\n", "7:5: proposers needs the key 'kind' (where proposals come from)"},
	{"  - openai\n", "7:5: proposers: expected a mapping (key: value), got 'openai'"},
	{"  - kind: [openai]\n", "7:11: proposers.kind: expected patches, catalogue, openai, anthropic, "
				 "command or replay, got a list"},
	{"  - kind: opneai\n", "7:11: proposers.kind: expected patches, catalogue, openai, anthropic, "
			       "command or replay, got "
			       "'opneai' (did you mean 'openai'?)"},
	/* a field of another kind */
	{COMMAND "    model: m\n", "9:5: proposers.model is for openai and anthropic, not for command"},
	{CATALOGUE "    every: 3\n",
		"8:5: proposers.every is for openai, anthropic, command and replay, not for catalogue"},
	{CATALOGUE "    budget: {usd: 1}\n",
		"8:5: proposers.budget is for openai, anthropic and command, not for catalogue"},
	{"  - {kind: replay, file: x, timeout: 3m}\n",
		"7:29: proposers.timeout is for openai, anthropic and command, not for replay"},
	{"  - {kind: patches, branches: [b], patches: 3}\n",
		"7:36: proposers.patches is for openai, anthropic, command and replay, not for patches"},
	{LOCAL "    dir: patches\n", "10:5: proposers.dir is for patches, not for openai"},
	{LOCAL "    pass_env: [A]\n", "10:5: proposers.pass_env is for command, not for openai"},
	{COMMAND "    mode: strict\n", "9:5: proposers.mode is for replay, not for command"},
	/* a field of none */
	{LOCAL "    max_tokens: 3\n", "10:5: unknown key 'max_tokens' in proposers"},
	{LOCAL "    modell: 3\n", "10:5: unknown key 'modell' in proposers (did you mean 'model'?)"},
	/* names */
	{CATALOGUE "    name: The_Catalogue\n",
		"8:11: proposers.name: expected 1 to 32 of a-z, 0-9 and -, got 'The_Catalogue'"},
	{CATALOGUE "    name: ''\n", "8:11: proposers.name: expected 1 to 32 of a-z, 0-9 and -, got ''"},
	{CATALOGUE "    name: a/b\n", "8:11: proposers.name: expected 1 to 32 of a-z, 0-9 and -, got 'a/b'"},
	{CATALOGUE "    name: abcdefghijklmnopqrstuvwxyz-123456\n",
		"8:11: proposers.name: expected 1 to 32 of a-z, 0-9 and -, got "
		"'abcdefghijklmnopqrstuvwxyz-123456'"},
	{LOCAL LOCAL "    every: 2\n", "10:5: proposers: there are two of the name 'openai': give one a name "
				       "of its own (name: ...)"},
	{LOCAL COMMAND "    name: openai\n",
		"12:11: proposers: there are two of the name 'openai': give one a name of its own (name: "
		"...)"},
	{CATALOGUE "  - {kind: catalogue, name: again}\n",
		"8:5: proposers: at most one of kind catalogue is allowed: two would propose the same"},
	/* servers */
	{"  - {kind: openai, model: m}\n", "7:5: proposers needs the key 'base_url' (the server's address, "
					   "to which /chat/completions is "
					   "added)"},
	{"  - {kind: anthropic}\n", "7:5: proposers needs the key 'model' (the model's name at that server)"},
	{"  - {kind: anthropic, model: ''}\n", "7:30: proposers.model: must not be empty"},
	{"  - {kind: anthropic, model: }\n", "7:30: proposers.model: expected a string, got an empty value"},
	{ANTHROPIC "    base_url: api.example.org\n",
		"9:15: proposers.base_url: the address must begin with http:// or https://"},
	{ANTHROPIC "    base_url: ftp://example.org\n",
		"9:15: proposers.base_url: the address must begin with http:// or https://"},
	{ANTHROPIC "    base_url: http://example.org/v1\n    key_env: KEY\n",
		"9:15: proposers.base_url: a key is sent over https only, or to this machine (localhost, "
		"127.0.0.1, [::1])"},
	{ANTHROPIC "    base_url: http://localhost.example.org\n    key_env: KEY\n",
		"9:15: proposers.base_url: a key is sent over https only, or to this machine (localhost, "
		"127.0.0.1, [::1])"},
	{ANTHROPIC "    base_url: https://me:pass-word@example.org\n",
		"9:15: proposers.base_url: the address must not hold a name or password"},
	{ANTHROPIC "    base_url: https://example.org?api_key=abcdefgh\n",
		"9:15: proposers.base_url: the address must not go on with ? or #: the path of the question "
		"is "
		"put behind it"},
	{ANTHROPIC "    base_url: https:///v1\n",
		"9:15: proposers.base_url: the address must name a host behind //, and perhaps a port "
		"(http://127.0.0.1:8000/v1)"},
	{LOCAL "    max_output_tokens: 15\n",
		"10:24: proposers.max_output_tokens: must be at least 16 and at most 200000, got '15'"},
	{LOCAL "    max_output_tokens: 200001\n",
		"10:24: proposers.max_output_tokens: must be at least 16 and at most 200000, got '200001'"},
	{LOCAL "    timeout: 0s\n",
		"10:14: proposers.timeout: must be at least 1s and at most 31536000s, got '0s'"},
	{LOCAL "    every: 0\n", "10:12: proposers.every: must be at least 1 and at most 1000, got '0'"},
	{LOCAL "    every: 1001\n",
		"10:12: proposers.every: must be at least 1 and at most 1000, got '1001'"},
	{LOCAL "    patches: 17\n", "10:14: proposers.patches: must be at least 0 and at most 16, got '17'"},
	{LOCAL "    patches: -1\n", "10:14: proposers.patches: must be at least 0 and at most 16, got '-1'"},
	{LOCAL "    price: {in: 3}\n",
		"10:5: proposers.price needs the key 'out' (USD for a million tokens of answers)"},
	{LOCAL "    price: {in: -1, out: 3}\n",
		"10:17: proposers.price.in: must be at least 0 and at most 1000000, got '-1'"},
	{LOCAL "    price: 3\n", "10:12: proposers.price: expected a mapping (key: value), got '3'"},
	{LOCAL "    budget: {tokens: -1}\n",
		"10:22: proposers.budget.tokens: must be at least 0 and at most 9.007199255e+15, got '-1'"},
	{LOCAL "    budget: {usd: lots}\n", "10:19: proposers.budget.usd: expected a number, got 'lots'"},
	{LOCAL "    budget: {trials: 3}\n", "10:14: unknown key 'trials' in proposers.budget"},
	/* money without a price */
	{HOSTED "    budget: {usd: 2}\n", "10:19: proposers.budget.usd: say price: {in: ..., out: ...}, USD "
					  "for a million tokens, or nobody "
					  "can tell what an answer costs"},
	{ANTHROPIC "budget: {usd: 2}\n", "7:5: proposers: budget.usd limits what 'anthropic' may cost: say "
					 "price: {in: ..., out: ...}, USD "
					 "for a million tokens, or nobody can tell what an answer costs"},
	/* programs */
	{"  - {kind: command}\n", "7:5: proposers needs the key 'command' (the program and its arguments; "
				  "one with a / in it is a "
				  "path from the task's folder)"},
	{"  - {kind: command, command: ./agent --fast}\n",
		"7:30: proposers.command: expected a list such as [\"python3\", \"./agent.py\"] (it is run "
		"without a shell), got './agent --fast'"},
	{"  - {kind: command, command: []}\n", "7:30: proposers.command: must not be empty"},
	{"  - {kind: command, command: ['', x]}\n",
		"7:31: proposers.command: the first word names the program: it must not be empty"},
	{"  - {kind: command, command: [a, [b]]}\n",
		"7:34: proposers.command: expected a string, got a list"},
	{COMMAND "    pass_env: [A-B]\n",
		"9:16: proposers.pass_env: 'A-B' is not the name of an environment variable"},
	{COMMAND "    pass_env: [INFRARSI_KEY]\n", "9:16: proposers.pass_env: 'INFRARSI_KEY': names that "
						   "begin with INFRARSI_ are set by infrarsi "
						   "itself"},
	/* transcripts */
	{"  - {kind: replay}\n", "7:5: proposers needs the key 'file' (the transcript; a path from the "
				 "task's folder, or absolute)"},
	{"  - {kind: replay, file: ''}\n", "7:26: proposers.file: must not be empty"},
	{"  - {kind: replay, file: gone.jsonl}\n",
		"7:26: proposers.file: there is no file 'gone.jsonl' beside the task file"},
	{"  - {kind: replay, file: /nonexistent/gone.jsonl}\n",
		"7:26: proposers.file: there is no file '/nonexistent/gone.jsonl'"},
	{"  - {kind: replay, file: /tmp}\n", "7:26: proposers.file: there is no file '/tmp'"},
	{"  - {kind: replay, file: /tmp, mode: loose}\n",
		"7:38: proposers.mode: expected strict or lenient, got 'loose'"},
};

static void expect_message(const char *text, const char *expected)
{
	char message[2200];
	CLEANUP(free_ptr) char *whole = *expected ? xasprintf("infrarsi.yaml:%s", expected) : xstrdup("");
	task_message(text, message, sizeof(message));
	if (strcmp(message, whole) != 0)
		fail_msg("%s\ngives\n%s\ninstead of\n%s", text, message, whole);
}

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		CLEANUP(free_ptr) char *text = xasprintf("%s%s", PROPOSERS, mistakes[i].entries);
		expect_message(text, mistakes[i].message);
	}
}

/* What is written for a key is refused wherever somebody may put it, and never shown. */
static void test_keys_stay_out(void **state)
{
	(void)state;
	static const char *const places[] = {
		LOCAL "    key: %s\n",
		LOCAL "    api_key: %s\n",
		LOCAL "    API-KEY: %s\n",
		LOCAL "    password: %s\n",
		ANTHROPIC "    token: %s\n",
		ANTHROPIC "    Authorization: Bearer %s\n",
		COMMAND "    api_key: %s\n",
		CATALOGUE "    secret: %s\n",
		ANTHROPIC "    key_env: %s\n",
		ANTHROPIC "    base_url: https://%s@example.org/\n",
		ANTHROPIC "    base_url: https://example.org/?key=%s\n",
	};
	static const char key[] = "sk-0123456789abcdef";
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char message[2200];
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addstr(&text, PROPOSERS);
		const char *mark = strstr(places[i], "%s");
		strbuf_addf(&text, "%.*s%s%s", (int)(mark - places[i]), places[i], key, mark + 2);
		task_message(text.buf, message, sizeof(message));
		if (!*message || strstr(message, key))
			fail_msg("%s\ngives\n%s", text.buf, message);
	}
	expect_message(PROPOSERS LOCAL "    Api-Key: x\n",
		"10:5: proposers: 'Api-Key': a key never stands in the task file; name the environment "
		"variable that "
		"holds it (key_env: of a server, pass_env: of a command)");
	expect_message(PROPOSERS ANTHROPIC "    key_env: sk-ant\n",
		"9:14: proposers.key_env: expected the name of an environment variable; the key itself never "
		"stands "
		"in the task file");
}

/* A price, even 0, or a server on this machine: what is spent can be told. */
static void test_money_that_can_be_counted(void **state)
{
	(void)state;
	expect_message(
		PROPOSERS HOSTED "    price: {in: 3, out: 15}\n    budget: {usd: 2}\nbudget: {usd: 4}\n", "");
	expect_message(PROPOSERS ANTHROPIC "    price: {in: 0, out: 0}\nbudget: {usd: 4}\n", "");
	expect_message(PROPOSERS LOCAL "    budget: {usd: 2}\nbudget: {usd: 4}\n", "");
	expect_message(PROPOSERS COMMAND "    budget: {usd: 2}\nbudget: {usd: 4}\n", "");
	expect_message(PROPOSERS CATALOGUE "budget: {usd: 4}\n", "");
	expect_message(PROPOSERS HOSTED "    budget: {tokens: 20000}\n", "");
	expect_message(PROPOSERS HOSTED "    budget: {usd: 0}\nbudget: {usd: 0}\n", "");
}

static void test_at_most_sixteen(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, PROPOSERS);
	for (int i = 1; i <= 17; i++) {
		strbuf_addf(&text, "  - {kind: command, command: [x], name: p%d}\n", i);
		if (i == 16)
			expect_message(text.buf, "");
	}
	expect_message(text.buf, "23:5: proposers: at most 16 are allowed");
}

/* A task without knobs. */
static void test_what_can_be_searched(void **state)
{
	(void)state;
	static const char none[] =
		"1:1: there is nothing to search: give at least one knob or a proposer of patches";
	static const char no_files[] =
		"1:1: there is nothing to search: give at least one knob or a proposer of patches, and "
		"contract.editable_files, which they may change";
	static const struct {
		const char *files, *proposers, *message;
	} cases[] = {
		{"", "", none},
		{", editable_files: [a.c]", "", none},
		{", editable_files: [a.c]", "{kind: catalogue}", ""},
		{"", "{kind: catalogue}", no_files},
		{", editable_files: [a.c]", "{kind: command, command: [x]}", ""},
		{", editable_files: [a.c]", "{kind: command, command: [x], patches: 0}", none},
		{"", "{kind: command, command: [x]}", no_files},
		{", editable_files: [a.c]", "{kind: anthropic, model: m, patches: 1}", ""},
		{", editable_files: [a.c]", "{kind: anthropic, model: m, patches: 0}, {kind: catalogue}", ""},
		{"", "{kind: patches, branches: [b]}", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(free_ptr)
		char *text =
			xasprintf("version: 1\nname: x\nlaunch: {command: [./t]}\ncontract: {updates: 5%s}\n"
				  "proposers: [%s]\n",
				cases[i].files, cases[i].proposers);
		expect_message(text, cases[i].message);
	}
}

static void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("%s", e->message);
}

static void test_transcript_on_disk(void **state)
{
	(void)state;
	char root[] = "/tmp/infrarsi-task-XXXXXX";
	struct err e = ERR_INIT;
	struct task task = {0};
	assert_non_null(mkdtemp(root));
	CLEANUP(free_ptr) char *folder = xasprintf("%s/job", root);
	CLEANUP(free_ptr) char *answers = xasprintf("%s/answers.jsonl", root);
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.yaml", folder);
	CLEANUP(free_ptr)
	char *text =
		xasprintf("%s  - {kind: replay, file: ../answers.jsonl}\n"
			  "  - {kind: replay, file: %s, mode: lenient, name: again, every: 7, patches: 0}\n",
			PROPOSERS, answers);
	assert_int_equal(mkdir(folder, 0700), 0);
	must(file_write_atomic(path, text, strlen(text), 0600, &e), &e);
	assert_int_equal(task_load(path, &task, &e), ERR_NOT_FOUND);
	assert_int_equal(e.line, 7);
	must(file_write_atomic(answers, "", 0, 0600, &e), &e);
	must(task_load(path, &task, &e), &e);
	assert_string_equal(task.proposers[0].file, "../answers.jsonl"); /* as written */
	assert_false(task.proposers[0].is_lenient);
	assert_string_equal(task.proposers[1].file, answers);
	assert_true(task.proposers[1].is_lenient);
	assert_int_equal(task.proposers[1].every, 7);
	assert_int_equal(task.proposers[1].patches, 0);
	task_release(&task);
	must(remove_tree(root, &e), &e);
}

/* A name that means one thing for two kinds stands in two lines, each with its own default. */
static void test_described_by_kind(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"proposers[].kind  (patches|catalogue|openai|anthropic|command|replay, required)",
		"proposers[].base_url  (string, required)  openai: ",
		"proposers[].base_url  (string, default https://api.anthropic.com)  anthropic: ",
		"proposers[].timeout  (duration, default 3m)  openai, anthropic: ",
		"proposers[].timeout  (duration, default 5m)  command: ",
		"proposers[].every  (int, default 4)  openai, anthropic, command, replay: ",
		"proposers[].price.in  (number, required)  ",
		"proposers[].budget.usd  (number)  ",
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	task_describe_fields(&text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (!strstr(text.buf, lines[i]))
			fail_msg("no line '%s' in:\n%s", lines[i], text.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything_given),
		cmocka_unit_test(test_kind_names),
		cmocka_unit_test(test_names_of_patches),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_keys_stay_out),
		cmocka_unit_test(test_money_that_can_be_counted),
		cmocka_unit_test(test_at_most_sixteen),
		cmocka_unit_test(test_what_can_be_searched),
		cmocka_unit_test(test_transcript_on_disk),
		cmocka_unit_test(test_described_by_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
