/*
 * A training job small enough for tests of the command line: least squares on eight rows an update, with the
 * cost of real training put on by waiting, so that what is faster does not depend on the machine. It claims
 * no step times of its own: in runs this short, a busy machine would make honest claims look false.
 *
 *     train UPDATES ALGORITHM MICRO_BATCH CACHE MODE
 *
 * MODE: "normal", or a way of misbehaving that a test asks for.
 */
#include <infrarsi_hook.h>

#include <math.h>
#include <time.h>

#ifdef FAIL
#error "this setting cannot be built"
#endif

extern char **environ;

enum { WIDTH = 7, ROWS = 64, GLOBAL_BATCH = 8, CAPACITY = 1000 };

static const double effort = 25; /* milliseconds an update at the reference settings */
static const double learning_rate = 0.02;

static int rows[ROWS][WIDTH + 1];
static double weights[WIDTH];

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for(double milliseconds)
{
	struct timespec t = {0, (long)(milliseconds * 1e6)};
	while (nanosleep(&t, &t) != 0)
		;
}

static int load_rows(const char *path)
{
	FILE *file = fopen(path, "r");
	for (int r = 0; file && r < ROWS; r++)
		for (int k = 0; k <= WIDTH; k++)
			if (fscanf(file, "%d", &rows[r][k]) != 1)
				return -1;
	return file ? fclose(file) : -1;
}

/* Adds the row's gradient; returns its loss. */
static double accumulate(const int *row, double *gradient)
{
	double error = -row[WIDTH];
	for (int k = 0; k < WIDTH; k++)
		error += weights[k] * row[k];
	for (int k = 0; k < WIDTH; k++)
		gradient[k] += 2 * error * row[k] / GLOBAL_BATCH;
	return error * error / GLOBAL_BATCH;
}

static double optimizer_step(const double *gradient)
{
	double squares = 0;
	for (int k = 0; k < WIDTH; k++) {
		weights[k] -= learning_rate * gradient[k];
		squares += gradient[k] * gradient[k];
	}
	return sqrt(squares);
}

static double effort_of(const char *algorithm, int micro_batch, const char *cache)
{
	double milliseconds = effort;
	if (!strcmp(algorithm, "quick"))
		milliseconds *= 0.5;
	if (!strcmp(algorithm, "careful"))
		milliseconds *= 1.5;
	if (micro_batch > 1)
		milliseconds *= 0.8;
	if (!strcmp(cache, "on"))
		milliseconds *= 0.8;
#ifdef SHORT
	milliseconds *= 0.7;
#endif
	return milliseconds;
}

static int peak_bytes(int micro_batch, const char *cache)
{
	return 400 + 100 * micro_batch + (strcmp(cache, "on") ? 0 : 300);
}

/* What a framework prints when it is told to stop. */
static void shout(int signal_number)
{
	static const char text[] = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"
				   "RuntimeError: terminated\n";
	(void)signal_number;
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

static void before_training(const char *mode)
{
	if (!strcmp(mode, "shouts"))
		signal(SIGTERM, shout);
	if (!strcmp(mode, "broken"))
		abort();
	if (!strcmp(mode, "stubborn"))
		signal(SIGTERM, SIG_IGN);
	if (!strcmp(mode, "stubborn") || !strcmp(mode, "hang"))
		for (;;)
			wait_for(500);
	if (access("left-over.txt", F_OK) == 0) {
		fprintf(stderr, "error: left-over.txt of another run is here\n");
		exit(9);
	}
}

/* Files that a job has no business writing; where the sandbox prevents it, so much the better. */
static void after_training(const char *mode)
{
	const char *path = !strcmp(mode, "rewrite") ? "data.txt"
			   : !strcmp(mode, "leave") ? "left-over.txt"
						    : NULL;
	FILE *file = path ? fopen(path, "w") : NULL;
	if (path && !file) {
		fprintf(stderr, "error: cannot write %s: %s\n", path, strerror(errno));
		exit(8);
	}
	if (file) {
		fputs("0\n", file);
		fclose(file);
	}
}

static void introduce(struct infrarsi *hook)
{
	uint64_t shape[1] = {WIDTH};
	for (char **variable = environ; *variable; variable++)
		printf("environment: %s\n", *variable);
#ifdef SHORT
	printf("built: SHORT\n");
#endif
	fflush(stdout);
	infrarsi_open(hook);
	infrarsi_param(hook, "weights", shape, 1, "fp32");
	infrarsi_start(hook, &(struct infrarsi_start_info){.stack = "native",
				     .layers = 1,
				     .d_attn = WIDTH,
				     .seq_len = WIDTH + 1,
				     .global_batch = GLOBAL_BATCH,
				     .storage = "fp32",
				     .compute = "fp32"});
}

static void refuse_memory(struct infrarsi *hook, int needed)
{
	infrarsi_oom(hook, (uint64_t)(needed - 500), CAPACITY - 500, CAPACITY);
	fprintf(stderr,
		"out of device memory: requested %d bytes, free %d bytes, capacity %d bytes (activations)\n",
		needed - 500, CAPACITY - 500, CAPACITY);
	exit(3);
}

static void train(struct infrarsi *hook, int updates, double milliseconds, int bytes)
{
	double last_s = now_s();
	for (int i = 1; i <= updates; i++) {
		double loss = 0, gradient[WIDTH] = {0};
		for (int r = 0; r < GLOBAL_BATCH; r++) {
			const int *row = rows[(i * GLOBAL_BATCH + r) % ROWS];
			infrarsi_row(hook, row, WIDTH + 1);
			loss += accumulate(row, gradient);
		}
		wait_for(milliseconds);
		double norm = optimizer_step(gradient), at_s = now_s(), step_s = at_s - last_s;
		last_s = at_s;
		infrarsi_update(hook, &(struct infrarsi_update_info){.loss = loss,
					      .grad_norm = norm,
					      .lr = learning_rate,
					      .opt_step = (uint64_t)i,
					      .tokens = GLOBAL_BATCH * (WIDTH + 1),
					      .mem = (uint64_t)bytes});
		infrarsi_phase(hook, &(struct infrarsi_phase_info){.forward = 0.3 * step_s,
					     .backward = 0.6 * step_s,
					     .optimizer = 0.1 * step_s});
		printf("update %d loss %.4f\n", i, loss);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	struct infrarsi hook;
	if (argc != 6 || load_rows("data.txt") != 0) {
		fprintf(stderr, "usage: train UPDATES ALGORITHM MICRO_BATCH CACHE MODE, beside data.txt\n");
		return 2;
	}
	int micro_batch = atoi(argv[3]), bytes = peak_bytes(micro_batch, argv[4]);
	introduce(&hook);
	before_training(argv[5]);
	if (bytes > CAPACITY)
		refuse_memory(&hook, bytes);
	train(&hook, atoi(argv[1]), effort_of(argv[2], micro_batch, argv[4]), bytes);
	infrarsi_end(&hook);
	after_training(argv[5]);
	return 0;
}
