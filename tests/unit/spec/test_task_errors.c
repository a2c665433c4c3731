/* Every kind of mistake gives exactly one message with file, line and column that says what was expected. */
#include "spec_helpers.h"

#include "base/strbuf.h"

/* A section that a case does not give is this one; columns in the messages were counted by hand. */
static const char head_section[] = "version: 1\nname: x\n";
static const char launch_section[] = "launch: {command: [./t, '{a}']}\n";
static const char contract_section[] = "contract: {updates: 5, global_batch: 8}\n";
static const char knobs_section[] = "knobs: [{name: a, values: [1, 2], reference: 1}]\n";

static const struct mistake {
	const char *message; /* behind "infrarsi.yaml:" */
	const char *whole, *head, *launch, *contract, *knobs, *tail;
} mistakes[] = {
	{"3:2: did not find expected ',' or ']' (while parsing a flow sequence that began at line 2)",
		.whole = "a: 1\nb: [1, 2\nc: 3\n"},
	{"2:1: found character that cannot start any token (while scanning for the next token)",
		.whole = "a:\n	- 1\n"},
	{"1:1: the file is empty", .whole = ""},
	{"1:1: the task file: expected a mapping (key: value), got 'hello'", .whole = "hello\n"},
	{"3:1: key 'version' is already given at line 1", .whole = "version: 1\nname: x\nversion: 2\n"},
	{"1:4: anchors (&name) are not supported here", .whole = "a: &x 1\n"},
	{"1:4: aliases (*name) are not supported here", .whole = "a: *x\n"},
	{"1:4: tags (!name) are not supported here", .whole = "a: !!str 1\n"},
	{"2:1: only one YAML document is allowed", .whole = "a: 1\n---\nb: 2\n"},
	{"1:4: a NUL character is not allowed", .whole = "a: \"x\\0y\"\n"},
	{"1:3: a key must be a plain word (a value that begins with { or [ needs quotes)",
		.whole = "? [a]\n: 1\n"},
	{"1:10: version: this program reads version 1, got '2'", .head = "version: 2\nname: x\nfuture: 1\n"},
	{"1:1: the task file needs the key 'version' (of this format: 1)", .head = "name: x\n"},
	{"1:1: the task file needs the key 'name' (what reports call the job)", .head = "version: 1\n"},
	{"6:10: unknown key 'tolerence' in contract.loss (did you mean 'tolerance'?)",
		.contract = "contract:\n  updates: 5\n  loss: {tolerence: 3%}\n"},
	{"6:1: unknown key 'knob' in the task file (did you mean 'knobs'?)", .tail = "knob: []\n"},
	{"3:1: launch needs the key 'command' (the training command and its arguments)",
		.launch = "launch: {env: {A: b}}\n"},
	{"3:19: launch.command: expected a list such as [\"./train\", \"--steps\", \"{updates}\"] (it is run "
	 "without a shell), got './t --steps 3'",
		.launch = "launch: {command: ./t --steps 3}\n"},
	{"3:25: launch.command: expected a string, got a mapping; write it in quotes: \"{a}\"",
		.launch = "launch: {command: [./t, {a}]}\n"},
	{"3:19: launch.command: must not be empty", .launch = "launch: {command: []}\n"},
	{"4:11: launch.command: expected a list such as [\"./train\", \"--steps\", \"{updates}\"] (it is run "
	 "without a shell), got an empty value",
		.launch = "launch:\n  command:\n"},
	{"4:21: contract.updates: expected a whole number, got 'ten'",
		.contract = "contract: {updates: ten}\n"},
	{"4:21: contract.updates: must be at least 1 and at most 1000000000, got '0'",
		.contract = "contract: {updates: 0}\n"},
	{"4:21: contract.updates: expected a whole number, got '3.5'",
		.contract = "contract: {updates: 3.5}\n"},
	{"4:32: contract.warmup: must be less than contract.updates (5), got 5",
		.contract = "contract: {updates: 5, warmup: 5}\n"},
	{"4:46: contract.checkpoint.save_at: must be less than contract.updates (5), got 5",
		.contract = "contract: {updates: 5, checkpoint: {save_at: 5, command: [x]}}\n"},
	{"4:42: contract.loss.tolerance: must be at least 0% and at most 50%, got '80%'",
		.contract = "contract: {updates: 5, loss: {tolerance: 80%}}\n"},
	{"4:42: contract.loss.tolerance: expected a fraction such as 3% or 0.03, got 'small'",
		.contract = "contract: {updates: 5, loss: {tolerance: small}}\n"},
	{"4:37: contract.loss.rule: expected window_mean or per_update, got 'window-mean' (did you mean "
	 "'window_mean'?)",
		.contract = "contract: {updates: 5, loss: {rule: window-mean}}\n"},
	{"4:36: contract.memory_cap: expected an amount of memory such as 78GiB, got '78 GiBs'",
		.contract = "contract: {updates: 5, memory_cap: 78 GiBs}\n"},
	{"4:42: contract.precision: 'bf61' is none of fp64, fp32, tf32, bf16, fp16, fp8, mxfp8, fp4, mxfp4, "
	 "nvfp4, int8",
		.contract = "contract: {updates: 5, precision: [fp32, bf61]}\n"},
	{"4:39: contract.frozen_files: '../x' must be relative to the task file's folder, without .. or . in "
	 "it",
		.contract = "contract: {updates: 5, frozen_files: [../x]}\n"},
	{"4:70: contract.editable_files: 'b.c' is frozen by '*.c' in frozen_files",
		.contract = "contract: {updates: 5, frozen_files: ['*.c'], editable_files: [a.py, b.c]}\n"},
	{"4:67: contract.editable_files: 'src/**' is frozen by 'src/**' in frozen_files",
		.contract = "contract: {updates: 5, frozen_files: ['src/**'], editable_files: ['src/**']}\n"},
	{"4:24: contract.eval needs the key 'command' (evaluates a checkpoint)",
		.contract = "contract: {updates: 5, eval: {tolerance: 1%}}\n"},
	{"4:32: contract.tests: expected a list such as [[\"pytest\", \"-q\"]], got 'pytest'",
		.contract = "contract: {updates: 5, tests: [pytest]}\n"},
	{"3:42: launch.timeout: expected a duration such as 90s, 20m or 6h, got 'soon'",
		.launch = "launch: {command: [./t, '{a}'], timeout: soon}\n"},
	{"3:42: launch.network: expected true or false, got 'yes'",
		.launch = "launch: {command: [./t, '{a}'], network: yes}\n"},
	{"3:43: launch.launcher: 'torchrun' is not supported by this version, which has local and command",
		.launch = "launch: {command: [./t, '{a}'], launcher: torchrun}\n"},
	{"3:43: launch.launcher: expected local, torchrun, mpirun, slurm or command, got 'loacl'",
		.launch = "launch: {command: [./t, '{a}'], launcher: loacl}\n"},
	{"3:40: launch.nodes: this version runs on 1 node, got 2",
		.launch = "launch: {command: [./t, '{a}'], nodes: 2}\n"},
	{"3:39: launch.env: 'A-B' is not the name of an environment variable",
		.launch = "launch: {command: [./t, '{a}'], env: {A-B: 1}}\n"},
	{"3:44: launch.pass_env: 'INFRARSI_EVENT_PATH': names that begin with INFRARSI_ are set by infrarsi "
	 "itself",
		.launch = "launch: {command: [./t, '{a}'], pass_env: [INFRARSI_EVENT_PATH]}\n"},
	{"3:42: launch.config: edits of configuration files are not supported by this version",
		.launch = "launch: {command: [./t, '{a}'], config: [{file: x.json, set: {a: 1}}]}\n"},
	{"6:8: stack: expected native, ddp, hf, deepspeed, torchtitan, megatron or log:<format>, got 'ddpp' "
	 "(did you mean 'ddp'?)",
		.tail = "stack: ddpp\n"},
	{"3:25: launch.command: unknown name {b}",
		.launch = "launch: {command: [./t, '{b}', '{micro}', '{a}']}\n"},
	{"3:32: launch.command: unknown name {update} (did you mean 'updates'?)",
		.launch = "launch: {command: [./t, '{a}', '{update}']}\n"},
	{"3:32: launch.command: '}{': a lone } (write }} for a brace)",
		.launch = "launch: {command: [./t, '{a}', '}{']}\n"},
	{"3:25: launch.command: '{a': { without a name and } behind it (write {{ for a brace)",
		.launch = "launch: {command: [./t, '{a', b]}\n"},
	{"3:32: launch.command: {seq_len}: contract.seq_len is not given",
		.launch = "launch: {command: [./t, '{a}', '{seq_len}']}\n"},
	{"3:25: launch.command: {a_flag}: knob a has no flag for '1' (flag: {1: ...})",
		.launch = "launch: {command: [./t, '{a_flag}']}\n"},
	{"5:9: knob 'a' changes nothing: no template names {a}", .launch = "launch: {command: [./t]}\n"},
	{"5:8: there is nothing to search: give at least one knob or a proposer of patches",
		.knobs = "knobs: []\n"},
	{"1:1: there is nothing to search: give at least one knob or a proposer of patches", .knobs = ""},
	{"5:46: knob a: reference: '3' is not among its values (1, 2)",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 3}]\n"},
	{"6:5: knobs needs the key 'reference' (the setting of the unmodified job, one of values)",
		.knobs = "knobs:\n  - {name: a, values: [1, 2]}\n"},
	{"5:16: knobs.name: expected a name made of a-z, 0-9 and _, got 'A-1'",
		.knobs = "knobs: [{name: A-1, values: [1, 2], reference: 1}]\n"},
	{"5:9: knobs: the name 'end' is taken: it is a word of the expression language",
		.knobs = "knobs: [{name: end, values: [1, 2], reference: 1}]\n"},
	{"5:9: knobs: the name 'updates' is taken: it is a number of the contract",
		.knobs = "knobs: [{name: updates, values: [1, 2], reference: 1}]\n"},
	{"7:5: knobs: the name 'a' is taken by a knob",
		.knobs = "knobs:\n  - {name: a, values: [1, 2], reference: 1}\n  - {name: a, values: [1, 2], "
			 "reference: 1}\n"},
	{"5:34: knob a: value '1' is given twice",
		.knobs = "knobs: [{name: a, values: [1, 2, 1], reference: 1}]\n"},
	{"5:31: knobs.values: expected a string, got a list",
		.knobs = "knobs: [{name: a, values: [1, [2]], reference: 1}]\n"},
	{"5:31: knobs.values: expected a string, got an empty value",
		.knobs = "knobs: [{name: a, values: [1, null], reference: 1}]\n"},
	{"5:56: knob a: flag: '3' is not among its values (1, 2)",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, flag: {3: x}}]\n"},
	{"5:57: knob a: prior: 'of' is not among its values (1, 2)",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, prior: {of: {speedup: 8%}}}]\n"},
	{"5:57: knob a: prior: '1' is the reference, which priors are relative to",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, prior: {1: {speedup: 8%}}}]\n"},
	{"5:61: unknown key 'speed' in knob a: prior (did you mean 'speedup'?)",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, prior: {2: {speed: 8%}}}]\n"},
	{"5:70: knob a: prior.speedup: must be at least -99% and at most 100000%, got '-100%'",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, prior: {2: {speedup: -100%}}}]\n"},
	{"5:58: knobs.phases: 'forwards' is none of forward, backward, optimizer, data, collective (did you "
	 "mean 'forward'?)",
		.knobs = "knobs: [{name: a, values: [1, 2], reference: 1, phases: [forwards]}]\n"},
	{"6:14: derived: the name 'a' is taken by a knob", .tail = "derived: {a: 3}\n"},
	{"7:6: derived: `c + 1`: 'c' stands further down; a derived value can read those above it",
		.tail = "derived:\n  b: c + 1\n  c: a + 1\n"},
	{"5:19: derived: the name 'a_flag' is taken: it is the flag of knob a",
		.launch = "launch: {command: [./t, '{a}', '{b}']}\n",
		.contract = "contract: {updates: 5, global_batch: 8}\nderived: {a_flag: 1}\n",
		.knobs = "knobs:\n  - {name: a, values: [1, 2], reference: 1, flag: {1: x, 2: y}}\n  - "
			 "{name: b, values: [1], reference: 1}\n"},
	{"6:13: conflicts: `a ==`: unexpected symbol near <eof>", .tail = "conflicts: ['a ==']\n"},
	{"6:13: conflicts: `aa == 1`: unknown name 'aa'", .tail = "conflicts: ['aa == 1']\n"},
	{"6:13: conflicts: at the reference settings `a + 1` (line 6) cannot be evaluated: gives a number, "
	 "expected true or false",
		.tail = "conflicts: ['a + 1']\n"},
	{"6:14: derived: at the reference settings `a // 0` (line 6) cannot be evaluated: attempt to divide "
	 "by zero",
		.tail = "derived: {b: 'a // 0'}\n"},
	{"6:13: conflicts: `string.rep(\"x\", 9) == a`: unknown name 'string'",
		.tail = "conflicts: ['string.rep(\"x\", 9) == a']\n"},
	{"6:13: conflicts: at the reference settings `(function() while true do end end)()` (line 6) cannot "
	 "be evaluated: takes more than 100000 instructions",
		.tail = "conflicts: ['(function() while true do end end)()']\n"},
	{"6:13: conflicts: at the reference settings `(function() a = 2 return true end)()` (line 6) cannot "
	 "be evaluated: an expression cannot assign",
		.tail = "conflicts: ['(function() a = 2 return true end)()']\n"},
	{"6:13: conflicts: `_ENV.a == 2`: unknown name '_ENV'", .tail = "conflicts: ['_ENV.a == 2']\n"},
	{"6:13: conflicts: at the reference settings `(function() local s = \"x\" while true do s = s .. s "
	 "end end)()` (line 6) cannot be evaluated: needs more than the 1024 KiB of memory allowed",
		.tail = "conflicts: ['(function() local s = \"x\" while true do s = s .. s end end)()']\n"},
	{"6:13: conflicts: `\\x1bLuaT\\x01`: unexpected symbol near '<\\27>'",
		.tail = "conflicts: [\"\\eLuaT\\x01\"]\n"},
	{"6:13: conflicts: `a == 1 or seq_len == 3`: 'seq_len' is not declared in the contract",
		.tail = "conflicts: ['a == 1 or seq_len == 3']\n"},
	{"4:54: contract.invariants: at the reference settings `a * 3 == global_batch` (line 4) does not "
	 "hold",
		.contract =
			"contract: {updates: 5, global_batch: 8, invariants: ['a * 3 == global_batch']}\n"},
	{"6:30: knob a: value 3 can never satisfy `a * b * data_parallel == global_batch` (line 4)",
		.launch = "launch: {command: [./t, '{a}', '{b}']}\n",
		.contract = "contract: {updates: 5, global_batch: 8, invariants: ['a * b * data_parallel == "
			    "global_batch']}\n",
		.knobs = "knobs:\n  - {name: a, values: [1, 2, 3], reference: 1}\n  - {name: b, values: [1, "
			 "2, 4, 8], reference: 8}\n"},
	{"6:30: knob a: value 3: no settings of the other knobs satisfy all invariants and conflicts with it",
		.launch = "launch: {command: [./t, '{a}', '{b}']}\n",
		.contract = "contract: {updates: 5, global_batch: 8, invariants: [a <= b, a + b <= 4]}\n",
		.knobs = "knobs:\n  - {name: a, values: [1, 2, 3], reference: 1}\n  - {name: b, values: [1, "
			 "2, 3], reference: 1}\n"},
	{"5:31: knob a: value 2 always meets the conflict `a == 2` (line 6)",
		.tail = "conflicts: [a == 2]\n"},
	{"6:11: starts: unknown knob 'b'", .tail = "starts: [{b: 1}]\n"},
	{"6:14: knob a: start: '7' is not among its values (1, 2)", .tail = "starts: [{a: 7}]\n"},
	{"10:5: starts: in this configuration `a == 2 and b == 2` (line 8) is a declared conflict",
		.launch = "launch: {command: [./t, '{a}', '{b}']}\n",
		.knobs = "knobs:\n  - {name: a, values: [1, 2], reference: 1}\n  - {name: b, values: [1, 2], "
			 "reference: 1}\n",
		.tail = "conflicts: [a == 2 and b == 2]\nstarts:\n  - {a: 2, b: 2}\n"},
	{"6:34: proposers.dir: there is no folder 'nowhere' beside the task file",
		.tail = "proposers: [{kind: patches, dir: nowhere/}]\n"},
	{"6:13: proposers needs the key 'dir' (the folder of diffs) or 'branches' (of git)",
		.tail = "proposers: [{kind: patches}]\n"},
	{"6:27: 'gpu_hours' is another name for 'device_hours': give one of them",
		.tail = "budget: {device_hours: 3, gpu_hours: 3}\n"},
	{"6:18: budget.trials: must be at least 1 and at most 1000000, got '0'",
		.tail = "budget: {trials: 0}\n"},
	{"6:9: budget: expected a mapping (key: value), got '17'", .tail = "budget: 17\n"},
	{"6:26: search.operators_off: 'escpe' is none of exploit, backtrack, bundle, escape, warm_restart, "
	 "contrarian, big_knob, extrapolate, stack, patch, conflict, proposed, survey, prior_revision (did "
	 "you mean "
	 "'escape'?)",
		.tail = "search: {operators_off: [escpe]}\n"},
	{"6:19: search.starts: 'model' is none of experience, prior, random",
		.tail = "search: {starts: [model]}\n"},
	{"6:25: search.operators_off: expected a list such as [survey], got 'escape'",
		.tail = "search: {operators_off: escape}\n"},
	{"6:56: search.operators_on: 'stack' is in operators_off, too",
		.tail = "search: {operators_off: [stack], operators_on: [patch, stack]}\n"},
	{"6:19: search.confirm: expected more updates than contract.updates (5), got 5",
		.tail = "search: {confirm: 5}\n"},
	{"6:22: search.give_up_at: expected 0 or at least 2, got 1.5", .tail = "search: {give_up_at: 1.5}\n"},
	{"6:10: unknown key 'operator_off' in search (did you mean 'operators_off'?)",
		.tail = "search: {operator_off: []}\n"},
};

