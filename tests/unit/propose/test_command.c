/* Programs as proposers: what they get, what comes back, and every way in which they fail. */
#include "../spec/spec_helpers.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "propose/answer.h"
#include "propose/command.h"

/* EXAMPLES: examples/proposers, from the build. */

struct fixture {
	char dir[64];
	json_t *request;
	struct strbuf text;
	struct chat_cost cost;
	struct err err;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.dir = "/tmp/infrarsi-command-XXXXXX", .text = STRBUF_INIT, .err = ERR_INIT};
	assert_non_null(mkdtemp(f->dir));
	f->request = json_loads("{\"wanted\": {\"configurations\": 3}}", 0, NULL);
	strbuf_addstr(&f->text, "kept");
}

static void tear_down(struct fixture *f)
{
	assert_int_equal(remove_tree(f->dir, NULL), OK);
	json_decref(f->request);
	strbuf_release(&f->text);
}

static enum err_code ask(struct fixture *f, const char *script, double timeout_s)
{
	static const char *const pass_env[] = {"PROPOSER_KEY", "NOT_SET_AT_ALL", NULL};
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct command_endpoint endpoint = {
		.argv = argv, .dir = f->dir, .pass_env = pass_env, .timeout_s = timeout_s};
	f->err = (struct err)ERR_INIT;
	return command_ask(&endpoint, f->request, -1, &f->text, &f->cost, &f->err);
}

static void is_given_the_request_and_its_folder(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(ask(&f, "cat; pwd; cat >/dev/null", 100), OK);
	CLEANUP(strbuf_release) struct strbuf expected = STRBUF_INIT;
	strbuf_addf(&expected, "{\"wanted\":{\"configurations\":3}}\n%s\n", f.dir);
	assert_string_equal(f.text.buf, expected.buf);
	assert_int_equal(f.cost.attempts, 1);
	assert_true(f.cost.seconds > 0 && f.cost.tokens_in == 0 && f.cost.usd == 0);
	assert_false(f.cost.estimated);
	tear_down(&f);
}

/* Only what was named, and its value does not come back. */
static void is_given_no_secret_but_the_named(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	setenv("PROPOSER_KEY", "planted-key-1", 1);
	setenv("PROPOSER_KEY_2", "planted-key-2", 1);
	assert_int_equal(ask(&f, "env", 100), OK);
	assert_non_null(strstr(f.text.buf, "PROPOSER_KEY=*************\n"));
	assert_non_null(strstr(f.text.buf, "PATH="));
	assert_null(strstr(f.text.buf, "planted"));
	assert_null(strstr(f.text.buf, "NOT_SET"));
	assert_int_equal(ask(&f, "echo \"bad key $PROPOSER_KEY\" >&2; exit 1", 100), ERR_FAILED);
	assert_string_equal(f.err.message, "'sh' ended with exit code 1: bad key *************");
	unsetenv("PROPOSER_KEY");
	unsetenv("PROPOSER_KEY_2");
	tear_down(&f);
}

static const struct failure {
	const char *script;
	enum err_code code;
	const char *message;
} failures[] = {
	{"exit 3", ERR_FAILED, "'sh' ended with exit code 3"},
	{"exit 255", ERR_FAILED, "'sh' ended with exit code 255"},
	{"echo {}; printf 'one\\n\\n two \\33[31m\\n' >&2; exit 1", ERR_FAILED,
		"'sh' ended with exit code 1: one;  two \\x1b[31m"},
	{"seq 10000 >&2; exit 1", ERR_FAILED, NULL},
	{"kill -9 $$", ERR_FAILED, "'sh' was killed by signal 9"},
	{"exit 0", ERR_FAILED, "'sh' printed no answer"},
	{"echo; echo no idea >&2", ERR_FAILED, "'sh' printed no answer: no idea"},
	{"printf 'a\\377'", ERR_FAILED, "'sh' printed something that is no UTF-8 text"},
	{"printf 'a\\0b'", ERR_FAILED, "'sh' printed something that is no UTF-8 text"},
	{"yes", ERR_LIMIT, "'sh' printed more than 1048576 bytes"},
};

