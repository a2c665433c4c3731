/* The init stage on Python programs written here, one or two files each: which words of the line stay, which
 * become knobs, which are asked about. What argparse makes of a line is as its manual says. */
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

static const struct init_host host = {.cpus = 4, .has_clang = false};

struct file {
	const char *path, *text;
};

static void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("%s:%d: %s", e->file, e->line, e->message);
}

static void write_files(const char *dir, const struct file *files, size_t n)
{
	struct err e = ERR_INIT;
	for (size_t i = 0; i < n && files[i].path; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, files[i].path);
		char *slash = strrchr(path, '/');
		*slash = '\0';
		must(make_dirs(path, 0755, &e), &e);
		*slash = '/';
		must(file_write_atomic(path, files[i].text, strlen(files[i].text), 0644, &e), &e);
	}
}

/* The task file that init writes for these files. */
static void propose_for(const struct file *files, size_t n, struct strbuf *ret_yaml)
{
	char dir[64];
	struct err e = ERR_INIT;
	struct init_report report;
	snprintf(dir, sizeof(dir), "/tmp/infrarsi-python-XXXXXX");
	assert_non_null(mkdtemp(dir));
	write_files(dir, files, n);
	must(git_run(dir, NULL, &e, "init", "-q", NULL), &e);
	must(git_run(dir, NULL, &e, "add", "-A", NULL), &e);
	must(git_run(dir, NULL, &e, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start",
		     NULL),
		&e);
	const struct init_options options = {.dir = dir, .catalogue = getenv("CATALOGUE")};
	must(init_run_on(&options, &host, &report, &e), &e);
	init_report_release(&report);
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.yaml", dir);
	must(file_read(path, FILE_CAP_DEFAULT, ret_yaml, &e), &e);
	must(remove_tree(dir, &e), &e);
}

/* The launch command's words, one blank between them. */
static void read_command(const char *yaml, struct strbuf *ret_words)
{
	const char *p = strstr(yaml, "  command: [");
	assert_non_null(p);
	for (p = strchr(p, '"'); p && *p == '"'; p += strspn(p, ", \n")) {
		if (ret_words->len)
			strbuf_addch(ret_words, ' ');
		for (p++; *p && *p != '"'; p++)
			strbuf_addch(ret_words, *p);
		p += *p == '"';
	}
}

struct expected {
	const char *command; /* NULL = not looked at */
	const char *has[8], *lacks[4];
};

static void check(const struct file *files, size_t n, const struct expected *x)
{
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT, words = STRBUF_INIT;
	propose_for(files, n, &yaml);
	read_command(yaml.buf, &words);
	if (x->command)
		assert_string_equal(words.buf, x->command);
	for (size_t i = 0; i < ARRAY_LEN(x->has) && x->has[i]; i++)
		if (!strstr(yaml.buf, x->has[i]))
			fail_msg("lacks '%s':\n%s", x->has[i], yaml.buf);
	for (size_t i = 0; i < ARRAY_LEN(x->lacks) && x->lacks[i]; i++)
		if (strstr(yaml.buf, x->lacks[i]))
			fail_msg("has '%s':\n%s", x->lacks[i], yaml.buf);
}

#define PROGRAM(arguments)                                                                                   \
	"import argparse\nimport torch\np = argparse.ArgumentParser()\n" arguments                           \
	"a = p.parse_args()\ntorch.zeros(1).sum().backward()\n"

/* A program with these arguments, started by this line. */
static void check_program(const char *program, const char *line, const struct expected *x)
{
	const struct file files[] = {{"train.py", program}, {"run.sh", line}};
	check(files, ARRAY_LEN(files), x);
}