static void write_task(const struct mistake *m, struct strbuf *text)
{
	if (m->whole) {
		strbuf_addstr(text, m->whole);
		return;
	}
	strbuf_addstr(text, m->head ? m->head : head_section);
	strbuf_addstr(text, m->launch ? m->launch : launch_section);
	strbuf_addstr(text, m->contract ? m->contract : contract_section);
	strbuf_addstr(text, m->knobs ? m->knobs : knobs_section);
	strbuf_addstr(text, m->tail ? m->tail : "");
}

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf expected = STRBUF_INIT;
		char message[2200];
		write_task(&mistakes[i], &text);
		strbuf_addf(&expected, "infrarsi.yaml:%s", mistakes[i].message);
		task_message(text.buf, message, sizeof(message));
		if (strcmp(message, expected.buf) != 0)
			fail_msg("case %zu:\n%s\ngives\n%s\ninstead of\n%s", i, text.buf, message,
				expected.buf);
	}
}

/* The sections themselves are right, so that each case has one mistake only. */
static void test_no_mistake(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	char message[2200];
	write_task(&(struct mistake){0}, &text);
	assert_string_equal(task_message(text.buf, message, sizeof(message)), "");
}

static void test_depth_limit(void **state)
{
	(void)state;
	char message[2200];
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, "a: ");
	for (int i = 0; i < 40; i++)
		strbuf_addch(&text, '[');
	task_message(text.buf, message, sizeof(message));
	/* The mapping is level 1, the bracket at column 4 + 31 level 33. */
	assert_string_equal(message, "infrarsi.yaml:1:35: nested more than 32 levels deep");
}

/* Columns count characters, not bytes: the two-byte letter before the bad byte is one column. */
static void test_invalid_utf8(void **state)
{
	(void)state;
	char message[2200];
	task_message("a: 1\nb: \xc3\xa9\xff\n", message, sizeof(message));
	assert_string_equal(message, "infrarsi.yaml:2:5: invalid leading UTF-8 octet");
}

static void test_messages_are_printable(void **state)
{
	(void)state;
	char message[2200];
	task_message("\"\\e[31m\": 1\n", message, sizeof(message));
	assert_null(strchr(message, '\x1b'));
	assert_string_equal(message, "infrarsi.yaml:1:1: unknown key '\\x1b[31m' in the task file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_no_mistake),
		cmocka_unit_test(test_depth_limit),
		cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_messages_are_printable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
