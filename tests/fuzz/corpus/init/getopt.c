c#include <getopt.h>
#include <stdlib.h>

static struct option long_options[] = {
	{"micro-batch", required_argument, NULL, 'm'},
	{"accum", required_argument, NULL, 'a'},
	{"threads", required_argument, NULL, 't'},
	{"recompute", no_argument, NULL, 'r'},
	{"max-steps", required_argument, NULL, 's'},
	{0, 0, 0, 0},
};

int main(int argc, char **argv)
{
	int micro_batch = 1, accum = 1, threads = 1, recompute = 0, max_steps = 10, c;
	while ((c = getopt_long(argc, argv, "m:a:t:rs:", long_options, NULL)) != -1)
		micro_batch += c + atoi(optarg);
	return micro_batch + accum + threads + recompute + max_steps;
}
