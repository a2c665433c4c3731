/* A7: other processes, the environment, files and the machine are none of a training step's business. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

static const struct {
	const char *name;
	enum audit_severity severity;
	const char *reason;
} names[] = {
	{"getenv", AUDIT_REVIEW, "the environment is read"},
	{"secure_getenv", AUDIT_REVIEW, "the environment is read"},
	{"environ", AUDIT_BLOCK, "the environment is read as a whole"},
	{"setenv", AUDIT_BLOCK, "the environment is changed"},
	{"putenv", AUDIT_BLOCK, "the environment is changed"},
	{"unsetenv", AUDIT_BLOCK, "the environment is changed"},
	{"clearenv", AUDIT_BLOCK, "the environment is changed"},
	{"getppid", AUDIT_BLOCK, "the parent process is looked at"},
	{"isatty", AUDIT_BLOCK, "the program looks at who is watching"},
	{"system", AUDIT_BLOCK, "another program is started"},
	{"popen", AUDIT_BLOCK, "another program is started"},
	{"fork", AUDIT_BLOCK, "another process is started"},
	{"vfork", AUDIT_BLOCK, "another process is started"},
	{"clone", AUDIT_BLOCK, "another process is started"},
	{"posix_spawn", AUDIT_BLOCK, "another program is started"},
	{"posix_spawnp", AUDIT_BLOCK, "another program is started"},
	{"execl", AUDIT_BLOCK, "another program is started"},
	{"execlp", AUDIT_BLOCK, "another program is started"},
	{"execle", AUDIT_BLOCK, "another program is started"},
	{"execv", AUDIT_BLOCK, "another program is started"},
	{"execve", AUDIT_BLOCK, "another program is started"},
	{"execvp", AUDIT_BLOCK, "another program is started"},
	{"execvpe", AUDIT_BLOCK, "another program is started"},
	{"daemon", AUDIT_BLOCK, "another process is started"},
	{"setsid", AUDIT_BLOCK, "the process leaves its session"},
	{"setpgid", AUDIT_BLOCK, "the process leaves its group"},
	{"socket", AUDIT_BLOCK, "the network is used"},
	{"connect", AUDIT_BLOCK, "the network is used"},
	{"bind", AUDIT_BLOCK, "the network is used"},
	{"listen", AUDIT_BLOCK, "the network is used"},
	{"accept", AUDIT_BLOCK, "the network is used"},
	{"socketpair", AUDIT_BLOCK, "the network is used"},
	{"setrlimit", AUDIT_BLOCK, "a limit is changed"},
	{"prlimit", AUDIT_BLOCK, "a limit is changed"},
	{"kill", AUDIT_BLOCK, "a signal is sent"},
	{"raise", AUDIT_BLOCK, "a signal is sent"},
	{"tgkill", AUDIT_BLOCK, "a signal is sent"},
	{"ptrace", AUDIT_BLOCK, "a process is traced"},
	{"process_vm_writev", AUDIT_BLOCK, "another process's memory is written"},
	{"prctl", AUDIT_BLOCK, "the process is reconfigured"},
	{"syscall", AUDIT_BLOCK, "a system call is made by number"},
	{"dlopen", AUDIT_BLOCK, "code is loaded at run time"},
	{"dlsym", AUDIT_BLOCK, "code is loaded at run time"},
	{"dlmopen", AUDIT_BLOCK, "code is loaded at run time"},
	{"mprotect", AUDIT_REVIEW, "memory protection is changed"},
	{"sched_setscheduler", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"setpriority", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"nice", AUDIT_BLOCK, "the scheduler's treatment of the process is changed"},
	{"sched_setaffinity", AUDIT_REVIEW, "threads are pinned"},
	{"pthread_setaffinity_np", AUDIT_REVIEW, "threads are pinned"},
	{"clock_settime", AUDIT_BLOCK, "the machine's clock is set"},
	{"settimeofday", AUDIT_BLOCK, "the machine's clock is set"},
	{"adjtimex", AUDIT_BLOCK, "the machine's clock is set"},
	{"unlink", AUDIT_BLOCK, "files are changed"},
	{"remove", AUDIT_BLOCK, "files are changed"},
	{"rename", AUDIT_BLOCK, "files are changed"},
	{"chmod", AUDIT_BLOCK, "files are changed"},
	{"symlink", AUDIT_BLOCK, "files are changed"},
	{"link", AUDIT_BLOCK, "files are changed"},
	{"mkfifo", AUDIT_BLOCK, "files are changed"},
	{"chdir", AUDIT_BLOCK, "the working folder is changed"},
	{"shm_open", AUDIT_BLOCK, "memory is shared with other processes"},
	{"shmget", AUDIT_BLOCK, "memory is shared with other processes"},
	{"memfd_create", AUDIT_BLOCK, "memory is shared with other processes"},
	{"fopen", AUDIT_REVIEW, "a file is opened"},
	{"freopen", AUDIT_BLOCK, "output goes elsewhere"},
	{"fdopen", AUDIT_REVIEW, "a descriptor is opened"},
	{"open", AUDIT_REVIEW, "a file is opened"},
	{"openat", AUDIT_REVIEW, "a file is opened"},
	{"creat", AUDIT_BLOCK, "files are changed"},
	{"dup", AUDIT_BLOCK, "output goes elsewhere"},
	{"dup2", AUDIT_BLOCK, "output goes elsewhere"},
	{"pipe", AUDIT_BLOCK, "a channel to another process is made"},
};

/* A variable of the same name (`link`, `remove`, `time`) is no use of the function. */
static bool is_use(const struct change *change, const struct fact *f)
{
	TSNode parent = node_parent(f->node);
	if (!node_is(f->node, "identifier") || node_is(parent, "field_expression"))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *d = change->new[i];
		if (d->kind == FACT_DECLARE && strcmp(d->name, f->name) == 0 &&
			!(d->flags & DECLARE_FUNCTION))
			return false;
	}
	return true;
}