static void the_launchers_options_stay_before_the_script(void **state)
{
	(void)state;
	const char *program = PROGRAM("p.add_argument('--config_file')\n"
				      "p.add_argument('--log_dir', default='x')\n"
				      "p.add_argument('--max_steps', type=int, default=5)\n");
	check_program(program,
		"accelerate launch --config_file c.yaml --num_processes 8 train.py --log_dir d --max_steps "
		"9\n",
		&(struct expected){"accelerate launch --config_file c.yaml --num_processes 8 train.py "
				   "--log_dir d --max_steps {updates}",
			{"devices_per_node: 8"}});
	check_program(program, "torchrun --log_dir d train.py --log_dir e\n",
		&(struct expected){"torchrun --log_dir d train.py --log_dir e --max_steps {updates}"});
}

static void several_values_stay_together(void **state)
{
	(void)state;
	const char *program = PROGRAM("p.add_argument('--betas', nargs=2, type=float)\n"
				      "p.add_argument('--attention', nargs='?', choices=['eager', 'sdpa'])\n"
				      "p.add_argument('-v', action='count')\n"
				      "p.add_argument('--tag', action='append', choices=['a', 'b'])\n"
				      "p.add_argument('--recompute', action='store_const', const=1)\n"
				      "p.add_argument('--compile', action=argparse.BooleanOptionalAction)\n"
				      "p.add_argument('--torch-compile', type=bool, choices=[True, False])\n"
				      "p.add_argument('--max-steps', type=int)\n");
	const char *words = "--betas 0.9 -0.95 -v -v --tag a --tag b --attention eager --no-compile "
			    "--torch-compile False --recompute";
	CLEANUP(free_ptr) char *line = xasprintf("python train.py %s --max-steps 9 data.bin\n", words);
	CLEANUP(free_ptr)
	char *command = xasprintf("python train.py %s --max-steps {updates} data.bin", words);
	check_program(program, line,
		&(struct expected){command, {"knobs: []", "--betas (train.py:4)"}, {"{name: "}});
}

