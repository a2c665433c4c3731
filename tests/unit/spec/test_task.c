#include "spec_helpers.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/strbuf.h"

#define MINIMAL                                                                                              \
	"version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\ncontract: {updates: 5}\n"                     \
	"knobs: [{name: a, values: [1, 2], reference: 2}]\n"

static void test_defaults(void **state)
{
	(void)state;
	struct task task;
	parse_task(MINIMAL, &task);
	assert_string_equal(task.stack, "native");
	assert_string_equal(task.root, "/nonexistent");
	assert_int_equal(task.launch.nodes, 1);
	assert_int_equal(task.launch.devices_per_node, 1);
	assert_int_equal(task.launch.launcher, LAUNCH_LOCAL);
	assert_true(task.launch.timeout_s == 1200 && task.launch.startup_timeout_s == 600);
	assert_false(task.launch.network);
	assert_int_equal(task.launch.pass_env.count, 0);
	assert_int_equal(task.contract.warmup, 0);
	assert_true(task.contract.loss_tolerance == 0.03 && task.contract.grad_norm_tolerance == 0.03);
	assert_int_equal(task.contract.loss_rule, LOSS_WINDOW_MEAN);
	assert_true(task.contract.global_batch == 0 && task.contract.memory_cap_bytes == 0);
	assert_true(task.contract.horizon_updates == 0);
	assert_int_equal(task.budget.trials, 17);
	assert_true(task.budget.device_hours == 0 && task.budget.usd == 0 && task.budget.wall_s == 0);
	assert_int_equal(task.n_proposers, 0);
	assert_int_equal(task.search.operators_off | task.search.operators_on, 0);
	assert_true(task.search.starts_given);
	assert_int_equal(task.search.starts, 1 << START_EXPERIENCE);
	assert_int_equal(task.knobs[0].reference, 1);
	assert_false(task.knobs[0].ordered || task.knobs[0].is_build);
	char digest[65];
	sha256_hex(MINIMAL, strlen(MINIMAL), digest);
	assert_string_equal(task.digest, digest);
	task_release(&task);
}

static void test_realistic(void **state)
{
	(void)state;
	struct task task;
	parse_task(REALISTIC_TASK, &task);
	assert_int_equal(task.n_knobs, 6);
	const struct knob *recompute = task_find_knob(&task, "recompute");
	assert_string_equal(recompute->settings[2].text, "off");
	assert_string_equal(recompute->settings[2].flag, "");
	assert_string_equal(recompute->settings[0].flag, "--recompute full");
	/* ln 1.08 and ln 0.98 to 12 digits, from bc -l */
	assert_true(fabs(recompute->settings[2].prior_gain_ln - 0.076961041136) < 1e-12);
	assert_true(fabs(recompute->settings[1].prior_gain_ln + 0.020202707317) < 1e-12);
	assert_true(recompute->settings[2].has_prior_memory && !recompute->settings[1].has_prior_memory);
	assert_true(recompute->settings[2].prior_memory_bytes == 18.0 * 1024 * 1024 * 1024);
	assert_false(recompute->settings[0].has_prior_gain);
	assert_int_equal(recompute->phases.count, 1);
	assert_true(task.knobs[0].settings[2].is_number && task.knobs[0].settings[2].number == 4);
	assert_false(recompute->settings[0].is_number);
	/* named by the build directly, through the derived value, not at all */
	assert_true(task_find_knob(&task, "opt_level")->is_build);
	assert_true(task.knobs[0].is_build);
	assert_false(recompute->is_build);
	assert_true(task.contract.loss_tolerance == 0.02);
	assert_int_equal(task.contract.loss_rule, LOSS_PER_UPDATE);
	assert_true(task.contract.memory_cap_bytes == 78.0 * 1024 * 1024 * 1024);
	assert_true(task.budget.device_hours == 8 && task.budget.wall_s == 21600);
	assert_int_equal(task.n_starts, 1);
	assert_int_equal(task.starts[0].settings[0], 2);
	assert_int_equal(task.starts[0].settings[1], 2);
	assert_int_equal(task.starts[0].settings[3], 1);
	assert_int_equal(task.starts[0].place.line, 37);
	assert_int_equal(task.contract.invariants[0].place.line, 17);
	task_release(&task);
}

