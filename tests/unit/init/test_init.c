/* The init stage on small repositories made of tests/fixtures/init: what it proposes, what it refuses, what
 * it leaves. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "init/init.h"
#include "init/init_int.h"
#include "spec/lock.h"
#include "spec/space.h"
#include "spec/task.h"

static const struct init_host host = {.cpus = 4, .has_clang = false};

struct folder {
	char dir[64];
};

static void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("%s:%d: %s", e->file, e->line, e->message);
}

static void commit(const char *dir)
{
	struct err e = ERR_INIT;
	must(git_run(dir, NULL, &e, "init", "-q", NULL), &e);
	must(git_run(dir, NULL, &e, "add", "-A", NULL), &e);
	must(git_run(dir, NULL, &e, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start",
		     "--allow-empty", NULL),
		&e);
}

static const char *in(const struct folder *p, const char *name)
{
	static char path[2][256];
	static int which;
	which = !which;
	snprintf(path[which], sizeof(path[which]), "%s/%s", p->dir, name);
	return path[which];
}

static void write_text(const struct folder *p, const char *name, const char *text)
{
	struct err e = ERR_INIT;
	must(file_write_atomic(in(p, name), text, strlen(text), 0644, &e), &e);
}

static struct folder empty_folder(void)
{
	struct folder p;
	snprintf(p.dir, sizeof(p.dir), "/tmp/infrarsi-init-XXXXXX");
	assert_non_null(mkdtemp(p.dir));
	return p;
}

/* A copy of a fixture, committed. */
static struct folder folder_of(const char *fixture)
{
	struct folder p = empty_folder();
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *from = xasprintf("%s/%s", getenv("FIXTURES"), fixture);
	assert_int_equal(rmdir(p.dir), 0);
	must(copy_tree(from, p.dir, &e), &e);
	commit(p.dir);
	return p;
}

static void leave(struct folder *p)
{
	struct err e = ERR_INIT;
	must(remove_tree(p->dir, &e), &e);
}

static enum err_code run_in(const struct folder *p, bool accept, struct init_report *report, struct err *e)
{
	const struct init_options options = {.dir = p->dir, .accept_changes = accept};
	return init_run_on(&options, &host, report, e);
}

static void load(const struct folder *p, struct task *task)
{
	struct err e = ERR_INIT;
	must(task_load(in(p, "infrarsi.yaml"), task, &e), &e);
}

static void init_fixture(const char *fixture, struct folder *p, struct init_report *report, struct task *task)
{
	struct err e = ERR_INIT;
	*p = folder_of(fixture);
	must(run_in(p, false, report, &e), &e);
	assert_true(report->wrote_task && report->wrote_lock);
	load(p, task);
}

static const char *values_of(const struct knob *k)
{
	static char text[256];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < k->n_settings; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s", i ? " " : "",
			i == k->reference ? "*" : "", k->settings[i].text);
	return text;
}

static void check_knob(const struct task *task, const char *name, const char *values, const char *mechanism)
{
	const struct knob *k = task_find_knob(task, name);
	if (!k)
		fail_msg("no knob %s", name);
	assert_string_equal(values_of(k), values);
	assert_string_equal(k->mechanism ? k->mechanism : "", mechanism);
}

static const char *joined(const struct string_list *list)
{
	static char text[1024];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < list->count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", list->items[i]);
	return text;
}

static void check_text(const struct folder *p, const char *name, const char *wanted, bool is_there)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	must(file_read(in(p, name), FILE_CAP_DEFAULT, &text, &e), &e);
	if ((strstr(text.buf, wanted) != NULL) != is_there)
		fail_msg("%s %s '%s':\n%s", name, is_there ? "lacks" : "has", wanted, text.buf);
}

