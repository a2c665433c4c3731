/* Reports about processes: torch elastic, DeepSpeed, MPI, Slurm, shells. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure_int.h"

enum { BLOCK_MAX_LINES = 60 };

enum failure_class class_of_signal(int signal_number)
{
	bool outside = signal_number == SIGKILL || signal_number == SIGTERM || signal_number == SIGINT ||
		       signal_number == SIGHUP || signal_number == SIGXCPU;
	return outside ? FAILURE_KILLED : FAILURE_CRASH;
}

/* Which process failed first is known from the first report. */
static void first_reported(struct failure_scan *scan, const struct finding *f)
{
	if (!scan->launcher.exit_code.has && scan->launcher.rank < 0)
		scan->launcher.rank = f->rank;
}

static void process_ended(struct failure_scan *scan, struct finding *f, struct opt_number code)
{
	if (!code.has)
		return;
	f->exit_code = code;
	if (code.value < 0 && code.value > -65) {
		f->signal = (int)-code.value;
		f->class = class_of_signal(f->signal);
	}
	first_reported(scan, f);
	if (!scan->launcher.exit_code.has)
		scan->launcher.exit_code = code;
}

static void process_signalled(struct failure_scan *scan, struct finding *f, int signal_number)
{
	if (signal_number <= 0)
		return;
	first_reported(scan, f);
	f->signal = signal_number;
	f->class = class_of_signal(signal_number);
}

static void set_rank(struct finding *f, struct opt_number rank)
{
	if (rank.has && rank.value >= 0 && rank.value < 1e6)
		f->rank = (int)rank.value;
}

/* "srun: error: node-a: task 3: Exited with exit code 1", "... tasks 0-7: Terminated". */
static void read_srun(struct failure_scan *scan, const char *lower, struct finding *f)
{
	/* "tasks 2,4-5" are several: none of them is the one. */
	const char *task = strstr(lower, ": task ");
	if (task && task[strcspn(task + 1, "-,:") + 1] == ':')
		set_rank(f, number_behind(task, ": task "));
	struct opt_number code = number_behind(lower, "exit code ");
	if (code.has)
		process_ended(scan, f, code);
	else if (strstr(lower, ": out of memory"))
		process_signalled(scan, f, SIGKILL);
	else
		process_signalled(scan, f, signal_by_name(lower));
}

void launcher_act(struct failure_scan *scan, struct finding *f)
{
	static const char *const code_markers[] = {"return code = ", "exit status ", "status code "};
	const char *lower = scan->lower;
	switch (f->signature->act) {
	case ACT_ELASTIC_EXIT:
		set_rank(f, number_behind(lower, "local_rank: "));
		process_ended(scan, f, number_behind(lower, "(exitcode: "));
		break;
	case ACT_RETURN_CODE:
		set_rank(f, number_behind(lower, "--local_rank="));
		for (size_t i = 0; i < ARRAY_LEN(code_markers) && !f->exit_code.has; i++)
			process_ended(scan, f, number_behind(lower, code_markers[i]));
		break;
	case ACT_MPI_SIGNAL:
		set_rank(f, number_behind(lower, "process rank "));
		if (f->rank < 0)
			set_rank(f, number_behind(lower, "- process "));
		process_signalled(scan, f, signal_by_name(lower));
		break;
	case ACT_SPAWN:
		set_rank(f, number_behind(lower, "process "));
		process_ended(scan, f, number_behind(lower, "exit code "));
		if (!f->exit_code.has)
			process_signalled(scan, f, signal_by_name(lower));
		break;
	case ACT_SRUN:
		read_srun(scan, lower, f);
		break;
	case ACT_MPI_BLOCK:
		if (f->rank < 0)
			set_rank(f, number_behind(lower, "on rank "));
		launcher_block_begin(scan, ACT_MPI_BLOCK, f->serial);
		break;
	default:
		break;
	}
}

void launcher_block_begin(struct failure_scan *scan, enum signature_act act, long finding_serial)
{
	scan->launcher.block = act;
	scan->launcher.block_finding = finding_serial;
	scan->launcher.block_lines_left = act == ACT_SHELL_STATUS ? 1 : BLOCK_MAX_LINES;
}