static void values_are_replaced_in_place(void **state)
{
	(void)state;
	const char *program =
		PROGRAM("p.add_argument('-j', '--num-workers', '--loader-threads', type=int, default=0)\n"
			"p.add_argument('--max_steps', type=int, default=-1)\n"
			"p.add_argument('-l', '--level', default=1)\np.add_argument('-lr', default=1)\n"
			"p.add_argument('--attn', choices=['eager', 'sdpa'], default='eager')\n");
	const struct {
		const char *line, *command, *workers;
	} cases[] = {
		{"--max_steps -1 -j 8 -lr 2 x",
			"--max_steps {updates} --num-workers {num_workers} -lr 2 x "
			"--attn {attn}",
			"reference: 8"},
		{"-j2 --max_steps=7", "--num-workers {num_workers} --max_steps {updates} --attn {attn}",
			"reference: 2"},
		{"--loader-threads 4 x", "--num-workers {num_workers} x --max_steps {updates} --attn {attn}",
			"reference: 4"},
		{"--attn=sdpa --num-w 1 --att eager -j 3",
			"--attn {attn} --num-workers {num_workers} --max_steps {updates}", "reference: 3"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(free_ptr) char *line = xasprintf("python train.py %s\n", cases[i].line);
		CLEANUP(free_ptr)
		char *command = xasprintf("python train.py %s", cases[i].command);
		check_program(program, line, &(struct expected){command, {cases[i].workers}});
	}
}

static void what_is_trained_is_never_free(void **state)
{
	(void)state;
	const char *program =
		PROGRAM("p.add_argument('--attention', choices=['sdpa', 'linear'], default='sdpa')\n"
			"p.add_argument('--loss', choices=['fused', 'dense'], default='dense')\n"
			"p.add_argument('--optimizer-impl', choices=['x', 'y'], default='x')\n"
			"p.add_argument('--flash-head', action='store_true')\n"
			"p.add_argument('--compile', action='store_true', default=True)\n"
			"p.add_argument('--gradient-checkpointing', action='store_false')\n"
			"p.add_argument('--grad-checkpointing', action='store_true')\n"
			"p.add_argument('--attn-impl', choices=['eager', 'sdpa'], default=pick())\n");
	check_program(program, "python train.py --flash-head\n",
		&(struct expected){"python train.py --flash-head {grad_checkpointing_flag}",
			{"\n  # - {name: attention, values: [sdpa, linear]", "\n  # - {name: loss,",
				"\n  # - {name: optimizer_impl,", "--flash-head (train.py:7)",
				"--compile (train.py:8)", "--gradient-checkpointing (train.py:9)",
				"\n  - {name: grad_checkpointing,", "\n  # - {name: attn_impl,"},
			{"\n  - {name: a", "\n  - {name: loss", "\n  - {name: o", "\n  - {name: compile"}});
}

static void workers_are_asked_about(void **state)
{
	(void)state;
	check_program(PROGRAM("p.add_argument('--workers', type=int, default=2)\n"
			      "p.add_argument('--eval_workers', type=int, default=2)\n"),
		"python train.py\n",
		&(struct expected){"python train.py --workers {workers}",
			{"# ASK: each worker draws random numbers of its own", "\n  - {name: workers,"},
			{"{name: eval_workers"}});
	check_program(PROGRAM("p.add_argument('--workers', type=int, default=os.cpu_count())\n"),
		"python train.py\n", &(struct expected){"python train.py", {"\n  # - {name: workers,"}});
}

static void only_whole_names_mean_steps_and_batches(void **state)
{
	(void)state;
	const char *words =
		"--logging_steps 7 --checkpointing_steps 8 --lr-decay-iters 9 --diffusion-steps 5 "
		"--context-parallel 2 --eval_batch_size 4 --val-batch 4 --mem-len 3";
	const char *program =
		PROGRAM("for o in (): pass\np.add_argument('--logging_steps')\n"
			"p.add_argument('--checkpointing_steps')\np.add_argument('--lr-decay-iters')\n"
			"p.add_argument('--diffusion-steps')\np.add_argument('--context-parallel')\n"
			"p.add_argument('--eval_batch_size')\np.add_argument('--val-batch')\n"
			"p.add_argument('--mem-len')\np.add_argument('--train-iters')\n"
			"p.add_argument('--Seq-Length', default=64)\n");
	CLEANUP(free_ptr) char *line = xasprintf("python train.py %s --train-iters 3\n", words);
	CLEANUP(free_ptr)
	char *command = xasprintf("python train.py %s --train-iters {updates} --Seq-Length {seq_len}", words);
	check_program(program, line,
		&(struct expected){command, {"knobs: []", "  seq_len: 64\n", "  # global_batch: 1\n"}});
}

/* Of how many devices a batch is that is only called so, the program does not say. */
static void a_vague_batch_stays(void **state)
{
	(void)state;
	const char *program = PROGRAM("p.add_argument('--batch-size', type=int, default=32)\n");
	check_program(program, "torchrun --nproc-per-node=2 train.py --batch-size 8\n",
		&(struct expected){"torchrun --nproc-per-node=2 train.py --batch-size 8",
			{"devices_per_node: 2", "  # global_batch: 1\n",
				"--batch-size (train.py:4), today 8"}});
	check_program(program, "python train.py\n",
		&(struct expected){"python train.py", {"  global_batch: 32\n"}});
	check_program(PROGRAM("p.add_argument('--global-batch', default=32)\n"
			      "p.add_argument('--mbs', default=4)\n"),
		"torchrun --nproc-per-node=2 train.py\n",
		&(struct expected){"torchrun --nproc-per-node=2 train.py --global-batch {global_batch} --mbs "
				   "{micro_batch}",
			{"  global_batch: 32\n", "micro_batch, values: [1, 2, 4, 8, 16], reference: 4"}});
}

/* Of a model that is spread over devices or machines nobody can tell how many rows an update has. */
static void a_spread_model_has_no_micro_batch(void **state)
{
	(void)state;
	static const char program[] = PROGRAM("p.add_argument('--micro-batch-size', default=4)\n"
					      "p.add_argument('--grad-accum', default=2)\n"
					      "p.add_argument('--tensor-parallel-size', default=1)\n");
	check_program(program, "torchrun --nproc-per-node=2 train.py\n",
		&(struct expected){NULL, {"  global_batch: 16\n", "micro_batch, values: [1, 2, 4, 8]"}});
	check_program(program, "torchrun --nproc-per-node=2 train.py --tensor-parallel-size 2\n",
		&(struct expected){"torchrun --nproc-per-node=2 train.py --tensor-parallel-size 2",
			{"devices_per_node: 2", "  # global_batch: 1\n",
				"--tensor-parallel-size is 2: several devices hold one model"},
			{"micro_batch,", "data_parallel"}});
	check_program(program, "torchrun --nnodes 4 --nproc-per-node=2 train.py\n",
		&(struct expected){"torchrun --nnodes 4 --nproc-per-node=2 train.py",
			{"the line starts 4 machines (--nnodes), InfraRSI measures on one",
				"  # global_batch: 1\n"},
			{"micro_batch,", "data_parallel"}});
	static const char *const vague[] = {"torchrun --nproc-per-node=gpu train.py\n",
		"torchrun --nproc_per_node auto train.py\n",
		"torchrun --nnodes=1:4 --nproc-per-node=2 train.py\n", "deepspeed train.py\n",
		"deepspeed --include localhost:0,1 train.py\n", "accelerate launch --multi_gpu train.py\n"};
	for (size_t i = 0; i < ARRAY_LEN(vague); i++)
		check_program(program, vague[i],
			&(struct expected){
				NULL, {"  # global_batch: 1\n"}, {"micro_batch,", "data_parallel"}});
	check_program(program, "deepspeed --num_gpus 2 train.py\n",
		&(struct expected){NULL, {"  global_batch: 16\n"}});
	static const char *const dimensions[] = {"--tp_degree 2", "--mp 2", "--ulysses-degree 2",
		"--pipeline-stages 2", "--context_parallel_size 2", "--gpus 8",
		"--parallelism.tensor_parallel_degree 2"};
	for (size_t i = 0; i < ARRAY_LEN(dimensions); i++) {
		CLEANUP(free_ptr) char *name = xstrdup(dimensions[i]);
		name[strcspn(name, " ")] = '\0';
		CLEANUP(free_ptr)
		char *spread =
			xasprintf("%sp = argparse.ArgumentParser()\np.add_argument('--micro-batch-size', "
				  "default=4)\np.add_argument('--grad-accum', default=2)\n"
				  "p.add_argument('%s')\np.parse_args()\ntorch.zeros(1).sum().backward()\n",
				"import argparse\nimport torch\n", name);
		CLEANUP(free_ptr)
		char *line = xasprintf("torchrun --nproc-per-node=4 train.py %s\n", dimensions[i]);
		check_program(spread, line,
			&(struct expected){
				NULL, {"  # global_batch: 1\n"}, {"micro_batch,", "data_parallel"}});
	}
	check_program(program, "torchrun --nnodes=1 --nproc-per-node=2 train.py\n",
		&(struct expected){NULL, {"  global_batch: 16\n"}});
}

/* python -m pkg.train, as Python's manual has it: pkg/train.py, or the __main__.py of a package. */
static void a_module_is_found_by_its_name(void **state)
{
	(void)state;
	static const char program[] = PROGRAM("p.add_argument('--max_steps', type=int, default=5)\n");
	static const struct {
		const char *path, *line, *command;
	} cases[] = {
		{"pkg/train.py", "python -m pkg.train --max_steps 9\n",
			"python -m pkg.train --max_steps {updates}"},
		{"pkg/train/__main__.py", "python -m pkg.train\n",
			"python -m pkg.train --max_steps {updates}"},
		{"pkg/train.py", "python -mpkg.train --max_steps 9\n",
			"python -mpkg.train --max_steps {updates}"},
		{"pkg/train.py", "python -um pkg.train --max_steps 9\n",
			"python -um pkg.train --max_steps {updates}"},
		{"src/pkg/train.py", "torchrun --nproc_per_node 2 -m pkg.train\n",
			"torchrun --nproc_per_node 2 -m pkg.train --max_steps {updates}"},
		{"pkg/train.py", "accelerate launch --module pkg.train\n",
			"accelerate launch --module pkg.train --max_steps {updates}"},
		{"train.py", "python -m torch.distributed.run --nproc_per_node=2 train.py\n",
			"python -m torch.distributed.run --nproc_per_node=2 train.py --max_steps {updates}"},
		{"pkg/train.py", "python -m torch.distributed.launch -m pkg.train\n",
			"python -m torch.distributed.launch -m pkg.train --max_steps {updates}"},
		/* another module, and an argument that is called like one */
		{"pkg/train.py", "python -m other.train\n", "python3 pkg/train.py --max_steps {updates}"},
		{"pkg/train.py", "python -m kg.train\n", "python3 pkg/train.py --max_steps {updates}"},
		{"pkg/train.py", "python other.py -m pkg.train\n",
			"python3 pkg/train.py --max_steps {updates}"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct file files[] = {{cases[i].path, program}, {"run.sh", cases[i].line}};
		check(files, ARRAY_LEN(files), &(struct expected){cases[i].command, {NULL}});
	}
	static const struct {
		const char *path, *line, *command, *env;
	} below[] = {
		{"src/pkg/train.py", "python -m pkg.train\n", "python -m pkg.train", "PYTHONPATH: \"src\"\n"},
		{"src/train.py", "cd src\npython -m train\n", "python -m train", "PYTHONPATH: \"src\"\n"},
		{"src/pkg/train.py", "PYTHONPATH=lib python -m pkg.train\n", "python -m pkg.train",
			"PYTHONPATH: \"lib\"\n"},
	};
	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		const struct file files[] = {{below[i].path, PROGRAM("pass\n")}, {"run.sh", below[i].line}};
		check(files, ARRAY_LEN(files), &(struct expected){below[i].command, {below[i].env}});
	}
}

/* Without a line: what imports from its own package starts as a module of it, from where its imports are
 * found. */
static void a_package_starts_as_a_module(void **state)
{
	(void)state;
	static const char program[] = "from .net import Net\n" PROGRAM("pass\n");
	const struct file plain[] = {{"pkg/train.py", program}, {"pkg/net.py", "class Net: pass\n"}};
	check(plain, ARRAY_LEN(plain), &(struct expected){"python3 -m pkg.train", {NULL}, {"PYTHONPATH"}});
	const struct file inner[] = {
		{"src/a/b/train.py", program}, {"src/a/__init__.py", "\n"}, {"src/a/b/__init__.py", "\n"}};
	check(inner, ARRAY_LEN(inner),
		&(struct expected){"python3 -m a.b.train", {"PYTHONPATH: \"src\"\n"}, {NULL}});
	/* "code" is a module of Python itself, which a folder without __init__.py does not hide. */
	const struct file bare[] = {{"code/net/train.py", program}};
	check(bare, ARRAY_LEN(bare),
		&(struct expected){"python3 -m net.train", {"PYTHONPATH: \"code\"\n"}, {NULL}});
	const struct file deep[] = {{"a/b/c/train.py", "from ..net import Net\n" PROGRAM("pass\n")}};
	check(deep, ARRAY_LEN(deep),
		&(struct expected){"python3 -m b.c.train", {"PYTHONPATH: \"a\"\n"}, {NULL}});
	const struct file named[] = {
		{"pkg/train.py", "def f():\n    from pkg.net import Net\n" PROGRAM("pass\n")},
		{"pkg/__init__.py", "\n"}};
	check(named, ARRAY_LEN(named), &(struct expected){"python3 -m pkg.train", {NULL}, {"PYTHONPATH"}});
	const struct file other[] = {
		{"pkg/train.py", "import pkgs.net\n" PROGRAM("pass\n")}, {"pkg/__init__.py", "\n"}};
	check(other, ARRAY_LEN(other), &(struct expected){"python3 pkg/train.py", {NULL}, {"PYTHONPATH"}});
	const struct file odd[] = {{"v1.0/train.py", program}};
	check(odd, ARRAY_LEN(odd), &(struct expected){"python3 v1.0/train.py", {NULL}, {"PYTHONPATH"}});
}

static void the_line_is_split_as_a_shell_does(void **state)
{
	(void)state;
	static const struct {
		const char *line, *command;
	} cases[] = {
		{"python train.py --name 'a b' --x=\"c d\"e 'f{g}'\n",
			"python train.py --name a b --x=c de f{{g}}"},
		{"$ python ./train.py  # as usual\n", "python ./train.py"},
		{"python train.py \\\n\t--a 1\n", "python train.py --a 1"},
		{"\t@exec python train.py\r\n", "python train.py"},
		{"python -c 'import x' other.py train.py\n", "python3 train.py"},
		{"python train.py --out $HOME\n", "python3 train.py"},
		{"python train.py --out ~/x\n", "python3 train.py"},
		{"python train.py --out x~\n", "python train.py --out x~"},
		{"python train.py *.bin\n", "python3 train.py"},
		{"python train.py \"$x\"\n", "python3 train.py"},
		{"python train.py '$x'\n", "python train.py $x"},
		{"python train.py 'open\n", "python3 train.py"},
		{"python train.py; rm x\n", "python3 train.py"},
		{"python train.py | tee log\n", "python3 train.py"},
		{"python train.py --help\n", "python3 train.py"},
		{"python train.py -h\n", "python3 train.py"},
		{"echo python train.py\n", "python3 train.py"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_program(PROGRAM("pass\n"), cases[i].line,
			&(struct expected){cases[i].command, {"stack: ddp"}});
	check_program(PROGRAM("pass\n"), "N=2\npython train.py --n $N\npython train.py --n 3\n",
		&(struct expected){"python train.py --n 3",
			{"# run.sh:2 starts the program, but with words that need a shell", "run.sh:3"}});
}

/* What comes before the line in its file, and what only looks like one. */
static void lines_are_read_where_they_stand(void **state)
{
	(void)state;
	static const struct {
		const char *path, *text, *command, *has;
	} cases[] = {
		{"run.sh", "export PYTHONPATH=lib A=1\nexport B=$HOME\npython train.py\n", "python train.py",
			"PYTHONPATH: \"lib\"\n"},
		{"run.sh", "python train.py \\\r\n  --n 3\r\n", "python train.py --n 3", NULL},
		{"run.sh", "srun --ntasks 4 python -u train.py --n 3\n", "python3 train.py",
			"# run.sh:1 starts the program, but behind something that init does not know: not "
			"taken"},
		{"run.sh", "env A=1 python train.py --n 3\n", "python train.py --n 3", "A: \"1\""},
		{"run.sh", "uv run python train.py --n 3\n", "uv run python train.py --n 3", NULL},
		{"run.sh", "python3.11 train.py --n 3\n", "python3.11 train.py --n 3", NULL},
		{"README.md", "Run\npython train.py and takes about two hours.\n", "python3 train.py", NULL},
		{"README.md", "```sh\npython train.py --n 3\n```\n", "python train.py --n 3", NULL},
		{"README.md", "$ python train.py --n 3\n", "python train.py --n 3", NULL},
		{"README.rst", "::\n\n    python train.py --n 3\n", "python train.py --n 3", NULL},
		{"README.md",
			"```\ncd examples/tiny\npython train.py --n 9\n```\n```\npython train.py --n "
			"3\n```\n",
			"python train.py --n 3", NULL},
		{"run.sh", "cd ..\npython train.py --n 3\n", "python train.py --n 3", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct file files[] = {{"train.py", PROGRAM("pass\n")}, {cases[i].path, cases[i].text}};
		check(files, ARRAY_LEN(files), &(struct expected){cases[i].command, {cases[i].has}});
	}
	const struct file inner[] = {
		{"src/train.py", PROGRAM("pass\n")}, {"run.sh", "cd ./src/\npython train.py --n 3\n"}};
	check(inner, ARRAY_LEN(inner),
		&(struct expected){"python3 src/train.py",
			{"# run.sh:2 starts the program, but in another folder: not taken"}});
	const struct file several[] = {{"train.py", PROGRAM("pass\n")},
		{"tests/run.sh", "python train.py --n 1\n"}, {"setup.sh", "python train.py --n 2\n"},
		{"train.sh", "python train.py --n 3\n"}};
	check(several, ARRAY_LEN(several), &(struct expected){"python train.py --n 3", {NULL}});
}

static void scripts_for_something_else_are_not_looked_at(void **state)
{
	(void)state;
	const struct file files[] = {
		{"train.py", PROGRAM("pass\n")},
		{"scripts/eval_all.sh", "python train.py --a\n"},
		{"scripts/export.sh", "python train.py --b\n"},
		{"scripts/latest.sh", "python train.py --c\n"},
		{"scripts/run-bench.sh", "python train.py --d\n"},
	};
	check(files, ARRAY_LEN(files), &(struct expected){"python train.py --c"});
}

static void secrets_are_left_out(void **state)
{
	(void)state;
	check_program(PROGRAM("pass\n"),
		"WANDB_API_KEY=abcd HF_TOKEN=efgh TOKENIZERS_PARALLELISM=false python train.py\n",
		&(struct expected){"python train.py",
			{"TOKENIZERS_PARALLELISM: \"false\"", "# WANDB_API_KEY (run.sh:1)",
				"# HF_TOKEN (run.sh:1)", "launch.pass_env"},
			{"abcd", "efgh"}});
}

static void the_trainer_makes_the_stack(void **state)
{
	(void)state;
	static const struct {
		const char *program, *stack;
	} cases[] = {
		{"from transformers import AutoModel\nimport torch\nx.backward()\n# __main__\n",
			"stack: ddp"},
		{"import transformers as t\nt.Seq2SeqTrainer(model).train()\n# __main__\n",
			"stack: log:hf-trainer"},
		{"from trl.trainer import SFTTrainer\nSFTTrainer(m).train()\n# __main__\n",
			"stack: log:hf-trainer"},
		{"import torch\nclass MyTrainer(object): pass\nx.backward()\n# __main__\n", "stack: ddp"},
		{"'''\nfrom transformers import it\n'''\nimport torch\nTrainer(m)\n# __main__\n",
			"stack: ddp"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_program(
			cases[i].program, "python train.py\n", &(struct expected){NULL, {cases[i].stack}});
}

static void other_programs_are_named(void **state)
{
	(void)state;
	const struct file files[] = {
		{"train a.py", PROGRAM("pass\n")},
		{"train_b.py", PROGRAM("pass\n")},
		{"train_c.py", PROGRAM("pass\n")},
		{"sub/train_d.py", PROGRAM("pass\n")},
	};
	check(files, ARRAY_LEN(files),
		&(struct expected){"python3 train_b.py",
			{"# other programs that train: sub/train_d.py, train_c.py (init took train_b.py)"}});
}

static void modules_are_found_by_any_import(void **state)
{
	(void)state;
	static const char *const imports[] = {"from pkg.args import parse\n", "from .args import parse\n",
		"import pkg.args\n", "from pkg import args\n", "import os, pkg.args as x\n",
		"from . import (\n  other,\n  args as y,\n)\n"};
	for (size_t i = 0; i < ARRAY_LEN(imports); i++) {
		CLEANUP(free_ptr) char *program = xasprintf("%s%s", imports[i], PROGRAM("pass\n"));
		const struct file files[] = {{"train.py", program},
			{"pkg/args.py", "def f(p):\n  p.add_argument('--max-steps', default=3)\n"},
			{"pkg/margs.py", "def f(p):\n  p.add_argument('--seq-len', default=3)\n"}};
		check(files, ARRAY_LEN(files), &(struct expected){"python3 train.py --max-steps {updates}"});
	}
}

/* data/mechanisms.yaml: --recompute-granularity is full, selective or absent; flash_attention_2 and
 * kernels-community/flash-attn2 are the same. */
static void the_catalogue_gives_each_value_once(void **state)
{
	(void)state;
	check_program("from megatron.training import pretrain\npretrain()\n# __main__\n",
		"torchrun --recompute-granularity x train.py --recompute-granularity full --train-iters 5\n",
		&(struct expected){"torchrun --recompute-granularity x train.py --recompute-granularity full "
				   "--train-iters {updates}",
			{"\n  # - {name: recompute_granularity, values: [full, selective], reference: full",
				"put \"--recompute-granularity\", \"{recompute_granularity}\""},
			{"absent", "present"}});
	check_program("import transformers\nTrainer(m).train()\n# __main__\n",
		"python train.py --attn_implementation kernels-community/flash-attn2\n",
		&(struct expected){"python train.py --attn_implementation kernels-community/flash-attn2",
			{"values: [eager, sdpa, flash_attention_3, flex_attention, "
			 "\"kernels-community/flash-attn2\"], reference"}});
}

static void a_file_of_settings_makes_defaults_unknown(void **state)
{
	(void)state;
	check_program(PROGRAM("p.add_argument('--config')\n"
			      "p.add_argument('--grad-checkpoint', action='store_true')\n"),
		"python train.py --config c.yaml\n",
		&(struct expected){"python train.py --config c.yaml", {"knobs: []"}});
	check_program("import torch\ncompile = True\nbatch_size = 4\ngradient_accumulation_steps = 2\n"
		      "exec(open('configurator.py').read())\nx.backward()\n",
		"python train.py config/a.py --batch_size=8\n",
		&(struct expected){"python train.py config/a.py --batch_size=8",
			{"\n  # - {name: compile,", "# config/a.py may set options"}, {"{micro_batch}"}});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_launchers_options_stay_before_the_script),
		cmocka_unit_test(several_values_stay_together),
		cmocka_unit_test(values_are_replaced_in_place),
		cmocka_unit_test(what_is_trained_is_never_free),
		cmocka_unit_test(workers_are_asked_about),
		cmocka_unit_test(only_whole_names_mean_steps_and_batches),
		cmocka_unit_test(a_vague_batch_stays),
		cmocka_unit_test(a_spread_model_has_no_micro_batch),
		cmocka_unit_test(a_module_is_found_by_its_name),
		cmocka_unit_test(a_package_starts_as_a_module),
		cmocka_unit_test(the_line_is_split_as_a_shell_does),
		cmocka_unit_test(lines_are_read_where_they_stand),
		cmocka_unit_test(scripts_for_something_else_are_not_looked_at),
		cmocka_unit_test(secrets_are_left_out),
		cmocka_unit_test(the_trainer_makes_the_stack),
		cmocka_unit_test(other_programs_are_named),
		cmocka_unit_test(modules_are_found_by_any_import),
		cmocka_unit_test(the_catalogue_gives_each_value_once),
		cmocka_unit_test(a_file_of_settings_makes_defaults_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