static void says_how_it_failed(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		assert_int_equal(ask(&f, failures[i].script, 100), failures[i].code);
		if (failures[i].message)
			assert_string_equal(f.err.message, failures[i].message);
		assert_int_equal(f.cost.attempts, 1);
		assert_string_equal(f.text.buf, "kept");
	}
	assert_int_equal(ask(&f, "seq 10000 >&2; exit 1", 100), ERR_FAILED);
	assert_non_null(strstr(f.err.message, "exit code 1: ..."));
	assert_string_equal(f.err.message + strlen(f.err.message) - 13, "; 9999; 10000");
	tear_down(&f);
}

static void has_a_time_limit(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(ask(&f, "echo thinking >&2; sleep 1000", 0.3), ERR_FAILED);
	assert_memory_equal(f.err.message, "'sh' did not finish within 0.3 s", 32);
	assert_true(f.cost.seconds >= 0.3);
	tear_down(&f);
}

static void what_does_not_exist(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	const char *const argv[] = {"/infrarsi-no-such-program", NULL};
	const struct command_endpoint endpoint = {.argv = argv, .dir = f.dir, .timeout_s = 100};
	assert_int_equal(command_ask(&endpoint, f.request, -1, &f.text, &f.cost, &f.err), ERR_NOT_FOUND);
	assert_non_null(strstr(f.err.message, "/infrarsi-no-such-program"));
	tear_down(&f);
}

static void stops_when_it_is_told(void **state)
{
	(void)state;
	struct fixture f;
	int ends[2];
	set_up(&f);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	const char *const argv[] = {"sleep", "1000", NULL};
	const struct command_endpoint endpoint = {.argv = argv, .dir = f.dir, .timeout_s = 1000};
	assert_int_equal(
		command_ask(&endpoint, f.request, ends[0], &f.text, &f.cost, &f.err), ERR_INTERRUPTED);
	close(ends[0]);
	close(ends[1]);
	tear_down(&f);
}

/* It may talk much: only the end of it is kept, and only where it fails. */
static void much_on_standard_error_is_fine(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(ask(&f, "cat; head -c 5000000 /dev/zero >&2", 100), OK);
	assert_string_equal(f.text.buf, "{\"wanted\":{\"configurations\":3}}\n");
	tear_down(&f);
}

static void may_say_what_it_cost(void **state)
{
	(void)state;
	static const struct {
		const char *answer;
		double tokens_in, tokens_out, usd;
		bool estimated;
	} rows[] = {
		{"{\"configurations\":[],\"usage\":{\"tokens_in\":120,\"tokens_out\":30,\"usd\":0.25}}", 120,
			30, 0.25, false},
		{"Well: {\"usage\":{\"usd\":0.5}}", 0, 0, 0.5, false},
		{"{\"usage\":{\"tokens_in\":-5,\"tokens_out\":1e300,\"usd\":-1}}", 0, 0, 0, true},
		{"{\"usage\":7}", 0, 0, 0, false},
		{"nothing", 0, 0, 0, false},
	};
	struct fixture f;
	set_up(&f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf script = STRBUF_INIT;
		strbuf_addf(&script, "echo '%s'", rows[i].answer);
		assert_int_equal(ask(&f, script.buf, 100), OK);
		assert_true(f.cost.tokens_in == rows[i].tokens_in);
		assert_true(f.cost.tokens_out == rows[i].tokens_out);
		assert_true(f.cost.usd == rows[i].usd);
		assert_int_equal(f.cost.estimated, rows[i].estimated);
	}
	tear_down(&f);
}

