/*
 * A job that misbehaves on request. Its arguments are steps, done in order: "verb" or "verb:argument". Ends
 * with exit status 0 after the last step.
 *
 *     fakejob ignore-term daemon update:1 update:2 hang
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void die(const char *what)
{
	perror(what);
	_exit(99);
}

static void send_bytes(const char *bytes, size_t length)
{
	const char *path = getenv("INFRARSI_EVENT_PATH");
	int fd = open(path ? path : "", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die("event path");
	while (length) {
		ssize_t n = write(fd, bytes, length);
		if (n < 0)
			die("event write");
		bytes += n;
		length -= (size_t)n;
	}
	close(fd);
}

static void step_update(const char *argument)
{
	char line[256];
	int n = snprintf(
		line, sizeof(line), "{\"e\":\"update\",\"i\":%s,\"rank\":0,\"loss\":2.5}\n", argument);
	send_bytes(line, (size_t)n);
}

static void step_updates(const char *argument)
{
	for (int i = 1; i <= atoi(argument); i++) {
		char index[16];
		snprintf(index, sizeof(index), "%d", i);
		step_update(index);
	}
}

/* The argument as it is, with ~ for a newline and ^ for a NUL byte. */
static void step_raw(const char *argument)
{
	char bytes[8192];
	size_t n = strlen(argument);
	for (size_t i = 0; i < n; i++)
		bytes[i] = argument[i] == '~' ? '\n' : argument[i] == '^' ? '\0' : argument[i];
	send_bytes(bytes, n);
}

static void step_long(const char *argument)
{
	size_t n = strtoul(argument, NULL, 10);
	char *bytes = malloc(n + 1);
	memset(bytes, 'x', n);
	bytes[n] = '\n';
	send_bytes(bytes, n + 1);
	free(bytes);
}

static void step_say(const char *argument)
{
	printf("%s\n", argument);
	fflush(stdout);
}

static void step_spew(const char *argument)
{
	char line[1024];
	memset(line, '.', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (size_t left = strtoul(argument, NULL, 10); left;) {
		ssize_t n = write(STDOUT_FILENO, line, left < sizeof(line) ? left : sizeof(line));
		if (n < 0)
			die("spew");
		left -= (size_t)n;
	}
}

static void step_sleep(const char *argument)
{
	usleep((useconds_t)(1e6 * atof(argument)));
}

static void step_hang(const char *argument)
{
	(void)argument;
	for (;;)
		pause();
}

static void step_ignore_term(const char *argument)
{
	(void)argument;
	signal(SIGTERM, SIG_IGN);
}

static void obey(int signal)
{
	(void)signal;
	static const char text[] = "terminated in order\n";
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(7);
}

static void step_obey_term(const char *argument)
{
	(void)argument;
	signal(SIGTERM, obey);
}

/* A grandchild in its own session that ignores TERM and keeps the pipes open. Returns once it runs. */
static void step_daemon(const char *argument)
{
	(void)argument;
	int ready[2];
	char byte;
	if (pipe(ready) != 0)
		die("pipe");
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	(void)!read(ready[0], &byte, 1);
}

/* Processes that die and leave a child behind, n times, each in a session of its own: the last one stays. */
static void step_chain(const char *argument)
{
	long links = atol(argument);
	if (fork() != 0)
		return;
	while (links-- > 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
	}
	for (;;)
		pause();
}

static void step_alloc(const char *argument)
{
	size_t n = strtoul(argument, NULL, 10);
	char *bytes = malloc(n);
	if (!bytes)
		die("alloc");
	for (size_t i = 0; i < n; i += 512)
		bytes[i] = (char)i;
	printf("allocated %d\n", bytes[n / 2] & 1);
	fflush(stdout);
}

static void step_write(const char *argument)
{
	int fd = open(argument, O_WRONLY | O_CREAT, 0644);
	int ok = fd >= 0 && write(fd, "x", 1) == 1;
	printf("write %s: %s\n", argument, ok ? "done" : strerror(errno));
	fflush(stdout);
	if (fd >= 0)
		close(fd);
}

static void step_read(const char *argument)
{
	char bytes[64];
	int fd = open(argument, O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : -1;
	printf("read %s: %s %zd\n", argument, n >= 0 ? "done" : strerror(errno), n);
	fflush(stdout);
	if (fd >= 0)
		close(fd);
}

static void step_interfaces(const char *argument)
{
	(void)argument;
	struct if_nameindex *list = if_nameindex();
	for (size_t i = 0; list && list[i].if_index; i++)
		printf("interface %s\n", list[i].if_name);
	if_freenameindex(list);
	fflush(stdout);
}

static void step_env(const char *argument)
{
	(void)argument;
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	fflush(stdout);
}

static void step_descriptors(const char *argument)
{
	(void)argument;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	fflush(stdout);
}

static void step_self(const char *argument)
{
	(void)argument;
	char cwd[4096];
	printf("pid %ld session %ld cwd %s\n", (long)getpid(), (long)getsid(0), getcwd(cwd, sizeof(cwd)));
	fflush(stdout);
}

static void step_await(const char *argument)
{
	while (access(argument, F_OK) != 0)
		usleep(2000);
}

static void step_exit(const char *argument)
{
	_exit(atoi(argument));
}

static void step_signal(const char *argument)
{
	raise(atoi(argument));
}

static const struct {
	const char *verb;
	void (*run)(const char *argument);
} steps[] = {
	{"update", step_update},           /* one update event with this index */
	{"updates", step_updates},         /* 1 .. n */
	{"raw", step_raw},                 /* bytes onto the event path */
	{"long", step_long},               /* an event line of n bytes */
	{"say", step_say},                 /* a line on stdout */
	{"spew", step_spew},               /* n bytes on stdout */
	{"sleep", step_sleep},             /* seconds */
	{"hang", step_hang},               /* for ever */
	{"ignore-term", step_ignore_term}, /* from now on */
	{"obey-term", step_obey_term},     /* says so and exits with 7 */
	{"daemon", step_daemon},           /* see there */
	{"chain", step_chain},             /* n forks deep, every link in a session of its own */
	{"alloc", step_alloc},             /* n bytes, touched, kept */
	{"write", step_write},             /* to this path, and say how it went */
	{"read", step_read},               /* from this path, and say how it went */
	{"interfaces", step_interfaces},   /* list network interfaces */
	{"env", step_env},                 /* list the environment */
	{"descriptors", step_descriptors}, /* list open descriptors */
	{"self", step_self},               /* pid, session, folder */
	{"await", step_await},             /* until this path exists */
	{"exit", step_exit},               /* with this status */
	{"signal", step_signal},           /* to itself */
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t length = strcspn(argv[i], ":"), k = 0;
		const char *argument = argv[i][length] ? argv[i] + length + 1 : "";
		while (k < sizeof(steps) / sizeof(steps[0]) &&
			(strlen(steps[k].verb) != length || strncmp(steps[k].verb, argv[i], length) != 0))
			k++;
		if (k == sizeof(steps) / sizeof(steps[0])) {
			fprintf(stderr, "unknown step %s\n", argv[i]);
			return 98;
		}
		steps[k].run(argument);
	}
	return 0;
}