static bool writes(const struct fact *call)
{
	return strstr(call->value, "\"w") || strstr(call->value, "\"a") || strstr(call->value, "+\"") ||
	       strstr(call->value, "O_WRONLY") || strstr(call->value, "O_RDWR") ||
	       strstr(call->value, "O_CREAT");
}

/* Reading a file again that was written on an earlier run, or writing one for the next. */
static void check_files(struct change *change)
{
	static const char *const openers[] = {"fopen", "open", "openat", "fdopen", "fopen64", "open64"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && is_added(f) &&
			name_is_one_of(f->name, openers, ARRAY_LEN(openers)) && writes(f))
			report(change, AUDIT_BLOCK, f, "a file is written");
	}
}

static void check_names(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_NAME || f->twin)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (strcmp(f->name, names[k].name) == 0 && is_use(change, f))
				report(change, names[k].severity, f, names[k].reason);
	}
}

static void check_strings(struct change *change)
{
	static const char *const telling[] = {"INFRARSI", "/proc", "/sys/", "/dev/", ".infrarsi",
		"LD_PRELOAD", "infrarsi", "/tmp/", "/var/", "/etc/", "..//", "../"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		for (size_t k = 0; f->kind == FACT_STRING && !f->twin && k < ARRAY_LEN(telling); k++)
			if (strstr(f->text, telling[k]))
				report(change, AUDIT_BLOCK, f,
					"a path or variable outside the job's business is named");
	}
}

static void check_assembly(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASM || f->twin)
			continue;
		bool calls = strstr(f->text, "syscall") || strstr(f->text, "int $0x80") ||
			     strstr(f->text, "svc ") || strstr(f->text, "rdtsc");
		report(change, calls ? AUDIT_BLOCK : AUDIT_REVIEW, f, "assembly that no rule can read");
	}
}

void rule_process(struct change *change)
{
	check_names(change);
	check_files(change);
	check_strings(change);
	check_assembly(change);
}