/* Two trials of the task in realistic_task.h; the invariant holds for every micro_batch. */
static const char request_text[] =
	"{\"schema\":\"infrarsi-request/1\",\"wanted\":{\"configurations\":3},\"knobs\":["
	"{\"name\":\"micro_batch\",\"settings\":[\"1\",\"2\",\"4\",\"8\"],\"reference\":\"1\"},"
	"{\"name\":\"recompute\",\"settings\":[\"full\",\"selective\",\"off\"],\"reference\":\"full\"},"
	"{\"name\":\"compile\",\"settings\":[\"off\",\"on\"],\"reference\":\"off\"}],"
	"\"patches\":[],\"trials\":["
	"{\"trial\":1,\"changes\":{\"micro_batch\":\"2\"},\"status\":\"valid\",\"speedup\":1.2},"
	"{\"trial\":2,\"changes\":{\"micro_batch\":\"4\"},\"status\":\"oom\"},"
	"{\"trial\":3,\"changes\":{\"compile\":\"on\"},\"status\":\"invalid\",\"speedup\":1.9}]}";

static void answer_of_example(struct fixture *f, const char *const *argv, const struct space *space,
	struct arena *arena, struct answer *ret_answer)
{
	json_t *request = json_loads(request_text, 0, NULL);
	const struct command_endpoint endpoint = {.argv = argv, .dir = f->dir, .timeout_s = 100};
	if (command_ask(&endpoint, request, -1, &f->text, &f->cost, &f->err) != OK)
		fail_msg("%s", f->err.message);
	assert_int_equal(answer_parse(f->text.buf, f->text.len, space, arena, ret_answer, &f->err), OK);
	json_decref(request);
}

/* By hand: the best is micro_batch=2; its neighbours one step away are 1 (the reference) and 4 (tried), both
 * gone; then recompute=selective and compile=on, each with micro_batch=2; then the ones two steps away. */
static void the_examples_answer(void **state)
{
	(void)state;
	enum { MICRO_BATCH, RECOMPUTE, OPT_LEVEL, THREADS, COMPILE };
	struct fixture f;
	struct task task;
	struct space space;
	struct answer answer;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	set_up(&f);
	parse_task(REALISTIC_TASK, &task);
	assert_int_equal(space_init(&space, &task, NULL, 0, NULL, &f.err), OK);
	const char *const fixed[] = {"python3", EXAMPLES "/fixed.py", NULL};
	answer_of_example(&f, fixed, &space, &arena, &answer);
	assert_int_equal(answer.n_dropped, 0);
	assert_int_equal(answer.n_configurations, 4);
	static const int expected[][3] = {{1, 1, 0}, {1, 0, 1}, {3, 0, 0}, {1, 2, 0}};
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const int *setting = answer.configurations[i].setting;
		assert_int_equal(setting[MICRO_BATCH], expected[i][0]);
		assert_int_equal(setting[RECOMPUTE], expected[i][1]);
		assert_int_equal(setting[COMPILE], expected[i][2]);
	}
	static const char idea[] = "{\"configurations\": [{\"settings\": {\"micro_batch\": \"8\"}}]}\n";
	CLEANUP(free_ptr) char *path = xasprintf("%s/ideas.json", f.dir);
	assert_int_equal(file_write_atomic(path, idea, strlen(idea), 0600, &f.err), OK);
	const char *const ideas[] = {"sh", EXAMPLES "/ideas.sh", path, NULL};
	answer_of_example(&f, ideas, &space, &arena, &answer);
	assert_int_equal(answer.n_configurations, 1);
	assert_int_equal(answer.configurations[0].setting[MICRO_BATCH], 3);
	space_release(&space);
	task_release(&task);
	tear_down(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_given_the_request_and_its_folder),
		cmocka_unit_test(is_given_no_secret_but_the_named),
		cmocka_unit_test(says_how_it_failed),
		cmocka_unit_test(has_a_time_limit),
		cmocka_unit_test(what_does_not_exist),
		cmocka_unit_test(stops_when_it_is_told),
		cmocka_unit_test(much_on_standard_error_is_fine),
		cmocka_unit_test(may_say_what_it_cost),
		cmocka_unit_test(the_examples_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