static void test_knob_values_stay_as_written(void **state)
{
	(void)state;
	struct task task;
	parse_task("version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\ncontract: {updates: 5}\n"
		   "knobs: [{name: a, values: [on, True, 0x10, 1e3, 007, 'a b', \"\", -0.5, '~'], reference: "
		   "on}]\n",
		&task);
	static const char *const texts[] = {"on", "True", "0x10", "1e3", "007", "a b", "", "-0.5", "~"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_string_equal(task.knobs[0].settings[i].text, texts[i]);
	assert_false(task.knobs[0].settings[2].is_number);
	assert_true(task.knobs[0].settings[3].is_number && task.knobs[0].settings[3].number == 1000);
	assert_true(task.knobs[0].settings[7].number == -0.5);
	task_release(&task);
}

static void test_search_switches(void **state)
{
	(void)state;
	struct task task;
	parse_task(MINIMAL
		"search: {operators_off: [escape, survey], operators_on: [stack], starts: [random, "
		"prior]}\n",
		&task);
	assert_int_equal(task.search.operators_off, 1 << OPERATOR_ESCAPE | 1 << OPERATOR_SURVEY);
	assert_int_equal(task.search.operators_on, 1 << OPERATOR_STACK);
	assert_int_equal(task.search.starts, 1 << START_PRIOR | 1 << START_RANDOM);
	task_release(&task);
	parse_task(MINIMAL "search: {starts: []}\n", &task);
	assert_true(task.search.starts_given);
	assert_int_equal(task.search.starts, 0);
	task_release(&task);
}

static void test_later_switches_win(void **state)
{
	(void)state;
	struct search_switches task = {.operators_off = 1u << OPERATOR_ESCAPE | 1u << OPERATOR_SURVEY,
				       .operators_on = 1u << OPERATOR_STACK,
				       .starts_given = true,
				       .starts = 1u << START_EXPERIENCE},
			       more = {.operators_off = 1u << OPERATOR_STACK,
				       .operators_on = 1u << OPERATOR_ESCAPE};
	struct search_switches both = switches_merge(task, more);
	assert_int_equal(both.operators_off, 1 << OPERATOR_SURVEY | 1 << OPERATOR_STACK);
	assert_int_equal(both.operators_on, 1 << OPERATOR_ESCAPE);
	assert_int_equal(both.starts, 1 << START_EXPERIENCE);
	more.starts_given = true;
	assert_int_equal(switches_merge(task, more).starts, 0);
}

static void test_switch_lists(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	unsigned bits = 77;
	assert_int_equal(switches_read_operators("--x", "escape,stack", &bits, &e), OK);
	assert_int_equal(bits, 1 << OPERATOR_ESCAPE | 1 << OPERATOR_STACK);
	assert_int_equal(switches_read_starts("--x", "", &bits, &e), OK);
	assert_int_equal(bits, 0);
	static const char *const bad[] = {"stack,", "escape,,stack", "Escape", " escape", "prior", ","};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		bits = 77;
		assert_int_equal(switches_read_operators("--x", bad[i], &bits, &e), ERR_INPUT);
		assert_non_null(strstr(e.message, "--x: there is no operator '"));
		assert_non_null(strstr(e.message, "known are exploit, backtrack, bundle"));
		assert_int_equal(bits, 77);
	}
}

static void test_patches_alone_suffice(void **state)
{
	(void)state;
	char root[] = "/tmp/infrarsi-task-XXXXXX";
	assert_non_null(mkdtemp(root));
	CLEANUP(free_ptr) char *folder = xasprintf("%s/patches", root);
	assert_int_equal(mkdir(folder, 0700), 0);
	static const char text[] = "version: 1\nname: x\nlaunch: {command: [./t]}\ncontract: {updates: 5}\n"
				   "proposers: [{kind: patches, dir: patches/}]\n";
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.yaml", root);
	struct err e = ERR_INIT;
	struct task task = {0};
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, &e), OK);
	assert_int_equal(task_load(path, &task, &e), OK);
	assert_string_equal(task.root, root);
	assert_string_equal(task.proposers[0].dir, "patches");
	task_release(&task);
	assert_int_equal(remove_tree(root, &e), OK);
	assert_int_equal(task_load(path, &task, &e), ERR_NOT_FOUND);
}

static void test_large_file_is_refused(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	while (text.len <= 1 << 20)
		strbuf_addstr(&text, "# a comment\n");
	struct task task = {0};
	struct err e = ERR_INIT;
	assert_int_equal(task_parse("t.yaml", "/", text.buf, text.len, &task, &e), ERR_LIMIT);
}

/* Bounds on what costs quadratic time or memory. */
static void test_counts_are_bounded(void **state)
{
	(void)state;
	char message[2200];
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (int i = 0; i < 4097; i++)
		strbuf_addf(&values, "%d, ", i);
	strbuf_addf(&text,
		"version: 1\nname: x\nlaunch: {command: [./t, '{a}']}\ncontract: {updates: 5}\n"
		"knobs: [{name: a, values: [%s], reference: 0}]\n",
		values.buf);
	assert_string_equal(task_message(text.buf, message, sizeof(message)),
		"infrarsi.yaml:5:9: knob a: has 4097 values, at most 4096 are allowed");
	strbuf_clear(&text);
	strbuf_addstr(&text, MINIMAL "conflicts:\n");
	for (int i = 0; i < 1001; i++)
		strbuf_addstr(&text, "  - a == 3\n");
	assert_string_equal(task_message(text.buf, message, sizeof(message)),
		"infrarsi.yaml:1:1: more than 1000 derived values, invariants and conflicts in all");
}

/* The documentation names every field with its default: the table is the only source of both. */
static void test_fields_are_described(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"contract.loss.tolerance  (fraction, default 3%)",
		"knobs[].prior.*.speedup  (fraction)",
		"budget.trials  (int, default 17)",
		"launch.command  (list of templates, required)",
		"contract.loss.rule  (window_mean|per_update, default window_mean)",
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
		cmocka_unit_test(test_realistic),
		cmocka_unit_test(test_knob_values_stay_as_written),
		cmocka_unit_test(test_search_switches),
		cmocka_unit_test(test_later_switches_win),
		cmocka_unit_test(test_switch_lists),
		cmocka_unit_test(test_patches_alone_suffice),
		cmocka_unit_test(test_large_file_is_refused),
		cmocka_unit_test(test_counts_are_bounded),
		cmocka_unit_test(test_fields_are_described),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