/* "  rank      : 5 (local_rank: 5)", in 1.9 "  rank: 0 (local_rank: 0)". */
static struct opt_number block_value(const char *lower, const char *key)
{
	struct opt_number none = {false, NAN};
	const char *p = lower + strspn(lower, " \t");
	size_t length = strlen(key);
	if (strncmp(p, key, length) != 0)
		return none;
	p += length;
	p += strspn(p, " ");
	if (*p++ != ':')
		return none;
	p += strspn(p, " ");
	if (!isdigit((unsigned char)p[*p == '-']))
		return none;
	return (struct opt_number){true, (double)strtol(p, NULL, 10)};
}

static void elastic_line(struct failure_scan *scan, const struct log_line *line)
{
	struct launcher_facts *l = &scan->launcher;
	if (scan->lower[0] == '=') {
		l->block = ACT_NONE;
		return;
	}
	if (!l->block_rank.has)
		l->block_rank = block_value(scan->lower, "rank");
	if (l->block_exit_code.has)
		return;
	l->block_exit_code = block_value(scan->lower, "exitcode");
	if (!l->block_exit_code.has || l->exit_code.has)
		return;
	/* The agent's own line was not in the log. */
	static const struct signature row = {
		"exitcode", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_NONE, 0, 0};
	struct finding *f = finding_add(scan, line, &row, 0);
	set_rank(f, l->block_rank);
	process_ended(scan, f, l->block_exit_code);
}

/* "=   RANK 31 PID 1078176 RUNNING AT a", "=   KILLED BY SIGNAL: 9 (Killed)", "=   EXIT CODE: 9";
 * "  Process name: [[9105,1],3]", "  Exit code:    1"; "with errorcode 1." */
static void mpi_line(struct failure_scan *scan)
{
	struct launcher_facts *l = &scan->launcher;
	struct finding *f = finding_by_serial(scan, l->block_finding);
	const char *lower = scan->lower;
	if (!f || strncmp(lower, "----", 4) == 0 || strncmp(lower, "====", 4) == 0) {
		l->block = ACT_NONE;
		return;
	}
	set_rank(f, number_behind(lower, "=   rank "));
	const char *name = strstr(lower, "process name: [[");
	const char *member = name ? strstr(name, "],") : NULL;
	if (member)
		set_rank(f, number_behind(member, "],"));
	struct opt_number signal_number = number_behind(lower, "killed by signal: ");
	if (signal_number.has)
		process_signalled(scan, f, (int)signal_number.value);
	struct opt_number code = number_behind(lower, "errorcode ");
	if (!code.has)
		code = block_value(lower, "exit code");
	if (!code.has)
		code = number_behind(lower, "=   exit code: ");
	process_ended(scan, f, code);
}

void launcher_line(struct failure_scan *scan, const struct log_line *line)
{
	struct launcher_facts *l = &scan->launcher;
	if (l->block == ACT_NONE)
		return;
	if (l->block == ACT_SHELL_STATUS) {
		double value;
		size_t length = read_number(line->text, &value);
		if (length && !line->text[length])
			l->shell_status = (struct opt_number){true, value};
	} else if (l->block == ACT_ELASTIC_BLOCK) {
		elastic_line(scan, line);
	} else {
		mpi_line(scan);
	}
	if (--l->block_lines_left <= 0)
		l->block = ACT_NONE;
}

/* "Killed", "Killed: 9", "Aborted (core dumped)". */
static bool stands_alone(const char *behind)
{
	return !*behind || strcmp(behind, " (core dumped)") == 0 ||
	       (strncmp(behind, ": ", 2) == 0 && isdigit((unsigned char)behind[2]));
}

/* "script: line 28:  8156 " before the word. */
static bool ends_in_pid(const char *text, const char *end)
{
	const char *digits = end;
	while (digits > text && isdigit((unsigned char)digits[-1]))
		digits--;
	return digits < end && digits > text && strchr(" :", digits[-1]);
}

/* A shell's report of a child: the word alone, "script: line 28:  8156 Killed   python3 main.py", "[1]+
 * Killed cmd". A program's sentence about somebody killed is none. */
bool is_shell_report(const struct log_line *line, size_t at)
{
	const char *text = line->text, *word = text + at;
	if (at >= line->length || !isupper((unsigned char)*word))
		return false;
	const char *behind = word, *before = word;
	while (isalpha((unsigned char)*behind))
		behind++;
	if (at == 0)
		return stands_alone(behind);
	while (before > text && before[-1] == ' ')
		before--;
	if (before == word || before == text)
		return false;
	if (text[0] == '[' && strchr("+-]", before[-1]))
		return true;
	return ends_in_pid(text, before) && (!*behind || *behind == ' ');
}