static void check_argv(const struct task *task, const char *wanted)
{
	struct space space;
	struct candidate c = CANDIDATE_INIT;
	struct arena arena = ARENA_INIT;
	struct resolved r;
	struct err e = ERR_INIT;
	char text[1024] = "";
	must(space_init(&space, task, NULL, 0, NULL, &e), &e);
	candidate_reference(&c, &space);
	must(space_resolve(&space, &c, &arena, &r, &e), &e);
	for (size_t i = 0; r.argv[i]; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", r.argv[i]);
	assert_string_equal(text, wanted);
	candidate_release(&c);
	space_release(&space);
	arena_release(&arena);
}

static void option_table_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("tables", &p, &report, &task);
	/* 2 * 6 rows an update in the source; the option's range ends at 4. */
	check_knob(&task, "micro_batch", "1 *2 3 4", "micro_batch_size");
	check_knob(&task, "recompute", "full *attention off",
		"activation_recompute");                                    /* the run target says so */
	check_knob(&task, "loss", "full *chunked", "cross_entropy_kernel"); /* LOSS_CHUNKED */
	check_knob(&task, "matmul", "*plain blocked blas", "blas_backend"); /* a table in another file */
	check_knob(&task, "opt_level", "*-O2 -O3", "cc_opt_level");         /* the comment's -O0 is none */
	check_knob(&task, "arch", "* -march=native", "cc_march_native");
	check_knob(&task, "threads", "1 *2 4", "omp_num_threads");
	check_knob(&task, "bind", "*false close spread", "omp_proc_bind");
	assert_null(task_find_knob(&task, "storage")); /* another precision is the owner's to allow */
	assert_null(task_find_knob(&task, "seed"));
	check_text(&p, "infrarsi.yaml", "# - {name: storage, values: [fp32, bf16], reference: fp32", true);
	check_text(&p, "infrarsi.yaml", "not-of-the-job", false); /* another program's option */
	check_text(&p, "infrarsi.yaml", "commented-out", false);
	assert_int_equal(task.contract.updates, 30);
	assert_true(task.contract.global_batch == 12 && task.contract.seq_len == 128);
	assert_true(task.contract.memory_cap_bytes == 48.0 * 1024 * 1024);
	assert_string_equal(joined(&task.contract.precision), "fp32");
	assert_string_equal(joined(&task.contract.editable_files), "kernels.c loss.c main.c");
	assert_string_equal(
		joined(&task.contract.frozen_files), "check.c corpus.c options.c options.h Makefile");
	check_argv(&task, "./train --micro-batch 2 --grad-accum 6 --seq-len 128 --steps 30 --memory-mib 48 "
			  "--recompute attention "
			  "--loss chunked --seed 7 --matmul plain");
	assert_true(report.asks >= 5);
	assert_string_equal(report.facts[0].what, "Stack");
	assert_string_equal(report.facts[0].value, "native C (Makefile, OpenMP)");
	assert_string_equal(report.facts[0].where, "found in Makefile:11, Makefile:5");
	check_text(&p, ".infrarsi/.gitignore", "*", true);
	assert_int_equal(task.n_proposers, 1);
	assert_int_equal(task.proposers[0].kind, PROPOSE_CATALOGUE);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

/* data/mechanisms.yaml: blas_backend none -> openblas ln 0.9674 (karpathy/llm.c PR#840), so e^0.9674 - 1 =
 * 163%. */
static void priors_come_from_the_catalogue(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("tables", &p, &report, &task);
	const struct knob *k = task_find_knob(&task, "matmul");
	assert_true(k->settings[2].has_prior_gain && k->settings[2].prior_gain_ln > 0.96 &&
		    k->settings[2].prior_gain_ln < 0.975);
	assert_false(k->settings[0].has_prior_gain);
	assert_false(task_find_knob(&task, "lto")
			     ->settings[1]
			     .has_prior_gain); /* no evidence for a training job */
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void comparison_chain_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("chain", &p, &report, &task);
	check_knob(
		&task, "attention", "*naive flash", "attention_backend"); /* the words from the help text */
	check_knob(&task, "flash_bias", "*off on", "attention_backend");
	check_knob(&task, "opt_level", "*-O2 -O3", "cc_opt_level");
	assert_null(task_find_knob(&task, "optimizer")); /* sgd or adam is what is trained */
	assert_null(task_find_knob(&task, "shuffle_by"));
	check_text(
		&p, "infrarsi.yaml", "# - {name: shuffle_by, values: [row, document], reference: row", true);
	assert_string_equal(joined(&task.build), "make -j2 trainer CFLAGS=-Wall {opt_level} -g {arch}");
	check_argv(&task, "./trainer --batch 16 --iters 30 --attention naive --prefetch-mode none");
	assert_true(task.contract.seq_len == 0); /* nothing says, so nothing is invented */
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void getopt_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("getopt", &p, &report, &task);
	check_knob(&task, "level", "*fast safe max", "cc_opt_level"); /* LEVEL_x variables */
	check_knob(&task, "use_lto", "*0 1", "cc_lto");
	check_knob(&task, "native", "* 1", "cc_march_native");
	check_knob(&task, "recompute", "*off on", "activation_recompute");
	check_knob(&task, "threads", "1 2 *3 4", "omp_num_threads");
	assert_string_equal(joined(&task.contract.frozen_files), "GNUmakefile build.mk");
	check_argv(&task, "./bin/train --micro-batch 4 --accum 2 --threads 3 --max-steps 30");
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void one_letter_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("letters", &p, &report, &task);
	check_argv(&task, "./train_model -b 8 -x 30");
	assert_true(task.contract.seq_len == 256);
	assert_null(task_find_knob(&task, "opt_level")); /* CFLAGS depends on conditions */
	check_text(&p, "infrarsi.yaml", "CFLAGS depends on conditions (makefile:1)", true);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

/* A torch program with argparse, started by a script: options from both, what its modules are, the constant
 * that is the sequence length. Nothing says that it reports. */
static void argparse_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("torch", &p, &report, &task);
	assert_string_equal(task.stack, "ddp");
	check_argv(&task, "python3 pretrain_small.py corpus.bin --max-steps 30 --attention sdpa "
			  "--grad-accum-steps 4 --micro-batch-size 4 --num-workers 2");
	check_knob(&task, "micro_batch", "1 2 *4 8 16", "micro_batch_size");
	check_knob(&task, "attention", "eager *sdpa flash", "attention_backend");
	check_knob(&task, "activation_checkpointing", "*off on", "activation_recompute");
	check_knob(&task, "num_workers", "0 1 *2 4 8", "dataloader_workers");
	assert_int_equal(task.n_knobs, 4);
	assert_true(task.contract.global_batch == 16);
	assert_true(task.contract.seq_len == 512);
	assert_string_equal(joined(&task.contract.frozen_files), "loading.py");
	assert_string_equal(joined(&task.contract.editable_files), "pretrain_small.py small_model.py");
	check_text(&p, "infrarsi.yaml", "# ASK: does the job report its updates?", true);
	check_text(&p, "infrarsi.yaml", "TOKENIZERS_PARALLELISM: \"false\"", true);
	check_text(&p, "infrarsi.yaml", "# - {name: dtype, values: [fp32, bf16], reference: bf16", true);
	check_text(&p, "infrarsi.yaml", "# - {name: mystery, values: [a, b]", true);
	check_text(&p, "infrarsi.yaml", "--computed (pretrain_small.py:24): left as it is", true);
	check_text(&p, "infrarsi.yaml", "\nbuild:", false);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

/* Every number at the file's top level is an option, and the README says how it is started. */
static void globals_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("globals", &p, &report, &task);
	check_argv(&task, "python train.py --batch_size=8 --compile=False --gradient_accumulation_steps=40 "
			  "--block_size=1024 --max_iters=30");
	check_knob(&task, "micro_batch", "1 2 4 *8 16 32 64", "micro_batch_size");
	check_knob(&task, "compile", "*False True", "torch_compile");
	assert_true(task.contract.global_batch == 320);
	assert_true(task.contract.seq_len == 1024);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

/* The options are the framework's own: those that the line has are known, eight devices multiply the batch,
 * and the framework's log stands in for a hook. */
static void launcher_job(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	init_fixture("hf", &p, &report, &task);
	assert_string_equal(task.stack, "log:hf-trainer");
	check_argv(&task, "torchrun --nproc_per_node 8 finetune.py --output_dir out --max_steps 30 "
			  "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --optim "
			  "adamw_torch --bf16 --dataloader_num_workers 2");
	check_knob(&task, "micro_batch", "1 *2 4 8", "micro_batch_size");
	check_knob(&task, "dataloader_num_workers", "0 1 *2 4 8", "dataloader_workers");
	assert_int_equal(task.launch.devices_per_node, 8);
	assert_true(task.contract.global_batch == 64);
	check_text(&p, "infrarsi.yaml", "micro_batch * grad_accum * data_parallel == global_batch", true);
	check_text(&p, "infrarsi.yaml", "global_batch // (micro_batch * data_parallel)", true);
	check_text(&p, "infrarsi.yaml", "does the job report its updates?", false);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void check_refused(const struct folder *p, enum err_code code, const char *says)
{
	struct init_report report;
	struct err e = ERR_INIT;
	assert_int_equal(run_in(p, false, &report, &e), code);
	if (!strstr(e.message, says))
		fail_msg("'%s' lacks '%s'", e.message, says);
	assert_false(path_exists(in(p, "infrarsi.yaml")));
	assert_false(path_exists(in(p, "infrarsi.lock")));
	assert_false(path_exists(in(p, ".infrarsi")));
}

/* The commented entries are in the form of the format: uncommented they load. */
static void proposers_are_offered(void **state)
{
	(void)state;
	static const struct {
		const char *comment, *entry;
		enum proposer_kind kind;
	} offers[] = {
		{"  # - {kind: patches,", "  - {kind: patches,", PROPOSE_PATCHES},
		{"  # - {kind: openai,", "  - {kind: openai,", PROPOSE_OPENAI},
		{"  # - {kind: command,", "  - {kind: command,", PROPOSE_COMMAND},
		{"  # - {kind: replay,", "  - {kind: replay,", PROPOSE_REPLAY},
	};
	struct folder p;
	struct init_report report;
	struct task task;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	init_fixture("tables", &p, &report, &task);
	task_release(&task);
	check_text(
		&p, "infrarsi.yaml", "  # - {kind: anthropic, model: NAME, key_env: ANTHROPIC_API_KEY", true);
	must(file_read(in(&p, "infrarsi.yaml"), FILE_CAP_DEFAULT, &text, &e), &e);
	for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
		char *at = strstr(text.buf, offers[i].comment);
		assert_non_null(at);
		size_t shorter = strlen(offers[i].comment) - strlen(offers[i].entry);
		memmove(at, at + shorter, strlen(at + shorter) + 1);
		memcpy(at, offers[i].entry, strlen(offers[i].entry));
	}
	write_text(&p, "infrarsi.yaml", text.buf);
	assert_int_equal(mkdir(in(&p, "patches"), 0755), 0);
	write_text(&p, "answers.jsonl", "");
	load(&p, &task);
	assert_int_equal(task.n_proposers, 1 + ARRAY_LEN(offers));
	for (size_t i = 0; i < ARRAY_LEN(offers); i++)
		assert_int_equal(task.proposers[i + 1].kind, offers[i].kind);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void a_folder_of_patches_is_named(void **state)
{
	(void)state;
	struct folder p = folder_of("tables");
	struct init_report report;
	struct task task;
	struct err e = ERR_INIT;
	assert_int_equal(mkdir(in(&p, "patches"), 0755), 0);
	write_text(&p, "patches/one.diff", "");
	commit(p.dir);
	must(run_in(&p, false, &report, &e), &e);
	load(&p, &task);
	assert_int_equal(task.n_proposers, 2);
	assert_int_equal(task.proposers[0].kind, PROPOSE_CATALOGUE);
	assert_string_equal(task.proposers[1].dir, "patches");
	check_text(&p, "infrarsi.yaml", "# - {kind: patches", false);
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void refuses_what_is_no_committed_repository(void **state)
{
	(void)state;
	struct folder p = empty_folder();
	struct err e = ERR_INIT;
	write_text(&p, "Makefile", "train: train.o\n");
	check_refused(&p, ERR_STATE, "git init && git add -A && git commit");
	must(git_run(p.dir, NULL, &e, "init", "-q", NULL), &e);
	check_refused(&p, ERR_STATE, "no commit yet");
	leave(&p);
	struct folder gone = {"/tmp/infrarsi-init-no-such-folder"};
	check_refused(&gone, ERR_NOT_FOUND, "no folder");
}

static void refuses_what_it_does_not_recognise(void **state)
{
	(void)state;
	struct folder p = empty_folder();
	write_text(&p, "train.py", "print('hello')\n");
	commit(p.dir);
	check_refused(&p, ERR_INPUT, "no Makefile");
	check_refused(&p, ERR_INPUT, "docs/task-file.md");
	write_text(&p, "Makefile", "clean:\n\trm -f x\n");
	check_refused(&p, ERR_INPUT, "no rule that links one");
	write_text(&p, "Makefile", "train: train.o\n");
	check_refused(&p, ERR_INPUT, "no C source");
	leave(&p);
}

static void keeps_an_existing_task_file(void **state)
{
	(void)state;
	struct folder p;
	struct init_report report;
	struct task task;
	struct err e = ERR_INIT;
	init_fixture("tables", &p, &report, &task);
	task_release(&task);
	init_report_release(&report);
	CLEANUP(strbuf_release) struct strbuf mine = STRBUF_INIT, after = STRBUF_INIT;
	must(file_read(in(&p, "infrarsi.yaml"), FILE_CAP_DEFAULT, &mine, &e), &e);
	strbuf_addstr(&mine, "# mine\n");
	write_text(&p, "infrarsi.yaml", mine.buf);

	must(run_in(&p, false, &report, &e), &e); /* a comment changes no contract */
	assert_false(report.wrote_task || report.wrote_lock || report.lock_differs);
	assert_string_equal(report.lock_differences, "");
	assert_string_equal(report.next, "infrarsi doctor");
	init_report_release(&report);

	write_text(&p, "corpus.c", "int next_row(void) { return 7; }\n");
	must(run_in(&p, false, &report, &e), &e);
	assert_true(report.lock_differs && !report.wrote_lock && strstr(report.lock_differences, "corpus.c"));
	init_report_release(&report);
	must(run_in(&p, true, &report, &e), &e);
	assert_true(report.lock_differs && report.wrote_lock && !report.wrote_task);
	init_report_release(&report);
	must(run_in(&p, false, &report, &e), &e);
	assert_false(report.lock_differs);
	init_report_release(&report);

	write_text(&p, "infrarsi.lock", "not json");
	must(run_in(&p, false, &report, &e), &e);
	assert_true(report.lock_differs && strstr(report.lock_differences, "cannot be read"));
	init_report_release(&report);
	assert_int_equal(unlink(in(&p, "infrarsi.lock")), 0);
	must(run_in(&p, false, &report, &e), &e);
	assert_true(report.wrote_lock && !report.lock_differs);
	init_report_release(&report);

	must(file_read(in(&p, "infrarsi.yaml"), FILE_CAP_DEFAULT, &after, &e), &e);
	assert_string_equal(after.buf, mine.buf);
	leave(&p);
}

static void names_the_line_of_a_broken_task_file(void **state)
{
	(void)state;
	struct folder p = folder_of("chain");
	struct init_report report;
	struct err e = ERR_INIT;
	write_text(&p, "infrarsi.yaml", "version: 1\nname: x\nlunch: {}\n");
	assert_int_equal(run_in(&p, false, &report, &e), ERR_INPUT);
	assert_int_equal(e.line, 3);
	assert_false(path_exists(in(&p, "infrarsi.lock")));
	leave(&p);
}

static void executes_nothing(void **state)
{
	(void)state;
	struct folder p = folder_of("chain");
	struct init_report report;
	struct err e = ERR_INIT;
	write_text(&p, "Makefile",
		"X := $(shell touch executed)\nY != touch executed\ntrainer: trainer.o $(X)\nrun: trainer\n"
		"\t@$(shell touch executed) ./trainer `touch executed`\n");
	must(run_in(&p, false, &report, &e), &e);
	assert_false(path_exists(in(&p, "executed")));
	init_report_release(&report);
	leave(&p);
}

static void write_many_variables(const struct folder *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, "A = $(B)$(B)$(B)\nB = $(A)$(A)$(A)\nall: trainer\ntrainer: trainer.c "
			     "$(A)\n\tcc -o trainer trainer.c\n");
	for (int i = 0; i < 10000; i++)
		strbuf_addf(&text, "OPT%d ?= -O2\nifeq ($(OPT%d),$(A))\nZ += -flto\nendif\n", i, i);
	write_text(p, "Makefile", text.buf);
}

static void write_large(const struct folder *p, const char *name, char with, size_t length)
{
	CLEANUP(free_ptr) char *bytes = xmalloc(length);
	struct err e = ERR_INIT;
	memset(bytes, with, length);
	must(file_write_atomic(in(p, name), bytes, length, 0644, &e), &e);
}

static void is_bounded_on_hostile_repositories(void **state)
{
	(void)state;
	struct folder p = folder_of("chain");
	struct init_report report;
	struct task task;
	struct err e = ERR_INIT;
	write_many_variables(&p);
	write_large(&p, "huge.h", ' ', (2 << 20));
	write_large(&p, "binary.h", '\0', 4096);
	write_large(&p, "brackets.h", '(', 900000);
	write_large(&p, "quotes.h", '"', 900000);
	assert_int_equal(symlink(".", in(&p, "loop")), 0);
	assert_int_equal(symlink("/dev/zero", in(&p, "zero.c")), 0);
	assert_int_equal(mkfifo(in(&p, "pipe.c"), 0644), 0);
	write_text(&p, "we\"ird\\ [a]{b}.h", "int x;\n");
	write_text(&p, "line\nbreak.h", "int x;\n");
	must(run_in(&p, false, &report, &e), &e);
	load(&p, &task);
	check_text(&p, "infrarsi.yaml", "# huge.h: larger than 1 MiB, not looked at", true);
	check_text(&p, "infrarsi.yaml", "# binary.h: binary, not looked at", true);
	check_text(&p, "infrarsi.yaml", "variables and rules of the Makefile were looked at", true);
	check_text(&p, "infrarsi.yaml", "break.h", false);
	assert_true(task.n_knobs < 10);
	assert_non_null(strstr(joined(&task.contract.editable_files), "we\"ird\\ ?a]{b}.h"));
	task_release(&task);
	init_report_release(&report);
	leave(&p);
}

static void read_guide(struct strbuf *guide)
{
	struct err e = ERR_INIT;
	must(file_read(getenv("GUIDE"), FILE_CAP_DEFAULT, guide, &e), &e);
}

static void the_guides_example_loads(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf guide = STRBUF_INIT;
	struct task task;
	struct err e = ERR_INIT;
	read_guide(&guide);
	const char *begin = strstr(guide.buf, "```yaml\n");
	assert_non_null(begin);
	begin += strlen("```yaml\n");
	const char *end = strstr(begin, "```");
	must(task_parse("docs/task-file.md", "/tmp", begin, (size_t)(end - begin), &task, &e), &e);
	check_argv(&task, "./train --micro-batch 1 --accum 64 --steps 30 --attention naive --recompute");
	task_release(&task);
}

static void the_guides_proposers_load(void **state)
{
	(void)state;
	static const char head[] = "version: 1\nname: x\nlaunch: {command: [./t]}\n"
				   "contract: {updates: 5, editable_files: [a.c]}\n";
	CLEANUP(strbuf_release) struct strbuf guide = STRBUF_INIT;
	struct folder p = empty_folder();
	struct task task;
	read_guide(&guide);
	const char *begin = strstr(guide.buf, "```yaml\nproposers:");
	assert_non_null(begin);
	begin += strlen("```yaml\n");
	CLEANUP(free_ptr)
	char *text = xasprintf("%s%.*s", head, (int)(strstr(begin, "```") - begin), begin);
	write_text(&p, "infrarsi.yaml", text);
	write_text(&p, "answers.jsonl", "");
	assert_int_equal(mkdir(in(&p, "patches"), 0755), 0);
	load(&p, &task);
	assert_int_equal(task.n_proposers, N_PROPOSER_KINDS); /* one of each */
	for (size_t i = 0; i < task.n_proposers; i++)
		assert_string_equal(task.proposers[i].name, proposer_kind_names[task.proposers[i].kind]);
	task_release(&task);
	leave(&p);
}

static void the_guide_has_every_field(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf guide = STRBUF_INIT, fields = STRBUF_INIT;
	read_guide(&guide);
	task_describe_fields(&fields);
	for (const char *p = fields.buf; *p; p += strcspn(p, "\n") + 1) {
		CLEANUP(free_ptr) char *row = xasprintf("| `%.*s` |", (int)strcspn(p, " "), p);
		if (!strstr(guide.buf, row))
			fail_msg("docs/task-file.md lacks %s", row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option_table_job),
		cmocka_unit_test(priors_come_from_the_catalogue),
		cmocka_unit_test(comparison_chain_job),
		cmocka_unit_test(getopt_job),
		cmocka_unit_test(one_letter_job),
		cmocka_unit_test(argparse_job),
		cmocka_unit_test(globals_job),
		cmocka_unit_test(launcher_job),
		cmocka_unit_test(proposers_are_offered),
		cmocka_unit_test(a_folder_of_patches_is_named),
		cmocka_unit_test(refuses_what_is_no_committed_repository),
		cmocka_unit_test(refuses_what_it_does_not_recognise),
		cmocka_unit_test(keeps_an_existing_task_file),
		cmocka_unit_test(names_the_line_of_a_broken_task_file),
		cmocka_unit_test(executes_nothing),
		cmocka_unit_test(is_bounded_on_hostile_repositories),
		cmocka_unit_test(the_guides_example_loads),
		cmocka_unit_test(the_guides_proposers_load),
		cmocka_unit_test(the_guide_has_every_field),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
