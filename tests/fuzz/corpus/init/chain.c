c#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int batch = 16, fused;
static const char *attention = "naive";

static void usage(void)
{
	puts("trainer [options]\n"
	     "  --attention naive|flash   kernel\n"
	     "  --optimizer sgd|adam      which\n");
}

int main(int argc, char **argv)
{
	const char *optimizer = "adam";
	int iters = 500, width = 32;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-b") || !strcmp(argv[i], "--batch")) {
			batch = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--iters")) {
			iters = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--attention")) {
			attention = argv[++i];
		} else if (!strcmp(argv[i], "--optimizer")) {
			optimizer = argv[++i];
		} else if (!strcmp(argv[i], "--width")) {
			width = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--prefetch-mode")) {
			const char *value = argv[++i];
			if (strcmp(value, "none") && strcmp(value, "next"))
				return 2;
		} else if (!strcmp(argv[i], "--shuffle-by")) {
			const char *value = argv[++i];
			if (strcmp(value, "row") && strcmp(value, "document"))
				return 2;
		} else if (!strcmp(argv[i], "--flash-bias")) {
			fused = 1;
		} else {
			usage();
		}
	}
	return iters + width + batch + (optimizer != NULL) + (attention != NULL) + fused;
}
